//! A table as the octets of one Parquet file, and back.

use super::parquet::{self, Description, PageCoder, TableWriter};
use crate::table::Table;
use std::io;

/// The octets of a Parquet file with this table.
///
/// # Errors
/// If a column has another length than the others.
pub fn table_octets(table: &Table) -> io::Result<Vec<u8>> {
    let mut writer = TableWriter::new(table, &Description::default(), Vec::new())?;
    let mut coder = PageCoder::new()?;
    writer.append(table, &mut coder)?;
    Ok(writer.close(&mut coder, |_| ())?.1)
}

/// The table of a Parquet file.
///
/// # Errors
/// If the octets are no such file, or it has columns that no table has.
pub fn read_table(octets: Vec<u8>) -> io::Result<Table> {
    parquet::read(octets).map_err(io::Error::other)
}
