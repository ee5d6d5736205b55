//! The event queue: one entry for each target, ordered by (time, the time since which the target
//! has been due at it, target number).
//!
//! Of two targets due at the same instant, the one that has waited longer comes first; if both have
//! waited equally long, the one with the lower number. All three keys are properties of the
//! network, not of how a run is computed: a link that books arrivals ahead keeps the order of one
//! that is called for each arrival.
//!
//! A 4-ary heap. Each target keeps the time of its entry in the heap. When a target is set to a
//! later time, as by an acknowledgement that restarts a timer, the heap corrects the entry once the
//! old time reaches the top. When it is set to an earlier time it gets a second entry, and the
//! first one is dropped at the top, or when there are more stale entries than targets. Targets do
//! not store the position of their entry, so moving an entry writes nothing else.
//!
//! An entry is one integer, compared as a whole: 64 bits of time, 40 of waiting time (18 minutes;
//! longer waits count as this long), 24 of target number. Four entries with one parent share a
//! cache line.

use weir_proto::time::Instant;

/// The number of a target in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TargetId(pub u32);

const TARGET_BITS: u32 = 24;
/// The longest waiting time that an entry can represent.
const MAX_WAITING: u64 = (1 << 40) - 1;
/// The most targets: an entry has 24 bits for their number.
pub const MAX_TARGETS: usize = 1 << TARGET_BITS;

/// Greater than any entry: the target is not due.
const NEVER: u128 = u128::MAX;
const ARITY: usize = 4;

const fn target_of(entry: u128) -> u32 {
    target_of_order(entry as u64).0
}

/// The target of an event, from the lower half of its entry.
pub(crate) const fn target_of_order(order: u64) -> TargetId {
    TargetId(order as u32 & (MAX_TARGETS as u32 - 1))
}

const fn time_of(entry: u128) -> u64 {
    (entry >> 64) as u64
}

/// When a target is due, and when its entry reaches the top of the heap, which is not later.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// The upper and the lower half of the entry: a `u128` would be aligned to 16 octets.
    time: u64,
    order: u64,
    /// The time of its entry in the heap. Other entries for this target are stale and are dropped.
    placed: u64,
}

impl Slot {
    const ABSENT: Self = Self {
        time: time_of(NEVER),
        order: NEVER as u64,
        placed: time_of(NEVER),
    };

    #[inline]
    const fn due(&self) -> u128 {
        (self.time as u128) << 64 | self.order as u128
    }
}

/// The entries below one entry, in a cache line; [`NEVER`] for an empty place.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Children([u128; ARITY]);

/// A set of targets, each with the time at which it is due.
#[derive(Debug)]
pub struct EventQueue {
    slots: Vec<Slot>,
    /// The first entry; [`NEVER`] if there is none.
    top: u128,
    /// `top` belongs to a target that has been called and is not due again: the next entry that is
    /// pushed takes its place.
    top_is_free: bool,
    /// All other entries: the children of the top, then those of its first child, its second child
    /// and so on.
    rest: Vec<Children>,
    /// Entries in `rest`.
    below: usize,
    /// Stale entries: their targets have an earlier entry.
    left: usize,
    /// [`reset`](Self::reset) leaves entries at the top to [`peek`](Self::peek).
    pub(crate) defers: bool,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            top: NEVER,
            top_is_free: false,
            rest: Vec::new(),
            below: 0,
            left: 0,
            defers: false,
        }
    }
}

impl EventQueue {
    /// Adds a target, which is not due; at most [`MAX_TARGETS`] in all.
    pub fn add_target(&mut self) -> TargetId {
        assert!(self.slots.len() < MAX_TARGETS, "too many targets");
        self.slots.push(Slot::ABSENT);
        TargetId(self.slots.len() as u32 - 1)
    }

    /// Sets the time at which the target is due, known since `since`; the far future if it is not
    /// due. Setting the same time again has no effect.
    #[inline]
    pub fn set(&mut self, target: TargetId, at: Instant, since: Instant) {
        let at = at.as_nanos();
        let slot = &mut self.slots[target.0 as usize];
        if slot.time == at {
            return;
        }
        slot.time = at;
        slot.order = order_of(target, at, since);
        if at <= slot.placed && at != u64::MAX {
            self.place_sooner(target);
        }
    }

    /// The target that is due first, and its time.
    #[inline(always)]
    pub fn peek(&mut self) -> Option<(Instant, TargetId)> {
        if self.top_is_free {
            self.remove_top();
        }
        loop {
            let top = self.top;
            if top == NEVER {
                return None;
            }
            let target = target_of(top);
            if self.slots[target as usize].due() == top {
                return Some((Instant::from_nanos(time_of(top)), TargetId(target)));
            }
            self.correct_top();
        }
    }

    /// The one of these targets that is due first, with its time and the position of its event in
    /// that instant. The far future if none is due.
    #[inline]
    pub(crate) fn first_of(&self, targets: &[TargetId]) -> (Instant, u64, TargetId) {
        let mut first = NEVER;
        for target in targets {
            first = first.min(self.slots[target.0 as usize].due());
        }
        let order = first as u64;
        (
            Instant::from_nanos(time_of(first)),
            order,
            target_of_order(order),
        )
    }

