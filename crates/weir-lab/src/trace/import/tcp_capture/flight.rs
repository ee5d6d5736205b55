//! The octets that a sender has outstanding, as an observer beside it knows them: which were sent
//! when, selectively acknowledged, presumed lost and sent again.
//!
//! A segment is presumed lost when one that was sent after it has arrived and the reordering
//! window has passed (RFC 8985 §6.2); without SACK at the third duplicate acknowledgement and at
//! partial ones (RFC 6582); at a timeout everything that is older than a round trip.

use std::collections::BTreeMap;
use weir_proto::time::{Duration, Instant};

/// Duplicate acknowledgements after which a segment is presumed lost (DupThresh of RFC 6675 §2).
pub(super) const DUP_THRESH: u64 = 3;

/// Octets with one history, up to `end`.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    last: Instant,
    retransmitted: bool,
    sacked: bool,
    lost: bool,
    /// False for octets that the capture does not have.
    seen: bool,
}

/// What an acknowledgement reports as arrived.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivered {
    /// The latest time at which one of the segments was sent that were sent once.
    pub(super) sample_from: Option<Instant>,
    /// The octets newly reported.
    pub(super) octets: u64,
    /// The longest of the segments.
    pub(super) longest: u64,
}

/// The outstanding octets.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    /// From the first octet; consecutive.
    sent: BTreeMap<u64, Sent>,
    /// Octets neither acknowledged in any way nor presumed lost.
    outstanding: u64,
    sacked: u64,
    /// The highest octet that has arrived.
    highest: u64,
    /// The time and the end of the most recently sent segment that has arrived.
    newest: Option<(Instant, u64)>,
    newest_rtt: Duration,
    reordered: bool,
    /// The end of the data sent when the recovery in progress began.
    recovery: Option<u64>,
}

impl Flight {
    /// Octets neither acknowledged in any way nor presumed lost.
    pub(super) const fn in_flight(&self) -> u64 {
        self.outstanding
    }

    /// The length of the oldest segment that is not acknowledged in any way.
    pub(super) fn oldest(&self) -> Option<u64> {
        let mut waiting = self.sent.iter().filter(|(_, sent)| !sent.sacked);
        waiting.next().map(|(start, sent)| sent.end - start)
    }

    /// Octets selectively acknowledged.
    pub(super) const fn sacked(&self) -> u64 {
        self.sacked
    }

    /// True while losses are repaired.
    pub(super) const fn recovering(&self) -> bool {
        self.recovery.is_some()
    }

    /// New octets leave; `seen` is false for those that the capture skips.
    pub(super) fn on_send(&mut self, start: u64, end: u64, now: Instant, seen: bool) {
        let sent = Sent {
            end,
            last: now,
            retransmitted: false,
            sacked: false,
            lost: false,
            seen,
        };
        self.sent.insert(start, sent);
        self.outstanding += end - start;
    }

    /// When these octets were last sent, and whether more than once; `None` if they are not
    /// outstanding.
    pub(super) fn history(&self, octet: u64) -> Option<(Instant, bool)> {
        let (_, sent) = self.sent.range(..=octet).next_back()?;
        (sent.end > octet).then_some((sent.last, sent.retransmitted))
    }

    /// Outstanding octets leave again; returns those that had left before and are not known to have
    /// arrived, zero if the capture sees them for the first time.
    pub(super) fn on_retransmit(&mut self, start: u64, end: u64, now: Instant) -> u64 {
        self.split(start);
        self.split(end);
        let mut octets = 0;
        for (start, sent) in self.sent.range_mut(start..end) {
            let length = sent.end - start;
            if sent.sacked {
                continue;
            }
            if !sent.seen {
                (sent.seen, sent.last) = (true, now);
                continue;
            }
            octets += length;
            if sent.lost {
                self.outstanding += length;
            }
            (sent.last, sent.retransmitted, sent.lost) = (now, true, false);
        }
        octets
    }

    /// All octets before `ack` have arrived.
    pub(super) fn on_ack(&mut self, ack: u64, now: Instant, delivered: &mut Delivered) {
        self.split(ack);
        while let Some(entry) = self.sent.first_entry().filter(|entry| *entry.key() < ack) {
            let (start, sent) = entry.remove_entry();
            if sent.sacked {
                self.sacked -= sent.end - start;
            } else {
                self.on_delivered(start, sent, now, delivered);
            }
        }
        if self.recovery.is_some_and(|point| ack >= point) {
            self.recovery = None;
        }
    }

