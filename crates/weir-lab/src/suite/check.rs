//! A check: what must hold of the run of a case, and whether it does.

use super::evidence::{Evidence, Span};
use crate::run::columns::is_of_model;
use crate::scenario::Expectation;
use crate::scenario::expectation::{Moment, Reference, Subject, Take, TraceMeasure};
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;
use weir_proto::time::Duration;

/// One entry of `[[case.check]]`.
#[derive(Clone, Debug)]
pub(super) struct Check {
    /// What must be so, in words.
    pub(super) says: String,
    /// The section that says so.
    pub(super) section: String,
    /// The same as an expression.
    pub(super) expect: Expectation,
    /// The only transports of which it is so; empty for all.
    pub(super) transports: Vec<&'static str>,
    /// True if it is so on the case's own path alone.
    pub(super) own_path: bool,
}

/// What a check reads of a controller.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reads {
    /// What any sender shows: packets, times, its window and its pacing rate.
    Behaviour,
    /// The states that it names.
    States,
    /// Its model of the path.
    Model,
}

impl Reads {
    /// The word of tables.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Behaviour => "behaviour",
            Self::States => "states",
            Self::Model => "model",
        }
    }
}

/// What a check came to.
#[derive(Clone, Debug, Serialize, PartialEq, JsonSchema)]
pub struct CheckResult {
    /// What must be so.
    pub says: String,
    /// The section that says so.
    pub section: String,
    /// What it reads.
    pub reads: Reads,
    /// Whether it is.
    pub verdict: Verdict,
    /// The measured value, in the check's unit.
    pub measured: Option<f64>,
    /// The least value that passes.
    pub min: Option<f64>,
    /// The greatest value that passes.
    pub max: Option<f64>,
    /// The unit of the value.
    pub unit: String,
}

impl CheckResult {
    /// The measured value against its bounds.
    pub fn text(&self) -> String {
        let number = |value: f64| crate::theory::significant(value, 4);
        let measured = match self.measured {
            Some(f64::INFINITY) => "there is no bound".to_owned(),
            Some(value) => format!("measured {}{}", number(value), self.unit),
            None if self.verdict == Verdict::NotObservable => return "not observable".to_owned(),
            None => "it never came".to_owned(),
        };
        let bound = match (self.min, self.max) {
            (Some(min), Some(max)) => format!("expected {} to {}", number(min), number(max)),
            (Some(min), None) => format!("expected at least {}", number(min)),
            (None, Some(max)) => format!("expected at most {}", number(max)),
            (None, None) => return measured,
        };
        format!("{measured}, {bound}")
    }
}

/// What a measure found.
enum Found {
    Value(f64),
    /// What is measured never happened.
    Nothing,
    /// The controller does not show it.
    NotObservable,
}

impl From<Option<f64>> for Found {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Nothing, Self::Value)
    }
}

impl Check {
    /// Judges a run in which the case's change came at `trigger`.
    pub(super) fn judge(&self, evidence: &Evidence, trigger: Duration) -> CheckResult {
        let reference = self.expect.reference.as_ref();
        let found = match self.measure(evidence, trigger) {
            Found::Value(value) => {
                Found::Value(value / reference.map_or(1.0, |one| evidence.reference(one)))
            }
            other => other,
        };
        let (verdict, measured) = match found {
            Found::Value(value) if self.expect.holds(value) => (Verdict::Passed, Some(value)),
            Found::Value(value) => (Verdict::Failed, Some(value)),
            Found::Nothing => (Verdict::Failed, None),
            Found::NotObservable => (Verdict::NotObservable, None),
        };
        let [min, max] = self.expect.limits();
        CheckResult {
            says: self.says.clone(),
            section: self.section.clone(),
            reads: self.reads(),
            verdict,
            measured,
            min,
            max,
            unit: reference.map_or_else(String::new, Reference::unit),
        }
    }

    fn reads(&self) -> Reads {
        match &self.expect.subject {
            Subject::Trace(TraceMeasure::Column(column, ..)) if is_of_model(column) => Reads::Model,
            _ if self.expect.when.during.is_some() => Reads::States,
            _ => Reads::Behaviour,
        }
    }

    fn measure(&self, evidence: &Evidence, trigger: Duration) -> Found {
        let measure = match &self.expect.subject {
            Subject::Summary(term) => {
                let found = term.of(&evidence.summary);
                return found.into_iter().find_map(|(_, value)| value).into();
            }
            Subject::Trace(measure) => measure,
        };
        let when = &self.expect.when;
        let time = |moment: Moment| moment.time(trigger).as_secs_f64();
        let window = Span {
            from: when.from.map_or(0.0, time),
            until: when.until.map_or(f64::INFINITY, time),
        };
        let Some(state) = &when.during else {
            return over(measure, evidence, &[window], None);
        };
        if !evidence.has_states() {
            return Found::NotObservable;
        }
        let mut visits = evidence.visits(state, window);
        match measure {
            TraceMeasure::Visits => return Found::Value(visits.len() as f64),
            TraceMeasure::TimeShare => return evidence.time_share(state, window).into(),
            TraceMeasure::FollowedBy(next) => {
                return Found::Value(evidence.followed_by(state, next, window) as f64);
            }
            TraceMeasure::Column(..) | TraceMeasure::Goodput if when.visit.is_none() => {
                visits = evidence.stays(state, window);
            }
            _ => {}
        }
        if let Some(visit) = when.visit {
            let one = visit.checked_sub(1).and_then(|at| visits.get(at).copied());
            visits = one.into_iter().collect();
        }
        over(measure, evidence, &visits, Some(state))
    }
}

/// Of a measure in these spans of time.
fn over(measure: &TraceMeasure, evidence: &Evidence, spans: &[Span], state: Option<&str>) -> Found {
    if spans.is_empty() {
        return Found::Nothing;
    }
    let lengths = spans.iter().map(|span| (span.until - span.from, 1.0));
    match measure {
        TraceMeasure::Entry(take) => taken(*take, spans.iter().map(|span| (span.from, 1.0))),
        // What has not ended at the end of the run says nothing of its length.
        TraceMeasure::Duration(take) => {
            let ended = spans.iter().zip(lengths);
            let ended = ended.filter(|(span, _)| span.until < evidence.end_s());
            taken(*take, ended.map(|(_, length)| length))
        }
        TraceMeasure::Goodput => evidence.goodput_bps(spans).into(),
        TraceMeasure::Column(column, _, take) if evidence.shows(column) => {
            let values = spans
                .iter()
                .flat_map(|span| evidence.values(column, *span, state));
            taken(*take, values)
        }
        _ => Found::NotObservable,
    }
}

/// Of values with their weights.
fn taken(take: Take, values: impl Iterator<Item = (f64, f64)>) -> Found {
    let values: Vec<(f64, f64)> = values.filter(|(value, _)| !value.is_nan()).collect();
    let each = values.iter().map(|(value, _)| *value);
    let value = match take {
        Take::Max => each.reduce(f64::max),
        Take::Min => each.reduce(f64::min),
        Take::First => values.first().map(|(value, _)| *value),
        Take::Last => values.last().map(|(value, _)| *value),
        Take::Mean => {
            let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
            let sum: f64 = values.iter().map(|(value, weight)| value * weight).sum();
            (weight > 0.0).then_some(sum / weight)
        }
    };
    value.into()
}
