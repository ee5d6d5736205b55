//! Columns of batches of rows, and targets for their values, with words as numbers.

use super::{Table, ValueKind, Values};
use std::collections::BTreeMap;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

/// The maximum number of words of a column that are recognised by their address.
const RECENT: usize = 8;

/// Rows whose columns can be read one by one.
pub trait RowBatch {
    /// The number of rows.
    fn rows(&self) -> usize;

    /// The names and the kinds of the columns.
    fn columns(&self) -> Vec<(&str, ValueKind)>;

    /// Appends the values of the column at this index in these rows; nothing if it has another kind
    /// of values than `target`, or if the range exceeds the rows.
    fn append_to(&self, place: usize, rows: Range<usize>, target: ColumnTarget<'_>);
}

/// The target of a column's values.
pub enum ColumnTarget<'a> {
    /// Numbers; NaN where there is no value.
    Numbers(&'a mut Vec<f64>),
    /// Counts.
    Counts(&'a mut Vec<u64>),
    /// Words as numbers in a dictionary, which is extended as needed.
    Words(&'a mut Dictionary, &'a mut Vec<u32>),
}

/// The words of a column, numbered in the order of their first use.
#[derive(Debug, Default)]
pub struct Dictionary {
    words: Vec<Arc<str>>,
    numbers: BTreeMap<Arc<str>, u32>,
}

impl Dictionary {
    /// The words, in the order of their numbers.
    pub fn words(&self) -> &[Arc<str>] {
        &self.words
    }

    /// The number of a word.
    pub fn number_of(&mut self, word: &str) -> u32 {
        if let Some(number) = self.numbers.get(word) {
            return *number;
        }
        let number = self.words.len() as u32;
        let word: Arc<str> = word.into();
        self.words.push(Arc::clone(&word));
        self.numbers.insert(word, number);
        number
    }

    /// Appends the numbers of words. Most words are constants of the program or shared, and a
    /// column has few of them, so they are recognised by their addresses.
    pub fn append<'a>(&mut self, words: impl Iterator<Item = &'a str>, numbers: &mut Vec<u32>) {
        let mut last: (&str, u32) = ("", u32::MAX);
        let mut recent: Vec<(&str, u32)> = Vec::new();
        numbers.extend(words.map(|word| {
            if last.1 == u32::MAX || !ptr::eq(last.0, word) {
                let known = recent.iter().find(|(same, _)| ptr::eq(*same, word));
                last = known.copied().unwrap_or_else(|| {
                    let new = (word, self.number_of(word));
                    if recent.len() < RECENT {
                        recent.push(new);
                    }
                    new
                });
            }
            last.1
        }));
    }
}

/// The values of a column of a table in memory under construction.
#[derive(Debug)]
pub(super) enum GrowingColumn {
    Numbers(Vec<f64>),
    Counts(Vec<u64>),
    Words(Dictionary, Vec<u32>),
}

impl GrowingColumn {
    pub(super) fn new(kind: ValueKind) -> Self {
        match kind {
            ValueKind::Number => Self::Numbers(Vec::new()),
            ValueKind::Count => Self::Counts(Vec::new()),
            ValueKind::Word => Self::Words(Dictionary::default(), Vec::new()),
        }
    }

    pub(super) fn target(&mut self) -> ColumnTarget<'_> {
        match self {
            Self::Numbers(values) => ColumnTarget::Numbers(values),
            Self::Counts(values) => ColumnTarget::Counts(values),
            Self::Words(dictionary, numbers) => ColumnTarget::Words(dictionary, numbers),
        }
    }

    pub(super) fn finish(self) -> Values {
        match self {
            Self::Numbers(values) => Values::F64(values),
            Self::Counts(values) => Values::U64(values),
            Self::Words(dictionary, numbers) => {
                let words = numbers
                    .iter()
                    .filter_map(|&number| dictionary.words.get(number as usize).cloned());
                Values::Text(words.collect())
            }
        }
    }
}

impl RowBatch for Table {
    fn rows(&self) -> usize {
        Self::rows(self)
    }

    fn columns(&self) -> Vec<(&str, ValueKind)> {
        let columns = self.columns.iter();
        let columns = columns.map(|column| (column.name.as_str(), column.values.kind()));
        columns.collect()
    }

    fn append_to(&self, place: usize, rows: Range<usize>, target: ColumnTarget<'_>) {
        let Some(column) = self.columns.get(place) else {
            return;
        };
        if column.values.len() != Self::rows(self) {
            return;
        }
        match (&column.values, target) {
            (Values::F64(values), ColumnTarget::Numbers(target)) => {
                target.extend_from_slice(values.get(rows).unwrap_or_default());
            }
            (Values::U64(values), ColumnTarget::Counts(target)) => {
                target.extend_from_slice(values.get(rows).unwrap_or_default());
            }
            (Values::Text(values), ColumnTarget::Words(dictionary, numbers)) => {
                let words = values.get(rows).unwrap_or_default();
                dictionary.append(words.iter().map(|word| &**word), numbers);
            }
            _ => {}
        }
    }
}
