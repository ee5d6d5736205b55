//! A Rust file: its text, its syntax tree, its tokens, and which of its lines only tests compile.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Group, LineColumn, Span, TokenStream, TokenTree};

/// One Rust file.
pub struct Source {
    /// Relative to the repository's root, with forward slashes.
    pub path: String,
    pub text: String,
    pub file: syn::File,
    /// The tokens of the file without comments, in their order.
    pub tokens: Vec<Token>,
    /// The whole file is compiled for tests only.
    pub test: bool,
    /// The lines of items under `#[cfg(test)]`.
    test_lines: Vec<RangeInclusive<usize>>,
}

/// A word, a literal, a bracket or one character of punctuation, with its place in the file.
pub struct Token {
    pub text: String,
    pub start: LineColumn,
    pub end: LineColumn,
    pub is_string: bool,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Result<Self, String> {
        let refuse = |error: syn::Error| {
            let place = error.span().start();
            format!("{path}:{}: {error}", place.line)
        };
        let stream: TokenStream = syn::parse_str(text).map_err(refuse)?;
        let mut source = Self {
            path: path.to_owned(),
            text: text.to_owned(),
            file: syn::parse_file(text).map_err(refuse)?,
            tokens: Vec::new(),
            test: is_test_path(path),
            test_lines: Vec::new(),
        };
        let lines: Vec<&str> = text.lines().collect();
        source.read(stream, &lines);
        Ok(source)
    }

    /// Whether only tests compile this line, counted from 1.
    pub fn is_test(&self, line: usize) -> bool {
        self.test || self.test_lines.iter().any(|lines| lines.contains(&line))
    }

    /// The tokens that are compiled outside tests too.
    pub fn shipped(&self) -> impl Iterator<Item = &Token> {
        self.tokens
            .iter()
            .filter(|token| !self.is_test(token.start.line))
    }

    fn read(&mut self, stream: TokenStream, lines: &[&str]) {
        let mut trees = stream.into_iter().peekable();
        let mut test_from = None;
        while let Some(tree) = trees.next() {
            let span = tree.span();
            if is_comment(span, lines) {
                continue;
            }
            match &tree {
                TokenTree::Punct(sign) if sign.as_char() == '#' => {
                    if let Some(TokenTree::Group(attribute)) = trees.peek()
                        && test_from.is_none()
                        && is_cfg_test(attribute)
                    {
                        test_from = Some(span.start().line);
                    }
                }
                TokenTree::Punct(sign) if sign.as_char() == ';' => {
                    let start = test_from.take();
                    let test = start.map(|start| start..=span.end().line);
                    self.test_lines.extend(test);
                }
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    let start = test_from.take();
                    let test = start.map(|start| start..=span.end().line);
                    self.test_lines.extend(test);
                }
                _ => {}
            }
            match tree {
                TokenTree::Group(group) => {
                    self.push(group.span_open(), "", false);
                    self.read(group.stream(), lines);
                    self.push(group.span_close(), "", false);
                }
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    let is_string = text.ends_with('"') || text.ends_with('#');
                    self.push(span, &text, is_string);
                }
                other => self.push(span, &other.to_string(), false),
            }
        }
    }

    fn push(&mut self, span: Span, text: &str, is_string: bool) {
        self.tokens.push(Token {
            text: text.to_owned(),
            start: span.start(),
            end: span.end(),
            is_string,
        });
    }
}

/// A documentation comment is a token too: an attribute whose place is that of the comment.
fn is_comment(span: Span, lines: &[&str]) -> bool {
    let place = span.start();
    let line = lines.get(place.line.wrapping_sub(1)).copied();
    let mut rest = line.unwrap_or_default().chars().skip(place.column);
    rest.next() == Some('/') && matches!(rest.next(), Some('/' | '*'))
}

/// `[cfg(test)]` or `[cfg(all(test, …))]`.
fn is_cfg_test(attribute: &Group) -> bool {
    let text: String = attribute.stream().to_string().split_whitespace().collect();
    text.starts_with("cfg(test)") || text.starts_with("cfg(all(test")
}

/// By custom: below a folder `tests`, or named `tests.rs` or `…_tests.rs`.
fn is_test_path(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let stem = parts.next().unwrap_or_default().trim_end_matches(".rs");
    stem == "tests" || stem.ends_with("_tests") || parts.any(|folder| folder == "tests")
}
