//! Determines the commit of the source, for `--version` and the summaries of runs.
//!
//! A package of crates.io has it in `.cargo_vcs_info.json`; in a repository git reports it.
//! Otherwise there is none. Nothing else about the machine is stored in the program.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The number of digits of the commit.
const DIGITS: usize = 12;

fn main() {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let package = package.unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(commit) = packaged(&package).or_else(|| in_repository(&package)) {
        let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
        println!("cargo::rustc-env=WEIR_COMMIT={commit}");
        println!("cargo::rustc-env=WEIR_VERSION={version} ({commit})");
    }
}

/// The commit that `cargo package` has stored: the value of `"sha1"`.
fn packaged(package: &Path) -> Option<String> {
    let text = std::fs::read_to_string(package.join(".cargo_vcs_info.json")).ok()?;
    let after = text.split("\"sha1\"").nth(1)?;
    let commit = after.split('"').nth(1)?;
    let dirty = if text.contains("\"dirty\": true") {
        "-dirty"
    } else {
        ""
    };
    Some(format!("{}{dirty}", shortened(commit)?))
}

/// The current commit, if the package is a tracked part of a repository: source unpacked inside
/// another repository has none.
fn in_repository(package: &Path) -> Option<String> {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        let output = command
            .arg("-C")
            .arg(package)
            .args(arguments)
            .output()
            .ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    let commit = git(&["rev-parse", "HEAD"])?;
    // Each commit and each checkout changes this file.
    if let Some(log) = git(&[
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "logs/HEAD",
    ]) && Path::new(&log).is_file()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    // The source files of the program.
    let sources = git(&["rev-parse", "--show-toplevel"]).map(PathBuf::from)?;
    for name in ["crates", "experiments", "Cargo.toml", "Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", sources.join(name).display());
    }
    let status = ["status", "--porcelain", "--untracked-files=no"];
    let dirty = match git(&status) {
        Some(changes) if changes.is_empty() => "",
        _ => "-dirty",
    };
    Some(format!("{}{dirty}", shortened(&commit)?))
}

fn shortened(commit: &str) -> Option<&str> {
    let is_commit = commit.bytes().all(|octet| octet.is_ascii_hexdigit());
    commit.get(..DIGITS).filter(|_| is_commit)
}
