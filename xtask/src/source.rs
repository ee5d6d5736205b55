//! A Rust file: its text, its syntax tree, its tokens, and the lines compiled only for tests.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Group, LineColumn, Span, TokenStream, TokenTree};

/// One Rust file.
pub struct Source {
    /// Relative to the repository's root, with forward slashes.
    pub path: String,
    pub text: String,
    pub tree: syn::File,
    /// The tokens of the file in their order, without comments and brackets.
    pub tokens: Vec<Token>,
    /// The whole file is compiled for tests only.
    pub test: bool,
    /// The lines of items under `#[cfg(test)]`.
    test_lines: Vec<RangeInclusive<usize>>,
}

/// A word, a literal or one character of punctuation. Lines count from 1, columns from 0.
pub struct Token {
    pub text: String,
    pub start: LineColumn,
    pub end: LineColumn,
}

impl Source {
    /// Fails with the place and the reason if the text is not Rust.
    pub fn new(path: &str, text: &str) -> Result<Self, String> {
        let refuse = |error: syn::Error| {
            let line = error.span().start().line;
            format!("{path}:{line}: {error}")
        };
        let stream: TokenStream = syn::parse_str(text).map_err(refuse)?;
        let mut source = Self {
            path: path.to_owned(),
            text: text.to_owned(),
            tree: syn::parse2(stream.clone()).map_err(refuse)?,
            tokens: Vec::new(),
            test: is_test_path(path),
            test_lines: Vec::new(),
        };
        let lines: Vec<&str> = text.lines().collect();
        source.read(stream, &lines);
        Ok(source)
    }

    /// The lines of the text, counted from 1.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.text.lines())
    }

    /// Whether this line, counted from 1, is compiled only for tests.
    pub fn is_test(&self, line: usize) -> bool {
        self.test || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// The tokens that are also compiled outside of tests.
    pub fn shipped(&self) -> impl Iterator<Item = &Token> {
        let is_shipped = |token: &&Token| !self.is_test(token.start.line);
        self.tokens.iter().filter(is_shipped)
    }

    /// The files that this one declares as test-only modules.
    pub fn test_modules(&self) -> Vec<String> {
        let (folder, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let home = match name {
            "mod.rs" | "lib.rs" | "main.rs" => folder,
            _ => self.path.trim_end_matches(".rs"),
        };
        let declared = self.tree.items.iter().filter_map(|item| match item {
            syn::Item::Mod(item) if item.content.is_none() => Some(&item.ident),
            _ => None,
        });
        declared
            .filter(|name| self.is_test(name.span().start().line))
            .flat_map(|name| [format!("{home}/{name}.rs"), format!("{home}/{name}/mod.rs")])
            .collect()
    }

    /// Takes the tokens, and the lines from `#[cfg(test)]` to the `;` or `}` that ends its item.
    fn read(&mut self, stream: TokenStream, lines: &[&str]) {
        let mut test_start = None;
        for tree in stream {
            let span = tree.span();
            if is_comment(span, lines) {
                continue;
            }
            let ends_item = match &tree {
                TokenTree::Group(group) if is_cfg_test(group) => {
                    test_start = test_start.or(Some(span.start().line));
                    false
                }
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                TokenTree::Punct(sign) => sign.as_char() == ';',
                _ => false,
            };
            if ends_item && let Some(start) = test_start.take() {
                self.test_lines.push(start..=span.end().line);
            }
            match tree {
                TokenTree::Group(group) => {
                    self.push(group.span_open(), String::new());
                    self.read(group.stream(), lines);
                    self.push(group.span_close(), String::new());
                }
                other => self.push(span, other.to_string()),
            }
        }
    }

    fn push(&mut self, span: Span, text: String) {
        let (start, end) = (span.start(), span.end());
        self.tokens.push(Token { text, start, end });
    }
}

/// A documentation comment is also a token: an attribute at the place of the comment.
fn is_comment(span: Span, lines: &[&str]) -> bool {
    let place = span.start();
    let line = lines.get(place.line.wrapping_sub(1)).copied();
    let mut rest = line.unwrap_or_default().chars().skip(place.column);
    rest.next() == Some('/') && matches!(rest.next(), Some('/' | '*'))
}

/// `[cfg(test)]` or `[cfg(all(test, …))]`.
fn is_cfg_test(group: &Group) -> bool {
    if group.delimiter() != Delimiter::Bracket {
        return false;
    }
    let mut text = group.stream().to_string();
    text.retain(|c| !c.is_whitespace());
    text == "cfg(test)" || text.starts_with("cfg(all(test,")
}

/// By convention: below a folder `tests`, or named `tests.rs` or `…_tests.rs`.
fn is_test_path(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let stem = parts.next().unwrap_or_default().trim_end_matches(".rs");
    stem == "tests" || stem.ends_with("_tests") || parts.any(|folder| folder == "tests")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        Source::new(path, text).expect("valid Rust")
    }

    #[test]
    fn comments_are_no_tokens_and_literals_are_one() {
        let text = "//! a\n/* b /* c */ */ fn d() { /// e\n let _ = \"// f\\\"\" / 'g'; }";
        let source = source("a.rs", text);
        let tokens = source.tokens.iter().map(|token| token.text.as_str());
        let words: Vec<&str> = tokens.filter(|text| !text.is_empty()).collect();
        let literal = "\"// f\\\"\"";
        assert_eq!(
            words,
            ["fn", "d", "let", "_", "=", literal, "/", "'g'", ";"]
        );
    }

    #[test]
    fn an_item_under_cfg_test_ends_with_its_bracket_or_semicolon() {
        let text = "fn a() {}\n#[cfg(test)]\nmod pair;\nfn b() {}\n#[cfg(test)]\nmod tests {\n\
                    fn c() { [0; 2]; }\n}\nfn d() {}\n";
        let source = source("src/a/mod.rs", text);
        let tests: Vec<usize> = (1..10).filter(|line| source.is_test(*line)).collect();
        assert_eq!(tests, [2, 3, 5, 6, 7, 8]);
        assert_eq!(
            source.test_modules(),
            ["src/a/pair.rs", "src/a/pair/mod.rs"]
        );
    }

    #[test]
    fn test_files_are_known_by_their_names() {
        for path in [
            "src/link/tests.rs",
            "src/a_tests.rs",
            "crates/a/tests/common/mod.rs",
        ] {
            assert!(source(path, "").test, "{path}");
        }
        assert!(!source("src/contests.rs", "").test);
    }

    #[test]
    fn a_text_that_is_not_rust_is_refused_with_its_place() {
        let error = Source::new("a.rs", "fn a() {}\nfn fn").err();
        assert!(error.is_some_and(|error| error.starts_with("a.rs:2: ")));
    }
}
