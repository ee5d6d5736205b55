//! NADA, Network-Assisted Dynamic Adaptation (RFC 8698): a rate for media from queueing delay, loss
//! and marks, expressed as one equivalent delay, the congestion signal
//!
//!   x_curr = d_tilde + DMARK·(p_mark/PMRREF)² + DLOSS·(p_loss/PLRREF)²                        (2)
//!
//! Without losses and queueing delay the rate ramps up from the received rate; otherwise it follows
//! the signal and its change. All rates are those of the payload, because RMIN and RMAX are the
//! encoder's.

mod config;
mod observations;
#[cfg(test)]
mod tests;

pub use config::NadaConfig;

use crate::cc::media::control::{MediaController, PacketReport, Report};
use crate::cc::rtt::RttEstimator;
use crate::event::{Limit, MediaState, RateState};
use crate::time::{Duration, Instant};
use crate::units::Rate;
use observations::{Measured, Observations};

/// The most by which the rate-shaping buffer shifts a rate (RFC 8698 §5.2.2).
const BUFFER_SHIFT: f64 = 0.05;

/// The mode of the rate update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    BeforeFeedback,
    /// rmode = 0.
    AcceleratedRampUp,
    /// rmode = 1.
    GradualUpdate,
}

impl Mode {
    const fn name(self) -> &'static str {
        match self {
            Self::BeforeFeedback => "no_feedback_yet",
            Self::AcceleratedRampUp => "accelerated_ramp_up",
            Self::GradualUpdate => "gradual_update",
        }
    }
}

/// The controller of one flow, at the sender.
#[derive(Clone, Debug)]
pub struct Nada {
    config: NadaConfig,
    /// DELTA: the target interval of feedback.
    feedback_interval: Duration,
    observations: Observations,
    measured: Measured,
    rtt: RttEstimator,
    /// r_ref in bit/s.
    reference_rate: f64,
    /// x_prev in seconds, which is x_curr between reports.
    signal: f64,
    last_report: Option<Instant>,
    mode: Mode,
    limit: Limit,
}

impl Nada {
    /// A controller before its first packet; the receiver reports every `feedback_interval`.
    pub fn new(config: NadaConfig, feedback_interval: Duration) -> Self {
        Self {
            reference_rate: config.min_rate as f64,
            config,
            feedback_interval,
            observations: Observations::new(),
            measured: Measured::default(),
            rtt: RttEstimator::default(),
            signal: 0.0,
            last_report: None,
            mode: Mode::BeforeFeedback,
            limit: Limit::MinimumMediaRate,
        }
    }

    /// delta: the time since the last report (§4.3). After a pause of the sender that empties the
    /// observation window, the time since the first packet after the pause: (7) would otherwise
    /// apply the signal of this report to the whole pause, in which no report was due.
    fn measured_interval(&self, now: Instant, packets: &[PacketReport]) -> Duration {
        // Before the first report, DELTA is the best estimate.
        let Some(last) = self.last_report else {
            return self.feedback_interval;
        };
        let sent = packets.iter().map(|packet| packet.sent);
        let resumed = sent.filter(|sent| *sent > last).min();
        let resumed = resumed.filter(|sent| *sent > last + self.config.observation_window);
        now.since(resumed.unwrap_or(last))
    }

    /// x_curr in seconds, (1) and (2).
    fn congestion_signal(&self) -> f64 {
        let config = &self.config;
        let queue = self.measured.queue_delay.as_secs_f64();
        let warped = self.observations.warped_share(config.multiloss);
        let delay = warped * self.warp(queue) + (1.0 - warped) * queue;
        let penalty = |ratio: f64, reference: f64, penalty: Duration| {
            let relative = if reference > 0.0 {
                ratio / reference
            } else {
                0.0
            };
            penalty.as_secs_f64() * relative * relative
        };
        let marks = penalty(
            self.measured.marking_ratio,
            config.reference_marking,
            config.marking_penalty,
        );
        let losses = penalty(
            self.measured.loss_ratio,
            config.reference_loss,
            config.loss_penalty,
        );
        (delay + marks + losses).min(config.max_signal.as_secs_f64())
    }

    /// d_tilde in seconds (1).
    fn warp(&self, queue: f64) -> f64 {
        let threshold = self.config.warping_threshold.as_secs_f64();
        if queue < threshold || threshold <= 0.0 {
            return queue;
        }
        threshold * libm::exp(-self.config.lambda * (queue - threshold) / threshold)
    }

    /// (3) and (4).
    fn ramp_up(&mut self) {
        let config = &self.config;
        let delay = self.rtt.get().smoothed + self.feedback_interval + config.filter_delay;
        let delay = delay.as_secs_f64();
        let gamma = if delay > 0.0 {
            config
                .gamma_max
                .min(config.ramp_up_queue.as_secs_f64() / delay)
        } else {
            config.gamma_max
        };
        let received = self.measured.receive_bytes_per_sec * 8.0;
        self.reference_rate = self.reference_rate.max((1.0 + gamma) * received);
    }

