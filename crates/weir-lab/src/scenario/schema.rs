//! The JSON Schema of scenario files, from the declarations that reader and writer use.
//!
//! Each table, each `kind` of a table and each quantity is a definition in `$defs`, named by its
//! key: `#/$defs/queue.red`. The schema accepts the same files as the reader, except for conditions
//! that a schema cannot express: the size of a quantity with a unit ("0bit" has the form of a
//! rate), percentages with an exponent, a whole number with a decimal point, the order of the ends
//! of a range, and relations between keys.

use super::Scenario;
use super::writer::inline;
use serde_json::{Map, Value as Json, json};
use weir_proto::settings::{
    FieldKind, Keyword, Kind, Presence, Raw, TableKind, Variant, describe, plain_doc,
};
use weir_proto::units::Quantity;

/// The JSON Schema (draft 2020-12) of a scenario file: the meaning of each key, its possible values
/// and units, and its default.
pub fn schema() -> Json {
    let mut definitions = Definitions::default();
    let mut schema = definitions.table(&describe(&Scenario::default()));
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Weir scenario");
    schema["$defs"] = Json::Object(definitions.named);
    schema
}

#[derive(Default)]
struct Definitions {
    named: Map<String, Json>,
}

impl Definitions {
    /// A reference to a definition of this name; a number is appended if the name has another
    /// definition.
    fn refer(&mut self, name: &str, schema: Json) -> Json {
        let mut numbered = (1..).map(|number| match number {
            1 => name.to_owned(),
            _ => format!("{name}.{number}"),
        });
        let free = |name: &String| self.named.get(name).is_none_or(|known| *known == schema);
        let name = numbered.find(free).unwrap_or_default();
        let reference = json!({ "$ref": format!("#/$defs/{name}") });
        self.named.insert(name, schema);
        reference
    }

