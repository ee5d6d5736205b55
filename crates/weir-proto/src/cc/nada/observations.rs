//! NADA's measurements on the packets of a flow (RFC 8698 §4.2, §5.1). The calculations are those
//! of its receiver, made by the sender from per-packet feedback (§6.4).

use super::config::NadaConfig;
use crate::cc::filter::WindowedMin;
use crate::cc::media::control::{PacketOutcome, PacketReport};
use crate::cc::tfrc::{Arithmetic, Discounting, LossIntervals, Profile, ReportedInterval};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// A packet in the observation window.
#[derive(Clone, Copy, Debug)]
struct Observed {
    /// When it arrived; for a lost packet, when the packet after it arrived.
    at: Duration,
    bytes: u32,
    is_lost: bool,
    is_marked: bool,
    /// d_fwd in nanoseconds, with the offset between the two clocks.
    delay: Option<i64>,
}

/// The statistics after a report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Measured {
    /// d_queue after the minimum filter.
    pub(super) queue_delay: Duration,
    /// p_loss.
    pub(super) loss_ratio: f64,
    /// p_mark.
    pub(super) marking_ratio: f64,
    /// r_recv in payload octets per second.
    pub(super) receive_bytes_per_sec: f64,
    /// Losses, marks or queueing delay in the window.
    pub(super) is_congested: bool,
}

/// The state of the measurements.
#[derive(Clone, Debug)]
pub(super) struct Observations {
    window: VecDeque<Observed>,
    /// The last d_fwd, for the minimum filter.
    delays: VecDeque<i64>,
    base_delay: WindowedMin<i64>,
    measured: Measured,
    losses: Losses,
}

/// The losses, counted as in TFRC (RFC 5348 §5.4).
#[derive(Clone, Debug)]
struct Losses {
    intervals: LossIntervals,
    first: Option<u64>,
    /// The last packet that was reported.
    last: u64,
    last_lost: Option<u64>,
    /// The first packet of the last loss event, and when it was sent.
    event: Option<(u64, Instant)>,
    /// The loss events whose first packet was sent from `counted_from` on.
    counted: u64,
    counted_from: Instant,
}

impl Observations {
    pub(super) fn new() -> Self {
        let profile = Profile {
            arithmetic: Arithmetic::Float,
            discounting: Discounting::Off,
            ..Profile::rfc5348()
        };
        Self {
            window: VecDeque::new(),
            delays: VecDeque::new(),
            base_delay: WindowedMin::default(),
            measured: Measured::default(),
            losses: Losses {
                intervals: LossIntervals::new(&profile),
                first: None,
                last: 0,
                last_lost: None,
                event: None,
                counted: 0,
                counted_from: Instant::ZERO,
            },
        }
    }

    /// Takes the packets of a report, in the order of their numbers. The report was made at
    /// `reported_at` by the receiver's clock.
    pub(super) fn on_report(
        &mut self,
        config: &NadaConfig,
        reports: &[PacketReport],
        reported_at: Duration,
        rtt: Duration,
    ) -> Measured {
        let mut next_arrival = reported_at;
        let mut observed = Vec::with_capacity(reports.len());
        // From the last to the first: a packet that arrived after its successor counts as lost
        // (§5.1.2), although its octets arrived.
        for report in reports.iter().rev() {
            let packet = observe(report, next_arrival);
            next_arrival = next_arrival.min(packet.at);
            observed.push(packet);
        }
        for (packet, report) in observed.into_iter().rev().zip(reports) {
            self.losses.on_packet(report, packet.is_lost, rtt);
            if let Some(delay) = packet.delay {
                self.on_delay(config, report.sent, delay);
            }
            self.window.push_back(packet);
        }
        let oldest = reported_at.saturating_sub(config.observation_window);
        self.window.retain(|packet| packet.at > oldest);
        self.measure(config);
        self.measured
    }

    fn on_delay(&mut self, config: &NadaConfig, sent: Instant, delay: i64) {
        let window = config.base_delay_window.as_nanos();
        self.base_delay.update(window, sent.as_nanos(), delay);
        while self.delays.len() >= config.delay_filter.max(1) as usize {
            self.delays.pop_front();
        }
        self.delays.push_back(delay);
    }

