//! Named measures: how a row's value is taken from runs, from a law, or from other rows.
//!
//! A measure picks a series (a column of a view, perhaps times another column, or relative to
//! the row before), keeps the rows of a span of time, and takes one number. Two views exist:
//! `log`, a line at each write of the application with the state before that write, as Linux's
//! dccp_probe printed it; and `state`, a row at each change of the controller.

use super::run_data::{RunData, Runs};
use super::series::{
    Series, crossing, deviation, gaps, held, mean, median, periodicity, quantile, rises,
    time_of_max,
};
use crate::theory::TheoryError;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Which rows a series has.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// A line at each write of the application.
    #[default]
    Log,
    /// A row at each change of the controller.
    State,
    /// A row at each gap in the audio.
    Gaps,
}

/// The number that is computed from a series.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
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
    /// The value that holds at the time `at_s`.
    ValueAt,
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
    /// A number of the summary, by its JSON pointer in `of`: `/links/air.ap/drops`; the mean if
    /// there are several seeds.
    Summary,
    /// The run's throughput in its window.
    Throughput,
    /// Its mean over the seeds.
    ThroughputMean,
    /// The standard error of that mean.
    ThroughputError,
    /// Where the middle 95 % of the seeds begin.
    ThroughputLow,
    /// Where the middle 95 % of the seeds end.
    ThroughputHigh,
    /// Packets lost over packets sent.
    LossRate,
    /// The rest: packets that were not lost over packets sent.
    DeliveryRate,
    /// The median time from a fall of the value to rise number `index` after it.
    TimeToRise,
    /// The median value after rise number `index` that follows a fall.
    ValueAfterRise,
    /// A line of a law of theory.
    Law,
    /// The mean over the flows whose names begin with `flows` of the number that `of` points at
    /// below each: `/throughput_bps`; over all seeds.
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
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The number that is computed.
    pub take: Statistic,
    /// The run.
    pub run: Option<String>,
    /// The column, or the JSON pointer of a summary.
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
    /// The time of `value_at`, seconds.
    pub at_s: Option<f64>,
    /// The level of crossings and gaps, in the series' unit.
    pub level: Option<f64>,
    /// What a row must be equal to.
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

/// The kernel's integers differ from the exact ratio by less than this.
fn default_nearness() -> f64 {
    1e-3
}

/// The data of all measures.
pub(super) struct MeasureInput<'a> {
    /// Runs by name; several observations where there are several seeds.
    pub runs: &'a Runs,
    /// Rows measured so far, by name, in base units.
    pub rows: &'a BTreeMap<String, f64>,
}

impl Measure {
    /// Checks that the measure has the keys that its `take` needs.
    pub(super) fn check(&self, runs: &BTreeSet<&str>) -> Result<(), String> {
        let take = self.take;
        let need = |present: bool, name: &str| {
            present
                .then_some(())
                .ok_or_else(|| format!("take = {take:?} needs {name}"))
        };
        match take {
            Statistic::Law => {
                let law = self.law.as_deref().unwrap_or_default();
                crate::theory::law(law).map_err(|error| error.to_string())?;
                return need(self.line.is_some(), "line");
            }
            Statistic::Difference | Statistic::Ratio => {
                return need(self.between.len() == 2, "between = [a, b]");
            }
            Statistic::ValueAt => need(self.at_s.is_some(), "at_s")?,
            Statistic::CrossingUp | Statistic::CrossingDown | Statistic::GapAbove => {
                need(self.level.is_some(), "level")?;
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
        let run = self.run.as_deref().unwrap_or_default();
        if !runs.contains(run) {
            return Err(format!("run \"{run}\" does not exist"));
        }
        let pointer = self.of.as_deref().is_some_and(|of| of.starts_with('/'));
        if matches!(take, Statistic::GroupMean | Statistic::GroupStddev) {
            need(self.flows.is_some(), "flows, how their names begin")?;
            return need(pointer, "of, a JSON pointer below a flow");
        }
        if take == Statistic::Summary {
            return need(
                pointer,
                "of, a JSON pointer such as \"/flows/stream/goodput_bps\"",
            );
        }
        need(self.is_summary() || self.of.is_some(), "of, the column")
    }

    /// True if the value is made of other rows.
    pub(super) fn is_of_rows(&self) -> bool {
        matches!(self.take, Statistic::Difference | Statistic::Ratio)
    }

    /// True if the value comes from summaries, not from a trace.
    pub(super) fn is_summary(&self) -> bool {
        matches!(
            self.take,
            Statistic::Throughput
                | Statistic::ThroughputMean
                | Statistic::ThroughputError
                | Statistic::ThroughputLow
                | Statistic::ThroughputHigh
                | Statistic::LossRate
                | Statistic::DeliveryRate
                | Statistic::Summary
                | Statistic::GroupMean
                | Statistic::GroupStddev
        )
    }

    /// The value in base units; `None` if the runs do not hold it (no such row, no such column).
    ///
    /// # Errors
    /// A law that refuses its arguments.
    pub(super) fn value(&self, from: &MeasureInput<'_>) -> Result<Option<f64>, TheoryError> {
        let value = match self.take {
            Statistic::Law => self.law_line(self.line.as_deref().unwrap_or_default())?,
            Statistic::Difference | Statistic::Ratio => self.between_rows(from),
            _ if self.is_summary() => self.summary_value(from),
            _ => self.series_value(from),
        };
        let value = value.map(|value| value / self.divide_by.unwrap_or(1.0));
        Ok(value.filter(|value| value.is_finite()))
    }

    /// The line of this name that the law gives for the measure's arguments.
    pub(super) fn law_line(&self, name: &str) -> Result<Option<f64>, TheoryError> {
        let arguments = self.arguments.iter();
        let arguments: Vec<_> = arguments
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let lines = crate::theory::evaluate(self.law.as_deref().unwrap_or_default(), &arguments)?;
        let line = lines.iter().find(|line| line.name == name);
        Ok(line.map(|line| line.value))
    }

    fn between_rows(&self, from: &MeasureInput<'_>) -> Option<f64> {
        let value = |place: usize| from.rows.get(self.between.get(place)?).copied();
        let (a, b) = (value(0)?, value(1)?);
        Some(if self.take == Statistic::Difference {
            a - b
        } else {
            a / b
        })
    }

    fn observations<'a>(&self, from: &MeasureInput<'a>) -> Option<&'a [RunData]> {
        Some(from.runs.get(self.run.as_deref()?)?.as_slice())
    }

