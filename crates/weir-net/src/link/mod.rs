//! A link: one direction of a wire with the queue in front of it.
//!
//! A packet waits in the queue, is transmitted for size * 8 / rate seconds, and arrives `delay`
//! later. The time at which the transmitter becomes free is kept exactly, as whole nanoseconds
//! and a remainder in units of 1/rate nanoseconds; only the arrival is rounded, up to the next
//! nanosecond, so that nothing drifts and nothing is early.
//!
//! Transmissions are started lazily: the event loop calls the link when a packet enters or arrives,
//! never between, and the link then starts every transmission that is due, each with its own exact
//! time. A packet therefore costs one event. If a packet may arrive before one that is already on
//! the wire, because of jitter, duplication or a delay that becomes shorter, the loop also calls
//! the link at each start. While the queue is traced, the event loop calls the link at each start
//! too, which changes the times of trace events and no result; a plain link knows these times
//! without being called.
//!
//! A policer and the thinning of acknowledgements drop packets before the queue, when they enter. A
//! packet lost on the wire has used its transmission time: an [outage](crate::outage) drops all
//! packets, the loss model drops some of the rest, then [ECN faults](crate::ecn_faults) apply.
//! Delays [by class](crate::class_delay) and the impairments of [`netem`](crate::netem) follow.
//! Scheduled changes apply to transmissions that start at their time or later: a packet on the wire
//! keeps its arrival time, so that packets may overtake after a change to a shorter delay. Does not
//! model: framing below IP.

mod config;
mod counters;
mod faults;
mod plain;
mod queued;
mod transmitter;

pub use config::{LinkChange, LinkConfig};
pub use counters::LinkCounters;
pub(crate) use counters::QueueMeter;
pub(crate) use plain::{Arrival, HELD, Progress};

use crate::ack_facts::AckFacts;
use crate::packet_pool::PacketRef;
use crate::stage_events::{StageEvent, StageEvents};
use plain::Service;
use std::collections::BTreeMap;
use transmitter::Transmitter;
use weir_proto::event::{DropReason, EventMask};
use weir_proto::packet::FlowId;
use weir_proto::time::{Duration, Instant};

/// State that every link has. `repr(C)` keeps the fields in this order, so that those read for each
/// packet share cache lines.
#[derive(Debug)]
#[repr(C)]
struct Wire {
    mtu: u32,
    delay: Duration,
    transmitter: Transmitter,
    counters: LinkCounters,
    /// `None` before the first drop: most links of a large network never drop.
    drops: Option<Box<Drops>>,
    events: StageEvents,
}

/// The packets that a link has dropped.
#[derive(Debug, Default)]
struct Drops {
    of_flow: BTreeMap<FlowId, u64>,
    /// Dropped packets, which the network removes from the pool.
    discarded: Vec<PacketRef>,
}

impl Wire {
    /// Counts and reports the drop of a packet, which the network is to remove.
    #[cold]
    fn drop(&mut self, at: Instant, packet: PacketRef, reason: DropReason) {
        self.counters.count_drop(packet.size, reason);
        self.events
            .push(at, StageEvent::Drop(packet.pooled(), reason));
        let drops = self.drops.get_or_insert_default();
        *drops.of_flow.entry(packet.flow).or_default() += 1;
        drops.discarded.push(packet);
    }
}

/// A link: its queue, its transmitter and the packets in flight.
#[derive(Debug)]
#[repr(C)]
pub struct Link {
    service: Service,
    wire: Wire,
}

impl Link {
    /// An empty link whose random streams derive from this seed.
    pub(crate) fn new(config: &LinkConfig, seed: u64) -> Self {
        Self {
            service: Service::new(config, seed),
            wire: Wire {
                mtu: config.mtu.unwrap_or(u32::MAX),
                delay: config.delay,
                transmitter: Transmitter::new(config),
                counters: LinkCounters::default(),
                drops: None,
                events: StageEvents::default(),
            },
        }
    }

    /// The counters when they are read, not earlier than the last call of the link.
    pub(crate) fn counters(&mut self, progress: Progress) -> LinkCounters {
        let Self { service, wire } = self;
        match service {
            Service::Queued(queued) => {
                queued.start_transmissions(wire, progress.last());
                queued.counters(wire, progress.now)
            }
            Service::Plain(bookings) | Service::TracedPlain(bookings) => {
                bookings.counters(wire, progress)
            }
        }
    }

    /// The current propagation delay of the wire.
    pub(crate) const fn propagation_delay(&self) -> Duration {
        self.wire.delay
    }

