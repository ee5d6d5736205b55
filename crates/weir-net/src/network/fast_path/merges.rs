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
//! would have. A packet that enters such a link by an event waits with them. When a run pauses,
//! merges book all packets that have arrived, so that counters and drops are correct whenever they
//! are read.

use super::{ABSENT, HELD, Network, Onward};
use crate::event_queue::{TargetId, order_of, target_of_order};
use crate::link::Arrival;
use crate::network::EventTarget;
use crate::packet_pool::PacketRef;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weir_proto::ring::RoomMeter;
use weir_proto::time::{Duration, Instant};

/// The time of an event and its position among those of the same instant.
type EventTime = (Instant, u64);

/// The packets on their way to a merge.
#[derive(Debug, Default)]
struct HeldPackets {
    /// When each arrives, and its place in `packets`. Small, because they are sorted.
    arrivals: Vec<(EventTime, u32)>,
    packets: Vec<Option<PacketRef>>,
    meter: RoomMeter,
}

impl HeldPackets {
    #[inline]
    fn push(&mut self, at: EventTime, packet: PacketRef) {
        if self.packets.len() == self.packets.capacity() {
            self.grow();
        }
        self.arrivals.push((at, self.packets.len() as u32));
        self.packets.push(Some(packet));
        if self.meter.on_push(self.packets.len()) {
            self.fit();
        }
    }

    /// Grows by a quarter, because most of a doubled capacity would stay unused.
    #[cold]
    fn grow(&mut self) {
        let more = (self.packets.len() / 4).max(16);
        self.packets.reserve_exact(more);
        self.arrivals.reserve_exact(more);
    }

    /// Frees memory that was needed during slow start.
    #[cold]
    fn fit(&mut self) {
        if let Some(enough) = self.meter.end_period(self.packets.capacity()) {
            self.packets.shrink_to(enough);
            self.arrivals.shrink_to(enough);
        }
    }

    /// Puts the arrivals in order, those of one event in the order in which they were added, and
    /// returns how many come before this event.
    fn sort(&mut self, event: EventTime) -> usize {
        // One comparison of integers.
        let key = |at: EventTime| u128::from(at.0.as_nanos()) << 64 | u128::from(at.1);
        self.arrivals.sort_by_key(|arrival| key(arrival.0));
        self.arrivals.partition_point(|(at, _)| *at < event)
    }

    /// The first `count` packets have been taken: the others move to the first places.
    fn close_up(&mut self, count: usize) {
        self.arrivals.drain(..count);
        self.arrivals.sort_unstable_by_key(|(_, place)| *place);
        self.packets.retain(Option::is_some);
        for (place, arrival) in self.arrivals.iter_mut().enumerate() {
            arrival.1 = place as u32;
        }
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
    held: HeldPackets,
}

impl Merge {
    fn new(link: u32, target: TargetId) -> Self {
        Self {
            link,
            target,
            lookahead: Duration::ZERO,
            next_call: Instant::FAR_FUTURE,
            held: HeldPackets::default(),
        }
    }
}

/// No packet.
const NONE: u32 = u32::MAX;

/// A packet that a merge has booked and that the next link of its chain books too.
#[derive(Debug)]
struct Booked {
    /// Its place among the packets that the merge holds.
    place: u32,
    /// Its number among those that the merge has booked in this call.
    number: u32,
    arrival: Arrival,
    /// The next packet for the same link, in `booked`.
    following: u32,
}

/// The packets that a merge books in one call. The links behind it book them link by link, so that
/// each comes into the processor's cache once.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Packets that the merge has booked.
    count: u32,
    booked: Vec<Booked>,
    /// Links that book some of these, each with its first packet in `booked`.
    links: Vec<(u32, u32)>,
    /// The last packet for each link; [`NONE`] for all links between two calls.
    last: Vec<u32>,
    /// Packets that the merge holds until they arrive at its end.
    held: Vec<(u32, Arrival, PacketRef)>,
}

impl Batch {
    /// The merge has booked the packet at this place, and this link books it next.
    #[inline]
    fn add(&mut self, link: u32, arrival: Arrival, place: u32) {
        let added = self.booked.len() as u32;
        let last = &mut self.last[link as usize];
        if *last == NONE {
            self.links.push((link, added));
        } else {
            self.booked[*last as usize].following = added;
        }
        *last = added;
        self.booked.push(Booked {
            place,
            number: self.count,
            arrival,
            following: NONE,
        });
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
        merge.held.push(at, packet);
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
        let count = of_merge.held.sort(event);
        if count == 0 {
            return;
        }
        let mut held = std::mem::take(&mut of_merge.held);
        let mut batch = std::mem::take(&mut self.fast_path.batch);
        batch.last.resize(self.links.len(), NONE);
        for &(at, place) in &held.arrivals[..count] {
            let packet = &mut held.packets[place as usize];
            self.book_first(link, at.0, (packet, place), &mut batch);
        }
        self.book_behind(link, &mut held, &mut batch);
        held.close_up(count);
        self.fast_path.merges[merge as usize].held = held;
        self.fast_path.batch = batch;
    }

