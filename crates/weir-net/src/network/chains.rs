//! Chains of plain links: a link that only one other link feeds takes its packets in their order,
//! so that it books them when they enter the chain, and not when they come to it.
//!
//! Events remain where ways end, and one for many packets where they [meet](super::merges). What
//! a link of a chain drops is known ahead too, but dropped when it comes there, so that counters,
//! drops and packets in the network are right whenever they are read. A chain begins behind a plain
//! link, and all of its links are plain and take time. The order of events at one instant is the
//! same with chains and without (see [`event_queue`](crate::event_queue)).

use super::{ABSENT, Network};
use crate::link::{Arrival, HELD};
use crate::packet_pool::PacketRef;
use weir_proto::event::DropReason;
use weir_proto::time::Instant;

/// The most links of a chain.
const MAX_LENGTH: usize = 64;

impl Network {
    /// A packet enters a plain link, which is number `id`, now.
    #[inline]
    pub(crate) fn book(&mut self, id: u32, packet: PacketRef) {
        let merge = self.links[id as usize].merge;
        if merge != ABSENT {
            self.take_arrivals(merge, self.this_event());
        }
        self.book_as_of(id, self.now, packet);
    }

    /// A packet entered a plain link at this time, which may have passed, and is booked as far as
    /// its chain goes.
    #[inline]
    pub(super) fn book_as_of(&mut self, mut id: u32, entered: Instant, mut packet: PacketRef) {
        let (mut enters, mut before) = (entered, None);
        loop {
            let onward = self.onward(id, &packet);
            let next = onward.map_or(HELD, |(next, _)| next);
            let place = &mut self.links[id as usize];
            let arrival = match place.link.take(self.now, enters, &mut packet, next) {
                Ok(arrival) => arrival,
                Err(reason) => return self.refuse(id, enters, packet, reason, before),
            };
            match onward {
                Some((next, ABSENT)) => {
                    packet.ip.ttl -= 1;
                    before = Some((id, arrival));
                    (id, enters) = (next, arrival.at);
                }
                Some((_, merge)) => return self.expect(merge, id, arrival, packet),
                None => {
                    if let Some(Arrival { at, since }) = place.link.hold(arrival, packet) {
                        self.queue.set(place.target, at, since);
                    }
                    return;
                }
            }
        }
    }

    /// The link that books the packet behind this one, with the place of its merge, or [`ABSENT`]
    /// if it is chained to this one; `None` if this one holds it.
    #[inline(always)]
    fn onward(&self, id: u32, packet: &PacketRef) -> Option<(u32, u32)> {
        let place = &self.links[id as usize];
        if !place.feeds || packet.ip.destination == place.to || packet.ip.ttl <= 1 {
            return None;
        }
        let next = self.routes.next(place.to, packet.ip.destination)?;
        let onward = self.links.get(next as usize)?;
        let books = match onward.merge {
            ABSENT => onward.feeder == id,
            _ => place.feeds_merges,
        };
        books.then_some((next, onward.merge))
    }

    /// A link refuses a packet when it enters, which stays in the pool if the link is traced. The
    /// link before it in its chain, if there is one, holds the packet until then.
    #[cold]
    fn refuse(
        &mut self,
        id: u32,
        enters: Instant,
        mut packet: PacketRef,
        reason: DropReason,
        before: Option<(u32, Arrival)>,
    ) {
        let Some((before, arrival)) = before else {
            let link = &mut self.links[id as usize].link;
            link.refuse(enters, packet, reason);
            if link.is_plain() {
                self.discard_dropped(id);
            }
            return;
        };
        packet.ip.ttl += 1;
        packet.refused = Some(reason);
        let place = &mut self.links[before as usize];
        if let Some(Arrival { at, since }) = place.link.hold_refused(arrival, packet) {
            self.queue.set(place.target, at, since);
        }
    }

    /// Finds the links that can be booked ahead.
    pub(super) fn find_chains(&mut self) {
        let books = |id: u32| {
            let place = self.links.get(id as usize);
            place.is_some_and(|place| place.link.books_ahead())
        };
        let is_plain = |id: u32| {
            let place = self.links.get(id as usize);
            place.is_some_and(|place| place.link.is_plain())
        };
        let feeder = |id: u32| {
            let feeder = self.routes.only_feeder(id)?;
            (books(id) && is_plain(feeder)).then_some(feeder)
        };
        let depth = |id: u32| {
            let chain = std::iter::successors(Some(id), |&id| feeder(id));
            chain.take(MAX_LENGTH + 1).count()
        };
        let links = 0..self.links.len() as u32;
        let mut chained: Vec<(usize, u32, u32)> = links
            .filter_map(|id| Some((depth(id), id, feeder(id)?)))
            .filter(|&(depth, ..)| depth <= MAX_LENGTH)
            .collect();
        chained.sort_unstable();
        for (_, id, feeder) in chained {
            let place = &mut self.links[id as usize];
            place.feeder = feeder;
            place.link.set_chained(true);
            self.links[feeder as usize].feeds = true;
            self.chained.push(id);
            self.book_held(feeder, id);
        }
        self.find_merges();
    }

    /// Books what a link holds already for the link behind it, which is chained from now on.
    fn book_held(&mut self, feeder: u32, id: u32) {
        let (now, routes) = (self.now, &self.routes);
        let both = [feeder as usize, id as usize];
        let Ok([before, place]) = self.links.get_disjoint_mut(both) else {
            return;
        };
        if before.link.holds_nothing() {
            return;
        }
        let to = before.to;
        before.link.hand_over(id, |arrives, mut packet| {
            let ends = packet.ip.destination == to || packet.ip.ttl <= 1;
            if ends || routes.next(to, packet.ip.destination) != Some(id) {
                return Err(packet);
            }
            match place.link.take(now, arrives, &mut packet, HELD) {
                Ok(arrival) => {
                    packet.ip.ttl -= 1;
                    place.link.hold(arrival, packet);
                    Ok(())
                }
                Err(reason) => {
                    packet.refused = Some(reason);
                    Err(packet)
                }
            }
        });
        self.expect_call(feeder);
        self.expect_call(id);
    }

    /// Gives packets that are booked ahead back to the links on which they are: before something
    /// changes that the chains depend on.
    pub(super) fn end_chains(&mut self) {
        let asked = self.asked();
        let mut feeders = self.end_merges();
        let mut changed = std::mem::take(&mut self.chained);
        // The last link of a chain gives back first.
        for n in (0..changed.len()).rev() {
            let id = changed[n];
            let place = &mut self.links[id as usize];
            let feeder = std::mem::replace(&mut place.feeder, ABSENT);
            let back = place.link.take_back(asked);
            let feeding = &mut self.links[feeder as usize];
            feeding.feeds = false;
            feeding.link.hold_again(id, back);
            changed.push(feeder);
        }
        changed.append(&mut feeders);
        for id in changed {
            self.links[id as usize].link.set_chained(false);
            self.expect_call(id);
        }
    }

    /// Calls a plain link at the times of the packets that it holds now.
    fn expect_call(&mut self, id: u32) {
        let place = &mut self.links[id as usize];
        place.link.find_next_call();
        let Arrival { at, since } = place.link.next_call();
        self.queue.reset(place.target, at, since);
    }
}
