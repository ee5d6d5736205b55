//! A link: one direction of a wire with the queue in front of it.
//!
//! A packet waits in the queue, is transmitted for size * 8 / rate seconds, and arrives `delay`
//! later. The time at which the transmitter becomes free is kept exactly, as whole nanoseconds
//! and a remainder in units of 1/rate nanoseconds; only the arrival is rounded, up to the next
//! nanosecond, so that nothing drifts and nothing is early.
//!
//! Transmissions are started late: the link is called when a packet enters or arrives, never
//! between, and then starts every transmission whose time has come, each with its own exact time.
//! So a packet costs one event. While somebody watches the queue, the driver also calls
//! [`Link::watch`] at each start, which changes what is recorded and nothing else.
//!
//! A packet that the loss model takes is lost on the wire: it has used its transmission time.
//! What [`netem`](crate::netem) does comes behind that. Scheduled changes hold for transmissions
//! that start at their time or later: what is on the wire keeps its arrival, so that after a
//! change to a shorter delay packets may overtake. Does not model: framing below IP.

use crate::loss::{Loss, LossConfig};
use crate::netem::{Damage, Netem, NetemConfig};
use crate::opportunity::Opportunities;
use crate::parcel::Parcel;
use crate::queue::{Effects, Queue, QueueConfig};
use crate::shaper::{TokenBucket, TokenBucketConfig};
use std::collections::VecDeque;
use weir_proto::event::{DropReason, Event, EventMask, Events};
use weir_proto::packet::{FlowId, HostId};
use weir_proto::time::{Duration, Instant};

/// What a link is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkConfig {
    /// Its name, also of its random stream: `link/NAME/loss`.
    pub name: String,
    /// Where packets enter.
    pub from: HostId,
    /// Where packets arrive.
    pub to: HostId,
    /// Bits per second; `None` transmits in no time.
    pub rate: Option<u64>,
    /// Propagation delay.
    pub delay: Duration,
    /// The largest packet, IP header included; larger ones are dropped. `None` takes all.
    pub mtu: Option<u32>,
    /// The queue of packets that wait for their transmission.
    pub queue: QueueConfig,
    /// A token bucket that delays the start of transmissions.
    pub shaper: Option<TokenBucketConfig>,
    /// What gets lost on the wire.
    pub loss: LossConfig,
    /// What else happens on the wire.
    pub netem: NetemConfig,
    /// In place of `rate`: delivery opportunities in milliseconds; none if empty.
    pub opportunities: Vec<u64>,
    /// What changes when, in order of time.
    pub changes: Vec<LinkChange>,
}

/// A change of a link's parameters; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkChange {
    /// When.
    pub at: Instant,
    /// Bits per second; `Some(None)` transmits in no time.
    pub rate: Option<Option<u64>>,
    /// Propagation delay.
    pub delay: Option<Duration>,
    /// The token bucket's bits per second, if there is one.
    pub shaper_rate: Option<u64>,
    /// What gets lost.
    pub loss: Option<LossConfig>,
    /// What else happens.
    pub netem: Option<NetemConfig>,
}

