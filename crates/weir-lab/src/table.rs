//! A table in memory: named columns of equal length, and how columns are declared and recorded.
//!
//! A [`ColumnSpec`] declares a column once: its name in files, its unit, its meaning, and the
//! function that takes its value from a row. A [`TableRecorder`] appends rows to the declared
//! columns, in memory or in a [`TableSink`].

mod columns;
mod extract;
mod recorder;
#[cfg(feature = "files")]
mod row_thinning;
mod thinning;

pub use columns::{ColumnTarget, Dictionary, RowBatch};
use extract::{Extract, ExtractWords};
pub use recorder::{SharedSink, TableRecorder, TableSink};
#[cfg(feature = "files")]
pub use row_thinning::RowThinning;

use std::borrow::Cow;
use std::sync::Arc;

/// The values of one column. Two columns are equal if their bits are equal, so that missing values
/// (NaN) are equal.
#[derive(Clone, Debug)]
pub enum Values {
    /// Numbers; NaN where there is no value.
    F64(Vec<f64>),
    /// Counts.
    U64(Vec<u64>),
    /// Words, shared because there are few different ones.
    Text(Vec<Arc<str>>),
}

/// A named column; the unit is the last part of the name (`rtt_s`, `cwnd_bytes`).
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// Columns of equal length; each row is a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns in the order of the file.
    pub columns: Vec<Column>,
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        let same_bits = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        match (self, other) {
            (Self::F64(a), Self::F64(b)) => a.len() == b.len() && a.iter().zip(b).all(same_bits),
            (Self::U64(a), Self::U64(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            _ => false,
        }
    }
}

impl Values {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::F64(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// The kind of the values.
    pub const fn kind(&self) -> ValueKind {
        match self {
            Self::F64(_) => ValueKind::Number,
            Self::U64(_) => ValueKind::Count,
            Self::Text(_) => ValueKind::Word,
        }
    }

    /// True if there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Values> {
        self.columns
            .iter()
            .find(|column| column.name == name)
            .map(|column| &column.values)
    }

    /// A column of numbers as a slice.
    pub fn numbers(&self, name: &str) -> Option<&[f64]> {
        match self.column(name)? {
            Values::F64(values) => Some(values),
            _ => None,
        }
    }

    /// A column of numbers or counts as numbers.
    pub fn as_numbers(&self, name: &str) -> Option<Cow<'_, [f64]>> {
        match self.column(name)? {
            Values::F64(values) => Some(Cow::Borrowed(values)),
            Values::U64(values) => Some(values.iter().map(|value| *value as f64).collect()),
            Values::Text(_) => None,
        }
    }

    /// The rows in which this column of words has this word; all rows without such a column.
    pub fn rows_with(self, column: &str, word: &str) -> Self {
        let Some(words) = self.words(column) else {
            return self;
        };
        let kept: Vec<bool> = words.iter().map(|other| &**other == word).collect();
        self.rows_where(&kept)
    }

    /// The rows whose flag is true.
    fn rows_where(self, kept: &[bool]) -> Self {
        let columns = self.columns.into_iter().map(|column| Column {
            name: column.name,
            values: match column.values {
                Values::F64(values) => Values::F64(retained(values, kept)),
                Values::U64(values) => Values::U64(retained(values, kept)),
                Values::Text(values) => Values::Text(retained(values, kept)),
            },
        });
        Self {
            columns: columns.collect(),
        }
    }

    /// A column of words as a slice.
    pub fn words(&self, name: &str) -> Option<&[Arc<str>]> {
        match self.column(name)? {
            Values::Text(values) => Some(values),
            _ => None,
        }
    }
}

/// The values whose flag is true.
fn retained<T>(values: Vec<T>, kept: &[bool]) -> Vec<T> {
    let rows = values.into_iter().zip(kept);
    let rows = rows.filter(|(_, kept)| **kept);
    rows.map(|(value, _)| value).collect()
}

/// The declaration of a column.
pub struct ColumnSpec<Row: 'static> {
    /// The name in files; a unit is its last part (`rtt_s`, `cwnd_bytes`).
    pub name: &'static str,
    /// The unit of the values; empty for words, shares and counts.
    pub unit: &'static str,
    /// The description of the values, in one line.
    pub doc: &'static str,
    /// The label of the column in plots; `None` if it is not plotted as a series.
    pub plot: Option<PlotLabel>,
    /// The kind of rows that have a value; `None` if all rows may have one.
    only_in: Option<&'static RowKind<Row>>,
    value: ValueOf<Row>,
}

/// A kind of rows for columns of numbers that have values only in such rows. In a batch without
/// such rows these columns are not evaluated.
pub struct RowKind<Row: 'static>(fn(&[Row]) -> bool);

impl<Row> RowKind<Row> {
    /// A kind of rows, given by a function that is true if any of the rows is of this kind.
    pub const fn new(is_among: fn(&[Row]) -> bool) -> Self {
        Self(is_among)
    }

    fn is_among(&self, rows: &[Row]) -> bool {
        (self.0)(rows)
    }
}

/// The labels of a column in plots.
#[derive(Clone, Copy, Debug)]
pub struct PlotLabel {
    /// The axis, with its unit: `round-trip time R, s`.
    pub axis: &'static str,
    /// The short name in a legend: `R`.
    pub short: &'static str,
    /// The unit of the axis.
    pub unit: &'static str,
    /// The factor from the column's unit to that of the axis.
    pub factor: f64,
}

