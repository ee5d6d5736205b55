//! Tables as Parquet files: one column each, zstd, nulls where there is no value.
//!
//! The bytes depend on the table and its description only: no time, no host, a fixed creator.
//! Words are dictionaries. [`arrow_metadata`] tells readers the unit and the description of
//! columns.

mod arrow_metadata;
mod read;
mod write;

pub(super) use read::read;
pub(super) use write::TableWriter;

use crate::table::ColumnInfo;

/// What a file says about its table.
#[derive(Clone, Debug, Default)]
pub(super) struct Description {
    /// Columns by name; a column that is not here has no unit and no description.
    pub columns: Vec<ColumnInfo>,
    /// Metadata of the file.
    pub properties: Vec<(&'static str, String)>,
}

impl Description {
    /// The unit and the description of a column.
    fn of(&self, column: &str) -> Option<&ColumnInfo> {
        self.columns.iter().find(|info| info.name == column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Table, ValueKind, Values};
    use arrow_schema::DataType;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use std::sync::Arc;

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