    /// Packets of this flow that the link dropped.
    pub(crate) fn packets_dropped_of(&self, flow: FlowId) -> u64 {
        let drops = self.wire.drops.as_ref();
        let dropped = drops.and_then(|drops| drops.of_flow.get(&flow));
        dropped.copied().unwrap_or(0)
    }

    /// When [`handle_timeout`](Self::handle_timeout) must be called for exact trace events: at the
    /// start of the next transmission, if the queue or its drops are traced; else in the far
    /// future.
    pub(crate) fn poll_trace_tick(&self) -> Instant {
        let Service::Queued(queued) = &self.service else {
            return Instant::FAR_FUTURE;
        };
        let events = &self.wire.events;
        let wanted = events.wants(EventMask::QUEUE.union(EventMask::DROP));
        let next_start = wanted.then(|| queued.next_start(&self.wire)).flatten();
        next_start.unwrap_or(Instant::FAR_FUTURE)
    }

    /// True if the queue decides on TCP headers: [`expect`](Self::expect) then precedes each
    /// packet.
    #[inline]
    pub(crate) fn reads_acks(&self) -> bool {
        matches!(&self.service, Service::Queued(queued) if queued.reads_acks())
    }

    /// What the queue reads in the TCP header of the packet that enters next.
    pub(crate) fn expect(&mut self, facts: Option<AckFacts>) {
        if let Service::Queued(queued) = &mut self.service {
            queued.expect(facts);
        }
    }

    /// A packet enters.
    #[inline]
    pub(crate) fn handle(&mut self, now: Instant, packet: PacketRef) {
        match &mut self.service {
            Service::Queued(queued) => queued.handle(&mut self.wire, now, packet),
            _ => self.book_and_hold(now, packet),
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match &mut self.service {
            Service::Queued(queued) => queued.start_transmissions(&mut self.wire, now),
            _ => self.catch_up(now),
        }
    }

    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<PacketRef> {
        match &mut self.service {
            Service::Queued(queued) => queued.poll_transmit(&mut self.wire, now),
            _ => self.poll_booked(now),
        }
    }

    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        if let Service::Queued(queued) = &self.service {
            return queued.poll_timeout(&self.wire);
        }
        let at = self.next_call().at;
        (at < Instant::FAR_FUTURE).then_some(at)
    }

    /// When the link must be called next, and since when that is known; the far future if no call
    /// is needed.
    pub(crate) fn due(&self, now: Instant) -> Arrival {
        if self.is_plain() {
            return self.next_call();
        }
        let at = self.poll_timeout();
        Arrival {
            at: at.unwrap_or(Instant::FAR_FUTURE),
            since: now,
        }
    }

    /// Selects the trace events from now on. No other link may hold packets of this one. Changes of
    /// the queue that were not taken are lost.
    pub(crate) fn set_mask(&mut self, now: Instant, mask: EventMask) {
        self.service.set_mask(now, mask);
        self.wire.events.set_mask(mask);
    }

    pub(crate) fn events(&mut self) -> &mut StageEvents {
        &mut self.wire.events
    }

    /// True if there are packets to duplicate.
    #[inline]
    pub(crate) fn has_copies(&self) -> bool {
        matches!(&self.service, Service::Queued(queued) if queued.has_copies())
    }

    /// The next packet to duplicate, and when the copy arrives.
    pub(crate) fn poll_copy(&mut self) -> Option<(Instant, PacketRef)> {
        match &mut self.service {
            Service::Queued(queued) => queued.poll_copy(),
            _ => None,
        }
    }

    /// Puts a copy of a packet in flight; the network has made it from what
    /// [`poll_copy`](Self::poll_copy) returned.
    pub(crate) fn put_copy_in_flight(&mut self, arrives: Instant, copy: PacketRef) {
        if let Service::Queued(queued) = &mut self.service {
            queued.put_copy_in_flight(&mut self.wire, arrives, copy);
        }
    }

    /// True if packets were dropped that are still in the pool.
    #[inline]
    pub(crate) fn has_discarded(&self) -> bool {
        let drops = self.wire.drops.as_ref();
        drops.is_some_and(|drops| !drops.discarded.is_empty())
    }

    /// The next packet that was dropped, which the network removes from the pool.
    pub(crate) fn poll_discarded(&mut self) -> Option<PacketRef> {
        self.wire.drops.as_mut()?.discarded.pop()
    }
}

#[cfg(test)]
mod tests;
