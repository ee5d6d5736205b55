//! TFRC as a window controller: W = X·R, for transports that need a window.
//!
//! The sender is TFRC's own ([`tfrc::Sender`](Sender)) with all its rules. This controller computes
//! the receiver's feedback itself from acknowledgements, as RFC 5348 §7 allows: once a round-trip
//! time and at each loss event.
//! - X_recv is the octets acknowledged since the last feedback, over at least a round-trip time.
//! - A loss event is a loss or mark of a packet sent more than R after the packet that began the
//!   last event. Loss intervals are counted in octets sent, in units of the largest datagram.
//! - R is the transport's smoothed round-trip time.
//!
//! Departures: before the first acknowledgement the window is the transport's initial one, and two
//! datagrams after a loss; it is never below two datagrams, where TFRC goes down to one packet in
//! 64 seconds; the nofeedback timer is checked only when the controller is called, so it may
//! expire late; of the losses detected at one time only the latest begins an event.
//!
//! Packets leave as soon as the window allows, or paced by the rule `pacing`. Does not model:
//! oscillation reduction, which changes the time between packets and not X.

use super::pacing::Pace;
use super::{BoxedController, ControllerEntry, WindowBasis, WindowConfig};
use crate::cc::tfrc::{
    Equation, Feedback, LossIntervals, Oscillation, Profile, ReportedInterval, SegmentSizeRule,
    Sender,
};
use crate::cc::{
    Acked, CongestionEvent, ConnectionEvent, EndAcks, Lost, Needs, PacingRate, Report,
    RetransmissionTimeout, Sent, WindowController,
};
use crate::event::{Events, Limit};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// The registry's entry.
pub(super) const ENTRY: ControllerEntry = ControllerEntry {
    name: "tfrc",
    doc: "TFRC's rate as a window (RFC 5348)",
    rules: &[&["pacing"]],
    make: |config| Box::new(TfrcWindow::new(config)),
};

/// Entries of the send history. A full history drops every other entry and then keeps the
/// distance between entries.
const MAX_ENTRIES: usize = 4096;
/// Expiries of the nofeedback timer that are processed one by one after a silence.
const MAX_EXPIRIES: usize = 64;

/// The octets that had been sent at each time.
#[derive(Clone, Debug, Default)]
struct SendHistory {
    /// Times of sending, and the octets sent before them.
    entries: VecDeque<(Instant, u64)>,
    /// Octets sent so far.
    sent: u64,
    /// The minimum distance between two entries in octets.
    spacing: u64,
}

impl SendHistory {
    fn on_sent(&mut self, now: Instant, octets: u64) {
        if self.entries.len() >= MAX_ENTRIES {
            let mut number = 0_usize;
            self.entries.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            let first = self.entries.front().map_or(self.sent, |entry| entry.1);
            self.spacing = (self.sent - first) / (MAX_ENTRIES / 2) as u64;
        }
        let last = self.entries.back();
        if last.is_none_or(|(_, offset)| self.sent - offset >= self.spacing) {
            self.entries.push_back((now, self.sent));
        }
        self.sent += octets;
    }

    /// The octets sent before the packet that was sent at this time.
    fn offset_of(&self, sent_at: Instant) -> u64 {
        let after = self.entries.partition_point(|(at, _)| *at <= sent_at);
        let entry = self.entries.get(after.saturating_sub(1));
        entry.map_or(self.sent, |(_, offset)| *offset)
    }

    fn forget_before(&mut self, time: Instant) {
        while self.entries.len() > 1 && self.entries.front().is_some_and(|(at, _)| *at < time) {
            self.entries.pop_front();
        }
        if self.entries.len() < MAX_ENTRIES / 4 {
            self.spacing = 0;
        }
    }
}

/// The first loss of a loss event.
#[derive(Clone, Copy, Debug)]
struct LossEvent {
    sent_at: Instant,
    /// Octets sent before the lost packet.
    offset: u64,
}

/// The octets acknowledged up to a feedback.
#[derive(Clone, Copy, Debug, Default)]
struct AckSample {
    at: Instant,
    acked: u64,
}

/// TFRC as a window controller.
#[derive(Clone, Debug)]
pub struct TfrcWindow {
    config: WindowBasis,
    sender: Sender,
    equation: Equation,
    intervals: LossIntervals,
    history: SendHistory,
    /// The highest offset that was acknowledged.
    highest_acked: u64,
    event: Option<LossEvent>,
    /// Octets acknowledged so far.
    acked: u64,
    /// The samples of the last two feedbacks, the newest first.
    samples: [Option<AckSample>; 2],
    greatest_receive_rate: f64,
    /// Loss events in feedback so far.
    reported_events: u64,
    smoothed_rtt: Duration,
    /// A packet was lost before any was acknowledged.
    lost_before_ack: bool,
}

