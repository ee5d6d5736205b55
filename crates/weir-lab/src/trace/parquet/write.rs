//! Writes tables as Parquet files in parts.

use super::chunk::{Chunk, PageCoder};
use super::{Description, arrow_metadata};
use crate::table::{RowBatch, Table, ValueKind};
use bytes::Bytes;
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::io::{self, Write};
use std::sync::Arc;

/// The number of rows of a row group.
const ROW_GROUP: usize = 1 << 20;

/// The number of rows whose columns are encoded at once: few enough to stay in the processor's
/// cache.
const PIECE: usize = 1024;

/// Rows that become a row group of a file: its columns, encoded page by page.
pub(in crate::trace) struct RowGroup {
    chunks: Vec<Chunk>,
    rows: usize,
}

impl RowGroup {
    /// Adds rows with the columns of the file.
    pub(in crate::trace) fn append(
        &mut self,
        batch: &dyn RowBatch,
        coder: &mut PageCoder,
    ) -> io::Result<()> {
        let rows = batch.rows();
        if batch.columns().len() != self.chunks.len() {
            return Err(io::Error::other(
                "a piece of a table has other columns than the table",
            ));
        }
        for start in (0..rows).step_by(PIECE) {
            let piece = start..rows.min(start + PIECE);
            for (place, chunk) in self.chunks.iter_mut().enumerate() {
                let added = chunk.append((batch, place), piece.clone(), coder);
                added.map_err(io_error)?;
            }
            self.rows += piece.len();
        }
        Ok(())
    }

    /// The number of rows.
    pub(in crate::trace) fn rows(&self) -> usize {
        self.rows
    }

    /// True if it has as many rows as a row group should have.
    pub(in crate::trace) fn is_full(&self) -> bool {
        self.rows >= ROW_GROUP
    }

    /// The memory that it holds.
    pub(in crate::trace) fn held_bytes(&self) -> usize {
        self.chunks.iter().map(Chunk::held_bytes).sum()
    }

    /// Encodes the last page of each column.
    pub(in crate::trace) fn encode(self, coder: &mut PageCoder) -> io::Result<EncodedRowGroup> {
        let chunks = self.chunks.into_iter();
        let columns = chunks.map(|chunk| chunk.finish(coder)).collect();
        let columns: Result<Vec<_>, ParquetError> = columns;
        columns.map(EncodedRowGroup).map_err(io_error)
    }
}

/// The octets and the metadata of each column of a row group.
pub(in crate::trace) struct EncodedRowGroup(Vec<(Bytes, ColumnCloseResult)>);

/// Writes a table row group by row group.
pub(in crate::trace) struct GroupWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    kinds: Vec<ValueKind>,
}

impl<W: Write + Send> GroupWriter<W> {
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
        })
    }

    /// An empty row group of this file.
    pub(in crate::trace) fn row_group(&self) -> RowGroup {
        // Readers skip row groups by their times, which a name may precede.
        let named = self.kinds.first() == Some(&ValueKind::Word);
        let times = usize::from(named);
        let columns = self.file.schema_descr().columns().iter();
        let columns = columns.zip(&self.kinds).enumerate();
        let chunks = columns
            .map(|(place, (column, kind))| Chunk::new(Arc::clone(column), *kind, place <= times));
        RowGroup {
            chunks: chunks.collect(),
            rows: 0,
        }
    }

    /// Appends a row group, unless it has no rows; returns the output, which then has its rows.
    pub(in crate::trace) fn write(&mut self, group: EncodedRowGroup) -> io::Result<&mut W> {
        let rows = group.0.first().map_or(0, |(_, column)| column.rows_written);
        if rows > 0 {
            self.put(group).map_err(io_error)?;
        }
        self.file.flush()?;
        Ok(self.file.inner_mut())
    }

    fn put(&mut self, group: EncodedRowGroup) -> Result<(), ParquetError> {
        let mut out = self.file.next_row_group()?;
        for (octets, column) in group.0 {
            out.append_column(&octets, column)?;
        }
        out.close().map(|_| ())
    }

    /// Adds to the metadata of the file.
    pub(in crate::trace) fn add_property(&mut self, key: &str, value: String) {
        let property = KeyValue::new(key.to_owned(), value);
        self.file.append_key_value_metadata(property);
    }

    /// Completes the file; also returns the result of `look`, which is called with the output when
    /// all rows are written and the file's metadata is not.
    pub(in crate::trace) fn close<T>(
        mut self,
        look: impl FnOnce(&mut W) -> T,
    ) -> io::Result<(T, W)> {
        self.file.flush()?;
        let seen = look(self.file.inner_mut());
        let out = self.file.into_inner().map_err(io_error)?;
        Ok((seen, out))
    }
}

/// Writes a file with this table in one row group.
pub(in crate::trace) fn write_table<W: Write + Send>(
    table: &Table,
    description: &Description,
    out: W,
) -> io::Result<W> {
    let mut coder = PageCoder::new()?;
    let mut writer = GroupWriter::new(table, description, out)?;
    let mut group = writer.row_group();
    group.append(table, &mut coder)?;
    writer.write(group.encode(&mut coder)?)?;
    Ok(writer.close(|_| ())?.1)
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
    let arrow = (
        arrow_metadata::KEY,
        arrow_metadata::encoded(columns, description),
    );
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
