//! Tables that grow row by row.

use crate::table::{Column, Table, Values, interned};
use std::collections::BTreeSet;
use std::sync::Arc;
use weir_proto::cc::rtt::RttEstimator;

/// A value of a row.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cell<'a> {
    /// A number; NaN is no value.
    Number(f64),
    /// A count.
    Count(u64),
    /// A word.
    Word(&'a str),
}

/// Latest, smoothed and least round-trip time in seconds; NaN before the first sample.
pub(super) fn rtt_cells(estimator: &RttEstimator) -> [Cell<'static>; 3] {
    let rtt = estimator.get();
    let has_sample = estimator.smoothed().is_some();
    [rtt.latest, rtt.smoothed, rtt.min].map(|time| {
        Cell::Number(if has_sample {
            time.as_secs_f64()
        } else {
            f64::NAN
        })
    })
}

/// The rows of a table. All rows have the columns of the first.
#[derive(Debug, Default)]
pub(super) struct Rows {
    table: Table,
    /// Each word once.
    words: BTreeSet<Arc<str>>,
}

impl Cell<'_> {
    /// A number that may be missing.
    pub(super) fn optional(number: Option<f64>) -> Self {
        Cell::Number(number.unwrap_or(f64::NAN))
    }
}

impl Rows {
    /// Appends a row of names and values.
    pub(super) fn push(&mut self, row: &[(&str, Cell<'_>)]) {
        if self.table.columns.is_empty() {
            let columns = row.iter().map(|(name, cell)| Column {
                name: (*name).to_owned(),
                values: match cell {
                    Cell::Number(_) => Values::F64(Vec::new()),
                    Cell::Count(_) => Values::U64(Vec::new()),
                    Cell::Word(_) => Values::Text(Vec::new()),
                },
            });
            self.table.columns = columns.collect();
        }
        for (column, (_, cell)) in self.table.columns.iter_mut().zip(row) {
            match (&mut column.values, cell) {
                (Values::F64(values), Cell::Number(value)) => values.push(*value),
                (Values::U64(values), Cell::Count(value)) => values.push(*value),
                (Values::Text(values), Cell::Word(word)) => {
                    values.push(interned(&mut self.words, word));
                }
                // A row of another kind than the first, which no caller has.
                (Values::F64(values), _) => values.push(f64::NAN),
                (Values::U64(values), _) => values.push(0),
                (Values::Text(values), _) => values.push(Arc::from("")),
            }
        }
    }

    /// Takes the last row away.
    pub(super) fn pop(&mut self) {
        for column in &mut self.table.columns {
            match &mut column.values {
                Values::F64(values) => drop(values.pop()),
                Values::U64(values) => drop(values.pop()),
                Values::Text(values) => drop(values.pop()),
            }
        }
    }

    /// True without a row.
    pub(super) fn is_empty(&self) -> bool {
        self.table.rows() == 0
    }

    /// The table without the columns that have no value in any row: NaN throughout, or no word. The
    /// times stay, also without a row.
    pub(super) fn finish(mut self) -> Table {
        if self.table.columns.is_empty() {
            self.table.columns.push(Column {
                name: "time_s".to_owned(),
                values: Values::F64(Vec::new()),
            });
        }
        let has_value = |values: &Values| match values {
            Values::F64(values) => values.iter().any(|value| !value.is_nan()),
            Values::U64(_) => true,
            Values::Text(values) => values.iter().any(|word| !word.is_empty()),
        };
        let columns = self.table.columns.into_iter();
        let columns = columns.filter(|column| column.name == "time_s" || has_value(&column.values));
        Table {
            columns: columns.collect(),
        }
    }

    /// The table, if it has a row.
    pub(super) fn finish_some(self) -> Option<Table> {
        (!self.is_empty()).then(|| self.finish())
    }
}
