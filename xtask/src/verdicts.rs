//! `cargo xtask verdicts`: checks that the verdicts of the published experiments do not depend on
//! the seeds.
//!
//! Reproduces all experiments with their own seeds and with all seeds shifted by a million, where
//! no parameter was fitted, and compares them row by row. A row without a distribution belongs to a
//! run that is not random, so its measured value must be equal.

use crate::output;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The offset of the seeds in the second reproduction.
const SEED_OFFSET: &str = "1000000";

/// Reproduces twice; false if a verdict differs.
pub fn run(root: &Path) -> Result<bool, String> {
    let first = reproduced(root, "0")?;
    let second = reproduced(root, SEED_OFFSET)?;
    let (first, second) = (rows(&first), rows(&second));
    if first.len() != second.len() {
        return Err("the two reproductions have different rows".to_owned());
    }
    let mut different = 0;
    for ((name, row), (_, other)) in first.iter().zip(&second) {
        if differ(row, other) {
            different += 1;
            let of = |row: &Value| format!("{} {}", row["measured"], row["verdict"]);
            let id = &row["id"];
            output::line(format!("{name}: row {id}: {}, then {}", of(row), of(other)));
        }
    }
    output::line(format!(
        "verdicts: {different} of {} rows differ when the seeds are shifted by {SEED_OFFSET}",
        first.len()
    ));
    Ok(different == 0)
}

/// True if the seeds changed the verdict, or the value of a run that is not random.
fn differ(row: &Value, other: &Value) -> bool {
    let random = row.get("seeds").is_some() || other.get("seeds").is_some();
    row["id"] != other["id"]
        || row["verdict"] != other["verdict"]
        || (!random && row["measured"] != other["measured"])
}

/// The output of `weir reproduce --json`, whatever its exit status.
fn reproduced(root: &Path, seed_offset: &str) -> Result<Value, String> {
    let out = root.join("target").join("verdicts");
    let mut command = Command::new("cargo");
    command.args([
        "run",
        "--quiet",
        "--release",
        "--locked",
        "-p",
        "weirlab",
        "--",
    ]);
    command.args(["reproduce", "--json", "--seed-offset", seed_offset, "--out"]);
    let output = command.arg(out).current_dir(root).output();
    let output = output.map_err(|error| format!("cargo run: {error}"))?;
    serde_json::from_slice(&output.stdout).map_err(|error| {
        let messages = String::from_utf8_lossy(&output.stderr);
        format!("weir reproduce did not print a document: {error}\n{messages}")
    })
}

/// All rows with the names of their experiments.
fn rows(document: &Value) -> Vec<(String, Value)> {
    let experiments = document["experiments"].as_array().into_iter().flatten();
    let rows = experiments.flat_map(|experiment| {
        let name = experiment["name"].as_str().unwrap_or_default().to_owned();
        let rows = experiment["rows"].as_array().into_iter().flatten();
        rows.map(move |row| (name.clone(), row.clone()))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_differs_by_its_verdict_or_by_the_number_of_a_run_that_is_not_random() {
        let one = json!({ "id": "a", "verdict": "agrees", "measured": 1.0 });
        let two = json!({ "id": "a", "verdict": "agrees", "measured": 2.0 });
        let other = json!({ "id": "a", "verdict": "differs", "measured": 1.0 });
        assert!(!differ(&one, &one));
        assert!(differ(&one, &two));
        assert!(differ(&one, &other));
        let seeds = |measured: f64, verdict: &str| json!({ "id": "a", "verdict": verdict, "measured": measured, "seeds": { "runs": 20 } });
        assert!(!differ(&seeds(1.0, "agrees"), &seeds(2.0, "agrees")));
        assert!(differ(&seeds(1.0, "agrees"), &seeds(1.0, "differs")));
    }
}
