//! A link: one direction of a wire with the queue in front of it.
//!
//! A packet waits in the queue, is transmitted for size * 8 / rate seconds, and arrives `delay`
//! later. The time at which the transmitter becomes free is kept exactly, as whole nanoseconds
//! and a remainder in units of 1/rate nanoseconds; only the arrival is rounded, up to the next
//! nanosecond, so that nothing drifts and nothing is early.
//!
//! Transmissions are started late: the event loop calls the link when a packet enters or arrives,
//! never between, and the link then starts every transmission that is due, each with its own exact
//! time. A packet therefore costs one event. While the queue is traced, the event loop also calls
//! the link at each start, which changes the times of trace events and no result; a plain link
//! knows these times without being called.
//!
//! A policer and the thinning of acknowledgements drop packets before the queue, when they come.
//! The loss model drops packets on the wire: they have used their transmission time. The
//! impairments of [`netem`](crate::netem) follow. Scheduled changes hold for transmissions that
//! start at their time or later: a packet on the wire keeps its arrival, so that after a change
//! to a shorter delay packets may overtake. Does not model: framing below IP.

mod config;
mod counters;
mod plain;
mod transmitter;

pub use config::{LinkChange, LinkConfig};
pub use counters::LinkCounters;
pub(crate) use counters::QueueMeter;
pub(crate) use plain::Asked;

use crate::ack_thinning::AckThinning;
use crate::loss::Loss;
use crate::netem::{Damage, Netem};
use crate::packet_pool::PacketRef;
use crate::policer::PolicerConfig;
use crate::queue::{DropsAndMarks, Queue, QueueDisc, drop_event};
use crate::shaper::TokenBucket;
use plain::Plain;
use std::collections::BTreeMap;
use transmitter::{ExactTime, Transmitter};
use weir_proto::event::{DropReason, EventMask, Events};
use weir_proto::packet::FlowId;
use weir_proto::ring::Ring;
use weir_proto::time::{Duration, Instant};

#[derive(Debug)]
struct InFlight {
    arrives: Instant,
    packet: PacketRef,
}

/// A link: its queue, its transmitter and the packets in flight.
#[derive(Debug)]
pub struct Link {
    transmitter: Transmitter,
    delay: Duration,
    mtu: u32,
    queue: Queue,
    effects: DropsAndMarks,
    shaper: Option<Box<TokenBucket>>,
    policer: Option<Box<TokenBucket>>,
    ack_thinning: Option<Box<AckThinning>>,
    flight: Ring<InFlight>,
    /// In place of `queue` and `flight`, if the link books its packets.
    plain: Plain,
    meter: QueueMeter,
    loss: Loss,
    netem: Option<Box<Netem>>,
    /// Changes to come, the next one last.
    changes: Vec<LinkChange>,
    /// Seed and name of the random streams, for the loss models of later changes.
    stream: (u64, String),
    /// Packets to duplicate: when the copy arrives, and the packet.
    pub(crate) copies: Vec<(Instant, PacketRef)>,
    counters: LinkCounters,
    /// Drops of each flow.
    dropped: BTreeMap<FlowId, u64>,
    /// Dropped packets, which the network removes from the pool.
    pub(crate) discarded: Vec<PacketRef>,
    events: Events,
}

impl Link {
    /// An empty link that draws its losses from the run of this seed.
    pub(crate) fn new(config: &LinkConfig, seed: u64) -> Self {
        Self {
            transmitter: Transmitter::new(config),
            delay: config.delay,
            mtu: config.mtu.unwrap_or(u32::MAX),
            queue: Queue::new(
                &config.queue(),
                seed,
                &format!("link/{}/queue", config.name),
            ),
            effects: DropsAndMarks::default(),
            shaper: config.shaper.map(TokenBucket::new).map(Box::new),
            policer: config.policer.map(PolicerConfig::bucket).map(Box::new),
            ack_thinning: config.ack_thinning.map(AckThinning::new).map(Box::new),
            flight: Ring::default(),
            plain: Plain::new(config),
            meter: QueueMeter::default(),
            loss: Loss::new(&config.loss, seed, &format!("link/{}/loss", config.name)),
            netem: (!config.netem.is_none())
                .then(|| Box::new(Netem::new(config.netem, seed, &config.name))),
            changes: config.changes.iter().rev().cloned().collect(),
            stream: (seed, config.name.clone()),
            copies: Vec::new(),
            counters: LinkCounters::default(),
            dropped: BTreeMap::new(),
            discarded: Vec::new(),
            events: Events::default(),
        }
    }

