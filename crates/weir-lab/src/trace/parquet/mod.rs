//! Tables as Parquet files: one column each, zstd, nulls where there is no value.
//!
//! The bytes depend on the table and its description only: no time, no host, a fixed creator.
//! Words are dictionaries. [`arrow_metadata`] tells readers the unit and the description of
//! columns.

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

/// What a file says about its table.
#[derive(Clone, Debug, Default)]
pub(super) struct Description {
    /// Columns by name; a column that is not here has no unit and no description.
    pub columns: Vec<ColumnNote>,
    /// Metadata of the file.
    pub properties: Vec<(&'static str, String)>,
    /// What [`schema_of`] makes of this and the columns, if that is known.
    pub schema: Option<Arc<str>>,
}

impl Description {
    /// The unit and the description of a column.
    fn of(&self, column: &str) -> Option<&ColumnNote> {
        self.columns.iter().find(|note| note.name == column)
    }
}

/// What the file of a table says about its columns to readers that hold tables as Arrow does.
pub(super) fn schema_of(table: &dyn RowBatch, description: &Description) -> String {
    arrow_metadata::encoded(&table.columns(), description)
}
