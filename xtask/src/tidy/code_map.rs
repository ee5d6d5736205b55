//! `docs/code-map.md`: every source file of the crates with the first sentence of its head.

use std::fmt::Write as _;
use std::path::Path;

use super::Violation;
use crate::source::Source;
use crate::tree::{self, TextFile};

/// The document, from the repository's root.
const PATH: &str = "docs/code-map.md";

const HEAD: &str = "# Code map

Every source file without its tests, by crate, with the first sentence of its own documentation.
`cargo xtask code-map` writes this page from the files; `cargo xtask tidy` fails when it is out of
date. [ARCHITECTURE](ARCHITECTURE.md) says how the parts work together.
";

/// Writes the document anew.
pub fn run(root: &Path) -> Result<bool, String> {
    let sources = tree::sources(&tree::text_files(root)?)?;
    let path = root.join(PATH);
    let temporary = path.with_extension("md.tmp");
    std::fs::write(&temporary, document(&sources))
        .and_then(|()| std::fs::rename(&temporary, &path))
        .map_err(|error| format!("{PATH}: {error}"))?;
    Ok(true)
}

/// The document, if it differs from what the files say.
pub fn check(files: &[TextFile], sources: &[Source]) -> Option<Violation> {
    let found = files.iter().find(|file| file.path == PATH);
    let is_current = found.is_some_and(|file| file.text == document(sources));
    let message = "is out of date: run `cargo xtask code-map`";
    (!is_current).then(|| Violation::new(PATH, 1, message))
}

fn document(sources: &[Source]) -> String {
    let mut text = HEAD.to_owned();
    let mut last_crate = "";
    let listed = sources
        .iter()
        .filter(|source| !source.test && !source.path.contains("/examples/"));
    for source in listed {
        let Some((folder, file)) = source.path.split_once("/src/") else {
            continue;
        };
        if folder != last_crate {
            let name = folder.rsplit('/').next().unwrap_or(folder);
            let _ = write!(text, "\n## {name}\n\n| file | what it holds |\n|---|---|\n");
            last_crate = folder;
        }
        let sentence = first_sentence(&source.text);
        let _ = writeln!(text, "| [`{file}`](../{}) | {sentence} |", source.path);
    }
    text
}

/// The first sentence of the file's head, on one line and without links to items.
fn first_sentence(text: &str) -> String {
    let head: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    let head = head.join(" ");
    let end = head.find(". ").map_or(head.len(), |end| end + 1);
    without_links(&head[..end]).replace('|', "\\|")
}

/// `[text](target)` and `[text]` become `text`; brackets within backticks stay.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = split_at_bracket(rest, '[') {
        plain.push_str(before);
        let Some((label, after)) = split_at_bracket(link, ']') else {
            rest = link;
            break;
        };
        plain.push_str(label);
        let target = after.strip_prefix('(').and_then(|t| t.split_once(')'));
        rest = target.map_or(after, |(_, after)| after);
    }
    plain + rest
}

/// What stands before and after the first such bracket outside backticks.
fn split_at_bracket(text: &str, bracket: char) -> Option<(&str, &str)> {
    let mut in_code = false;
    let at = text.find(|c| {
        in_code ^= c == '`';
        c == bracket && !in_code
    })?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_becomes_one_sentence_without_links() {
        let text = "//! `[[link]]` of a [`Window`](x).";
        assert_eq!(first_sentence(text), "`[[link]]` of a `Window`.");
        let text =
            "//! The [pacer](super::pacer) of [`Window`], by\n//! RFC 9002. More.\n\nfn f() {}";
        assert_eq!(first_sentence(text), "The pacer of `Window`, by RFC 9002.");
        assert_eq!(first_sentence("fn f() {}"), "");
    }

    #[test]
    fn an_outdated_map_is_found() {
        let source = Source::new("crates/x/src/lib.rs", "//! It counts.\n").expect("Rust");
        let sources = [source];
        let current = TextFile::new(PATH, document(&sources));
        assert!(
            current
                .text
                .contains("| [`lib.rs`](../crates/x/src/lib.rs) | It counts. |")
        );
        assert!(check(&[current], &sources).is_none());
        let outdated = TextFile::new(PATH, HEAD.to_owned());
        assert!(check(&[outdated], &sources).is_some());
        assert!(check(&[], &sources).is_some());
    }
}
