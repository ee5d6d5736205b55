//! Reducing oscillations (RFC 5348 §4.5): when the round-trip time grows, the sender slows down by
//! the square root of the growth, because a queue is building up.
//!
//!   R_sqmean = q2·R_sqmean + (1 - q2)·sqrt(R_sample)
//!   X_inst   = X·R_sqmean / sqrt(R_sample)
//!
//! The factor is applied to t_ipi = s/X_inst. The Linux test tree of 2008 divides by the mean
//! without the new sample and multiplies the current t_ipi, so that factors compound until X
//! changes; its square roots are integers of 16 bits.
//!
//! Sources: RFC 3448 §4.5, RFC 5348 §4.5; test tree commit a3cbdde8.

use super::MAX_BACKOFF;
use super::arithmetic::smooth_integer;
use super::profile::{Arithmetic, Oscillation, OscillationInSlowStart, Profile};
use crate::time::Duration;

/// q2, the weight of the old R_sqmean (RFC 5348 §4.5).
const SQMEAN_FILTER: f64 = 0.9;

/// R_sqmean and the rules for its use.
#[derive(Clone, Debug)]
pub struct OscillationReduction {
    mode: Oscillation,
    in_slow_start: OscillationInSlowStart,
    arithmetic: Arithmetic,
    /// R_sqmean, in any unit, because only ratios are used.
    mean: Option<f64>,
}

impl OscillationReduction {
    /// The rules of this profile, without a sample.
    pub fn new(profile: &Profile) -> Self {
        Self {
            mode: profile.oscillation,
            in_slow_start: profile.oscillation_in_slow_start,
            arithmetic: profile.arithmetic,
            mean: None,
        }
    }

    /// Linux sets the mean to sqrt(R) when the first data packet leaves.
    pub fn seed(&mut self, rtt: Duration) {
        if self.arithmetic == Arithmetic::KernelIntegers && self.mean.is_none() {
            self.mean = Some(self.root(rtt));
        }
    }

    /// Adds a sample to the mean; returns t_ipi with the reduction.
    pub fn reduced_interval(&mut self, sample: Duration, p: f64, interval: Duration) -> Duration {
        if self.mode == Oscillation::Off {
            return interval;
        }
        let root = self.root(sample);
        let old = self.mean.unwrap_or(root);
        let (mean, divisor) = match self.arithmetic {
            Arithmetic::Float => {
                let mean = old * SQMEAN_FILTER + root * (1.0 - SQMEAN_FILTER);
                (mean, mean)
            }
            Arithmetic::KernelIntegers => (
                smooth_integer(old as u64, root as u64, SQMEAN_FILTER) as f64,
                old,
            ),
        };
        self.mean = Some(mean);
        let exempt = p == 0.0 && self.in_slow_start == OscillationInSlowStart::Exempt;
        if exempt || (self.mode == Oscillation::IncreaseOnly && root <= divisor) {
            return interval;
        }
        self.multiplied(interval, root, divisor)
    }

    fn multiplied(&self, interval: Duration, root: f64, divisor: f64) -> Duration {
        let longer = match self.arithmetic {
            Arithmetic::Float => interval.mul_f64(root / divisor.max(f64::MIN_POSITIVE)),
            Arithmetic::KernelIntegers => {
                let product = u128::from(interval.as_micros()) * root as u128;
                // A root is at least that of 2^10.
                Duration::from_micros((product / divisor as u128) as u64)
            }
        };
        // RFC 5348 §4.5: X_inst is not below s/t_mbi.
        longer.min(MAX_BACKOFF)
    }

