//! A plain link: a drop-tail queue, a rate and a delay, without impairments.
//!
//! Later events do not change the times of a packet that has entered, so the link books the start
//! of its transmission and its arrival when it enters, in one ring for the queue and the wire.
//! Transmissions, drops, arrivals and counters are those of any other link. A traced link also
//! books, but not ahead, and is not called when transmissions start: it records each change of its
//! queue, with its exact time, when it counts it, and reports many changes at once.
//! `network/fast_path` describes links that book for others and defines the terms.

mod ahead;

pub(crate) use ahead::Progress;

use super::config::LinkConfig;
use super::queued::Queued;
use super::transmitter::ExactTime;
use super::{Link, LinkCounters, QueueMeter};
use crate::loss::LossConfig;
use crate::packet_pool::PacketRef;
use crate::queue::{Backlog, QueueConfig, QueueLimit};
use crate::stage_events::{StageEvent, StageEvents, Transmission};
use weir_proto::event::{DropReason, EventMask, QueueChange};
use weir_proto::ring::Ring;
use weir_proto::time::{Duration, Instant};

/// The times of a packet on a plain link.
#[derive(Clone, Copy, Debug)]
struct Times {
    enters: Instant,
    starts: ExactTime,
    arrives: Instant,
}

impl Times {
    /// The arrival of a packet with these times, after the packet with arrival `before`. If both
    /// arrive at the same time, they leave the link in one event.
    #[inline]
    fn arrival(&self, before: Arrival) -> Arrival {
        let together = self.arrives == before.at;
        let apart = self.enters.max(before.at);
        Arrival {
            at: self.arrives,
            since: if together { before.since } else { apart },
        }
    }
}

/// When a packet arrives at the end of a link, and since when it is known to be the next arrival:
/// since it has entered and the packet before it has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) since: Instant,
}

impl Arrival {
    /// The next arrival of an empty link.
    const NONE: Self = Self {
        at: Instant::FAR_FUTURE,
        since: Instant::ZERO,
    };
    /// The arrival before that of the first packet.
    const START: Self = Self {
        at: Instant::ZERO,
        since: Instant::ZERO,
    };
}

/// In place of the next link: this link holds the packet, and is called when it arrives.
pub(crate) const HELD: u32 = u32::MAX;

/// Packets after which a link removes the bookings of packets that have arrived and that other
/// links hold; removing several at once costs less.
const FORGETS_EVERY: u64 = 4;

/// Changes of a traced queue that are collected before they are reported.
const MAX_CHANGES: usize = 256;

/// The booking of a packet: 40 octets, because each link of a chain keeps one for each packet.
#[derive(Debug)]
struct Booked {
    times: Times,
    size: u32,
    /// The link that the packet was handed over to; [`HELD`] if this link holds it.
    next: u32,
}

impl Booked {
    #[inline]
    const fn is_held(&self) -> bool {
        self.next == HELD
    }
}

/// How a link serves its packets.
#[derive(Debug)]
pub(super) enum Service {
    /// With a queue and a list of packets in flight.
    Queued(Box<Queued>),
    /// By booking.
    Plain(Bookings),
    /// By booking, while its queue or its drops are traced.
    TracedPlain(Bookings),
}

impl Service {
    /// The service of a link with this configuration, before it is traced.
    pub(super) fn new(config: &LinkConfig, seed: u64) -> Self {
        match limit_of_plain(config) {
            Some(limit) => Self::Plain(Bookings::new(limit)),
            None => Self::Queued(Box::new(Queued::new(config, seed))),
        }
    }

    #[inline]
    pub(super) const fn bookings(&self) -> Option<&Bookings> {
        match self {
            Self::Queued(_) => None,
            Self::Plain(bookings) | Self::TracedPlain(bookings) => Some(bookings),
        }
    }

