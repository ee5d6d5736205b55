//! The description of columns for readers that use Apache Arrow (pyarrow, polars, pandas): their
//! types, and unit and description as metadata of each field.
//!
//! It is an Arrow schema as an IPC message (Arrow Columnar Format, "Encapsulated message format",
//! Message.fbs and Schema.fbs) in base64, under the key for which Parquet readers look.

use super::Description;
use crate::table::{ColumnNote, ValueKind};
use base64::Engine;
use flatbuffers::{
    FlatBufferBuilder, ForwardsUOffset, TableFinishedWIPOffset, TableUnfinishedWIPOffset, Vector,
    WIPOffset,
};

/// The key in the metadata of a Parquet file.
pub(super) const KEY: &str = "ARROW:schema";

/// `MetadataVersion::V5`.
const VERSION: i16 = 4;
/// `MessageHeader::Schema`.
const SCHEMA_HEADER: u8 = 1;
/// The marker before the length of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Members of the unions and enumerations of Schema.fbs.
const TYPE_INT: u8 = 2;
const TYPE_FLOATING_POINT: u8 = 3;
const TYPE_UTF8: u8 = 5;
const PRECISION_DOUBLE: i16 = 2;

/// The offset of the n-th field of a table in its vtable.
const fn slot(n: u16) -> u16 {
    4 + 2 * n
}

type Any = WIPOffset<TableFinishedWIPOffset>;
type Builder = FlatBufferBuilder<'static>;
type Tables<'a> = WIPOffset<Vector<'a, ForwardsUOffset<TableFinishedWIPOffset>>>;

/// The schema of a table as the value of [`KEY`].
pub(super) fn encoded(columns: &[(&str, ValueKind)], description: &Description) -> String {
    let mut builder = Builder::new();
    let fields: Vec<Any> = columns
        .iter()
        .map(|column| field(&mut builder, *column, description.of(column.0)))
        .collect();
    let fields: Tables<'_> = builder.create_vector(&fields);
    let start = builder.start_table();
    builder.push_slot_always(slot(1), fields);
    let schema = end(&mut builder, start);
    let start = builder.start_table();
    builder.push_slot_always(slot(0), VERSION);
    builder.push_slot_always(slot(1), SCHEMA_HEADER);
    builder.push_slot_always(slot(2), schema);
    let message = end(&mut builder, start);
    builder.finish_minimal(message);
    let message = builder.finished_data();
    let length = (message.len() as u32).to_le_bytes();
    let octets = [&CONTINUATION[..], &length, message].concat();
    base64::engine::general_purpose::STANDARD.encode(octets)
}

fn end(builder: &mut Builder, start: WIPOffset<TableUnfinishedWIPOffset>) -> Any {
    builder.end_table(start)
}

/// `Field`: a column with its type, and its unit and description as metadata.
fn field(builder: &mut Builder, (name, kind): (&str, ValueKind), note: Option<&ColumnNote>) -> Any {
    let name = builder.create_string(name);
    let metadata: Vec<Any> = note
        .map(|note| [("unit", note.unit), ("description", note.doc.as_str())])
        .into_iter()
        .flatten()
        .map(|(key, value)| key_value(builder, key, value))
        .collect();
    let metadata: Tables<'_> = builder.create_vector(&metadata);
    let no_children: Tables<'_> = builder.create_vector::<Any>(&[]);
    let (type_of, of_type) = match kind {
        ValueKind::Number => {
            let start = builder.start_table();
            builder.push_slot_always(slot(0), PRECISION_DOUBLE);
            (TYPE_FLOATING_POINT, end(builder, start))
        }
        ValueKind::Count => (TYPE_INT, integer(builder, 64, false)),
        ValueKind::Word => {
            let start = builder.start_table();
            (TYPE_UTF8, end(builder, start))
        }
    };
    let words = (kind == ValueKind::Word).then(|| {
        let index = integer(builder, 32, true);
        let start = builder.start_table();
        builder.push_slot_always(slot(1), index);
        end(builder, start)
    });
    let start = builder.start_table();
    builder.push_slot_always(slot(0), name);
    builder.push_slot_always(slot(1), kind == ValueKind::Number);
    builder.push_slot_always(slot(2), type_of);
    builder.push_slot_always(slot(3), of_type);
    if let Some(words) = words {
        builder.push_slot_always(slot(4), words);
    }
    builder.push_slot_always(slot(5), no_children);
    builder.push_slot_always(slot(6), metadata);
    end(builder, start)
}

/// `Int`.
fn integer(builder: &mut Builder, bits: i32, signed: bool) -> Any {
    let start = builder.start_table();
    builder.push_slot_always(slot(0), bits);
    builder.push_slot_always(slot(1), signed);
    end(builder, start)
}

/// `KeyValue`.
fn key_value(builder: &mut Builder, key: &str, value: &str) -> Any {
    let key = builder.create_string(key);
    let value = builder.create_string(value);
    let start = builder.start_table();
    builder.push_slot_always(slot(0), key);
    builder.push_slot_always(slot(1), value);
    end(builder, start)
}
