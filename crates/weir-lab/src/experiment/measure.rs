//! Named measures: how the value of a row is computed from runs, a law, or other rows.
//!
//! A measure selects a series (a column of a view, optionally multiplied by another column or
//! divided by its previous row), keeps the rows of a time range, and computes one number. Two views
//! exist: `log`, a line for each write of the application with the state before it, in the form of
//! Linux's dccp_probe; and `state`, a row for each change of the controller's state.

use crate::scenario::Term;
use crate::scenario::error::suggestion;
use crate::toml_file::Invalid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use weir_proto::settings::shortened;

/// The rows of a series.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// A line for each write of the application.
    #[default]
    Log,
    /// A row for each change of the controller's state.
    State,
    /// A row for each gap in the audio.
    Gaps,
}

/// The number that is computed from a series.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The first value.
    First,
    /// The last value.
    Last,
    /// The smallest value.
    Min,
    /// The largest value.
    Max,
    /// The mean of the rows.
    Mean,
    /// The standard deviation of the rows (n − 1).
    Stddev,
    /// The median of the rows.
    Median,
    /// The value that holds at the time `at_s`, counted from the moment `at` if it is named.
    ValueAt,
    /// The time of the moment `at`, plus `at_s`.
    TimeOf,
    /// The time of the first largest value.
    TimeOfMax,
    /// The time of the first row at or above `level` after one below it.
    CrossingUp,
    /// The time of the first row below `level` after one at or above it.
    CrossingDown,
    /// The time of the first row that `equals`.
    FirstTime,
    /// The time of the last row that `equals`.
    LastTime,
    /// The share of rows that `equals`, or that are at or above `level`.
    Share,
    /// The number of rows.
    Count,
    /// The time between row number `index` and the next.
    Gap,
    /// The median time between two rows.
    GapMedian,
    /// The time of the first row that follows its predecessor by more than `level` seconds.
    GapAbove,
    /// The mean of the series held between its rows.
    TimeMean,
    /// The coefficient of variation of the series held between its rows: deviation over mean.
    Cov,
    /// The period of the series, by autocorrelation, seconds.
    Period,
    /// The autocorrelation at that period: 1 for a series that repeats itself, 0 for noise.
    Periodicity,
    /// A number of the summary, by its words in `of`: `link.air.ap.drops`.
    #[default]
    Summary,
    /// The run's throughput in its window.
    Throughput,
    /// Packets lost over packets sent.
    LossRate,
    /// One minus the loss rate: packets that were not lost over packets sent.
    DeliveryRate,
    /// The median time from a fall of the value to rise number `index` after it.
    TimeToRise,
    /// The median value after rise number `index` that follows a fall.
    ValueAfterRise,
    /// The share of cycles, from one fall of the value to the next, in which a rise comes late: the
    /// first more than `first_level` seconds after the fall, a later one more than `level` seconds
    /// after the rise before it.
    LateRises,
    /// A line of a law of theory.
    Law,
    /// The mean over the flows whose names begin with `flows` of the number that `of` points at
    /// below each: `/throughput_bps`.
    GroupMean,
    /// The standard deviation over these flows.
    GroupStddev,
    /// The difference of two rows' measured values.
    Difference,
    /// The ratio of two rows' measured values.
    Ratio,
}

/// Which rows of a series count.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum RowFilter {
    /// All.
    #[default]
    All,
    /// Those whose value is not the row before's.
    Changes,
    /// Those whose value is smaller than the row before's.
    Falls,
    /// Those whose value is larger than the row before's.
    Rises,
}

/// How a value is measured.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The number that is computed.
    pub take: Statistic,
    /// The run.
    pub run: Option<String>,
    /// The column, or the number of the summary.
    pub of: Option<String>,
    /// The view that has the column.
    #[serde(default)]
    pub view: View,
    /// The column is multiplied by this one.
    pub times: Option<String>,
    /// The series is each row over the row before.
    #[serde(default)]
    pub relative_to_previous: bool,
    /// Which rows count.
    #[serde(default)]
    pub rows: RowFilter,
    /// Only rows with this limit count.
    pub limit: Option<String>,
    /// Only rows from this moment on, plus `from_s`.
    pub from: Option<String>,
    /// Only rows until this moment, plus `until_s`.
    pub until: Option<String>,
    /// Only rows from this time on, seconds.
    pub from_s: Option<f64>,
    /// Only rows until this time, seconds.
    pub until_s: Option<f64>,
    /// Only rows after the largest value of the run.
    #[serde(default)]
    pub after_max: bool,
    /// Only rows up to the largest value of the run.
    #[serde(default)]
    pub before_max: bool,
    /// The moment of `value_at` and `time_of`.
    pub at: Option<String>,
    /// The time of `value_at`, seconds.
    pub at_s: Option<f64>,
    /// The level of crossings and gaps, in the series' unit.
    pub level: Option<f64>,
    /// For late rises: the longest ordinary time from a fall to the first rise, in seconds.
    pub first_level: Option<f64>,
    /// The value that a row must equal.
    pub equals: Option<f64>,
    /// The largest relative deviation of a row from `equals`.
    #[serde(default = "default_nearness")]
    pub nearness: f64,
    /// The number of a gap or rise, from 0.
    #[serde(default)]
    pub index: usize,
    /// The result is divided by this.
    pub divide_by: Option<f64>,
    /// How the names of the flows of a group begin: `tcp-`.
    pub flows: Option<String>,
    /// The law.
    pub law: Option<String>,
    /// The law's line.
    pub line: Option<String>,
    /// The law's arguments.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
    /// The two rows of a difference or ratio.
    #[serde(default)]
    pub between: Vec<String>,
}