    /// (5) to (7), with the present `signal`, `delta` after the last report.
    fn update_gradually(&mut self, signal: f64, delta: Duration) {
        let config = &self.config;
        let rate = self.reference_rate.max(1.0);
        let tau = config.tau.as_secs_f64().max(1e-6);
        let wanted = config.priority * config.reference_signal.as_secs_f64();
        let offset = signal - wanted * config.max_rate as f64 / rate;
        let difference = signal - self.signal;
        let change = delta.as_secs_f64() / tau * offset / tau + config.eta * difference / tau;
        self.reference_rate = rate - config.kappa * change * rate;
    }

    /// (8) and (9).
    fn clip(&mut self) {
        let (least, most) = (self.config.min_rate as f64, self.config.max_rate as f64);
        if self.reference_rate >= most {
            self.reference_rate = most;
            self.limit = Limit::MaximumMediaRate;
        }
        if self.reference_rate <= least {
            self.reference_rate = least;
            self.limit = Limit::MinimumMediaRate;
        }
    }

    /// The shift of a rate by the rate-shaping buffer, (11) and (12), in bit/s.
    fn buffer_shift(&self, beta: f64, buffered: u64) -> f64 {
        let to_drain = beta * 8.0 * buffered as f64 * self.config.reference_frame_rate;
        to_drain.min(BUFFER_SHIFT * self.reference_rate)
    }
}

impl MediaController for Nada {
    // §4.3.
    fn on_report(&mut self, report: &Report<'_>) {
        let now = report.now;
        if let Some(sample) = report.rtt {
            self.rtt.on_sample(now, sample);
        }
        let rtt = self.rtt.get().smoothed;
        self.measured =
            self.observations
                .on_report(&self.config, report.packets, report.made_at, rtt);
        let signal = self.congestion_signal();
        let delta = self.measured_interval(now, report.packets);
        if self.measured.is_congested {
            self.mode = Mode::GradualUpdate;
            self.limit = Limit::GradualUpdate;
            self.update_gradually(signal, delta);
        } else {
            self.mode = Mode::AcceleratedRampUp;
            self.limit = Limit::AcceleratedRampUp;
            self.ramp_up();
        }
        self.clip();
        self.signal = signal;
        self.last_report = Some(now);
    }

    fn on_feedback_timeout(&mut self) {
        self.reference_rate /= 2.0;
        self.limit = Limit::NofeedbackHalving;
        self.clip();
    }

    // r_vin (13).
    fn target_rate(&self, buffered: u64) -> Rate {
        let rate = self.reference_rate - self.buffer_shift(self.config.beta_v, buffered);
        Rate::from_bps(rate.max(self.config.min_rate as f64))
    }

    // r_send (14).
    fn send_rate(&self, buffered: u64) -> Rate {
        let rate = self.reference_rate + self.buffer_shift(self.config.beta_s, buffered);
        Rate::from_bps(rate.min(self.config.max_rate as f64))
    }

    fn feedback_timeout(&self) -> Duration {
        self.config.feedback_timeout
    }

    fn loss_events(&self) -> u64 {
        self.observations.loss_events()
    }

    fn count_loss_events_from(&mut self, at: Instant) {
        self.observations.count_loss_events_from(at);
    }

    fn smoothed_rtt(&self) -> Duration {
        self.rtt.get().smoothed
    }

    fn state(&self, buffered: u64, packet_bytes: u32) -> RateState {
        let rtt = self.rtt.get();
        let send_rate = self.send_rate(buffered);
        RateState {
            allowed_rate: Rate::from_bps(self.reference_rate),
            equation_rate: None,
            receive_rate: Rate::from_bytes_per_sec(self.measured.receive_bytes_per_sec),
            loss_event_rate: self.measured.loss_ratio,
            rtt: rtt.latest,
            smoothed_rtt: rtt.smoothed,
            inter_packet_interval: send_rate.time_for(u64::from(packet_bytes)),
            segment_size: packet_bytes,
            state: self.mode.name(),
            limit: self.limit,
            media: Some(MediaState {
                target_rate: self.target_rate(buffered),
                send_rate,
                queue_delay: self.measured.queue_delay,
                congestion_signal: Duration::from_secs_f64(self.signal),
                marking_ratio: self.measured.marking_ratio,
                buffered_bytes: buffered,
            }),
        }
    }

    fn on_sent(&mut self, _now: Instant, _sequence: u64, _bytes: u32) {}

    fn on_frame(&mut self, _now: Instant, _bytes: u64, _waited: Duration) {}

    fn may_send(&self, _bytes: u32) -> bool {
        true
    }
}
