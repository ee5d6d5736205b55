//! Oscillation reduction (RFC 5348 §4.5): the rate is lowered as the queue grows.
//!
//! ```text
//! X_inst = X R_sqmean / sqrt(R_sample),  R_sqmean = 0.9 R_sqmean + 0.1 sqrt(R_sample)
//! ```
//!
//! so t_ipi is multiplied by sqrt(R_sample)/R_sqmean. The RFC updates the mean first; Linux takes
//! the factor with the old mean, in 16-bit integer square roots, and seeds the mean with R.

use super::profile::{Arithmetic, Oscillation};
use crate::time::Duration;

/// q2: the weight of the old mean.
const WEIGHT: f64 = 0.9;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SquareRootMean {
    mean: Option<f64>,
}

/// The kernel's `isqrt` of the scaled sample; the scale cancels in the ratio.
fn root(arithmetic: Arithmetic, sample: Duration) -> f64 {
    match arithmetic {
        Arithmetic::Float => sample.as_secs_f64().sqrt(),
        Arithmetic::KernelIntegers => ((sample.as_micros().max(1) << 10) as f64)
            .sqrt()
            .floor()
            .min(65_535.0),
    }
}

impl SquareRootMean {
    /// Seeds the mean, if nothing has yet.
    pub(super) fn seed(&mut self, arithmetic: Arithmetic, rtt: Duration) {
        self.mean.get_or_insert_with(|| root(arithmetic, rtt));
    }

    /// A sample: the factor for t_ipi.
    pub(super) fn on_sample(&mut self, rules: (Arithmetic, Oscillation), sample: Duration) -> f64 {
        let (arithmetic, mode) = rules;
        let root = root(arithmetic, sample);
        let old = *self.mean.get_or_insert(root);
        let new = match arithmetic {
            Arithmetic::Float => WEIGHT * old + (1.0 - WEIGHT) * root,
            Arithmetic::KernelIntegers => ((9.0 * old + root) / 10.0).floor(),
        };
        self.mean = Some(new);
        let mean = if arithmetic.is_kernel() { old } else { new };
        let factor = if mean > 0.0 { root / mean } else { 1.0 };
        match mode {
            Oscillation::Off => 1.0,
            Oscillation::Full => factor,
            Oscillation::IncreaseOnly => factor.max(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubled_round_trip_time_lowers_the_rate_by_the_square_root() {
        let rules = (Arithmetic::KernelIntegers, Oscillation::Full);
        let mut mean = SquareRootMean::default();
        mean.seed(Arithmetic::KernelIntegers, Duration::from_millis(10));
        let factor = mean.on_sample(rules, Duration::from_millis(20));
        assert!((factor - 2_f64.sqrt()).abs() < 1e-3, "{factor}");
        // RFC 5348 §4.5: with the mean updated first, a sample of twice the mean gives about 0.7.
        let mut mean = SquareRootMean::default();
        mean.seed(Arithmetic::Float, Duration::from_millis(10));
        let factor = mean.on_sample(
            (Arithmetic::Float, Oscillation::Full),
            Duration::from_millis(20),
        );
        assert!((1.0 / factor - 0.736).abs() < 1e-3, "{factor}");
    }

    #[test]
    fn increase_only_never_raises_the_rate() {
        let mut mean = SquareRootMean::default();
        mean.seed(Arithmetic::Float, Duration::from_millis(10));
        let sample = Duration::from_millis(5);
        let mut full = mean;
        assert_eq!(
            mean.on_sample((Arithmetic::Float, Oscillation::IncreaseOnly), sample),
            1.0
        );
        assert!(full.on_sample((Arithmetic::Float, Oscillation::Full), sample) < 1.0);
    }
}