    /// The counters when they are read, not earlier than the last call of the link.
    pub(crate) fn counters(&mut self, asked: Asked) -> LinkCounters {
        if let Some(so_far) = self.counters_so_far(asked) {
            return so_far;
        }
        let now = asked.now;
        self.start_transmissions(now);
        self.count_queue(now);
        let unfinished = self.transmitter.free.nanos.saturating_sub(now.as_nanos());
        LinkCounters {
            at: now,
            packets_queued: self.queue.backlog().packets,
            bytes_queued: self.queue.backlog().bytes,
            packets_in_flight: self.flight.len() as u64,
            bytes_in_flight: self.flight.iter().map(|f| u64::from(f.packet.size)).sum(),
            busy: self.counters.busy - Duration::from_nanos(unfinished),
            shaper_busy: (self.shaper.as_ref()).map_or(Duration::ZERO, |shaper| shaper.busy(now)),
            ..self.counters
        }
    }

    /// The present delay of the wire.
    pub(crate) const fn propagation_delay(&self) -> Duration {
        self.delay
    }

    /// Packets of this flow that the link dropped.
    pub(crate) fn packets_dropped_of(&self, flow: FlowId) -> u64 {
        self.dropped.get(&flow).copied().unwrap_or(0)
    }

    /// When [`handle_timeout`](Self::handle_timeout) must be called for exact trace events: at the
    /// next start of a transmission, if the queue or its drops are traced.
    pub(crate) fn poll_trace_tick(&self) -> Option<Instant> {
        let wanted = self.events.wants(EventMask::QUEUE.union(EventMask::DROP));
        wanted.then(|| self.next_start()).flatten()
    }

    /// When the head of the queue may start: the transmitter is free and there are tokens.
    #[inline]
    fn next_start(&self) -> Option<Instant> {
        let size = self.queue.head_size()?;
        let free = self.transmitter.free.rounded_up();
        match &self.shaper {
            None => Some(free),
            Some(shaper) => Some(free.max(shaper.ready_at(size))),
        }
    }

    /// Starts every transmission that is due. Each starts when the one before it has ended and
    /// there are tokens for it.
    #[inline]
    fn start_transmissions(&mut self, now: Instant) {
        while let Some(at) = self.next_start().filter(|&at| at <= now) {
            let mut start = self.transmitter.free;
            if at > start.rounded_up() {
                start = ExactTime::at(at);
            }
            self.apply_changes(at);
            self.count_queue(at);
            let packet = self.queue.dequeue(at, &mut self.effects);
            self.record_drops_and_marks(at);
            self.record_queue(at);
            if let Some(mut packet) = packet {
                packet.leave_queue(at);
                if let Some(shaper) = &mut self.shaper {
                    shaper.on_start(at, packet.size);
                }
                self.transmit(start, packet);
            }
        }
    }

    /// Applies the changes that are due.
    #[inline]
    fn apply_changes(&mut self, at: Instant) {
        while self
            .changes
            .last()
            .is_some_and(|change| change.time() <= at)
        {
            if let Some(change) = self.changes.pop() {
                self.apply(change);
            }
        }
    }

