//! TFRC's rate as a window: W = X·R, for transports that ask how much may be in flight.
//!
//! The sender is TFRC's own ([`tfrc::Sender`]), with all its rules. The receiver's part is played
//! here, out of acknowledgements, as RFC 5348 §7 allows it: once a round-trip time, and at each
//! loss event, they become a feedback.
//! - X_recv is what was acknowledged since the last feedback, over at least a round-trip time.
//! - A loss event is a loss or mark of something sent more than R after the one that began the
//!   last event. Loss intervals are counted in what was sent, in segments of the largest datagram.
//! - R is the transport's smoothed round-trip time.
//!
//! Departures: before the first acknowledgement the window is the transport's initial one, and two
//! datagrams after a loss; it is never below two datagrams, where TFRC goes down to one packet in
//! 64 seconds; a call to the controller is what makes the nofeedback timer expire, however late;
//! of the losses found at one time only the latest sets the place of the event.
//!
//! Does not model: oscillation reduction, which changes the distance of packets and not X.

use super::{BoxedController, WindowConfig};
use crate::cc::tfrc::{
    Equation, Feedback, LossIntervals, Oscillation, Profile, ReportedInterval, SegmentSizeRule,
    Sender,
};
use crate::cc::{Acked, Congestion, Sent, WindowController};
use crate::event::{Events, Limit};
use crate::time::{Duration, Instant};
use crate::units::Rate;
use std::collections::VecDeque;

/// Places of packets that are kept; of more, every other is forgotten, and new ones keep the
/// distance.
const MAX_PLACES: usize = 4096;
/// Expiries of the nofeedback timer that are made up for singly after a silence.
const MAX_EXPIRIES: usize = 64;

/// How much had been sent when.
#[derive(Clone, Debug, Default)]
struct Places {
    /// Times, and the octets sent before them.
    marks: VecDeque<(Instant, u64)>,
    sent: u64,
    /// The least distance of two places.
    spacing: u64,
}

impl Places {
    fn on_sent(&mut self, now: Instant, octets: u64) {
        if self.marks.len() >= MAX_PLACES {
            let mut number = 0_usize;
            self.marks.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            let first = self.marks.front().map_or(self.sent, |place| place.1);
            self.spacing = (self.sent - first) / (MAX_PLACES / 2) as u64;
        }
        let last = self.marks.back();
        if last.is_none_or(|(_, place)| self.sent - place >= self.spacing) {
            self.marks.push_back((now, self.sent));
        }
        self.sent += octets;
    }

    /// The octets sent before what was sent at this time.
    fn of(&self, sent_at: Instant) -> u64 {
        let after = self.marks.partition_point(|(at, _)| *at <= sent_at);
        let place = self.marks.get(after.saturating_sub(1));
        place.map_or(self.sent, |(_, octets)| *octets)
    }

    fn forget_before(&mut self, time: Instant) {
        while self.marks.len() > 1 && self.marks.front().is_some_and(|(at, _)| *at < time) {
            self.marks.pop_front();
        }
        if self.marks.len() < MAX_PLACES / 4 {
            self.spacing = 0;
        }
    }
}

/// What began a loss event.
#[derive(Clone, Copy, Debug)]
struct LossEvent {
    sent_at: Instant,
    /// Octets sent before it.
    place: u64,
}

/// Octets acknowledged up to a feedback.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: Instant,
    acked: u64,
}

/// TFRC as a window controller.
#[derive(Clone, Debug)]
pub struct EquationWindow {
    config: WindowConfig,
    sender: Sender,
    equation: Equation,
    intervals: LossIntervals,
    places: Places,
    /// The greatest place that was acknowledged.
    newest_acked: u64,
    event: Option<LossEvent>,
    acked: u64,
    /// The last feedback, and the one before.
    marks: [Option<Mark>; 2],
    greatest_receive_rate: f64,
    smoothed_rtt: Duration,
    /// Something was lost before anything was acknowledged.
    lost_early: bool,
}

impl EquationWindow {
    /// A controller at its initial window, with RFC 5348's rules.
    pub fn new(config: &WindowConfig) -> Self {
        let profile = Profile {
            // R is smoothed already.
            rtt_filter: 0.0,
            segment_size: SegmentSizeRule::MaximumSegmentSize,
            oscillation: Oscillation::Off,
            ..Profile::rfc5348()
        };
        Self {
            config: *config,
            equation: Equation::new(&profile),
            intervals: LossIntervals::new(&profile),
            sender: Sender::new(profile, segment_size(config)),
            places: Places::default(),
            newest_acked: 0,
            event: None,
            acked: 0,
            marks: [None; 2],
            greatest_receive_rate: 0.0,
            smoothed_rtt: Duration::ZERO,
            lost_early: false,
        }
    }

    fn segment(&self) -> f64 {
        f64::from(segment_size(&self.config))
    }

    /// R; the transport's until TFRC has its own.
    fn rtt(&self) -> Duration {
        self.sender.smoothed_rtt().unwrap_or(self.smoothed_rtt)
    }

    /// The nofeedback timer has expired, perhaps several times.
    fn catch_up(&mut self, now: Instant) {
        let events = &mut Events::default();
        for _ in 0..MAX_EXPIRIES {
            match self.sender.poll_timeout() {
                Some(at) if at <= now => self.sender.handle_timeout(at, events),
                _ => return,
            }
        }
        self.sender.handle_timeout(now, events);
    }