/// The kind of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Numbers, some of which may be missing.
    Number,
    /// Counts.
    Count,
    /// Words.
    Word,
}

/// The description of a column in files and documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// The name in files; a unit is its last part.
    pub name: &'static str,
    /// The unit of the values; empty for words, shares and counts.
    pub unit: &'static str,
    /// The description of the values, in one line.
    pub doc: &'static str,
    /// The kind of the values.
    pub kind: ValueKind,
}

/// The description of a column in the file of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnNote {
    /// The name in files.
    pub name: String,
    /// The unit of the values; empty for words, shares and counts.
    pub unit: &'static str,
    /// The description of the values, in one line.
    pub doc: String,
}

impl From<&ColumnInfo> for ColumnNote {
    fn from(info: &ColumnInfo) -> Self {
        Self {
            name: info.name.to_owned(),
            unit: info.unit,
            doc: info.doc.to_owned(),
        }
    }
}

/// The function that takes a column's value from a row.
enum ValueOf<Row: 'static> {
    Number(&'static dyn Extract<Row, f64>),
    Count(&'static dyn Extract<Row, u64>),
    Word(&'static dyn ExtractWords<Row>),
}

impl<Row> ColumnSpec<Row> {
    /// A column of numbers; NaN where there is no value.
    pub const fn number<F: Fn(&Row) -> f64 + Sync>(
        name: &'static str,
        unit: &'static str,
        doc: &'static str,
        value: &'static F,
    ) -> Self {
        Self {
            name,
            unit,
            doc,
            plot: None,
            only_in: None,
            value: ValueOf::Number(value),
        }
    }

    /// A column of counts.
    pub const fn count<F: Fn(&Row) -> u64 + Sync>(
        name: &'static str,
        unit: &'static str,
        doc: &'static str,
        value: &'static F,
    ) -> Self {
        Self {
            name,
            unit,
            doc,
            plot: None,
            only_in: None,
            value: ValueOf::Count(value),
        }
    }

    /// A column of words.
    pub const fn word<F: Fn(&Row) -> &str + Sync>(
        name: &'static str,
        doc: &'static str,
        value: &'static F,
    ) -> Self {
        Self {
            name,
            unit: "",
            doc,
            plot: None,
            only_in: None,
            value: ValueOf::Word(value),
        }
    }

    /// The number or count of this row; `None` for words.
    fn number_of(&self, row: &Row) -> Option<f64> {
        match self.value {
            ValueOf::Number(value) => Some(value.one(row)),
            ValueOf::Count(value) => Some(value.one(row) as f64),
            ValueOf::Word(_) => None,
        }
    }

    /// The word of this row; `None` for numbers.
    fn word_of<'a>(&self, row: &'a Row) -> Option<&'a str> {
        match self.value {
            ValueOf::Word(value) => Some(value.one(row)),
            _ => None,
        }
    }

    /// Appends the values of rows; none if the target has another kind of values.
    fn append_to(&self, rows: &[Row], target: ColumnTarget<'_>) {
        match (&self.value, target) {
            (ValueOf::Number(value), ColumnTarget::Numbers(numbers)) => value.all(rows, numbers),
            (ValueOf::Count(value), ColumnTarget::Counts(counts)) => value.all(rows, counts),
            (ValueOf::Word(value), ColumnTarget::Words(dictionary, numbers)) => {
                value.all(rows, dictionary, numbers);
            }
            _ => {}
        }
    }

    /// The kind of the values.
    const fn kind(&self) -> ValueKind {
        match self.value {
            ValueOf::Number(_) => ValueKind::Number,
            ValueOf::Count(_) => ValueKind::Count,
            ValueOf::Word(_) => ValueKind::Word,
        }
    }

    /// The description of the column without its function.
    pub const fn info(&self) -> ColumnInfo {
        ColumnInfo {
            name: self.name,
            unit: self.unit,
            doc: self.doc,
            kind: self.kind(),
        }
    }

    /// The same column, with values only in rows of this kind.
    pub const fn only_in(mut self, rows: &'static RowKind<Row>) -> Self {
        self.only_in = Some(rows);
        self
    }

    /// True if only tables with rows of this kind have the column.
    pub fn is_only_in(&self, rows: &'static RowKind<Row>) -> bool {
        self.only_in.is_some_and(|only| std::ptr::eq(only, rows))
    }

    /// The same column, plotted in its own unit.
    pub const fn plotted(self, axis: &'static str, short: &'static str) -> Self {
        let unit = self.unit;
        self.plotted_in(unit, 1.0, [axis, short])
    }

    /// The same column, plotted in another unit: `factor` converts the column's unit to it.
    pub const fn plotted_in(
        mut self,
        unit: &'static str,
        factor: f64,
        [axis, short]: [&'static str; 2],
    ) -> Self {
        self.plot = Some(PlotLabel {
            axis,
            short,
            unit,
            factor,
        });
        self
    }
}

/// The word, shared with all its earlier uses.
#[cfg(feature = "files")]
pub(crate) fn interned(words: &mut std::collections::BTreeSet<Arc<str>>, word: &str) -> Arc<str> {
    if let Some(known) = words.get(word) {
        return known.clone();
    }
    let new: Arc<str> = word.into();
    words.insert(new.clone());
    new
}