    fn measure(&mut self, config: &NadaConfig) {
        let base = self.base_delay.get();
        let above = |delay: i64| Duration::from_nanos(delay.saturating_sub(base).max(0) as u64);
        let least = self.delays.iter().min().copied().unwrap_or(base);
        let packets = self.window.len().max(1) as f64;
        let counted = |what: fn(&Observed) -> bool| {
            self.window.iter().filter(|packet| what(packet)).count() as f64
        };
        let (lost, marked) = (counted(|packet| packet.is_lost), counted(|p| p.is_marked));
        let bytes: u64 = self
            .window
            .iter()
            .map(|packet| u64::from(packet.bytes))
            .sum();
        let delays = self.window.iter().filter_map(|packet| packet.delay);
        let has_queue = delays
            .into_iter()
            .any(|d| above(d) >= config.queueing_threshold);
        let has_marks = config.marks_end_ramp_up && marked > 0.0;
        // (10)
        let smooth = |old: f64, new: f64| config.alpha * new + (1.0 - config.alpha) * old;
        let seconds = config.observation_window.as_secs_f64();
        self.measured = Measured {
            queue_delay: above(least),
            loss_ratio: smooth(self.measured.loss_ratio, lost / packets),
            marking_ratio: smooth(self.measured.marking_ratio, marked / packets),
            receive_bytes_per_sec: if seconds > 0.0 {
                bytes as f64 / seconds
            } else {
                0.0
            },
            is_congested: lost > 0.0 || has_marks || has_queue,
        };
    }

    /// The share of the queueing delay that is warped, in 0..1: one until `multiloss` average loss
    /// intervals after the last loss, then falling to zero over one more interval (§4.2).
    pub(super) fn warped_share(&self, multiloss: f64) -> f64 {
        let (Some(last), mean) = (self.losses.last_lost, self.losses.intervals.mean()) else {
            return 0.0;
        };
        if mean <= 0.0 {
            return 0.0;
        }
        let since = self.losses.last.saturating_sub(last) as f64;
        (1.0 - (since - multiloss * mean) / mean).clamp(0.0, 1.0)
    }

    /// Loss events so far.
    pub(super) const fn loss_events(&self) -> u64 {
        self.losses.counted
    }

    pub(super) const fn count_loss_events_from(&mut self, at: Instant) {
        self.losses.counted_from = at;
    }
}

/// The entry of the observation window for a packet; the packet after it arrived at `next_arrival`.
fn observe(report: &PacketReport, next_arrival: Duration) -> Observed {
    let missing = Observed {
        at: next_arrival,
        bytes: 0,
        is_lost: true,
        is_marked: false,
        delay: None,
    };
    let PacketOutcome::Received { at, marked } = report.outcome else {
        return missing;
    };
    let arrived = Observed {
        bytes: report.bytes,
        is_lost: false,
        is_marked: marked,
        ..missing
    };
    match at {
        None => arrived,
        Some(at) if at > next_arrival => Observed {
            is_lost: true,
            ..arrived
        },
        Some(at) => {
            let [arrival, sent] = [at.as_nanos(), report.sent.as_nanos()].map(|n| n as i64);
            Observed {
                at,
                delay: Some(arrival.saturating_sub(sent)),
                ..arrived
            }
        }
    }
}

impl Losses {
    fn on_packet(&mut self, report: &PacketReport, is_lost: bool, rtt: Duration) {
        let first = *self.first.get_or_insert(report.sequence);
        self.last = self.last.max(report.sequence);
        if !is_lost {
            if let Some((start, _)) = self.event {
                let open = self.last.saturating_sub(start) as f64;
                self.intervals.on_growth(open);
            }
            return;
        }
        self.last_lost = Some(report.sequence);
        let none = ReportedInterval::default();
        match self.event {
            None => {
                let before = report.sequence.saturating_sub(first) as f64;
                self.intervals.on_first_loss(none, before, 1.0);
            }
            // RFC 5348 §5.2: losses within a round-trip time are one event.
            Some((_, sent)) if report.sent <= sent + rtt => return,
            Some((start, _)) => {
                let closed = report.sequence.saturating_sub(start) as f64;
                self.intervals.on_loss(none, closed, 1.0);
            }
        }
        self.event = Some((report.sequence, report.sent));
        self.counted += u64::from(report.sent >= self.counted_from);
    }
}
