//! What is computed of the rows of a column: every number of an explanation is one of these, so
//! that it can be computed again from the rows that it names.

use crate::table::{Table, Values};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::Range;

/// A number of a column over some rows. A value holds from its row until the next one; those over
/// time are weighted by that.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The value below or at which the column is for this share of the time.
    Quantile(f64),
    /// The smallest value.
    Least,
    /// The largest value.
    Most,
    /// The mean over time.
    Mean,
    /// The standard deviation over time, divided by the mean.
    Variation,
    /// The first value.
    First,
    /// The last value.
    Last,
    /// The last value less the first: of a column that counts.
    Growth,
    /// The sum of the values.
    Sum,
    /// The number of rows with this word.
    CountOf(String),
    /// The number of runs of rows with this word.
    EntriesOf(String),
    /// The share of the time in which the column has this word.
    ShareOf(String),
    /// The length of time from the first row to the end of the last, in seconds.
    Length,
}

impl Statistic {
    /// The number over these rows of a table; time ends at `end_s`. `None` without a value.
    pub fn of(&self, table: &Table, column: &str, rows: Range<usize>, end_s: f64) -> Option<f64> {
        let weights = Weights::of(table, rows.clone(), end_s)?;
        match self {
            Self::Length => Some(weights.total()),
            Self::CountOf(word) => {
                let words = table.words(column)?.get(rows)?;
                Some(words.iter().filter(|other| &***other == word).count() as f64)
            }
            Self::EntriesOf(word) => {
                let words = table.words(column)?.get(rows)?;
                let is = |row: &usize| *words[*row] == **word;
                let entries = (0..words.len()).filter(is);
                let entries = entries.filter(|row| *row == 0 || !is(&(row - 1)));
                Some(entries.count() as f64)
            }
            Self::ShareOf(word) => {
                let words = table.words(column)?.get(rows)?;
                let held = words.iter().enumerate();
                let held = held.filter(|(_, other)| &***other == word);
                let held: f64 = held.map(|(row, _)| weights.of_row(row)).sum();
                let total = weights.total();
                (total > 0.0).then(|| held / total)
            }
            _ => {
                let values = numbers(table, column, rows)?;
                let known = values.iter().enumerate();
                let known = known.filter(|(_, value)| value.is_finite());
                let known = known.map(|(row, value)| (*value, weights.of_row(row)));
                self.of_numbers(&known.collect::<Vec<_>>())
            }
        }
    }

    /// The number of values with their weights.
    fn of_numbers(&self, values: &[(f64, f64)]) -> Option<f64> {
        let (first, last) = (values.first()?.0, values.last()?.0);
        let all = values.iter().map(|(value, _)| *value);
        Some(match self {
            Self::Quantile(share) => return quantile(values, *share),
            Self::Least => all.fold(f64::INFINITY, f64::min),
            Self::Most => all.fold(f64::NEG_INFINITY, f64::max),
            Self::Mean => mean(values),
            Self::Variation => {
                let mean = mean(values);
                let squares: Vec<(f64, f64)> = values
                    .iter()
                    .map(|(value, weight)| ((value - mean) * (value - mean), *weight))
                    .collect();
                libm::sqrt(self::mean(&squares)) / mean
            }
            Self::First => first,
            Self::Last => last,
            Self::Growth => last - first,
            Self::Sum => all.sum(),
            Self::CountOf(_) | Self::EntriesOf(_) | Self::ShareOf(_) | Self::Length => {
                return None;
            }
        })
    }
}

/// The numbers of some rows of a column.
fn numbers(table: &Table, column: &str, rows: Range<usize>) -> Option<Vec<f64>> {
    match table.column(column)? {
        Values::F64(values) => values.get(rows).map(<[f64]>::to_vec),
        Values::U64(values) => {
            let values = values.get(rows)?;
            Some(values.iter().map(|value| *value as f64).collect())
        }
        Values::Text(_) => None,
    }
}

/// How long each row of a range holds.
struct Weights<'a> {
    times: &'a [f64],
    first: usize,
    end_s: f64,
    rows: usize,
}

impl<'a> Weights<'a> {
    fn of(table: &'a Table, rows: Range<usize>, end_s: f64) -> Option<Self> {
        let times = table.numbers("time_s").or(table.numbers("start_s"))?;
        (rows.start < rows.end && rows.end <= times.len()).then(|| Self {
            times,
            first: rows.start,
            end_s,
            rows: rows.len(),
        })
    }