    fn table(&mut self, table: &TableKind) -> Json {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in &table.fields {
            properties.insert(field.key.to_owned(), self.field(field));
            if field.presence == Presence::Required {
                required.push(field.key);
            }
        }
        let mut schema = json!({
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    fn field(&mut self, field: &FieldKind) -> Json {
        let mut schema = self.kind(field.key, &field.kind);
        schema["description"] = json!(plain_doc(field.doc));
        if let Some(default) = &field.default {
            schema["default"] = json_of(default);
        }
        schema
    }

    fn kind(&mut self, key: &str, kind: &Kind) -> Json {
        match kind {
            Kind::Boolean => {
                let schema = json!({ "enum": [true, false, "on", "off"] });
                self.refer("boolean", schema)
            }
            Kind::Integer { min, max, unit } => {
                let bounds = json!({ "type": "integer", "minimum": min, "maximum": max });
                with_unit(bounds, unit)
            }
            Kind::Number { min, max, unit } => {
                let mut bounds = json!({ "type": "number", "minimum": min });
                if max.is_finite() {
                    bounds["maximum"] = json!(max);
                }
                with_unit(bounds, unit)
            }
            Kind::Fraction => self.refer("fraction", fraction()),
            Kind::Quantity(quantity) => self.refer(quantity.name(), quantity_schema(quantity)),
            Kind::Duration { min, max } => {
                let mut text = self.kind(key, &Kind::Quantity(&weir_proto::units::DURATION));
                text["description"] = json!(format!("from {min} to {max}"));
                text
            }
            Kind::Range(quantity) => {
                let name = format!("{}_range", quantity.name());
                self.refer(&name, range_schema(quantity))
            }
            Kind::Bytes { min, max } => {
                let unit = "bytes";
                let (min, max) = (*min, *max);
                let number = self.kind(key, &Kind::Integer { min, max, unit });
                let text = self.kind(key, &Kind::Quantity(&weir_proto::units::SIZE));
                json!({ "anyOf": [number, text] })
            }
            Kind::Name => {
                let pattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$";
                self.refer("name", json!({ "type": "string", "pattern": pattern }))
            }
            Kind::Text(what) => json!({ "type": "string", "description": what }),
            Kind::Keywords(keywords) => words(keywords),
            Kind::AnyOf(kinds) => {
                let kinds: Vec<Json> = kinds.iter().map(|kind| self.kind(key, kind)).collect();
                json!({ "anyOf": kinds })
            }
            Kind::List { of, len } => {
                let mut list = json!({ "type": "array", "items": self.kind(key, of) });
                if let (min, Some(max)) = len {
                    list["minItems"] = json!(min);
                    list["maxItems"] = json!(max);
                }
                list
            }
            Kind::Table(table) => {
                let schema = self.table(table);
                self.refer(key, schema)
            }
            Kind::Tables(table) => {
                let schema = self.table(table);
                json!({ "type": "array", "items": self.refer(key, schema) })
            }
            Kind::Variants(variants) => self.variants(key, variants),
        }
    }

    fn variants(&mut self, key: &str, variants: &[Variant]) -> Json {
        let mut kinds = Vec::new();
        let bare = variants.iter().filter(|variant| {
            let mut fields = variant.table.fields.iter();
            fields.all(|field| field.presence != Presence::Required)
        });
        let bare: Vec<Json> = bare.map(|variant| json!(variant.keyword.word)).collect();
        if !bare.is_empty() {
            // A word alone stands for the table of that kind without other keys.
            kinds.push(json!({ "enum": bare }));
        }
        for variant in variants {
            let fields = variant.table.fields.iter();
            let alone = fields.filter(|field| variant.alone == Some(field.key));
            kinds.extend(alone.map(|field| self.kind(field.key, &field.kind)));
        }
        for Variant { keyword, table, .. } in variants {
            let mut schema = self.table(table);
            schema["properties"]["kind"] = json!({ "const": keyword.word });
            let mut required = vec![json!("kind")];
            required.extend(schema["required"].as_array().into_iter().flatten().cloned());
            schema["required"] = Json::Array(required);
            schema["description"] = json!(plain_doc(keyword.doc));
            kinds.push(self.refer(&format!("{key}.{}", keyword.word), schema));
        }
        self.refer(key, json!({ "oneOf": kinds }))
    }
}

fn with_unit(mut schema: Json, unit: &str) -> Json {
    if !unit.is_empty() {
        schema["x-unit"] = json!(unit);
    }
    schema
}

/// Keywords with their meanings.
fn words(keywords: &[Keyword]) -> Json {
    let word = |keyword: &Keyword| match plain_doc(keyword.doc) {
        doc if doc.is_empty() => json!({ "const": keyword.word }),
        doc => json!({ "const": keyword.word, "description": doc }),
    };
    match keywords {
        [only] => word(only),
        _ => json!({ "oneOf": keywords.iter().map(word).collect::<Vec<_>>() }),
    }
}

/// A number without a sign.
const NUMBER: &str = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?";
/// Zero without a sign: the only number that may be negative.
const ZERO: &str = r"(0+\.?0*|\.0+)([eE][-+]?[0-9]+)?";

fn quantity_schema(quantity: &Quantity) -> Json {
    let units: Vec<&str> = quantity.unit_words().collect();
    let units = units.join("|");
    json!({
        "type": "string",
        "pattern": format!(r"^\s*(\+?{NUMBER}|-{ZERO})\s*({units})\s*$"),
        "examples": quantity.examples,
    })
}

/// A quantity, or a range of two.
fn range_schema(quantity: &Quantity) -> Json {
    let units: Vec<&str> = quantity.unit_words().collect();
    let one = format!(r"\s*(\+?{NUMBER}|-{ZERO})\s*({})\s*", units.join("|"));
    json!({
        "type": "string",
        "pattern": format!(r"^{one}(\.\.{one})?$"),
        "examples": [quantity.examples[0], quantity.examples.join("..")],
    })
}

/// A number in 0..1, or the same as text, or text in percent.
fn fraction() -> Json {
    let below_one = r"0+\.?[0-9]*|\.[0-9]+|0*1\.?0*|[0-9]\.?[0-9]*[eE]-0*[1-9][0-9]*";
    let percent = r"0*[0-9]{1,2}\.?[0-9]*|\.[0-9]+|0*100\.?0*";
    json!({
        "anyOf": [
            { "type": "number", "minimum": 0, "maximum": 1 },
            { "type": "string",
              "pattern": format!(r"^\s*(\+?({below_one}|({percent})\s*%)|-{ZERO}\s*%?)\s*$") },
        ],
        "examples": [0.02, "2%"],
    })
}

fn json_of(raw: &Raw) -> Json {
    match raw {
        Raw::Text(text) => json!(text),
        Raw::Integer(number) => json!(number),
        Raw::Float(number) => json!(number),
        Raw::Boolean(value) => json!(value),
        Raw::Array(list) => list.iter().map(|element| json_of(&element.raw)).collect(),
        other => json!(inline(other)),
    }
}

#[cfg(test)]
mod tests;
