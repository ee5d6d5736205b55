//! Reads tables from Parquet files.

use crate::fault::caught;
use crate::table::{Column, RowThinning, Table, ValueKind, Values, interned};
use parquet::basic::{LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
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
/// # Errors
/// If it is damaged, or has columns that no trace has.
pub(in crate::trace) fn read(octets: Vec<u8>) -> Result<Table, ParquetError> {
    let whole = Part {
        columns: &|_| true,
        thinning: None,
    };
    TableReader::open(bytes::Bytes::from(octets))?.read(&whole)
}

/// The rows of one name in a row group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::trace) struct RowsOfName {
    pub(in crate::trace) row_group: usize,
    pub(in crate::trace) rows: Range<usize>,
}

/// An open file.
///
/// The library panics on some damaged files, mostly if the encoding of a page does not match its
/// contents; such a panic is returned as an error. Files of a run folder are verified with their
/// checksums before they are read here.
pub(in crate::trace) struct TableReader<R: ChunkReader + 'static> {
    file: SerializedFileReader<R>,
    /// All columns, without rows.
    columns: Vec<Column>,
}

impl<R: ChunkReader + 'static> TableReader<R> {
    /// Reads the metadata of a file.
    ///
    /// # Errors
    /// As [`read`].
    pub(in crate::trace) fn open(octets: R) -> Result<Self, ParquetError> {
        guarded(|| {
            let len = octets.len();
            let file = SerializedFileReader::new(octets)?;
            for group in file.metadata().row_groups() {
                let mut columns = group.columns().iter();
                columns.try_for_each(|chunk| check(chunk, len))?;
                if group.num_rows() < 0 {
                    return Err(damaged("a row group has a negative number of rows"));
                }
            }
            let metadata = file.metadata().file_metadata();
            let columns = metadata.schema_descr().columns().iter();
            let columns = columns
                .map(|column| empty(column))
                .collect::<Result<_, _>>()?;
            Ok(Self { file, columns })
        })
    }

    /// The names and the kinds of all columns.
    pub(in crate::trace) fn columns(&self) -> Vec<(String, ValueKind)> {
        let columns = self.columns.iter();
        let columns = columns.map(|column| (column.name.clone(), column.values.kind()));
        columns.collect()
    }

    /// A property of the file's metadata.
    pub(in crate::trace) fn property(&self, key: &str) -> Option<&str> {
        let metadata = self.file.metadata().file_metadata();
        let mut properties = metadata.key_value_metadata()?.iter();
        properties
            .find(|property| property.key == key)?
            .value
            .as_deref()
    }

    /// The rows of each name in the first column, in the order of the file. The rows of one name
    /// stand together in a row group.
    ///
    /// # Errors
    /// If the file is damaged.
    pub(in crate::trace) fn names(
        &self,
    ) -> Result<BTreeMap<String, Vec<RowsOfName>>, ParquetError> {
        guarded(|| {
            let mut names: BTreeMap<String, Vec<RowsOfName>> = BTreeMap::new();
            for (row_group, metadata) in self.file.metadata().row_groups().iter().enumerate() {
                let all = self.row_group(row_group).rows;
                let mut add = |name: &str, rows| {
                    let rows = RowsOfName { row_group, rows };
                    names.entry(name.to_owned()).or_default().push(rows);
                };
                let range = metadata
                    .columns()
                    .first()
                    .and_then(ColumnChunkMetaData::statistics);
                let range =
                    range.and_then(|range| Some((range.min_bytes_opt()?, range.max_bytes_opt()?)));
                match range {
                    Some((least, most)) if least == most => {
                        add(ByteArray::from(least.to_vec()).as_utf8()?, all);
                    }
                    _ => {
                        let words = self.first_words(row_group)?;
                        let mut start = 0;
                        for same in words.chunk_by(|one, next| one == next) {
                            let end = start + same.len();
                            add(&same[0], start..end);
                            start = end;
                        }
                    }
                }
            }
            Ok(names)
        })
    }

    /// The words of the first column in a row group.
    fn first_words(&self, row_group: usize) -> Result<Vec<Arc<str>>, ParquetError> {
        let mut values = Values::Text(Vec::new());
        let reader = self.file.get_row_group(row_group)?.get_column_reader(0)?;
        extend(&mut values, reader, &mut BTreeSet::new())?;
        match values {
            Values::Text(words) => Ok(words),
            Values::F64(_) | Values::U64(_) => Err(damaged("its first column has no names")),
        }
    }

    /// Reads all rows.
    ///
    /// # Errors
    /// If the file is damaged.
    pub(in crate::trace) fn read(&self, part: &Part<'_>) -> Result<Table, ParquetError> {
        self.read_row_groups(part, 0..self.file.num_row_groups())
    }

    /// All rows of a row group.
    pub(in crate::trace) fn row_group(&self, row_group: usize) -> RowsOfName {
        let groups = self.file.metadata().row_groups();
        let rows = groups.get(row_group).map_or(0, RowGroupMetaData::num_rows);
        let rows = 0..usize::try_from(rows).unwrap_or_default();
        RowsOfName { row_group, rows }
    }

    /// Reads these row groups.
    ///
    /// # Errors
    /// If the file is damaged.
    pub(in crate::trace) fn read_row_groups(
        &self,
        part: &Part<'_>,
        row_groups: impl IntoIterator<Item = usize>,
    ) -> Result<Table, ParquetError> {
        let row_groups: Vec<usize> = row_groups.into_iter().collect();
        guarded(|| self.read_unguarded(part, &row_groups))
    }

    fn read_unguarded(&self, part: &Part<'_>, row_groups: &[usize]) -> Result<Table, ParquetError> {
        let columns = self.columns.iter().cloned().enumerate();
        let (places, columns): (Vec<usize>, Vec<Column>) = columns
            .filter(|(_, column)| (part.columns)(&column.name))
            .unzip();
        let mut table = Table { columns };
        let rows = row_groups
            .iter()
            .map(|group| self.row_group(*group).rows.len());
        let rows: usize = rows.sum();
        let thinning = part
            .thinning
            .filter(|thinning| rows as u64 > thinning.from_rows);
        let mut words = BTreeSet::new();
        for row_group in row_groups {
            let group = self.file.get_row_group(*row_group)?;
            let mut thinned = thinning.map(|_| table.emptied());
            let target = thinned.as_mut().unwrap_or(&mut table);
            for (place, column) in places.iter().zip(&mut target.columns) {
                let reader = group.get_column_reader(*place)?;
                extend(&mut column.values, reader, &mut words)?;
            }
            check_lengths(target)?;
            if let (Some(thinning), Some(rows)) = (thinning, thinned) {
                table.append(rows.thinned(thinning));
            }
        }
        Ok(table)
    }
}

/// The result of `read`, also if it panics.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    caught(read).unwrap_or_else(|_| Err(damaged("its pages are damaged")))
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

fn check_lengths(table: &Table) -> Result<(), ParquetError> {
    let rows = table.rows();
    let mut lengths = table.columns.iter().map(|column| column.values.len());
    if lengths.all(|length| length == rows) {
        return Ok(());
    }
    Err(damaged("its columns have different lengths"))
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
    Err(damaged("a column lies outside the file"))
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
        _ => Err(damaged("a column changes its type")),
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
