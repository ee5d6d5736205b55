//! No tracked file names a path of one machine or the host of a package registry.
//!
//! The words searched for are written in two halves, because this file is tracked too.

use super::Violation;
use crate::tree::TextFile;

/// Paths that exist on one machine only.
const PATHS: [&str; 3] = [
    concat!("/wo", "rk/"),
    concat!("/tmp", "/wt"),
    concat!("/ro", "ot/"),
];

/// Names of package registries.
const REGISTRIES: [&str; 4] = [
    concat!("registry", "+"),
    concat!("sparse", "+http"),
    concat!("crates.io", "-index"),
    concat!("index.", "crates.io"),
];

/// Tables of cargo's configuration that name registries, at the start of a line.
const TABLES: [&str; 2] = ["[source.", "[registries."];

/// The source that a lock file gives for a crate of crates.io.
const PUBLIC: &str = concat!(
    "registry",
    "+https://github.com/rust-lang/",
    "crates.io",
    "-index\""
);

pub fn check(file: &TextFile) -> Vec<Violation> {
    let path = file.path.as_str();
    let is_lock = path.rsplit('/').next() == Some("Cargo.lock");
    let mut violations = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for mark in PATHS.iter().filter(|mark| names_path(line, mark)) {
            let message = format!("{mark} is a path of one machine");
            violations.push(Violation::new(path, index + 1, message));
        }
        let public = is_lock && line.ends_with(PUBLIC);
        if let Some(mark) = registry(line).filter(|_| !public) {
            let message = format!(
                "{mark} names a registry, which belongs into the configuration of the machine"
            );
            violations.push(Violation::new(path, index + 1, message));
        }
    }
    violations
}

/// The name of a registry on this line.
fn registry(line: &str) -> Option<&'static str> {
    let named = REGISTRIES.into_iter().find(|mark| line.contains(mark));
    named.or_else(|| TABLES.into_iter().find(|table| line.starts_with(table)))
}

/// Whether an absolute path starts with `mark` here; the middle of a relative path does not count.
fn names_path(line: &str, mark: &str) -> bool {
    line.match_indices(mark).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        !before.is_some_and(|c| c.is_alphanumeric() || "._-/".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&TextFile::new(path, text.to_owned()))
            .into_iter()
            .map(|violation| violation.line)
            .collect()
    }

    #[test]
    fn paths_of_a_machine_are_found_in_any_file() {
        for mark in PATHS {
            assert_eq!(
                lines("README.md", &format!("a\nsee `{mark}x`")),
                [2],
                "{mark}"
            );
            assert!(
                lines("README.md", &format!("frame{mark}x")).is_empty(),
                "{mark}"
            );
        }
        assert!(lines("README.md", "network/, ../shared, /tmp/out").is_empty());
    }

    #[test]
    fn registries_are_found_outside_lock_files() {
        for mark in REGISTRIES.into_iter().chain(TABLES) {
            assert_eq!(lines(".cargo/config.toml", mark), [1], "{mark}");
        }
        let public = format!("source = \"{PUBLIC}");
        assert!(lines("fuzz/Cargo.lock", &public).is_empty());
        assert_eq!(lines("notes.md", &public), [1]);
        let private = public.replace("github.com", "crates.example");
        assert_eq!(lines("Cargo.lock", &private), [1]);
        assert!(lines("a.rs", "    ways[source.0]").is_empty());
        assert!(lines("README.md", "published on crates.io").is_empty());
    }
}