    #[inline]
    pub(super) const fn bookings_mut(&mut self) -> Option<&mut Bookings> {
        match self {
            Self::Queued(_) => None,
            Self::Plain(bookings) | Self::TracedPlain(bookings) => Some(bookings),
        }
    }

    /// Turns tracing on or off; counts the transmissions that have started by now.
    pub(super) fn set_mask(&mut self, now: Instant, mask: EventMask) {
        let Some(bookings) = self.bookings_mut() else {
            return;
        };
        bookings.catch_up(now);
        let empty = Bookings::new(bookings.limit);
        let mut bookings = std::mem::replace(bookings, empty);
        bookings.changes = mask.intersects(EventMask::QUEUE).then(Box::default);
        *self = if mask == EventMask::NONE {
            Self::Plain(bookings)
        } else {
            Self::TracedPlain(bookings)
        };
    }
}

/// The limit of the queue of a plain link; `None` unless a link with this configuration is plain.
fn limit_of_plain(config: &LinkConfig) -> Option<QueueLimit> {
    let QueueConfig::DropTail(queue) = config.queue else {
        return None;
    };
    let plain = config.shaper.is_none()
        && config.policer.is_none()
        && config.ack_thinning.is_none()
        && config.loss == LossConfig::None
        && config.netem.is_none()
        && config.is_faultless()
        && config.changes.is_empty()
        && config.rate_trace.is_empty();
    plain.then_some(queue.limit)
}

/// The queue and the wire of a plain link. `repr(C)` keeps the fields in this order, so that those
/// read for each packet share cache lines.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Bookings {
    /// When the transmission of the first waiting packet starts; in the far future if the queue is
    /// empty.
    next_start: Instant,
    /// The arrival of the last packet booked.
    last_arrival: Arrival,
    /// Bookings in order of arrival; those of waiting packets come last.
    booked: Ring<Booked>,
    limit: QueueLimit,
    /// The backlog when the last packet enters, as far as transmissions have been counted.
    waiting: Backlog,
    /// The arrival of the packet whose booking was removed last.
    gone: Arrival,
    /// The arrival of the first packet in `held`.
    next_call: Arrival,
    /// Packets that this link holds, in the order of `booked`.
    held: Ring<PacketRef>,
    /// The largest backlog up to the last packet booked.
    peak: Backlog,
    /// Largest backlogs at times that are still to come.
    peaks: Vec<(Instant, Backlog)>,
    /// Only the previous link feeds this one, and it hands packets over ahead.
    chained: bool,
    /// `None` if the queue is not traced: most links of a large network are not.
    changes: Option<Box<Changes>>,
}

/// Changes of the queue that have not been reported.
#[derive(Debug, Default)]
struct Changes {
    noted: Vec<QueueChange>,
}

impl Changes {
    /// Not inlined, because most queues are not traced.
    #[inline(never)]
    fn note(&mut self, change: QueueChange) {
        self.noted.push(change);
    }
}

impl Bookings {
    fn new(limit: QueueLimit) -> Self {
        Self {
            next_start: Instant::FAR_FUTURE,
            last_arrival: Arrival::START,
            booked: Ring::default(),
            limit,
            waiting: Backlog::default(),
            gone: Arrival::START,
            next_call: Arrival::NONE,
            held: Ring::default(),
            peak: Backlog::default(),
            peaks: Vec::new(),
            chained: false,
            changes: None,
        }
    }

    /// Counts the transmissions that have started by now.
    #[inline(always)]
    fn catch_up(&mut self, now: Instant) {
        if self.next_start <= now {
            self.catch_up_all(now);
        }
    }

    #[inline(never)]
    fn catch_up_all(&mut self, now: Instant) {
        if self.changes.is_some() {
            return self.catch_up_traced(now);
        }
        while self.catch_up_next(now).is_some() {}
    }

    /// Counts the transmissions that have started by now, and records them.
    #[inline(never)]
    fn catch_up_traced(&mut self, now: Instant) {
        let Some(mut changes) = self.changes.take() else {
            return;
        };
        while let Some(start) = self.catch_up_next(now) {
            changes.noted.push(self.waiting.change_at(start));
        }
        self.changes = Some(changes);
    }