    /// The position, among the events of its instant, of the event that [`peek`](Self::peek)
    /// returned.
    #[inline]
    pub(crate) const fn order_of_top(&self) -> u64 {
        self.top as u64
    }

    /// The target has been called: its entry is used up, and `at` is when it is due next, known
    /// since `since`, even if that is the same time again.
    #[inline(always)]
    pub fn reset(&mut self, target: TargetId, at: Instant, since: Instant) {
        let at = at.as_nanos();
        let slot = &mut self.slots[target.0 as usize];
        slot.time = at;
        slot.order = order_of(target, at, since);
        if self.defers {
            if at < slot.placed {
                self.place_sooner(target);
            }
        } else if target_of(self.top) == target.0 && time_of(self.top) == slot.placed {
            slot.placed = at;
            if at == u64::MAX {
                self.top_is_free = true;
            } else {
                let due = slot.due();
                self.sift_down(due);
            }
        } else if at <= slot.placed && at != u64::MAX {
            self.place_sooner(target);
        }
    }

    /// Entries in the heap.
    pub fn len(&self) -> usize {
        self.below + usize::from(self.top != NEVER && !self.top_is_free)
    }

    /// True if no target is due.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry at the top differs from its target's time: the target is now due later, or the
    /// entry is stale.
    #[cold]
    fn correct_top(&mut self) {
        let slot = &mut self.slots[target_of(self.top) as usize];
        if slot.placed != time_of(self.top) {
            self.left -= 1;
            return self.remove_top();
        }
        slot.placed = slot.time;
        let due = slot.due();
        if slot.time == u64::MAX {
            self.remove_top();
        } else {
            self.sift_down(due);
        }
    }

    /// Gives a target that is due earlier than its entry a new entry.
    #[inline]
    fn place_sooner(&mut self, target: TargetId) {
        let slot = &mut self.slots[target.0 as usize];
        self.left += usize::from(slot.placed != u64::MAX);
        slot.placed = slot.time;
        let due = slot.due();
        if self.top_is_free {
            return self.sift_down(due);
        }
        self.push(due);
        if self.left > self.slots.len() {
            self.sweep();
        }
    }

    fn push(&mut self, entry: u128) {
        if self.top == NEVER {
            self.top = entry;
            return;
        }
        let position = self.below;
        if position == self.rest.len() * ARITY {
            self.rest.push(Children([NEVER; ARITY]));
        }
        self.below += 1;
        self.sift_up(position, entry);
    }

    /// Rebuilds the heap without stale entries.
    #[cold]
    fn sweep(&mut self) {
        self.rest.fill(Children([NEVER; ARITY]));
        (self.top, self.below, self.left) = (NEVER, 0, 0);
        for target in 0..self.slots.len() {
            let slot = &mut self.slots[target];
            slot.placed = slot.time;
            if slot.time != u64::MAX {
                let due = slot.due();
                self.push(due);
            }
        }
    }

    /// Replaces the first entry by the last one.
    #[inline]
    fn remove_top(&mut self) {
        self.top_is_free = false;
        let Some(last) = self.below.checked_sub(1) else {
            self.top = NEVER;
            return;
        };
        self.below = last;
        let place = &mut self.rest[last / ARITY].0[last % ARITY];
        let entry = std::mem::replace(place, NEVER);
        self.sift_down(entry);
    }

    #[inline]
    fn sift_up(&mut self, mut position: usize, entry: u128) {
        while let Some(parent) = (position / ARITY).checked_sub(1) {
            let above = self.rest[parent / ARITY].0[parent % ARITY];
            if above <= entry {
                break;
            }
            self.rest[position / ARITY].0[position % ARITY] = above;
            position = parent;
        }
        let mut place = entry;
        if position < ARITY && entry < self.top {
            (self.top, place) = (entry, self.top);
        }
        self.rest[position / ARITY].0[position % ARITY] = place;
    }

    /// Puts the entry at the top and sifts it down.
    #[inline(never)]
    fn sift_down(&mut self, entry: u128) {
        self.top_is_free = false;
        let mut hole = None;
        let mut group = 0;
        while let Some(Children(children)) = self.rest.get(group) {
            // Without branches, because the branch predictor cannot predict which child is least.
            let left = usize::from(children[1] < children[0]);
            let right = 2 + usize::from(children[3] < children[2]);
            let right_wins = children[right] < children[left];
            let least = if right_wins { right } else { left };
            let child = children[least];
            if child >= entry {
                break;
            }
            self.put(hole, child);
            hole = Some((group, least));
            group = group * ARITY + least + 1;
        }
        self.put(hole, entry);
    }

    /// Stores an entry at this place below the top, or at the top.
    #[inline(always)]
    fn put(&mut self, place: Option<(usize, usize)>, entry: u128) {
        match place {
            Some((group, child)) => self.rest[group].0[child] = entry,
            None => self.top = entry,
        }
    }
}

/// The position among the events of its instant of a target that is due at `at`, known since
/// `since`: the lower half of its entry.
#[inline]
pub(crate) fn order_of(target: TargetId, at: u64, since: Instant) -> u64 {
    let waiting = at.saturating_sub(since.as_nanos()).min(MAX_WAITING);
    (MAX_WAITING - waiting) << TARGET_BITS | u64::from(target.0)
}

#[cfg(test)]
mod tests;
