//! Takes the values of a column from rows: one, or those of many rows in one loop, into which the
//! compiler puts what the column's declaration says.

use super::interned;
use std::collections::BTreeSet;
use std::ptr;
use std::sync::Arc;

/// Words of a column that are recognised by their address at most.
const RECENT: usize = 8;

/// The numbers or counts of a column.
pub(super) trait Extract<Row, T>: Sync {
    /// The value of a row.
    fn one(&self, row: &Row) -> T;

    /// Appends the values of rows.
    fn all(&self, rows: &[Row], values: &mut Vec<T>);
}

impl<Row, T, F: Fn(&Row) -> T + Sync> Extract<Row, T> for F {
    fn one(&self, row: &Row) -> T {
        self(row)
    }

    #[expect(
        clippy::redundant_closure,
        reason = "`self` by reference would be called for each row, not inlined"
    )]
    fn all(&self, rows: &[Row], values: &mut Vec<T>) {
        values.extend(rows.iter().map(|row| self(row)));
    }
}

/// The words of a column.
pub(super) trait ExtractWords<Row>: Sync {
    /// The word of a row.
    fn one<'a>(&self, row: &'a Row) -> &'a str;

    /// Appends the words of rows, each shared with every earlier use of it.
    fn all(&self, rows: &[Row], words: &mut Vec<Arc<str>>, known: &mut BTreeSet<Arc<str>>);
}

impl<Row, F: Fn(&Row) -> &str + Sync> ExtractWords<Row> for F {
    fn one<'a>(&self, row: &'a Row) -> &'a str {
        self(row)
    }

    /// Most words are constants of the program, a few for each column: their addresses say which.
    fn all(&self, rows: &[Row], words: &mut Vec<Arc<str>>, known: &mut BTreeSet<Arc<str>>) {
        let mut recent: Vec<(&str, Arc<str>)> = Vec::new();
        words.extend(rows.iter().map(|row| {
            let word = self(row);
            if let Some((_, shared)) = recent.iter().find(|(same, _)| ptr::eq(*same, word)) {
                return Arc::clone(shared);
            }
            let shared = interned(known, word);
            if recent.len() < RECENT {
                recent.push((word, Arc::clone(&shared)));
            }
            shared
        }));
    }
}
