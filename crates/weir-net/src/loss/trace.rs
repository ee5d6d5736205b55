//! Losses by number: exactly the packets in a list are lost.

use super::{LossModel, LossModelConfig};
use weir_proto::rng::Rng;
use weir_proto::time::Instant;

weir_proto::settings! {
    /// The packets with these numbers are lost.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TraceLossConfig {
        /// Numbers of the packets that are lost, counted from 0.
        pub drops: Vec<u64> [required],
    }
}

impl LossModelConfig for TraceLossConfig {
    type Model = TraceLoss;

    fn build(&self, _: Rng) -> TraceLoss {
        let mut drops = self.drops.clone();
        drops.sort_unstable();
        drops.dedup();
        TraceLoss {
            drops,
            at: 0,
            seen: 0,
        }
    }

    fn is_random(&self) -> bool {
        false
    }

    fn mean_loss(&self) -> Option<f64> {
        None
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            drops: (0..rng.below(10)).map(|_| rng.below(300)).collect(),
        }
    }
}

#[derive(Debug)]
pub(super) struct TraceLoss {
    drops: Vec<u64>,
    at: usize,
    seen: u64,
}

impl LossModel for TraceLoss {
    #[inline]
    fn drops_next(&mut self, _: Instant, _: &mut Rng) -> bool {
        let drop = self.drops.get(self.at) == Some(&self.seen);
        self.at += usize::from(drop);
        self.seen += 1;
        drop
    }
}
