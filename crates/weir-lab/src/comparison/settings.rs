//! The settings of a scenario as paths and values, and which of them differ.

use crate::scenario::Scenario;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// A setting that differs between two scenarios.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingChange {
    /// Its path in the notation of `--set`: `flow.stream.transport.controller`.
    pub path: String,
    /// Its value in A; `None` if A does not have it.
    pub a: Option<String>,
    /// Its value in B; `None` if B does not have it.
    pub b: Option<String>,
}

/// Every setting of the scenario, including defaults, by its path in the notation of `--set`.
pub fn settings_of(scenario: &Scenario) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    // A resolved scenario is a TOML document.
    let document: Table = scenario.resolved_toml().parse().unwrap_or_default();
    for (key, value) in &document {
        collect(value, key.clone(), &mut settings);
    }
    settings
}

fn collect(value: &Value, path: String, settings: &mut BTreeMap<String, String>) {
    match value {
        Value::Table(table) => {
            for (key, value) in table {
                collect(value, format!("{path}.{key}"), settings);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_table) => {
            for (index, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(Value::as_str);
                let step = name.map_or_else(|| index.to_string(), str::to_owned);
                collect(item, format!("{path}.{step}"), settings);
            }
        }
        Value::String(text) => {
            settings.insert(path, text.clone());
        }
        other => {
            settings.insert(path, other.to_string());
        }
    }
}

/// The settings that differ, by path; the seed is ignored.
pub fn changed_settings(a: &Scenario, b: &Scenario) -> Vec<SettingChange> {
    let (a, b) = (settings_of(a), settings_of(b));
    let mut paths: Vec<&String> = a.keys().chain(b.keys()).collect();
    paths.sort();
    paths.dedup();
    let changes = paths.into_iter().map(|path| SettingChange {
        path: path.clone(),
        a: a.get(path).cloned(),
        b: b.get(path).cloned(),
    });
    let differ = |change: &SettingChange| change.a != change.b && change.path != "run.seed";
    changes.filter(differ).collect()
}
