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
pub(super) use read::{Part, read, read_part};
pub(super) use write::TableWriter;

use crate::table::{ColumnNote, RowBatch};
use std::sync::Arc;

/// The metadata of a table's file.
#[derive(Clone, Debug, Default)]
pub(super) struct Description {
    /// Columns by name; a column that is missing here has no unit and no description.
    pub columns: Vec<ColumnNote>,
    /// Metadata of the file.
    pub properties: Vec<(&'static str, String)>,
    /// The result of [`schema_of`] for this description and the columns, if it is known.
    pub schema: Option<Arc<str>>,
}

impl Description {
    /// The unit and the description of a column.
    fn of(&self, column: &str) -> Option<&ColumnNote> {
        self.columns.iter().find(|note| note.name == column)
    }
}

/// The description of a table's columns for readers that use Arrow.
pub(super) fn schema_of(table: &dyn RowBatch, description: &Description) -> String {
    arrow_metadata::encoded(&table.columns(), description)
}
