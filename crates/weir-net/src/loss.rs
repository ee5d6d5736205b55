//! Packets that get lost on the way, for reasons other than full queues.
//!
//! - periodic: after every n delivered packets one is dropped; the loss rate is 1 / (n + 1).
//! - random: each packet is dropped with probability p, independently.
//! - Gilbert-Elliott: two states; before each packet the chain moves from good to bad with
//!   probability p, from bad to good with r; then the packet is dropped with the loss
//!   probability of the state. The share of the bad state is p / (p + r), the mean stay in it
//!   1 / r packets. Gilbert 1960, Elliott 1963; netem's `gemodel` has the same parameters.
//! - trace: the packets with these numbers are dropped, counting from 0.
//!
//! Each place that loses packets owns a model and a random stream, so the luck of one flow or
//! link does not depend on any other. Does not model: errors that grow with a packet's size.

use weir_proto::rng::Rng;
use weir_proto::units::Probability;

/// Which packets are lost.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LossConfig {
    /// None.
    #[default]
    None,
    /// One after every `every` packets that were delivered.
    Periodic {
        /// Packets delivered between two losses, and before the first.
        every: u64,
    },
    /// Each with the same probability, independently.
    Random {
        /// The probability.
        probability: Probability,
    },
    /// In bursts, by a chain of two states.
    Gilbert {
        /// p: from good to bad, per packet.
        to_bad: Probability,
        /// r: from bad to good, per packet.
        to_good: Probability,
        /// Probability of loss in the good state; 0 in Gilbert's model.
        loss_in_good: Probability,
        /// Probability of loss in the bad state; 1 in the simple model.
        loss_in_bad: Probability,
    },
    /// The packets with these numbers, counted from 0.
    Trace {
        /// Numbers of the lost packets, in any order.
        drops: Vec<u64>,
    },
}

/// A loss model at work.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    model: Model,
    rng: Rng,
}

#[derive(Clone, Debug)]
enum Model {
    None,
    Periodic {
        every: u64,
        delivered: u64,
    },
    Random(f64),
    Gilbert(Gilbert),
    Trace {
        drops: Vec<u64>,
        at: usize,
        seen: u64,
    },
}

#[derive(Clone, Debug)]
struct Gilbert {
    to_bad: f64,
    to_good: f64,
    loss_in_good: f64,
    loss_in_bad: f64,
    bad: bool,
}

impl Loss {
    /// The model that `config` describes, drawing from the run's stream called `stream`.
    pub(crate) fn new(config: &LossConfig, seed: u64, stream: &str) -> Self {
        let model = match config {
            LossConfig::None => Model::None,
            LossConfig::Periodic { every } => Model::Periodic {
                every: *every,
                delivered: 0,
            },
            LossConfig::Random { probability } => Model::Random(probability.get()),
            LossConfig::Gilbert {
                to_bad,
                to_good,
                loss_in_good,
                loss_in_bad,
            } => Model::Gilbert(Gilbert {
                to_bad: to_bad.get(),
                to_good: to_good.get(),
                loss_in_good: loss_in_good.get(),
                loss_in_bad: loss_in_bad.get(),
                bad: false,
            }),
            LossConfig::Trace { drops } => {
                let mut drops = drops.clone();
                drops.sort_unstable();
                drops.dedup();
                Model::Trace {
                    drops,
                    at: 0,
                    seen: 0,
                }
            }
        };
        Self {
            model,
            rng: Rng::stream(seed, stream),
        }
    }

    /// True if the next packet is lost. Call once for each packet.
    #[inline]
    pub(crate) fn drops_next(&mut self) -> bool {
        match &mut self.model {
            Model::None => false,
            Model::Periodic { every, delivered } => {
                let drop = *delivered == *every;
                *delivered = if drop { 0 } else { *delivered + 1 };
                drop
            }
            Model::Random(probability) => self.rng.chance(*probability),
            Model::Gilbert(chain) => chain.drops_next(&mut self.rng),
            Model::Trace { drops, at, seen } => {
                let drop = drops.get(*at) == Some(seen);
                *at += usize::from(drop);
                *seen += 1;
                drop
            }
        }
    }
}

impl Gilbert {
    fn drops_next(&mut self, rng: &mut Rng) -> bool {
        let leave = if self.bad { self.to_good } else { self.to_bad };
        self.bad ^= rng.chance(leave);
        rng.chance(if self.bad {
            self.loss_in_bad
        } else {
            self.loss_in_good
        })
    }
}

#[cfg(test)]
mod tests;
