//! What a plain link has booked beyond the present, and how that is taken back.

use super::{Bookings, HELD, Link, PacketRef, QueueMeter};
use crate::link::transmitter::ExactTime;
use crate::link::{LinkCounters, Wire};
use crate::queue::Backlog;
use std::collections::VecDeque;
use weir_proto::time::{Duration, Instant};

/// How far the run is when a link is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// The time.
    pub(crate) now: Instant,
    /// What happens exactly then has happened.
    pub(crate) including: bool,
}

impl Asked {
    /// The last time of which all has happened.
    pub(crate) const fn last(self) -> Instant {
        let ahead = if self.including { 0 } else { 1 };
        Instant::from_nanos(self.now.as_nanos().saturating_sub(ahead))
    }

    const fn has_happened(self, at: Instant) -> bool {
        let (at, now) = (at.as_nanos(), self.now.as_nanos());
        at < now || (at == now && self.including)
    }
}

impl Bookings {
    /// True if the packet has not entered: only one that the link before this one holds.
    const fn is_ahead(&self, enters: Instant, asked: Asked) -> bool {
        self.chained && !asked.has_happened(enters)
    }

    /// The counters of a link that books, without what is still to come.
    pub(in crate::link) fn counters(&self, wire: &mut Wire, asked: Asked) -> LinkCounters {
        let now = asked.now;
        let mut so_far = LinkCounters {
            at: now,
            ..wire.counters
        };
        let mut unfinished = 0;
        for booked in self.booked.iter() {
            let (times, size) = (booked.times, u64::from(booked.size));
            let end = wire
                .transmitter
                .end_of_transmission(times.starts, booked.size);
            let start = times.starts.rounded_up();
            let ahead = self.is_ahead(times.enters, asked);
            let waits = !ahead && !asked.has_happened(start);
            if ahead {
                so_far.packets_in -= 1;
                so_far.bytes_in -= size;
            } else if waits {
                so_far.packets_queued += 1;
                so_far.bytes_queued += size;
            } else if booked.is_held() || !asked.has_happened(times.arrives) {
                so_far.packets_in_flight += 1;
                so_far.bytes_in_flight += size;
            }
            if ahead || waits {
                let from = if ahead { times.enters } else { now };
                let nanos = u128::from(start.since(from).as_nanos());
                so_far.packet_nanos_queued -= nanos;
                so_far.byte_nanos_queued -= nanos * u128::from(size);
                unfinished += end.nanos - times.starts.nanos;
            } else {
                unfinished += end.nanos.saturating_sub(now.as_nanos());
            }
        }
        so_far.busy = so_far.busy - Duration::from_nanos(unfinished);
        // What came in and is no more there has been delivered.
        so_far.packets_delivered = so_far.packets_in
            - so_far.packets_dropped()
            - so_far.packets_queued
            - so_far.packets_in_flight;
        so_far.bytes_delivered =
            so_far.bytes_in - so_far.bytes_dropped - so_far.bytes_queued - so_far.bytes_in_flight;
        for &(at, peak) in &self.peaks {
            if asked.has_happened(at) {
                QueueMeter::entered(peak, &mut so_far);
            }
        }
        so_far
    }
}

