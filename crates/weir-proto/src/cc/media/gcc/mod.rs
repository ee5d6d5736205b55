//! GCC, Google Congestion Control (draft-ietf-rmcat-gcc-02): a rate for media that is the lesser of
//! an estimate from the growth of the queueing delay and one from losses,
//!
//!   A = min(A_hat, As_hat)
//!
//! Groups of packets ([`groups`]) give variations of the delay, a regression over them the trend
//! and an over-use detector its signal ([`trendline`]), which drives additive and multiplicative
//! increase and decrease ([`aimd`]). Losses have their own estimate ([`losses`]).
//!
//! The filter of the draft is a Kalman filter, that of libwebrtc since 2016 the regression that is
//! here. Does not model: probes with clusters of packets, by which libwebrtc grows faster, the
//! detector of application-limited regions, `LossBasedBweV2`, the Bayesian estimate of the received
//! rate; marks, which GCC does not read.

mod aimd;
mod config;
mod groups;
mod losses;
#[cfg(test)]
mod tests;
mod trendline;

pub use config::GccConfig;

use super::control::{MediaController, PacketOutcome, PacketReport, Report};
use super::loss_events::LossEvents;
use crate::cc::rtt::RttEstimator;
use crate::event::{Limit, MediaState, RateState};
use crate::time::{Duration, Instant};
use crate::units::Rate;
use aimd::{Aimd, Input};
use groups::Groups;
use losses::LossBased;
use std::collections::VecDeque;
use trendline::Trendline;

/// Without a report for so long the filters begin again (libwebrtc's `kStreamTimeOut`).
const STREAM_TIMEOUT: Duration = Duration::from_secs(2);
/// As_hat follows A_hat for so long if nothing is lost (libwebrtc's `kStartPhase`).
const START_PHASE: Duration = Duration::from_secs(2);

/// The controller of one flow, at the sender.
#[derive(Clone, Debug)]
pub struct Gcc {
    config: GccConfig,
    groups: Groups,
    trendline: Trendline,
    aimd: Aimd,
    losses: LossBased,
    rtt: RttEstimator,
    /// Arrivals by the receiver's clock, and octets, of the last `rate_window`.
    arrivals: VecDeque<(Duration, u32)>,
    /// R_hat in bit/s.
    received: Option<f64>,
    /// The least of the delays in the trend, in milliseconds.
    least_delay_ms: f64,
    first_report: Option<Instant>,
    last_report: Option<Instant>,
    loss_events: LossEvents,
    limit: Limit,
}

impl Gcc {
    /// A controller before its first packet.
    pub fn new(config: GccConfig) -> Self {
        let mut gcc = Self {
            groups: Groups::default(),
            trendline: Trendline::new(&config),
            aimd: Aimd::new(&config),
            losses: LossBased::new(&config),
            rtt: RttEstimator::default(),
            arrivals: VecDeque::new(),
            received: None,
            least_delay_ms: 0.0,
            first_report: None,
            last_report: None,
            loss_events: LossEvents::default(),
            limit: Limit::None,
            config,
        };
        gcc.clip();
        gcc
    }

    /// The least and the greatest rate of the encoder in bit/s.
    fn bounds(&self) -> [f64; 2] {
        [self.config.min_rate as f64, self.config.max_rate as f64]
    }

    /// Keeps both estimates in the range of the encoder, and As_hat at most at A_hat, as libwebrtc
    /// does: it would otherwise grow without a bound while nothing is lost.
    fn clip(&mut self) {
        let [least, most] = self.bounds();
        self.aimd.clip([least, most]);
        self.losses.clip([least, self.aimd.rate()]);
    }

    /// A in bit/s.
    const fn rate(&self) -> f64 {
        self.losses.rate()
    }

    fn on_delays(&mut self, packets: &[PacketReport]) {
        for packet in packets {
            let PacketOutcome::Received { at: Some(at), .. } = packet.outcome else {
                continue;
            };
            let Some(variation) = self.groups.on_packet(&self.config, packet.sent, at) else {
                continue;
            };
            self.trendline.on_group(&self.config, &variation);
            self.least_delay_ms = self.least_delay_ms.min(self.trendline.delay_ms());
        }
    }

    /// R_hat(i) = 1/T · Σ L(j) over the packets of the last T seconds (§5.5).
    fn measure(&mut self, report: &Report<'_>) {
        for packet in report.packets {
            if let PacketOutcome::Received { at, .. } = packet.outcome {
                let at = at.unwrap_or(report.made_at);
                self.arrivals.push_back((at, packet.bytes));
            }
        }
        let window = self.config.rate_window;
        let oldest = report.made_at.saturating_sub(window);
        self.arrivals.retain(|(at, _)| *at > oldest);
        let octets: u64 = self
            .arrivals
            .iter()
            .map(|(_, octets)| u64::from(*octets))
            .sum();
        let seconds = window.as_secs_f64();
        self.received = (octets > 0 && seconds > 0.0).then(|| octets as f64 * 8.0 / seconds);
    }

