//! Merges: plain links that several links or hosts feed, and that book packets late, many at a
//! time.
//!
//! A plain link that books a packet knows when it arrives at the next link. If that link has other
//! feeders, it must book packets in the order of their arrival, and earlier ones may still come
//! from elsewhere. It need not book them at once, though: a packet that enters it leaves it one
//! propagation delay later at the earliest, and has no visible effect before. So the link is called
//! one propagation delay after the first of them has arrived. All arrivals up to then are known,
//! and one event serves all of them. Parallel simulators call this delay the lookahead of a link.
//!
//! The packets are booked as of their arrival and in the order that the events of their arrival
//! would have. A packet that enters such a link by an event comes behind those that arrived before
//! that event. When a run pauses, merges book all packets that have arrived, so that counters and
//! drops are correct whenever they are read.

use super::Network;
use crate::event_queue::{TargetId, order_of, target_of_order};
use crate::link::Arrival;
use crate::network::EventTarget;
use crate::packet_pool::PacketRef;
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use weir_proto::ring::{Ring, RoomMeter};
use weir_proto::time::{Duration, Instant};

/// The time of an event and its position among those of the same instant.
type EventTime = (Instant, u64);

/// A packet on its way to a merge.
#[derive(Debug)]
struct HeldPacket {
    at: EventTime,
    packet: PacketRef,
}

impl PartialEq for HeldPacket {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for HeldPacket {}

impl PartialOrd for HeldPacket {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for HeldPacket {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.cmp(&other.at)
    }
}

/// A plain link with several feeders, and the packets on their way to it.
#[derive(Debug)]
pub(super) struct Merge {
    pub(super) link: u32,
    target: TargetId,
    lookahead: Duration,
    /// When it books the packets that have arrived by then; in the far future if it holds none.
    pub(super) next_call: Instant,
    /// Packets that were added in the order of their arrival.
    in_order: Ring<HeldPacket>,
    /// Packets that were added after others that arrive later, numbered, so that packets of one
    /// link that arrive at the same time stay in order.
    others: BinaryHeap<Reverse<(HeldPacket, u64)>>,
    others_meter: RoomMeter,
    numbered: u64,
}

impl Merge {
    fn new(link: u32, target: TargetId) -> Self {
        Self {
            link,
            target,
            lookahead: Duration::ZERO,
            next_call: Instant::FAR_FUTURE,
            in_order: Ring::default(),
            others: BinaryHeap::new(),
            others_meter: RoomMeter::default(),
            numbered: 0,
        }
    }

    #[inline]
    fn push(&mut self, held: HeldPacket) {
        let last = self.in_order.back();
        if last.is_none_or(|last| *last <= held) {
            self.in_order.push_back(held);
        } else {
            self.numbered += 1;
            self.others.push(Reverse((held, self.numbered)));
            if self.others_meter.on_push(self.others.len()) {
                self.fit_others();
            }
        }
    }

    /// Frees memory that was needed during slow start.
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
    fn pop_before(&mut self, event: EventTime) -> Option<HeldPacket> {
        let first = self.next_at().filter(|at| *at < event)?;
        if self.in_order.front().is_some_and(|next| next.at == first) {
            self.in_order.pop_front()
        } else {
            self.others.pop().map(|Reverse((other, _))| other)
        }
    }

    /// All packets, in the order of their arrival.
    fn drain(&mut self) -> Vec<HeldPacket> {
        self.next_call = Instant::FAR_FUTURE;
        let end = (Instant::FAR_FUTURE, u64::MAX);
        std::iter::from_fn(|| self.pop_before(end)).collect()
    }
}

impl Network {
    /// The event that is being processed, or the last one processed.
    #[inline]
    pub(super) const fn this_event(&self) -> EventTime {
        (self.now, self.event_order)
    }