    fn summary_value(&self, from: &MeasureInput<'_>) -> Option<f64> {
        let seeds = self.observations(from)?;
        let mut rates: Vec<f64> = seeds.iter().map(|seed| seed.throughput_bps).collect();
        rates.sort_by(f64::total_cmp);
        match self.take {
            Statistic::Throughput => rates.first().copied(),
            Statistic::ThroughputMean => mean(&rates),
            Statistic::ThroughputError => Some(deviation(&rates)? / (rates.len() as f64).sqrt()),
            Statistic::ThroughputLow => quantile(&rates, 0.025),
            Statistic::ThroughputHigh => quantile(&rates, 0.975),
            Statistic::Summary => {
                let pointer = self.of.as_deref()?;
                let number = |seed: &RunData| seed.summary.pointer(pointer)?.as_f64();
                mean(&seeds.iter().map(number).collect::<Option<Vec<_>>>()?)
            }
            Statistic::GroupMean => mean(&self.group(seeds)?),
            Statistic::GroupStddev => deviation(&self.group(seeds)?),
            _ => {
                let (lost, sent) = seeds.iter().fold((0, 0), |(lost, sent), seed| {
                    (lost + seed.packets_lost, sent + seed.packets_sent)
                });
                let rate = lost as f64 / sent as f64;
                Some(if self.take == Statistic::LossRate {
                    rate
                } else {
                    1.0 - rate
                })
            }
        }
    }

    /// The numbers of a group's flows, of all seeds.
    fn group(&self, seeds: &[RunData]) -> Option<Vec<f64>> {
        let (prefix, pointer) = (self.flows.as_deref()?, self.of.as_deref()?);
        let mut values = Vec::new();
        for seed in seeds {
            let flows = seed.summary.pointer("/flows")?.as_object()?;
            let group = flows.iter().filter(|(name, _)| name.starts_with(prefix));
            for (_, flow) in group {
                values.push(flow.pointer(pointer)?.as_f64()?);
            }
        }
        Some(values)
    }

