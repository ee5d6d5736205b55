//! Thins a table that is read from a file, for a picture of it: changes of words are kept, and in
//! each time slice the first row, the last one and the extremes of each column of numbers.

use super::{Column, Table, Values};
use std::ops::Range;

/// The column with the cause of a row, which is not a state that holds from the row on.
const WHY: &str = "event";

/// The lengths of the time slices in which few rows are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowThinning {
    /// Tables with more rows than this are thinned.
    pub from_rows: u64,
    /// The visible time range in seconds.
    pub span_s: (f64, f64),
    /// The length of a slice inside it, in seconds.
    pub inside_s: f64,
    /// The length of a slice outside it, in seconds.
    pub outside_s: f64,
}

impl RowThinning {
    /// The slice of a time: whether it is before, in or after the range, and its number.
    fn piece(&self, time: f64) -> (u8, i64) {
        let (from, to) = self.span_s;
        let (part, length) = match time {
            _ if time < from => (0, self.outside_s),
            _ if time <= to => (1, self.inside_s),
            _ => (2, self.outside_s),
        };
        (part, libm::floor(time / length) as i64)
    }
}

impl Table {
    /// The same columns without rows.
    pub(crate) fn emptied(&self) -> Self {
        let columns = self.columns.iter().map(|column| Column {
            name: column.name.clone(),
            values: match column.values {
                Values::F64(_) => Values::F64(Vec::new()),
                Values::U64(_) => Values::U64(Vec::new()),
                Values::Text(_) => Values::Text(Vec::new()),
            },
        });
        Self {
            columns: columns.collect(),
        }
    }

    /// These rows of the table.
    pub(crate) fn rows_in(&self, rows: Range<usize>) -> Self {
        let columns = self.columns.iter().map(|column| Column {
            name: column.name.clone(),
            values: match &column.values {
                Values::F64(values) => Values::F64(part_of(values, &rows)),
                Values::U64(values) => Values::U64(part_of(values, &rows)),
                Values::Text(values) => Values::Text(part_of(values, &rows)),
            },
        });
        Self {
            columns: columns.collect(),
        }
    }

    /// Adds the rows of a table with the same columns.
    pub(crate) fn append(&mut self, other: Self) {
        for (column, other) in self.columns.iter_mut().zip(other.columns) {
            match (&mut column.values, other.values) {
                (Values::F64(values), Values::F64(others)) => values.extend(others),
                (Values::U64(values), Values::U64(others)) => values.extend(others),
                (Values::Text(values), Values::Text(others)) => values.extend(others),
                _ => {}
            }
        }
    }

    /// The rows that a picture of the table needs; all rows of a table without times.
    pub(crate) fn thinned(self, thinning: &RowThinning) -> Self {
        let Some(times) = self.numbers("time_s") else {
            return self;
        };
        let mut kept = vec![false; times.len()];
        let mut start = 0;
        while start < times.len() {
            let piece = thinning.piece(times[start]);
            let same = times[start..]
                .iter()
                .take_while(|time| thinning.piece(**time) == piece);
            let end = start + same.count().max(1);
            kept[start] = true;
            kept[end - 1] = true;
            for column in &self.columns {
                keep_of(column, start..end, &mut kept);
            }
            start = end;
        }
        self.rows_where(&kept)
    }
}

/// These values; none if the range exceeds them.
fn part_of<T: Clone>(values: &[T], rows: &Range<usize>) -> Vec<T> {
    values.get(rows.clone()).unwrap_or_default().to_vec()
}

/// Keeps the rows of a slice that a column needs.
fn keep_of(column: &Column, rows: Range<usize>, kept: &mut [bool]) {
    match &column.values {
        Values::F64(values) => {
            keep_extremes(rows, kept, |row| values[row]);
        }
        Values::U64(values) => {
            keep_extremes(rows, kept, |row| values[row] as f64);
        }
        Values::Text(words) => {
            let changes = rows.filter(|row| *row > 0 && words[*row] != words[*row - 1]);
            if column.name != WHY {
                changes.for_each(|row| kept[row] = true);
            }
        }
    }
}

/// Keeps the rows with the smallest and the largest value, the first of equal ones, and those at
/// which values become missing or present.
fn keep_extremes(rows: Range<usize>, kept: &mut [bool], value: impl Fn(usize) -> f64) {
    let (mut low, mut high) = ((f64::INFINITY, None), (f64::NEG_INFINITY, None));
    let mut was_there = None;
    for row in rows {
        let value = value(row);
        if value < low.0 {
            low = (value, Some(row));
        }
        if value > high.0 {
            high = (value, Some(row));
        }
        let is_there = !value.is_nan();
        if was_there.is_some_and(|was| was != is_there) {
            kept[row] = true;
        }
        was_there = Some(is_there);
    }
    for row in [low.1, high.1].into_iter().flatten() {
        kept[row] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, values: Values) -> Column {
        Column {
            name: name.to_owned(),
            values,
        }
    }

    /// A thousand rows a second; slices of 0.1 s between 4 and 6 s, of 1 s elsewhere.
    #[test]
    fn changes_of_words_and_the_extremes_of_each_piece_stay() {
        let times: Vec<f64> = (0..10_000).map(|row| f64::from(row) * 1e-3).collect();
        let values: Vec<f64> = (0..10_000)
            .map(|row| f64::from(row * 7919 % 1009))
            .collect();
        let words = (0..10_000).map(|row| if row == 4321 { "rare" } else { "usual" });
        let table = Table {
            columns: vec![
                column("time_s", Values::F64(times.clone())),
                column("value", Values::F64(values.clone())),
                column("word", Values::Text(words.map(Into::into).collect())),
            ],
        };
        let thinning = RowThinning {
            from_rows: 0,
            span_s: (4.0, 6.0),
            inside_s: 0.1,
            outside_s: 1.0,
        };
        let thin = table.thinned(&thinning);
        let (at, of) = (thin.numbers("time_s"), thin.numbers("value"));
        let thin_rows: Vec<(f64, f64)> = at
            .into_iter()
            .flatten()
            .copied()
            .zip(of.into_iter().flatten().copied())
            .collect();
        // 8 slices outside and 21 inside, of which the last has one row: at most four rows each,
        // and two for the word.
        assert!(thin_rows.len() <= 28 * 4 + 1 + 2, "{}", thin_rows.len());
        let extremes = |rows: &mut dyn Iterator<Item = (f64, f64)>, from: f64, to: f64| {
            rows.filter(|row| row.0 >= from && row.0 < to)
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), row| {
                    (low.min(row.1), high.max(row.1))
                })
        };
        for (from, to) in [(0.0, 1.0), (3.0, 4.0), (4.3, 4.4), (5.5, 5.6), (9.0, 10.0)] {
            let (from, to) = (from - 1e-6, to - 1e-6);
            let mut all = times.iter().copied().zip(values.iter().copied());
            let whole = extremes(&mut all, from, to);
            let kept = extremes(&mut thin_rows.iter().copied(), from, to);
            assert_eq!(kept, whole, "from {from} to {to}");
        }
        let words = thin.words("word").unwrap_or_default();
        let rare = words.iter().position(|word| &**word == "rare");
        assert_eq!(rare.map(|row| thin_rows[row].0), Some(4.321));
        let last = thin_rows.last().map(|row| row.0);
        assert_eq!((thin_rows[0].0, last), (0.0, Some(9.999)));
    }
}
