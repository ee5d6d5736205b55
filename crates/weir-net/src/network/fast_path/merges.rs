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
//! would have. A packet that enters such a link by an event waits with them. When a run pauses, merges book all packets that have arrived, so that counters and
//! drops are correct whenever they are read.

use super::Network;
use crate::event_queue::{TargetId, order_of, target_of_order};
use crate::link::Arrival;
use crate::network::EventTarget;
use crate::packet_pool::PacketRef;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weir_proto::ring::RoomMeter;
use weir_proto::time::{Duration, Instant};

/// The time of an event and its position among those of the same instant.
type EventTime = (Instant, u64);

/// A packet on its way to a merge.
#[derive(Debug)]
pub(super) struct HeldPacket {
    at: EventTime,
    packet: PacketRef,
}

/// A plain link with several feeders, and the packets on their way to it.
#[derive(Debug)]
pub(super) struct Merge {
    pub(super) link: u32,
    target: TargetId,
    lookahead: Duration,
    /// When it books the packets that have arrived by then; in the far future if it holds none.
    pub(super) next_call: Instant,
    held: Vec<HeldPacket>,
    /// How many of the first of these are in the order of their arrival.
    sorted: usize,
    meter: RoomMeter,
}

impl Merge {
    fn new(link: u32, target: TargetId) -> Self {
        Self {
            link,
            target,
            lookahead: Duration::ZERO,
            next_call: Instant::FAR_FUTURE,
            held: Vec::new(),
            sorted: 0,
            meter: RoomMeter::default(),
        }
    }

    #[inline]
    fn push(&mut self, held: HeldPacket) {
        let last = self.held.last();
        if self.sorted == self.held.len() && last.is_none_or(|last| last.at <= held.at) {
            self.sorted += 1;
        }
        self.held.push(held);
        if self.meter.on_push(self.held.len()) {
            self.fit();
        }
    }

    /// Frees memory that was needed during slow start.
    #[cold]
    fn fit(&mut self) {
        if let Some(enough) = self.meter.end_period(self.held.capacity()) {
            self.held.shrink_to(enough);
        }
    }

    /// The packets that arrive before this event, in the order of their arrival. Those of one event
    /// stay in the order in which they were added.
    fn take_before(&mut self, event: EventTime, taken: &mut Vec<HeldPacket>) {
        if self.sorted < self.held.len() {
            self.held.sort_by_key(|held| held.at);
        }
        let before = self.held.partition_point(|held| held.at < event);
        taken.extend(self.held.drain(..before));
        self.sorted = self.held.len();
    }
}

impl Network {
    /// A merge holds the packet that link `id` has booked.
    #[inline]
    pub(super) fn hold_at_merge(
        &mut self,
        merge: u32,
        id: u32,
        arrival: Arrival,
        mut packet: PacketRef,
    ) {
        let Arrival { at, since } = arrival;
        let feeder = self.links[id as usize].target;
        packet.ip.ttl -= 1;
        self.hold_until_called(merge, (at, order_of(feeder, at.as_nanos(), since)), packet);
    }

    /// A merge holds a packet that arrives, or enters, by this event.
    #[inline]
    pub(super) fn hold_until_called(&mut self, merge: u32, at: EventTime, packet: PacketRef) {
        let merge = &mut self.fast_path.merges[merge as usize];
        merge.push(HeldPacket { at, packet });
        let call = at.0 + merge.lookahead;
        if call < merge.next_call {
            merge.next_call = call;
            // The call comes before all other events of its instant.
            self.queue.set(merge.target, call, Instant::ZERO);
        }
    }

    /// A merge books the packets that arrive before this event.
    fn book_arrivals(&mut self, merge: u32, event: EventTime) {
        let of_merge = &mut self.fast_path.merges[merge as usize];
        let link = of_merge.link;
        let mut arrived = std::mem::take(&mut self.fast_path.arrived);
        of_merge.take_before(event, &mut arrived);
        for HeldPacket { at, packet } in arrived.drain(..) {
            self.book_as_of(link, at.0, packet);
        }
        self.fast_path.arrived = arrived;
    }

    /// The call of a merge is due.
    pub(crate) fn call_merge(&mut self, merge: u32) {
        self.book_arrivals(merge, (self.now, 0));
        let merge = &mut self.fast_path.merges[merge as usize];
        let next = merge.held.first();
        merge.next_call = next.map_or(Instant::FAR_FUTURE, |next| next.at.0 + merge.lookahead);
        self.queue
            .reset(merge.target, merge.next_call, Instant::ZERO);
    }

    /// All merges book the packets that have arrived by the last event. Their scheduled calls
    /// remain, so that a run has the same events wherever it pauses.
    pub(crate) fn catch_up_merges(&mut self) {
        let next = match self.event_order.checked_add(1) {
            Some(order) => (self.now, order),
            None => (self.now + Duration::from_nanos(1), 0),
        };
        for merge in 0..self.fast_path.merges.len() as u32 {
            self.book_arrivals(merge, next);
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
            merge.next_call = Instant::FAR_FUTURE;
            merge.sorted = 0;
            merge.held.sort_by_key(|held| held.at);
            for HeldPacket { at, mut packet } in merge.held.drain(..) {
                let feeder = self.targets[target_of_order(at.1).0 as usize];
                if let EventTarget::Link(feeder) = feeder {
                    packet.ip.ttl += 1;
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
        let mut before = |nanos, order| {
            let mut taken = Vec::new();
            merge.take_before((Instant::from_nanos(nanos), order), &mut taken);
            let numbers = taken.iter().map(|held| number_of(&held.packet));
            numbers.collect::<Vec<_>>()
        };
        assert_eq!(before(70, 1), [0, 6]);
        assert_eq!(before(90, 2), [3, 4, 2, 1, 5]);
    }
}
