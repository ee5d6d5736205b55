//! Periodic loss: after every n delivered packets one is lost; the loss rate is 1 / (n + 1).

use super::{LossModel, LossModelConfig};
use weir_proto::rng::Rng;

/// The configuration of periodic losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeriodicLossConfig {
    /// Packets delivered between two losses, and before the first.
    pub every: u64,
}

impl LossModelConfig for PeriodicLossConfig {
    type Model = PeriodicLoss;

    fn build(&self) -> PeriodicLoss {
        PeriodicLoss {
            every: self.every,
            delivered: 0,
        }
    }

    fn random(rng: &mut Rng) -> Self {
        Self {
            every: rng.below(40),
        }
    }
}

#[derive(Debug)]
pub(super) struct PeriodicLoss {
    every: u64,
    delivered: u64,
}

impl LossModel for PeriodicLoss {
    #[inline]
    fn drops_next(&mut self, _rng: &mut Rng) -> bool {
        let drop = self.delivered == self.every;
        self.delivered = if drop { 0 } else { self.delivered + 1 };
        drop
    }
}
