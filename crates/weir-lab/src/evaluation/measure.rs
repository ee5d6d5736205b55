//! Measures: how a number is taken from the summary of a run, and what it came to over all runs.

use super::sample_of;
use crate::replication::{Interval, Sample};
use crate::summary::{Better, Number, numbers};
use serde::{Deserialize, Serialize};

/// A measure of the suite. What it leaves out is as the summary declares it, if it is a number of
/// the summary and not computed from several.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MeasurePlan {
    /// What it is, in words.
    pub(super) words: String,
    /// Where it stands in the summary.
    pub(super) value: String,
    /// The unit that it is converted to; empty for a plain number.
    unit: Option<String>,
    /// The direction in which it improves.
    better: Option<Better>,
    /// The least difference that counts, in the unit.
    #[serde(default)]
    pub(super) floor: f64,
}

impl MeasurePlan {
    /// The number of the summary that it is.
    fn number(&self) -> Option<&'static Number> {
        let (list, rest) = self.value.split_once('.')?;
        let of_name = rest.split_once('.').map(|(_, path)| path);
        numbers().find(|number| {
            number.list == list && (number.path == rest || Some(&*number.path) == of_name)
        })
    }

    fn declared_unit(&self) -> &'static str {
        self.number().map_or("", |number| number.unit)
    }

    pub(super) fn unit(&self) -> &str {
        self.unit.as_deref().unwrap_or(self.declared_unit())
    }

    pub(super) fn better(&self) -> Better {
        let declared = || self.number().map(|number| number.better);
        self.better.or_else(declared).unwrap_or_default()
    }

    /// The factor that converts the number of the summary to the unit.
    ///
    /// # Errors
    /// A unit to which it cannot be converted.
    pub(super) fn scale(&self) -> Result<f64, String> {
        match (self.declared_unit(), self.unit()) {
            (declared, unit) if declared == unit => Ok(1.0),
            ("bit/s", "Mbit/s") => Ok(1e-6),
            ("s", "ms") => Ok(1e3),
            ("", "%") => Ok(100.0),
            // A quotient of equal units.
            ("", "times") => Ok(1.0),
            (declared, unit) => Err(format!(
                "\"{}\" is in \"{declared}\", which cannot be shown in \"{unit}\"",
                self.value
            )),
        }
    }
}

/// A number of a summary, or a quotient or difference of such: `A`, `A / B`, `A - B / C`, where
/// the difference comes first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    /// JSON pointers of what is added and of what is taken away.
    over: Vec<String>,
    /// The JSON pointer of what the difference is divided by.
    under: Option<String>,
}

impl Value {
    /// Reads the words of the suite.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let pointer = |path: &str| {
            let path = path.trim();
            let is_path = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            if path.is_empty() || !path.chars().all(is_path) {
                return Err(format!("\"{text}\" is no value"));
            }
            Ok(format!("/{}", path.replace('.', "/")))
        };
        let (over, under) = match text.split_once(" / ") {
            Some((over, under)) => (over, Some(pointer(under)?)),
            None => (text, None),
        };
        let over = over.split(" - ").map(pointer).collect::<Result<_, _>>()?;
        Ok(Self { over, under })
    }

    /// The value in a summary; `None` if a number is missing or what it is divided by is zero.
    pub(super) fn of(&self, summary: &serde_json::Value) -> Option<f64> {
        let number = |pointer: &String| summary.pointer(pointer)?.as_f64();
        let mut difference = number(self.over.first()?)?;
        for less in &self.over[1..] {
            difference -= number(less)?;
        }
        match &self.under {
            None => Some(difference),
            Some(under) => number(under)
                .filter(|divisor| *divisor != 0.0)
                .map(|divisor| difference / divisor),
        }
    }
}

/// What a measure came to for one controller.
#[derive(Clone, Debug, Serialize)]
pub struct CandidateSample {
    /// The controller.
    pub name: String,
    /// A value a seed, in the measure's unit; `None` where the run has none, as with the time of a
    /// transfer that did not end.
    pub runs: Vec<Option<f64>>,
    /// The mean of those that have one.
    pub mean: Option<f64>,
    /// The 95 % confidence interval of the mean, from and to; `None` with fewer than two.
    pub interval_95: Option<(f64, f64)>,
}

impl CandidateSample {
    pub(super) fn new(name: &str, mut runs: Vec<Option<f64>>, scale: f64) -> Self {
        for value in runs.iter_mut().flatten() {
            *value *= scale;
        }
        let sample = sample_of(&runs);
        let ends = |Interval { low, high }| (low, high);
        Self {
            name: name.to_owned(),
            mean: sample.mean(),
            interval_95: sample.interval_95().map(ends),
            runs,
        }
    }

    /// Runs without a value.
    pub fn missing(&self) -> usize {
        self.runs.iter().filter(|value| value.is_none()).count()
    }

    /// The differences of this one's runs from another's of the same seeds.
    pub(super) fn differences(&self, other: &Self, of: impl Fn(f64) -> f64) -> Sample {
        let pairs = self.runs.iter().zip(&other.runs);
        let both = pairs.filter_map(|(a, b)| Some(of((*a)?) - of((*b)?)));
        both.collect()
    }
}