    /// The rule that binds the rate, where `delay` is the one that set A_hat.
    fn binding(&self, delay: Limit) -> Limit {
        let [least, most] = self.bounds();
        let rate = self.rate();
        if rate < self.aimd.rate() {
            return Limit::LossReduction;
        }
        let has_grown = matches!(
            delay,
            Limit::MultiplicativeIncrease | Limit::AdditiveIncrease | Limit::ReceivedMedia
        );
        if rate >= most && has_grown {
            return Limit::MaximumMediaRate;
        }
        if rate <= least && !has_grown {
            return Limit::MinimumMediaRate;
        }
        delay
    }
}

impl MediaController for Gcc {
    fn on_sent(&mut self, _now: Instant, _sequence: u64, _bytes: u32) {}

    fn on_frame(&mut self, _now: Instant, _bytes: u64, _waited: Duration) {}

    fn on_report(&mut self, report: &Report<'_>) {
        let now = report.now;
        if let Some(sample) = report.rtt {
            self.rtt.on_sample(now, sample);
        }
        let silence = self.last_report.replace(now).map(|last| now.since(last));
        if silence.is_some_and(|silence| silence > STREAM_TIMEOUT) {
            self.groups = Groups::default();
            self.trendline = Trendline::new(&self.config);
            self.least_delay_ms = 0.0;
        }
        let rtt = self.rtt.get().smoothed;
        self.loss_events.on_report(report.packets, rtt);
        self.on_delays(report.packets);
        self.measure(report);
        let delay = self.aimd.on_report(
            &self.config,
            &Input {
                now,
                usage: self.trendline.usage(),
                received: self.received,
                rtt,
            },
        );
        let lost = report.packets.iter();
        let lost = lost.filter(|packet| packet.outcome == PacketOutcome::Lost);
        let counted = [lost.count(), report.packets.len()].map(|count| count as u64);
        self.losses.on_report(&self.config, now, counted, rtt);
        let first = *self.first_report.get_or_insert(now);
        if now.since(first) < START_PHASE && self.loss_events.has_none() {
            self.losses.raise(self.aimd.rate());
        }
        self.clip();
        self.limit = self.binding(delay);
    }

    fn on_feedback_timeout(&mut self) {
        self.aimd.halve();
        self.losses.halve();
        self.clip();
        self.limit = if self.rate() <= self.bounds()[0] {
            Limit::MinimumMediaRate
        } else {
            Limit::NofeedbackHalving
        };
    }

    fn feedback_timeout(&self) -> Duration {
        self.config.feedback_timeout
    }

    fn may_send(&self, _bytes: u32) -> bool {
        true
    }

    fn target_rate(&self, _buffered: u64) -> Rate {
        Rate::from_bps(self.rate())
    }

    // §4, with libwebrtc's factor.
    fn send_rate(&self, _buffered: u64) -> Rate {
        Rate::from_bps(self.rate() * self.config.pacing)
    }

    fn loss_events(&self) -> u64 {
        self.loss_events.count()
    }

    fn count_loss_events_from(&mut self, at: Instant) {
        self.loss_events.count_from(at);
    }

    fn smoothed_rtt(&self) -> Duration {
        self.rtt.get().smoothed
    }

    fn state(&self, buffered: u64, packet_bytes: u32) -> RateState {
        let rtt = self.rtt.get();
        let send_rate = self.send_rate(buffered);
        let millis = |millis: f64| Duration::from_secs_f64(millis.max(0.0) / 1000.0);
        let is_waiting = self.last_report.is_none();
        RateState {
            allowed_rate: Rate::from_bps(self.rate()),
            equation_rate: None,
            receive_rate: Rate::from_bps(self.received.unwrap_or(0.0)),
            loss_event_rate: self.losses.ratio(),
            rtt: rtt.latest,
            smoothed_rtt: rtt.smoothed,
            inter_packet_interval: send_rate.time_for(u64::from(packet_bytes)),
            segment_size: packet_bytes,
            state: if is_waiting {
                "no_feedback_yet"
            } else {
                self.aimd.state().name()
            },
            limit: self.limit,
            media: Some(MediaState {
                target_rate: self.target_rate(buffered),
                send_rate,
                queue_delay: millis(self.trendline.delay_ms() - self.least_delay_ms),
                congestion_signal: millis(self.trendline.signal()),
                marking_ratio: 0.0,
                buffered_bytes: buffered,
            }),
        }
    }
}
