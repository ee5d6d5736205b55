//! Merges: plain links that several ways lead into, and that take packets late, many at a time.
//!
//! A plain link that books a packet knows when it arrives at the next one. If other ways lead into
//! that one too, it must take packets in the order of their arrival, and others may still come
//! before this one. It need not take them at once, though: what enters it leaves it one propagation
//! delay later at the soonest, and nothing can be seen of it until then. So it takes packets one
//! delay after the first of them has arrived. What has arrived until then is known, and one event
//! serves all of it. Parallel simulators know this as the lookahead of a link.
//!
//! The packets are taken as of their arrival and in the order that the events of their arrival
//! would have. A packet that enters such a link by an event comes behind those that arrived before
//! that event. When a run pauses, what has arrived is taken, so that counters and drops are right
//! whenever they are read.

use super::{ABSENT, EventTarget, Network};
use crate::event_queue::{TargetId, order_of, target_of_order};
use crate::link::Arrival;
use crate::packet_pool::PacketRef;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use weir_proto::ring::{Ring, RoomMeter};
use weir_proto::time::{Duration, Instant};

/// The time of an event and its place among those of the same instant.
type EventTime = (Instant, u64);

/// A packet on its way to a merge.
#[derive(Debug)]
struct Expected {
    at: EventTime,
    packet: PacketRef,
}

impl PartialEq for Expected {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Expected {}

impl PartialOrd for Expected {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Expected {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}

/// A plain link that several ways lead into, and the packets on their way to it.
#[derive(Debug)]
pub(super) struct Merge {
    pub(super) link: u32,
    target: TargetId,
    lookahead: Duration,
    /// When the packets that have arrived by then are taken; in the far future if none is expected.
    call: Instant,
    /// Packets that were booked in the order of their arrival.
    in_order: Ring<Expected>,
    /// Packets that were booked behind others that arrive later, numbered: those of one link that
    /// arrive at the same time stay in order.
    others: BinaryHeap<Reverse<(Expected, u64)>>,
    others_meter: RoomMeter,
    numbered: u64,
}

impl Merge {
    fn new(link: u32, target: TargetId) -> Self {
        Self {
            link,
            target,
            lookahead: Duration::ZERO,
            call: Instant::FAR_FUTURE,
            in_order: Ring::default(),
            others: BinaryHeap::new(),
            others_meter: RoomMeter::default(),
            numbered: 0,
        }
    }

    #[inline]
    fn push(&mut self, expected: Expected) {
        let last = self.in_order.back();
        if last.is_none_or(|last| *last <= expected) {
            self.in_order.push_back(expected);
        } else {
            self.numbered += 1;
            self.others.push(Reverse((expected, self.numbered)));
            if self.others_meter.on_push(self.others.len()) {
                self.fit_others();
            }
        }
    }

    /// Gives back the room that slow starts needed.
    #[cold]
    fn fit_others(&mut self) {
        if let Some(enough) = self.others_meter.end_period(self.others.capacity()) {
            self.others.shrink_to(enough);
        }
    }

    /// The time of the next arrival.
    #[inline]
    fn next_at(&self) -> Option<EventTime> {
        let first = self.in_order.front().map(|first| first.at);
        let Some(Reverse((other, _))) = self.others.peek() else {
            return first;
        };
        Some(first.map_or(other.at, |first| first.min(other.at)))
    }

    /// The next packet that arrives before this event.
    #[inline(always)]
    fn pop_before(&mut self, event: EventTime) -> Option<Expected> {
        let first = self.next_at().filter(|at| *at < event)?;
        if self.in_order.front().is_some_and(|next| next.at == first) {
            self.in_order.pop_front()
        } else {
            self.others.pop().map(|Reverse((other, _))| other)
        }
    }

    /// All packets, in the order of their arrival.
    fn drain(&mut self) -> Vec<Expected> {
        self.call = Instant::FAR_FUTURE;
        let end = (Instant::FAR_FUTURE, u64::MAX);
        std::iter::from_fn(|| self.pop_before(end)).collect()
    }
}

impl Network {
    /// The event that is being processed, or was last.
    #[inline]
    pub(super) const fn this_event(&self) -> EventTime {
        (self.now, self.event_order)
    }

    /// A merge will take the packet that link number `id` has taken.
    #[inline]
    pub(super) fn expect(&mut self, merge: u32, id: u32, arrival: Arrival, packet: PacketRef) {
        let Arrival { at, since } = arrival;
        let feeder = self.links[id as usize].target;
        let merge = &mut self.merges[merge as usize];
        merge.push(Expected {
            at: (at, order_of(feeder, at.as_nanos(), since)),
            packet,
        });
        let call = at + merge.lookahead;
        if call < merge.call {
            merge.call = call;
            // Before all other events of its instant.
            self.queue.set(merge.target, call, Instant::ZERO);
        }
    }

