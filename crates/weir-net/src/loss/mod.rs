//! Loss models: packets that are lost for reasons other than full queues.
//!
//! Each link, and each sender's socket, has a loss model with a random stream of its own, so that
//! adding a flow or a link does not change which packets another loses. A model is one file with a
//! [`LossModel`], its configuration as [`LossModelConfig`] beside it, and one line in the registry
//! below. Does not model: errors that grow with a packet's size.

mod gilbert;
mod gilbert_time;
mod periodic;
mod random;
mod state;
mod trace;

pub use gilbert::GilbertLossConfig;
pub use gilbert_time::GilbertTimeLossConfig;
pub use periodic::PeriodicLossConfig;
pub use random::RandomLossConfig;
pub use state::StateLossConfig;
pub use trace::TraceLossConfig;

use std::fmt;
use weir_proto::rng::Rng;
use weir_proto::time::Instant;

/// The state of a loss model.
trait LossModel: fmt::Debug {
    /// True if the next packet, at this time, is lost. Called once for each packet, in order of
    /// time.
    fn drops_next(&mut self, now: Instant, rng: &mut Rng) -> bool;
}

/// The configuration of a loss model.
trait LossModelConfig {
    /// The model.
    type Model: LossModel;

    /// The model before its first packet. `states` provides the random numbers of processes that do
    /// not depend on packets.
    fn build(&self, states: Rng) -> Self::Model;

    /// True if a random choice determines which packets are lost.
    fn is_random(&self) -> bool;

    /// The long-term share of lost packets at a constant packet rate; `None` if it depends on the
    /// number of packets.
    fn mean_loss(&self) -> Option<f64>;

    /// A configuration for property tests.
    fn arbitrary(rng: &mut Rng) -> Self;
}

/// Generates, from one line for each model, the configuration enum, the state enum and the dispatch
/// between them.
macro_rules! loss_models {
    ($($name:ident($config:ty) = $word:literal),* $(,)?) => {
        weir_proto::kinds! {
            /// The configuration of any loss model.
            #[derive(Clone, Debug, Default, PartialEq)]
            pub enum LossConfig {
                /// Nothing is lost.
                #[default]
                None = "none",
                $(#[doc = concat!("See [`", stringify!($config), "`].")]
                $name($config) = $word,)*
            }
            alone "random" "rate"
        }

        $(impl From<$config> for LossConfig {
            fn from(config: $config) -> Self {
                Self::$name(config)
            }
        })*

        impl LossConfig {
            /// True if a random choice determines which packets are lost.
            pub fn is_random(&self) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$name(config) => config.is_random(),)*
                }
            }

            /// The long-term share of lost packets at a constant packet rate; `None` if it depends
            /// on the number of packets.
            pub fn mean_loss(&self) -> Option<f64> {
                match self {
                    Self::None => Some(0.0),
                    $(Self::$name(config) => LossModelConfig::mean_loss(config),)*
                }
            }

            /// A random loss model and configuration for property tests.
            pub fn arbitrary(rng: &mut Rng) -> Self {
                let any: &[fn(&mut Rng) -> Self] = &[
                    |_| Self::None,
                    $(|rng| Self::$name(<$config>::arbitrary(rng)),)*
                ];
                any[rng.below(any.len() as u64) as usize](rng)
            }
        }

        #[derive(Debug)]
        enum Model {
            None,
            $($name(<$config as LossModelConfig>::Model),)*
        }

        impl Model {
            fn new(config: &LossConfig, states: Rng) -> Self {
                match config {
                    LossConfig::None => Self::None,
                    $(LossConfig::$name(config) => Self::$name(config.build(states)),)*
                }
            }
        }

        impl LossModel for Model {
            #[inline]
            fn drops_next(&mut self, now: Instant, rng: &mut Rng) -> bool {
                match self {
                    Self::None => false,
                    $(Self::$name(model) => model.drops_next(now, rng),)*
                }
            }
        }
    };
}

loss_models! {
    Periodic(PeriodicLossConfig) = "periodic",
    Random(RandomLossConfig) = "random",
    Gilbert(GilbertLossConfig) = "gilbert",
    State(StateLossConfig) = "state",
    GilbertTime(GilbertTimeLossConfig) = "gilbert_time",
    Trace(TraceLossConfig) = "trace",
}

/// A loss model and its random stream.
#[derive(Debug)]
pub(crate) struct Loss {
    model: Model,
    rng: Rng,
}

impl Loss {
    /// The model that `config` describes, with the random stream `stream` of this seed.
    pub(crate) fn new(config: &LossConfig, seed: u64, stream: &str) -> Self {
        Self {
            model: Model::new(config, Rng::stream(seed, &format!("{stream}/states"))),
            rng: Rng::stream(seed, stream),
        }
    }

    /// The model that `config` describes; `None` if it loses no packets.
    pub(crate) fn of(config: &LossConfig, seed: u64, stream: &str) -> Option<Box<Self>> {
        (*config != LossConfig::None).then(|| Box::new(Self::new(config, seed, stream)))
    }

    /// True if the next packet, at this time, is lost. Call once for each packet.
    #[inline]
    pub(crate) fn drops_next(&mut self, now: Instant) -> bool {
        self.model.drops_next(now, &mut self.rng)
    }
}

#[cfg(test)]
mod tests;
