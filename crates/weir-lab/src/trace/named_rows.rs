//! Rows of a table with the table's name in the first column, as a file of many tables has them.

use crate::run::name_column;
use crate::table::{ColumnTarget, RowBatch, ValueKind};
use std::ops::Range;

/// Rows of the table with a path, such as `flows/stream`.
pub(super) struct NamedRows<'a> {
    kind: &'a str,
    name: Option<&'a str>,
    /// The name of the first column; absent in a table that is the only one of its kind.
    column: Option<&'static str>,
    rows: &'a dyn RowBatch,
}

impl<'a> NamedRows<'a> {
    pub(super) fn of(path: &'a str, rows: &'a dyn RowBatch) -> Self {
        let (kind, name) = split(path);
        let named = name.and_then(|_| name_column(kind));
        Self {
            kind,
            name,
            column: named.map(|column| column.name),
            rows,
        }
    }

    /// The kind of the table: `flows`.
    pub(super) fn kind(&self) -> &'a str {
        self.kind
    }

    /// The name of the table: `stream`.
    pub(super) fn name(&self) -> Option<&'a str> {
        self.name
    }
}

impl RowBatch for NamedRows<'_> {
    fn rows(&self) -> usize {
        self.rows.rows()
    }

    fn columns(&self) -> Vec<(&str, ValueKind)> {
        let named = self.column.map(|column| (column, ValueKind::Word));
        named.into_iter().chain(self.rows.columns()).collect()
    }

    fn append_to(&self, place: usize, rows: Range<usize>, target: ColumnTarget<'_>) {
        if self.column.is_none() {
            self.rows.append_to(place, rows, target);
        } else if place > 0 {
            self.rows.append_to(place - 1, rows, target);
        } else if let ColumnTarget::Words(words, numbers) = target {
            let number = words.number_of(self.name.unwrap_or_default());
            let end = rows.end.min(self.rows());
            numbers.resize(numbers.len() + end.saturating_sub(rows.start), number);
        }
    }
}

/// The kind and the name of the table with this path.
pub(super) fn split(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((kind, name)) => (kind, Some(name)),
        None => (path, None),
    }
}
