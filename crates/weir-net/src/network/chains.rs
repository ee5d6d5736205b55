//! Chains of plain links: a link that only one other link feeds takes its packets in their order,
//! so that it books them when they enter the chain, and not when they come to it.
//!
//! Events remain where ways meet and where they end. What a link of a chain drops is known ahead
//! too, but dropped when it comes there, so that counters, drops and packets in the network are
//! right whenever they are read. A chain begins behind a plain link, and all of its links are plain
//! and take time. The order of events at one instant is the same with chains and without (see
//! [`event_queue`](crate::event_queue)).

use super::{ABSENT, Network};
use crate::packet_pool::PacketRef;
use weir_proto::event::DropReason;

/// The most links of a chain.
const MAX_LENGTH: usize = 64;

impl Network {
    /// A packet enters a plain link, which is number `id`, and is booked as far as its chain goes.
    #[inline]
    pub(crate) fn book(&mut self, mut id: u32, mut packet: PacketRef) {
        let now = self.now;
        let mut place = &mut self.links[id as usize];
        let mut times = match place.link.take(now, now, &mut packet) {
            Ok(times) => times,
            Err(reason) => return self.refuse(id, packet, reason),
        };
        while place.feeds && packet.ip.destination != place.to && packet.ip.ttl > 1 {
            let next = self.routes.next(place.to, packet.ip.destination);
            let Some(next) = next else { break };
            let chained = self.links.get_mut(next as usize);
            let Some(chained) = chained.filter(|chained| chained.feeder == id) else {
                break;
            };
            let onward = match chained.link.take(now, times.arrives, &mut packet) {
                Ok(onward) => onward,
                Err(reason) => {
                    packet.refused = Some(reason);
                    break;
                }
            };
            packet.ip.ttl -= 1;
            self.links[id as usize].link.pass(times, packet.size, next);
            (id, times) = (next, onward);
            place = &mut self.links[id as usize];
        }
        let place = &mut self.links[id as usize];
        if let Some((at, since)) = place.link.hold(times, packet) {
            self.queue.set(place.target, at, since);
        }
    }

    #[cold]
    fn refuse(&mut self, id: u32, packet: PacketRef, reason: DropReason) {
        let link = &mut self.links[id as usize].link;
        link.refuse(self.now, packet, reason);
        self.discard_dropped(id);
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
            match place.link.take(now, arrives, &mut packet) {
                Ok(times) => {
                    packet.ip.ttl -= 1;
                    place.link.hold(times, packet);
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
        for id in changed {
            self.links[id as usize].link.set_chained(false);
            self.expect_call(id);
        }
    }

    /// Calls a plain link at the times of the packets that it holds now.
    fn expect_call(&mut self, id: u32) {
        let place = &mut self.links[id as usize];
        place.link.find_next_call();
        let (at, since) = place.link.next_call();
        self.queue.reset(place.target, at, since);
    }
}
