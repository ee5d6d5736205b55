//! The fast path: fewer events for packets that cross plain links.
//!
//! On the slow path a packet is one event at each link: the event loop calls the link when the
//! packet arrives at its end, and the packet then enters the next link. A *plain* link has a
//! drop-tail queue, a rate and a delay only (`link/plain.rs`). Later events do not change the times
//! of a packet there, so they are known when it enters: one ring serves for queue and wire, and
//! links that are not traced save events:
//!
//! - A [chain](chains) saves the events between its links. It consists of links that only one other
//!   plain link feeds, which therefore receive packets in their order.
//! - A [merge](merges) needs one event for all packets of a propagation delay. Such a link has
//!   several feeders, so that the order of its packets is known late; but no packet that enters is
//!   visible before that delay.
//! - In a [window](windows) of time each host handles all of its events in one turn.
//!
//! A run is the same on both paths: [`event_queue`](crate::event_queue) orders the events of one
//! instant by properties of the network, and counters exclude what is booked ahead. The fast path
//! depends on the routes and on what is traced; before either changes, all packets leave it.
//!
//! A link *books* a packet as of the time when it enters: late, or ahead. It *refuses* a packet
//! that it has to drop. Exactly one place *holds* the packet: the link that is *called* when it
//! arrives, or the merge that will book it. A link *hands over* packets that it holds to a link
//! that books them ahead; to leave the fast path, that link *unbooks* those that have not entered
//! and *hands them back*. A link *catches up* with work that was postponed: starts of
//! transmissions, arrivals at a merge.

mod chains;
mod merges;
mod windows;

use super::{ABSENT, Network};
use crate::link::{Arrival, HELD};
use crate::packet_pool::PacketRef;
use crate::routing::Routes;
use merges::{Batch, Merge};
use weir_proto::event::DropReason;
use weir_proto::packet::HostId;
use weir_proto::time::Instant;
use windows::Windows;

/// The state of a network's fast path.
#[derive(Debug, Default)]
pub(super) struct FastPath {
    /// Links that book ahead; each comes behind its feeder.
    chained: Vec<u32>,
    /// Plain links with several feeders.
    merges: Vec<Merge>,
    /// Room for the packets that a merge books.
    batch: Batch,
    windows: Windows,
}

impl FastPath {
    /// The number of the link that is this merge.
    pub(super) fn link_of(&self, merge: u32) -> Option<u32> {
        self.merges.get(merge as usize).map(|merge| merge.link)
    }
}

/// How a link is connected to others in the fast path. `repr(C)` keeps the fields in this order,
/// because they are among those read for each packet.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Joint {
    /// The link that books ahead on this one, its only feeder; or [`ABSENT`].
    feeder: u32,
    /// The index of its merge, if it has several feeders; or [`ABSENT`].
    merge: u32,
    /// It feeds links that book ahead or are merges.
    feeds: bool,
    /// Some of these may be merges.
    feeds_merges: bool,
}

impl Default for Joint {
    fn default() -> Self {
        Self {
            feeder: ABSENT,
            merge: ABSENT,
            feeds: false,
            feeds_merges: false,
        }
    }
}

/// The link that books a packet after another one.
struct Onward {
    link: u32,
    /// The index of its merge; [`ABSENT`] if it is the next one of a chain.
    merge: u32,
}

/// The link that a packet enters after one that ends at this host; `None` if it goes no further.
#[inline(always)]
fn next_hop(routes: &Routes, host: HostId, packet: &PacketRef) -> Option<u32> {
    let ends = packet.ip.destination == host || packet.ip.ttl <= 1;
    (!ends).then(|| routes.next(host, packet.ip.destination))?
}

impl Network {
    /// A packet enters the plain link `id` now.
    #[inline]
    pub(crate) fn book(&mut self, id: u32, packet: PacketRef) {
        let merge = self.links[id as usize].joint.merge;
        if merge != ABSENT {
            // Before packets that the same event brings but that were booked ahead: these entered
            // their link behind it.
            let order = self.event_order.saturating_sub(1);
            return self.hold_until_called(merge, (self.now, order), packet);
        }
        if let Err((packet, reason)) = self.book_as_of(id, self.now, packet) {
            self.refuse_first(id, self.now, packet, reason);
        }
    }

