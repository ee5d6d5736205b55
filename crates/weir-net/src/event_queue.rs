//! The event queue: one entry a target, ordered by (time, the time since which it is due then,
//! target).
//!
//! Of two targets that are due at one instant, that which has waited for it longer comes first, and
//! of two that have waited as long that with the lower number. All three are times and places of
//! the network and say nothing about how a run is computed: a link that books arrivals ahead keeps
//! the order of one that is called for each.
//!
//! A 4-ary heap with the position of each target beside it, so that a target's time can be changed
//! in place. Most changes move a time further away (an acknowledgement restarts a timer); these
//! change only the target's slot, and the heap corrects the entry when the old time reaches the
//! top.
//!
//! An entry is one integer, compared as a whole: 64 bits of time, 40 of waiting (18 minutes; who
//! waits longer counts as this long), 24 of target.

use weir_proto::time::Instant;

/// The number of a target in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TargetId(pub u32);

const TARGET_BITS: u32 = 24;
/// The longest waiting that is told apart.
const MAX_WAITING: u64 = (1 << 40) - 1;
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
    /// The upper and the lower half of the entry: together they would be aligned to 16 octets.
    time: u64,
    order: u64,
    position: u32,
}

impl Slot {
    const ABSENT: Self = Self {
        time: time_of(NEVER),
        order: NEVER as u64,
        position: ABSENT,
    };

    #[inline]
    const fn due(&self) -> u128 {
        (self.time as u128) << 64 | self.order as u128
    }
}

/// A set of targets, each with the time at which it is due.
#[derive(Debug, Default)]
pub struct EventQueue {
    slots: Vec<Slot>,
    heap: Vec<u128>,
}

impl EventQueue {
    /// Makes room for one more target, which is not due; at most [`MAX_TARGETS`] in all.
    pub fn add_target(&mut self) -> TargetId {
        assert!(self.slots.len() < MAX_TARGETS, "too many targets");
        self.slots.push(Slot::ABSENT);
        TargetId(self.slots.len() as u32 - 1)
    }

    /// Sets the time at which the target is due, as of `since`; `None` if it is not. Setting the
    /// same time again changes nothing.
    #[inline]
    pub fn set(&mut self, target: TargetId, at: Option<Instant>, since: Instant) {
        let at = at.unwrap_or(Instant::FAR_FUTURE).as_nanos();
        if self.slots[target.0 as usize].time != at {
            self.change(target, at, since);
        }
    }

    /// The target that is due first, and when.
    #[inline]
    pub fn peek(&mut self) -> Option<(Instant, TargetId)> {
        loop {
            let top = *self.heap.first()?;
            let target = target_of(top);
            let due = self.slots[target as usize].due();
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

    /// The target has been called: its entry counts no more, and `at` is when it is due next, as of
    /// `since`, even if that is the same time again.
    #[inline]
    pub fn reset(&mut self, target: TargetId, at: Option<Instant>, since: Instant) {
        let at = at.unwrap_or(Instant::FAR_FUTURE).as_nanos();
        self.change(target, at, since);
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
    fn change(&mut self, target: TargetId, at: u64, since: Instant) {
        let slot = &mut self.slots[target.0 as usize];
        if at == u64::MAX {
            (slot.time, slot.order) = (Slot::ABSENT.time, Slot::ABSENT.order);
            return;
        }
        let waiting = at.saturating_sub(since.as_nanos()).min(MAX_WAITING);
        let order = (MAX_WAITING - waiting) << TARGET_BITS | u64::from(target.0);
        let due = u128::from(at) << 64 | u128::from(order);
        (slot.time, slot.order) = (at, order);
        let position = slot.position as usize;
        if position == ABSENT as usize {
            self.heap.push(due);
            self.sift_up(self.heap.len() - 1, due);
        } else if due < self.heap[position] {
            self.sift_up(position, due);
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
