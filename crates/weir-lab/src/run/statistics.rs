//! Distributions: of samples, and of a value over time.

use super::summary::{MeanCov, RttSummary};
use weir_proto::time::Instant;

/// Samples in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples {
    samples: Vec<u64>,
}

impl Samples {
    pub(super) fn push(&mut self, nanos: u64) {
        self.samples.push(nanos);
    }

    /// The distribution in seconds; `None` without a sample.
    pub(super) fn summary(mut self) -> Option<RttSummary> {
        self.samples.sort_unstable();
        let (first, last) = (*self.samples.first()?, *self.samples.last()?);
        let count = self.samples.len();
        // Exact sums of integers do not depend on the order of samples.
        let sum: u128 = self.samples.iter().map(|&n| u128::from(n)).sum();
        let mean = sum as f64 / count as f64;
        let squares: f64 = self
            .samples
            .iter()
            .map(|&n| (n as f64 - mean) * (n as f64 - mean))
            .sum();
        // Nearest rank: the smallest sample that `percent` of all samples do not exceed.
        let rank = |percent: usize| {
            let index = (count * percent).div_ceil(100).saturating_sub(1);
            self.samples.get(index).copied().unwrap_or(last) as f64 / 1e9
        };
        Some(RttSummary {
            min: first as f64 / 1e9,
            mean: mean / 1e9,
            p50: rank(50),
            p95: rank(95),
            max: last as f64 / 1e9,
            stddev: (squares / count as f64).sqrt() / 1e9,
        })
    }
}

/// A value that holds until the next one, from a start on.
///
/// Mean and variance by West's weighted update, which stays exact when the value hardly varies.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TimeWeighted {
    value: Option<f64>,
    since: Instant,
    weight: f64,
    mean: f64,
    squares: f64,
}

impl TimeWeighted {
    /// The value from `at` on; time before `start` has no weight.
    pub(super) fn set(&mut self, at: Instant, start: Instant, value: f64) {
        self.since = self.since.max(start);
        self.advance(at);
        self.value = Some(value);
        self.since = at.max(start);
    }

    /// Counts the present value up to `at`.
    pub(super) fn advance(&mut self, at: Instant) {
        let weight = at.since(self.since).as_secs_f64();
        self.since = self.since.max(at);
        let Some(value) = self.value.filter(|_| weight > 0.0) else {
            return;
        };
        self.weight += weight;
        let distance = value - self.mean;
        self.mean += distance * weight / self.weight;
        self.squares += weight * distance * (value - self.mean);
    }

    /// `None` if there was never a value.
    pub(super) fn summary(&self) -> Option<MeanCov> {
        if self.weight <= 0.0 {
            return None;
        }
        let deviation = (self.squares / self.weight).max(0.0).sqrt();
        Some(MeanCov {
            mean: self.mean,
            cov: if self.mean > 0.0 {
                deviation / self.mean
            } else {
                0.0
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut spread = Samples::default();
        for n in (1..=100_u64).rev() {
            spread.push(n * 1_000_000_000);
        }
        let summary = spread.summary().unwrap();
        assert_eq!((summary.min, summary.max), (1.0, 100.0));
        assert_eq!((summary.p50, summary.p95), (50.0, 95.0));
        assert_eq!(summary.mean, 50.5);
        // Variance of 1..n is (n^2 - 1) / 12.
        assert!((summary.stddev - (9999.0_f64 / 12.0).sqrt()).abs() < 1e-12);
        assert_eq!(Samples::default().summary(), None);
    }

    #[test]
    fn values_weigh_as_long_as_they_hold_and_not_before_the_warmup() {
        let at = |secs: u64| Instant::from_nanos(secs * 1_000_000_000);
        let mut rate = TimeWeighted::default();
        rate.set(at(0), at(2), 1000.0);
        rate.set(at(1), at(2), 10.0);
        // From 2 s: 10 for 3 s, then 30 for 1 s.
        rate.set(at(5), at(2), 30.0);
        rate.advance(at(6));
        let cov = rate.summary().unwrap();
        assert_eq!(cov.mean, 15.0);
        assert!((cov.cov - 75.0_f64.sqrt() / 15.0).abs() < 1e-12);
    }
}