    fn root(&self, sample: Duration) -> f64 {
        match self.arithmetic {
            Arithmetic::Float => sample.as_secs_f64().sqrt(),
            Arithmetic::KernelIntegers => {
                let shifted = sample.as_micros().clamp(1, u64::from(u32::MAX)) << 10;
                shifted.isqrt().min(u64::from(u16::MAX)) as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IPI: Duration = Duration::from_millis(10);

    fn reduction(arithmetic: Arithmetic, mode: Oscillation) -> OscillationReduction {
        let mut reduction = OscillationReduction::new(&Profile {
            arithmetic,
            oscillation: mode,
            oscillation_in_slow_start: OscillationInSlowStart::Exempt,
            ..Profile::rfc5348()
        });
        reduction.reduced_interval(Duration::from_millis(100), 0.01, IPI);
        reduction
    }

    #[test]
    fn a_doubled_round_trip_time_reduces_the_rate_by_the_root_of_two() {
        let doubled = Duration::from_millis(200);
        // Linux divides by the mean without the sample: sqrt(2), truncated.
        let kernel = reduction(Arithmetic::KernelIntegers, Oscillation::Full)
            .reduced_interval(doubled, 0.01, IPI)
            .as_secs_f64();
        assert!((kernel / 0.010 - 1.414).abs() < 1e-3, "{kernel}");
        // RFC 5348 §4.5, SQMEAN_FILTER, updates the mean first: sqrt(2) / (0.9 + 0.1·sqrt(2)).
        let rfc = reduction(Arithmetic::Float, Oscillation::Full)
            .reduced_interval(doubled, 0.01, IPI)
            .as_secs_f64();
        assert!((rfc / 0.010 - 1.357_97).abs() < 1e-4, "{rfc}");
    }

    #[test]
    fn modes_determine_direction_and_slow_start() {
        let (up, down) = (Duration::from_millis(150), Duration::from_millis(50));
        for (mode, p, longer, shorter) in [
            (Oscillation::Off, 0.01, false, false),
            (Oscillation::Full, 0.01, true, true),
            (Oscillation::IncreaseOnly, 0.01, true, false),
            (Oscillation::Full, 0.0, false, false),
        ] {
            for arithmetic in [Arithmetic::Float, Arithmetic::KernelIntegers] {
                let rises = reduction(arithmetic, mode).reduced_interval(up, p, IPI) > IPI;
                let falls = reduction(arithmetic, mode).reduced_interval(down, p, IPI) < IPI;
                assert_eq!((rises, falls), (longer, shorter), "{mode:?} {arithmetic:?}");
            }
        }
    }

    #[test]
    fn the_interval_never_exceeds_the_maximum_backoff() {
        for arithmetic in [Arithmetic::Float, Arithmetic::KernelIntegers] {
            let mut reduction = reduction(arithmetic, Oscillation::Full);
            let slow = reduction.reduced_interval(Duration::MAX, 0.01, MAX_BACKOFF);
            assert_eq!(slow, MAX_BACKOFF);
            assert!(reduction.reduced_interval(Duration::ZERO, 0.01, IPI) <= MAX_BACKOFF);
        }
    }

    #[test]
    fn the_kernels_first_packet_sets_the_mean_and_roots_are_scaled_by_1024() {
        // floor(sqrt(1024·3)) = 55 and floor(sqrt(1024·100)) = 320, of 0 µs and 4 µs 32 and 64:
        // t_ipi = floor(10 000·320/55) and 10 000·64/32 µs.
        for (seed, sample, micros) in [(3, 100, 58_181), (0, 4, 20_000)] {
            let mut reduction = OscillationReduction::new(&Profile {
                arithmetic: Arithmetic::KernelIntegers,
                ..Profile::rfc5348()
            });
            reduction.seed(Duration::from_micros(seed));
            reduction.seed(Duration::from_secs(1));
            let interval = reduction.reduced_interval(Duration::from_micros(sample), 0.01, IPI);
            assert_eq!(interval, Duration::from_micros(micros), "{seed}");
        }
        // RFC 5348 §4.5: the first sample is R_sqmean.
        let mut reduction = OscillationReduction::new(&Profile::rfc5348());
        reduction.seed(Duration::from_secs(1));
        let first = Duration::from_millis(100);
        assert_eq!(reduction.reduced_interval(first, 0.01, IPI), IPI);
    }
}
