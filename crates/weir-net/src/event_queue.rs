//! The event queue: one entry a node, ordered by (time, order of insertion).
//!
//! A 4-ary heap with the position of each node beside it, so that a node's time can be changed in
//! place. Most changes move a time further away (an acknowledgement restarts a timer); these
//! touch only the node's slot, and the heap finds out when the old time comes to the top. The
//! order of equal times is nevertheless that of the last change, as if each change had been a
//! removal and an insertion.

use weir_proto::time::Instant;

/// The number of a node in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// When a node is due, and where it stands in the heap.
#[derive(Clone, Copy, Debug)]
struct Slot {
    at: u64,
    order: u64,
    position: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    order: u64,
    node: u32,
}

impl Entry {
    #[inline(always)]
    const fn key(&self) -> u128 {
        (self.at as u128) << 64 | self.order as u128
    }
}

const NEVER: u64 = u64::MAX;
const ABSENT: u32 = u32::MAX;
const ARITY: usize = 4;

/// A set of nodes, each with the time at which it is due.
#[derive(Debug, Default)]
pub struct EventQueue {
    slots: Vec<Slot>,
    heap: Vec<Entry>,
    inserted: u64,
}

impl EventQueue {
    /// Makes room for one more node, which is not due.
    pub fn add_node(&mut self) -> NodeId {
        self.slots.push(Slot {
            at: NEVER,
            order: 0,
            position: ABSENT,
        });
        NodeId(self.slots.len() as u32 - 1)
    }

    /// Says when the node is due; `None` if it is not. Naming the same time again changes
    /// nothing.
    #[inline]
    pub fn set(&mut self, node: NodeId, at: Option<Instant>) {
        let at = at.map_or(NEVER, Instant::as_nanos);
        let slot = &mut self.slots[node.0 as usize];
        if slot.at == at {
            return;
        }
        slot.at = at;
        slot.order = self.inserted;
        self.inserted += 1;
        let entry = Entry {
            at,
            order: slot.order,
            node: node.0,
        };
        let position = slot.position as usize;
        if position == ABSENT as usize {
            self.heap.push(entry);
            self.sift_up(self.heap.len() - 1, entry);
        } else if at < self.heap[position].at {
            self.sift_up(position, entry);
        }
    }

    /// The node that is due first, and when.
    #[inline]
    pub fn peek(&mut self) -> Option<(Instant, NodeId)> {
        loop {
            let top = *self.heap.first()?;
            let slot = self.slots[top.node as usize];
            if slot.order == top.order && slot.at == top.at {
                return Some((Instant::from_nanos(top.at), NodeId(top.node)));
            }
            // The node's time has changed since the entry was placed, and is not sooner.
            self.replace_top(slot, top.node);
        }
    }

    /// The node has been called: its entry counts no more, and `at` is when it is due next, even
    /// if that is the same time again.
    #[inline]
    pub fn reset(&mut self, node: NodeId, at: Option<Instant>) {
        self.slots[node.0 as usize].at = NEVER;
        self.set(node, at);
    }

    /// Nodes that are in the heap.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if no node is due.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    fn replace_top(&mut self, slot: Slot, node: u32) {
        if slot.at != NEVER {
            let entry = Entry {
                at: slot.at,
                order: slot.order,
                node,
            };
            self.sift_down(entry);
            return;
        }
        self.slots[node as usize].position = ABSENT;
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.sift_down(last);
        }
    }

    #[inline]
    fn place(&mut self, position: usize, entry: Entry) {
        self.heap[position] = entry;
        self.slots[entry.node as usize].position = position as u32;
    }

    #[inline]
    fn sift_up(&mut self, mut position: usize, entry: Entry) {
        while position > 0 {
            let parent = (position - 1) / ARITY;
            if self.heap[parent].key() <= entry.key() {
                break;
            }
            self.place(position, self.heap[parent]);
            position = parent;
        }
        self.place(position, entry);
    }

    /// Puts the entry into the top and lets it sink.
    fn sift_down(&mut self, entry: Entry) {
        let mut position = 0;
        loop {
            let first = position * ARITY + 1;
            if first >= self.heap.len() {
                break;
            }
            let last = (first + ARITY).min(self.heap.len());
            let mut least = first;
            for child in first + 1..last {
                if self.heap[child].key() < self.heap[least].key() {
                    least = child;
                }
            }
            if self.heap[least].key() >= entry.key() {
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