    /// A merge takes the packets that arrive before this event.
    #[inline(never)]
    pub(super) fn take_arrivals(&mut self, merge: u32, event: EventTime) {
        let link = self.merges[merge as usize].link;
        while let Some(Expected { at, mut packet }) = self.merges[merge as usize].pop_before(event)
        {
            packet.ip.ttl -= 1;
            self.book_as_of(link, at.0, packet);
        }
    }

    /// The call of a merge is due.
    pub(crate) fn call_merge(&mut self, merge: u32) {
        self.take_arrivals(merge, (self.now, 0));
        let merge = &mut self.merges[merge as usize];
        let next = merge.next_at();
        merge.call = next.map_or(Instant::FAR_FUTURE, |(at, _)| at + merge.lookahead);
        self.queue.reset(merge.target, merge.call, Instant::ZERO);
    }

    /// All merges take what has arrived. Their calls stay, so that it is the same run wherever it
    /// pauses, to the number of its events.
    pub(crate) fn settle_merges(&mut self) {
        let event = self.this_event();
        for merge in 0..self.merges.len() as u32 {
            self.take_arrivals(merge, event);
        }
    }

    /// Finds the links that can take packets late.
    pub(super) fn find_merges(&mut self) {
        let known = self.merges.iter().map(|merge| merge.link);
        let known: BTreeMap<u32, u32> = known.zip(0..).collect();
        let mut hosts = BTreeSet::new();
        for id in 0..self.links.len() as u32 {
            let place = &self.links[id as usize];
            let lookahead = place.link.propagation_delay();
            let may_be_late = place.link.is_plain() && !lookahead.is_zero();
            if !may_be_late || !self.routes.meet_at(id) {
                continue;
            }
            hosts.insert(place.from);
            let merge = known.get(&id).copied().unwrap_or_else(|| {
                let merge = self.merges.len() as u32;
                let target = self.add_target(EventTarget::Merge(merge));
                self.merges.push(Merge::new(id, target));
                merge
            });
            self.merges[merge as usize].lookahead = lookahead;
            self.links[id as usize].merge = merge;
        }
        for place in &mut self.links {
            // A link that takes no time would bring packets behind others of the same instant.
            place.feeds_merges = place.link.books_ahead() && hosts.contains(&place.to);
            place.feeds |= place.feeds_merges;
        }
    }

    /// Gives packets on their way to merges back to the links on which they are, and returns these
    /// links.
    pub(super) fn end_merges(&mut self) -> Vec<u32> {
        let mut feeders = Vec::new();
        for merge in 0..self.merges.len() {
            let link = self.merges[merge].link;
            self.links[link as usize].merge = ABSENT;
            let mut back: BTreeMap<u32, VecDeque<PacketRef>> = BTreeMap::new();
            for Expected { at, packet } in self.merges[merge].drain() {
                let feeder = self.targets[target_of_order(at.1).0 as usize];
                if let EventTarget::Link(feeder) = feeder {
                    back.entry(feeder).or_default().push_back(packet);
                }
            }
            for (feeder, packets) in back {
                self.links[feeder as usize].link.hold_again(link, packets);
                feeders.push(feeder);
            }
            let target = self.merges[merge].target;
            self.queue.set(target, Instant::FAR_FUTURE, self.now);
        }
        for place in &mut self.links {
            (place.feeds, place.feeds_merges) = (false, false);
        }
        feeders
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet_pool::fixture::{number_of, packet_ref};

    /// A packet with this number that arrives at this time and has this place at that instant.
    fn expected(nanos: u64, order: u64, number: u64) -> Expected {
        Expected {
            at: (Instant::from_nanos(nanos), order),
            packet: packet_ref(number, 0, 100),
        }
    }

    #[test]
    fn packets_come_in_the_order_of_their_arrival_and_those_of_one_link_in_theirs() {
        let mut merge = Merge::new(0, TargetId(0));
        let booked = [
            (50, 1),
            (90, 1),
            (70, 2),
            (70, 1),
            (70, 1),
            (90, 1),
            (60, 9),
        ];
        for (number, (nanos, order)) in booked.into_iter().enumerate() {
            merge.push(expected(nanos, order, number as u64));
        }
        let mut pop_before = |nanos, order| {
            let next = merge.pop_before((Instant::from_nanos(nanos), order));
            next.map(|next| number_of(&next.packet))
        };
        let before_70: Vec<_> = std::iter::from_fn(|| pop_before(70, 1)).collect();
        assert_eq!(before_70, [0, 6]);
        let then: Vec<_> = std::iter::from_fn(|| pop_before(90, 2)).collect();
        assert_eq!(then, [3, 4, 2, 1, 5]);
    }
}
