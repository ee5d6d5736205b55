//! Lists the cited RFC sections, each with the files of code and of tests that cite it, and the
//! constants of RFCs that no vector names.
//!
//! If the text of RFC 4340 exists beside the repository, its sections with a MUST that no test
//! cites follow. The task never fails: a citation does not prove that a section is implemented.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::citation::{Section, citations};
use crate::{output, tree, vectors};

/// The possible path of the text, from the repository's root.
const TEXT: &str = "../shared/rfc/rfc4340.txt";
const RFC: u32 = 4340;

/// The folder of this program, whose citations are examples.
const OWN: &str = "xtask/";

/// Prints the table and the list.
pub fn run(root: &Path) -> Result<bool, String> {
    let sources = tree::sources(&tree::text_files(root)?)?;
    // The files of code that cite a section, and those of tests.
    let mut table: BTreeMap<Section, [BTreeSet<&str>; 2]> = BTreeMap::new();
    for source in &sources {
        for (section, is_test) in citations(source) {
            let path = source.path.as_str();
            if !path.starts_with(OWN) {
                table.entry(section).or_default()[usize::from(is_test)].insert(path);
            }
        }
    }
    output::line("section | code | tests");
    for (section, files) in &table {
        let name = format!("RFC {} §{}", section.rfc, section.number());
        let [code, tests] = files.each_ref().map(names);
        output::line(format_args!("{name} | {code} | {tests}"));
    }
    output::line("");
    let open = vectors::unnamed(&sources);
    let count = open.len();
    output::line(format_args!(
        "{count} constants of RFCs that no vector names:"
    ));
    for constant in open {
        let cites = |section: &Section| format!("RFC {} §{}", section.rfc, section.number());
        let sections: Vec<String> = constant.sections.iter().map(cites).collect();
        let place = format!("{}:{}", constant.path, constant.line);
        output::line(format_args!(
            "  {} {} {place}",
            constant.name,
            sections.join(" ")
        ));
    }
    output::line("");
    let Ok(text) = std::fs::read_to_string(root.join(TEXT)) else {
        let message = format!("RFC {RFC}: no text at {TEXT}, so no list of untested sections");
        output::line(message);
        return Ok(true);
    };
    let required = sections_with_a_must(RFC, &text);
    let count = required.len();
    output::line(format_args!(
        "RFC {RFC}: {count} sections with a MUST, uncited by tests:"
    ));
    for (section, title) in required {
        let files = table.get(&section);
        if files.is_none_or(|[_, tests]| tests.is_empty()) {
            output::line(format_args!("  §{} {title}", section.number()));
        }
    }
    Ok(true)
}

fn names(files: &BTreeSet<&str>) -> String {
    if files.is_empty() {
        return "-".to_owned();
    }
    let short = files.iter().map(|path| path.trim_start_matches("crates/"));
    short.collect::<Vec<_>>().join(" ")
}

/// Sections whose own text contains the word MUST, with their titles. Headings start at the left
/// edge; those in the table of contents are indented.
fn sections_with_a_must(rfc: u32, text: &str) -> Vec<(Section, String)> {
    let mut sections: Vec<(Section, String)> = Vec::new();
    let mut current = None;
    for line in text.lines() {
        if let Some(heading) = heading(rfc, line) {
            current = Some(heading);
        }
        let words = line.split(|c: char| !c.is_ascii_alphabetic());
        if words.clone().any(|word| word == "MUST") {
            sections.extend(current.take());
        }
    }
    sections
}

fn heading(rfc: u32, line: &str) -> Option<(Section, String)> {
    let (number, title) = line.split_once(' ')?;
    let is_number = number.ends_with('.') && number.starts_with(|c: char| c.is_ascii_digit());
    let section = is_number.then(|| Section::read(rfc, number))??;
    Some((section, title.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_must_belongs_to_the_heading_above_it() {
        let text = "   8.1. Contents MUST\n8.  States\n   may\n8.1.  Listen\n   A server MUST wait\n\
                    \x20  and MUST stay\n8.2.  Open\n   MUSTER\n";
        let found = sections_with_a_must(4340, text);
        let titles: Vec<&str> = found.iter().map(|(_, title)| title.as_str()).collect();
        assert_eq!(titles, ["Listen"]);
    }
}
