//! The dependency policy: known licences, and sources that everyone can reach.
//!
//! Reads `cargo metadata` of the workspace for all platforms. The fuzz targets stand outside the
//! workspace and are not shipped, so their tools are not judged.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Breach;
use crate::licence;

const LOCK: &str = "Cargo.lock";

/// How cargo names crates.io; in two halves, for no tracked file names a registry.
const PUBLIC: &str = concat!(
    "registry",
    "+https://github.com/rust-lang/",
    "crates.io",
    "-index"
);

pub fn check(root: &Path) -> Result<Vec<Breach>, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--locked", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let lock = std::fs::read_to_string(root.join(LOCK)).unwrap_or_default();
    Ok(judge(&metadata, &lock))
}

fn judge(metadata: &Value, lock: &str) -> Vec<Breach> {
    let packages = metadata.get("packages").and_then(Value::as_array);
    let mut breaches = Vec::new();
    for package in packages.into_iter().flatten() {
        let field = |name: &str| package.get(name).and_then(Value::as_str);
        let name = field("name").unwrap_or("?");
        let entry = format!("name = \"{name}\"");
        let line = lock
            .lines()
            .position(|line| line == entry)
            .map_or(1, |index| index + 1);
        if !field("license").is_some_and(licence::is_satisfied) {
            let licence = field("license").unwrap_or("none");
            let message = format!("{name} has the licence {licence}, which is not allowed");
            breaches.push(Breach::new(LOCK, line, message));
        }
        if let Some(source) = field("source").filter(|source| *source != PUBLIC) {
            let message = format!("{name} comes from {source}, expected crates.io or a path");
            breaches.push(Breach::new(LOCK, line, message));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn messages(package: Value) -> Vec<String> {
        let lock = "[[package]]\nname = \"a\"\n";
        judge(&json!({ "packages": [package] }), lock)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn free_crates_from_the_public_registry_and_from_paths_pass() {
        for source in [json!(PUBLIC), json!(null)] {
            let package = json!({ "name": "a", "license": "MIT OR GPL-3.0", "source": source });
            assert!(messages(package).is_empty());
        }
    }

    #[test]
    fn foreign_licences_and_sources_are_found_at_their_entry() {
        let package = json!({ "name": "a", "license": "GPL-3.0", "source": PUBLIC });
        assert_eq!(
            messages(package),
            ["Cargo.lock:2: a has the licence GPL-3.0, which is not allowed"]
        );
        let package = json!({ "name": "a", "license": null, "source": "git+https://a.example/a" });
        assert_eq!(messages(package).len(), 2);
    }
}
