//! What a capture beside the sender shows: round trips, octets in flight, losses and timeouts.

use super::super::rows::{Cell, Rows, rtt_cells};
use super::super::tables::PacketRow;
use super::flight::{DUP_THRESH, Delivered, Flight};
use super::records::{Acknowledgement, Data, FlowSetup, Log};
use crate::run::DeliveryRate;
use crate::table::Table;
use weir_proto::cc::rtt::{RttEstimator, TimeoutRules};
use weir_proto::time::{Duration, Instant};

/// What a sender sends at most this long after an acknowledgement is released by it.
const RELEASED_WITHIN: Duration = Duration::from_millis(1);
/// RFC 6298 §2 with the least timeout of Linux.
const TIMEOUT: TimeoutRules = TimeoutRules {
    initial: Duration::from_millis(1000),
    granularity: RELEASED_WITHIN,
    minimum: Duration::from_millis(200),
    maximum: Duration::from_millis(120_000),
};

#[derive(Debug)]
pub(super) struct Sender {
    mss: u64,
    uses_sack: bool,
    flight: Flight,
    next: u64,
    una: u64,
    una_at: Instant,
    last_ack_at: Instant,
    window: Option<u64>,
    rtt: RttEstimator,
    /// The smallest sample of data; that of the handshake, which is small, is not among them.
    min_rtt: Option<Duration>,
    rate: DeliveryRate,
    rate_bps: Option<f64>,
    delivered: u64,
    /// Duplicate acknowledgements since the last new one.
    dup_acks: u64,
    /// Timeouts and probes in a row.
    timeouts: u32,
    probes: u32,
    /// The end of the data sent at the last timeout.
    timeout_until: u64,
    skipped: u64,
    /// Octets of data that left, and of these what had left before.
    sent: u64,
    resent: u64,
    /// The longest segment that has arrived, in octets.
    longest: u64,
    /// When something of the peer came last, and how many segments did.
    heard_at: Instant,
    heard: u64,
    /// The time of the row that is not complete.
    row_at: Option<Instant>,
    rows: Rows,
}

impl Sender {
    pub(super) fn new(setup: &FlowSetup) -> Self {
        let mut rtt = RttEstimator::default();
        if let Some(sample) = setup.handshake {
            rtt.on_sample(Instant::ZERO, sample);
        }
        Self {
            mss: u64::from(setup.segment_octets),
            uses_sack: setup.uses_sack,
            flight: Flight::default(),
            next: 0,
            una: 0,
            una_at: Instant::ZERO,
            last_ack_at: Instant::ZERO,
            window: None,
            rtt,
            min_rtt: None,
            rate: DeliveryRate::default(),
            rate_bps: None,
            delivered: 0,
            dup_acks: 0,
            timeouts: 0,
            probes: 0,
            timeout_until: 0,
            skipped: 0,
            sent: 0,
            resent: 0,
            longest: 0,
            heard_at: Instant::ZERO,
            heard: 0,
            row_at: None,
            rows: Rows::default(),
        }
    }

    /// The end of the data sent.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Octets of data that the capture does not have.
    pub(super) const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// A segment of the peer comes.
    pub(super) const fn on_heard(&mut self, now: Instant) {
        self.heard_at = now;
        self.heard += 1;
    }

