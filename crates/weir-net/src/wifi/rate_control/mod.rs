//! How a station selects the rate of each transmission.
//!
//! [`minstrel`] measures how often each rate succeeds and selects the one with the highest
//! throughput. [`arf`] and AARF step down after two consecutive failures. They mistake collisions
//! for a poor signal: when several stations contend, they select slower rates that occupy the
//! medium longer, and the throughput of the cell falls to a fraction.

mod arf;
mod minstrel;

use super::timing::{Phy, PhyRate, Standard};
use arf::Arf;
use minstrel::Minstrel;
use weir_proto::rng::Rng;
use weir_proto::settings::bit_rate;
use weir_proto::time::Instant;

weir_proto::kinds! {
    /// How a station chooses its rate.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RateControlConfig {
        /// Samples all rates and takes the one of the most throughput, as Linux does.
        #[default]
        Minstrel = "minstrel",
        /// Adaptive ARF: waits longer after each rise that failed. Takes collisions for a poor
        /// signal: not for cells where several stations contend.
        Aarf = "aarf",
        /// Up after ten successes, down after two failures. Takes collisions for a poor signal:
        /// not for cells where several stations contend.
        Arf = "arf",
        /// Always the same `rate`.
        Fixed(FixedRateConfig) = "fixed",
    }
}

weir_proto::settings! {
    /// Always the same rate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FixedRateConfig {
        /// A rate of the standard, such as "11Mbit".
        pub rate: u64 [required] => bit_rate(),
    }
}

impl RateControlConfig {
    /// True if it mistakes collisions for a poor signal.
    pub const fn mistakes_collisions(&self) -> bool {
        matches!(self, Self::Arf | Self::Aarf)
    }
}

/// The state of a station's rate control.
#[derive(Debug)]
pub(super) enum RateControl {
    Minstrel(Box<Minstrel>),
    Arf(Arf),
    Fixed(PhyRate),
}

impl RateControl {
    pub(super) fn new(config: RateControlConfig, phy: &Phy, rng: Rng) -> Self {
        let standard: Standard = phy.standard;
        match config {
            RateControlConfig::Minstrel => Self::Minstrel(Box::new(Minstrel::new(phy, rng))),
            RateControlConfig::Arf => Self::Arf(Arf::new(standard, false)),
            RateControlConfig::Aarf => Self::Arf(Arf::new(standard, true)),
            RateControlConfig::Fixed(fixed) => {
                Self::Fixed(standard.rate_of(fixed.rate).unwrap_or_default())
            }
        }
    }

    /// A new packet is to be sent.
    pub(super) fn on_packet(&mut self, now: Instant) {
        if let Self::Minstrel(minstrel) = self {
            minstrel.on_packet(now);
        }
    }

    /// The rate of the next transmission of the packet.
    pub(super) fn rate(&self) -> PhyRate {
        match self {
            Self::Minstrel(minstrel) => minstrel.rate(),
            Self::Arf(arf) => arf.rate(),
            Self::Fixed(rate) => *rate,
        }
    }

    /// The transmission was acknowledged.
    pub(super) fn on_success(&mut self) {
        match self {
            Self::Minstrel(minstrel) => minstrel.on_transmission(true),
            Self::Arf(arf) => arf.on_success(),
            Self::Fixed(_) => {}
        }
    }

    /// The transmission was not acknowledged.
    pub(super) fn on_failure(&mut self) {
        match self {
            Self::Minstrel(minstrel) => minstrel.on_transmission(false),
            Self::Arf(arf) => arf.on_failure(),
            Self::Fixed(_) => {}
        }
    }
}