    /// How long the row with this number, counted from the first of the range, holds.
    fn of_row(&self, row: usize) -> f64 {
        let at = self.first + row;
        let until = self.times.get(at + 1).copied().unwrap_or(self.end_s);
        (until - self.times[at]).max(0.0)
    }

    fn total(&self) -> f64 {
        (0..self.rows).map(|row| self.of_row(row)).sum()
    }
}

/// The mean over time; over the values if no time passes.
fn mean(values: &[(f64, f64)]) -> f64 {
    let total: f64 = values.iter().map(|(_, weight)| weight).sum();
    if total > 0.0 {
        values
            .iter()
            .map(|(value, weight)| value * weight)
            .sum::<f64>()
            / total
    } else {
        values.iter().map(|(value, _)| value).sum::<f64>() / values.len() as f64
    }
}

/// The value at or below which the values are for this share of the time.
fn quantile(values: &[(f64, f64)], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let total: f64 = sorted.iter().map(|(_, weight)| weight).sum();
    let mut held = 0.0;
    for (value, weight) in &sorted {
        held += weight;
        if held >= share * total {
            return Some(*value);
        }
    }
    sorted.last().map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn table() -> Table {
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            values,
        };
        Table {
            columns: vec![
                column("time_s", Values::F64(vec![0.0, 1.0, 4.0, 5.0])),
                column("rtt_s", Values::F64(vec![0.1, 0.3, f64::NAN, 0.2])),
                column("drops", Values::U64(vec![0, 2, 2, 7])),
                column(
                    "limit",
                    Values::Text(["a", "b", "b", "a"].map(Into::into).to_vec()),
                ),
            ],
        }
    }

    #[test]
    fn values_count_for_as_long_as_they_hold() {
        let table = table();
        let of = |statistic: Statistic, column| statistic.of(&table, column, 0..4, 10.0);
        // 0.1 for 1 s, 0.3 for 3 s, 0.2 for 5 s; the row without a value does not count.
        assert_eq!(of(Statistic::Quantile(0.1), "rtt_s"), Some(0.1));
        assert_eq!(of(Statistic::Quantile(0.5), "rtt_s"), Some(0.2));
        assert_eq!(of(Statistic::Quantile(0.95), "rtt_s"), Some(0.3));
        let mean = of(Statistic::Mean, "rtt_s").unwrap();
        assert!((mean - 2.0 / 9.0).abs() < 1e-12);
        assert_eq!(of(Statistic::Growth, "drops"), Some(7.0));
        assert_eq!(of(Statistic::Sum, "drops"), Some(11.0));
        assert_eq!(of(Statistic::ShareOf("b".to_owned()), "limit"), Some(0.4));
        assert_eq!(of(Statistic::CountOf("a".to_owned()), "limit"), Some(2.0));
        assert_eq!(of(Statistic::EntriesOf("a".to_owned()), "limit"), Some(2.0));
        assert_eq!(of(Statistic::EntriesOf("b".to_owned()), "limit"), Some(1.0));
        assert_eq!(of(Statistic::Length, "time_s"), Some(10.0));
        assert_eq!(of(Statistic::Mean, "limit"), None);
        assert_eq!(of(Statistic::Mean, "cwnd_bytes"), None);
    }

    #[test]
    fn only_the_rows_asked_for_count() {
        let table = table();
        let of = |statistic: Statistic, column| statistic.of(&table, column, 1..3, 10.0);
        assert_eq!(of(Statistic::Mean, "rtt_s"), Some(0.3));
        assert_eq!(of(Statistic::Length, "time_s"), Some(4.0));
        // From the third row on 1 s and 5 s are left, and of the drops 7 - 2.
        let length = Statistic::Length.of(&table, "time_s", 2..4, 10.0);
        assert_eq!(length, Some(6.0));
        let growth = Statistic::Growth.of(&table, "drops", 1..4, 10.0);
        assert_eq!(growth, Some(5.0));
        assert_eq!(Statistic::Mean.of(&table, "rtt_s", 2..2, 10.0), None);
        assert_eq!(Statistic::Mean.of(&table, "rtt_s", 3..9, 10.0), None);
    }
}
