//! Evaluates a measure: on one run, on a law, or run by run on other rows.

use super::measure::{Measure, Moment, RowFilter, Statistic, View};
use super::measurement::Measurement;
use super::run_data::RunData;
use super::series::{
    Series, crossing, deviation, gaps, held, late_rises, mean, median, periodicity, rises,
    time_of_max,
};
use crate::scenario::Term;
use crate::theory::TheoryError;
use std::collections::BTreeMap;

impl Measure {
    /// The value of one run in base units; `None` if the run has no such row, column or moment.
    pub(super) fn of_run(&self, run: &RunData, moments: &[Moment]) -> Option<f64> {
        let value = if self.is_summary() {
            self.summary_value(run)
        } else {
            self.series_value(run, &Moments { all: moments, run })
        };
        self.scaled(value?)
    }

    /// The value of a law in base units.
    ///
    /// # Errors
    /// If the law rejects its arguments.
    pub(super) fn of_law(&self) -> Result<Option<f64>, TheoryError> {
        let value = self.law_line(self.line.as_deref().unwrap_or_default())?;
        Ok(value.and_then(|value| self.scaled(value)))
    }

    /// The value derived from two other rows, run by run; `None` before they are measured.
    pub(super) fn of_rows(&self, rows: &BTreeMap<String, Measurement>) -> Option<Measurement> {
        let sample = |place: usize| rows.get(self.between.get(place)?);
        let join = |a: f64, b: f64| {
            let value = if self.take == Statistic::Difference {
                a - b
            } else {
                a / b
            };
            value / self.divide_by.unwrap_or(1.0)
        };
        Some(sample(0)?.paired(sample(1)?, join))
    }

    fn scaled(&self, value: f64) -> Option<f64> {
        let value = value / self.divide_by.unwrap_or(1.0);
        value.is_finite().then_some(value)
    }

    /// The line of this name in the result of the law for the measure's arguments.
    pub(super) fn law_line(&self, name: &str) -> Result<Option<f64>, TheoryError> {
        let arguments = self.arguments.iter();
        let arguments: Vec<_> = arguments
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        let lines = crate::theory::evaluate(self.law.as_deref().unwrap_or_default(), &arguments)?;
        let line = lines.iter().find(|line| line.name == name);
        Ok(line.map(|line| line.value))
    }

    fn summary_value(&self, run: &RunData) -> Option<f64> {
        let lost = run.packets_lost as f64 / run.packets_sent as f64;
        match self.take {
            Statistic::Throughput => Some(run.throughput_bps),
            Statistic::Summary => {
                let found = Term::parse(self.of.as_deref()?).ok()?.of(&run.summary);
                found.into_iter().find_map(|(_, value)| value)
            }
            Statistic::GroupMean => mean(&self.group(run)?),
            Statistic::GroupStddev => deviation(&self.group(run)?),
            Statistic::LossRate => Some(lost),
            Statistic::DeliveryRate => Some(1.0 - lost),
            _ => None,
        }
    }

    /// The values of the flows of a group.
    fn group(&self, run: &RunData) -> Option<Vec<f64>> {
        let (prefix, pointer) = (self.flows.as_deref()?, self.of.as_deref()?);
        let flows = run.summary.pointer("/flows")?.as_object()?;
        let group = flows.iter().filter(|(name, _)| name.starts_with(prefix));
        group
            .map(|(_, flow)| flow.pointer(pointer)?.as_f64())
            .collect()
    }

    fn series_value(&self, run: &RunData, moments: &Moments<'_>) -> Option<f64> {
        if self.take == Statistic::TimeOf {
            return moments.time(self.at.as_deref(), self.at_s);
        }
        let series = self.series(run, moments)?;
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
                let at = moments.time(self.at.as_deref(), self.at_s)?;
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
            Statistic::LateRises => late_rises(&series, self.first_level?, level),
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

    /// The series that the measure selects, within its time range.
    fn series(&self, run: &RunData, moments: &Moments<'_>) -> Option<Series> {
        let table = match self.view {
            View::Log => &run.log,
            View::State => &run.state,
            View::Gaps => &run.gaps,
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
        let (from, until) = self.span(times, &column, moments)?;
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

    /// The time range of the measure; the largest value of the run is that of the column before any
    /// transformation. `None` if the moment at either end does not occur.
    fn span(&self, times: &[f64], column: &[f64], moments: &Moments<'_>) -> Option<(f64, f64)> {
        let end = |name: &Option<String>, offset: Option<f64>, open: f64| match (name, offset) {
            (None, None) => Some(open),
            (name, offset) => moments.time(name.as_deref(), offset),
        };
        let mut from = end(&self.from, self.from_s, f64::NEG_INFINITY)?;
        let mut until = end(&self.until, self.until_s, f64::INFINITY)?;
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
        Some((from, until))
    }
}

/// The moments of one run.
struct Moments<'a> {
    all: &'a [Moment],
    run: &'a RunData,
}

impl Moments<'_> {
    /// A time since the start of the run: `offset_s` after the moment, or after the start without
    /// one.
    fn time(&self, name: Option<&str>, offset_s: Option<f64>) -> Option<f64> {
        let moment = match name {
            Some(name) => self.find(name)?,
            None => 0.0,
        };
        Some(moment + offset_s.unwrap_or(0.0))
    }

    /// The time of the moment of this name, if it occurs. Moments refer to earlier ones only.
    fn find(&self, name: &str) -> Option<f64> {
        let moment = self.all.iter().find(|moment| moment.name == name)?;
        let after = match &moment.after {
            Some(name) => self.find(name)?,
            None => f64::NEG_INFINITY,
        };
        let table = &self.run.state;
        let values = table.as_numbers(&moment.of)?;
        let points = table
            .numbers("time_s")?
            .iter()
            .copied()
            .zip(values.iter().copied());
        let series: Series = points
            .filter(|at| at.0 >= after && !at.1.is_nan())
            .collect();
        match (moment.rises_to, moment.falls_below) {
            (Some(level), _) => crossing(&series, |before, now| before < level && now >= level),
            (_, Some(level)) => crossing(&series, |before, now| before >= level && now < level),
            _ => None,
        }
    }
}
