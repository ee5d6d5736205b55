//! The result of a row: its verdict, and its line in tables and JSON.

use super::measurement::{Measurement, Seeds};
use super::published::{Row, RowKind, unit_scale};
use super::run_data::Runs;
use crate::theory::{TheoryError, format_value, significant};
use crate::verdict::{Outcome, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A run in real time is invalid if one event in a hundred is later than this: a millisecond, as
/// drivers round it.
const MOST_LATE_S: f64 = 0.001_024;

impl RowKind {
    /// The verdict for a row of this kind within its tolerance.
    const fn within(self) -> Verdict {
        match self {
            Self::Value | Self::Theory => Verdict::Agrees,
            Self::Claim => Verdict::Holds,
            Self::Check => Verdict::Checked,
            Self::Quantity => Verdict::Quantity,
            Self::Input => Verdict::Input,
            Self::Parameter => Verdict::Parameter,
        }
    }
}

/// One row of the result.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RowResult {
    /// The row's name.
    pub id: String,
    /// Section and sentence.
    pub place: String,
    /// The statement.
    pub text: String,
    /// The kind of statement.
    pub kind: RowKind,
    /// The number that the document states, in `unit`.
    pub published: Option<f64>,
    /// The number that we expect, or a parameter's value, in `unit`.
    pub expected: Option<f64>,
    /// The measured number, in `unit`, or the mean over the seeds; absent if the run has no such
    /// value.
    pub measured: Option<f64>,
    /// The unit of these numbers.
    pub unit: String,
    /// Measured over published or expected, minus one; absent where one of them is, or is zero.
    pub deviation: Option<f64>,
    /// The tolerance in words.
    pub tolerance: String,
    /// The lower and upper limit of the tolerance, in `unit`.
    pub limits: [Option<f64>; 2],
    /// True if a variant counts only if this row lies within its tolerance in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// The verdict.
    pub verdict: Verdict,
    /// The distribution over the seeds, where something is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Seeds>,
    /// The single values from which `seeds` is computed, in `unit`, in the order of the seeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
    /// The row in each variant; empty if it does not vary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<InVariant>,
    /// Parameters that were fitted to this number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fitted_by: Vec<String>,
    /// For a parameter: the rows and seeds that it was fitted to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fit: Option<String>,
    /// A sentence.
    pub note: String,
    /// Why the row differs; empty if it does not.
    pub explanation: String,
}

/// A row in one variant.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InVariant {
    /// The name of the variant.
    pub variant: String,
    /// True if the variant counts.
    pub counts: bool,
    /// The measured number, in the row's unit, or the mean over the seeds.
    pub measured: Option<f64>,
    /// The verdict in this variant.
    pub verdict: Verdict,
    /// The distribution over the seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Seeds>,
}

/// Measures and judges all rows.
///
/// # Errors
/// If the law of a row rejects its arguments.
pub(super) fn judge(rows: &[Row], runs: &Runs) -> Result<Vec<RowResult>, (String, TheoryError)> {
    let measured = samples(rows, runs)?;
    let result = |row: &Row| {
        let sample = measured
            .get(&row.id)
            .cloned()
            .unwrap_or(Measurement::One(None));
        let reference = row.reference.as_ref().and_then(|measure| {
            let runset = runs.get(measure.run.as_deref()?)?;
            runset.reference(&row.id)?.value()
        });
        let mut result = row.result(&sample, reference);
        let fitted = rows
            .iter()
            .filter(|parameter| parameter.fitted_to.contains(&row.id));
        result.fitted_by = fitted.map(|parameter| parameter.id.clone()).collect();
        if let Some(late) = row.lateness(runs) {
            result.verdict = Verdict::Busy;
            result.note = format!(
                "The machine was too busy: one event in a hundred was more than {} late.",
                format_value(late, "s")
            );
        }
        result
    };
    let mut results: Vec<RowResult> = rows.iter().map(result).collect();
    explain(rows, &mut results);
    Ok(results)
}

/// The measurements of the rows. Rows derived from other rows are evaluated after all others, so
/// that they may precede them in the file; among themselves they are evaluated in order.
fn samples(
    rows: &[Row],
    runs: &Runs,
) -> Result<BTreeMap<String, Measurement>, (String, TheoryError)> {
    let mut measured = BTreeMap::new();
    for of_rows in [false, true] {
        for row in rows {
            let measure = row.measure.as_ref();
            let Some(measure) = measure.filter(|measure| measure.is_of_rows() == of_rows) else {
                continue;
            };
            let sample = match &measure.run {
                _ if of_rows => measure.of_rows(&measured),
                Some(run) => runs.get(run).and_then(|runset| runset.measured(&row.id)),
                None => {
                    let value = measure.of_law().map_err(|error| (row.id.clone(), error))?;
                    Some(Measurement::One(value))
                }
            };
            measured.extend(sample.map(|sample| (row.id.clone(), sample)));
        }
    }
    Ok(measured)
}

