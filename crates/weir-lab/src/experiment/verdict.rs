//! A row's verdict, and its line in tables and JSON.

use super::measure::{Measure, MeasureInput, Statistic};
use super::published::{Row, RowKind, unit_scale};
use super::run_data::Runs;
use crate::theory::{TheoryError, format_value, significant};
use serde::Serialize;
use std::collections::BTreeMap;

/// The judgement of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Measured within its tolerance.
    Agrees,
    /// Outside its tolerance, with an explanation whose evidence holds.
    Explained,
    /// Outside its tolerance.
    Differs,
    /// Measured in real time on a machine that was too busy: not judged.
    Busy,
    /// A condition: set, not judged.
    Input,
}

/// A run in real time is invalid if one event in a hundred is later than this: a millisecond, as
/// drivers round it.
const MOST_LATE_S: f64 = 0.001_024;

impl Verdict {
    /// The word in tables and style sheets.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Explained => "explained",
            Self::Differs => "differs",
            Self::Busy => "busy",
            Self::Input => "input",
        }
    }
}

/// One row of the result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowResult {
    /// The row's name.
    pub id: String,
    /// Section and sentence.
    pub place: String,
    /// The statement.
    pub text: String,
    /// The kind of statement.
    pub kind: RowKind,
    /// The published number, in `unit`.
    pub published: Option<f64>,
    /// The measured number, in `unit`; absent for inputs and where the run holds no such thing.
    pub measured: Option<f64>,
    /// The unit of both.
    pub unit: String,
    /// Measured over published, minus one; absent where one of them is, or is zero.
    pub deviation: Option<f64>,
    /// The tolerance in words.
    pub tolerance: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The distribution of the results, for runs with many seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeds: Option<Seeds>,
    /// A sentence.
    pub note: String,
    /// Why it differs; empty if it does not.
    pub explanation: String,
}

/// Results of many seeds, in the row's unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Seeds {
    /// How many.
    pub runs: usize,
    /// Standard error of the mean.
    pub standard_error: f64,
    /// Where the middle 95 % of the single runs begin.
    pub low: f64,
    /// Where they end.
    pub high: f64,
}

/// Measures and judges all rows.
///
/// # Errors
/// The row whose law refuses its arguments.
pub(super) fn judge(rows: &[Row], runs: &Runs) -> Result<Vec<RowResult>, (String, TheoryError)> {
    let mut measured = BTreeMap::new();
    // Rows that are made of other rows come second, so that they may stand before them.
    for of_rows in [false, true] {
        for row in rows {
            let measure = row.measure.as_ref();
            let Some(measure) = measure.filter(|measure| measure.is_of_rows() == of_rows) else {
                continue;
            };
            let from = MeasureInput {
                runs,
                rows: &measured,
            };
            let value = measure
                .value(&from)
                .map_err(|error| (row.id.clone(), error))?;
            if let Some(value) = value {
                measured.insert(row.id.clone(), value);
            }
        }
    }
    let from = MeasureInput {
        runs,
        rows: &measured,
    };
    let mut results = Vec::new();
    for row in rows {
        let row = row.with_reference(&from).map_err(|e| (row.id.clone(), e))?;
        let mut result = row.result(measured.get(&row.id).copied(), row.seeds(&from));
        if let Some(late) = row.lateness(runs) {
            result.verdict = Verdict::Busy;
            result.note = format!(
                "The machine was too busy: one event in a hundred was more than {} late.",
                format_value(late, "s")
            );
        }
        results.push(result);
    }
    explain(rows, &mut results);
    Ok(results)
}