    /// These octets have arrived out of order.
    pub(super) fn on_sack(
        &mut self,
        start: u64,
        end: u64,
        now: Instant,
        delivered: &mut Delivered,
    ) {
        self.split(start);
        self.split(end);
        let found: Vec<_> = self.sent.range(start..end).map(|(k, v)| (*k, *v)).collect();
        let (Some((start, first)), Some((_, last))) = (found.first(), found.last()) else {
            return;
        };
        let (mut start, mut merged) = (*start, *first);
        merged.end = last.end;
        for (from, sent) in &found {
            self.sent.remove(from);
            if !sent.sacked {
                self.sacked += sent.end - from;
                self.on_delivered(*from, *sent, now, delivered);
            }
        }
        // Neighbours that have arrived are one range, so that reports of many segments are cheap.
        if let Some((before, sent)) = self.sent.range(..start).next_back()
            && sent.sacked
            && sent.end == start
        {
            start = *before;
        }
        if let Some(after) = self.sent.get(&merged.end).filter(|after| after.sacked) {
            let (from, end) = (merged.end, after.end);
            self.sent.remove(&from);
            merged.end = end;
        }
        (merged.sacked, merged.lost) = (true, false);
        self.sent.insert(start, merged);
    }

    fn on_delivered(&mut self, start: u64, sent: Sent, now: Instant, delivered: &mut Delivered) {
        let length = sent.end - start;
        delivered.octets += length;
        delivered.longest = delivered.longest.max(length);
        if !sent.lost {
            self.outstanding -= length;
        }
        if sent.seen && !sent.retransmitted {
            delivered.sample_from = delivered.sample_from.max(Some(sent.last));
            // RFC 8985 §6.2, step 3.
            self.reordered |= sent.end < self.highest;
        }
        self.highest = self.highest.max(sent.end);
        if sent.seen
            && self
                .newest
                .is_none_or(|newest| newest < (sent.last, sent.end))
        {
            // RFC 8985 §6.2, step 2: an early acknowledgement is one of the first transmission.
            let rtt = now.since(sent.last);
            if !sent.retransmitted || rtt >= self.newest_rtt / 2 {
                self.newest = Some((sent.last, sent.end));
                self.newest_rtt = rtt;
            }
        }
    }

    /// Marks segments as lost that were overtaken; `next` is the end of all data sent.
    pub(super) fn detect_lost(&mut self, now: Instant, min_rtt: Duration, mss: u64, next: u64) {
        let (Some((newest, newest_end)), 1..) = (self.newest, self.sacked) else {
            return;
        };
        let many = self.sacked >= DUP_THRESH * mss;
        let window = if !self.reordered && (self.recovery.is_some() || many) {
            Duration::ZERO
        } else {
            min_rtt / 4
        };
        let loss_delay = self.newest_rtt + window;
        for (start, sent) in self.sent.range_mut(..self.highest) {
            if sent.sacked || sent.lost || (sent.last, sent.end) >= (newest, newest_end) {
                continue;
            }
            if now.since(sent.last) >= loss_delay {
                sent.lost = true;
                self.outstanding -= sent.end - start;
                self.recovery = self.recovery.or(Some(next));
            }
        }
    }

    /// The first octets are lost: without SACK, at duplicate and partial acknowledgements.
    pub(super) fn mark_first_lost(&mut self, octets: u64, next: u64) {
        let Some((start, _)) = self.sent.first_key_value() else {
            return;
        };
        let end = start + octets;
        self.split(end);
        self.mark_lost(|first, _| first < end);
        self.recovery = self.recovery.or(Some(next));
    }

    /// A timeout: all that is older than a round trip is lost, and the first octet.
    pub(super) fn on_timeout(&mut self, now: Instant, rtt: Duration, next: u64) {
        let first = self.sent.first_key_value().map_or(0, |(start, _)| *start);
        self.mark_lost(|start, sent| start == first || now.since(sent.last) >= rtt);
        self.recovery = Some(next);
    }

    fn mark_lost(&mut self, is_lost: impl Fn(u64, &Sent) -> bool) {
        for (start, sent) in &mut self.sent {
            if !sent.sacked && !sent.lost && is_lost(*start, sent) {
                sent.lost = true;
                self.outstanding -= sent.end - start;
            }
        }
    }

    /// Makes `octet` the start of a range.
    fn split(&mut self, octet: u64) {
        let Some((start, sent)) = self.sent.range_mut(..octet).next_back() else {
            return;
        };
        if sent.end <= octet || *start == octet {
            return;
        }
        let rest = *sent;
        sent.end = octet;
        self.sent.insert(octet, rest);
    }
}
