//! A table in memory: named columns of equal length, and how columns are declared and recorded.
//!
//! A [`ColumnSpec`] declares a column once: its name in files, its unit, its meaning, and how its
//! value is taken from a row. A [`TableRecorder`] appends rows to the declared columns, in memory
//! or on the way to a [`TableSink`].

mod columns;
mod extract;
mod recorder;
mod row_thinning;
mod thinning;

pub use columns::{ColumnTarget, Dictionary, RowBatch};
use extract::{Extract, ExtractWords};
pub use recorder::{SharedSink, TableRecorder, TableSink};
pub use row_thinning::RowThinning;

use std::borrow::Cow;
use std::sync::Arc;

/// The values of one column. Two are equal if their bits are: no value equals no value.
#[derive(Clone, Debug)]
pub enum Values {
    /// Numbers; NaN where there is no value.
    F64(Vec<f64>),
    /// Counts.
    U64(Vec<u64>),
    /// Words, shared because few differ.
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

/// Columns of equal length; a row is a moment.
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

    /// What the values are.
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

    /// The rows for which this says so.
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

/// The values that are kept.
fn retained<T>(values: Vec<T>, kept: &[bool]) -> Vec<T> {
    let rows = values.into_iter().zip(kept);
    let rows = rows.filter(|(_, kept)| **kept);
    rows.map(|(value, _)| value).collect()
}

/// A column as it is declared.
pub struct ColumnSpec<Row: 'static> {
    /// The name in files; a unit is its last part (`rtt_s`, `cwnd_bytes`).
    pub name: &'static str,
    /// The unit of the values; empty for words, shares and counts.
    pub unit: &'static str,
    /// What the values are, in one line.
    pub doc: &'static str,
    /// How plots label the column; `None` if it is not plotted as a series.
    pub plot: Option<PlotLabel>,
    /// The rows that alone have a value; `None` if all may have one.
    only_in: Option<&'static RowKind<Row>>,
    value: ValueOf<Row>,
}

/// A kind of rows that alone have values in some columns of numbers: where there are none, these
/// columns are not looked at.
pub struct RowKind<Row: 'static>(fn(&[Row]) -> bool);

impl<Row> RowKind<Row> {
    /// The kind of which this says whether any is among rows.
    pub const fn new(is_among: fn(&[Row]) -> bool) -> Self {
        Self(is_among)
    }

    fn is_among(&self, rows: &[Row]) -> bool {
        (self.0)(rows)
    }
}

/// How plots label a column.
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

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Numbers, some of which may be missing.
    Number,
    /// Counts.
    Count,
    /// Words.
    Word,
}

/// A column as its files and its documentation describe it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// The name in files; a unit is its last part.
    pub name: &'static str,
    /// The unit of the values; empty for words, shares and counts.
    pub unit: &'static str,
    /// What the values are, in one line.
    pub doc: &'static str,
    /// What the values are for a program.
    pub kind: ValueKind,
}

/// What the file of a table says about one of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnNote {
    /// The name in files.
    pub name: String,
    /// The unit of the values; empty for words, shares and counts.
    pub unit: &'static str,
    /// What the values are, in one line.
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

/// How a column takes its value from a row.
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

    /// Appends the values of rows; none if the target takes others.
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

    /// What the values are.
    const fn kind(&self) -> ValueKind {
        match self.value {
            ValueOf::Number(_) => ValueKind::Number,
            ValueOf::Count(_) => ValueKind::Count,
            ValueOf::Word(_) => ValueKind::Word,
        }
    }

    /// The column without the way to its value.
    pub const fn info(&self) -> ColumnInfo {
        ColumnInfo {
            name: self.name,
            unit: self.unit,
            doc: self.doc,
            kind: self.kind(),
        }
    }

    /// The same column, in which rows of this kind alone have values.
    pub const fn only_in(mut self, rows: &'static RowKind<Row>) -> Self {
        self.only_in = Some(rows);
        self
    }

    /// The same column, plotted in its own unit.
    pub const fn plotted(self, axis: &'static str, short: &'static str) -> Self {
        let unit = self.unit;
        self.plotted_in(unit, 1.0, [axis, short])
    }

    /// The same column, plotted in another unit: `factor` turns the column's unit into it.
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

/// The word, shared with every earlier use of it.
#[cfg(feature = "files")]
pub(crate) fn interned(words: &mut std::collections::BTreeSet<Arc<str>>, word: &str) -> Arc<str> {
    if let Some(known) = words.get(word) {
        return known.clone();
    }
    let new: Arc<str> = word.into();
    words.insert(new.clone());
    new
}
