//! A table as the octets of one Parquet file, and back.

use super::parquet::{self, Description};
use crate::run::RUN_FORMAT;
use crate::table::{ColumnNote, Table};
use std::io;

/// The octets of a Parquet file with this table of runs. `note_of` describes a column.
///
/// # Errors
/// If the columns have different lengths.
pub fn table_octets(
    table: &Table,
    note_of: impl Fn(&str) -> Option<ColumnNote>,
) -> io::Result<Vec<u8>> {
    let description = description_of_runs(table, note_of);
    parquet::write_table(table, &description, Vec::new())
}

/// The metadata of a table of runs and its columns.
pub(super) fn description_of_runs(
    table: &Table,
    note_of: impl Fn(&str) -> Option<ColumnNote>,
) -> Description {
    let columns = table.columns.iter();
    Description {
        columns: columns.filter_map(|column| note_of(&column.name)).collect(),
        properties: vec![
            ("weir.format", RUN_FORMAT.to_string()),
            ("weir.table", "runs".to_owned()),
        ],
    }
}

/// Reads the table of a Parquet file.
///
/// # Errors
/// If the octets are not such a file, or it has columns of other types.
pub fn read_table(octets: Vec<u8>) -> io::Result<Table> {
    parquet::read(octets).map_err(io::Error::other)
}