    /// Counts the next transmission that has started by now; returns its start.
    #[inline(always)]
    fn catch_up_next(&mut self, now: Instant) -> Option<Instant> {
        let start = self.next_start;
        if start > now || self.waiting.packets == 0 {
            return None;
        }
        let size = self.first_waiting()?.size;
        self.waiting.packets -= 1;
        self.waiting.bytes -= u64::from(size);
        self.find_next_start();
        Some(start)
    }

    /// Records the backlog from this time on, if the queue is traced.
    #[inline(always)]
    fn note_change(&mut self, at: Instant) {
        if let Some(changes) = &mut self.changes {
            changes.note(self.waiting.change_at(at));
        }
    }

    /// The first waiting packet.
    #[inline]
    fn first_waiting(&self) -> Option<&Booked> {
        let first = self.booked.len() - self.waiting.packets as usize;
        self.booked.get(first)
    }

    #[inline]
    fn find_next_start(&mut self) {
        let first = self.first_waiting();
        self.next_start =
            first.map_or(Instant::FAR_FUTURE, |first| first.times.starts.rounded_up());
    }

    #[inline]
    fn fits(&self, size: u32) -> bool {
        match self.limit {
            QueueLimit::Packets(limit) => self.waiting.packets < limit,
            QueueLimit::Bytes(limit) => self.waiting.bytes + u64::from(size) <= limit,
        }
    }

    /// Removes the first packet, which has arrived; returns whether this link holds it.
    #[inline(always)]
    fn pop_first(&mut self) -> Option<bool> {
        if self.waiting.packets as usize == self.booked.len() {
            // The packet is still counted as waiting. Packets behind it are not counted, because
            // others that entered before those transmissions start may not be booked yet.
            self.catch_up(self.next_start);
        }
        let first = self.booked.pop_front()?;
        self.gone = first.times.arrival(self.gone);
        Some(first.is_held())
    }

    /// Removes the bookings of the first packets that have arrived before now and that other links
    /// hold.
    fn forget_passed(&mut self, now: Instant) {
        while let Some(first) = self.booked.front()
            && !first.is_held()
            && first.times.arrives < now
        {
            self.pop_first();
        }
    }

    /// Records the backlog after the packet that was last added to `waiting`, which enters at
    /// `enters`.
    #[inline]
    fn count_backlog(&mut self, now: Instant, enters: Instant, counters: &mut LinkCounters) {
        if enters <= now {
            QueueMeter::entered(self.waiting, counters);
        } else if self.waiting.packets > self.peak.packets || self.waiting.bytes > self.peak.bytes {
            self.note_peak(now, enters, counters);
        }
    }

    #[cold]
    fn note_peak(&mut self, now: Instant, enters: Instant, counters: &mut LinkCounters) {
        let passed = self.peaks.partition_point(|&(at, _)| at < now);
        if let Some((_, peak)) = self.peaks.drain(..passed).next_back() {
            QueueMeter::entered(peak, counters);
        }
        self.peak.packets = self.peak.packets.max(self.waiting.packets);
        self.peak.bytes = self.peak.bytes.max(self.waiting.bytes);
        self.peaks.push((enters, self.peak));
    }

    /// Finds the first packet that this link holds.
    #[inline]
    fn find_next_call(&mut self) {
        self.next_call = Arrival::NONE;
        let Some(first) = self.booked.front() else {
            return;
        };
        if first.is_held() {
            self.next_call = first.times.arrival(self.gone);
        } else if !self.held.is_empty() {
            self.find_held();
        }
    }

    /// Finds the first packet that this link holds, behind packets that other links hold.
    fn find_held(&mut self) {
        let mut before = self.gone;
        for booked in self.booked.iter() {
            before = booked.times.arrival(before);
            if booked.is_held() {
                self.next_call = before;
                return;
            }
        }
    }

