//! A link that does not book its packets: its queue, loss model and impairments.
//!
//! Boxed, because most links of a large network are plain and need none of this state.

use super::config::{LinkChange, LinkConfig};
use super::faults::Faults;
use super::transmitter::ExactTime;
use super::{LinkCounters, QueueMeter, Wire};
use crate::ack_facts::AckFacts;
use crate::ack_thinning::AckThinning;
use crate::loss::Loss;
use crate::netem::{Damage, Netem};
use crate::packet_pool::PacketRef;
use crate::policer::PolicerConfig;
use crate::queue::{DropsAndMarks, Queue, QueueDisc, mark};
use crate::shaper::TokenBucket;
use crate::stage_events::{StageEvent, Transmission};
use weir_proto::event::DropReason;
use weir_proto::ring::Ring;
use weir_proto::time::{Duration, Instant};

#[derive(Debug)]
struct InFlight {
    arrives: Instant,
    packet: PacketRef,
}

/// A packet's way over the wire: the start and end of its transmission, and its delay.
#[derive(Clone, Copy, Debug)]
struct Flight {
    started: Instant,
    left: Instant,
    delay: Duration,
}

/// The state of a link that does not book its packets, in addition to the wire.
#[derive(Debug)]
pub(super) struct Queued {
    queue: Queue,
    effects: DropsAndMarks,
    shaper: Option<Box<TokenBucket>>,
    policer: Option<Box<TokenBucket>>,
    ack_thinning: Option<Box<AckThinning>>,
    flight: Ring<InFlight>,
    meter: QueueMeter,
    loss: Loss,
    faults: Option<Box<Faults>>,
    netem: Option<Box<Netem>>,
    /// Changes to come, the next one last.
    changes: Vec<LinkChange>,
    /// Seed and name of the random streams, for the loss models of later changes.
    stream: (u64, String),
    /// Packets to duplicate: when the copy arrives, and the packet.
    copies: Vec<(Instant, PacketRef)>,
    /// It has impairments or variable delays now or later, so that packets may overtake.
    varies: bool,
}

impl Queued {
    /// An empty queue and wire whose random streams derive from this seed.
    pub(super) fn new(config: &LinkConfig, seed: u64) -> Self {
        Self {
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
            meter: QueueMeter::default(),
            loss: Loss::new(&config.loss, seed, &format!("link/{}/loss", config.name)),
            faults: Faults::new(config, seed),
            netem: (!config.netem.is_none())
                .then(|| Box::new(Netem::new(config.netem, seed, &config.name))),
            changes: config.changes.iter().rev().cloned().collect(),
            stream: (seed, config.name.clone()),
            copies: Vec::new(),
            varies: !config.netem.is_none()
                || !config.class_delays.is_empty()
                || (config.changes.iter())
                    .any(|change| change.netem.is_some() || change.delay.is_some()),
        }
    }

    /// The counters now, not earlier than the last call.
    pub(super) fn counters(&mut self, wire: &mut Wire, now: Instant) -> LinkCounters {
        self.count_queue(wire, now);
        let unfinished = wire.transmitter.free.nanos.saturating_sub(now.as_nanos());
        LinkCounters {
            at: now,
            packets_queued: self.queue.backlog().packets,
            bytes_queued: self.queue.backlog().bytes,
            packets_in_flight: self.flight.len() as u64,
            bytes_in_flight: self.flight.iter().map(|f| u64::from(f.packet.size)).sum(),
            busy: wire.counters.busy - Duration::from_nanos(unfinished),
            shaper_busy: (self.shaper.as_ref())
                .map_or_else(|| self.queue.shaping_time(now), |shaper| shaper.busy(now)),
            policer_busy: (self.policer.as_ref())
                .map_or(Duration::ZERO, |policer| policer.busy(now)),
            ..wire.counters
        }
    }

    /// When the head of the queue may start: the transmitter is free, the queue does not hold it
    /// back, and there are tokens.
    #[inline]
    pub(super) fn next_start(&self, wire: &Wire) -> Option<Instant> {
        let size = self.queue.head_size()?;
        let free = wire
            .transmitter
            .free
            .rounded_up()
            .max(self.queue.ready_at());
        match &self.shaper {
            None => Some(free),
            Some(shaper) => Some(free.max(shaper.ready_at(size))),
        }
    }

    /// Starts every transmission that is due. Each starts when the one before it has ended and
    /// there are tokens for it.
    #[inline]
    pub(super) fn start_transmissions(&mut self, wire: &mut Wire, now: Instant) {
        while let Some(at) = self.next_start(wire).filter(|&at| at <= now) {
            let mut start = wire.transmitter.free;
            if at > start.rounded_up() {
                start = ExactTime::at(at);
            }
            self.apply_changes(wire, at);
            self.count_queue(wire, at);
            let packet = self.queue.dequeue(at, &mut self.effects);
            self.record_drops_and_marks(wire, at);
            self.record_queue(wire, at);
            if let Some(mut packet) = packet {
                packet.leave_queue(at);
                if let Some(shaper) = &mut self.shaper {
                    shaper.on_start(at, packet.size);
                }
                self.transmit(wire, start, packet);
            }
        }
    }