/// Counters of a link since its start, and its content at the time of asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// The time of asking.
    pub at: Instant,
    /// Packets that came to the link.
    pub packets_in: u64,
    /// Octets of these.
    pub bytes_in: u64,
    /// Packets that arrived at the other end.
    pub packets_delivered: u64,
    /// Octets of these.
    pub bytes_delivered: u64,
    /// Packets dropped because the queue was full.
    pub dropped_queue_full: u64,
    /// Packets dropped by active queue management, though there was room.
    pub dropped_aqm: u64,
    /// Packets that the loss model took.
    pub dropped_loss_model: u64,
    /// Packets larger than the MTU.
    pub dropped_too_large: u64,
    /// Packets whose IP header was damaged.
    pub dropped_damaged: u64,
    /// Packets given up after their last retry; only stations of a shared medium retry.
    pub dropped_retry_limit: u64,
    /// Octets of all dropped packets.
    pub bytes_dropped: u64,
    /// Packets marked with congestion experienced.
    pub packets_marked: u64,
    /// Copies that came into being on the wire.
    pub packets_duplicated: u64,
    /// Octets of these.
    pub bytes_duplicated: u64,
    /// Packets that were damaged and went on.
    pub packets_damaged: u64,
    /// Packets that were not delayed, so that they may have overtaken others.
    pub packets_reordered: u64,
    /// Packets that wait in the queue.
    pub packets_queued: u64,
    /// Octets of these.
    pub bytes_queued: u64,
    /// Packets being transmitted or propagated.
    pub packets_in_flight: u64,
    /// Octets of these.
    pub bytes_in_flight: u64,
    /// The most packets that waited at a time.
    pub max_packets_queued: u64,
    /// The most octets that waited at a time.
    pub max_bytes_queued: u64,
    /// Integral of the waiting packets over time, in packet nanoseconds.
    pub packet_nanos_queued: u128,
    /// Integral of the waiting octets over time, in octet nanoseconds.
    pub byte_nanos_queued: u128,
    /// Time spent transmitting.
    pub busy: Duration,
}

impl LinkCounters {
    /// Packets dropped for any reason.
    pub const fn packets_dropped(&self) -> u64 {
        self.dropped_queue_full
            + self.dropped_aqm
            + self.dropped_loss_model
            + self.dropped_too_large
            + self.dropped_retry_limit
            + self.dropped_damaged
    }

    /// Counts a packet of so many octets that is gone.
    pub(crate) fn count_drop(&mut self, size: u32, reason: DropReason) {
        match reason {
            DropReason::LossModel => self.dropped_loss_model += 1,
            DropReason::Aqm => self.dropped_aqm += 1,
            DropReason::TooLarge => self.dropped_too_large += 1,
            DropReason::RetryLimit => self.dropped_retry_limit += 1,
            DropReason::Damaged => self.dropped_damaged += 1,
            _ => self.dropped_queue_full += 1,
        }
        self.bytes_dropped += u64::from(size);
    }

    /// The share of the time since `earlier` spent transmitting.
    pub fn utilisation_since(&self, earlier: &Self) -> f64 {
        let busy = self.busy.saturating_sub(earlier.busy).as_nanos() as f64;
        busy / (self.at.since(earlier.at).as_nanos() as f64).max(1.0)
    }

    /// The mean number of octets waiting since `earlier`.
    pub fn mean_bytes_queued_since(&self, earlier: &Self) -> f64 {
        let integral = self.byte_nanos_queued - earlier.byte_nanos_queued;
        integral as f64 / (self.at.since(earlier.at).as_nanos() as f64).max(1.0)
    }

    /// The mean number of packets waiting since `earlier`.
    pub fn mean_packets_queued_since(&self, earlier: &Self) -> f64 {
        let integral = self.packet_nanos_queued - earlier.packet_nanos_queued;
        integral as f64 / (self.at.since(earlier.at).as_nanos() as f64).max(1.0)
    }
}

/// Exact time: whole nanoseconds and a remainder in units of 1/rate nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct ExactTime {
    nanos: u64,
    remainder: u64,
}

impl ExactTime {
    #[inline]
    fn rounded_up(self) -> u64 {
        self.nanos.saturating_add(u64::from(self.remainder > 0))
    }
}

#[derive(Debug)]
struct InFlight {
    arrives: Instant,
    packet: Parcel,
}

/// A link at work.
#[derive(Debug)]
pub struct Link {
    rate: u64,
    delay: Duration,
    mtu: u32,
    queue: Queue,
    effects: Effects,
    shaper: Option<TokenBucket>,
    flight: VecDeque<InFlight>,
    /// When the transmitter is free.
    free: ExactTime,
    /// Size of the packet last transmitted, and what it took: most packets have few sizes.
    last_size: (u32, ExactTime),
    /// Up to when the integrals of the queue are counted.
    counted_to: u64,
    loss: Loss,
    opportunities: Option<Opportunities>,
    netem: Option<Box<Netem>>,
    /// Changes to come, the next one last.
    changes: Vec<LinkChange>,
    /// Of the random streams of a later loss model.
    stream: (u64, String),
    /// Packets in flight that are to come twice: when the copy arrives, and the packet.
    pub(crate) copies: Vec<(Instant, Parcel)>,
    counters: LinkCounters,
    /// Drops of each flow.
    dropped: Vec<u64>,
    /// Dropped parcels, for the driver to take back.
    pub(crate) discarded: Vec<Parcel>,
    events: Events,
}

