//! The declaration of all keys of a scenario as data, from which Python creates classes.

use pyo3::prelude::*;
use serde_json::{Value, json};
use weir_lab::scenario::Scenario;
use weir_proto::settings::{FieldKind, Kind, Presence, Raw, TableKind, describe, plain_doc};

/// Tables with their keys in the order of their declaration, as JSON: `doc` and `fields`; a field
/// has `key`, `doc`, `required`, `default` and `kind`; a kind has its `type` and the properties of
/// that type.
#[pyfunction]
pub fn declaration() -> String {
    table(&describe(&Scenario::default())).to_string()
}

fn table(table: &TableKind) -> Value {
    let fields: Vec<Value> = table.fields.iter().map(field).collect();
    json!({ "doc": plain_doc(table.doc), "fields": fields })
}

fn field(field: &FieldKind) -> Value {
    json!({
        "key": field.key,
        "doc": plain_doc(field.doc),
        "required": field.presence == Presence::Required,
        "default": field.default.as_ref().and_then(plain),
        "kind": kind(&field.kind),
    })
}

fn kind(of: &Kind) -> Value {
    match of {
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Integer { unit, .. } => json!({ "type": "integer", "unit": unit }),
        Kind::Number { unit, .. } => json!({ "type": "number", "unit": unit }),
        Kind::Fraction => json!({ "type": "fraction" }),
        Kind::Quantity(quantity) => json!({ "type": "quantity", "quantity": quantity.name() }),
        Kind::Range(quantity) => json!({ "type": "range", "quantity": quantity.name() }),
        Kind::Duration { .. } => json!({ "type": "quantity", "quantity": "duration" }),
        Kind::Bytes { .. } => json!({ "type": "bytes" }),
        Kind::Name | Kind::Text(_) => json!({ "type": "text" }),
        Kind::Keywords(words) => {
            let words: Vec<&str> = words.iter().map(|word| word.word).collect();
            json!({ "type": "words", "words": words })
        }
        Kind::AnyOf(kinds) => {
            let kinds: Vec<Value> = kinds.iter().map(kind).collect();
            json!({ "type": "any", "of": kinds })
        }
        Kind::List { of, .. } => json!({ "type": "list", "of": kind(of) }),
        Kind::Table(inner) => json!({ "type": "table", "table": table(inner) }),
        Kind::Tables(inner) => json!({ "type": "tables", "table": table(inner) }),
        Kind::Variants(variants) => {
            let variants = variants.iter().map(|variant| {
                json!({
                    "word": variant.keyword.word,
                    "doc": plain_doc(variant.keyword.doc),
                    "table": table(&variant.table),
                })
            });
            json!({ "type": "kinds", "kinds": variants.collect::<Vec<_>>() })
        }
    }
}

fn plain(raw: &Raw) -> Option<Value> {
    match raw {
        Raw::Text(text) => Some(json!(text)),
        Raw::Integer(number) => Some(json!(number)),
        Raw::Float(number) => Some(json!(number)),
        Raw::Boolean(value) => Some(json!(value)),
        _ => None,
    }
}
