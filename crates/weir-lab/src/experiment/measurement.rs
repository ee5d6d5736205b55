//! The measurement of one row: a number, or one number for each seed.

use super::series::quantile;
use crate::replication::Sample;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The values of a row, in base units; `None` for a run without the value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Measurement {
    /// One value, of one run, of a formula, or of several runs that were all equal.
    One(Option<f64>),
    /// The values of the distinct runs, by the index of the seed.
    Seeds(BTreeMap<usize, Option<f64>>),
}

/// The distribution of a row's values over seeds, in the row's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Seeds {
    /// How many runs there are.
    pub runs: usize,
    /// The number of runs with a value; the mean is computed over these.
    pub with_value: usize,
    /// Standard deviation of the single runs (n − 1).
    pub standard_deviation: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
    /// The 95 % confidence interval of the mean, by Student's t.
    pub interval_95: [f64; 2],
    /// The lower and upper limit of the central 95 % of the single runs. A run without the value is
    /// above all others.
    pub band_95: [f64; 2],
    /// The share of single runs inside the tolerance, from 0 to 1.
    pub share_within: Option<f64>,
    /// The percentile at which the published or expected value lies among the single runs, from 0
    /// to 100.
    pub percentile: Option<f64>,
}

impl Seeds {
    /// True if a value is within the central 95 % of the single runs.
    pub(super) fn holds(&self, value: f64) -> bool {
        self.band_95[0] <= value && value <= self.band_95[1]
    }
}

impl Measurement {
    /// The number, or the mean over the runs that have a value.
    pub(super) fn value(&self) -> Option<f64> {
        match self {
            Self::One(value) => *value,
            Self::Seeds(_) => self.present().mean(),
        }
    }

    /// The existing values in the order of the seeds.
    pub(super) fn present(&self) -> Sample {
        match self {
            Self::One(value) => value.iter().copied().collect(),
            Self::Seeds(values) => values.values().flatten().copied().collect(),
        }
    }