impl Link {
    /// An empty link that draws its losses from the run of this seed.
    pub(crate) fn new(config: &LinkConfig, seed: u64) -> Self {
        Self {
            rate: config.rate.unwrap_or(0),
            delay: config.delay,
            mtu: config.mtu.unwrap_or(u32::MAX),
            queue: Queue::new(config.queue, seed, &format!("link/{}/queue", config.name)),
            effects: Effects::default(),
            shaper: config.shaper.map(TokenBucket::new),
            flight: VecDeque::new(),
            free: ExactTime::default(),
            last_size: (0, ExactTime::default()),
            counted_to: 0,
            loss: Loss::new(&config.loss, seed, &format!("link/{}/loss", config.name)),
            opportunities: Opportunities::new(&config.opportunities),
            netem: (!config.netem.is_none())
                .then(|| Box::new(Netem::new(config.netem, seed, &config.name))),
            changes: config.changes.iter().rev().cloned().collect(),
            stream: (seed, config.name.clone()),
            copies: Vec::new(),
            counters: LinkCounters::default(),
            dropped: Vec::new(),
            discarded: Vec::new(),
            events: Events::default(),
        }
    }

    /// The counters at `now`, which must not be earlier than the last call of the link.
    pub(crate) fn counters(&mut self, now: Instant) -> LinkCounters {
        self.start_transmissions(now);
        self.count_queue(now.as_nanos());
        let unfinished = self.free.nanos.saturating_sub(now.as_nanos());
        LinkCounters {
            at: now,
            packets_queued: self.queue.packets(),
            bytes_queued: self.queue.bytes(),
            packets_in_flight: self.flight.len() as u64,
            bytes_in_flight: self.flight.iter().map(|f| u64::from(f.packet.size)).sum(),
            busy: self.counters.busy - Duration::from_nanos(unfinished),
            ..self.counters
        }
    }

    /// Packets of this flow that the link dropped.
    pub(crate) fn packets_dropped_of(&self, flow: FlowId) -> u64 {
        self.dropped.get(flow.0 as usize).copied().unwrap_or(0)
    }

    /// When [`watch`](Self::watch) should be called: at the next start of a transmission, if
    /// somebody wants to see the queue.
    pub(crate) fn poll_watch(&self) -> Option<Instant> {
        let wanted = self.events.wants(EventMask::QUEUE.union(EventMask::DROP));
        wanted.then(|| self.next_start()).flatten()
    }

    /// When the head of the queue may start: the transmitter is free and there are tokens.
    #[inline]
    fn next_start(&self) -> Option<Instant> {
        let size = self.queue.head_size()?;
        let free = Instant::from_nanos(self.free.rounded_up());
        match &self.shaper {
            None => Some(free),
            Some(shaper) => Some(free.max(shaper.ready_at(size))),
        }
    }

    /// Starts the transmissions that are due, so that what they change is recorded in time.
    pub(crate) fn watch(&mut self, now: Instant) {
        self.start_transmissions(now);
    }

    /// Starts every transmission whose time has come. Each starts when the one before it ended,
    /// or when the tokens for it are there.
    #[inline]
    fn start_transmissions(&mut self, now: Instant) {
        while let Some(at) = self.next_start().filter(|&at| at <= now) {
            let mut start = self.free;
            if at.as_nanos() > start.rounded_up() {
                start = ExactTime {
                    nanos: at.as_nanos(),
                    remainder: 0,
                };
            }
            self.apply_changes(at);
            self.count_queue(at.as_nanos());
            let packet = self.queue.dequeue(at, &mut self.effects);
            self.take_effects(at);
            self.record_queue(at);
            if let Some(packet) = packet {
                if let Some(shaper) = &mut self.shaper {
                    shaper.on_start(at, packet.size);
                }
                self.transmit(start, packet);
            }
        }
    }