    /// A merge holds the packet that link `id` has booked.
    #[inline]
    pub(super) fn hold_at_merge(
        &mut self,
        merge: u32,
        id: u32,
        arrival: Arrival,
        packet: PacketRef,
    ) {
        let Arrival { at, since } = arrival;
        let feeder = self.links[id as usize].target;
        let merge = &mut self.fast_path.merges[merge as usize];
        merge.push(HeldPacket {
            at: (at, order_of(feeder, at.as_nanos(), since)),
            packet,
        });
        let call = at + merge.lookahead;
        if call < merge.next_call {
            merge.next_call = call;
            // The call comes before all other events of its instant.
            self.queue.set(merge.target, call, Instant::ZERO);
        }
    }

    /// A merge books the packets that arrive before this event.
    #[inline(never)]
    pub(super) fn book_arrivals(&mut self, merge: u32, event: EventTime) {
        let link = self.fast_path.merges[merge as usize].link;
        while let Some(held) = self.fast_path.merges[merge as usize].pop_before(event) {
            let HeldPacket { at, mut packet } = held;
            packet.ip.ttl -= 1;
            self.book_as_of(link, at.0, packet);
        }
    }

    /// The call of a merge is due.
    pub(crate) fn call_merge(&mut self, merge: u32) {
        self.book_arrivals(merge, (self.now, 0));
        let merge = &mut self.fast_path.merges[merge as usize];
        let next = merge.next_at();
        merge.next_call = next.map_or(Instant::FAR_FUTURE, |(at, _)| at + merge.lookahead);
        self.queue
            .reset(merge.target, merge.next_call, Instant::ZERO);
    }

    /// All merges book the packets that have arrived. Their scheduled calls remain, so that a run
    /// has the same events wherever it pauses.
    pub(crate) fn catch_up_merges(&mut self) {
        let event = self.this_event();
        for merge in 0..self.fast_path.merges.len() as u32 {
            self.book_arrivals(merge, event);
        }
    }

    /// Finds the links that can book packets late, and makes them merges.
    pub(super) fn find_merges(&mut self) {
        let known = self.fast_path.merges.iter().map(|merge| merge.link);
        let known: BTreeMap<u32, u32> = known.zip(0..).collect();
        let mut hosts = BTreeSet::new();
        for id in 0..self.links.len() as u32 {
            let slot = &self.links[id as usize];
            let lookahead = slot.link.propagation_delay();
            let may_be_late = slot.link.is_untraced_plain() && !lookahead.is_zero();
            if !may_be_late || !self.routes.meet_at(id) {
                continue;
            }
            hosts.insert(slot.from);
            let merge = known.get(&id).copied().unwrap_or_else(|| {
                let merge = self.fast_path.merges.len() as u32;
                let target = self.add_target(EventTarget::Merge(merge));
                self.fast_path.merges.push(Merge::new(id, target));
                merge
            });
            self.fast_path.merges[merge as usize].lookahead = lookahead;
            self.links[id as usize].joint.merge = merge;
        }
        for slot in &mut self.links {
            // A link whose packets take no time would deliver them behind others of the same
            // instant.
            slot.joint.feeds_merges = slot.link.books_ahead() && hosts.contains(&slot.to);
            slot.joint.feeds |= slot.joint.feeds_merges;
        }
    }

    /// Returns packets on their way to merges to the links that carry them; returns these links.
    pub(super) fn hand_back_from_merges(&mut self) -> Vec<u32> {
        let mut feeders = Vec::new();
        for merge in &mut self.fast_path.merges {
            let mut back: BTreeMap<u32, VecDeque<PacketRef>> = BTreeMap::new();
            for HeldPacket { at, packet } in merge.drain() {
                let feeder = self.targets[target_of_order(at.1).0 as usize];
                if let EventTarget::Link(feeder) = feeder {
                    back.entry(feeder).or_default().push_back(packet);
                }
            }
            for (feeder, packets) in back {
                let link = &mut self.links[feeder as usize].link;
                link.hand_back(merge.link, packets);
                feeders.push(feeder);
            }
            self.queue.set(merge.target, Instant::FAR_FUTURE, self.now);
        }
        feeders
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet_pool::fixture::{number_of, packet_ref};

    /// A packet with this number, which arrives at this time and at this position in its instant.
    fn held(nanos: u64, order: u64, number: u64) -> HeldPacket {
        HeldPacket {
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
            merge.push(held(nanos, order, number as u64));
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
