//! The size of files and lines, and the absence of marks of unfinished work.

use std::collections::BTreeSet;

use proc_macro2::LineColumn;

use super::Violation;
use crate::source::Source;

const MAX_COLUMNS: usize = 100;
const MAX_CODE_LINES: usize = 500;

/// Words and attributes that mark unfinished work, split in two, because this file is checked too.
/// Clippy finds the macros.
const UNFINISHED: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("#[", "ignore"),
];

pub fn check(source: &Source) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, line) in source.lines() {
        let mut report = |message| violations.push(Violation::new(&source.path, number, message));
        let columns = line.chars().count();
        if columns > MAX_COLUMNS && !is_broken_by_literal(source, number) {
            report(format!("{columns} columns, expected at most {MAX_COLUMNS}"));
        }
        for mark in UNFINISHED.iter().filter(|mark| line.contains(**mark)) {
            report(format!(
                "{mark} is unfinished work: finish it or open an issue"
            ));
        }
    }
    violations.extend(too_many_lines(source));
    violations
}

/// Whether a literal covers the last allowed column or the one after it: rustfmt cannot break it.
fn is_broken_by_literal(source: &Source, line: usize) -> bool {
    let place = |column| LineColumn { line, column };
    let (last, after) = (place(MAX_COLUMNS - 1), place(MAX_COLUMNS));
    let mut literals = source
        .tokens
        .iter()
        .filter(|token| token.text.contains(['"', '\'']));
    literals.any(|token| token.start <= after && token.end > last)
}

/// The lines with code outside tests; comments and blank lines do not count.
pub fn code_lines(source: &Source) -> BTreeSet<usize> {
    let tokens = source.shipped();
    tokens
        .flat_map(|token| token.start.line..=token.end.line)
        .collect()
}

fn too_many_lines(source: &Source) -> Option<Violation> {
    let lines = code_lines(source);
    let first_over = lines.iter().nth(MAX_CODE_LINES)?;
    let message = format!(
        "{} lines of code, expected at most {MAX_CODE_LINES}",
        lines.len()
    );
    Some(Violation::new(&source.path, *first_over, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines;

    #[test]
    fn a_line_of_101_columns_is_found_unless_a_string_makes_it_long() {
        let comment = |columns: usize| format!("\n//{}", "é".repeat(columns - 2));
        assert!(lines(check, "a.rs", &comment(100)).is_empty());
        assert_eq!(lines(check, "a.rs", &comment(101)), [2]);
        let long = "x".repeat(100);
        let code = |inner: &str| format!("fn f() {{\n{inner}\n}}");
        assert!(lines(check, "a.rs", &code(&format!("f(\"{long}\");"))).is_empty());
        assert!(lines(check, "a.rs", &code(&format!("f(\"a\n{long}b\");"))).is_empty());
        assert_eq!(
            lines(check, "a.rs", &code(&format!("f(\"x\", {long});"))),
            [2]
        );
    }

    #[test]
    fn the_501st_line_of_code_is_found() {
        let full = "f!();\n\n// why\n/// what\n".repeat(500);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "f!();\n".repeat(100));
        assert!(lines(check, "a.rs", &format!("{full}{tests}")).is_empty());
        assert_eq!(lines(check, "a.rs", &format!("{full}f!();\n")), [2001]);
        assert!(lines(check, "tests/a.rs", &format!("{full}f!();\n")).is_empty());
    }

    #[test]
    fn unfinished_work_is_found() {
        for mark in UNFINISHED {
            assert_eq!(lines(check, "a.rs", &format!("\n// {mark}")), [2], "{mark}");
        }
        assert!(lines(check, "a.rs", "// to do it right").is_empty());
    }
}