    /// X_recv now, octets per second.
    fn receive_rate(&self, now: Instant) -> f64 {
        let rtt = self.rtt();
        let long_ago = |mark: &&Mark| now.since(mark.at) >= rtt && now > mark.at;
        let marks = self.marks.iter().flatten();
        let Some(since) = marks.clone().find(long_ago).or(marks.last()) else {
            return 0.0;
        };
        let span = now.since(since.at).max(rtt).as_secs_f64();
        if span > 0.0 {
            (self.acked - since.acked) as f64 / span
        } else {
            0.0
        }
    }

    /// What a receiver would report.
    fn feed_back(&mut self, now: Instant, rtt: Duration) {
        let open = self
            .newest_acked
            .saturating_sub(self.event.map_or(0, |event| event.place));
        let open = open as f64 / self.segment();
        self.intervals.on_growth(open);
        let receive_rate = self.receive_rate(now);
        self.greatest_receive_rate = self.greatest_receive_rate.max(receive_rate);
        let feedback = Feedback {
            sent_at: now - rtt,
            elapsed_time: Duration::ZERO,
            // `as` saturates: 34 Gbit/s.
            receive_rate: receive_rate as u32,
            loss_event_rate: self.intervals.loss_event_rate(),
        };
        self.sender
            .on_feedback(now, &feedback, &mut Events::default());
        let mark = Mark {
            at: now,
            acked: self.acked,
        };
        self.marks = [Some(mark), self.marks[0]];
    }

    /// A new loss event.
    fn begin_event(&mut self, now: Instant, new: LossEvent) {
        let segment = self.segment();
        let packets = |octets: u64| octets as f64 / segment;
        let open = packets(self.newest_acked.saturating_sub(new.place));
        let unreported = ReportedInterval::default();
        if let Some(last) = self.event {
            let closed = packets(new.place.saturating_sub(last.place));
            self.intervals.on_loss(unreported, closed, open);
        } else {
            // RFC 5348 §6.3.1: the interval at which the equation gives what was received.
            let rtt = self.rtt();
            let half_a_packet = 0.5 * segment / rtt.as_secs_f64().max(1e-9);
            let measured = self.receive_rate(now);
            let rate = measured.max(self.greatest_receive_rate).max(half_a_packet);
            let synthetic = self.equation.interval_for(segment, rtt, rate);
            self.intervals.on_first_loss(unreported, synthetic, open);
        }
        self.event = Some(new);
    }
}

/// MSS as TFRC counts it.
fn segment_size(config: &WindowConfig) -> u32 {
    config.max_datagram_size.clamp(1, u64::from(u32::MAX)) as u32
}

impl WindowController for EquationWindow {
    fn on_sent(&mut self, sent: &Sent) {
        self.catch_up(sent.now);
        self.places.on_sent(sent.now, sent.bytes);
        let octets = sent.bytes.min(u64::from(u32::MAX)) as u32;
        self.sender.on_sent(sent.now, octets);
    }

    fn on_ack(&mut self, acked: &Acked) {
        let now = acked.now;
        self.catch_up(now);
        self.acked += acked.bytes;
        self.newest_acked = self
            .newest_acked
            .max(self.places.of(acked.sent_at) + acked.bytes);
        // A transport may have a guess before its first sample.
        let sample = now.since(acked.sent_at);
        self.smoothed_rtt = match acked.rtt.smoothed {
            smoothed if smoothed.is_zero() || self.marks[0].is_none() => sample,
            smoothed => smoothed,
        };
        let rtt = self.smoothed_rtt;
        self.places.forget_before(acked.sent_at - rtt * 2);
        if self.marks[0].is_none_or(|last| now.since(last.at) >= rtt) {
            self.feed_back(now, rtt);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let now = congestion.now;
        self.catch_up(now);
        if self.marks[0].is_none() {
            self.lost_early = true;
            return;
        }
        let rtt = self.rtt();
        let sent_at = congestion.sent_at;
        // RFC 5348 §5.2.
        if self.event.is_some_and(|last| sent_at <= last.sent_at + rtt) {
            return;
        }
        let place = self.places.of(sent_at);
        self.begin_event(now, LossEvent { sent_at, place });
        // RFC 5348 §6.2: a new loss event is reported at once.
        self.feed_back(now, rtt);
    }

    fn on_persistent_congestion(&mut self, now: Instant) {
        // The nofeedback timer has halved X in the meantime.
        self.catch_up(now);
    }

    fn window(&self) -> u64 {
        let minimum = self.config.minimum_window();
        match self.sender.smoothed_rtt() {
            Some(rtt) => {
                // Transports send whole packets: rounded down, two of them would never become
                // more, because X is at most twice what arrives. The octet more is for those
                // that do not fill a window to its brim.
                let window = self.sender.allowed_rate().as_bytes_per_sec() * rtt.as_secs_f64();
                let packets = (window / self.segment() + 0.5) as u64;
                let whole = packets.saturating_mul(self.config.max_datagram_size);
                whole.max(minimum).saturating_add(1)
            }
            None if self.lost_early => minimum,
            None => self.config.initial_window(),
        }
    }

    fn ssthresh(&self) -> Option<u64> {
        None
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.sender
            .smoothed_rtt()
            .map(|_| self.sender.allowed_rate())
    }

    fn state(&self) -> &'static str {
        if self.event.is_some() {
            "congestion_avoidance"
        } else {
            "slow_start"
        }
    }

    fn limit(&self) -> Limit {
        match self.sender.smoothed_rtt() {
            Some(_) => self.sender.limit(),
            None => Limit::InitialWindow,
        }
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.config.max_datagram_size = octets.max(1);
        self.sender
            .set_maximum_segment_size(segment_size(&self.config));
    }

    fn clone_box(&self) -> BoxedController {
        Box::new(self.clone())
    }
}

#[cfg(test)]
#[path = "equation_tests.rs"]
mod tests;
