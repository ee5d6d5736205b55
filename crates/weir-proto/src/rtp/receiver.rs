//! The packets that arrived, and the reports about them (RFC 8888 §3.1).

use super::clock::{TICKS_PER_OFFSET, extend_sequence, ticks};
use super::wire::{ArrivalOffset, CcFeedback, MAX_METRICS, Metric, ReportBlock};
use crate::packet::Ecn;
use crate::time::{Duration, Instant};
use std::collections::BTreeMap;

/// Packets below the highest that are kept; a packet that arrives later than that counts as new.
pub(super) const REMEMBERED: u64 = 2 * MAX_METRICS as u64;

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    ticks: u64,
    ecn: Ecn,
}

/// How a packet arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepted {
    /// For the first time; its extended sequence number.
    New(u64),
    /// Once more, with the same number.
    Duplicate(u64),
}

/// The receiving half of a session.
#[derive(Debug)]
pub(super) struct Receiver {
    interval: Duration,
    ssrc: Option<u32>,
    arrivals: BTreeMap<u64, Arrival>,
    highest: u64,
    /// The first packet that no report has covered.
    unreported: u64,
    /// The lowest packet that arrived since the last report.
    changed: Option<u64>,
    last_report: Option<Instant>,
    due: Option<Instant>,
}

impl Receiver {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            interval,
            ssrc: None,
            arrivals: BTreeMap::new(),
            highest: 0,
            unreported: 0,
            changed: None,
            last_report: None,
            due: None,
        }
    }

    /// A packet of the stream arrives; `None` if its number is impossible.
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        [ssrc, low]: [u32; 2],
        ecn: Ecn,
    ) -> Option<Accepted> {
        let low = low as u16;
        if self.ssrc.is_none() {
            self.ssrc = Some(ssrc);
            self.highest = u64::from(low);
            self.unreported = self.highest;
            self.last_report = Some(now);
        }
        let sequence = extend_sequence(self.highest, low).filter(|_| self.ssrc == Some(ssrc))?;
        let arrival = Arrival {
            ticks: ticks(now),
            ecn,
        };
        let known = self.arrivals.get_mut(&sequence);
        let accepted = match known {
            // RFC 8888 §3.1: the first arrival counts, with the mark of any copy.
            Some(known) if ecn == Ecn::Ce && known.ecn != Ecn::Ce => {
                known.ecn = Ecn::Ce;
                Accepted::Duplicate(sequence)
            }
            Some(_) => return Some(Accepted::Duplicate(sequence)),
            None => {
                self.arrivals.insert(sequence, arrival);
                Accepted::New(sequence)
            }
        };
        self.highest = self.highest.max(sequence);
        self.changed = Some(self.changed.map_or(sequence, |lowest| lowest.min(sequence)));
        let next = self.last_report.map_or(now, |last| last + self.interval);
        self.due.get_or_insert(next.max(now));
        Some(accepted)
    }

    /// When the next report is due; `None` if no packet has arrived since the last one.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The report that is due, in packets of at most `octets`; each covers the packets that arrived
    /// since the last report, and all packets from the lowest of these on.
    pub(super) fn report(&mut self, now: Instant, ssrc: u32, octets: usize) -> Vec<CcFeedback> {
        self.due = None;
        let (Some(changed), Some(stream)) = (self.changed.take(), self.ssrc) else {
            return Vec::new();
        };
        self.last_report = Some(now);
        let end = self.highest + 1;
        let begin = changed.min(self.unreported);
        let begin = begin.max(end.saturating_sub(MAX_METRICS as u64));
        self.unreported = end;
        let at = ticks(now);
        let numbers: Vec<u64> = (begin..end).collect();
        let packets = numbers.chunks(CcFeedback::metrics_within(octets).max(1));
        let packets = packets.map(|numbers| CcFeedback {
            ssrc,
            blocks: vec![ReportBlock {
                ssrc: stream,
                begin_seq: numbers.first().copied().unwrap_or_default() as u16,
                metrics: numbers
                    .iter()
                    .map(|number| self.metric(*number, at))
                    .collect(),
            }],
            timestamp: at as u32,
        });
        let packets = packets.collect();
        self.arrivals = self.arrivals.split_off(&end.saturating_sub(REMEMBERED));
        packets
    }

    fn metric(&self, sequence: u64, at: u64) -> Option<Metric> {
        self.arrivals.get(&sequence).map(|arrival| Metric {
            ecn: arrival.ecn,
            offset: ArrivalOffset::of_ticks(at.saturating_sub(arrival.ticks) / TICKS_PER_OFFSET),
        })
    }
}
