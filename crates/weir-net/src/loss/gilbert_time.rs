//! Gilbert-Elliott losses in time: a chain of two states in continuous time, independent of
//! packets.
//!
//! Stays in the good and in the bad state are exponentially distributed with the means that the
//! configuration gives; a packet is lost with the loss probability of the state at its time. The
//! share of the bad state is mean_bad / (mean_good + mean_bad). The chain of
//! [`gilbert`](super::gilbert) steps with packets instead, so that its bursts last longer the fewer
//! packets are sent.
//!
//! The stays have a separate random stream and are drawn in order of time: the packets sent do not
//! change when bursts begin and end.

use super::{LossModel, LossModelConfig};
use std::ops::RangeInclusive;
use weir_proto::rng::Rng;
use weir_proto::settings::duration;
use weir_proto::time::{Duration, Instant};
use weir_proto::units::Probability;

/// The shortest and the longest mean stay.
const MEANS: RangeInclusive<Duration> =
    Duration::from_micros(1)..=Duration::from_secs(366 * 86_400);

/// After this many mean cycles without a packet the state is independent of the last one, and the
/// stays between are not drawn individually.
const FORGETS_AFTER: u64 = 1_000_000;

weir_proto::settings! {
    /// Losses in bursts that last a time, however many packets pass meanwhile: a chain of a good
    /// and a bad state with exponentially distributed stays.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct GilbertTimeLossConfig {
        /// Mean time in the good state.
        pub mean_good: Duration [required] = Duration::from_secs(1) => duration(MEANS),
        /// Mean time in the bad state: the mean length of a burst.
        pub mean_bad: Duration [required] = Duration::from_millis(10) => duration(MEANS),
        /// Probability of loss in the good state.
        pub loss_in_good: Probability,
        /// Probability of loss in the bad state.
        pub loss_in_bad: Probability = Probability::clamped(1.0),
    }
}

impl GilbertTimeLossConfig {
    /// The share of the time in the bad state in the long run.
    fn share_of_bad(&self) -> f64 {
        let [good, bad] = [self.mean_good, self.mean_bad].map(Duration::as_secs_f64);
        bad / (good + bad)
    }
}

impl LossModelConfig for GilbertTimeLossConfig {
    type Model = GilbertTimeLoss;

    fn build(&self, states: Rng) -> GilbertTimeLoss {
        let mut model = GilbertTimeLoss {
            config: *self,
            states,
            bad: false,
            until: Instant::ZERO,
        };
        model.stay();
        model
    }

    fn is_random(&self) -> bool {
        true
    }

    fn mean_loss(&self) -> Option<f64> {
        let bad = self.share_of_bad();
        Some(self.loss_in_good.get() * (1.0 - bad) + self.loss_in_bad.get() * bad)
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        let mut mean = || Duration::from_micros(1 + rng.below(20_000));
        Self {
            mean_good: mean(),
            mean_bad: mean(),
            loss_in_good: Probability::default(),
            loss_in_bad: Probability::clamped(rng.uniform()),
        }
    }
}

#[derive(Debug)]
pub(super) struct GilbertTimeLoss {
    config: GilbertTimeLossConfig,
    states: Rng,
    bad: bool,
    /// When the current stay ends.
    until: Instant,
}

impl GilbertTimeLoss {
    /// Draws the stay that begins when the previous one ends.
    fn stay(&mut self) {
        let GilbertTimeLossConfig {
            mean_good,
            mean_bad,
            ..
        } = self.config;
        let mean = if self.bad { mean_bad } else { mean_good };
        let drawn = self.states.exponential(mean.as_secs_f64());
        self.until += Duration::from_secs_f64(drawn);
    }

    /// Advances the chain to this time.
    fn advance(&mut self, now: Instant) {
        let cycle = self.config.mean_good + self.config.mean_bad;
        if now.since(self.until) > cycle * FORGETS_AFTER {
            // An exponentially distributed stay has no memory, so it may as well begin now.
            self.bad = self.states.chance(self.config.share_of_bad());
            self.until = now;
            self.stay();
        }
        while self.until <= now {
            self.bad = !self.bad;
            self.stay();
        }
    }
}

impl LossModel for GilbertTimeLoss {
    fn drops_next(&mut self, now: Instant, rng: &mut Rng) -> bool {
        self.advance(now);
        let GilbertTimeLossConfig {
            loss_in_good,
            loss_in_bad,
            ..
        } = self.config;
        let lost = if self.bad { loss_in_bad } else { loss_in_good };
        rng.chance(lost.get())
    }
}