/// A row that differs counts as explained if all the rows that its explanation names agree.
fn explain(rows: &[Row], results: &mut [RowResult]) {
    let agreeing: Vec<String> = results
        .iter()
        .filter(|result| result.verdict == Verdict::Agrees)
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
    /// The row with what its reference measured in the place of the published number.
    fn with_reference(&self, from: &MeasureInput<'_>) -> Result<Self, TheoryError> {
        let mut row = self.clone();
        if let Some(reference) = &self.reference {
            let scale = unit_scale(&self.unit).unwrap_or(1.0);
            row.published = reference.value(from)?.map(|value| value / scale);
        }
        Ok(row)
    }

    /// How late the events of this row's run in real time were, if that was too late.
    fn lateness(&self, runs: &BTreeMap<String, Vec<super::run_data::RunData>>) -> Option<f64> {
        let run = self.measure.as_ref()?.run.as_ref()?;
        let late = runs
            .get(run)?
            .iter()
            .filter_map(|observation| observation.summary.pointer("/run/lateness_p99_s")?.as_f64());
        late.filter(|late| *late > MOST_LATE_S).reduce(f64::max)
    }

    fn seeds(&self, from: &MeasureInput<'_>) -> Option<Seeds> {
        let measure = self.measure.as_ref()?;
        if measure.take != Statistic::ThroughputMean {
            return None;
        }
        let scale = unit_scale(&self.unit)?;
        let take = |take| {
            let measure = Measure {
                take,
                ..measure.clone()
            };
            Some(measure.value(from).ok()?? / scale)
        };
        Some(Seeds {
            runs: from.runs.get(measure.run.as_deref()?)?.len(),
            standard_error: take(Statistic::ThroughputError)?,
            low: take(Statistic::ThroughputLow)?,
            high: take(Statistic::ThroughputHigh)?,
        })
    }

    /// The row with its measured value, in base units.
    fn result(&self, value: Option<f64>, seeds: Option<Seeds>) -> RowResult {
        let measured = value.map(|value| value / unit_scale(&self.unit).unwrap_or(1.0));
        let verdict = if self.kind == RowKind::Input {
            Verdict::Input
        } else if measured.is_some_and(|measured| self.holds(measured, seeds)) {
            Verdict::Agrees
        } else {
            Verdict::Differs
        };
        let deviation = match (measured, self.published) {
            (Some(measured), Some(published)) if published != 0.0 => {
                Some(measured / published - 1.0)
            }
            _ => None,
        };
        RowResult {
            id: self.id.clone(),
            place: self.place.clone(),
            text: self.text.clone(),
            kind: self.kind,
            published: self.published,
            measured,
            unit: self.unit.clone(),
            deviation,
            tolerance: self.tolerance(),
            verdict,
            seeds,
            note: self.note.clone(),
            explanation: String::new(),
        }
    }

    fn holds(&self, measured: f64, seeds: Option<Seeds>) -> bool {
        let published = self.published.unwrap_or(f64::NAN);
        let off = (measured - published).abs();
        let near = self.within.is_none_or(|within| off <= within);
        let relative = self
            .within_percent
            .is_none_or(|percent| off <= percent / 100.0 * published.abs());
        let inside = !self.in_band
            || seeds.is_some_and(|seeds| seeds.low <= published && published <= seeds.high);
        let bounded = self.at_least.is_none_or(|least| measured >= least)
            && self.at_most.is_none_or(|most| measured <= most);
        near && relative && inside && bounded
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
                // Beside a relative tolerance, which is in percent of the value.
                "%" => format!("± {} percentage points", significant(within, 6)),
                _ => format!("± {}", with_unit(within)),
            });
        }
        if self.in_band {
            parts.push("inside the 95 % band of single runs".to_owned());
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

    /// The measured value as text.
    pub fn measured_text(&self) -> String {
        match (self.measured, self.kind) {
            (Some(value), _) => self.number(value, 5),
            (None, RowKind::Input) => String::new(),
            (None, _) => "none".to_owned(),
        }
    }

    /// The deviation as text: in percent, or absolute for times.
    pub fn deviation_text(&self) -> String {
        match (self.deviation, self.measured, self.published) {
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
