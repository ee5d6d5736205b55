//! The delay-based estimate A_hat of the available rate (gcc-02 §5.5): a state machine driven by
//! the over-use detector, with multiplicative and additive increase and a decrease to a part of the
//! received rate.
//!
//! Close to convergence is, as in libwebrtc, what is not more than three standard deviations above
//! the average of the received rates at over-uses; below these too, where §5.5 has multiplicative
//! increase.

use super::config::GccConfig;
use super::trendline::Usage;
use crate::event::Limit;
use crate::time::{Duration, Instant};

/// Frames a second and octets of a packet from which a packet's size is estimated (§5.5).
const FRAME_RATE: f64 = 30.0;
const PACKET_OCTETS: f64 = 1200.0;
/// The response time of detector and estimator beyond a round trip (§5.5).
const DETECTOR_DELAY: Duration = Duration::from_millis(100);
/// The least additive increase with a report, in bit/s (§5.5).
const LEAST_INCREASE: f64 = 1000.0;
/// The weight of a new rate in the average at over-uses: one less the smoothing factor (§5.5).
const AVERAGE_GAIN: f64 = 0.05;
/// The bounds of the variance in kbit/s, in terms of the average (libwebrtc).
const VARIANCE_BOUNDS: [f64; 2] = [0.4, 2.5];
/// Standard deviations that are close (§5.5).
const CLOSE: f64 = 3.0;
/// The bounds of the time between two reductions, which is a round trip between these (libwebrtc).
const REDUCTION_BOUNDS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(200)];

/// The state of the rate control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    Hold,
    #[default]
    Increase,
    Decrease,
}

impl State {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Increase => "increase",
            Self::Decrease => "decrease",
        }
    }

    /// The transitions of §5.5.
    pub(super) const fn after(self, usage: Usage) -> Self {
        match (usage, self) {
            (Usage::Over, _) => Self::Decrease,
            (Usage::Normal, Self::Hold) => Self::Increase,
            (Usage::Normal, Self::Decrease) | (Usage::Under, Self::Increase | Self::Decrease) => {
                Self::Hold
            }
            (_, same) => same,
        }
    }
}

/// What the rate control learns from a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input {
    pub(super) now: Instant,
    pub(super) usage: Usage,
    /// R_hat in bit/s; `None` before the first packet.
    pub(super) received: Option<f64>,
    /// The smoothed round-trip time.
    pub(super) rtt: Duration,
}

/// The rate control.
#[derive(Clone, Debug)]
pub(super) struct Aimd {
    /// A_hat in bit/s.
    rate: f64,
    state: State,
    last_change: Option<Instant>,
    /// The average of the received rates at over-uses, in kbit/s.
    average: Option<f64>,
    /// The variance of these in kbit/s, in terms of the average.
    variance: f64,
}

impl Aimd {
    pub(super) fn new(config: &GccConfig) -> Self {
        Self {
            rate: config.start_rate as f64,
            state: State::Increase,
            last_change: None,
            average: None,
            variance: VARIANCE_BOUNDS[0],
        }
    }

    /// A report has arrived. Returns the rule that set the estimate.
    pub(super) fn on_report(&mut self, config: &GccConfig, input: &Input) -> Limit {
        if input.usage == Usage::Over && !self.may_reduce(input) {
            return Limit::DelayReduction;
        }
        self.state = self.state.after(input.usage);
        match self.state {
            State::Hold => {
                self.last_change = Some(input.now);
                Limit::DelayHold
            }
            State::Increase => self.increase(config, input),
            State::Decrease => {
                self.decrease(config, input);
                Limit::DelayReduction
            }
        }
    }

    /// libwebrtc's `TimeToReduceFurther`: an over-use lasts for several reports.
    fn may_reduce(&self, input: &Input) -> bool {
        let [least, most] = REDUCTION_BOUNDS;
        let interval = input.rtt.max(least).min(most);
        let is_far = input.received.is_some_and(|rate| rate < self.rate / 2.0);
        let since = self.last_change.map(|last| input.now.since(last));
        is_far || self.state != State::Decrease || since.is_none_or(|since| since >= interval)
    }

    fn increase(&mut self, config: &GccConfig, input: &Input) -> Limit {
        let since = self.last_change.replace(input.now);
        let since = input.now.since(since.unwrap_or(input.now)).as_secs_f64();
        if self.deviation(input).is_some_and(|above| above > CLOSE) {
            self.average = None;
        }
        let (grown, limit) = if self.average.is_some() {
            let response = (DETECTOR_DELAY + input.rtt).as_secs_f64();
            let part = config.additive_packets * (since / response).min(1.0);
            let step = (part * self.packet_bits()).max(LEAST_INCREASE);
            (self.rate + step, Limit::AdditiveIncrease)
        } else {
            let growth = libm::pow(config.eta, since.min(1.0));
            (self.rate * growth, Limit::MultiplicativeIncrease)
        };
        // A_hat < 1.5 R_hat: what the sender does not use is not verified.
        let received = input.received.unwrap_or(0.0);
        let most = (config.received_bound * received).max(self.rate);
        self.rate = grown.min(most);
        if grown > most {
            Limit::ReceivedMedia
        } else {
            limit
        }
    }

    fn decrease(&mut self, config: &GccConfig, input: &Input) {
        let received = input.received.unwrap_or(self.rate);
        let mut reduced = config.beta * received;
        if let Some(average) = self.average.filter(|_| reduced > self.rate) {
            // libwebrtc: an over-use does not raise the rate.
            reduced = config.beta * average * 1000.0;
        }
        self.rate = reduced.min(self.rate);
        self.last_change = Some(input.now);
        if self.deviation(input).is_some_and(|above| above < -CLOSE) {
            self.average = None;
        }
        self.learn(received / 1000.0);
    }

    /// The distance of the received rate from the average at over-uses, in standard deviations.
    fn deviation(&self, input: &Input) -> Option<f64> {
        let (average, received) = (self.average?, input.received?);
        let deviation = libm::sqrt(self.variance * average);
        (deviation > 0.0).then(|| (received / 1000.0 - average) / deviation)
    }

    fn learn(&mut self, received: f64) {
        let smooth = |old: f64, new: f64| (1.0 - AVERAGE_GAIN) * old + AVERAGE_GAIN * new;
        let average = self.average.map_or(received, |old| smooth(old, received));
        let error = average - received;
        let [least, most] = VARIANCE_BOUNDS;
        self.variance = smooth(self.variance, error * error / average.max(1.0)).clamp(least, most);
        self.average = Some(average);
    }

    /// expected_packet_size_bits (§5.5).
    fn packet_bits(&self) -> f64 {
        let frame = self.rate / FRAME_RATE;
        frame / libm::ceil(frame / (PACKET_OCTETS * 8.0)).max(1.0)
    }

    pub(super) fn halve(&mut self) {
        self.rate /= 2.0;
    }

    /// Keeps the estimate in the range of the encoder.
    pub(super) fn clip(&mut self, [least, most]: [f64; 2]) {
        self.rate = self.rate.min(most).max(least);
    }

    /// A_hat in bit/s.
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) const fn state(&self) -> State {
        self.state
    }
}

#[cfg(test)]
impl Aimd {
    pub(super) const fn average(&self) -> Option<f64> {
        self.average
    }

    pub(super) const fn variance(&self) -> f64 {
        self.variance
    }
}