    /// A packet enters a plain link at this time, which may have passed, and is booked up to the
    /// end of its chain. Returns it if this first link refuses it.
    #[inline]
    fn book_as_of(
        &mut self,
        mut id: u32,
        mut enters: Instant,
        mut packet: PacketRef,
    ) -> Result<(), (PacketRef, DropReason)> {
        let mut before = None;
        loop {
            let onward = self.onward(id, &packet);
            let next = onward.as_ref().map_or(HELD, |onward| onward.link);
            let link = &mut self.links[id as usize].link;
            let arrival = match (link.book_as_of(self.now, enters, &mut packet, next), before) {
                (Ok(arrival), _) => arrival,
                (Err(reason), None) => return Err((packet, reason)),
                (Err(reason), Some((before, arrival))) => {
                    self.links[before as usize].link.hold_booked(1);
                    self.hold(before, arrival, packet.refused_by_next(reason));
                    return Ok(());
                }
            };
            match onward {
                Some(Onward { merge: ABSENT, .. }) => {
                    packet.ip.ttl -= 1;
                    before = Some((id, arrival));
                    (id, enters) = (next, arrival.at);
                }
                Some(Onward { merge, .. }) => {
                    self.hold_at_merge(merge, id, arrival, packet);
                    return Ok(());
                }
                None => {
                    self.hold(id, arrival, packet);
                    return Ok(());
                }
            }
        }
    }

    /// The link that also books the packet, after this one; `None` if this one holds it.
    #[inline(always)]
    fn onward(&self, id: u32, packet: &PacketRef) -> Option<Onward> {
        let slot = &self.links[id as usize];
        if !slot.joint.feeds {
            return None;
        }
        let link = next_hop(&self.routes, slot.to, packet)?;
        let Joint { feeder, merge, .. } = self.links.get(link as usize)?.joint;
        let books = match merge {
            ABSENT => feeder == id,
            _ => slot.joint.feeds_merges,
        };
        books.then_some(Onward { link, merge })
    }

    /// A link holds a packet that it has booked, and is called when it arrives.
    #[inline(always)]
    fn hold(&mut self, id: u32, arrival: Arrival, packet: PacketRef) {
        let slot = &mut self.links[id as usize];
        if let Some(Arrival { at, since }) = slot.link.hold(arrival, packet) {
            self.queue.set(slot.target, at, since);
        }
    }

    /// The first link that books a packet refuses it when it enters; the packet stays in the pool
    /// if the link is traced. If a later one refuses it, the link before holds it until then.
    #[cold]
    fn refuse_first(&mut self, id: u32, enters: Instant, packet: PacketRef, reason: DropReason) {
        let link = &mut self.links[id as usize].link;
        link.refuse(enters, packet, reason);
        if link.is_untraced_plain() {
            self.discard_dropped(id);
        }
    }

    /// Finds the chains, merges and windows.
    pub(super) fn find_fast_path(&mut self) {
        self.find_chains();
        self.find_merges();
        self.find_windows();
    }

    /// Returns packets that are booked ahead, or on their way to merges, to the links that carry
    /// them.
    pub(super) fn leave_fast_path(&mut self) {
        let progress = self.progress();
        self.catch_up_merges();
        let mut changed = self.hand_back_from_merges();
        // The last link of a chain hands back first.
        for id in std::mem::take(&mut self.fast_path.chained)
            .into_iter()
            .rev()
        {
            let slot = &mut self.links[id as usize];
            let feeder = slot.joint.feeder;
            let back = slot.link.unbook(progress);
            self.links[feeder as usize].link.hand_back(id, back);
            changed.extend([id, feeder]);
        }
        for id in changed {
            self.links[id as usize].link.set_chained(false);
            self.schedule(id);
        }
        for slot in &mut self.links {
            slot.joint = Joint::default();
        }
        self.fast_path.windows = Windows::default();
    }

    /// Sets the next event of a plain link by the packets that it holds now.
    fn schedule(&mut self, id: u32) {
        let slot = &mut self.links[id as usize];
        slot.link.find_next_call();
        let Arrival { at, since } = slot.link.next_call();
        self.queue.reset(slot.target, at, since);
    }
}
