//! Everything that a change must pass, each command printed; it stops at the first failure.

use std::path::Path;
use std::process::Command;

use crate::{output, tidy};

const BEFORE: [&str; 3] = [
    "cargo fmt --all --check",
    "cargo clippy --workspace --all-targets -- -D warnings",
    "cargo test --workspace",
];

const AFTER: &str = "cargo check --manifest-path fuzz/Cargo.toml";

/// True when every step has passed.
pub fn run(root: &Path) -> Result<bool, String> {
    for line in BEFORE {
        if !passes(root, line)? {
            return Ok(false);
        }
    }
    output::line("$ cargo xtask tidy");
    Ok(tidy::run(root)? && passes(root, AFTER)?)
}

fn passes(root: &Path, line: &str) -> Result<bool, String> {
    output::line(format_args!("$ {line}"));
    let mut words = line.split(' ');
    let program = words.next().unwrap_or_default();
    let status = Command::new(program)
        .args(words)
        .current_dir(root)
        .status()
        .map_err(|error| format!("{line}: {error}"))?;
    if !status.success() {
        eprintln!("{line}: {status}");
    }
    Ok(status.success())
}
