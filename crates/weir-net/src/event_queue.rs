//! The event queue: one entry a node, ordered by (time, order of insertion).
//!
//! A 4-ary heap with the position of each node beside it, so that a node's time can be changed in
//! place. Most changes move a time further away (an acknowledgement restarts a timer); these
//! touch only the node's slot, and the heap finds out when the old time comes to the top. The
//! order of equal times is nevertheless that of the last change, as if each change had been a
//! removal and an insertion.
//!
//! An entry is one integer, compared as a whole: 64 bits of time, 40 of order, 24 of node.

use weir_proto::time::Instant;

/// The number of a node in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(pub u32);

const NODE_BITS: u32 = 24;
const ORDER_BITS: u32 = 40;
/// More nodes do not fit into an entry.
pub const MAX_NODES: usize = 1 << NODE_BITS;

/// Later than any entry: the node is not due.
const NEVER: u128 = u128::MAX;
const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

const fn node_of(entry: u128) -> u32 {
    entry as u32 & (MAX_NODES as u32 - 1)
}

const fn time_of(entry: u128) -> u64 {
    (entry >> 64) as u64
}

/// When a node is due, and where an entry for it stands in the heap; that entry may be sooner.
#[derive(Clone, Copy, Debug)]
struct Slot {
    due: u128,
    position: u32,
}

/// A set of nodes, each with the time at which it is due.
#[derive(Debug, Default)]
pub struct EventQueue {
    slots: Vec<Slot>,
    heap: Vec<u128>,
    changes: u64,
}

impl EventQueue {
    /// Makes room for one more node, which is not due; at most [`MAX_NODES`] in all.
    pub fn add_node(&mut self) -> NodeId {
        assert!(self.slots.len() < MAX_NODES, "too many nodes");
        self.slots.push(Slot {
            due: NEVER,
            position: ABSENT,
        });
        NodeId(self.slots.len() as u32 - 1)
    }

    /// Says when the node is due; `None` if it is not. Naming the same time again changes
    /// nothing.
    #[inline]
    pub fn set(&mut self, node: NodeId, at: Option<Instant>) {
        let at = at.unwrap_or(Instant::FAR_FUTURE).as_nanos();
        if time_of(self.slots[node.0 as usize].due) != at {
            self.change(node, at);
        }
    }

    /// The node that is due first, and when.
    #[inline]
    pub fn peek(&mut self) -> Option<(Instant, NodeId)> {
        loop {
            let top = *self.heap.first()?;
            let node = node_of(top);
            let due = self.slots[node as usize].due;
            if due == top {
                return Some((Instant::from_nanos(time_of(top)), NodeId(node)));
            }
            // The node's time has changed since the entry was placed, and is not sooner.
            if due == NEVER {
                self.remove_top();
            } else {
                self.sift_down(due);
            }
        }
    }

    /// The node has been called: its entry counts no more, and `at` is when it is due next, even
    /// if that is the same time again.
    #[inline]
    pub fn reset(&mut self, node: NodeId, at: Option<Instant>) {
        self.change(node, at.unwrap_or(Instant::FAR_FUTURE).as_nanos());
    }

    /// Entries in the heap.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if no node is due.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    #[inline]
    fn change(&mut self, node: NodeId, at: u64) {
        let slot = &mut self.slots[node.0 as usize];
        if at == u64::MAX {
            slot.due = NEVER;
            return;
        }
        let order = u128::from(self.changes) << NODE_BITS;
        let due = u128::from(at) << 64 | order | u128::from(node.0);
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

    /// Counts the changes from zero again; keeps the order of everything that is due.
    #[cold]
    fn renumber(&mut self) {
        let mut due: Vec<u128> = self.slots.iter().map(|slot| slot.due).collect();
        due.retain(|&entry| entry != NEVER);
        due.sort_unstable();
        self.slots
            .iter_mut()
            .for_each(|slot| slot.position = ABSENT);
        self.heap.clear();
        self.changes = 0;
        for entry in due {
            self.change(NodeId(node_of(entry)), time_of(entry));
        }
    }

    #[inline]
    fn remove_top(&mut self) {
        if let Some(&top) = self.heap.first() {
            self.slots[node_of(top) as usize].position = ABSENT;
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
        self.slots[node_of(entry) as usize].position = position as u32;
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

    /// Puts the entry into the top and lets it sink.
    #[inline]
    fn sift_down(&mut self, entry: u128) {
        let mut position = 0;
        loop {
            let first = position * ARITY + 1;
            let least = if let Some(children) = self.heap.get(first..first + ARITY) {
                // Without branches: which child is the least cannot be predicted.
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
