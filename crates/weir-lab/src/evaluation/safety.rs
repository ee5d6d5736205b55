//! The limits that a controller must keep whatever others do: what it comes to for each, and why.

use super::case::{Bounds, SafetyLimit};
use super::measure::CandidateSample;
use crate::theory::significant;
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What came of a limit.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
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
    /// Judges the candidates. `reason` is why the first is known to break the limit.
    pub(super) fn new(
        limit: &SafetyLimit,
        reason: Option<&str>,
        candidates: &[CandidateSample],
    ) -> Self {
        let bounds = limit.bounds();
        let verdicts: Vec<_> = candidates.iter().map(|one| bounds.verdict(one)).collect();
        let failed = verdicts.first().is_some_and(|one| *one == Verdict::Failed);
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

/// What a controller does that breaks a limit: `sends 250 packets a round trip (at most 2)`.
fn fault(limit: &SafetyLimit, mean: Option<f64>) -> String {
    let value = mean.map_or("no value".to_owned(), |mean| significant(mean, 3));
    let bounds = limit.bounds().words();
    format!("{} ({bounds})", limit.fault.replace("{}", &value))
}
