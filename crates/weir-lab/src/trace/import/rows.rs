//! Tables that grow row by row.

use crate::table::{Column, Table, Values};
use std::collections::BTreeSet;
use std::sync::Arc;

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

/// The rows of a table. All rows have the columns of the first.
#[derive(Debug, Default)]
pub(super) struct Rows {
    table: Table,
    /// Each word once.
    words: BTreeSet<Arc<str>>,
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
                    let known = self.words.get(*word).cloned();
                    values.push(known.unwrap_or_else(|| {
                        let word: Arc<str> = Arc::from(*word);
                        self.words.insert(Arc::clone(&word));
                        word
                    }));
                }
                // A row of another kind than the first, which no caller has.
                (Values::F64(values), _) => values.push(f64::NAN),
                (Values::U64(values), _) => values.push(0),
                (Values::Text(values), _) => values.push(Arc::from("")),
            }
        }
    }

    /// True without a row.
    pub(super) fn is_empty(&self) -> bool {
        self.table.rows() == 0
    }

    /// The table without the columns that have no value in any row: NaN throughout, or no word.
    pub(super) fn finish(self) -> Table {
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