/// A row that differs counts as explained if all the rows that its explanation names lie inside
/// their tolerances.
fn explain(rows: &[Row], results: &mut [RowResult]) {
    let agreeing: Vec<String> = results
        .iter()
        .filter(|result| result.verdict.outcome() == Outcome::Holds)
        .map(|result| result.id.clone())
        .collect();
    for (row, result) in rows.iter().zip(results) {
        if result.verdict != Verdict::Differs || row.explained_by.is_empty() {
            continue;
        }
        result.explanation.clone_from(&row.explanation);
        if row.explained_by.iter().all(|id| agreeing.contains(id)) {
            result.verdict = Verdict::Explained;
        }
    }
}

impl Row {
    /// The lateness of events in this row's run in real time, if it exceeded the limit.
    fn lateness(&self, runs: &Runs) -> Option<f64> {
        let run = self.measure.as_ref()?.run.as_ref()?;
        let late = runs.get(run)?.lateness_s();
        late.filter(|late| *late > MOST_LATE_S)
    }

    /// The row with its measurement in base units, and the measured value of its reference row.
    fn result(&self, sample: &Measurement, reference: Option<f64>) -> RowResult {
        let scale = unit_scale(&self.unit).unwrap_or(1.0);
        let sample = sample.in_unit(scale);
        let expected = self.expected.or(reference.map(|value| value / scale));
        let target = self.published.or(expected);
        let judges_single = self.within.is_some()
            || self.within_percent.is_some()
            || self.at_least.is_some()
            || self.at_most.is_some();
        let inside = judges_single.then_some(|value: f64| self.is_inside(value, target));
        let seeds = sample.distribution(target, inside);
        let measured = sample.value();
        let in_band = !self.in_band
            || seeds
                .zip(target)
                .is_some_and(|(seeds, target)| seeds.holds(target));
        // A mean is not valid if some runs have no value, such as an event that did not occur;
        // `in_band` needs only the rank of the published value among the runs.
        let comparable = sample.is_complete() || (self.in_band && !judges_single);
        let near = measured.is_some_and(|measured| self.is_inside(measured, target));
        let verdict = if !self.kind.is_judged() || (near && in_band && comparable) {
            self.kind.within()
        } else {
            Verdict::Differs
        };
        let deviation = match (measured, target) {
            (Some(measured), Some(target)) if target != 0.0 => Some(measured / target - 1.0),
            _ => None,
        };
        RowResult {
            id: self.id.clone(),
            place: self.place.clone(),
            text: self.text.clone(),
            kind: self.kind,
            published: self.published,
            expected,
            measured,
            unit: self.unit.clone(),
            deviation,
            tolerance: self.tolerance(),
            limits: self.limits(target),
            required: self.required,
            verdict,
            values: seeds.map_or_else(Vec::new, |_| sample.present().values().to_vec()),
            seeds,
            variants: Vec::new(),
            fitted_by: Vec::new(),
            fit: self.fit(),
            note: self.note.clone(),
            explanation: String::new(),
        }
    }

    /// How a parameter got its value.
    fn fit(&self) -> Option<String> {
        if self.kind != RowKind::Parameter {
            return None;
        }
        if self.fitted_to.is_empty() {
            return Some("chosen".to_owned());
        }
        let seeds = self.fitted_on_seeds;
        let seeds = seeds.map(|[first, last]| format!(", on seeds {first} to {last}"));
        let rows = self.fitted_to.join(", ");
        Some(format!("fitted to {rows}{}", seeds.unwrap_or_default()))
    }

    /// True if a single value lies inside the tolerance around `target` and inside the bounds.
    fn is_inside(&self, value: f64, target: Option<f64>) -> bool {
        let target = target.unwrap_or(f64::NAN);
        let off = (value - target).abs();
        let near = self.within.is_none_or(|within| off <= within);
        let relative = self
            .within_percent
            .is_none_or(|percent| off <= percent / 100.0 * target.abs());
        let bounded = self.at_least.is_none_or(|least| value >= least)
            && self.at_most.is_none_or(|most| value <= most);
        near && relative && bounded
    }

    /// The lower and upper limit of the tolerance.
    fn limits(&self, target: Option<f64>) -> [Option<f64>; 2] {
        let relative = self.within_percent.zip(target);
        let relative = relative.map(|(percent, target)| percent / 100.0 * target.abs());
        let width = [self.within, relative]
            .into_iter()
            .flatten()
            .reduce(f64::min);
        let around = |sign: f64| Some(target? + sign * width?);
        let tighter = |a: Option<f64>, b: Option<f64>, pick: fn(f64, f64) -> f64| {
            [a, b].into_iter().flatten().reduce(pick)
        };
        [
            tighter(around(-1.0), self.at_least, f64::max),
            tighter(around(1.0), self.at_most, f64::min),
        ]
    }

    fn tolerance(&self) -> String {
        let with_unit = |number: f64| {
            format!("{} {}", significant(number, 6), self.unit)
                .trim_end()
                .to_owned()
        };
        let mut parts = Vec::new();
        if let Some(percent) = self.within_percent {
            parts.push(format!("± {} %", significant(percent, 3)));
        }
        if let Some(within) = self.within {
            parts.push(match self.unit.as_str() {
                _ if within == 0.0 => "exactly".to_owned(),
                // In text beside a relative tolerance, which is in percent of the value.
                "%" => format!("± {} percentage points", significant(within, 6)),
                _ => format!("± {}", with_unit(within)),
            });
        }
        if self.in_band {
            parts.push("among the middle 95 % of single runs".to_owned());
        }
        if let Some(least) = self.at_least {
            parts.push(format!("at least {}", with_unit(least)));
        }
        if let Some(most) = self.at_most {
            parts.push(format!("at most {}", with_unit(most)));
        }
        parts.join(", ")
    }
}

