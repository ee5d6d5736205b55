//! Tables as Parquet files: one column for each of the table's, zstd, nulls for missing values.
//!
//! The bytes depend only on the table and its description: there is no time and no host, and the
//! creator is fixed. Words use dictionaries. [`arrow_metadata`] gives readers the unit and the
//! description of columns.

mod arrow_metadata;
mod chunk;
mod encoding;
mod page_buffer;
mod pending;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(super) use chunk::PageCoder;
pub(super) use read::{Part, RowsOfName, TableReader, read};
pub(super) use write::{EncodedRowGroup, GroupWriter, RowGroup, write_table};

use crate::table::ColumnNote;

/// The metadata of a table's file.
#[derive(Clone, Debug, Default)]
pub(super) struct Description {
    /// Columns by name; a column that is missing here has no unit and no description.
    pub columns: Vec<ColumnNote>,
    /// Metadata of the file.
    pub properties: Vec<(&'static str, String)>,
}

impl Description {
    /// The unit and the description of a column.
    fn of(&self, column: &str) -> Option<&ColumnNote> {
        self.columns.iter().find(|note| note.name == column)
    }
}
