//! Thins a long table but keeps its visible features: changes of words, and in each interval the
//! first row, the last one and the extremes.

use super::ColumnSpec;
use std::collections::BTreeSet;

/// The maximum number of rows of an unfinished interval.
const MAX_WAITING: usize = 1 << 16;

/// The column with the cause of a row, which is not a state that holds from the row on.
const WHY: &str = "event";

/// Thinning of the rows of one interval at a time.
#[derive(Debug)]
pub(super) struct Thinning<Row> {
    interval_s: f64,
    /// The end of the interval; `None` before its first row.
    end_s: Option<f64>,
    /// The last row of earlier intervals.
    before: Option<Row>,
    waiting: Vec<Row>,
    /// The indices of the columns whose extremes are kept.
    measured: Vec<usize>,
}

impl<Row: Clone + 'static> Thinning<Row> {
    /// The first column must be the time in seconds.
    pub(super) fn new(columns: &[&'static ColumnSpec<Row>], interval_s: f64) -> Self {
        let any_plotted = columns.iter().any(|column| column.plot.is_some());
        let is_measured = |&number: &usize| !any_plotted || columns[number].plot.is_some();
        Self {
            interval_s,
            end_s: None,
            before: None,
            waiting: Vec::new(),
            measured: (1..columns.len()).filter(is_measured).collect(),
        }
    }

    pub(super) fn set_interval(&mut self, interval_s: f64) {
        self.interval_s = interval_s;
    }

    pub(super) const fn interval_s(&self) -> f64 {
        self.interval_s
    }

    /// Takes a row; returns the kept rows of the interval that it ends, if any.
    pub(super) fn push(&mut self, columns: &[&'static ColumnSpec<Row>], row: &Row) -> Vec<Row> {
        let time = columns.first().and_then(|time| time.number_of(row));
        let time = time.unwrap_or_default();
        let ended = self.end_s.is_some_and(|end| time >= end);
        let kept = if ended || self.waiting.len() >= MAX_WAITING {
            self.end(columns)
        } else {
            Vec::new()
        };
        let end = self.end_s.unwrap_or(time + self.interval_s);
        self.end_s = Some(end);
        self.waiting.push(row.clone());
        kept
    }

    /// Ends the interval; returns the kept rows in their order.
    pub(super) fn end(&mut self, columns: &[&'static ColumnSpec<Row>]) -> Vec<Row> {
        self.end_s = None;
        let rows = std::mem::take(&mut self.waiting);
        let mut kept = BTreeSet::from([0, rows.len().saturating_sub(1)]);
        let states: Vec<_> = columns.iter().filter(|column| column.name != WHY).collect();
        let states = &states;
        let mut before = self.before.as_ref();
        for (number, row) in rows.iter().enumerate() {
            let word = |row| states.iter().filter_map(move |column| column.word_of(row));
            if before.is_some_and(|before| word(before).ne(word(row))) {
                kept.insert(number);
            }
            before = Some(row);
        }
        for &column in &self.measured {
            let value = |row| {
                columns[column]
                    .number_of(row)
                    .filter(|value| !value.is_nan())
            };
            let values = rows.iter().enumerate();
            let values = values.filter_map(|(number, row)| Some((value(row)?, number)));
            let by_value = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0);
            kept.extend(values.clone().min_by(by_value).map(|(_, number)| number));
            kept.extend(values.max_by(by_value).map(|(_, number)| number));
        }
        let chosen = kept.iter().filter_map(|&number| rows.get(number).cloned());
        let chosen = chosen.collect();
        self.before = rows.into_iter().next_back().or(self.before.take());
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::super::TableRecorder;
    use super::*;

    #[derive(Clone)]
    struct Row {
        at_s: f64,
        value: f64,
        word: &'static str,
    }

    const COLUMNS: &[ColumnSpec<Row>] = &[
        ColumnSpec::number("time_s", "s", "time", &|row: &Row| row.at_s),
        ColumnSpec::number("value", "", "value", &|row: &Row| row.value),
        ColumnSpec::word("word", "word", &|row: &Row| row.word),
    ];

    #[test]
    fn every_change_of_a_word_and_every_extreme_stays() {
        let mut whole = TableRecorder::new(COLUMNS);
        let mut thin = TableRecorder::new(COLUMNS);
        thin.thin(0.1);
        for number in 0..10_000_u32 {
            let row = Row {
                at_s: f64::from(number) * 1e-3,
                // A spike in every interval, each at a different position.
                value: match number % 97 {
                    31 => 100.0 + f64::from(number),
                    77 => -f64::from(number),
                    _ => f64::from(number % 7),
                },
                word: if number % 1234 < 2 { "rare" } else { "usual" },
            };
            whole.push(&row);
            thin.push(&row);
        }
        let (whole, thin) = (whole.finish(), thin.finish());
        assert!(thin.rows() * 10 < whole.rows(), "{}", thin.rows());
        let times = thin.numbers("time_s").unwrap();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(times.first(), Some(&0.0));
        assert_eq!(times.last(), whole.numbers("time_s").unwrap().last());
        let changes = |table: &super::super::Table| {
            let words = table.words("word").unwrap().iter();
            let times = table.numbers("time_s").unwrap().iter();
            let mut last = None;
            let changed = words
                .zip(times)
                .filter(|(word, _)| last.replace(*word) != Some(*word));
            changed
                .map(|(word, time)| (word.clone(), *time))
                .collect::<Vec<_>>()
        };
        assert_eq!(changes(&thin), changes(&whole));
        let spikes = |table: &super::super::Table| {
            let values = table.numbers("value").unwrap().iter();
            values
                .filter(|value| **value > 50.0 || **value < 0.0)
                .count()
        };
        // Two spikes may be in the same interval, and then the smaller one is dropped.
        assert!(spikes(&thin) * 10 > spikes(&whole) * 9, "{}", spikes(&thin));
        let extreme = |table: &super::super::Table, sign: f64| {
            let values = table.numbers("value").unwrap().iter();
            values.map(|value| value * sign).fold(f64::MIN, f64::max)
        };
        for sign in [1.0, -1.0] {
            assert_eq!(extreme(&thin, sign), extreme(&whole, sign));
        }
    }

    #[test]
    fn an_interval_without_end_does_not_fill_the_memory() {
        let mut thin = TableRecorder::new(COLUMNS);
        thin.thin(f64::INFINITY);
        for number in 0..(3 * MAX_WAITING as u32) {
            thin.push(&Row {
                at_s: 1.0,
                value: f64::from(number),
                word: "",
            });
        }
        assert!((3..=12).contains(&thin.rows()), "{}", thin.rows());
    }
}
