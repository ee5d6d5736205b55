//! Licences: which ones the project accepts, and whether an expression can be met with them.
//!
//! The grammar is SPDX's, plus the old `MIT/Apache-2.0`: OR binds weaker than AND, AND weaker than
//! WITH. `deny.toml` holds the same list for users of cargo-deny; a test compares them.

/// What a dependency's licence may ask for.
pub const ALLOWED: [&str; 14] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "OFL-1.1",
    "Ubuntu-font-1.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether the allowed licences satisfy the expression; an unreadable one is not satisfied.
pub fn is_satisfied(expression: &str) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    matches!(either(&words), Some((true, [])))
}

type Answer<'a, 'w> = Option<(bool, &'w [&'a str])>;

fn either<'a, 'w>(words: &'w [&'a str]) -> Answer<'a, 'w> {
    let (mut met, mut rest) = both(words)?;
    while let ["OR", tail @ ..] = rest {
        let (right, after) = both(tail)?;
        (met, rest) = (met || right, after);
    }
    Some((met, rest))
}

fn both<'a, 'w>(words: &'w [&'a str]) -> Answer<'a, 'w> {
    let (mut met, mut rest) = one(words)?;
    while let ["AND", tail @ ..] = rest {
        let (right, after) = one(tail)?;
        (met, rest) = (met && right, after);
    }
    Some((met, rest))
}

fn one<'a, 'w>(words: &'w [&'a str]) -> Answer<'a, 'w> {
    match words {
        ["(", tail @ ..] => match either(tail)? {
            (met, [")", rest @ ..]) => Some((met, rest)),
            _ => None,
        },
        [")" | "OR" | "AND" | "WITH", ..] | [] => None,
        [name, "WITH", exception, rest @ ..] => Some((
            ALLOWED.contains(&format!("{name} WITH {exception}").as_str()),
            rest,
        )),
        [name, rest @ ..] => Some((ALLOWED.contains(name), rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_that_the_list_satisfies() {
        for expression in [
            "MIT",
            "MIT/Apache-2.0",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            "(MIT OR Apache-2.0) AND OFL-1.1 AND Ubuntu-font-1.0",
            "GPL-3.0-only OR MIT AND ISC",
        ] {
            assert!(is_satisfied(expression), "{expression}");
        }
    }

    #[test]
    fn expressions_that_it_does_not() {
        for expression in [
            "",
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "GPL-3.0-only AND (MIT OR Apache-2.0)",
            "MIT WITH Bison-exception-2.2",
            "(MIT",
            "MIT)",
            "MIT Apache-2.0",
            "MIT OR",
        ] {
            assert!(!is_satisfied(expression), "{expression}");
        }
    }

    #[test]
    fn the_file_for_cargo_deny_holds_the_same_list() {
        let text = include_str!("../../deny.toml");
        let list = text
            .split_once("allow = [")
            .and_then(|(_, tail)| tail.split_once(']'));
        let names: Vec<&str> = list
            .map(|(list, _)| list.split('"').skip(1).step_by(2).collect())
            .unwrap_or_default();
        assert_eq!(names, ALLOWED);
    }
}
