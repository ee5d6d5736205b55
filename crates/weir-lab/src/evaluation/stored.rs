//! An earlier evaluation as a baseline: the same measures of the same cases and seeds.

use super::judge::judge;
use super::{CandidateSample, CaseResult, Evaluation};
use std::collections::BTreeMap;
use thiserror::Error;

/// Why two evaluations cannot be compared. For people: lower case, no full stop.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoredError {
    /// The text is no `result.json` of an evaluation.
    #[error("no result of an evaluation: {0}")]
    Format(String),
    /// They do not have the same cases.
    #[error(
        "the two evaluations have other cases, or other scenarios for them; run both with one \
         version of weir, and with the same --size, --chapter, --rate, --rtt and --buffer"
    )]
    Suite,
    /// They do not have the same seeds.
    #[error("the evaluations have {0} and {1} seeds; run both with the same --seeds")]
    Seeds(u32, u32),
}

type Place<'a> = (&'a str, &'a str, &'a str);

impl Evaluation {
    /// Reads the `result.json` of an evaluation.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn from_json(text: &str) -> Result<Self, StoredError> {
        serde_json::from_str(text).map_err(|error| StoredError::Format(error.to_string()))
    }

    /// The same evaluation with the controller of another as one more that it is compared with.
    ///
    /// # Errors
    /// Cases or seeds that are not the same.
    pub fn with_stored(self, stored: &Self) -> Result<Self, StoredError> {
        self.with(stored, ", stored")
    }

    /// The same; `mark` follows the controller's name.
    pub(crate) fn with(mut self, stored: &Self, mark: &str) -> Result<Self, StoredError> {
        if self.suite != stored.suite {
            return Err(StoredError::Suite);
        }
        if self.seeds != stored.seeds {
            return Err(StoredError::Seeds(self.seeds, stored.seeds));
        }
        let Some(name) = stored.candidates.first() else {
            return Err(StoredError::Format("it has no controller".to_owned()));
        };
        let name = format!("{name}{mark}");
        let mut samples: BTreeMap<Place<'_>, &CandidateSample> = BTreeMap::new();
        let mut failed: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        for chapter in &stored.chapters {
            for case in &chapter.cases {
                let place = (chapter.chapter.id.as_str(), case.words.as_str());
                failed.insert(place, case.failed_runs.first().copied().unwrap_or_default());
                for result in &case.results {
                    let first = result.candidates.first();
                    let place = (place.0, place.1, result.name.as_str());
                    samples.extend(first.map(|sample| (place, sample)));
                }
            }
        }
        for chapter in &mut self.chapters {
            let id = chapter.chapter.id.as_str();
            for case in &mut chapter.cases {
                let words = case.words.clone();
                let runs = failed
                    .get(&(id, words.as_str()))
                    .ok_or(StoredError::Suite)?;
                case.failed_runs.push(*runs);
                for result in &mut case.results {
                    let place = (id, words.as_str(), result.name.as_str());
                    let sample = samples.get(&place).ok_or(StoredError::Suite)?;
                    let name = name.clone();
                    let sample = CandidateSample {
                        name,
                        ..(*sample).clone()
                    };
                    result.candidates.push(sample);
                }
                add_limits(case);
                judge(&mut case.results);
            }
        }
        self.candidates.push(name);
        Ok(self)
    }

    /// The same evaluation without those that the controller was compared with.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.candidates.truncate(1);
        for case in self.chapters.iter_mut().flat_map(|one| &mut one.cases) {
            case.failed_runs.truncate(1);
            case.limits
                .iter_mut()
                .for_each(|one| one.verdicts.truncate(1));
            for result in &mut case.results {
                result.candidates.truncate(1);
            }
            judge(&mut case.results);
        }
        self
    }
}

/// Judges the last candidate by the limits of the case.
fn add_limits(case: &mut CaseResult) {
    for limit in &mut case.limits {
        let mut results = case.results.iter();
        let result = results.find(|result| result.name == limit.measure);
        let last = result.and_then(|result| result.candidates.last());
        limit
            .verdicts
            .extend(last.map(|sample| limit.bounds.verdict(sample)));
    }
}