impl Link {
    /// Takes back what was booked ahead: packets that have not entered, first to last.
    pub(crate) fn take_back(&mut self, asked: Asked) -> VecDeque<PacketRef> {
        let mut back = VecDeque::new();
        let Some(plain) = self.service.bookings_mut() else {
            return back;
        };
        while let Some(last) = plain.booked.back() {
            if !plain.is_ahead(last.times.enters, asked) {
                break;
            }
            let Some(last) = plain.booked.pop_back() else {
                break;
            };
            let (times, size) = (last.times, u64::from(last.size));
            let end = (self.wire.transmitter).end_of_transmission(times.starts, last.size);
            let start = times.starts.rounded_up();
            let nanos = u128::from(start.since(times.enters).as_nanos());
            let counters = &mut self.wire.counters;
            counters.packets_in -= 1;
            counters.bytes_in -= size;
            counters.busy = counters.busy - Duration::from_nanos(end.nanos - times.starts.nanos);
            counters.packet_nanos_queued -= nanos;
            counters.byte_nanos_queued -= nanos * u128::from(size);
            if last.is_held()
                && let Some(mut packet) = plain.held.pop_back()
            {
                packet.return_to_queue(start);
                packet.leave_queue(times.enters);
                packet.ip.ttl = packet.ip.ttl.saturating_add(1);
                back.push_front(packet);
            }
            self.wire.transmitter.free = ExactTime::at(asked.now);
        }
        if let Some(last) = plain.booked.back() {
            let (starts, size) = (last.times.starts, last.size);
            self.wire.transmitter.free = self.wire.transmitter.end_of_transmission(starts, size);
        }
        plain.peaks.retain(|&(at, _)| asked.has_happened(at));
        if let Some((_, peak)) = plain.peaks.drain(..).next_back() {
            QueueMeter::entered(peak, &mut self.wire.counters);
        }
        plain.peak = Backlog {
            packets: self.wire.counters.max_packets_queued,
            bytes: self.wire.counters.max_bytes_queued,
        };
        plain.find_last_arrival();
        plain.count_waiting(asked.now);
        back
    }

    /// Holds these packets again, which the link `next` has given back, and calls no packet
    /// refused by the link behind it.
    pub(crate) fn hold_again(&mut self, next: u32, back: VecDeque<PacketRef>) {
        let Some(plain) = self.service.bookings_mut() else {
            return;
        };
        // What has arrived at the other end is not given back: those that are come last.
        let mut back = back.into_iter().rev();
        let mut held = std::mem::take(&mut plain.held);
        for booked in plain.booked.iter_mut().rev() {
            let packet = match booked.next {
                HELD => held.pop_back(),
                before if before == next => back.next(),
                _ => None,
            };
            if let Some(mut packet) = packet {
                packet.refused = None;
                booked.next = HELD;
                plain.held.push_front(packet);
            }
        }
    }

    /// True if a plain link is called for no packet.
    pub(crate) fn holds_nothing(&self) -> bool {
        self.service
            .bookings()
            .is_none_or(|plain| plain.held.is_empty())
    }

    /// Offers the link `next` each packet that this one holds, with the time of its arrival.
    pub(crate) fn hand_over(
        &mut self,
        next: u32,
        mut offer: impl FnMut(Instant, PacketRef) -> Result<(), PacketRef>,
    ) {
        let Some(plain) = self.service.bookings_mut() else {
            return;
        };
        let mut held = std::mem::take(&mut plain.held);
        for booked in plain.booked.iter_mut().filter(|booked| booked.is_held()) {
            let Some(packet) = held.pop_front() else {
                break;
            };
            match offer(booked.times.arrives, packet) {
                Ok(()) => booked.next = next,
                Err(packet) => plain.held.push_back(packet),
            }
        }
    }

    /// Finds the next call of a plain link after packets were given back or handed over.
    pub(crate) fn find_next_call(&mut self) {
        if let Some(plain) = self.service.bookings_mut() {
            plain.find_next_call();
            plain.find_next_start();
        }
    }
}

impl Bookings {
    /// Finds the arrival of the last packet when others were taken back.
    fn find_last_arrival(&mut self) {
        self.last_arrival = self.gone;
        for booked in self.booked.iter() {
            self.last_arrival = booked.times.arrival(self.last_arrival);
        }
    }

    /// Counts what waits now, when nothing is booked ahead.
    fn count_waiting(&mut self, now: Instant) {
        self.waiting = Backlog::default();
        for booked in self.booked.iter() {
            if booked.times.starts.rounded_up() > now {
                self.waiting.packets += 1;
                self.waiting.bytes += u64::from(booked.size);
            }
        }
    }
}