    #[cold]
    fn apply(&mut self, change: LinkChange) {
        if let Some(rate) = change.rate {
            self.transmitter.set_rate(rate);
        }
        self.delay = change.delay.unwrap_or(self.delay);
        let (seed, name) = &self.stream;
        if let Some(loss) = &change.loss {
            let stream = format!("link/{name}/loss/{}", change.time());
            self.loss = Loss::new(loss, *seed, &stream);
        }
        if let (Some(rate), Some(shaper)) = (change.shaper_rate, &mut self.shaper) {
            shaper.set_rate(change.time(), rate);
        }
        if let Some(config) = change.netem {
            match &mut self.netem {
                Some(netem) => netem.set(config),
                None => self.netem = Some(Box::new(Netem::new(config, *seed, name))),
            }
        }
    }

    /// Counts what the queue dropped and marked in the last call.
    #[inline]
    fn record_drops_and_marks(&mut self, at: Instant) {
        if self.effects.is_empty() {
            return;
        }
        let mut effects = std::mem::take(&mut self.effects);
        for (packet, reason) in effects.dropped.drain(..) {
            self.drop(at, packet, reason);
        }
        for marked in effects.marked.drain(..) {
            self.counters.packets_marked += 1;
            self.events.push(at, EventMask::DROP, || marked.event());
        }
        self.effects = effects;
    }

    /// Puts the packet on the wire at `start`.
    #[inline]
    fn transmit(&mut self, start: ExactTime, packet: PacketRef) {
        let end = self.transmitter.end_of_transmission(start, packet.size);
        self.counters.busy += Duration::from_nanos(end.nanos - start.nanos);
        self.transmitter.free = end;
        if self.loss.drops_next() {
            self.drop(start.rounded_up(), packet, DropReason::LossModel);
            return;
        }
        let left = end.rounded_up();
        if self.netem.is_some() {
            return self.impair(left, packet);
        }
        let arrives = left + self.delay;
        self.put_in_flight(arrives, packet);
    }

    /// Arrivals are in order but for jitter, reordering and delays that become shorter.
    #[inline]
    fn put_in_flight(&mut self, arrives: Instant, packet: PacketRef) {
        let in_order = self
            .flight
            .back()
            .is_none_or(|last| last.arrives <= arrives);
        let flying = InFlight { arrives, packet };
        if in_order {
            self.flight.push_back(flying);
        } else {
            let place = self
                .flight
                .partition_point(|other| other.arrives <= arrives);
            self.flight.insert(place, flying);
        }
    }

    /// Puts a copy of a packet in flight; the network has made it from an entry of `copies`.
    pub(crate) fn put_copy_in_flight(&mut self, arrives: Instant, copy: PacketRef) {
        self.counters.packets_duplicated += 1;
        self.counters.bytes_duplicated += u64::from(copy.size);
        self.put_in_flight(arrives, copy);
    }

    /// Lets netem have the packet that left at this time.
    #[cold]
    fn impair(&mut self, left: Instant, mut packet: PacketRef) {
        let Some(netem) = &mut self.netem else { return };
        let drawn = netem.draw(self.delay, packet.size);
        let keeps_order = netem.keeps_order();
        match drawn.damage {
            Damage::None => {}
            Damage::Header => return self.drop(left, packet, DropReason::Damaged),
            Damage::At(place) => {
                self.counters.packets_damaged += 1;
                let first = packet.damaged_at.map_or(place, |before| before.min(place));
                packet.damaged_at = Some(first);
            }
        }
        self.counters.packets_reordered += u64::from(drawn.reordered);
        let last = self.flight.back().map_or(left, |last| last.arrives);
        let in_order = |arrives: Instant| {
            if keeps_order {
                arrives.max(last)
            } else {
                arrives
            }
        };
        if let Some(delay) = drawn.copy {
            let arrives = netem.arrival(in_order(left + delay), packet.size);
            self.copies.push((arrives, packet.stub()));
        }
        let arrives = netem.arrival(in_order(left + drawn.delay), packet.size);
        self.put_in_flight(arrives, packet);
    }

    /// Adds the time since the last change to the integrals of the queue.
    #[inline]
    fn count_queue(&mut self, now: Instant) {
        let backlog = self.queue.backlog();
        self.meter.advance(now, backlog, &mut self.counters);
    }

