//! Random loss: each packet is lost with the same probability, independently.

use super::{LossModel, LossModelConfig};
use weir_proto::rng::Rng;
use weir_proto::time::Instant;
use weir_proto::units::Probability;

weir_proto::settings! {
    /// Each packet is lost with the same probability, independently.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RandomLossConfig {
        /// The probability that a packet is lost.
        pub rate: Probability [required],
    }
}

impl LossModelConfig for RandomLossConfig {
    type Model = RandomLoss;

    fn build(&self, _: Rng) -> RandomLoss {
        RandomLoss(self.rate.get())
    }

    fn is_random(&self) -> bool {
        let p = self.rate.get();
        p > 0.0 && p < 1.0
    }

    fn mean_loss(&self) -> Option<f64> {
        Some(self.rate.get())
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            rate: Probability::clamped(0.1 * rng.uniform()),
        }
    }
}

#[derive(Debug)]
pub(super) struct RandomLoss(f64);

impl LossModel for RandomLoss {
    #[inline]
    fn drops_next(&mut self, _: Instant, rng: &mut Rng) -> bool {
        rng.chance(self.0)
    }
}
