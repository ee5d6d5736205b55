//! Writes tables as Parquet files, piece by piece.

use super::{Description, arrow_metadata};
use crate::table::{Column, Table, Values};
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows after which a row group ends.
const ROW_GROUP: usize = 1 << 20;

/// Words of a batch whose octets are shared at most.
const RECENT: usize = 8;

/// Writes a table piece by piece.
pub(in crate::trace) struct TableWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    properties: WriterPropertiesPtr,
    /// The row group that grows; empty before the first row.
    chunks: Vec<Chunk>,
    rows: usize,
    levels: Levels,
}

/// Whether rows have a value, of batches in which all have one or none has.
#[derive(Default)]
struct Levels {
    present: Vec<i16>,
    absent: Vec<i16>,
}

impl Levels {
    fn fit(&mut self, rows: usize) {
        if self.present.len() < rows {
            self.present.resize(rows, 1);
            self.absent.resize(rows, 0);
        }
    }
}

/// A column of a row group: encoded pages in memory, because the file has them column after column.
struct Chunk {
    writer: ColumnWriter<'static>,
    pages: SharedPages,
}

type SharedPages = Arc<Mutex<Vec<u8>>>;

/// Takes the pages of a column as they will stand in the file.
struct MemoryPages(SharedPages);

impl PageWriter for MemoryPages {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec, ParquetError> {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let start = pages.len() as u64;
        let mut sink = TrackedWrite::new(&mut *pages);
        let mut spec = SerializedPageWriter::new(&mut sink).write_page(page)?;
        sink.flush()?;
        spec.offset += start;
        Ok(spec)
    }

    fn close(&mut self) -> Result<(), ParquetError> {
        Ok(())
    }
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file with the columns of this table, whose rows are not written yet.
    pub(in crate::trace) fn new(
        table: &Table,
        description: &Description,
        out: W,
    ) -> io::Result<Self> {
        let schema = schema_of(table).map_err(io_error)?;
        let properties = Arc::new(properties_of(table, description));
        let file = SerializedFileWriter::new(out, schema, Arc::clone(&properties));
        Ok(Self {
            file: file.map_err(io_error)?,
            properties,
            chunks: Vec::new(),
            rows: 0,
            levels: Levels::default(),
        })
    }

    /// Adds the rows of a table with the same columns.
    pub(in crate::trace) fn append(&mut self, table: &Table) -> io::Result<()> {
        if table.rows() == 0 {
            return Ok(());
        }
        if self.chunks.is_empty() {
            self.chunks = self.begin_row_group();
        }
        self.levels.fit(table.rows());
        for (chunk, column) in self.chunks.iter_mut().zip(&table.columns) {
            let written = write_values(&mut chunk.writer, &column.values, &self.levels);
            written.map_err(io_error)?;
        }
        self.rows += table.rows();
        if self.rows >= ROW_GROUP {
            self.end_row_group().map_err(io_error)?;
        }
        Ok(())
    }

    fn begin_row_group(&self) -> Vec<Chunk> {
        let columns = self.file.schema_descr().columns().iter();
        let chunks = columns.map(|column| {
            let pages = SharedPages::default();
            let sink = Box::new(MemoryPages(Arc::clone(&pages)));
            let properties = Arc::clone(&self.properties);
            let writer = get_column_writer(Arc::clone(column), properties, sink);
            Chunk { writer, pages }
        });
        chunks.collect()
    }

    fn end_row_group(&mut self) -> Result<(), ParquetError> {
        self.rows = 0;
        let mut group = self.file.next_row_group()?;
        for Chunk { writer, pages } in mem::take(&mut self.chunks) {
            let closed = writer.close()?;
            let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
            group.append_column(&Bytes::from(mem::take(&mut *pages)), closed)?;
        }
        group.close()?;
        Ok(())
    }

    /// Completes the file; also returns what `look` sees of the output when all rows are written
    /// and what the file says about them is not.
    pub(in crate::trace) fn close<T>(mut self, look: impl FnOnce(&W) -> T) -> io::Result<(T, W)> {
        if !self.chunks.is_empty() {
            self.end_row_group().map_err(io_error)?;
        }
        self.file.flush()?;
        let seen = look(self.file.inner());
        let out = self.file.into_inner().map_err(io_error)?;
        Ok((seen, out))
    }
}

