//! The JSON Schema of scenario files, from the same description as the reader.

use super::Scenario;
use super::visit::{List, Need, Purpose, Section, Value, Variants, Visitor};
use serde_json::{Map, Value as Json, json};

/// The JSON Schema (draft 2020-12) of a scenario file: what the keys mean, which values and units
/// they take, and their defaults.
pub fn schema() -> Json {
    let mut schema = describe(&mut |visitor| Scenario::default().visit(visitor));
    if let Json::Object(map) = &mut schema {
        map.insert(
            "$schema".into(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        map.insert("title".into(), json!("Weir scenario"));
    }
    schema
}

fn describe(visit: &mut dyn FnMut(&mut Describer)) -> Json {
    let mut describer = Describer::default();
    visit(&mut describer);
    describer.finish()
}

#[derive(Default)]
struct Describer {
    properties: Map<String, Json>,
    required: Vec<&'static str>,
}

impl Describer {
    fn add(&mut self, (key, doc): (&'static str, &'static str), need: Need, mut schema: Json) {
        if let Json::Object(map) = &mut schema {
            map.insert("description".into(), json!(doc));
        }
        self.properties.insert(key.to_owned(), schema);
        if need == Need::Required {
            self.required.push(key);
        }
    }

    fn finish(self) -> Json {
        json!({
            "type": "object",
            "properties": self.properties,
            "required": self.required,
            "additionalProperties": false,
        })
    }
}

/// The default as JSON, from its TOML text.
fn default_of(value: &dyn Value) -> Option<Json> {
    let text = format!("value = {}", value.write());
    let table: Map<String, Json> = toml::from_str(&text).ok()?;
    table.get("value").cloned()
}

impl Visitor for Describer {
    fn purpose(&self) -> Purpose {
        Purpose::Describe
    }

    fn value(&mut self, key: &'static str, doc: &'static str, need: Need, value: &mut dyn Value) {
        let mut schema = value.describe();
        if need == Need::Optional
            && let (Json::Object(map), Some(default)) = (&mut schema, default_of(value))
        {
            map.insert("default".into(), default);
        }
        self.add((key, doc), need, schema);
    }

    fn kind(&mut self, variants: &mut dyn Variants) -> bool {
        let word = variants.kind();
        let doc = variants.kinds().iter().find(|(kind, _)| *kind == word);
        let doc = doc.map_or("", |(_, doc)| doc);
        self.add(("kind", doc), Need::Required, json!({ "const": word }));
        true
    }

    fn section(&mut self, key: &'static str, doc: &'static str, section: &mut dyn Section) {
        let schema = describe(&mut |describer| section.visit(describer));
        let needed = schema["required"].as_array().is_some_and(|r| !r.is_empty());
        let need = if needed {
            Need::Required
        } else {
            Need::Optional
        };
        self.add((key, doc), need, schema);
    }

    fn variants(
        &mut self,
        key: &'static str,
        doc: &'static str,
        need: Need,
        variants: &mut dyn Variants,
    ) {
        let default = variants.kind();
        let mut kinds = Vec::new();
        for (kind, _) in variants.kinds() {
            variants.set_kind(kind);
            kinds.push(describe(&mut |describer| {
                describer.kind(variants);
                variants.visit(describer);
            }));
        }
        variants.set_kind(default);
        self.add((key, doc), need, json!({ "oneOf": kinds }));
    }

    fn list(&mut self, key: &'static str, doc: &'static str, list: &mut dyn List) {
        let before = list.len();
        list.push();
        let mut item = Json::Null;
        if let Some(section) = list.get(before) {
            item = describe(&mut |describer| section.visit(describer));
        }
        self.add(
            (key, doc),
            Need::Optional,
            json!({ "type": "array", "items": item }),
        );
    }
}
