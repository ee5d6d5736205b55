//! Gilbert-Elliott losses, counted in packets: bursts from a chain of two states (Gilbert 1960,
//! Elliott 1963).
//!
//! Before each packet the chain moves from good to bad with probability p, from bad to good with r;
//! then the packet is lost with the loss probability of the state. The share of the bad state is p
//! / (p + r), the mean stay in it 1 / r packets. tc-netem(8)'s `gemodel` has the same parameters.
//! The chain does not move without packets: a sender in backoff, whose packets are timeouts apart,
//! needs as many packets to end a burst as any other sender. For bursts with a duration in time see
//! [`gilbert_time`](super::gilbert_time).

use super::{LossModel, LossModelConfig};
use weir_proto::rng::Rng;
use weir_proto::time::Instant;
use weir_proto::units::Probability;

weir_proto::settings! {
    /// Losses in bursts, counted in packets: a chain of a good and a bad state that steps once for
    /// each packet, however far apart they are.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct GilbertLossConfig {
        /// Probability per packet of going from the good state to the bad one.
        pub to_bad: Probability [required],
        /// Probability per packet of going from the bad state to the good one.
        pub to_good: Probability [required],
        /// Probability of loss in the good state.
        // 0 in Gilbert's model.
        pub loss_in_good: Probability,
        /// Probability of loss in the bad state.
        pub loss_in_bad: Probability = Probability::clamped(1.0),
    }
}

impl LossModelConfig for GilbertLossConfig {
    type Model = GilbertLoss;

    fn build(&self, _: Rng) -> GilbertLoss {
        GilbertLoss {
            config: *self,
            bad: false,
        }
    }

    fn is_random(&self) -> bool {
        true
    }

    fn mean_loss(&self) -> Option<f64> {
        let [to_bad, to_good] = [self.to_bad.get(), self.to_good.get()];
        let [in_good, in_bad] = [self.loss_in_good.get(), self.loss_in_bad.get()];
        if to_bad == 0.0 {
            // The chain begins in the good state and stays there.
            return Some(in_good);
        }
        Some((in_good * to_good + in_bad * to_bad) / (to_bad + to_good))
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            to_bad: Probability::clamped(0.1),
            to_good: Probability::clamped(0.5),
            loss_in_good: Probability::default(),
            loss_in_bad: Probability::clamped(rng.uniform()),
        }
    }
}

#[derive(Debug)]
pub(super) struct GilbertLoss {
    config: GilbertLossConfig,
    bad: bool,
}

impl LossModel for GilbertLoss {
    fn drops_next(&mut self, _: Instant, rng: &mut Rng) -> bool {
        let GilbertLossConfig {
            to_bad,
            to_good,
            loss_in_good,
            loss_in_bad,
        } = self.config;
        let leave = if self.bad { to_good } else { to_bad };
        self.bad ^= rng.chance(leave.get());
        let lost = if self.bad { loss_in_bad } else { loss_in_good };
        rng.chance(lost.get())
    }
}