    /// Makes the changes whose time has come.
    #[inline]
    fn apply_changes(&mut self, at: Instant) {
        while self.changes.last().is_some_and(|change| change.at <= at) {
            if let Some(change) = self.changes.pop() {
                self.apply(change);
            }
        }
    }

    #[cold]
    fn apply(&mut self, change: LinkChange) {
        if let Some(rate) = change.rate {
            self.rate = rate.unwrap_or(0);
            self.last_size = (0, ExactTime::default());
            // A remainder of the old rate is less than a nanosecond.
            self.free = ExactTime {
                nanos: self.free.rounded_up(),
                remainder: 0,
            };
        }
        self.delay = change.delay.unwrap_or(self.delay);
        let (seed, name) = &self.stream;
        if let Some(loss) = &change.loss {
            let stream = format!("link/{name}/loss/{}", change.at);
            self.loss = Loss::new(loss, *seed, &stream);
        }
        if let (Some(rate), Some(shaper)) = (change.shaper_rate, &mut self.shaper) {
            shaper.set_rate(change.at, rate);
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
    fn take_effects(&mut self, at: Instant) {
        if self.effects.is_empty() {
            return;
        }
        let mut effects = std::mem::take(&mut self.effects);
        for (packet, reason) in effects.dropped.drain(..) {
            self.drop(at, packet, reason);
        }
        for size in effects.marked.drain(..) {
            self.counters.packets_marked += 1;
            self.events
                .push(at, EventMask::DROP, || Event::EcnMark { size });
        }
        self.effects = effects;
    }

    /// Puts the packet on the wire at `start`.
    #[inline]
    fn transmit(&mut self, start: ExactTime, packet: Parcel) {
        let end = self.end_of_transmission(start, packet.size);
        self.counters.busy += Duration::from_nanos(end.nanos - start.nanos);
        self.free = end;
        if self.loss.drops_next() {
            let at = Instant::from_nanos(start.rounded_up());
            self.drop(at, packet, DropReason::LossModel);
            return;
        }
        let left = Instant::from_nanos(end.rounded_up());
        if self.netem.is_some() {
            return self.impair(left, packet);
        }
        let arrives = left + self.delay;
        self.put_in_flight(arrives, packet);
    }

    /// Arrivals are in order but for jitter, reordering and delays that become shorter.
    #[inline]
    fn put_in_flight(&mut self, arrives: Instant, packet: Parcel) {
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

    /// Puts a copy of a packet in flight; the driver has made it of one of `copies`.
    pub(crate) fn fly(&mut self, arrives: Instant, copy: Parcel) {
        self.counters.packets_duplicated += 1;
        self.counters.bytes_duplicated += u64::from(copy.size);
        self.put_in_flight(arrives, copy);
    }

    /// Lets netem have the packet that left at this time.
    #[cold]
    fn impair(&mut self, left: Instant, mut packet: Parcel) {
        let Some(netem) = &mut self.netem else { return };
        let fate = netem.fate(self.delay, packet.size);
        let keeps_order = netem.keeps_order();
        match fate.damage {
            Damage::None => {}
            Damage::Header => return self.drop(left, packet, DropReason::Damaged),
            Damage::At(place) => {
                self.counters.packets_damaged += 1;
                let first = packet.damaged_at.map_or(place, |before| before.min(place));
                packet.damaged_at = Some(first);
            }
        }
        self.counters.packets_reordered += u64::from(fate.reordered);
        let last = self.flight.back().map_or(left, |last| last.arrives);
        let in_order = |arrives: Instant| {
            if keeps_order {
                arrives.max(last)
            } else {
                arrives
            }
        };
        if let Some(delay) = fate.copy {
            self.copies.push((in_order(left + delay), packet.stub()));
        }
        self.put_in_flight(in_order(left + fate.delay), packet);
    }

    #[inline]
    fn end_of_transmission(&mut self, start: ExactTime, size: u32) -> ExactTime {
        if let Some(opportunities) = &mut self.opportunities {
            let end = opportunities.end_of(Instant::from_nanos(start.rounded_up()), size);
            return ExactTime {
                nanos: end.as_nanos(),
                remainder: 0,
            };
        }
        if self.rate == 0 {
            return start;
        }
        if self.last_size.0 != size {
            let exact = u128::from(size) * 8 * 1_000_000_000;
            let rate = u128::from(self.rate);
            let took = ExactTime {
                nanos: u64::try_from(exact / rate).unwrap_or(u64::MAX),
                remainder: (exact % rate) as u64,
            };
            self.last_size = (size, took);
        }
        let took = self.last_size.1;
        let (mut remainder, wrapped) = start.remainder.overflowing_add(took.remainder);
        let carry = wrapped || remainder >= self.rate;
        if carry {
            remainder = remainder.wrapping_sub(self.rate);
        }
        ExactTime {
            nanos: start
                .nanos
                .saturating_add(took.nanos)
                .saturating_add(u64::from(carry)),
            remainder,
        }
    }

    /// Adds the time since the last change to the integrals of the queue.
    #[inline]
    fn count_queue(&mut self, now: u64) {
        let nanos = u128::from(now.saturating_sub(self.counted_to));
        self.counted_to = self.counted_to.max(now);
        self.counters.packet_nanos_queued += nanos * u128::from(self.queue.packets());
        self.counters.byte_nanos_queued += nanos * u128::from(self.queue.bytes());
    }

    #[inline]
    fn record_queue(&mut self, at: Instant) {
        let (packets, bytes) = (self.queue.packets(), self.queue.bytes());
        self.events.push(at, EventMask::QUEUE, || Event::Queue {
            packets: packets as u32,
            bytes,
        });
    }

    #[cold]
    fn drop(&mut self, at: Instant, packet: Parcel, reason: DropReason) {
        self.counters.count_drop(packet.size, reason);
        let flow = packet.flow.0 as usize;
        if self.dropped.len() <= flow {
            self.dropped.resize(flow + 1, 0);
        }
        self.dropped[flow] += 1;
        let size = packet.size;
        self.events
            .push(at, EventMask::DROP, || Event::Drop { size, reason });
        self.discarded.push(packet);
    }

    fn enqueue(&mut self, now: Instant, packet: Parcel) {
        self.count_queue(now.as_nanos());
        self.queue.enqueue(now, packet, &mut self.effects);
        self.take_effects(now);
        let counters = &mut self.counters;
        counters.max_packets_queued = counters.max_packets_queued.max(self.queue.packets());
        counters.max_bytes_queued = counters.max_bytes_queued.max(self.queue.bytes());
        self.record_queue(now);
    }

    /// A packet enters.
    pub(crate) fn handle(&mut self, now: Instant, packet: Parcel) {
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
        self.start_transmissions(now);
        self.apply_changes(now);
        let idle = self.queue.packets() == 0 && self.free.rounded_up() <= now.as_nanos();
        if idle {
            self.free = ExactTime {
                nanos: now.as_nanos(),
                remainder: 0,
            };
            if self.queue.may_be_passed_by() && self.shaper.is_none() {
                self.transmit(self.free, packet);
                return;
            }
        }
        self.enqueue(now, packet);
        if idle {
            self.start_transmissions(now);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.start_transmissions(now);
    }

    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Parcel> {
        if self.flight.front()?.arrives > now {
            return None;
        }
        let InFlight { packet, .. } = self.flight.pop_front()?;
        self.counters.packets_delivered += 1;
        self.counters.bytes_delivered += u64::from(packet.size);
        Some(packet)
    }

    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self.flight.front() {
            Some(first) => Some(first.arrives),
            // Everything on the wire was lost; the next packet follows when the wire is free.
            None => self.next_start(),
        }
    }

    pub(crate) fn events(&mut self) -> &mut Events {
        &mut self.events
    }
}

#[cfg(test)]
mod tests;