    /// Data leaves; returns its kind.
    pub(super) fn on_data(&mut self, now: Instant, data: &Data, log: &mut Log) -> &'static str {
        self.continue_row(now);
        let mut content = "data";
        let is_probe = self.window == Some(0) && data.start <= self.una + 1;
        if is_probe {
            self.on_probe(now, log);
        }
        if data.start < self.next {
            let sent_before = Data {
                end: data.end.min(self.next),
                ..*data
            };
            if self.on_retransmit(now, &sent_before, is_probe, log) {
                content = "retransmission";
            }
        }
        if data.start > self.next {
            self.flight.on_send(self.next, data.start, now, false);
            self.skipped += data.start - self.next;
            self.next = data.start;
        }
        if data.end > self.next {
            self.flight.on_send(self.next, data.end, now, true);
            self.next = data.end;
        }
        let octets = data.end - data.start;
        self.sent += octets;
        self.resent += if content == "retransmission" {
            octets
        } else {
            0
        };
        content
    }

    /// A segment without data leaves: a probe if the window is closed and data may wait.
    pub(super) fn on_empty(&mut self, now: Instant, log: &mut Log) {
        // Linux probes without data; one that follows an arrival is an acknowledgement.
        if self.window == Some(0) && now.since(self.last_ack_at) >= TIMEOUT.minimum {
            self.on_probe(now, log);
        }
    }

    fn on_probe(&mut self, now: Instant, log: &mut Log) {
        log.events
            .add(now, log.place, ("window_probe", ""), Some(self.probes));
        self.probes += 1;
    }

    /// Octets that were sent before leave again; false if the capture saw them late the first time.
    fn on_retransmit(&mut self, now: Instant, data: &Data, is_probe: bool, log: &mut Log) -> bool {
        if data.end <= self.una {
            log.losses.add_spurious((data.start, data.end));
            return true;
        }
        if !is_probe && self.is_timeout(now, data) {
            self.on_timeout(now, log);
        }
        let reason = if data.start < self.timeout_until {
            "timeout"
        } else if self.has_dup_acks() {
            "packet_threshold"
        } else if self.flight.sacked() > 0 {
            "time_threshold"
        } else {
            ""
        };
        let octets = self.flight.on_retransmit(data.start, data.end, now);
        if octets == 0 {
            // Selectively acknowledged already, or seen for the first time.
            let arrived = self
                .flight
                .history(data.start)
                .is_some_and(|(last, _)| last < now);
            if arrived {
                log.losses.add_spurious((data.start, data.end));
            }
            return arrived;
        }
        if is_probe {
            return true;
        }
        let segment = (data.start as f64, data.size);
        let row = PacketRow::lost(now, log.place, segment, reason);
        log.losses.add(row, (data.start, data.end));
        true
    }

    fn has_dup_acks(&self) -> bool {
        // RFC 6675 §4: more than two segments' worth of octets.
        self.dup_acks >= DUP_THRESH || self.flight.sacked() > (DUP_THRESH - 1) * self.mss
    }

    /// True if a timeout sends these octets again (RFC 6298 §5.4): the first outstanding one, after
    /// a silence, and not because of duplicate acknowledgements.
    fn is_timeout(&self, now: Instant, data: &Data) -> bool {
        if data.start > self.una {
            return false;
        }
        let Some((last, retransmitted)) = self.flight.history(self.una) else {
            return false;
        };
        let silence = now.since(last.max(self.una_at));
        silence >= self.rtt.timeout(&TIMEOUT, 0)
            && now.since(self.last_ack_at) > RELEASED_WITHIN
            && (retransmitted || !self.has_dup_acks())
    }

    fn on_timeout(&mut self, now: Instant, log: &mut Log) {
        self.flush_row();
        log.events
            .add(now, log.place, ("timeout", ""), Some(self.timeouts));
        self.push_row(now, "timeout");
        self.timeouts += 1;
        self.count(now, log);
        self.timeout_until = self.next;
        self.dup_acks = 0;
        let rtt = self.rtt.smoothed().unwrap_or(TIMEOUT.minimum);
        self.flight.on_timeout(now, rtt, self.next);
        self.row_at = Some(now);
    }

    /// An acknowledgement arrives.
    pub(super) fn on_ack(&mut self, now: Instant, ack: &Acknowledgement<'_>, log: &mut Log) {
        if ack.ack < self.una {
            return;
        }
        self.flush_row();
        self.row_at = Some(now);
        let mut delivered = Delivered::default();
        if ack.ack > self.next {
            self.flight.on_send(self.next, ack.ack, now, false);
            self.skipped += ack.ack - self.next;
            self.next = ack.ack;
        }
        let same_window = self.window == ack.window;
        self.window = ack.window;
        if self.window != Some(0) {
            self.probes = 0;
        }
        let advance = ack.ack - self.una;
        if advance > 0 {
            self.flight.on_ack(ack.ack, now, &mut delivered);
            (self.una, self.una_at) = (ack.ack, now);
            self.timeouts = 0;
        } else if ack.pure && self.next > self.una && (same_window || !ack.sacks.is_empty()) {
            self.dup_acks += 1;
        }
        self.take_sacks(now, ack, &mut delivered, log);
        self.presume_lost(now, advance);
        self.last_ack_at = now;
        if let Some(sent_at) = delivered.sample_from {
            let sample = now.since(sent_at);
            self.min_rtt = Some(self.min_rtt.map_or(sample, |min| min.min(sample)));
            self.rtt.on_sample(now, sample);
        }
        self.delivered += delivered.octets;
        self.longest = self.longest.max(delivered.longest.min(self.mss));
        log.intervals.add_delivered(now, delivered.octets);
        let span = self.rtt.smoothed().unwrap_or_default();
        self.rate_bps = self.rate.on_report(now, self.delivered, span);
    }

    fn take_sacks(
        &mut self,
        now: Instant,
        ack: &Acknowledgement<'_>,
        delivered: &mut Delivered,
        log: &mut Log,
    ) {
        for (index, (start, end)) in ack.sacks.iter().copied().enumerate() {
            let second = ack.sacks.get(1);
            let within = second.is_some_and(|second| start >= second.0 && end <= second.1);
            // RFC 2883 §4: the first block is a duplicate if it is acknowledged already.
            if index == 0 && (end <= ack.ack || within) {
                if log.losses.undo(start, end) {
                    log.events.add(now, log.place, ("spurious", ""), None);
                }
            } else if end <= self.next {
                self.flight
                    .on_sack(start.max(self.una), end, now, delivered);
            }
        }
    }

    fn presume_lost(&mut self, now: Instant, advance: u64) {
        if self.uses_sack {
            let min_rtt = self.rtt.get().min;
            self.flight.detect_lost(now, min_rtt, self.mss, self.next);
        } else if self.dup_acks == DUP_THRESH && !self.flight.recovering()
            || advance > 0 && self.flight.recovering()
        {
            // RFC 6582 §3.2: the third duplicate and each partial acknowledgement.
            self.flight.mark_first_lost(self.mss, self.next);
        }
        if advance > 0 {
            self.dup_acks = 0;
        }
    }

    /// Octets in flight. Without SACK each duplicate acknowledgement stands for a segment that has
    /// arrived (RFC 5681 §3.2).
    fn in_flight(&self) -> u64 {
        let arrived = if self.uses_sack {
            0
        } else {
            self.dup_acks * self.mss
        };
        self.flight.in_flight().saturating_sub(arrived)
    }

    fn bound(&self) -> &'static str {
        let outstanding = self.next - self.una;
        match self.window {
            Some(window) if outstanding + self.mss > window => "receiver_credit",
            _ if outstanding == 0 && self.next > 0 => "application",
            _ => "",
        }
    }

    /// Data leaves: it belongs to the row of what released it, or begins one.
    fn continue_row(&mut self, now: Instant) {
        if self
            .row_at
            .is_none_or(|since| now.since(since) > RELEASED_WITHIN)
        {
            self.flush_row();
            self.row_at = Some(now);
        }
    }

    fn flush_row(&mut self) {
        if let Some(at) = self.row_at.take() {
            self.push_row(at, "controller");
        }
    }

    fn push_row(&mut self, at: Instant, event: &str) {
        let [rtt, smoothed_rtt, _] = rtt_cells(&self.rtt);
        let window = self.window.map(|window| window as f64);
        let min_rtt = self.min_rtt.map(Duration::as_secs_f64);
        self.rows.push(&[
            ("time_s", Cell::Number(at.as_secs_f64())),
            ("rtt_s", rtt),
            ("smoothed_rtt_s", smoothed_rtt),
            ("bytes_in_flight", Cell::Number(self.in_flight() as f64)),
            ("bound", Cell::Word(self.bound())),
            ("receive_window_bytes", Cell::optional(window)),
            ("min_rtt_s", Cell::optional(min_rtt)),
            ("delivered_bytes", Cell::Number(self.delivered as f64)),
            ("delivery_rate_bps", Cell::optional(self.rate_bps)),
            ("event", Cell::Word(event)),
        ]);
    }

    /// A row of what was sent and what is missing.
    fn count(&self, now: Instant, log: &mut Log) {
        let oldest = self.flight.oldest().map(|octets| octets.min(self.mss));
        log.counters.push(&[
            ("time_s", Cell::Number(now.as_secs_f64())),
            ("sent_bytes", Cell::Count(self.sent)),
            ("retransmitted_bytes", Cell::Count(self.resent)),
            ("unacknowledged_bytes", Cell::Count(self.next - self.una)),
            (
                "oldest_bytes",
                Cell::optional(oldest.map(|octets| octets as f64)),
            ),
            ("longest_acknowledged_bytes", Cell::Count(self.longest)),
            ("heard_packets", Cell::Count(self.heard)),
            (
                "since_heard_s",
                Cell::Number(now.since(self.heard_at).as_secs_f64()),
            ),
            ("timeouts_in_a_row", Cell::Count(self.timeouts.into())),
        ]);
    }

    pub(super) fn finish(mut self, end: Instant, log: &mut Log) -> (Table, u64) {
        self.flush_row();
        self.count(end, log);
        (self.rows.finish(), self.delivered)
    }
}
