//! What needs no run: the schema, the columns, checks, edits and laws.

use crate::problem::{Problem, failed, json, wrong};
use serde::Deserialize;
use serde_json::{Value, json as object};
use std::collections::BTreeMap;
use std::sync::Arc;
use wasm_bindgen::prelude::wasm_bindgen;
use weir_lab::lint::lint;
use weir_lab::run::columns::plot_label;
use weir_lab::run::table_kinds;
use weir_lab::scenario::files::Files;
use weir_lab::scenario::{self, Override, parse_with_files, resolved_value};
use weir_lab::table::ValueKind;
use weir_lab::theory::{self, LAWS, Law, Quantity};

/// The name of the scenario in messages.
pub(crate) const SCENARIO: &str = "scenario";

/// The program and its version.
#[wasm_bindgen]
pub fn version() -> String {
    concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned()
}

/// The JSON Schema of a scenario.
#[wasm_bindgen]
pub fn schema() -> String {
    scenario::schema().to_string()
}

/// The columns of all tables: `Column[]` of `web/src/engine/types.ts`.
#[wasm_bindgen]
pub fn columns() -> String {
    let kinds = table_kinds();
    let columns = kinds.iter().flat_map(|kind| {
        kind.columns.iter().map(|column| {
            let label = plot_label(column.name).map(|label| {
                object!({ "axis": label.axis, "short": label.short, "unit": label.unit,
                          "factor": label.factor })
            });
            object!({
                "table": kind.path,
                "name": column.name,
                "unit": column.unit,
                "documentation": column.doc,
                "kind": match column.kind {
                    ValueKind::Number => "number",
                    ValueKind::Count => "count",
                    ValueKind::Word => "word",
                },
                "label": label,
            })
        })
    });
    json(&columns.collect::<Vec<_>>())
}

/// The problems of a scenario, `Problem[]`: its first error, or what lint remarks. `files` has the
/// texts of the files that it refers to, by their names.
#[wasm_bindgen]
pub fn check(toml: &str, files: &str) -> Result<String, String> {
    let files = files_of(files)?;
    let problems: Vec<Problem> = match parse_with_files(toml, SCENARIO, &[], &files) {
        Err(error) => vec![Problem::of_error(&error)],
        Ok(scenario) => {
            let findings = lint(&scenario).into_iter();
            let remarks = findings.map(|finding| Problem::of_finding(finding, toml));
            remarks.collect()
        }
    };
    Ok(json(&problems))
}

/// The text with these settings, `[path, value][]`; its comments and its layout stay.
#[wasm_bindgen]
pub fn set(toml: &str, sets: &str) -> Result<String, String> {
    let sets = overrides_of(read(sets, "settings")?);
    scenario::edited(toml, SCENARIO, &sets).map_err(|error| wrong(&error))
}

/// The resolved value of a key, `Value | null`.
#[wasm_bindgen]
pub fn value(toml: &str, key: &str, files: &str) -> Result<String, String> {
    let files = files_of(files)?;
    let scenario = parse_with_files(toml, SCENARIO, &[], &files).map_err(|error| wrong(&error))?;
    let found = resolved_value(&scenario, key).map_err(|error| wrong(&error))?;
    let found = found.map(|value| {
        object!({
            "text": value.text,
            "number": value.number,
            "unit": value.unit,
            "written": scenario::is_written(toml, key),
        })
    });
    Ok(json(&found))
}

/// The laws, `Law[]`.
#[wasm_bindgen]
pub fn laws() -> String {
    json(&LAWS.iter().map(Law::description).collect::<Vec<_>>())
}

/// Evaluates a law; `parameters` is an object of texts with units, or of numbers in the base units
/// of what they are. The result is a `Theory`.
#[wasm_bindgen]
pub fn theory(law: &str, parameters: &str) -> Result<String, String> {
    let law = theory::law(law).map_err(|error| failed(error.to_string()))?;
    let parameters: BTreeMap<String, Value> = read(parameters, "parameters")?;
    let texts: Vec<(String, String)> = parameters
        .into_iter()
        .map(|(name, value)| {
            let text = text_of(law, &name, &value);
            (name, text)
        })
        .collect();
    let pairs: Vec<(&str, &str)> = texts
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .collect();
    let lines = law
        .evaluate(&pairs)
        .map_err(|error| failed(error.to_string()))?;
    let results = lines.iter().map(|line| {
        object!({ "name": line.name, "value": line.value, "text": line.text,
                  "describe": line.describe })
    });
    let document = object!({
        "law": law.name, "equation": law.equation, "source": law.source, "valid": law.valid,
        "results": results.collect::<Vec<_>>(),
    });
    Ok(json(&document))
}

/// The text of a parameter: a number gets the base unit of its quantity.
fn text_of(law: &Law, name: &str, value: &Value) -> String {
    let number = match value {
        Value::String(text) => return text.clone(),
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        other => return other.to_string(),
    };
    let quantity = law.parameters.iter().find(|known| known.name == name);
    match quantity.map(|known| known.quantity) {
        Some(Quantity::Time) => format!("{number}s"),
        Some(Quantity::Rate) => format!("{number}bit"),
        _ => number.to_string(),
    }
}

/// What JavaScript passes as JSON.
pub(crate) fn read<'a, T: Deserialize<'a>>(text: &'a str, what: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| failed(format!("the {what} are no JSON: {error}")))
}

/// Settings in the form of `--set`.
pub(crate) fn overrides_of(sets: Vec<(String, String)>) -> Vec<Override> {
    let sets = sets.into_iter();
    sets.map(|(path, value)| Override { path, value }).collect()
}

/// The files that a scenario refers to.
fn files_of(files: &str) -> Result<Files, String> {
    if files.is_empty() {
        return Ok(Files::Memory(Arc::default()));
    }
    Ok(Files::Memory(Arc::new(read(files, "files")?)))
}

#[cfg(test)]
mod tests;
