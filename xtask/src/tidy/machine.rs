//! No tracked file contains a path of a particular machine or the host of a package registry.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::Violation;
use crate::tree::TextFile;

/// Absolute paths that exist on one machine only; matches inside a relative path are ignored.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?:^|[^\w./-])(/(?:(?:work|root)/|tmp/wt))"));

/// Package registries, and the tables of cargo's configuration that name them.
static REGISTRY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(registry[+]|sparse[+]http|crates\.io-index|index\.crates\.io|^\[(?:source|registries)\.)",
    )
});

/// The source that a lock file gives for a crate of crates.io.
static PUBLIC: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#""registry[+]https://github\.com/rust-lang/crates\.io-index"$"#));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

pub fn check(file: &TextFile) -> Vec<Violation> {
    let is_lock = file.path.ends_with("Cargo.lock");
    let mut violations = Vec::new();
    for (line, text) in (1..).zip(file.text.lines()) {
        let mut report = |found: &Regex, what: &str| {
            if let Some(found) = found.captures(text) {
                let message = format!("{} {what}", &found[1]);
                violations.push(Violation::new(&file.path, line, message));
            }
        };
        report(&PATH, "is a path of one machine");
        if !(is_lock && PUBLIC.is_match(text)) {
            report(
                &REGISTRY,
                "names a registry, which only the machine's configuration may",
            );
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let found = check(&TextFile::new(path, text.to_owned()));
        found.into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn paths_of_a_machine_are_found_in_any_file() {
        for folder in ["work", "root", "tmp/wt"] {
            assert_eq!(lines("README.md", &format!("a\nsee `/{folder}/x`")), [2]);
            assert_eq!(lines("README.md", &format!("/{folder}/x")), [1]);
            assert!(lines("README.md", &format!("frame/{folder}/x")).is_empty());
        }
        assert!(lines("README.md", "network/, ../shared, /tmp/out").is_empty());
    }

    #[test]
    fn registries_are_found_outside_lock_files() {
        let index = ["crates.io", "index"].join("-");
        let public = format!(
            "source = \"{}+https://github.com/rust-lang/{index}\"",
            "registry"
        );
        for text in [
            public.as_str(),
            &["sparse", "https://crates.example"].join("+"),
            &["index", "crates.io"].join("."),
            "[source.a]",
            "[registries.a]",
        ] {
            assert_eq!(lines(".cargo/config.toml", text), [1], "{text}");
        }
        assert!(lines("Cargo.lock", &public).is_empty());
        let private = public.replace("github.com", "crates.example");
        assert_eq!(lines("Cargo.lock", &private), [1]);
        assert!(lines("a.rs", "    ways[source.0]").is_empty());
        assert!(lines("README.md", "published on crates.io").is_empty());
    }
}
