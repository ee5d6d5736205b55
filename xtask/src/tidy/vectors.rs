//! Every constant that one of these RFCs states has a vector.

use super::Violation;
use crate::source::Source;
use crate::vectors::unnamed;

/// The RFCs whose constants must have one.
const HELD: [u32; 9] = [4342, 5348, 8033, 8289, 8290, 8698, 8888, 9002, 9438];

pub fn check(sources: &[Source]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for constant in unnamed(sources) {
        let held = constant.sections.iter().find(|s| HELD.contains(&s.rfc));
        if let Some(section) = held {
            let message = format!(
                "no test names {name} in a comment with RFC {rfc} §{place}: work a vector by hand \
                 from the text",
                name = constant.name,
                rfc = section.rfc,
                place = section.number(),
            );
            violations.push(Violation::new(&constant.path, constant.line, message));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::sources;

    #[test]
    fn only_the_constants_of_these_rfcs_must_have_a_vector() {
        let text = "/// RFC 8033 §4.2\nconst ALPHA: f64 = 0.125;\n\
                    /// RFC 6298 §2\nconst K: f64 = 4.0;\n";
        let found = check(&sources(&[("crates/a/src/b.rs", text)]));
        let lines: Vec<usize> = found.iter().map(|violation| violation.line).collect();
        assert_eq!(lines, [2]);
    }
}