    /// Appends a booking.
    #[inline]
    fn push(&mut self, booked: Booked) -> Arrival {
        let arrival = booked.times.arrival(self.last_arrival);
        self.last_arrival = arrival;
        self.booked.push_back(booked);
        arrival
    }
}

impl Link {
    /// True if the link is plain and not traced, so that it can use the fast path.
    #[inline]
    pub(crate) const fn is_untraced_plain(&self) -> bool {
        matches!(self.service, Service::Plain(_))
    }

    /// True if the link is plain: it books packets when they enter.
    #[inline]
    pub(crate) const fn is_plain(&self) -> bool {
        !matches!(self.service, Service::Queued(_))
    }

    /// True if the link may book packets before they enter: no packet leaves it at the instant at
    /// which it enters, so that booking ahead does not affect the order of events at one instant.
    pub(crate) const fn books_ahead(&self) -> bool {
        self.is_untraced_plain()
            && (!self.wire.delay.is_zero() || self.wire.transmitter.takes_time())
    }

    /// Whether only one link feeds this plain link, and hands packets over ahead.
    pub(crate) fn set_chained(&mut self, chained: bool) {
        if let Some(plain) = self.service.bookings_mut() {
            plain.chained = chained;
        }
    }

    /// Books the packet as of `enters`, in the past or the future, unless the link refuses it.
    /// `next` is the link that also books the packet, as of its arrival there; or [`HELD`], and the
    /// caller must call [`hold`](Self::hold).
    #[inline(always)]
    pub(crate) fn book_as_of(
        &mut self,
        now: Instant,
        enters: Instant,
        packet: &mut PacketRef,
        next: u32,
    ) -> Result<Arrival, DropReason> {
        let Self { service, wire } = self;
        let Some(plain) = service.bookings_mut() else {
            return Err(DropReason::Unreachable);
        };
        if let Some(reason) = packet.refused {
            return Err(reason);
        }
        let size = packet.size;
        if size > wire.mtu {
            return Err(DropReason::TooLarge);
        }
        plain.catch_up(enters);
        let free = wire.transmitter.free;
        let earliest = free.rounded_up();
        let starts = if earliest <= enters {
            ExactTime::at(enters)
        } else {
            if !plain.fits(size) {
                return Err(DropReason::QueueFull);
            }
            plain.next_start = plain.next_start.min(earliest);
            plain.waiting.packets += 1;
            plain.waiting.bytes += u64::from(size);
            plain.note_change(enters);
            plain.count_backlog(now, enters, &mut wire.counters);
            let nanos = u128::from(earliest.since(enters).as_nanos());
            wire.counters.packet_nanos_queued += nanos;
            wire.counters.byte_nanos_queued += nanos * u128::from(size);
            packet.enter_queue(enters);
            packet.leave_queue(earliest);
            free
        };
        wire.counters.packets_in += 1;
        wire.counters.bytes_in += u64::from(size);
        let end = wire.transmitter.end_of_transmission(starts, size);
        wire.counters.busy += Duration::from_nanos(end.nanos - starts.nanos);
        wire.transmitter.free = end;
        let times = Times {
            enters,
            starts,
            arrives: end.rounded_up() + wire.delay,
        };
        if plain.changes.is_some() && wire.events.wants(EventMask::STAGE) {
            record_booking(&mut wire.events, packet, &times, end);
        }
        let arrival = plain.push(Booked { times, size, next });
        if wire.counters.packets_in.is_multiple_of(FORGETS_EVERY) {
            plain.forget_passed(enters.min(now));
        }
        Ok(arrival)
    }

    /// Holds the packet that the link has booked. Returns its arrival if the link held no packet
    /// before.
    #[inline(always)]
    pub(crate) fn hold(&mut self, arrival: Arrival, packet: PacketRef) -> Option<Arrival> {
        let plain = self.service.bookings_mut()?;
        let first = plain.held.is_empty();
        if first {
            plain.next_call = arrival;
        }
        plain.held.push_back(packet);
        first.then_some(arrival)
    }

