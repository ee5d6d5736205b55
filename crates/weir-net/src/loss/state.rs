//! Losses by a chain of four states, netem's `loss state` (tc-netem(8); Salsano, Ludovici and
//! Ordine, Definition of a general and intuitive loss model for packet networks, 2009).
//!
//! State 1 is a gap in which packets arrive, 4 a single loss in it; 3 is a burst of losses, 2 a run
//! of arrivals within it. Each packet moves the chain with the probabilities of its state, p13 and
//! p14, p23, p31 and p32; 4 returns to 1. The packet is lost if the chain is in 3 or 4 after the
//! step, as in `loss_4state` of Linux's `sch_netem.c`.

use super::{LossModel, LossModelConfig};
use weir_proto::rng::Rng;
use weir_proto::time::Instant;
use weir_proto::units::Probability;

weir_proto::settings! {
    /// Losses in bursts: netem's chain of four states.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct StateLossConfig {
        /// Probability per packet of a burst's begin.
        pub p13: Probability [required],
        /// Probability per packet of a burst's end.
        pub p31: Probability [required],
        /// Probability per packet of arriving within a burst.
        pub p32: Probability,
        /// Probability per packet of being lost again within a burst.
        pub p23: Probability = Probability::clamped(1.0),
        /// Probability per packet of a single loss outside of a burst.
        pub p14: Probability,
    }
}

impl LossModelConfig for StateLossConfig {
    type Model = StateLoss;

    fn build(&self, _: Rng) -> StateLoss {
        StateLoss {
            config: *self,
            state: State::Gap,
        }
    }

    fn is_random(&self) -> bool {
        true
    }

    fn mean_loss(&self) -> Option<f64> {
        let Self {
            p13,
            p31,
            p32,
            p23,
            p14,
        } = *self;
        let [p32, p23, p14] = [p32, p23, p14].map(Probability::get);
        // p14 and p32 are compared first, so that p13 and p31 are at most the rest.
        let (p13, p31) = (p13.get().min(1.0 - p14), p31.get().min(1.0 - p32));
        if p13 <= 0.0 {
            return Some(p14 / (1.0 + p14));
        }
        if p32 > 0.0 && p23 <= 0.0 {
            // State 2 is never left.
            return Some(0.0);
        }
        // Visits of state 2 for each visit of state 3.
        let within = if p32 > 0.0 { p32 / p23 } else { 0.0 };
        if p31 <= 0.0 {
            return Some(1.0 / (1.0 + within));
        }
        // For each visit of state 1 there are p13/p31 visits of 3 and p14 of 4.
        let burst = p13 / p31;
        Some((burst + p14) / (1.0 + p14 + burst * (1.0 + within)))
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            p13: Probability::clamped(0.05),
            p31: Probability::clamped(0.3),
            p32: Probability::clamped(0.3 * rng.uniform()),
            p23: Probability::clamped(0.5),
            p14: Probability::clamped(0.1 * rng.uniform()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// State 1.
    Gap,
    /// State 2.
    WithinBurst,
    /// State 3.
    Burst,
    /// State 4.
    LostInGap,
}

#[derive(Debug)]
pub(super) struct StateLoss {
    config: StateLossConfig,
    state: State,
}

impl LossModel for StateLoss {
    fn drops_next(&mut self, _: Instant, rng: &mut Rng) -> bool {
        let drawn = rng.uniform();
        let [p13, p31, p32, p23, p14] = [
            self.config.p13,
            self.config.p31,
            self.config.p32,
            self.config.p23,
            self.config.p14,
        ]
        .map(Probability::get);
        self.state = match self.state {
            State::Gap if drawn < p14 => State::LostInGap,
            State::Gap if drawn < p14 + p13 => State::Burst,
            State::WithinBurst if drawn < p23 => State::Burst,
            State::Burst if drawn < p32 => State::WithinBurst,
            State::Burst if drawn < p32 + p31 => State::Gap,
            State::LostInGap => State::Gap,
            same => same,
        };
        matches!(self.state, State::Burst | State::LostInGap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(percents: [f64; 5]) -> StateLossConfig {
        let [p13, p31, p32, p23, p14] = percents.map(|p| Probability::clamped(p / 100.0));
        StateLossConfig {
            p13,
            p31,
            p32,
            p23,
            p14,
        }
    }

    #[test]
    fn the_chain_moves_as_that_of_netem() {
        // Probabilities of 0 and 1 make the chain deterministic.
        for (percents, lost) in [
            ([0.0, 100.0, 0.0, 100.0, 0.0], "........"),
            // 1 to 3, 3 to 1 and so on.
            ([100.0, 100.0, 0.0, 100.0, 0.0], "x.x.x.x."),
            // A burst that does not end.
            ([100.0, 0.0, 0.0, 100.0, 0.0], "xxxxxxxx"),
            // 3 to 2, and 2 to 3 again.
            ([100.0, 0.0, 100.0, 100.0, 0.0], "x.x.x.x."),
            // State 2 is never left.
            ([100.0, 0.0, 100.0, 0.0, 0.0], "x......."),
            // Single losses: 1 to 4 regardless of p13, and back.
            ([100.0, 0.0, 0.0, 0.0, 100.0], "x.x.x.x."),
        ] {
            let (mut model, mut rng) = (
                config(percents).build(Rng::stream(1, "states")),
                Rng::stream(1, "state"),
            );
            let found: String = (0..8)
                .map(|_| {
                    if model.drops_next(Instant::ZERO, &mut rng) {
                        'x'
                    } else {
                        '.'
                    }
                })
                .collect();
            assert_eq!(found, lost, "{percents:?}");
        }
    }

    #[test]
    fn the_share_of_losses_is_that_of_the_chain() {
        // For each visit of state 1 there are p13/p31 = 0.1 of state 3, p32/p23 = 0.5 times as many
        // of state 2 (0.05), and 0.02 of state 4: (0.1 + 0.02) / (1 + 0.1 + 0.05 + 0.02).
        let mixed = config([2.0, 20.0, 10.0, 20.0, 2.0]);
        assert!((mixed.mean_loss().unwrap() - 0.12 / 1.17).abs() < 1e-12);
        for percents in [
            [2.0, 20.0, 10.0, 20.0, 2.0],
            [1.0, 50.0, 0.0, 100.0, 0.0],
            [50.0, 0.0, 25.0, 75.0, 0.0],
            [0.0, 10.0, 10.0, 10.0, 25.0],
            [90.0, 80.0, 60.0, 30.0, 40.0],
        ] {
            let config = config(percents);
            let (mut model, mut rng) = (
                config.build(Rng::stream(7, "states")),
                Rng::stream(7, "state"),
            );
            let lost = (0..400_000)
                .filter(|_| model.drops_next(Instant::ZERO, &mut rng))
                .count();
            let share = lost as f64 / 400_000.0;
            let expected = config.mean_loss().unwrap();
            assert!(
                (share - expected).abs() < 0.004,
                "{percents:?}: {share}, {expected}"
            );
        }
    }
}
