//! Rates that step up and down after consecutive successes and failures.
//!
//! ARF (Kamerman and Monteban 1997): ten consecutive acknowledged frames raise the rate, two
//! consecutive unacknowledged ones lower it; a failure of the first frame after a rise lowers it at
//! once. AARF (Lacage, Manshaei and Turletti 2004) doubles the ten, up to fifty, each time that
//! happens.

use crate::wifi::timing::{PhyRate, Standard};

const SUCCESSES: u32 = 10;
const MAX_SUCCESSES: u32 = 50;
const FAILURES: u32 = 2;

#[derive(Debug)]
pub(in crate::wifi) struct Arf {
    adaptive: bool,
    fastest: PhyRate,
    rate: PhyRate,
    successes: u32,
    failures: u32,
    needed: u32,
    probing: bool,
}

impl Arf {
    pub(super) const fn new(standard: Standard, adaptive: bool) -> Self {
        let fastest = standard.fastest();
        Self {
            adaptive,
            fastest,
            rate: fastest,
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
        if self.successes >= self.needed && self.rate < self.fastest {
            self.rate = PhyRate(self.rate.0 + 1);
            self.successes = 0;
            self.probing = true;
        }
    }

    pub(super) fn on_failure(&mut self) {
        self.failures += 1;
        self.successes = 0;
        if self.probing || self.failures >= FAILURES {
            self.rate = PhyRate(self.rate.0.saturating_sub(1));
            self.needed = if self.adaptive && self.probing {
                (self.needed * 2).min(MAX_SUCCESSES)
            } else {
                SUCCESSES
            };
            self.failures = 0;
            self.probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(control: &mut Arf, successes: u32, failures: u32) -> usize {
        (0..successes).for_each(|_| control.on_success());
        (0..failures).for_each(|_| control.on_failure());
        control.rate().0
    }

    #[test]
    fn arf_goes_down_after_two_failures_and_up_after_ten_successes() {
        let mut control = Arf::new(Standard::G, false);
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
        let mut control = Arf::new(Standard::G, true);
        step(&mut control, 0, 2);
        step(&mut control, 10, 1);
        assert_eq!(step(&mut control, 19, 0), 6);
        assert_eq!(step(&mut control, 1, 0), 7);
    }
}
