//! The event queue: one entry a target, ordered by (time, order of insertion).
//!
//! A 4-ary heap with the position of each target beside it, so that a target's time can be changed
//! in place. Most changes move a time further away (an acknowledgement restarts a timer); these
//! change only the target's slot, and the heap corrects the entry when the old time reaches the
//! top. The order of equal times is nevertheless that of the last change, as if each change had
//! been a removal and an insertion.
//!
//! An entry is one integer, compared as a whole: 64 bits of time, 40 of order, 24 of target.

use weir_proto::time::Instant;

/// The number of a target in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TargetId(pub u32);

const TARGET_BITS: u32 = 24;
const ORDER_BITS: u32 = 40;
/// The most targets: an entry has 24 bits for their number.
pub const MAX_TARGETS: usize = 1 << TARGET_BITS;

/// Later than any entry: the target is not due.
const NEVER: u128 = u128::MAX;
const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

const fn target_of(entry: u128) -> u32 {
    entry as u32 & (MAX_TARGETS as u32 - 1)
}

const fn time_of(entry: u128) -> u64 {
    (entry >> 64) as u64
}

/// When a target is due, and where an entry for it stands in the heap; that entry may be sooner.
#[derive(Clone, Copy, Debug)]
struct Slot {
    due: u128,
    position: u32,
}

/// A set of targets, each with the time at which it is due.
#[derive(Debug, Default)]
pub struct EventQueue {
    slots: Vec<Slot>,
    heap: Vec<u128>,
    changes: u64,
    /// Below this, orders of changes are reserved.
    reserved: u64,
}

impl EventQueue {
    /// Makes room for one more target, which is not due; at most [`MAX_TARGETS`] in all.
    pub fn add_target(&mut self) -> TargetId {
        assert!(self.slots.len() < MAX_TARGETS, "too many targets");
        self.slots.push(Slot {
            due: NEVER,
            position: ABSENT,
        });
        TargetId(self.slots.len() as u32 - 1)
    }

    /// Sets the time at which the target is due; `None` if it is not. Setting the same time again
    /// changes nothing.
    #[inline]
    pub fn set(&mut self, target: TargetId, at: Option<Instant>) {
        let at = at.unwrap_or(Instant::FAR_FUTURE).as_nanos();
        if time_of(self.slots[target.0 as usize].due) != at {
            self.change(target, at);
        }
    }

    /// Reserves the orders of this many changes, which come before all that are made from now on;
    /// returns the first.
    pub fn reserve(&mut self, changes: u64) -> u64 {
        let first = self.changes;
        self.changes += changes;
        self.reserved = self.changes;
        first
    }

    /// Sets the time of a target that is not due, in an order that was reserved.
    pub fn set_in_order(&mut self, target: TargetId, at: Option<Instant>, order: u64) {
        let changes = std::mem::replace(&mut self.changes, order);
        self.set(target, at);
        self.changes = changes;
    }

    /// The target that is due first, and when.
    #[inline]
    pub fn peek(&mut self) -> Option<(Instant, TargetId)> {
        loop {
            let top = *self.heap.first()?;
            let target = target_of(top);
            let due = self.slots[target as usize].due;
            if due == top {
                return Some((Instant::from_nanos(time_of(top)), TargetId(target)));
            }
            // The target's time has changed since the entry was placed, and is not sooner.
            if due == NEVER {
                self.remove_top();
            } else {
                self.sift_down(due);
            }
        }
    }

    /// The target has been called: its entry counts no more, and `at` is when it is due next, even
    /// if that is the same time again.
    #[inline]
    pub fn reset(&mut self, target: TargetId, at: Option<Instant>) {
        self.change(target, at.unwrap_or(Instant::FAR_FUTURE).as_nanos());
    }

    /// Entries in the heap.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if no target is due.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    #[inline]
    fn change(&mut self, target: TargetId, at: u64) {
        let slot = &mut self.slots[target.0 as usize];
        if at == u64::MAX {
            slot.due = NEVER;
            return;
        }
        let order = u128::from(self.changes) << TARGET_BITS;
        let due = u128::from(at) << 64 | order | u128::from(target.0);
        slot.due = due;
        let position = slot.position as usize;
        self.changes += 1;
        if position == ABSENT as usize {
            self.heap.push(due);
            self.sift_up(self.heap.len() - 1, due);
        } else if due < self.heap[position] {
            self.sift_up(position, due);
        }
        if self.changes >> ORDER_BITS != 0 {
            self.renumber();
        }
    }

    /// Counts the changes from the reserved ones on again; keeps the order of everything that is
    /// due.
    #[cold]
    fn renumber(&mut self) {
        let mut due: Vec<u128> = self.slots.iter().map(|slot| slot.due).collect();
        due.retain(|&entry| entry != NEVER);
        due.sort_unstable();
        self.slots
            .iter_mut()
            .for_each(|slot| slot.position = ABSENT);
        self.heap.clear();
        self.changes = self.reserved;
        for entry in due {
            self.change(TargetId(target_of(entry)), time_of(entry));
        }
    }

    #[inline]
    fn remove_top(&mut self) {
        if let Some(&top) = self.heap.first() {
            self.slots[target_of(top) as usize].position = ABSENT;
        }
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(last);
        }
    }

    #[inline]
    fn place(&mut self, position: usize, entry: u128) {
        self.heap[position] = entry;
        self.slots[target_of(entry) as usize].position = position as u32;
    }

    #[inline]
    fn sift_up(&mut self, mut position: usize, entry: u128) {
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.place(position, self.heap[parent]);
            position = parent;
        }
        self.place(position, entry);
    }

    /// Puts the entry at the top and sifts it down.
    #[inline]
    fn sift_down(&mut self, entry: u128) {
        let mut position = 0;
        loop {
            let first = position * ARITY + 1;
            let least = if let Some(children) = self.heap.get(first..first + ARITY) {
                // Without branches: no branch predictor can guess which child is the least.
                let left = usize::from(children[1] < children[0]);
                let right = 2 + usize::from(children[3] < children[2]);
                let right_wins = children[right] < children[left];
                first + if right_wins { right } else { left }
            } else {
                let rest = self.heap.get(first..).unwrap_or_default();
                match rest.iter().enumerate().min_by_key(|(_, child)| **child) {
                    Some((at, _)) => first + at,
                    None => break,
                }
            };
            if self.heap[least] >= entry {
                break;
            }
            self.place(position, self.heap[least]);
            position = least;
        }
        self.place(position, entry);
    }
}

#[cfg(test)]
mod tests;
