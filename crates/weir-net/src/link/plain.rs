//! A plain link: drop-tail, and nothing on the wire but rate and delay.
//!
//! Nothing that happens later changes what becomes of a packet that it has taken, so that it books
//! the start of the transmission and the arrival when the packet enters, in one ring for the queue
//! and the wire. The transmissions, drops, arrivals and counters are those of any other link. A
//! link that is traced is not plain, because each start of a transmission is an event.

use super::config::LinkConfig;
use super::transmitter::ExactTime;
use super::{InFlight, Link, QueueMeter};
use crate::loss::LossConfig;
use crate::packet_pool::PacketRef;
use crate::queue::{Backlog, QueueConfig, QueueDisc, QueueLimit};
use weir_proto::event::DropReason;
use weir_proto::ring::Ring;
use weir_proto::time::{Duration, Instant};

/// A packet with the times that are booked for it.
#[derive(Debug)]
struct Booked {
    starts: ExactTime,
    arrives: Instant,
    packet: PacketRef,
}

/// The queue and the wire of a plain link.
#[derive(Debug)]
pub(super) struct Bookings {
    limit: QueueLimit,
    /// In order of their arrival; those that wait come last.
    booked: Ring<Booked>,
    /// What waits, as far as it has been looked at: transmissions may have started since.
    waiting: Backlog,
}

impl Bookings {
    /// `None` unless a link with this configuration is plain.
    pub(super) fn new(config: &LinkConfig) -> Option<Self> {
        let QueueConfig::DropTail(queue) = config.queue else {
            return None;
        };
        let plain = config.shaper.is_none()
            && config.policer.is_none()
            && config.ack_thinning.is_none()
            && config.loss == LossConfig::None
            && config.netem.is_none()
            && config.changes.is_empty()
            && config.rate_trace.is_empty();
        plain.then(|| Self {
            limit: queue.limit,
            booked: Ring::default(),
            waiting: Backlog::default(),
        })
    }

    /// Counts the transmissions that have started by now.
    #[inline]
    fn settle(&mut self, now: Instant) {
        while self.waiting.packets > 0 {
            let first = self.booked.len() - self.waiting.packets as usize;
            let Some(head) = self.booked.get(first) else {
                break;
            };
            if head.starts.rounded_up() > now {
                break;
            }
            self.waiting.packets -= 1;
            self.waiting.bytes -= u64::from(head.packet.size);
        }
    }

    #[inline]
    fn fits(&self, size: u32) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => self.waiting.packets < limit,
            QueueLimit::Bytes(limit) => self.waiting.bytes + u64::from(size) <= limit,
        }
    }

    /// The packets that wait, first to last.
    fn waiting(&self) -> impl Iterator<Item = &Booked> {
        let started = self.booked.len() - self.waiting.packets as usize;
        self.booked.range(started..)
    }

    /// The next packet that has arrived by now.
    #[inline]
    pub(super) fn poll_arrived(&mut self, now: Instant) -> Option<PacketRef> {
        if self.booked.front()?.arrives > now {
            return None;
        }
        if self.waiting.packets as usize == self.booked.len() {
            self.settle(now);
        }
        self.booked.pop_front().map(|booked| booked.packet)
    }

    /// When the next packet arrives.
    #[inline]
    pub(super) fn next_arrival(&self) -> Option<Instant> {
        self.booked.front().map(|first| first.arrives)
    }
}

/// What a plain link has booked beyond a time, and what waits there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beyond {
    pub(super) backlog: Backlog,
    pub(super) packets_in_flight: u64,
    pub(super) bytes_in_flight: u64,
    pub(super) packet_nanos: u128,
    pub(super) byte_nanos: u128,
}

impl Link {
    /// True if the link books packets when they enter.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    /// A packet enters a plain link.
    #[inline]
    pub(super) fn book(&mut self, now: Instant, mut packet: PacketRef) {
        let Some(plain) = &mut self.plain else { return };
        let size = packet.size;
        if size > self.mtu {
            return self.drop(now, packet, DropReason::TooLarge);
        }
        plain.settle(now);
        let free = self.transmitter.free;
        let starts = if free.rounded_up() <= now {
            ExactTime::at(now)
        } else {
            if !plain.fits(size) {
                return self.drop(now, packet, DropReason::QueueFull);
            }
            plain.waiting.packets += 1;
            plain.waiting.bytes += u64::from(size);
            QueueMeter::entered(plain.waiting, &mut self.counters);
            let start = free.rounded_up();
            let nanos = u128::from(start.since(now).as_nanos());
            self.counters.packet_nanos_queued += nanos;
            self.counters.byte_nanos_queued += nanos * u128::from(size);
            packet.enter_queue(now);
            packet.leave_queue(start);
            free
        };
        let end = self.transmitter.end_of_transmission(starts, size);
        self.counters.busy += Duration::from_nanos(end.nanos - starts.nanos);
        self.transmitter.free = end;
        plain.booked.push_back(Booked {
            starts,
            arrives: end.rounded_up() + self.delay,
            packet,
        });
    }

    /// What the counters of a plain link hold that is still to come; `None` if it is not plain.
    pub(super) fn booked_beyond(&mut self, now: Instant) -> Option<Beyond> {
        let plain = self.plain.as_mut()?;
        plain.settle(now);
        let mut beyond = Beyond {
            backlog: plain.waiting,
            ..Beyond::default()
        };
        for booked in plain.waiting() {
            let nanos = u128::from(booked.starts.rounded_up().since(now).as_nanos());
            beyond.packet_nanos += nanos;
            beyond.byte_nanos += nanos * u128::from(booked.packet.size);
        }
        let bytes = |booked: &Booked| u64::from(booked.packet.size);
        let all: u64 = plain.booked.iter().map(bytes).sum();
        beyond.packets_in_flight = plain.booked.len() as u64 - plain.waiting.packets;
        beyond.bytes_in_flight = all - plain.waiting.bytes;
        Some(beyond)
    }

    /// Makes a link that is traced from now on one that is not plain: what waits goes back into
    /// the queue.
    #[cold]
    pub(super) fn cancel_bookings(&mut self, now: Instant) {
        let Some(beyond) = self.booked_beyond(now) else {
            return;
        };
        let Some(mut plain) = self.plain.take() else {
            return;
        };
        let started = plain.booked.len() - plain.waiting.packets as usize;
        if let Some(first) = plain.booked.get(started) {
            let back = self.transmitter.free.nanos - first.starts.nanos;
            self.counters.busy = self.counters.busy - Duration::from_nanos(back);
            self.transmitter.free = first.starts;
        }
        self.counters.packet_nanos_queued -= beyond.packet_nanos;
        self.counters.byte_nanos_queued -= beyond.byte_nanos;
        self.meter = QueueMeter::starting(now);
        for mut waiting in plain.booked.drain(started..) {
            waiting.packet.return_to_queue(waiting.starts.rounded_up());
            self.queue.enqueue(now, waiting.packet, &mut self.effects);
        }
        let in_flight = |booked: Booked| InFlight {
            arrives: booked.arrives,
            packet: booked.packet,
        };
        self.flight.extend(plain.booked.drain(..).map(in_flight));
    }
}

#[cfg(test)]
mod tests;
