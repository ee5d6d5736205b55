//! What a suite runs: cases and their safety limits.

use super::measure::CandidateSample;
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of the suite is run.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Less than a minute on two cores.
    #[default]
    Quick,
    /// A few minutes.
    Standard,
    /// The whole range of paths.
    Full,
}

impl Size {
    /// The names of the sizes.
    pub const NAMES: [&'static str; 3] = ["quick", "standard", "full"];

    /// The size of this name.
    pub fn named(name: &str) -> Option<Self> {
        let sizes = [Self::Quick, Self::Standard, Self::Full];
        let mut named = Self::NAMES.into_iter().zip(sizes);
        named
            .find(|(known, _)| *known == name)
            .map(|(_, size)| size)
    }
}

/// What the cases of a chapter are about; chapters stand in this order.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Aspect {
    /// Harm to the network, or to all others.
    Safety,
    /// What other flows get.
    Fairness,
    /// What the controller's own flows get.
    Performance,
}

impl Aspect {
    /// The word of pages.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Safety => "safety",
            Self::Fairness => "fairness",
            Self::Performance => "performance",
        }
    }
}

/// A scenario with values replaced, and what is measured in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it is, in words.
    pub words: String,
    /// The file of its scenario.
    pub scenario: String,
    /// Values as `--set` has them, one each.
    #[serde(default)]
    pub set: Vec<String>,
    /// The flows that have the controller under evaluation.
    #[serde(default = "subject")]
    pub subject: Vec<String>,
    /// The controller of the others.
    #[serde(default = "cubic")]
    pub rival: String,
    /// Only marks make it what it is: a flow without ECN would not notice.
    #[serde(default)]
    pub needs_ecn: bool,
    /// The least size of the suite that has it.
    #[serde(default)]
    pub size: Size,
    /// The names of its measures.
    pub measures: Vec<String>,
    /// Measures that are not judged, as the throughput of a flow whose duty is to give way.
    #[serde(default)]
    pub shown: Vec<String>,
    /// What a controller must not exceed, whatever others do.
    #[serde(default, rename = "limit")]
    pub limits: Vec<SafetyLimit>,
}

/// A bound that a controller must keep to be safe.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SafetyLimit {
    /// Its name.
    pub id: String,
    /// The measure, one of the case's.
    pub measure: String,
    /// The greatest mean, in the measure's unit.
    pub at_most: Option<f64>,
    /// The least mean, in the measure's unit.
    pub at_least: Option<f64>,
    /// What a controller does that breaks it: "sends {} packets a round trip", in which `{}` stands
    /// for the mean without its unit.
    pub fault: String,
}

impl SafetyLimit {
    pub(super) const fn bounds(&self) -> Bounds {
        Bounds {
            at_most: self.at_most,
            at_least: self.at_least,
        }
    }
}

fn subject() -> Vec<String> {
    vec!["subject".to_owned()]
}

fn cubic() -> String {
    "cubic".to_owned()
}

/// The bounds of a mean.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// The greatest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<f64>,
    /// The least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<f64>,
}

impl Bounds {
    /// A candidate that has no value in half of its runs or more fails too: nothing shows that it
    /// keeps the limit.
    pub(super) fn verdict(self, sample: &CandidateSample) -> Verdict {
        let has_value = 2 * sample.missing() < sample.runs.len();
        let keeps = |mean: f64| {
            self.at_most.is_none_or(|most| mean <= most)
                && self.at_least.is_none_or(|least| mean >= least)
        };
        if has_value && sample.mean.is_some_and(keeps) {
            Verdict::Passed
        } else {
            Verdict::Failed
        }
    }

    /// In words: `at most 2`.
    pub fn words(self) -> String {
        let bounds = [("at least", self.at_least), ("at most", self.at_most)].into_iter();
        let words = bounds.filter_map(|(word, value)| Some(format!("{word} {}", value?)));
        words.collect::<Vec<_>>().join(", ")
    }
}
