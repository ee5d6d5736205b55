//! A check: what is measured of a run, and within which bounds it must lie.

use super::evidence::{Evidence, Span};
use serde::{Deserialize, Serialize};
use weir_proto::time::Duration;
use weir_proto::units::{parse_duration, parse_rate};

/// What is taken of the values of a column.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Take {
    #[default]
    Max,
    Min,
    /// Over time.
    Mean,
    First,
    Last,
}

/// One entry of `[[case.check]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    /// What must be so, in words.
    pub(super) says: String,
    /// The section that says so.
    #[serde(default)]
    pub(super) section: String,
    /// What is measured: a column of `flows/NAME`; `goodput_bps`, `lost_share` or `visits`;
    /// `entry_s`, `duration_s` or `time_share` of a state; `followed_by`.
    pub(super) measure: String,
    /// The state in which the value counts; at all times if absent.
    pub(super) during: Option<String>,
    /// Which visit of the state, from 1 on; each if absent.
    pub(super) visit: Option<usize>,
    /// With `followed_by`: the state that must follow.
    pub(super) next: Option<String>,
    #[serde(default)]
    pub(super) take: Take,
    /// From this time of the run on.
    pub(super) from: Option<String>,
    /// Up to this time of the run.
    pub(super) until: Option<String>,
    /// What the value is a multiple of: `link`, `bdp`, `rtt`, or a rate.
    pub(super) of: Option<String>,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
}

/// Whether a check or a case holds.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Passed,
    /// The controller does not show what is measured.
    NotObservable,
    /// It does not hold.
    Failed,
}

impl Verdict {
    /// In words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::NotObservable => "not observable",
            Self::Failed => "failed",
        }
    }
}

/// What a check came to.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct CheckResult {
    /// What must be so.
    pub says: String,
    /// The section that says so.
    pub section: String,
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

impl Check {
    /// What is wrong with it.
    pub(super) fn validate(&self) -> Result<(), String> {
        let needs_state = [
            "entry_s",
            "duration_s",
            "visits",
            "time_share",
            "followed_by",
        ];
        if needs_state.contains(&self.measure.as_str()) && self.during.is_none() {
            return Err(format!("\"{}\" needs a state: write during", self.measure));
        }
        if self.measure == "followed_by" && self.next.is_none() {
            return Err("\"followed_by\" needs a state: write next".to_owned());
        }
        if self.min.is_none() && self.max.is_none() {
            return Err(format!("\"{}\" has no bound: write min or max", self.says));
        }
        self.window().map(|_| ())
    }

    fn window(&self) -> Result<Span, String> {
        let time = |text: &Option<String>, otherwise: f64| match text {
            None => Ok(otherwise),
            Some(text) => parse_duration(text)
                .map(Duration::as_secs_f64)
                .map_err(|error| error.to_string()),
        };
        Ok(Span {
            from: time(&self.from, 0.0)?,
            until: time(&self.until, f64::INFINITY)?,
        })
    }

    /// Judges a run.
    pub(super) fn judge(&self, evidence: &Evidence) -> CheckResult {
        let (found, unit) = match self.reference(evidence) {
            Ok((reference, unit)) => match self.measure(evidence) {
                Found::Value(value) => (Found::Value(value / reference), unit),
                other => (other, unit),
            },
            Err(_) => (Found::NotObservable, String::new()),
        };
        let within = |value: f64| {
            self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max)
        };
        let (verdict, measured) = match found {
            Found::Value(value) if within(value) => (Verdict::Passed, Some(value)),
            Found::Value(value) => (Verdict::Failed, Some(value)),
            Found::Nothing => (Verdict::Failed, None),
            Found::NotObservable => (Verdict::NotObservable, None),
        };
        CheckResult {
            says: self.says.clone(),
            section: self.section.clone(),
            verdict,
            measured,
            min: self.min,
            max: self.max,
            unit,
        }
    }

    /// What the value is divided by, and how the quotient is written.
    fn reference(&self, evidence: &Evidence) -> Result<(f64, String), String> {
        let share = evidence.octet_share;
        Ok(match self.of.as_deref() {
            None => (1.0, String::new()),
            Some("link") => (evidence.rate_bps * share, " of the link".to_owned()),
            Some("bdp") => {
                let bdp = evidence.rate_bps * share * evidence.rtt_s / 8.0;
                (bdp, " BDP".to_owned())
            }
            Some("rtt") => (evidence.rtt_s, " RTT".to_owned()),
            Some(rate) => {
                let bps = parse_rate(rate)
                    .map_err(|error| error.to_string())?
                    .as_bps();
                (bps * share, format!(" of {rate}"))
            }
        })
    }

    fn measure(&self, evidence: &Evidence) -> Found {
        let window = self.window().unwrap_or_default();
        if self.measure == "lost_share" {
            return Found::Value(evidence.lost_share);
        }
        let Some(state) = &self.during else {
            return self.over(evidence, &[window]);
        };
        if !evidence.has_states() {
            return Found::NotObservable;
        }
        let mut visits = evidence.visits(state, window);
        match self.measure.as_str() {
            "visits" => return Found::Value(visits.len() as f64),
            "time_share" => {
                let share = evidence.time_share(state, window);
                return share.map_or(Found::Nothing, Found::Value);
            }
            "followed_by" => {
                let next = self.next.as_deref().unwrap_or_default();
                return Found::Value(evidence.followed_by(state, next, window) as f64);
            }
            "entry_s" | "duration_s" => {}
            _ if self.visit.is_none() => visits = evidence.stays(state, window),
            _ => {}
        }
        if let Some(visit) = self.visit {
            let Some(one) = visit.checked_sub(1).and_then(|at| visits.get(at).copied()) else {
                return Found::Nothing;
            };
            visits = vec![one];
        }
        if visits.is_empty() {
            return Found::Nothing;
        }
        match self.measure.as_str() {
            "entry_s" => taken(self.take, visits.iter().map(|visit| (visit.from, 1.0))),
            // What has not ended at the end of the run says nothing of its length.
            "duration_s" => {
                let ended = visits.iter().filter(|visit| visit.until < evidence.end_s());
                taken(
                    self.take,
                    ended.map(|visit| (visit.until - visit.from, 1.0)),
                )
            }
            _ => self.over(evidence, &visits),
        }
    }

    /// Of a column in these spans of time.
    fn over(&self, evidence: &Evidence, spans: &[Span]) -> Found {
        if self.measure == "goodput_bps" {
            let rates = spans.iter().filter_map(|span| evidence.goodput_bps(*span));
            return taken(self.take, rates.map(|rate| (rate, 1.0)));
        }
        if !evidence.shows(&self.measure) {
            return Found::NotObservable;
        }
        let values = spans
            .iter()
            .flat_map(|span| evidence.values(&self.measure, *span, self.during.as_deref()));
        taken(self.take, values)
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
    value.map_or(Found::Nothing, Found::Value)
}
