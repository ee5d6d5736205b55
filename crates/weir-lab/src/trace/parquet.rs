//! Tables as Parquet files: one column each, zstd, nulls where there is no value.
//!
//! The bytes depend on the table only: no time, no host, a fixed creator.

use crate::table::{Column, Table, Values, interned};
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

/// Writes a table.
pub(super) fn write(table: &Table, out: impl Write + Send) -> Result<(), ParquetError> {
    let fields: Vec<Field> = table.columns.iter().map(field_of).collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays: Vec<ArrayRef> = table.columns.iter().map(array_of).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut writer = ArrowWriter::try_new(out, schema.clone(), Some(properties))?;
    let batch = RecordBatch::try_new(schema, arrays)
        .map_err(|error| ParquetError::General(error.to_string()))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(())
}

fn field_of(column: &Column) -> Field {
    let (kind, nullable) = match column.values {
        Values::F64(_) => (DataType::Float64, true),
        Values::U64(_) => (DataType::UInt64, false),
        Values::Text(_) => (DataType::Utf8, false),
    };
    Field::new(&column.name, kind, nullable)
}

fn array_of(column: &Column) -> ArrayRef {
    match &column.values {
        Values::F64(values) => {
            let values = values
                .iter()
                .map(|&value| (!value.is_nan()).then_some(value));
            Arc::new(values.collect::<Float64Array>())
        }
        Values::U64(values) => Arc::new(UInt64Array::from_iter_values(values.iter().copied())),
        Values::Text(values) => Arc::new(StringArray::from_iter_values(values)),
    }
}

/// Reads a table.
pub(super) fn read(file: File) -> Result<Table, ParquetError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let mut columns: Vec<Column> = Vec::new();
    for field in builder.schema().fields() {
        let values = match field.data_type() {
            DataType::Float64 => Values::F64(Vec::new()),
            DataType::UInt64 => Values::U64(Vec::new()),
            DataType::Utf8 => Values::Text(Vec::new()),
            other => {
                let name = field.name();
                let message = format!("column \"{name}\" has the type {other}, which no trace has");
                return Err(ParquetError::General(message));
            }
        };
        columns.push(Column {
            name: field.name().clone(),
            values,
        });
    }
    let mut words = BTreeSet::new();
    for batch in builder.build()? {
        let batch = batch.map_err(|error| ParquetError::General(error.to_string()))?;
        for (column, array) in columns.iter_mut().zip(batch.columns()) {
            extend(&mut column.values, array, &mut words);
        }
    }
    Ok(Table { columns })
}

fn extend(values: &mut Values, array: &ArrayRef, words: &mut BTreeSet<Arc<str>>) {
    match values {
        Values::F64(values) => {
            if let Some(array) = array.as_any().downcast_ref::<Float64Array>() {
                values.extend(array.iter().map(|value| value.unwrap_or(f64::NAN)));
            }
        }
        Values::U64(values) => {
            if let Some(array) = array.as_any().downcast_ref::<UInt64Array>() {
                values.extend(array.iter().map(Option::unwrap_or_default));
            }
        }
        Values::Text(values) => {
            if let Some(array) = array.as_any().downcast_ref::<StringArray>() {
                values.extend(array.iter().map(|word| interned(words, word.unwrap_or(""))));
            }
        }
    }
}