    /// The number of runs.
    pub(super) fn runs(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Seeds(values) => values.len(),
        }
    }

    /// True if every run has a value.
    pub(super) fn is_complete(&self) -> bool {
        self.present().n() == self.runs()
    }

    /// Converts the values to a unit: divides them by its size in base units.
    pub(super) fn in_unit(&self, scale: f64) -> Self {
        self.map(|value| value.map(|value| value / scale))
    }

    fn map(&self, change: impl Fn(Option<f64>) -> Option<f64>) -> Self {
        match self {
            Self::One(value) => Self::One(change(*value)),
            Self::Seeds(values) => {
                let changed = values.iter().map(|(seed, value)| (*seed, change(*value)));
                Self::Seeds(changed.collect())
            }
        }
    }

    /// Combines two measurements value by value: runs of the same seed are paired, and a single
    /// number is paired with every run.
    pub(super) fn paired(&self, other: &Self, join: impl Fn(f64, f64) -> f64) -> Self {
        let join = |a: Option<f64>, b: Option<f64>| {
            let value = join(a?, b?);
            value.is_finite().then_some(value)
        };
        match (self, other) {
            (Self::One(a), _) => other.map(|b| join(*a, b)),
            (_, Self::One(b)) => self.map(|a| join(a, *b)),
            (Self::Seeds(a), Self::Seeds(b)) => {
                let both = a
                    .iter()
                    .filter_map(|(seed, a)| Some((seed, *a, *b.get(seed)?)));
                Self::Seeds(both.map(|(seed, a, b)| (*seed, join(a, b))).collect())
            }
        }
    }

    /// The distribution, if at least two runs have a value. `inside` returns true for a single
    /// value within the row's tolerance.
    pub(super) fn distribution(
        &self,
        target: Option<f64>,
        inside: Option<impl Fn(f64) -> bool>,
    ) -> Option<Seeds> {
        let Self::Seeds(values) = self else {
            return None;
        };
        let (present, runs) = (self.present(), self.runs());
        let interval = present.interval_95()?;
        // A run without the value, such as an event that did not occur, is above all others.
        let beyond = values.values().map(|value| value.unwrap_or(f64::INFINITY));
        let all: Sample = beyond.collect();
        let mut sorted = all.values().to_vec();
        sorted.sort_by(f64::total_cmp);
        let share = |inside: &dyn Fn(f64) -> bool| {
            let within = present.values().iter().filter(|value| inside(**value));
            within.count() as f64 / runs as f64
        };
        Some(Seeds {
            runs,
            with_value: present.n(),
            standard_deviation: present.standard_deviation()?,
            standard_error: present.standard_error()?,
            interval_95: [interval.low, interval.high],
            band_95: [quantile(&sorted, 0.025)?, quantile(&sorted, 0.975)?],
            share_within: inside.map(|inside| share(&inside)),
            percentile: target.and_then(|target| all.percentile_of(target)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds(values: &[Option<f64>]) -> Measurement {
        Measurement::Seeds(values.iter().copied().enumerate().collect())
    }

    #[test]
    fn a_distribution_says_where_the_published_value_lies() {
        let sample = seeds(&[Some(1.0), Some(2.0), Some(3.0), Some(6.0)]);
        let found = sample
            .distribution(Some(3.0), Some(|value| value < 2.5))
            .unwrap();
        // Mean 3, squares 4 + 1 + 0 + 9 = 14, variance 14/3.
        assert_eq!(sample.value(), Some(3.0));
        assert!((found.standard_deviation - (14.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((found.standard_error - (14.0_f64 / 12.0).sqrt()).abs() < 1e-12);
        assert_eq!(found.share_within, Some(0.5));
        // Two values are below, and half of the equal one counts.
        assert_eq!(found.percentile, Some(62.5));
    }

    #[test]
    fn a_run_without_the_value_counts_as_beyond_it() {
        let sample = seeds(&[Some(1.0), None, Some(3.0)]);
        let found = sample.distribution(Some(2.0), Some(|_: f64| true)).unwrap();
        assert!(!sample.is_complete());
        assert_eq!((found.runs, found.with_value), (3, 2));
        assert_eq!(found.share_within, Some(2.0 / 3.0));
        assert_eq!(found.percentile, Some(100.0 / 3.0));
        assert_eq!(found.band_95[1], f64::INFINITY);
    }

    #[test]
    fn the_band_of_many_seeds_holds_the_middle_95_per_cent() {
        let values: Vec<_> = (0..=200)
            .map(|number| Some(f64::from(200 - number)))
            .collect();
        let found = seeds(&values)
            .distribution(None, None::<fn(f64) -> bool>)
            .unwrap();
        assert_eq!(found.band_95, [5.0, 195.0]);
        assert!(found.holds(195.0) && !found.holds(195.1));
        // The variance of 0..=200 with n − 1 is (201² − 1)/12 · 201/200 = 3383.5.
        assert!((found.standard_error - (3383.5_f64 / 201.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn runs_of_the_same_seed_are_pairs() {
        let a = seeds(&[Some(2.0), Some(8.0), None]);
        let b = seeds(&[Some(1.0), Some(4.0), Some(0.0)]);
        let ratio = |a: f64, b: f64| a / b;
        assert_eq!(a.paired(&b, ratio), seeds(&[Some(2.0), Some(2.0), None]));
        let one = Measurement::One(Some(2.0));
        assert_eq!(a.paired(&one, ratio), seeds(&[Some(1.0), Some(4.0), None]));
        assert_eq!(one.paired(&b, ratio), seeds(&[Some(2.0), Some(0.5), None]));
        assert_eq!(
            one.paired(&Measurement::One(Some(0.0)), ratio),
            Measurement::One(None)
        );
        assert_eq!(one.distribution(Some(1.0), Some(|_: f64| true)), None);
    }
}