impl RowResult {
    /// The published value as text.
    pub fn published_text(&self) -> String {
        self.published
            .map_or_else(String::new, |value| self.number(value, 7))
    }

    /// The published, expected or parameter value as text.
    pub fn target_text(&self) -> String {
        let target = self.published.or(self.expected);
        target.map_or_else(String::new, |value| self.number(value, 7))
    }

    /// The measured value as text, with its standard error where it is a mean; in several variants
    /// the least and greatest mean.
    pub fn measured_text(&self) -> String {
        if let (Some([low, high]), false) = (self.range(), self.variants.is_empty()) {
            let (low, high) = (significant(low, 3), significant(high, 3));
            return format!("{low} to {high} {}", self.unit)
                .trim_end()
                .to_owned();
        }
        match (self.measured, self.seeds) {
            (Some(value), Some(seeds)) => {
                // Equal values summed in floating point differ in the last digits.
                let rounding = value.abs() * 1e-12;
                let error = if seeds.standard_error <= rounding {
                    "0".to_owned()
                } else {
                    significant(seeds.standard_error, 2)
                };
                format!("{} ± {error} {}", significant(value, 5), self.unit)
                    .trim_end()
                    .to_owned()
            }
            (Some(value), None) => self.number(value, 5),
            (None, _) if !self.kind.is_measured() => String::new(),
            (None, _) => "none".to_owned(),
        }
    }

    /// The share of runs inside the tolerance as text: `19 of 20`; in variants the share of these.
    pub fn share_text(&self) -> String {
        if !self.variants.is_empty() && self.kind.is_judged() {
            let within = |variant: &&InVariant| variant.verdict.outcome() == Outcome::Holds;
            let within = self.counting().filter(within).count();
            let all = self.counting().count();
            return format!("{within} of {all} variants");
        }
        let Some((seeds, share)) = self
            .seeds
            .and_then(|seeds| Some((seeds, seeds.share_within?)))
        else {
            return String::new();
        };
        format!(
            "{} of {}",
            libm::round(share * seeds.runs as f64),
            seeds.runs
        )
    }

    /// The percentile of the published value among the runs as text.
    pub fn percentile_text(&self) -> String {
        let seeds = self.seeds.filter(|_| self.variants.is_empty());
        let percentile = seeds.and_then(|seeds| seeds.percentile);
        percentile.map_or_else(String::new, |percentile| format!("{percentile:.0} %"))
    }

    /// The deviation as text: in percent, or absolute for times; none over variants.
    pub fn deviation_text(&self) -> String {
        if !self.variants.is_empty() {
            return String::new();
        }
        match (
            self.deviation,
            self.measured,
            self.published.or(self.expected),
        ) {
            (Some(_), Some(measured), Some(published)) if self.unit == "s" => {
                let off = measured - published;
                if off == 0.0 {
                    return "0 s".to_owned();
                }
                let sign = if off < 0.0 { "−" } else { "+" };
                format!("{sign}{}", format_value(off.abs(), "s"))
            }
            (Some(deviation), ..) => {
                let percent = deviation * 100.0;
                let digits = if percent.abs() < 0.1 { 3 } else { 2 };
                let text = format!("{percent:+.digits$} %").replace('-', "−");
                if percent.abs() < 0.0005 {
                    "0 %".to_owned()
                } else {
                    text
                }
            }
            _ => String::new(),
        }
    }

    fn number(&self, value: f64, digits: i32) -> String {
        format!("{} {}", significant(value, digits), self.unit)
            .trim_end()
            .to_owned()
    }
}

impl RowResult {
    /// The results in variants that count; in all if none does.
    pub(super) fn counting(&self) -> impl Iterator<Item = &InVariant> {
        let none = !self.variants.iter().any(|variant| variant.counts);
        self.variants
            .iter()
            .filter(move |variant| variant.counts || none)
    }

    /// The least and greatest mean in the variants that count.
    pub fn range(&self) -> Option<[f64; 2]> {
        let measured = self.counting().filter_map(|variant| variant.measured);
        measured.fold(None, |range, value| {
            let [low, high] = range.unwrap_or([value; 2]);
            Some([low.min(value), high.max(value)])
        })
    }

    /// Judges the row by its verdicts in the variants that count.
    pub(super) fn judge_variants(&mut self, explanation: &str) {
        if !self.kind.is_judged() {
            return;
        }
        let holds = |variant: &InVariant| variant.verdict.outcome() == Outcome::Holds;
        if self.counting().any(holds) && !self.counting().all(holds) {
            self.verdict = Verdict::Undetermined;
            explanation.clone_into(&mut self.explanation);
        }
    }
}