/// A moment of a run to which measures refer by name. It is an event that is searched for in each
/// run, because a fixed time would be valid for one run only.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// The name that measures use: `first-loss`.
    pub name: String,
    /// The column of the controller's states.
    pub of: String,
    /// The first row at or above this, in base units, after one below it.
    pub rises_to: Option<f64>,
    /// The first row below this, in base units, after one at or above it.
    pub falls_below: Option<f64>,
    /// Only rows after the moment of this name count.
    pub after: Option<String>,
}

/// Integers that a kernel prints differ from the exact ratio by less than this.
fn default_nearness() -> f64 {
    1e-3
}

impl Measure {
    /// Checks that the measure has the keys that its `take` needs.
    pub(super) fn check_keys(&self) -> Result<(), Invalid> {
        let take = self.take;
        let need = |present: bool, name: &str| {
            if present {
                Ok(())
            } else {
                let message = format!("take = {} needs {name}", serde_json::json!(take));
                Err(Invalid::key("take", message))
            }
        };
        match take {
            Statistic::Law => {
                let law = self.law.as_deref();
                need(law.is_some(), "law, its name")?;
                crate::theory::law(law.unwrap_or_default())
                    .map_err(|error| Invalid::key("law", error.to_string()))?;
                need(self.line.is_some(), "line")?;
                return self.check_law();
            }
            Statistic::Difference | Statistic::Ratio => {
                return need(self.between.len() == 2, "between = [\"ROW\", \"ROW\"]");
            }
            Statistic::ValueAt => need(self.at_s.is_some() || self.at.is_some(), "at or at_s")?,
            Statistic::TimeOf => need(self.at.is_some(), "at, a moment")?,
            Statistic::CrossingUp | Statistic::CrossingDown | Statistic::GapAbove => {
                need(self.level.is_some(), "level")?;
            }
            Statistic::LateRises => {
                let levels = self.level.is_some() && self.first_level.is_some();
                need(levels, "level and first_level")?;
            }
            Statistic::FirstTime | Statistic::LastTime => need(self.equals.is_some(), "equals")?,
            Statistic::Share => {
                need(
                    self.equals.is_some() || self.level.is_some(),
                    "equals or level",
                )?;
            }
            _ => {}
        }
        need(self.run.is_some(), "run")?;
        let pointer = self.of.as_deref().is_some_and(|of| of.starts_with('/'));
        if matches!(take, Statistic::GroupMean | Statistic::GroupStddev) {
            need(self.flows.is_some(), "flows, how their names begin")?;
            return need(pointer, "of, a JSON pointer below a flow");
        }
        if take == Statistic::Summary {
            need(self.of.is_some(), "of, such as \"flow.stream.goodput_bps\"")?;
            let of = Term::parse(self.of.as_deref().unwrap_or_default());
            return of
                .map(drop)
                .map_err(|wrong| Invalid::diagnosed("of", wrong));
        }
        let without_column = self.is_summary() || take == Statistic::TimeOf;
        need(without_column || self.of.is_some(), "of, the column")
    }

    /// Evaluates the law, so that its arguments are checked before the first run.
    fn check_law(&self) -> Result<(), Invalid> {
        let arguments = self.arguments.iter();
        let arguments: Vec<_> = arguments.map(|(name, value)| (&**name, &**value)).collect();
        let law = self.law.as_deref().unwrap_or_default();
        let lines = crate::theory::evaluate(law, &arguments)
            // The law's error names its arguments as options of the command line.
            .map_err(|error| Invalid::key("arguments", error.to_string().replace("--", "")))?;
        let line = self.line.as_deref().unwrap_or_default();
        let known: Vec<&str> = lines.iter().map(|line| line.name).collect();
        if known.contains(&line) {
            return Ok(());
        }
        let message = format!(
            "the law has no line \"{}\"; {}",
            shortened(line),
            suggestion(line, "lines", &known)
        );
        Err(Invalid::key("line", message))
    }

    /// True if the value is derived from other rows.
    pub(super) fn is_of_rows(&self) -> bool {
        matches!(self.take, Statistic::Difference | Statistic::Ratio)
    }

    /// True if the value comes from the summary and not from a trace.
    pub(super) fn is_summary(&self) -> bool {
        matches!(
            self.take,
            Statistic::Throughput
                | Statistic::LossRate
                | Statistic::DeliveryRate
                | Statistic::Summary
                | Statistic::GroupMean
                | Statistic::GroupStddev
        )
    }
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
