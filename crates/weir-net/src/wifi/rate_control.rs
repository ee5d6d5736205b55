//! How a station chooses its rate.
//!
//! ARF (Kamerman and Monteban 1997): ten frames in a row that were acknowledged raise the rate,
//! two in a row that were not lower it; a first failure right after a rise lowers it at once.
//! AARF (Lacage, Manshaei and Turletti 2004) doubles the ten, up to fifty, each time that happens.

use super::timing::{PhyRate, Standard};
use weir_proto::settings::bit_rate;

weir_proto::kinds! {
    /// How a station chooses its rate.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum RateControlConfig {
        /// Adaptive ARF: waits longer after each rise that failed.
        #[default]
        Aarf = "aarf",
        /// Up after ten successes, down after two failures.
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

const SUCCESSES: u32 = 10;
const MAX_SUCCESSES: u32 = 50;
const FAILURES: u32 = 2;

#[derive(Clone, Copy, Debug)]
pub(super) struct RateControl {
    config: RateControlConfig,
    fastest: PhyRate,
    rate: PhyRate,
    successes: u32,
    failures: u32,
    needed: u32,
    probing: bool,
}

impl RateControl {
    pub(super) fn new(config: RateControlConfig, standard: Standard) -> Self {
        let fastest = standard.fastest();
        let rate = match config {
            RateControlConfig::Fixed(fixed) => standard.rate_of(fixed.rate).unwrap_or_default(),
            RateControlConfig::Arf | RateControlConfig::Aarf => fastest,
        };
        Self {
            config,
            fastest,
            rate,
            successes: 0,
            failures: 0,
            needed: SUCCESSES,
            probing: false,
        }
    }

    pub(super) const fn rate(&self) -> PhyRate {
        self.rate
    }

    pub(super) fn on_success(&mut self) {
        self.successes += 1;
        self.failures = 0;
        self.probing = false;
        let fixed = matches!(self.config, RateControlConfig::Fixed(_));
        if !fixed && self.successes >= self.needed && self.rate < self.fastest {
            self.rate = PhyRate(self.rate.0 + 1);
            self.successes = 0;
            self.probing = true;
        }
    }

    pub(super) fn on_failure(&mut self) {
        self.failures += 1;
        self.successes = 0;
        if matches!(self.config, RateControlConfig::Fixed(_)) {
            return;
        }
        if self.probing || self.failures >= FAILURES {
            self.rate = PhyRate(self.rate.0.saturating_sub(1));
            self.needed = match (self.config, self.probing) {
                (RateControlConfig::Aarf, true) => (self.needed * 2).min(MAX_SUCCESSES),
                _ => SUCCESSES,
            };
            self.failures = 0;
            self.probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(control: &mut RateControl, successes: u32, failures: u32) -> usize {
        (0..successes).for_each(|_| control.on_success());
        (0..failures).for_each(|_| control.on_failure());
        control.rate().0
    }

    #[test]
    fn arf_goes_down_after_two_failures_and_up_after_ten_successes() {
        let mut control = RateControl::new(RateControlConfig::Arf, Standard::G);
        assert_eq!(step(&mut control, 0, 1), 7);
        assert_eq!(step(&mut control, 0, 1), 6);
        assert_eq!(step(&mut control, 9, 0), 6);
        assert_eq!(step(&mut control, 1, 0), 7);
        assert_eq!(
            step(&mut control, 0, 1),
            6,
            "the first failure after a rise"
        );
    }

    #[test]
    fn aarf_waits_longer_after_each_rise_that_failed() {
        let mut control = RateControl::new(RateControlConfig::Aarf, Standard::G);
        step(&mut control, 0, 2);
        step(&mut control, 10, 1);
        assert_eq!(step(&mut control, 19, 0), 6);
        assert_eq!(step(&mut control, 1, 0), 7);
    }
}
