//! Reads tables from Parquet files.

use crate::table::{Column, Table, Values, interned};
use parquet::basic::{LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows that are read at a time.
const BATCH: usize = 1 << 14;

/// Reads a table from the octets of a file.
pub(in crate::trace) fn read(octets: Vec<u8>) -> Result<Table, ParquetError> {
    let file = SerializedFileReader::new(bytes::Bytes::from(octets))?;
    let described = file.metadata().file_metadata().schema_descr();
    let columns = described.columns().iter().map(|column| empty(column));
    let mut columns = columns.collect::<Result<Vec<Column>, _>>()?;
    let mut words = BTreeSet::new();
    for group in 0..file.num_row_groups() {
        let group = file.get_row_group(group)?;
        for (place, column) in columns.iter_mut().enumerate() {
            extend(
                &mut column.values,
                group.get_column_reader(place)?,
                &mut words,
            )?;
        }
    }
    let rows = columns.first().map_or(0, |column| column.values.len());
    if columns.iter().any(|column| column.values.len() != rows) {
        let message = "its columns have different lengths".to_owned();
        return Err(ParquetError::General(message));
    }
    Ok(Table { columns })
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
                // Mostly the word of the row before.
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

/// Hands over the values of a column one by one; `None` where there is none.
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
