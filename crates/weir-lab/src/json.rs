//! Results as JSON, the same for each report, each with a version and a schema.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The version of the documents that commands print. It grows when a key goes or changes its
/// meaning; new keys may come without.
pub const VERSION: u32 = 1;

/// A document of a command.
#[derive(Serialize, JsonSchema)]
struct Versioned<T> {
    /// The version of this form.
    version: u32,
    #[serde(flatten)]
    document: T,
}

/// One JSON document with a line feed at its end; empty if JSON cannot represent the results, such
/// as a map whose keys are not strings.
pub(crate) fn document(results: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(results).unwrap_or_default();
    text.push('\n');
    text
}

/// As [`document`], with its version at the beginning.
pub fn versioned(document: &impl Serialize) -> String {
    self::document(&Versioned {
        version: VERSION,
        document,
    })
}

/// The JSON Schema (draft 2020-12) of [`versioned`] documents of this type.
pub fn schema<T: JsonSchema>(title: &str) -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let generator = settings.into_generator();
    let mut schema = generator.into_root_schema_for::<Versioned<T>>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
