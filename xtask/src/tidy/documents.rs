//! Files named in Markdown documents exist.
//!
//! A relative link leads from the document to a file or folder of the repository. A word in
//! backticks is a path if it ends like a source file or starts with a folder of the root; leading
//! folders may be omitted, so `receiver.rs` and `tfrc/receiver.rs` refer to each file with this end
//! of its path. For a pattern such as `queue/NAME.rs`, the part before `NAME` is checked.

use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Parser, Tag};

use super::Violation;
use crate::tree::{TextFile, has_extension};

const SOURCE_EXTENSIONS: [&str; 4] = ["rs", "md", "sh", "lua"];

pub fn check(files: &[TextFile]) -> Vec<Violation> {
    let documents = files.iter().filter(|file| has_extension(&file.path, "md"));
    documents
        .flat_map(|document| in_document(document, files))
        .collect()
}

fn in_document(document: &TextFile, files: &[TextFile]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (event, range) in Parser::new(&document.text).into_offset_iter() {
        let missing = match &event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                missing_target(&document.path, dest_url, files)
            }
            Event::Code(word) => missing_path(word, files),
            _ => None,
        };
        if let Some(path) = missing {
            let before = document.text.get(..range.start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let message = format!("{path} does not exist");
            violations.push(Violation::new(&document.path, line, message));
        }
    }
    violations
}

/// The path from the root to which a relative link leads, if nothing exists there.
fn missing_target(document: &str, link: &str, files: &[TextFile]) -> Option<String> {
    let target = link.split('#').next().filter(|target| !target.is_empty())?;
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let mut path = PathBuf::from(document);
    path.pop();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    let is_there = files
        .iter()
        .any(|file| Path::new(&file.path).starts_with(&path));
    (!is_there).then(|| path.display().to_string())
}

/// The word in backticks, if it is a path that no file or folder has.
fn missing_path(word: &str, files: &[TextFile]) -> Option<String> {
    let path = Path::new(word.split("NAME").next()?);
    let path = path.strip_prefix(".").unwrap_or(path);
    let mut in_root = files.iter().filter_map(|file| file.path.split_once('/'));
    let starts_in_root =
        path.components().count() > 1 && in_root.any(|(folder, _)| path.starts_with(folder));
    let is_source = SOURCE_EXTENSIONS.iter().any(|end| has_extension(word, end));
    if word.contains(char::is_whitespace) || !(is_source || starts_in_root) {
        return None;
    }
    let is_there = files.iter().map(|file| Path::new(&file.path)).any(|file| {
        file.ends_with(path)
            || file.starts_with(path)
            || file.parent().is_some_and(|folder| folder.ends_with(path))
    });
    (!is_there).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXISTING: [&str; 3] = ["docs/a.md", "crates/x/src/tfrc/receiver.rs", "test.sh"];

    /// The missing files in this text of `docs/b.md`.
    fn missing(text: &str) -> Vec<String> {
        let existing = EXISTING.map(|path| TextFile::new(path, String::new()));
        let mut files = Vec::from(existing);
        files.push(TextFile::new("docs/b.md", text.to_owned()));
        let found = check(&files);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_of_existing_files_pass() {
        for text in [
            "[a](a.md#part) [x](../crates/x) [y](../crates/x/src/tfrc/receiver.rs) [z](#z)",
            "<https://a.example/b.md> [m](mailto:a@b.example)",
            "`receiver.rs` `tfrc/receiver.rs` `./test.sh` `crates/x/src/` `crates/x/src/tfrc/NAME.rs`",
            "`cargo run -- crates/y` `results/RUN` `scenario.toml` `a/b` `tfrc/NAME.rs`",
            "```\ncrates/y/src/lib.rs\n```\n",
        ] {
            assert!(missing(text).is_empty(), "{text}: {:?}", missing(text));
        }
    }

    #[test]
    fn names_of_missing_files_are_found_with_their_lines() {
        for (text, path) in [
            ("\n[a](c.md)", "docs/c.md"),
            ("\n![a](c.svg)", "docs/c.svg"),
            ("\n[a](../crates/y)", "crates/y"),
            ("\n`sender.rs`", "sender.rs"),
            ("\n`rc/receiver.rs`", "rc/receiver.rs"),
            ("\n`crates/y`", "crates/y"),
            (
                "\n`crates/x/src/queue/NAME.rs`",
                "crates/x/src/queue/NAME.rs",
            ),
        ] {
            let expected = format!("docs/b.md:2: {path} does not exist");
            assert_eq!(missing(text), [expected], "{text}");
        }
    }
}
