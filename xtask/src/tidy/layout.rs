//! The look of a file: its length, its width, its lints, and that it is finished.

use super::Breach;
use crate::lexed::{LITERAL, Line, Source};

const MAX_COLUMNS: usize = 100;
const MAX_CODE_LINES: usize = 500;

/// Files that may be longer, and how long; none may grow, and an idle entry is a breach itself.
/// The profile's keys are one table, an entry for each rule of TFRC.
const LONGER: [(&str, usize); 0] = [];

/// The compiler itself must refuse unsafe code in every crate.
pub fn roots_forbid_unsafe_code(source: &Source) -> Vec<Breach> {
    let is_root = ["/src/lib.rs", "/src/main.rs"]
        .iter()
        .any(|end| source.path.ends_with(end))
        && ["crates/", "xtask/"]
            .iter()
            .any(|start| source.path.starts_with(start));
    let forbids = source
        .lines
        .iter()
        .any(|line| line.code.starts_with("#![forbid(unsafe_code)]"));
    if is_root && !forbids {
        return vec![Breach::new(&source.path, 1, "no #![forbid(unsafe_code)]")];
    }
    Vec::new()
}

/// Lines of at most 100 columns, files of at most 500 lines of code. A string may stick out, for
/// no formatter can break it; comments, blank lines and tests do not count as code.
pub fn lines_and_files_stay_short(source: &Source) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (number, line) in source.numbered() {
        let columns = line.text.chars().count();
        if columns > MAX_COLUMNS && !string_sticks_out(line) {
            let message = format!("{columns} columns, expected at most {MAX_COLUMNS}");
            breaches.push(Breach::new(&source.path, number, message));
        }
    }
    let code: Vec<usize> = source
        .shipped()
        .filter(|(_, line)| !line.code.trim().is_empty())
        .map(|(number, _)| number)
        .collect();
    let longer = LONGER.iter().find(|(path, _)| *path == source.path);
    let limit = longer.map_or(MAX_CODE_LINES, |(_, lines)| *lines);
    if let Some(first_over) = code.get(limit) {
        let message = format!("{} lines of code, expected at most {limit}", code.len());
        breaches.push(Breach::new(&source.path, *first_over, message));
    }
    if longer.is_some() && code.len() <= MAX_CODE_LINES {
        let message = "short enough now, so strike it from the longer files in xtask";
        breaches.push(Breach::new(&source.path, 1, message));
    }
    breaches
}

fn string_sticks_out(line: &Line) -> bool {
    line.code
        .chars()
        .skip(MAX_COLUMNS - 1)
        .take(2)
        .any(|character| character == LITERAL)
}

/// No work left for later, in words or in code.
pub fn nothing_is_left_to_do(source: &Source) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (number, line) in source.numbered() {
        let words = ["TODO", "FIXME"]
            .iter()
            .filter(|word| line.comment.contains(**word));
        let code = ["todo!", "unimplemented!", "#[ignore"]
            .iter()
            .filter(|mark| line.code.contains(**mark));
        for mark in words.chain(code) {
            let message = format!("{mark} has no place here, finish it or open an issue");
            breaches.push(Breach::new(&source.path, number, message));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::found;

    #[test]
    fn a_crate_root_without_the_lint_is_found() {
        let rule = roots_forbid_unsafe_code;
        assert_eq!(found(rule, "crates/a/src/lib.rs", "//! A.\n"), [1]);
        assert_eq!(
            found(rule, "xtask/src/main.rs", "// #![forbid(unsafe_code)]\n"),
            [1]
        );
        assert!(
            found(
                rule,
                "crates/a/src/lib.rs",
                "//! A.\n#![forbid(unsafe_code)]\n"
            )
            .is_empty()
        );
        assert!(found(rule, "crates/a/src/b.rs", "").is_empty());
    }

    #[test]
    fn a_line_of_101_columns_is_found_unless_a_string_makes_it_long() {
        let rule = lines_and_files_stay_short;
        assert!(found(rule, "a.rs", &"é".repeat(100)).is_empty());
        assert_eq!(found(rule, "a.rs", &format!("\n{}", "x".repeat(101))), [2]);
        assert_eq!(found(rule, "a.rs", &format!("// {}", "x".repeat(100))), [1]);
        assert!(found(rule, "a.rs", &format!("f(\"{}\");", "x".repeat(100))).is_empty());
        assert_eq!(
            found(rule, "a.rs", &format!("f(\"x\", {});", "x".repeat(100))),
            [1]
        );
    }

    #[test]
    fn the_501st_line_of_code_is_found() {
        let rule = lines_and_files_stay_short;
        let full = "f();\n\n// why\n".repeat(500);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "f();\n".repeat(100));
        assert!(found(rule, "a.rs", &format!("{full}{tests}")).is_empty());
        assert_eq!(found(rule, "a.rs", &format!("{full}f();\n")), [1501]);
        assert!(found(rule, "tests/a.rs", &format!("{full}f();\n")).is_empty());
    }

    #[test]
    fn a_longer_file_may_neither_grow_nor_keep_an_idle_entry() {
        for (path, limit) in LONGER {
            let lines = |count| "f();\n".repeat(count);
            assert!(found(lines_and_files_stay_short, path, &lines(limit)).is_empty());
            let grown = found(lines_and_files_stay_short, path, &lines(limit + 1));
            assert_eq!(grown, [limit + 1]);
            assert_eq!(
                found(lines_and_files_stay_short, path, &lines(MAX_CODE_LINES)),
                [1]
            );
        }
    }

    #[test]
    fn unfinished_work_is_found() {
        let rule = nothing_is_left_to_do;
        for text in [
            "// TODO: more",
            "/* FIXME */",
            "todo!()",
            "unimplemented!();",
            "#[ignore]",
        ] {
            assert_eq!(found(rule, "a.rs", text), [1], "{text}");
        }
        assert!(found(rule, "a.rs", "let x = \"TODO\"; // to do it right").is_empty());
    }
}
