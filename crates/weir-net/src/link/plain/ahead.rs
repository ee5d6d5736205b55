//! Removing what a plain link has booked beyond the current time.

use super::{Booked, Bookings, HELD, Link, PacketRef, QueueMeter};
use crate::link::transmitter::ExactTime;
use crate::link::{LinkCounters, Wire};
use crate::queue::Backlog;
use std::collections::VecDeque;
use weir_proto::time::{Duration, Instant};

/// The progress of the run when a link is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// The current time.
    pub(crate) now: Instant,
    /// Events at exactly `now` have been processed.
    pub(crate) including: bool,
}

impl Progress {
    /// The last instant whose events have all been processed.
    pub(crate) const fn last(self) -> Instant {
        let ahead = if self.including { 0 } else { 1 };
        Instant::from_nanos(self.now.as_nanos().saturating_sub(ahead))
    }

    const fn has_happened(self, at: Instant) -> bool {
        let (at, now) = (at.as_nanos(), self.now.as_nanos());
        at < now || (at == now && self.including)
    }
}

impl Booked {
    /// Subtracts the packet, whose transmission ends at `end`, from the counters.
    fn uncount(&self, end: ExactTime, counters: &mut LinkCounters) {
        counters.packets_in -= 1;
        counters.bytes_in -= u64::from(self.size);
        self.uncount_service(self.times.enters, end, counters);
    }

    /// Subtracts its time in the queue from `from` on, and its transmission, from the counters.
    fn uncount_service(&self, from: Instant, end: ExactTime, counters: &mut LinkCounters) {
        let starts = self.times.starts;
        let nanos = u128::from(starts.rounded_up().since(from).as_nanos());
        counters.packet_nanos_queued -= nanos;
        counters.byte_nanos_queued -= nanos * u128::from(self.size);
        counters.busy = counters.busy - Duration::from_nanos(end.nanos - starts.nanos);
    }
}

impl Bookings {
    /// True if the packet has not entered yet: possible only if the previous link holds it.
    const fn is_ahead(&self, enters: Instant, progress: Progress) -> bool {
        self.chained && !progress.has_happened(enters)
    }

    /// The counters of a plain link, without bookings beyond the current time.
    pub(in crate::link) fn counters(&self, wire: &mut Wire, progress: Progress) -> LinkCounters {
        let now = progress.now;
        let mut so_far = LinkCounters {
            at: now,
            ..wire.counters
        };
        for booked in self.booked.iter() {
            let (times, size) = (booked.times, u64::from(booked.size));
            let end = (wire.transmitter).end_of_transmission(times.starts, booked.size);
            if self.is_ahead(times.enters, progress) {
                booked.uncount(end, &mut so_far);
            } else if progress.has_happened(times.starts.rounded_up()) {
                if booked.is_held() || !progress.has_happened(times.arrives) {
                    so_far.packets_in_flight += 1;
                    so_far.bytes_in_flight += size;
                }
                let unfinished = end.nanos.saturating_sub(now.as_nanos());
                so_far.busy = so_far.busy - Duration::from_nanos(unfinished);
            } else {
                so_far.packets_queued += 1;
                so_far.bytes_queued += size;
                booked.uncount_service(now, end, &mut so_far);
            }
        }
        // Packets that entered and are no longer in the link were delivered or dropped.
        so_far.packets_delivered = so_far.packets_in
            - so_far.packets_dropped()
            - so_far.packets_queued
            - so_far.packets_in_flight;
        so_far.bytes_delivered =
            so_far.bytes_in - so_far.bytes_dropped - so_far.bytes_queued - so_far.bytes_in_flight;
        for &(at, peak) in &self.peaks {
            if progress.has_happened(at) {
                QueueMeter::entered(peak, &mut so_far);
            }
        }
        so_far
    }
}

impl Link {
    /// Removes the bookings of packets that have not entered, and returns these packets, first to
    /// last.
    pub(crate) fn unbook(&mut self, progress: Progress) -> VecDeque<PacketRef> {
        let mut back = VecDeque::new();
        let Some(plain) = self.service.bookings_mut() else {
            return back;
        };
        let is_ahead = |plain: &Bookings| {
            let last = plain.booked.back();
            last.is_some_and(|last| plain.is_ahead(last.times.enters, progress))
        };
        while is_ahead(plain)
            && let Some(last) = plain.booked.pop_back()
        {
            let times = last.times;
            let end = (self.wire.transmitter).end_of_transmission(times.starts, last.size);
            last.uncount(end, &mut self.wire.counters);
            if last.is_held()
                && let Some(mut packet) = plain.held.pop_back()
            {
                // Undoes the queueing delay added by the booking.
                packet.enter_queue(times.starts.rounded_up());
                packet.leave_queue(times.enters);
                packet.ip.ttl = packet.ip.ttl.saturating_add(1);
                back.push_front(packet);
            }
            self.wire.transmitter.free = ExactTime::at(progress.now);
        }
        if let Some(last) = plain.booked.back() {
            let (starts, size) = (last.times.starts, last.size);
            self.wire.transmitter.free = self.wire.transmitter.end_of_transmission(starts, size);
        }
        plain.peaks.retain(|&(at, _)| progress.has_happened(at));
        if let Some((_, peak)) = plain.peaks.drain(..).next_back() {
            QueueMeter::entered(peak, &mut self.wire.counters);
        }
        plain.peak = Backlog {
            packets: self.wire.counters.max_packets_queued,
            bytes: self.wire.counters.max_bytes_queued,
        };
        plain.find_last_arrival();
        plain.count_waiting(progress.now);
        back
    }

    /// Holds these packets again, which the link `next` hands back, and clears their refusals by
    /// the link after this one.
    pub(crate) fn hand_back(&mut self, next: u32, back: VecDeque<PacketRef>) {
        let Some(plain) = self.service.bookings_mut() else {
            return;
        };
        // Only packets that have not arrived at the end of this link are handed back: the last
        // ones.
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

    /// Finds the next call of a plain link after packets were handed back or over.
    pub(crate) fn find_next_call(&mut self) {
        if let Some(plain) = self.service.bookings_mut() {
            plain.find_next_call();
            plain.find_next_start();
        }
    }
}

impl Bookings {
    /// Finds the last arrival after bookings were removed.
    fn find_last_arrival(&mut self) {
        self.last_arrival = self.gone;
        for booked in self.booked.iter() {
            self.last_arrival = booked.times.arrival(self.last_arrival);
        }
    }

    /// Counts the waiting packets when no packet is booked ahead.
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
