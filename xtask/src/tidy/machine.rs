//! No tracked file tells on which machine it was made: no paths of a workshop, no registry hosts.
//!
//! The marks are written in two halves, for this file is tracked too.

use super::Breach;

/// Paths that exist on one machine only.
const PATHS: [&str; 3] = [
    concat!("/wo", "rk/"),
    concat!("/tmp", "/wt"),
    concat!("/ro", "ot/"),
];

/// Ways to name where crates come from.
const REGISTRIES: [&str; 4] = [
    concat!("registry", "+"),
    concat!("sparse", "+http"),
    concat!("crates.io", "-index"),
    concat!("index.", "crates.io"),
];

/// Tables of cargo's configuration that do the same; each starts its line.
const TABLES: [&str; 2] = ["[source.", "[registries."];

/// What a lock file says of a crate from crates.io.
const PUBLIC: &str = concat!(
    "registry",
    "+https://github.com/rust-lang/",
    "crates.io",
    "-index\""
);

pub fn check(path: &str, text: &str) -> Vec<Breach> {
    let is_lock = path.rsplit('/').next() == Some("Cargo.lock");
    let mut breaches = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for mark in PATHS.iter().filter(|mark| names_path(line, mark)) {
            let message = format!("{mark} is a path of one machine");
            breaches.push(Breach::new(path, index + 1, message));
        }
        let public = is_lock && line.ends_with(PUBLIC);
        if let Some(mark) = registry(line).filter(|_| !public) {
            let message = format!("{mark} names a registry, which is the machine's choice");
            breaches.push(Breach::new(path, index + 1, message));
        }
    }
    breaches
}

/// The mark of a registry on this line.
fn registry(line: &str) -> Option<&'static str> {
    let named = REGISTRIES.into_iter().find(|mark| line.contains(mark));
    named.or_else(|| TABLES.into_iter().find(|table| line.starts_with(table)))
}

/// Whether the mark starts an absolute path, not the middle of a relative one.
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
        check(path, text)
            .into_iter()
            .map(|breach| breach.line)
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