fn write_values(
    writer: &mut ColumnWriter<'_>,
    values: &Values,
    levels: &Levels,
) -> Result<(), ParquetError> {
    match (writer, values) {
        (ColumnWriter::DoubleColumnWriter(writer), Values::F64(values)) => {
            // Without a branch at each value.
            let missing = |(any, all), value: &f64| (any | value.is_nan(), all & value.is_nan());
            let (any_missing, all_missing) = values.iter().fold((false, true), missing);
            let rows = values.len();
            if !any_missing {
                writer.write_batch(values, levels.present.get(..rows), None)?;
            } else if all_missing {
                writer.write_batch(&[], levels.absent.get(..rows), None)?;
            } else {
                let known = |value: &f64| i16::from(!value.is_nan());
                let levels: Vec<i16> = values.iter().map(known).collect();
                let known: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
                writer.write_batch(&known, Some(&levels), None)?;
            }
        }
        (ColumnWriter::Int64ColumnWriter(writer), Values::U64(values)) => {
            // The schema says that the bits are those of an unsigned number.
            let bits: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
            writer.write_batch(&bits, None, None)?;
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(values)) => {
            writer.write_batch(&octets_of(values), None, None)?;
        }
        _ => {
            let message = "a piece of a table has other columns than the table".to_owned();
            return Err(ParquetError::General(message));
        }
    }
    Ok(())
}

/// The octets of words, which equal words share: they are mostly among the last few.
fn octets_of(values: &[Arc<str>]) -> Vec<ByteArray> {
    let mut recent: Vec<(&Arc<str>, ByteArray)> = Vec::new();
    let octets = values.iter().map(|word| {
        if let Some((_, octets)) = recent.iter().find(|(same, _)| Arc::ptr_eq(same, word)) {
            return octets.clone();
        }
        let octets = ByteArray::from(word.as_bytes().to_vec());
        if recent.len() < RECENT {
            recent.push((word, octets.clone()));
        }
        octets
    });
    octets.collect()
}

fn schema_of(table: &Table) -> Result<TypePtr, ParquetError> {
    let fields = table.columns.iter().map(field_of);
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("table").with_fields(fields);
    Ok(Arc::new(schema.build()?))
}

fn field_of(column: &Column) -> Result<TypePtr, ParquetError> {
    let (kind, logical, repetition) = match column.values {
        Values::F64(_) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
        Values::U64(_) => {
            let unsigned = LogicalType::integer(64, false);
            (Physical::INT64, Some(unsigned), Repetition::REQUIRED)
        }
        Values::Text(_) => {
            let text = LogicalType::String;
            (Physical::BYTE_ARRAY, Some(text), Repetition::REQUIRED)
        }
    };
    let field = Type::primitive_type_builder(&column.name, kind);
    let field = field.with_repetition(repetition).with_logical_type(logical);
    Ok(Arc::new(field.build()?))
}

fn properties_of(table: &Table, description: &Description) -> WriterProperties {
    let arrow = (
        arrow_metadata::KEY,
        arrow_metadata::encoded(table, description),
    );
    let properties = description.properties.iter().cloned();
    let properties = properties.chain([arrow]);
    let properties = properties.map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_created_by(concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(properties.collect()));
    let first = table.columns.first().map_or("", |column| &column.name);
    for column in &table.columns {
        let path = ColumnPath::from(column.name.as_str());
        // Numbers repeat too rarely for dictionaries, which cost most of the time of writing.
        let encoding = match column.values {
            Values::F64(_) => Some(Encoding::BYTE_STREAM_SPLIT),
            Values::U64(_) => Some(Encoding::DELTA_BINARY_PACKED),
            Values::Text(_) => None,
        };
        if let Some(encoding) = encoding {
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path.clone(), encoding);
        }
        // Readers skip row groups by time, the first column, and by no other one.
        if column.name != first {
            builder = builder.set_column_statistics_enabled(path, EnabledStatistics::None);
        }
    }
    builder.build()
}

/// The system's error, if it is one.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        error => io::Error::other(error),
    }
}