    /// A merge books the packet at this place.
    #[inline]
    fn book_first(
        &mut self,
        id: u32,
        enters: Instant,
        (slot, place): (&mut Option<PacketRef>, u32),
        batch: &mut Batch,
    ) {
        let Some(packet) = slot else { return };
        let onward = self.onward(id, packet);
        let next = onward.as_ref().map_or(HELD, |onward| onward.link);
        let link = &mut self.links[id as usize].link;
        let arrival = match link.book_as_of(self.now, enters, packet, next) {
            Ok(arrival) => arrival,
            Err(reason) => {
                if let Some(packet) = slot.take() {
                    self.refuse_first(id, enters, packet, reason);
                }
                return;
            }
        };
        if let Some(Onward { merge: ABSENT, .. }) = onward {
            packet.ip.ttl -= 1;
            batch.add(next, arrival, place);
        } else if let Some(packet) = slot.take() {
            match onward {
                Some(Onward { merge, .. }) => self.hold_at_merge(merge, id, arrival, packet),
                None => batch.held.push((batch.count, arrival, packet)),
            }
        }
        batch.count += 1;
    }

    /// The links behind a merge book what it has booked, each in the order of the merge.
    fn book_behind(&mut self, id: u32, held: &mut HeldPackets, batch: &mut Batch) {
        let mut refused = false;
        for (link, mut next) in batch.links.drain(..) {
            batch.last[link as usize] = NONE;
            while next != NONE {
                let Booked {
                    place,
                    number,
                    arrival,
                    following,
                } = batch.booked[next as usize];
                next = following;
                let Some(packet) = held.packets[place as usize].take() else {
                    continue;
                };
                if let Err((packet, reason)) = self.book_as_of(link, arrival.at, packet) {
                    let offset = (batch.count - number) as usize;
                    self.links[id as usize].link.hold_booked(offset);
                    let packet = packet.refused_by_next(reason);
                    batch.held.push((number, arrival, packet));
                    refused = true;
                }
            }
        }
        batch.booked.clear();
        if refused {
            batch.held.sort_unstable_by_key(|(number, ..)| *number);
        }
        for (_, arrival, packet) in batch.held.drain(..) {
            self.hold(id, arrival, packet);
        }
        batch.count = 0;
    }

    /// The call of a merge is due.
    pub(crate) fn call_merge(&mut self, merge: u32) {
        self.book_arrivals(merge, (self.now, 0));
        let merge = &mut self.fast_path.merges[merge as usize];
        let next = merge.held.arrivals.iter().map(|(at, _)| at.0).min();
        merge.next_call = next.map_or(Instant::FAR_FUTURE, |at| at + merge.lookahead);
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
            merge.held.arrivals.sort_unstable();
            for (at, place) in merge.held.arrivals.drain(..) {
                let feeder = self.targets[target_of_order(at.1).0 as usize];
                let packet = merge.held.packets[place as usize].take();
                if let (EventTarget::Link(feeder), Some(mut packet)) = (feeder, packet) {
                    packet.ip.ttl += 1;
                    back.entry(feeder).or_default().push_back(packet);
                }
            }
            merge.held.packets.clear();
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

    #[test]
    fn packets_come_in_the_order_of_their_arrival_and_those_of_one_link_in_theirs() {
        let mut held = HeldPackets::default();
        let booked = [
            (50, 1),
            (90, 1),
            (70, 2),
            (70, 1),
            (70, 1),
            (90, 1),
            (60, 9),
        ];
        let at = |nanos, order| (Instant::from_nanos(nanos), order);
        for (number, (nanos, order)) in booked.into_iter().enumerate() {
            held.push(at(nanos, order), packet_ref(number as u64, 0, 100));
        }
        let mut before = |nanos, order| {
            let count = held.sort(at(nanos, order));
            let places = held.arrivals[..count]
                .iter()
                .map(|(_, place)| *place as usize);
            let packets = places.filter_map(|place| held.packets[place].take());
            let numbers: Vec<_> = packets.map(|packet| number_of(&packet)).collect();
            held.close_up(count);
            numbers
        };
        assert_eq!(before(70, 1), [0, 6]);
        assert_eq!(before(90, 2), [3, 4, 2, 1, 5]);
    }
}