    /// The link holds the packet of its booking `offset` from the end, where 1 is the last, because
    /// the next link refuses it.
    #[cold]
    pub(crate) fn hold_booked(&mut self, offset: usize) {
        if let Some(plain) = self.service.bookings_mut() {
            let place = plain.booked.len().checked_sub(offset);
            if let Some(booked) = place.and_then(|place| plain.booked.get_mut(place)) {
                booked.next = HELD;
            }
        }
    }

    /// Drops a packet that would enter a plain link now. If the link is traced, the changes of its
    /// queue up to now come before the drop.
    #[cold]
    pub(crate) fn refuse(&mut self, now: Instant, packet: PacketRef, reason: DropReason) {
        self.catch_up(now);
        let Self { service, wire } = self;
        wire.counters.packets_in += 1;
        wire.counters.bytes_in += u64::from(packet.size);
        wire.drop(now, packet, reason);
        if reason == DropReason::QueueFull
            && let Some(plain) = service.bookings()
        {
            wire.events.push(now, StageEvent::Queue(plain.waiting));
        }
    }

    /// A packet enters a plain link, which holds it.
    pub(super) fn book_and_hold(&mut self, now: Instant, mut packet: PacketRef) {
        match self.book_as_of(now, now, &mut packet, HELD) {
            Ok(arrival) => {
                self.hold(arrival, packet);
            }
            Err(reason) => self.refuse(now, packet, reason),
        }
    }

    /// A traced link counts and notes the transmissions that have started by now.
    pub(crate) fn catch_up(&mut self, now: Instant) {
        if let Service::TracedPlain(plain) = &mut self.service {
            plain.catch_up(now);
        }
    }

    /// True if a plain link has dropped a packet or noted many changes of its queue.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        let changes = self.service.bookings();
        let changes = changes.and_then(|plain| plain.changes.as_ref());
        changes.is_some_and(|changes| changes.noted.len() >= MAX_CHANGES)
            || self.has_discarded()
            || self.wire.events.has_stages()
    }

    /// Passes the recorded changes of the queue to `take` by reference, and removes them.
    #[inline]
    pub(crate) fn take_changes(&mut self, take: impl FnOnce(&[QueueChange])) {
        if let Some(plain) = self.service.bookings_mut()
            && let Some(changes) = &mut plain.changes
            && !changes.noted.is_empty()
        {
            take(&changes.noted);
            changes.noted.clear();
        }
    }

    /// The next packet that has arrived at the end of a plain link.
    #[inline(always)]
    pub(crate) fn poll_booked(&mut self, now: Instant) -> Option<PacketRef> {
        let plain = self.service.bookings_mut()?;
        if plain.next_call.at > now {
            return None;
        }
        loop {
            if !plain.pop_first()? {
                continue;
            }
            let packet = plain.held.pop_front()?;
            plain.find_next_call();
            return Some(packet);
        }
    }

    /// When a plain link must be called next, and since when that is known; the far future if it
    /// holds no packet.
    #[inline]
    pub(crate) fn next_call(&self) -> Arrival {
        let plain = self.service.bookings();
        plain.map_or(Arrival::NONE, |plain| plain.next_call)
    }
}

/// Notes the stages of a packet, for those who follow packets: all are known when it enters.
#[cold]
fn record_booking(events: &mut StageEvents, packet: &PacketRef, times: &Times, end: ExactTime) {
    let transmission = Transmission {
        started: times.starts.rounded_up(),
        left: end.rounded_up(),
        arrives: Some(times.arrives),
    };
    let packet = packet.pooled();
    events.push(times.enters, StageEvent::Enter(packet));
    events.push(times.enters, StageEvent::Carry(packet, transmission));
}

#[cfg(test)]
mod tests;