    fn series_value(&self, from: &MeasureInput<'_>) -> Option<f64> {
        let observation = self.observations(from)?.first()?;
        let series = self.series(observation)?;
        let values: Vec<f64> = series.iter().map(|point| point.1).collect();
        let level = self.level.unwrap_or(f64::NAN);
        let first = |found: Option<&(f64, f64)>| found.map(|point| point.0);
        match self.take {
            Statistic::First => values.first().copied(),
            Statistic::Last => values.last().copied(),
            Statistic::Min => values.iter().copied().reduce(f64::min),
            Statistic::Max => values.iter().copied().reduce(f64::max),
            Statistic::Mean => mean(&values),
            Statistic::Stddev => deviation(&values),
            Statistic::Median => median(values),
            Statistic::ValueAt => {
                let at = self.at_s?;
                let held = series.iter().take_while(|point| point.0 <= at).last()?;
                Some(held.1)
            }
            Statistic::TimeOfMax => time_of_max(&series),
            Statistic::CrossingUp => {
                crossing(&series, |before, now| before < level && now >= level)
            }
            Statistic::CrossingDown => {
                crossing(&series, |before, now| before >= level && now < level)
            }
            Statistic::FirstTime => first(series.iter().find(|point| self.matches(point.1))),
            Statistic::LastTime => first(series.iter().rfind(|point| self.matches(point.1))),
            Statistic::Share => {
                let matching = values.iter().filter(|value| self.matches(**value)).count();
                Some(matching as f64 / values.len() as f64)
            }
            Statistic::Count => Some(values.len() as f64),
            Statistic::Gap => gaps(&series).get(self.index).copied(),
            Statistic::GapMedian => median(gaps(&series)),
            Statistic::GapAbove => {
                let place = gaps(&series).iter().position(|gap| *gap > level)?;
                first(series.get(place + 1))
            }
            Statistic::TimeMean => mean(&held(&series)?.0),
            Statistic::Cov => {
                let (samples, _) = held(&series)?;
                Some(deviation(&samples)? / mean(&samples)?)
            }
            Statistic::Period => periodicity(&series).map(|found| found.0),
            Statistic::Periodicity => periodicity(&series).map(|found| found.1),
            Statistic::TimeToRise => median(
                rises(&series, self.index)
                    .iter()
                    .map(|rise| rise.0)
                    .collect(),
            ),
            Statistic::ValueAfterRise => median(
                rises(&series, self.index)
                    .iter()
                    .map(|rise| rise.1)
                    .collect(),
            ),
            _ => None,
        }
    }

    fn matches(&self, value: f64) -> bool {
        match self.equals {
            Some(wanted) => (value - wanted).abs() <= self.nearness * wanted.abs(),
            None => value >= self.level.unwrap_or(f64::NAN),
        }
    }

    /// The series that the measure asks for, in its span of time.
    fn series(&self, observation: &RunData) -> Option<Series> {
        let table = match self.view {
            View::Log => &observation.log,
            View::State => &observation.state,
            View::Gaps => &observation.gaps,
        };
        let times = table.numbers("time_s")?;
        let column = table.as_numbers(self.of.as_deref()?)?;
        let factor = match &self.times {
            Some(name) => Some(table.as_numbers(name)?),
            None => None,
        };
        let limits = table.words("limit");
        let mut series = Series::new();
        let mut previous: Option<f64> = None;
        for (row, (time, value)) in times.iter().zip(column.iter()).enumerate() {
            let value = value * factor.as_ref().and_then(|f| f.get(row)).unwrap_or(&1.0);
            if value.is_nan() {
                continue;
            }
            let before = previous.replace(value);
            let shown = if self.relative_to_previous {
                value / before.unwrap_or(f64::NAN)
            } else {
                value
            };
            let limited = self.limit.as_deref().is_none_or(|wanted| {
                limits
                    .and_then(|limits| limits.get(row))
                    .is_some_and(|limit| &**limit == wanted)
            });
            if limited && self.counts(before, value) && !shown.is_nan() {
                series.push((*time, shown));
            }
        }
        let (from, until) = self.span(times, &column);
        series.retain(|point| point.0 >= from && point.0 <= until);
        Some(series)
    }

    fn counts(&self, before: Option<f64>, now: f64) -> bool {
        match self.rows {
            RowFilter::All => true,
            RowFilter::Changes => before.is_some_and(|before| before != now),
            RowFilter::Falls => before.is_some_and(|before| now < before),
            RowFilter::Rises => before.is_some_and(|before| now > before),
        }
    }

    /// The span of time; the run's largest value is that of the plain column.
    fn span(&self, times: &[f64], column: &[f64]) -> (f64, f64) {
        let mut from = self.from_s.unwrap_or(f64::NEG_INFINITY);
        let mut until = self.until_s.unwrap_or(f64::INFINITY);
        if self.after_max || self.before_max {
            let plain: Series = times.iter().copied().zip(column.iter().copied()).collect();
            if let Some(top) = time_of_max(&plain) {
                if self.after_max {
                    from = from.max(top);
                }
                if self.before_max {
                    until = until.min(top);
                }
            }
        }
        (from, until)
    }
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
