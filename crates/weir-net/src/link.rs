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
//! Does not model: framing below IP, jitter, reordering, half-duplex media.

use crate::loss::{Loss, LossConfig};
use crate::queue::{Queue, QueueConfig};
use std::collections::VecDeque;
use weir_proto::event::{DropReason, Event, EventMask, Events};
use weir_proto::node::Node;
use weir_proto::packet::{FlowId, HostId, Packet};
use weir_proto::time::{Duration, Instant};

/// What a link is.
#[derive(Clone, Debug, PartialEq)]
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
    /// What gets lost on the wire.
    pub loss: LossConfig,
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
    /// Packets that the loss model took.
    pub dropped_loss_model: u64,
    /// Packets larger than the MTU.
    pub dropped_too_large: u64,
    /// Octets of all dropped packets.
    pub bytes_dropped: u64,
    /// Packets marked with congestion experienced.
    pub packets_marked: u64,
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
        self.dropped_queue_full + self.dropped_loss_model + self.dropped_too_large
    }

    /// The share of the time since `earlier` spent transmitting.
    pub fn utilisation_since(&self, earlier: &Self) -> f64 {
        let busy = self.busy.saturating_sub(earlier.busy).as_secs_f64();
        busy / self.at.since(earlier.at).as_secs_f64().max(1e-9)
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
    packet: Packet,
}

/// A link at work.
#[derive(Debug)]
pub struct Link {
    rate: u64,
    delay: Duration,
    mtu: u32,
    queue: Queue,
    flight: VecDeque<InFlight>,
    /// When the transmitter is free.
    free: ExactTime,
    /// Size of the packet last transmitted, and what it took: most packets have few sizes.
    last_size: (u32, ExactTime),
    /// Up to when the integrals of the queue are counted.
    counted_to: u64,
    loss: Loss,
    counters: LinkCounters,
    /// Drops of each flow.
    dropped: Vec<u64>,
    events: Events,
}

impl Link {
    /// An empty link that draws its losses from the run of this seed.
    pub(crate) fn new(config: &LinkConfig, seed: u64) -> Self {
        Self {
            rate: config.rate.unwrap_or(0),
            delay: config.delay,
            mtu: config.mtu.unwrap_or(u32::MAX),
            queue: Queue::new(config.queue),
            flight: VecDeque::new(),
            free: ExactTime::default(),
            last_size: (0, ExactTime::default()),
            counted_to: 0,
            loss: Loss::new(&config.loss, seed, &format!("link/{}/loss", config.name)),
            counters: LinkCounters::default(),
            dropped: Vec::new(),
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
        (wanted && self.queue.packets() > 0).then(|| Instant::from_nanos(self.free.rounded_up()))
    }

    /// Starts the transmissions that are due, so that what they change is recorded in time.
    pub(crate) fn watch(&mut self, now: Instant) {
        self.start_transmissions(now);
    }

    /// Starts every transmission whose time has come. Each starts when the one before it ended.
    #[inline]
    fn start_transmissions(&mut self, now: Instant) {
        while self.queue.packets() > 0 && self.free.rounded_up() <= now.as_nanos() {
            let start = self.free;
            self.count_queue(start.rounded_up());
            let at = Instant::from_nanos(start.rounded_up());
            if let Some(packet) = self.queue.dequeue(at) {
                self.record_queue(at);
                self.transmit(start, packet);
            }
        }
    }

    /// Puts the packet on the wire at `start`.
    #[inline]
    fn transmit(&mut self, start: ExactTime, packet: Packet) {
        let end = self.end_of_transmission(start, packet.size);
        self.counters.busy += Duration::from_nanos(end.nanos - start.nanos);
        self.free = end;
        if self.loss.drops_next() {
            let at = Instant::from_nanos(start.rounded_up());
            self.drop(at, &packet, DropReason::LossModel);
            return;
        }
        let arrives = Instant::from_nanos(end.rounded_up()) + self.delay;
        self.flight.push_back(InFlight { arrives, packet });
    }

    #[inline]
    fn end_of_transmission(&mut self, start: ExactTime, size: u32) -> ExactTime {
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
    fn drop(&mut self, at: Instant, packet: &Packet, reason: DropReason) {
        let counters = &mut self.counters;
        match reason {
            DropReason::LossModel => counters.dropped_loss_model += 1,
            DropReason::TooLarge => counters.dropped_too_large += 1,
            _ => counters.dropped_queue_full += 1,
        }
        counters.bytes_dropped += u64::from(packet.size);
        let flow = packet.flow.0 as usize;
        if self.dropped.len() <= flow {
            self.dropped.resize(flow + 1, 0);
        }
        self.dropped[flow] += 1;
        let size = packet.size;
        self.events
            .push(at, EventMask::DROP, || Event::Drop { size, reason });
    }

    fn enqueue(&mut self, now: Instant, packet: Packet) {
        self.count_queue(now.as_nanos());
        if let Err(packet) = self.queue.enqueue(now, packet) {
            self.drop(now, &packet, DropReason::QueueFull);
            return;
        }
        let counters = &mut self.counters;
        counters.max_packets_queued = counters.max_packets_queued.max(self.queue.packets());
        counters.max_bytes_queued = counters.max_bytes_queued.max(self.queue.bytes());
        self.record_queue(now);
    }
}

impl Node for Link {
    fn handle(&mut self, now: Instant, packet: Packet) {
        self.counters.packets_in += 1;
        self.counters.bytes_in += u64::from(packet.size);
        if packet.size > self.mtu {
            self.drop(now, &packet, DropReason::TooLarge);
            return;
        }
        self.start_transmissions(now);
        let idle = self.queue.packets() == 0 && self.free.rounded_up() <= now.as_nanos();
        if idle {
            let start = ExactTime {
                nanos: now.as_nanos(),
                remainder: 0,
            };
            self.transmit(start, packet);
        } else {
            self.enqueue(now, packet);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.start_transmissions(now);
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if self.flight.front()?.arrives > now {
            return None;
        }
        let InFlight { packet, .. } = self.flight.pop_front()?;
        self.counters.packets_delivered += 1;
        self.counters.bytes_delivered += u64::from(packet.size);
        Some(packet)
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        match self.flight.front() {
            Some(first) => Some(first.arrives),
            // Everything on the wire was lost; the next packet follows when the wire is free.
            None => (self.queue.packets() > 0).then(|| Instant::from_nanos(self.free.rounded_up())),
        }
    }

    fn events(&mut self) -> Option<&mut Events> {
        Some(&mut self.events)
    }
}

#[cfg(test)]
mod tests;
