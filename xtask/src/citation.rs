//! Finds the RFC sections that a Rust file cites.
//!
//! Read are `RFC 4340 §8.5` and what follows it on the line (`, §8.6`), `RFC 9002 appendix A.5`,
//! and the bare `§7.5.1` in a file whose head names one RFC only.

use std::collections::BTreeSet;

use crate::lexed::Source;

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
    /// A letter stands first or nowhere.
    fn read(text: &str, first: bool) -> Option<Self> {
        if let Ok(number) = text.parse() {
            return Some(Self::Number(number));
        }
        let is_letter = first && text.len() == 1;
        is_letter.then(|| Self::Appendix(text.to_uppercase()))
    }
}

impl Section {
    /// Reads `8.5` or `A.5`; ends at the first character that does not belong to it.
    pub fn read(rfc: u32, text: &str) -> Option<Self> {
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
        let number = text.get(..end.unwrap_or(text.len()))?.trim_end_matches('.');
        let place: Option<Vec<Step>> = number
            .split('.')
            .enumerate()
            .map(|(depth, step)| Step::read(step, depth == 0))
            .collect();
        Some(Self { rfc, place: place? })
    }

    /// The number as people write it.
    pub fn number(&self) -> String {
        let steps: Vec<String> = self
            .place
            .iter()
            .map(|step| match step {
                Step::Number(number) => number.to_string(),
                Step::Appendix(letter) => letter.clone(),
            })
            .collect();
        steps.join(".")
    }
}

/// What one file cites.
#[derive(Default)]
pub struct Citations {
    pub in_code: BTreeSet<Section>,
    pub in_tests: BTreeSet<Section>,
}

/// Reads the whole text of the file: a test may cite in its message too.
pub fn citations(source: &Source) -> Citations {
    let head = head_rfc(source);
    let mut citations = Citations::default();
    let mut carried = None;
    for line in &source.lines {
        let (sections, last) = line_sections(&line.text, carried.or(head));
        carried = last;
        let set = if source.test || line.test {
            &mut citations.in_tests
        } else {
            &mut citations.in_code
        };
        set.extend(sections);
    }
    citations
}

/// The one RFC that the file's head names, if it names exactly one.
fn head_rfc(source: &Source) -> Option<u32> {
    let heads = source.lines.iter().map(|line| line.comment.trim());
    let named: BTreeSet<u32> = heads
        .take_while(|head| head.starts_with("//!"))
        .flat_map(|head| {
            head.match_indices("RFC")
                .filter_map(|(at, _)| rfc_number(head.get(at..)?))
        })
        .map(|(rfc, _)| rfc)
        .collect();
    if named.len() == 1 {
        named.first().copied()
    } else {
        None
    }
}

/// The sections of a line, and the RFC that its end leaves open for the next line.
fn line_sections(line: &str, default: Option<u32>) -> (Vec<Section>, Option<u32>) {
    let mut sections = Vec::new();
    let mut rfc = default;
    let mut rest = line;
    while let Some(at) = rest.find(['R', '§', 'a', 'A']) {
        let found = rest.get(at..).unwrap_or_default();
        let step = found.chars().next().map_or(1, char::len_utf8);
        rest = found.get(step..).unwrap_or_default();
        if let Some((number, tail)) = rfc_number(found) {
            rfc = Some(number);
            rest = tail;
            if tail.trim().is_empty() {
                return (sections, rfc);
            }
        } else if let Some(place) = place(found) {
            sections.extend(rfc.and_then(|rfc| Section::read(rfc, place)));
        }
    }
    (sections, None)
}

/// What follows the sign of a section or the word of an appendix.
fn place(text: &str) -> Option<&str> {
    let signs = ["§", "appendix ", "Appendix "];
    signs.iter().find_map(|sign| text.strip_prefix(sign))
}

/// The number of an RFC named at the start of this text, and what follows it.
fn rfc_number(text: &str) -> Option<(u32, &str)> {
    let tail = text.strip_prefix("RFC")?;
    let tail = tail.strip_prefix(' ').unwrap_or(tail);
    let digits = tail
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(tail.len());
    let (number, tail) = tail.split_at(digits);
    Some((number.parse().ok()?, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cited(text: &str) -> Vec<String> {
        let all = citations(&Source::new("a.rs", text));
        all.in_code
            .iter()
            .map(|s| format!("{} {}", s.rfc, s.number()))
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
        let all = citations(&Source::new("a.rs", text));
        assert_eq!((all.in_code.len(), all.in_tests.len()), (1, 1));
    }
}
