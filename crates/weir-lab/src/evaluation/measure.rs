//! Measures: how a number is taken from the summary of a run, and what it came to over all runs.

use super::sample_of;
use crate::replication::{Interval, Sample};
use crate::scenario::Term;
use crate::summary::{Better, Number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_proto::settings::Diagnostic;

/// A measure of the suite. What it leaves out is as the summary declares it, if it is a number of
/// the summary and not computed from several.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MeasurePlan {
    /// What it is, in words.
    pub(super) words: String,
    /// The number of the summary, or what is computed from several.
    pub(super) value: String,
    #[serde(skip)]
    term: Option<Term>,
    /// The unit that it is converted to; empty for a plain number.
    unit: Option<String>,
    /// The direction in which it improves.
    better: Option<Better>,
    /// The least difference that counts, in the unit.
    #[serde(default)]
    pub(super) floor: f64,
    /// What the value is divided by, such as the round trips of the time that is measured.
    per: Option<f64>,
    /// The measure of losses beside which a better value is no merit.
    pub(super) unless: Option<String>,
}

impl MeasurePlan {
    /// Reads the value and the unit.
    ///
    /// # Errors
    /// What is wrong, at its key.
    pub(super) fn check(&mut self) -> Result<(), (&'static str, Diagnostic)> {
        self.term = Some(Term::parse(&self.value).map_err(|wrong| ("value", wrong))?);
        if let Some(per) = self.per.filter(|per| !(per.is_finite() && *per > 0.0)) {
            let message = format!("{per} is no number above zero");
            let help = "write the number that the value is divided by";
            return Err(("per", Diagnostic::new(message, help)));
        }
        let known = "write a unit to which it can be converted, or leave it out";
        let wrong = |message| ("unit", Diagnostic::new(message, known));
        self.scale().map(drop).map_err(wrong)
    }

    /// The value in the summary of a run as JSON.
    pub(super) fn of(&self, summary: &serde_json::Value) -> Option<f64> {
        let values = self.term.as_ref()?.of(summary);
        values.into_iter().find_map(|(_, value)| value)
    }

    /// The number of the summary that it is.
    fn number(&self) -> Option<&'static Number> {
        self.term.as_ref()?.single()?.declared()
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
        Ok(self.factor()? / self.per.unwrap_or(1.0))
    }

    fn factor(&self) -> Result<f64, String> {
        match (self.declared_unit(), self.unit()) {
            (declared, unit) if declared == unit => Ok(1.0),
            ("bit/s", "Mbit/s") => Ok(1e-6),
            ("s", "ms") => Ok(1e3),
            ("", "%") => Ok(100.0),
            // The unit of a quotient is not declared anywhere.
            _ if self.per.is_some() => Ok(1.0),
            // A quotient of equal units.
            ("", "times") => Ok(1.0),
            (declared, unit) => Err(format!(
                "\"{}\" is in \"{declared}\", which cannot be shown in \"{unit}\"",
                self.value
            )),
        }
    }
}

/// What a measure came to for one controller.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
