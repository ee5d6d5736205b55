//! Distributions of samples, and of a value over time.

use super::measure::measures;
use weir_net::histogram::Histogram;
use weir_proto::time::Instant;

measures! {
    /// A distribution. Percentiles are by nearest rank, the deviation is that of the population.
    #[derive(Copy)]
    pub struct Distribution {
        /// Smallest.
        pub min: f64,
        /// Mean.
        pub mean: f64,
        /// Median.
        pub p50: f64,
        /// 95th percentile.
        pub p95: f64,
        /// 99th percentile.
        #[serde(default)]
        pub p99: f64,
        /// Largest.
        pub max: f64,
        /// Standard deviation.
        pub stddev: f64,
    }
}

measures! {
    /// Mean and coefficient of variation over time.
    #[derive(Copy)]
    pub struct MeanCov {
        /// Mean.
        pub mean: f64,
        /// Coefficient of variation, 0 for a mean of 0.
        pub cov: f64 => unit(""),
    }
}

/// The sum of values; 0 for no values, where [`Iterator::sum`] gives -0.
pub(crate) fn total(values: impl Iterator<Item = f64>) -> f64 {
    values.sum::<f64>() + 0.0
}

impl Distribution {
    /// The distribution of these values; `None` without a value.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let count = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / count;
        let squares = sorted.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
        let rank = |percent| sorted[nearest_rank(sorted.len(), percent)];
        Some(Self {
            min,
            mean,
            p50: rank(50),
            p95: rank(95),
            p99: rank(99),
            max,
            stddev: (squares / count).sqrt(),
        })
    }

    /// The distribution in seconds of values in nanoseconds; `None` without a sample.
    pub(crate) fn of_histogram(histogram: &Histogram) -> Option<Self> {
        let percentile = |percent| Some(histogram.percentile(percent)? as f64 / 1e9);
        Some(Self {
            min: histogram.min()? as f64 / 1e9,
            mean: histogram.mean()? / 1e9,
            p50: percentile(50)?,
            p95: percentile(95)?,
            p99: percentile(99)?,
            max: histogram.max()? as f64 / 1e9,
            stddev: histogram.standard_deviation()? / 1e9,
        })
    }
}

/// The index of a percentile among this many sorted values, by nearest rank.
fn nearest_rank(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).saturating_sub(1)
}

/// Samples in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    samples: Vec<u64>,
}

impl Samples {
    pub(crate) fn push(&mut self, nanos: u64) {
        self.samples.push(nanos);
    }

    /// The distribution in seconds; `None` without a sample.
    pub(crate) fn summary(mut self) -> Option<Distribution> {
        self.samples.sort_unstable();
        let (first, last) = (*self.samples.first()?, *self.samples.last()?);
        let count = self.samples.len();
        // Integer sums are exact and do not depend on the order of samples.
        let sum: u128 = self.samples.iter().map(|&n| u128::from(n)).sum();
        let mean = sum as f64 / count as f64;
        let squares: f64 = self
            .samples
            .iter()
            .map(|&n| (n as f64 - mean) * (n as f64 - mean))
            .sum();
        let rank = |percent| self.samples[nearest_rank(count, percent)] as f64 / 1e9;
        Some(Distribution {
            min: first as f64 / 1e9,
            mean: mean / 1e9,
            p50: rank(50),
            p95: rank(95),
            p99: rank(99),
            max: last as f64 / 1e9,
            stddev: (squares / count as f64).sqrt() / 1e9,
        })
    }
}

/// Statistics of a value that holds until the next one, since a start time.
///
/// Mean and variance by West's weighted update, which stays accurate when the value hardly varies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimeWeighted {
    value: Option<f64>,
    since: Instant,
    weight: f64,
    mean: f64,
    squares: f64,
}

impl TimeWeighted {
    /// Sets the value from `at` on; time before `start` has no weight.
    pub(crate) fn set(&mut self, at: Instant, start: Instant, value: f64) {
        self.since = self.since.max(start);
        self.advance(at);
        self.value = Some(value);
        self.since = at.max(start);
    }

    /// Counts the current value up to `at`.
    pub(crate) fn advance(&mut self, at: Instant) {
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

    /// Mean and coefficient of variation; `None` if no value was set.
    pub(crate) fn summary(&self) -> Option<MeanCov> {
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
#[path = "statistics_tests.rs"]
mod tests;
