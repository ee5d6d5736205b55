//! Reads tables from Parquet files.

use crate::fault::caught;
use crate::table::{Column, RowThinning, Table, ValueKind, Values, interned};
use parquet::basic::{LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The number of rows read at a time.
const BATCH: usize = 1 << 14;

/// The part of a table that is read.
pub(in crate::trace) struct Part<'a> {
    /// True for the columns to read.
    pub columns: &'a dyn Fn(&str) -> bool,
    /// The thinning of rows, applied to each row group.
    pub thinning: Option<&'a RowThinning>,
}

/// Reads a table from the octets of a file.
///
/// The library panics on some damaged files, mostly if the encoding of a page does not match its
/// contents; such a panic is returned as an error. Files of a run folder are verified with their
/// checksums before they are read here.
pub(in crate::trace) fn read(octets: Vec<u8>) -> Result<Table, ParquetError> {
    let whole = Part {
        columns: &|_| true,
        thinning: None,
    };
    Ok(read_part(octets, &whole)?.0)
}

/// Reads a part of a table from the octets of a file, like [`read`]; also returns the names and
/// kinds of all its columns.
pub(in crate::trace) fn read_part(
    octets: Vec<u8>,
    part: &Part<'_>,
) -> Result<(Table, Vec<(String, ValueKind)>), ParquetError> {
    caught(|| read_unguarded(octets, part)).unwrap_or_else(|_| {
        let message = "its pages are damaged".to_owned();
        Err(ParquetError::General(message))
    })
}

fn read_unguarded(
    octets: Vec<u8>,
    part: &Part<'_>,
) -> Result<(Table, Vec<(String, ValueKind)>), ParquetError> {
    let len = octets.len() as u64;
    let file = SerializedFileReader::new(bytes::Bytes::from(octets))?;
    for group in file.metadata().row_groups() {
        group
            .columns()
            .iter()
            .try_for_each(|chunk| check(chunk, len))?;
    }
    let metadata = file.metadata().file_metadata();
    let columns = metadata.schema_descr().columns().iter();
    let columns = columns.map(|column| empty(column));
    let columns = columns.collect::<Result<Vec<Column>, _>>()?;
    let names = columns.iter();
    let names = names.map(|column| (column.name.clone(), column.values.kind()));
    let names: Vec<_> = names.collect();
    let columns = columns.into_iter().enumerate();
    let (places, columns): (Vec<usize>, Vec<Column>) = columns
        .filter(|(_, column)| (part.columns)(&column.name))
        .unzip();
    let mut table = Table { columns };
    let rows = u64::try_from(metadata.num_rows()).unwrap_or_default();
    let thinning = part.thinning.filter(|thinning| rows > thinning.from_rows);
    let mut words = BTreeSet::new();
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        let mut rows = thinning.map(|_| table.emptied());
        let target = rows.as_mut().unwrap_or(&mut table);
        for (place, column) in places.iter().zip(&mut target.columns) {
            let reader = group.get_column_reader(*place)?;
            extend(&mut column.values, reader, &mut words)?;
        }
        check_lengths(target)?;
        if let (Some(thinning), Some(rows)) = (thinning, rows) {
            table.append(rows.thinned(thinning));
        }
    }
    Ok((table, names))
}

fn check_lengths(table: &Table) -> Result<(), ParquetError> {
    let rows = table.rows();
    let mut lengths = table.columns.iter().map(|column| column.values.len());
    if lengths.all(|length| length == rows) {
        return Ok(());
    }
    let message = "its columns have different lengths".to_owned();
    Err(ParquetError::General(message))
}

/// Checks that a column's pages are inside the file, which the library does not check.
fn check(chunk: &ColumnChunkMetaData, file_len: u64) -> Result<(), ParquetError> {
    let first = chunk.dictionary_page_offset();
    let first = u64::try_from(first.unwrap_or(chunk.data_page_offset()));
    let len = u64::try_from(chunk.compressed_size());
    let inside = match (first, len) {
        (Ok(first), Ok(len)) => first.checked_add(len).is_some_and(|end| end <= file_len),
        _ => false,
    };
    if inside && chunk.num_values() >= 0 {
        return Ok(());
    }
    let message = "a column lies outside the file".to_owned();
    Err(ParquetError::General(message))
}

/// A column without values.
fn empty(described: &ColumnDescriptor) -> Result<Column, ParquetError> {
    let name = described.name().to_owned();
    let unsigned = || described.logical_type_ref() == Some(&LogicalType::integer(64, false));
    let text = || described.logical_type_ref() == Some(&LogicalType::String);
    let values = match described.physical_type() {
        Physical::DOUBLE => Values::F64(Vec::new()),
        Physical::INT64 if unsigned() => Values::U64(Vec::new()),
        Physical::BYTE_ARRAY if text() => Values::Text(Vec::new()),
        other => {
            let message = format!("column \"{name}\" has the type {other}, which no trace has");
            return Err(ParquetError::General(message));
        }
    };
    if described.max_rep_level() > 0 || described.max_def_level() > 1 {
        let message = format!("column \"{name}\" is nested, which no trace has");
        return Err(ParquetError::General(message));
    }
    Ok(Column { name, values })
}

fn extend(
    values: &mut Values,
    reader: ColumnReader,
    words: &mut BTreeSet<Arc<str>>,
) -> Result<(), ParquetError> {
    match (values, reader) {
        (Values::F64(values), ColumnReader::DoubleColumnReader(reader)) => {
            for_each(reader, |value| {
                values.push(value.unwrap_or(f64::NAN));
                Ok(())
            })
        }
        (Values::U64(values), ColumnReader::Int64ColumnReader(reader)) => {
            for_each(reader, |value| {
                values.push(value.unwrap_or(0) as u64);
                Ok(())
            })
        }
        (Values::Text(values), ColumnReader::ByteArrayColumnReader(reader)) => {
            for_each(reader, |value: Option<ByteArray>| {
                let word = value.as_ref().map_or(Ok(""), ByteArray::as_utf8)?;
                // Usually the word of the row before.
                let same = values.last().filter(|last| &***last == word).cloned();
                values.push(same.unwrap_or_else(|| interned(words, word)));
                Ok(())
            })
        }
        _ => Err(ParquetError::General(
            "a column changes its type".to_owned(),
        )),
    }
}

/// Passes on the values of a column one by one; `None` for a missing value.
fn for_each<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    mut each: impl FnMut(Option<T::T>) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    loop {
        levels.clear();
        values.clear();
        let (rows, _, _) = reader.read_records(BATCH, Some(&mut levels), None, &mut values)?;
        if rows == 0 {
            return Ok(());
        }
        let mut present = values.drain(..);
        if levels.is_empty() {
            present.try_for_each(|value| each(Some(value)))?;
        } else {
            for level in &levels {
                each(if *level == 0 { None } else { present.next() })?;
            }
        }
    }
}
