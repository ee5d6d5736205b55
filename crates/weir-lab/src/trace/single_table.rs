//! A table as the octets of one Parquet file, and back.

use super::parquet::{self, Description, PageCoder, TableWriter};
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
    let mut writer = TableWriter::new(table, &description_of_runs(table, note_of), Vec::new())?;
    let mut coder = PageCoder::new()?;
    writer.append(table, &mut coder)?;
    Ok(writer.close(&mut coder, |_| ())?.1)
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
        ..Description::default()
    }
}

/// Reads the table of a Parquet file.
///
/// # Errors
/// If the octets are not such a file, or it has columns of other types.
pub fn read_table(octets: Vec<u8>) -> io::Result<Table> {
    parquet::read(octets).map_err(io::Error::other)
}