    /// Applies the changes that are due.
    #[inline]
    fn apply_changes(&mut self, wire: &mut Wire, at: Instant) {
        while self
            .changes
            .last()
            .is_some_and(|change| change.time() <= at)
        {
            if let Some(change) = self.changes.pop() {
                self.apply(wire, change);
            }
        }
    }

    #[cold]
    fn apply(&mut self, wire: &mut Wire, change: LinkChange) {
        if let Some(rate) = change.rate {
            wire.transmitter.set_rate(rate);
        }
        wire.delay = change.delay.unwrap_or(wire.delay);
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
    fn record_drops_and_marks(&mut self, wire: &mut Wire, at: Instant) {
        if self.effects.is_empty() {
            return;
        }
        let mut effects = std::mem::take(&mut self.effects);
        for (packet, reason) in effects.dropped.drain(..) {
            wire.drop(at, packet, reason);
        }
        for marked in effects.marked.drain(..) {
            wire.counters.packets_marked += 1;
            wire.events.push(at, StageEvent::Mark(marked));
        }
        self.effects = effects;
    }

    /// Transmits the packet from `start` on.
    #[inline]
    fn transmit(&mut self, wire: &mut Wire, start: ExactTime, mut packet: PacketRef) {
        let netem = self.netem.as_ref().map(|netem| netem.config());
        let octets = netem.map_or(packet.size, |netem| netem.octets_on_wire(packet.size));
        let end = wire.transmitter.end_of_transmission(start, octets);
        wire.counters.busy += Duration::from_nanos(end.nanos - start.nanos);
        wire.transmitter.free = end;
        let started = start.rounded_up();
        if let Some(reason) = self.loss_on_wire(wire, started, &mut packet) {
            wire.drop(started, packet, reason);
            return;
        }
        let left = end.rounded_up();
        let faults = self.faults.as_ref();
        let delay = wire.delay + faults.map_or(Duration::ZERO, |faults| faults.delay_of(&packet));
        let flight = Flight {
            started,
            left,
            delay,
        };
        if self.netem.is_some() {
            return self.impair(wire, flight, packet);
        }
        record_transmission(wire, &flight, &packet, left + delay);
        self.put_in_flight(left + delay, packet);
    }

    /// The reason why the packet that starts at this time is lost on the wire, if it is.
    #[inline]
    fn loss_on_wire(
        &mut self,
        wire: &mut Wire,
        at: Instant,
        packet: &mut PacketRef,
    ) -> Option<DropReason> {
        let faults = self.faults.as_mut();
        if faults.is_some_and(|faults| faults.is_out(at)) {
            return Some(DropReason::Outage);
        }
        if self.loss.drops_next(at) {
            let marks = self.netem.as_ref().is_some_and(|netem| netem.config().ecn);
            if !(marks && mark(packet, &mut self.effects)) {
                return Some(DropReason::LossModel);
            }
            self.record_drops_and_marks(wire, at);
        }
        self.faults.as_mut()?.meet_ecn(wire, packet)
    }

    /// Arrivals are in order except for jitter, reordering and delays that become shorter.
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
    pub(super) fn put_copy_in_flight(
        &mut self,
        wire: &mut Wire,
        arrives: Instant,
        copy: PacketRef,
    ) {
        wire.counters.packets_duplicated += 1;
        wire.counters.bytes_duplicated += u64::from(copy.size);
        self.put_in_flight(arrives, copy);
    }

    /// Applies netem's impairments to the packet. A drop is recorded at the start of the
    /// transmission, like those of the loss model, because the events of a link are in order.
    #[cold]
    fn impair(&mut self, wire: &mut Wire, flight: Flight, mut packet: PacketRef) {
        let Some(netem) = &mut self.netem else { return };
        let left = flight.left;
        let drawn = netem.draw(flight.delay, packet.size);
        let keeps_order = netem.config().keep_order;
        match drawn.damage {
            Damage::None => {}
            Damage::Header => return wire.drop(flight.started, packet, DropReason::Damaged),
            Damage::At(place) => {
                wire.counters.packets_damaged += 1;
                let first = packet.damaged_at.map_or(place, |before| before.min(place));
                packet.damaged_at = Some(first);
            }
        }
        wire.counters.packets_reordered += u64::from(drawn.reordered);
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
        record_transmission(wire, &flight, &packet, arrives);
        self.put_in_flight(arrives, packet);
    }

    /// Adds the time since the last change to the integrals of the queue.
    #[inline]
    fn count_queue(&mut self, wire: &mut Wire, now: Instant) {
        let backlog = self.queue.backlog();
        self.meter.advance(now, backlog, &mut wire.counters);
    }

    #[inline]
    fn record_queue(&mut self, wire: &mut Wire, at: Instant) {
        wire.events
            .push(at, StageEvent::Queue(self.queue.backlog()));
    }

    /// The reason why the policer or the thinning of acknowledgements drops the packet before the
    /// queue, if it does.
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

    /// True if the queue decides on TCP headers.
    #[inline]
    pub(super) fn reads_acks(&self) -> bool {
        self.queue.reads_acks()
    }

    /// What the queue reads in the TCP header of the packet that enters next.
    pub(super) fn expect(&mut self, facts: Option<AckFacts>) {
        self.queue.expect(facts);
    }

    fn enqueue(&mut self, wire: &mut Wire, now: Instant, mut packet: PacketRef) {
        self.count_queue(wire, now);
        wire.events.push(now, StageEvent::Enter(packet.pooled()));
        packet.enter_queue(now);
        self.queue.enqueue(now, packet, &mut self.effects);
        self.record_drops_and_marks(wire, now);
        self.record_queue(wire, now);
    }

    /// A packet enters.
    #[inline]
    pub(super) fn handle(&mut self, wire: &mut Wire, now: Instant, packet: PacketRef) {
        wire.counters.packets_in += 1;
        wire.counters.bytes_in += u64::from(packet.size);
        let fits = self
            .shaper
            .as_ref()
            .is_none_or(|shaper| shaper.fits(packet.size));
        if packet.size > wire.mtu || !fits {
            wire.drop(now, packet, DropReason::TooLarge);
            return;
        }
        if let Some(reason) = self.refusal(now, &packet) {
            wire.drop(now, packet, reason);
            return;
        }
        self.start_transmissions(wire, now);
        self.apply_changes(wire, now);
        let idle = self.queue.backlog().packets == 0 && wire.transmitter.free.rounded_up() <= now;
        if idle {
            wire.transmitter.free = ExactTime::at(now);
            if self.queue.can_bypass() && self.shaper.is_none() {
                wire.events.push(now, StageEvent::Enter(packet.pooled()));
                self.transmit(wire, wire.transmitter.free, packet);
                return;
            }
        }
        self.enqueue(wire, now, packet);
        if idle {
            self.start_transmissions(wire, now);
        }
        // A packet that an idle link starts to transmit at once does not count as waiting.
        QueueMeter::entered(self.queue.backlog(), &mut wire.counters);
    }

    /// The next packet that has arrived at the other end.
    #[inline]
    pub(super) fn poll_transmit(&mut self, wire: &mut Wire, now: Instant) -> Option<PacketRef> {
        self.flight.front().filter(|first| first.arrives <= now)?;
        let packet = self.flight.pop_front()?.packet;
        wire.counters.packets_delivered += 1;
        wire.counters.bytes_delivered += u64::from(packet.size);
        Some(packet)
    }

    /// When the link must be called next.
    #[inline]
    pub(super) fn poll_timeout(&self, wire: &Wire) -> Option<Instant> {
        let Some(first) = self.flight.front() else {
            // No packet is on the wire; the next one starts when the transmitter is free.
            return self.next_start(wire);
        };
        let arrives = first.arrives;
        if !self.varies {
            return Some(arrives);
        }
        let overtakes = |&start: &Instant| self.may_overtake(wire, start, arrives);
        let start = self.next_start(wire).filter(overtakes);
        Some(start.map_or(arrives, |start| start.min(arrives)))
    }

    /// True if a packet that starts at `start` or later may arrive before `arrives`, the arrival of
    /// the first packet on the wire. The link must then be called at that start.
    #[cold]
    fn may_overtake(&self, wire: &Wire, start: Instant, arrives: Instant) -> bool {
        let netem = self.netem.as_ref();
        let changes = self.changes.iter().rev();
        netem.is_some_and(|netem| netem.config().overtakes())
            || (self.faults.as_ref()).is_some_and(|faults| faults.overtakes())
            || start + wire.delay < arrives
            || changes
                .take_while(|change| change.time() < arrives)
                .any(|change| {
                    let from = start.max(change.time());
                    change.netem.is_some_and(|netem| netem.overtakes())
                        || change.delay.is_some_and(|delay| from + delay < arrives)
                })
    }

    /// True if there are packets to duplicate.
    #[inline]
    pub(super) fn has_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    /// The next packet to duplicate, and when the copy arrives.
    pub(super) fn poll_copy(&mut self) -> Option<(Instant, PacketRef)> {
        self.copies.pop()
    }
}

/// Notes when a packet is on the wire, for those who follow packets.
#[inline]
fn record_transmission(wire: &mut Wire, flight: &Flight, packet: &PacketRef, arrives: Instant) {
    let transmission = Transmission {
        started: flight.started,
        left: flight.left,
        arrives: Some(arrives),
    };
    wire.events.push(
        flight.started,
        StageEvent::Carry(packet.pooled(), transmission),
    );
}
