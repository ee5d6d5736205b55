//! Writes tables as Parquet files in parts.

use super::chunk::{Chunk, PageCoder};
use super::{Description, arrow_metadata};
use crate::table::{RowBatch, ValueKind};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::io::{self, Write};
use std::mem;
use std::sync::Arc;

/// The number of rows of a row group.
const ROW_GROUP: usize = 1 << 20;

/// The number of rows whose columns are encoded at once: few enough to stay in the processor's
/// cache.
const PIECE: usize = 1024;

/// Writes a table in parts.
pub(in crate::trace) struct TableWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    kinds: Vec<ValueKind>,
    /// The current row group; empty before the first row.
    chunks: Vec<Chunk>,
    rows: usize,
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a file with the columns of this table, without its rows.
    pub(in crate::trace) fn new(
        table: &dyn RowBatch,
        description: &Description,
        out: W,
    ) -> io::Result<Self> {
        let columns = table.columns();
        let schema = schema_of(&columns).map_err(io_error)?;
        let properties = Arc::new(properties_of(&columns, description));
        let file = SerializedFileWriter::new(out, schema, properties);
        Ok(Self {
            file: file.map_err(io_error)?,
            kinds: columns.into_iter().map(|(_, kind)| kind).collect(),
            chunks: Vec::new(),
            rows: 0,
        })
    }

    /// Adds the rows of a table with the same columns.
    pub(in crate::trace) fn append(
        &mut self,
        batch: &dyn RowBatch,
        coder: &mut PageCoder,
    ) -> io::Result<()> {
        let rows = batch.rows();
        for start in (0..rows).step_by(PIECE) {
            let piece = start..rows.min(start + PIECE);
            if self.chunks.is_empty() {
                self.chunks = self.begin_row_group();
            }
            for (place, chunk) in self.chunks.iter_mut().enumerate() {
                let added = chunk.append((batch, place), piece.clone(), coder);
                added.map_err(io_error)?;
            }
            self.rows += piece.len();
            if self.rows >= ROW_GROUP {
                self.end_row_group(coder).map_err(io_error)?;
            }
        }
        Ok(())
    }

    fn begin_row_group(&self) -> Vec<Chunk> {
        let columns = self.file.schema_descr().columns().iter();
        let columns = columns.zip(&self.kinds).enumerate();
        let chunks = columns
            .map(|(place, (column, kind))| Chunk::new(Arc::clone(column), *kind, place == 0));
        chunks.collect()
    }

    fn end_row_group(&mut self, coder: &mut PageCoder) -> Result<(), ParquetError> {
        self.rows = 0;
        let mut group = self.file.next_row_group()?;
        for chunk in mem::take(&mut self.chunks) {
            let (octets, closed) = chunk.finish(coder)?;
            group.append_column(&octets, closed)?;
        }
        group.close()?;
        Ok(())
    }

    /// The memory of the current row group, which is not in the file yet.
    pub(in crate::trace) fn held_bytes(&self) -> usize {
        self.chunks.iter().map(Chunk::held_bytes).sum()
    }

    /// Ends the row group early to free its memory; returns the output, which then has its rows.
    pub(in crate::trace) fn release(&mut self, coder: &mut PageCoder) -> io::Result<&mut W> {
        if !self.chunks.is_empty() {
            self.end_row_group(coder).map_err(io_error)?;
        }
        self.file.flush()?;
        Ok(self.file.inner_mut())
    }

    /// Completes the file; also returns the result of `look`, which is called with the output when
    /// all rows are written and the file's metadata is not.
    pub(in crate::trace) fn close<T>(
        mut self,
        coder: &mut PageCoder,
        look: impl FnOnce(&mut W) -> T,
    ) -> io::Result<(T, W)> {
        let seen = look(self.release(coder)?);
        let out = self.file.into_inner().map_err(io_error)?;
        Ok((seen, out))
    }
}

fn schema_of(columns: &[(&str, ValueKind)]) -> Result<TypePtr, ParquetError> {
    let fields = columns.iter().map(|(name, kind)| field_of(name, *kind));
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("table").with_fields(fields);
    Ok(Arc::new(schema.build()?))
}

fn field_of(name: &str, kind: ValueKind) -> Result<TypePtr, ParquetError> {
    let (kind, logical, repetition) = match kind {
        ValueKind::Number => (Physical::DOUBLE, None, Repetition::OPTIONAL),
        ValueKind::Count => {
            let unsigned = LogicalType::integer(64, false);
            (Physical::INT64, Some(unsigned), Repetition::REQUIRED)
        }
        ValueKind::Word => {
            let text = LogicalType::String;
            (Physical::BYTE_ARRAY, Some(text), Repetition::REQUIRED)
        }
    };
    let field = Type::primitive_type_builder(name, kind);
    let field = field.with_repetition(repetition).with_logical_type(logical);
    Ok(Arc::new(field.build()?))
}

fn properties_of(columns: &[(&str, ValueKind)], description: &Description) -> WriterProperties {
    let schema = description.schema.as_deref().map(str::to_owned);
    let schema = schema.unwrap_or_else(|| arrow_metadata::encoded(columns, description));
    let arrow = (arrow_metadata::KEY, schema);
    let properties = description.properties.iter().cloned();
    let properties = properties.chain([arrow]);
    let properties = properties.map(|(key, value)| KeyValue::new(key.to_owned(), value));
    WriterProperties::builder()
        .set_created_by(concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(properties.collect()))
        .build()
}

/// The system's error, if that is the cause.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(cause) => io::Error::other(cause),
        },
        error => io::Error::other(error),
    }
}
