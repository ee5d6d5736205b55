//! A trace in memory: named columns of equal length.

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

    /// A column of words as a slice.
    pub fn words(&self, name: &str) -> Option<&[Arc<str>]> {
        match self.column(name)? {
            Values::Text(values) => Some(values),
            _ => None,
        }
    }
}
