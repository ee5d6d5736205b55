//! Finds the RFC sections that a Rust file cites.
//!
//! Recognised are `RFC 4340 §8.5` and further sections on the line (`, §8.6`), `RFC 9002 appendix
//! A.5`, and the bare `§7.5.1` in a file whose head names only one RFC.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex_lite::Regex;

use crate::source::Source;

/// The number of an RFC, or of a section in it.
static CITATION: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"RFC ?(?<rfc>\d+)|(?:§|[Aa]ppendix )(?<place>[\w.]+)";
    Regex::new(pattern).expect("the pattern is valid")
});

/// A section of an RFC, ordered as in the document; appendices come last.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Section {
    pub rfc: u32,
    pub place: Vec<Step>,
}

/// One step of a section's number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Number(u32),
    Appendix(String),
}

impl Step {
    /// The letter of an appendix is the first step.
    fn read(text: &str, is_first: bool) -> Option<Self> {
        let number = text.parse().ok().map(Self::Number);
        let is_letter = is_first && text.len() == 1;
        number.or_else(|| is_letter.then(|| Self::Appendix(text.to_uppercase())))
    }
}

impl Section {
    /// Parses `8.5` or `A.5`, with or without a dot at the end.
    pub fn read(rfc: u32, text: &str) -> Option<Self> {
        let steps = text.trim_end_matches('.').split('.').enumerate();
        let place: Option<Vec<Step>> = steps
            .map(|(depth, step)| Step::read(step, depth == 0))
            .collect();
        Some(Self { rfc, place: place? })
    }

    /// The number as in the RFC: `8.5` or `A.5`.
    pub fn number(&self) -> String {
        let step = |step: &Step| match step {
            Step::Number(number) => number.to_string(),
            Step::Appendix(letter) => letter.clone(),
        };
        self.place.iter().map(step).collect::<Vec<_>>().join(".")
    }
}

/// The sections that one file cites, and whether a test cites them. The whole text is searched,
/// because the message of an assertion may cite too.
pub fn citations(source: &Source) -> BTreeSet<(Section, bool)> {
    let head = head_rfc(source);
    let mut citations = BTreeSet::new();
    let mut carried = None;
    for (number, line) in source.lines() {
        let (sections, last) = line_sections(line, carried.or(head));
        carried = last;
        let is_test = source.is_test(number);
        citations.extend(sections.into_iter().map(|section| (section, is_test)));
    }
    citations
}

/// The only RFC in the file's head; `None` if there are none or several.
pub fn head_rfc(source: &Source) -> Option<u32> {
    let head = source
        .lines()
        .map(|(_, line)| line.trim())
        .take_while(|line| line.starts_with("//!"));
    let named: BTreeSet<u32> = head
        .flat_map(|line| CITATION.captures_iter(line))
        .filter_map(|found| found.name("rfc")?.as_str().parse().ok())
        .collect();
    named.first().copied().filter(|_| named.len() == 1)
}

/// The sections on a line, and the RFC at its end if the citation continues on the next line.
pub fn line_sections(line: &str, default: Option<u32>) -> (Vec<Section>, Option<u32>) {
    let line = line.trim_end();
    let (mut rfc, mut open) = (default, None);
    let mut sections = Vec::new();
    for found in CITATION.captures_iter(line) {
        if let Some(number) = found.name("rfc") {
            rfc = number.as_str().parse().ok();
            open = rfc.filter(|_| number.end() == line.len());
        } else if let (Some(rfc), Some(place)) = (rfc, found.name("place")) {
            sections.extend(Section::read(rfc, place.as_str()));
        }
    }
    (sections, open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cited(text: &str) -> Vec<String> {
        let source = Source::new("a.rs", text).expect("the text of a test is Rust");
        let all = citations(&source).into_iter();
        all.map(|(section, is_test)| {
            let tests = if is_test { " in tests" } else { "" };
            format!("{} {}{tests}", section.rfc, section.number())
        })
        .collect()
    }

    #[test]
    fn long_and_following_forms_are_read() {
        assert_eq!(
            cited("// RFC 4340 §8.5, §10.1; RFC 5348 §4.2: why"),
            ["4340 8.5", "4340 10.1", "5348 4.2"]
        );
        assert_eq!(cited("// (RFC 9002 appendix A.5)."), ["9002 A.5"]);
        assert_eq!(cited("// as in RFC 4342\n// §8.1.\n// §9"), ["4342 8.1"]);
    }

    #[test]
    fn the_short_form_needs_a_head_with_one_rfc() {
        assert_eq!(
            cited("//! Headers (RFC 4340).\n// §7.5.1: why"),
            ["4340 7.5.1"]
        );
        assert!(cited("//! RFC 4340 and RFC 4342.\n// §7.5.1: why").is_empty());
        assert!(cited("// §7.5.1: why").is_empty());
    }

    #[test]
    fn citations_in_tests_are_kept_apart() {
        let text = "#[cfg(test)]\nmod tests {\n    // RFC 4340 §5.1\n}\n// RFC 4340 §6";
        assert_eq!(cited(text), ["4340 5.1 in tests", "4340 6"]);
    }
}