impl TfrcWindow {
    /// A controller at its initial window, with RFC 5348's rules.
    pub fn new(config: &WindowConfig) -> Self {
        let profile = Profile {
            // The transport has smoothed R already.
            rtt_filter: 0.0,
            segment_size: SegmentSizeRule::MaximumSegmentSize,
            oscillation: Oscillation::Off,
            ..Profile::rfc5348()
        };
        Self {
            config: config.basis(),
            equation: Equation::new(&profile),
            intervals: LossIntervals::new(&profile),
            sender: Sender::new(profile, segment_size(&config.basis())),
            history: SendHistory::default(),
            highest_acked: 0,
            event: None,
            acked: 0,
            samples: [None; 2],
            greatest_receive_rate: 0.0,
            reported_events: 0,
            smoothed_rtt: Duration::ZERO,
            lost_before_ack: false,
        }
    }

    fn segment(&self) -> f64 {
        f64::from(segment_size(&self.config))
    }

    /// R: TFRC's estimate, or the transport's before the first feedback.
    fn rtt(&self) -> Duration {
        self.sender.smoothed_rtt().unwrap_or(self.smoothed_rtt)
    }

    /// The pacing that the rules prescribe.
    fn pace(&self) -> Option<PacingRate> {
        let flow = Pace {
            window: self.window() as f64,
            ssthresh: f64::INFINITY,
            packet: self.segment(),
            rtt: self.sender.smoothed_rtt().unwrap_or_default(),
        };
        let initial_window = self.config.initial_window();
        self.config
            .rules
            .controller
            .pacing
            .pace(&flow, initial_window)
    }

    /// Processes the expiries of the nofeedback timer up to now.
    fn expire_nofeedback_timer(&mut self, now: Instant) {
        let events = &mut Events::default();
        for _ in 0..MAX_EXPIRIES {
            match self.sender.poll_timeout() {
                Some(at) if at <= now => self.sender.handle_timeout(at, events),
                _ => return,
            }
        }
        self.sender.handle_timeout(now, events);
    }

    /// X_recv now, in octets per second.
    fn receive_rate(&self, now: Instant) -> f64 {
        let rtt = self.rtt();
        let long_ago = |sample: &&AckSample| now.since(sample.at) >= rtt && now > sample.at;
        let samples = self.samples.iter().flatten();
        let Some(since) = samples.clone().find(long_ago).or(samples.last()) else {
            return 0.0;
        };
        let span = now.since(since.at).max(rtt).as_secs_f64();
        if span > 0.0 {
            (self.acked - since.acked) as f64 / span
        } else {
            0.0
        }
    }

    /// Gives the sender the feedback that a receiver would report now.
    fn give_feedback(&mut self, now: Instant, rtt: Duration) {
        let open = self
            .highest_acked
            .saturating_sub(self.event.map_or(0, |event| event.offset));
        let open = open as f64 / self.segment();
        self.intervals.on_growth(open);
        let events = self.intervals.events();
        let receive_rate = self.receive_rate(now);
        self.greatest_receive_rate = self.greatest_receive_rate.max(receive_rate);
        let feedback = Feedback {
            sent_at: now - rtt,
            elapsed_time: Duration::ZERO,
            // `as` saturates at 2^32 - 1 octets per second, 34 Gbit/s.
            receive_rate: receive_rate as u32,
            loss_event_rate: self.intervals.loss_event_rate(),
            new_loss_event: events > self.reported_events,
        };
        self.reported_events = events;
        self.sender
            .on_feedback(now, &feedback, &mut Events::default());
        let sample = AckSample {
            at: now,
            acked: self.acked,
        };
        self.samples = [Some(sample), self.samples[0]];
    }

