//! Tables as Parquet files: one column each, zstd, nulls where there is no value.
//!
//! The bytes depend on the table and its description only: no time, no host, a fixed creator.
//! Columns have their unit and description as metadata of their field; words are dictionaries.

use crate::table::{Column, ColumnInfo, Table, Values, interned};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::sync::Arc;

/// What a file says about its table.
#[derive(Clone, Debug, Default)]
pub(super) struct Description {
    /// Columns by name; a column that is not here has no unit and no description.
    pub columns: Vec<ColumnInfo>,
    /// Metadata of the file.
    pub properties: Vec<(&'static str, String)>,
}

/// Writes a table piece by piece.
pub(super) struct TableWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file with the columns of this table, whose rows are not written yet.
    pub(super) fn new(table: &Table, description: &Description, out: W) -> io::Result<Self> {
        let field = |column| field_of(column, description);
        let fields: Vec<Field> = table.columns.iter().map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        let properties = description.properties.iter();
        let properties =
            properties.map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
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
                Values::F64(_) => Encoding::BYTE_STREAM_SPLIT,
                Values::U64(_) => Encoding::DELTA_BINARY_PACKED,
                Values::Text(_) => continue,
            };
            builder = builder
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path.clone(), encoding);
            // Readers skip row groups by time, the first column, and by no other one.
            if column.name != first {
                builder = builder.set_column_statistics_enabled(path, EnabledStatistics::None);
            }
        }
        let properties = builder.build();
        let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties));
        let writer = writer.map_err(io_error)?;
        Ok(Self { writer, schema })
    }

    /// Adds the rows of a table with the same columns.
    pub(super) fn append(&mut self, table: &Table) -> io::Result<()> {
        let arrays: Vec<ArrayRef> = table.columns.iter().map(array_of).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays);
        let batch = batch.map_err(io::Error::other)?;
        self.writer.write(&batch).map_err(io_error)
    }

    /// Completes the file; also returns what `look` sees of the output when all rows are written
    /// and what the file says about them is not.
    pub(super) fn close<T>(mut self, look: impl FnOnce(&W) -> T) -> io::Result<(T, W)> {
        self.writer.flush().map_err(io_error)?;
        self.writer.sync()?;
        let seen = look(self.writer.inner());
        let out = self.writer.into_inner().map_err(io_error)?;
        Ok((seen, out))
    }
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

fn field_of(column: &Column, description: &Description) -> Field {
    let words = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let (kind, nullable) = match column.values {
        Values::F64(_) => (DataType::Float64, true),
        Values::U64(_) => (DataType::UInt64, false),
        Values::Text(_) => (words(), false),
    };
    let field = Field::new(&column.name, kind, nullable);
    let mut infos = description.columns.iter();
    match infos.find(|info| info.name == column.name) {
        None => field,
        Some(info) => field.with_metadata(HashMap::from([
            ("unit".to_owned(), info.unit.to_owned()),
            ("description".to_owned(), info.doc.to_owned()),
        ])),
    }
}

fn array_of(column: &Column) -> ArrayRef {
    match &column.values {
        Values::F64(values) => {
            let known = || values.iter().map(|value| !value.is_nan());
            if known().all(|known| known) {
                Arc::new(Float64Array::from(values.clone()))
            } else if known().any(|known| known) {
                let nulls: Vec<bool> = known().collect();
                Arc::new(Float64Array::new(values.clone().into(), Some(nulls.into())))
            } else {
                Arc::new(Float64Array::new_null(values.len()))
            }
        }
        Values::U64(values) => Arc::new(UInt64Array::from_iter_values(values.iter().copied())),
        Values::Text(values) => Arc::new(dictionary_of(values)),
    }
}

/// Words as numbers into a list of the different ones, which are in the order of their first use.
fn dictionary_of(values: &[Arc<str>]) -> DictionaryArray<Int32Type> {
    let mut numbers: BTreeMap<&str, i32> = BTreeMap::new();
    let mut words: Vec<&str> = Vec::new();
    let mut last: Option<(&Arc<str>, i32)> = None;
    let keys = values.iter().map(|word| match last {
        // Neighbours are mostly the same word in the same place.
        Some((known, number)) if Arc::ptr_eq(known, word) => number,
        _ => {
            let number = *numbers.entry(word).or_insert_with(|| {
                words.push(word);
                words.len() as i32 - 1
            });
            last = Some((word, number));
            number
        }
    });
    let keys: Int32Array = Int32Array::from_iter_values(keys);
    let words = StringArray::from_iter_values(words);
    // Every key is the number of a word.
    DictionaryArray::new(keys, Arc::new(words))
}

/// Reads a table from the octets of a file.
pub(super) fn read(octets: Vec<u8>) -> Result<Table, ParquetError> {
    // The types of the file itself: words come as words, whether they were dictionaries or not.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let octets = bytes::Bytes::from(octets);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(octets, options)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ValueKind;

    #[test]
    fn a_file_says_what_its_columns_and_its_table_are() {
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            values,
        };
        let table = Table {
            columns: vec![
                column("rtt_s", Values::F64(vec![0.1, f64::NAN, 0.3])),
                column("none_s", Values::F64(vec![f64::NAN; 3])),
                column("drops", Values::U64(vec![1, 2, u64::MAX])),
                column(
                    "state",
                    Values::Text(["a", "b", "a"].map(Arc::from).to_vec()),
                ),
            ],
        };
        let info = |name, unit, doc, kind| ColumnInfo {
            name,
            unit,
            doc,
            kind,
        };
        let description = Description {
            columns: vec![
                info("rtt_s", "s", "the round-trip time", ValueKind::Number),
                info("state", "", "the state", ValueKind::Word),
            ],
            properties: vec![("weir.seed", "7".to_owned())],
        };
        let mut writer = TableWriter::new(&table, &description, Vec::new()).unwrap();
        // In two pieces.
        writer.append(&table).unwrap();
        writer.append(&table).unwrap();
        let (rows, octets) = writer.close(Vec::len).unwrap();
        assert!(rows > 4 && rows < octets.len());
        let file = bytes::Bytes::from(octets.clone());
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let rtt = reader.schema().field_with_name("rtt_s").unwrap();
        assert_eq!(rtt.metadata()["unit"], "s");
        assert_eq!(rtt.metadata()["description"], "the round-trip time");
        let state = reader.schema().field_with_name("state").unwrap();
        assert!(
            matches!(state.data_type(), DataType::Dictionary(..)),
            "{state}"
        );
        let properties = reader.metadata().file_metadata().key_value_metadata();
        let seed = properties
            .unwrap()
            .iter()
            .find(|property| property.key == "weir.seed");
        assert_eq!(seed.unwrap().value.as_deref(), Some("7"));
        let read = read(octets).unwrap();
        assert_eq!(read.rows(), 6);
        let rtts = read.numbers("rtt_s").unwrap();
        assert!(rtts[1].is_nan() && rtts[4].is_nan());
        assert_eq!((rtts[0], rtts[5]), (0.1, 0.3));
        assert!(
            read.numbers("none_s")
                .unwrap()
                .iter()
                .all(|value| value.is_nan())
        );
        assert_eq!(read.column("drops").map(Values::len), Some(6));
        assert_eq!(read.words("state").unwrap()[4].as_ref(), "b");
    }
}
