//! Extracts the values of a column from rows: one value, or those of many rows in one loop, into
//! which the compiler inlines the column's function.

use super::columns::Dictionary;

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

    /// Appends the numbers that the words of rows have in a dictionary.
    fn all(&self, rows: &[Row], dictionary: &mut Dictionary, numbers: &mut Vec<u32>);
}

impl<Row, F: Fn(&Row) -> &str + Sync> ExtractWords<Row> for F {
    fn one<'a>(&self, row: &'a Row) -> &'a str {
        self(row)
    }

    #[expect(
        clippy::redundant_closure,
        reason = "`self` by reference would be called for each row, not inlined"
    )]
    fn all(&self, rows: &[Row], dictionary: &mut Dictionary, numbers: &mut Vec<u32>) {
        dictionary.append(rows.iter().map(|row| self(row)), numbers);
    }
}
