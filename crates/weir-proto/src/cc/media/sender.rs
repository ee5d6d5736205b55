//! A controller of media with what a transport does around it: pacing, frames and the time without
//! a report.

use super::control::{BoxedMediaController, Report, feedback_deadline};
use super::{Controller, Setup};
use crate::cc::Pacer;
use crate::event::RateState;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The controlled sender of one flow of media. Its transport keeps the packets that wait and says
/// how many octets they have (`buffered`).
#[derive(Debug)]
pub struct MediaSender {
    control: BoxedMediaController,
    pacer: Pacer,
    /// The frame that is being written: when, and its octets so far.
    frame: Option<(Instant, u64)>,
    /// The time since when packets have been in flight without a report.
    waits_since: Option<Instant>,
    /// When the last packet was sent.
    last_sent: Option<Instant>,
}

impl MediaSender {
    /// A sender before its first packet; `None` without a controller.
    pub fn new(controller: Controller, setup: &Setup<'_>) -> Option<Self> {
        controller.make(setup).map(Self::of)
    }

    /// A sender with this controller, before its first packet.
    pub fn of(control: BoxedMediaController) -> Self {
        Self {
            control,
            pacer: Pacer::default(),
            frame: None,
            waits_since: None,
            last_sent: None,
        }
    }

    /// A packet was written, while the first that waits has waited since `first`; the packets that
    /// are written at one instant are a frame.
    pub fn on_written(&mut self, now: Instant, bytes: u64, first: Option<Instant>) {
        match &mut self.frame {
            Some((written, octets)) if *written == now => *octets += bytes,
            frame => {
                if let Some((_, octets)) = frame.replace((now, bytes)) {
                    let waited = now.since(first.unwrap_or(now));
                    self.control.on_frame(now, octets, waited);
                }
            }
        }
    }

    /// When a packet with this payload may leave; `None` if the window is full.
    pub fn release(&self, bytes: u32, buffered: u64) -> Option<Instant> {
        let octets = u64::from(bytes);
        let rate = self.control.send_rate(buffered);
        (!self.is_window_full(bytes)).then(|| self.pacer.release(octets, rate, octets))
    }

    /// True if a packet with this payload does not fit into the window.
    pub fn is_window_full(&self, bytes: u32) -> bool {
        !self.control.may_send(bytes)
    }

    /// A packet leaves: its number, and the octets of its payload, which `buffered` includes.
    pub fn on_sent(&mut self, now: Instant, sequence: u64, bytes: u32, buffered: u64) {
        let rate = self.control.send_rate(buffered);
        self.pacer.on_sent(now, u64::from(bytes), rate);
        self.control.on_sent(now, sequence, bytes);
        self.waits_since.get_or_insert(now);
        self.last_sent = Some(now);
    }

    /// A report has arrived; some packets still wait for theirs if `in_flight`.
    pub fn on_report(&mut self, report: &Report<'_>, in_flight: bool) {
        self.waits_since = in_flight.then_some(report.now);
        self.control.on_report(report);
    }

    /// When the rate is halved without feedback.
    pub fn deadline(&self) -> Option<Instant> {
        Some(feedback_deadline(&*self.control, self.waits_since?))
    }

    /// No report came up to the [`deadline`](Self::deadline).
    pub fn on_deadline(&mut self, now: Instant) {
        // No report covers lost packets while nothing is sent after them: they halve the rate once,
        // and packets that are sent later once more.
        let has_sent_since = self.last_sent > self.waits_since;
        self.waits_since = has_sent_since.then_some(now);
        self.control.on_feedback_timeout();
    }

    /// The target rate of the encoder.
    pub fn target_rate(&self, buffered: u64) -> Rate {
        self.control.target_rate(buffered)
    }

    /// The values for traces.
    pub fn state(&self, buffered: u64, packet_bytes: u32) -> RateState {
        self.control.state(buffered, packet_bytes)
    }

    /// Loss events so far (RFC 5348 §5.2), and the smoothed round-trip time.
    pub fn measured(&self) -> (u64, Duration) {
        (self.control.loss_events(), self.control.smoothed_rtt())
    }

    /// Stops counting loss events of packets that were sent before `at`.
    pub fn count_loss_events_from(&mut self, at: Instant) {
        self.control.count_loss_events_from(at);
    }
}