    /// Closes the open loss interval.
    fn begin_loss_event(&mut self, now: Instant, new: LossEvent) {
        let segment = self.segment();
        let packets = |octets: u64| octets as f64 / segment;
        let open = packets(self.highest_acked.saturating_sub(new.offset));
        let unreported = ReportedInterval::default();
        if let Some(last) = self.event {
            let closed = packets(new.offset.saturating_sub(last.offset));
            self.intervals.on_loss(unreported, closed, open);
        } else {
            // RFC 5348 §6.3.1: the interval for which the equation gives the receive rate.
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

/// s in octets: the largest datagram.
fn segment_size(config: &WindowBasis) -> u32 {
    config.max_datagram_size.clamp(1, u64::from(u32::MAX)) as u32
}

impl WindowController for TfrcWindow {
    fn needs(&self) -> Needs {
        Needs {
            acks_in_recovery: true,
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.expire_nofeedback_timer(sent.now);
        self.history.on_sent(sent.now, sent.bytes);
        let octets = sent.bytes.min(u64::from(u32::MAX)) as u32;
        self.sender.on_sent(sent.now, octets);
    }

    fn on_ack(&mut self, acked: &Acked) {
        let now = acked.now;
        self.expire_nofeedback_timer(now);
        self.acked += acked.bytes;
        self.highest_acked = self
            .highest_acked
            .max(self.history.offset_of(acked.sent_at) + acked.bytes);
        // Before its first sample a transport may report an assumed round-trip time.
        let sample = now.since(acked.sent_at);
        self.smoothed_rtt = match acked.rtt.smoothed {
            smoothed if smoothed.is_zero() || self.samples[0].is_none() => sample,
            smoothed => smoothed,
        };
        let rtt = self.smoothed_rtt;
        self.history.forget_before(acked.sent_at - rtt * 2);
        if self.samples[0].is_none_or(|last| now.since(last.at) >= rtt) {
            self.give_feedback(now, rtt);
        }
    }

    fn on_lost(&mut self, _: &Lost) {}

    fn on_end_acks(&mut self, _: &EndAcks) -> bool {
        false
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent) -> bool {
        let now = event.now;
        self.expire_nofeedback_timer(now);
        if self.samples[0].is_none() {
            return !std::mem::replace(&mut self.lost_before_ack, true);
        }
        let rtt = self.rtt();
        let sent_at = event.sent_at;
        // RFC 5348 §5.2: a loss within R of the first one belongs to the same event.
        if self.event.is_some_and(|last| sent_at <= last.sent_at + rtt) {
            return false;
        }
        let offset = self.history.offset_of(sent_at);
        self.begin_loss_event(now, LossEvent { sent_at, offset });
        // RFC 5348 §6.2: a new loss event is reported at once.
        self.give_feedback(now, rtt);
        true
    }

    fn on_persistent_congestion(&mut self, now: Instant) {
        // Without acknowledgements, only the nofeedback timer reduces X.
        self.expire_nofeedback_timer(now);
    }

    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout) {
        if timeout.repeated {
            return self.expire_nofeedback_timer(timeout.now);
        }
        self.on_congestion_event(&CongestionEvent {
            now: timeout.now,
            sent_at: timeout.sent_at,
            lost_bytes: self.config.max_datagram_size,
            ..CongestionEvent::default()
        });
    }

    /// The rate starts with the first feedback, even if packets of the handshake were lost (RFC
    /// 5348 §4.2); the nofeedback timer reduces the rate of an idle sender (§4.4); and slow start
    /// ends with the first loss event (§4.3).
    fn on_connection_event(&mut self, _: ConnectionEvent) {}

    /// TFRC keeps a loss interval that has started (RFC 5348 §5): it has no rule to undo it.
    fn on_spurious_congestion_event(&mut self, _now: Instant) -> bool {
        false
    }

    fn window(&self) -> u64 {
        let minimum = self.config.minimum_window();
        match self.sender.smoothed_rtt() {
            Some(rtt) => {
                // Transports send whole packets. X is at most twice the receive rate, so a window
                // that is rounded down would stay at two packets. One octet more lets transports
                // with the strict send gate use all of the window.
                let window = self.sender.allowed_rate().as_bytes_per_sec() * rtt.as_secs_f64();
                let packets = (window / self.segment() + 0.5) as u64;
                let whole = packets.saturating_mul(self.config.max_datagram_size);
                whole.max(minimum).saturating_add(1)
            }
            None if self.lost_before_ack => minimum,
            None => self.config.initial_window(),
        }
    }

    fn pacing(&self) -> Option<PacingRate> {
        let allowed = || {
            self.sender.smoothed_rtt().map(|_| PacingRate {
                rate: self.sender.allowed_rate(),
                quantum: None,
            })
        };
        self.pace().or_else(allowed)
    }

    fn take_recovery_probe(&mut self) -> bool {
        false
    }

    fn report(&self) -> Report {
        let state = match self.event {
            Some(_) => "congestion_avoidance",
            None => "slow_start",
        };
        let limit = match self.sender.smoothed_rtt() {
            Some(_) => self.sender.limit(),
            None => Limit::InitialWindow,
        };
        Report::new(state, limit)
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
#[path = "tfrc_tests.rs"]
mod tests;
