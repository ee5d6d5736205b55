//! The limits that a controller must keep whatever others do: what it comes to for each, and why.

use super::measure::CandidateSample;
use super::suite::{SafetyLimit, Suite};
use crate::theory::significant;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// What came of a limit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LimitResult {
    /// Its name.
    pub id: String,
    /// The measure.
    pub measure: String,
    /// The bounds, in the measure's unit.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// Passed or failed, for each candidate.
    pub verdicts: Vec<Verdict>,
    /// What the controller does, if it breaks the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Why, if it is a controller of which that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

impl LimitResult {
    /// Judges the candidates. `controller` is the name of the first in the registry.
    pub(super) fn new(
        suite: &Suite,
        limit: &SafetyLimit,
        controller: Option<&str>,
        candidates: &[CandidateSample],
    ) -> Self {
        let bounds = limit.bounds();
        let verdicts: Vec<_> = candidates.iter().map(|one| bounds.verdict(one)).collect();
        let failed = verdicts.first().is_some_and(|one| *one == Verdict::Failed);
        let reason = controller.and_then(|controller| suite.reason(controller, &limit.id));
        let mean = candidates.first().and_then(|one| one.mean);
        Self {
            id: limit.id.clone(),
            measure: limit.measure.clone(),
            bounds,
            verdicts,
            fault: failed.then(|| fault(limit, mean)),
            known: reason.filter(|_| failed).map(str::to_owned),
        }
    }
}

/// The bounds of a mean.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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

/// What a controller does that breaks a limit: `sends 250 packets a round trip (at most 2)`.
fn fault(limit: &SafetyLimit, mean: Option<f64>) -> String {
    let value = mean.map_or("no value".to_owned(), |mean| significant(mean, 3));
    let bounds = limit.bounds().words();
    format!("{} ({bounds})", limit.otherwise.replace("{}", &value))
}