    #[inline]
    fn record_queue(&mut self, at: Instant) {
        let backlog = self.queue.backlog();
        self.events
            .push(at, EventMask::QUEUE, move || backlog.event());
    }

    #[cold]
    fn drop(&mut self, at: Instant, packet: PacketRef, reason: DropReason) {
        self.counters.count_drop(packet.size, reason);
        *self.dropped.entry(packet.flow).or_default() += 1;
        self.events
            .push(at, EventMask::DROP, || drop_event(&packet, reason));
        self.discarded.push(packet);
    }

    /// Why the policer or the thinning of acknowledgements drops the packet before the queue.
    #[inline]
    fn refusal(&mut self, now: Instant, packet: &PacketRef) -> Option<DropReason> {
        if let Some(thinning) = &mut self.ack_thinning
            && !thinning.passes(now, packet.flow, packet.size)
        {
            return Some(DropReason::Thinned);
        }
        let policer = self.policer.as_mut()?;
        (!policer.takes(now, packet.size)).then_some(DropReason::Policed)
    }

    fn enqueue(&mut self, now: Instant, mut packet: PacketRef) {
        self.count_queue(now);
        packet.enter_queue(now);
        self.queue.enqueue(now, packet, &mut self.effects);
        self.record_drops_and_marks(now);
        QueueMeter::entered(self.queue.backlog(), &mut self.counters);
        self.record_queue(now);
    }

    /// A packet enters.
    #[inline]
    pub(crate) fn handle(&mut self, now: Instant, packet: PacketRef) {
        if self.books() {
            return self.book(now, packet);
        }
        self.counters.packets_in += 1;
        self.counters.bytes_in += u64::from(packet.size);
        let fits = self
            .shaper
            .as_ref()
            .is_none_or(|shaper| shaper.fits(packet.size));
        if packet.size > self.mtu || !fits {
            self.drop(now, packet, DropReason::TooLarge);
            return;
        }
        if let Some(reason) = self.refusal(now, &packet) {
            self.drop(now, packet, reason);
            return;
        }
        self.start_transmissions(now);
        self.apply_changes(now);
        let idle = self.queue.backlog().packets == 0 && self.transmitter.free.rounded_up() <= now;
        if idle {
            self.transmitter.free = ExactTime::at(now);
            if self.queue.can_bypass() && self.shaper.is_none() {
                self.transmit(self.transmitter.free, packet);
                return;
            }
        }
        self.enqueue(now, packet);
        if idle {
            self.start_transmissions(now);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.report_starts(now);
        self.start_transmissions(now);
    }

    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<PacketRef> {
        if self.books() {
            return self.poll_booked(now).map(|(packet, _)| packet);
        }
        self.flight.front().filter(|first| first.arrives <= now)?;
        let packet = self.flight.pop_front()?.packet;
        self.counters.packets_delivered += 1;
        self.counters.bytes_delivered += u64::from(packet.size);
        Some(packet)
    }

    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        if self.books() {
            return self.next_call().0;
        }
        match self.flight.front() {
            Some(first) => Some(first.arrives),
            // Everything on the wire was lost; the next packet follows when the wire is free.
            None => self.next_start(),
        }
    }

    /// When the link is to be called next, and since when that is known.
    pub(crate) fn due(&self, now: Instant) -> (Option<Instant>, Instant) {
        if self.books() {
            self.next_call()
        } else {
            (self.poll_timeout(), now)
        }
    }

    /// Selects the trace events from now on. No other link may hold packets of this one.
    pub(crate) fn set_mask(&mut self, now: Instant, mask: EventMask) {
        self.report_starts(now);
        self.plain.watch(now, mask != EventMask::NONE);
        self.events.set_mask(mask);
    }

    pub(crate) fn events(&mut self) -> &mut Events {
        &mut self.events
    }
}

#[cfg(test)]
mod tests;
