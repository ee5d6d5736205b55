//! Words and signs of a file's code, and the paths that they spell.

use crate::lexed::{LITERAL, Line};

/// A word, `::`, or one sign.
#[derive(Clone, Copy)]
pub struct Token<'a> {
    pub text: &'a str,
    pub line: usize,
}

/// A path of at least two words, or anything that a `use` brings in; groups are written out.
#[derive(Debug, PartialEq, Eq)]
pub struct Path<'a> {
    pub words: Vec<&'a str>,
    pub line: usize,
}

/// Reads the code of these lines.
pub fn tokens<'a>(lines: impl Iterator<Item = (usize, &'a Line)>) -> Vec<Token<'a>> {
    let mut tokens = Vec::new();
    for (line, content) in lines {
        let mut rest = content.code.as_str();
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let length = match word {
                0 if rest.starts_with("::") => 2,
                0 => first.len_utf8(),
                length => length,
            };
            let (text, tail) = rest.split_at(length);
            if !first.is_whitespace() && first != LITERAL {
                tokens.push(Token { text, line });
            }
            rest = tail;
        }
    }
    tokens
}

/// Every path of the code.
pub fn paths<'a>(tokens: &[Token<'a>]) -> Vec<Path<'a>> {
    let mut paths = Vec::new();
    let mut rest = tokens;
    while let Some((token, tail)) = rest.split_first() {
        rest = tail;
        let opens_generics = tail.first().is_some_and(|next| next.text == "<");
        if token.text == "use" && !opens_generics {
            rest = use_tree(rest, &[], &mut paths);
        } else if is_name(token.text) {
            let mut path = Path {
                words: vec![token.text],
                line: token.line,
            };
            while let [colons, name, tail @ ..] = rest
                && colons.text == "::"
                && is_name(name.text)
            {
                path.words.push(name.text);
                rest = tail;
            }
            if path.words.len() > 1 {
                paths.push(path);
            }
        }
    }
    paths
}

/// One branch of a `use`, from after its prefix; returns what follows the branch.
fn use_tree<'a, 't>(
    mut rest: &'t [Token<'a>],
    prefix: &[&'a str],
    paths: &mut Vec<Path<'a>>,
) -> &'t [Token<'a>] {
    let mut words = prefix.to_vec();
    let mut line = 0;
    while let Some((token, tail)) = rest.split_first() {
        match token.text {
            "," | "}" | ";" => break,
            "{" => {
                rest = tail;
                while let Some(token) = rest.first() {
                    rest = match token.text {
                        "}" => return rest.get(1..).unwrap_or_default(),
                        "," => rest.get(1..).unwrap_or_default(),
                        ";" => return rest,
                        _ => use_tree(rest, &words, paths),
                    };
                }
                return rest;
            }
            "as" => rest = tail.get(1..).unwrap_or_default(),
            name => {
                if is_name(name) {
                    words.push(name);
                    line = token.line;
                }
                rest = tail;
            }
        }
    }
    if line > 0 {
        paths.push(Path { words, line });
    }
    rest
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexed::Source;

    fn spelled(text: &str) -> Vec<String> {
        let source = Source::new("a.rs", text);
        let tokens = tokens(source.numbered());
        paths(&tokens)
            .into_iter()
            .map(|path| format!("{} {}", path.line, path.words.join("::")))
            .collect()
    }

    #[test]
    fn groups_are_written_out() {
        assert_eq!(
            spelled("use std::{fs, net::{IpAddr, self}};\nuse crate::a as b;\nf(c::d::<e>());"),
            [
                "1 std::fs",
                "1 std::net::IpAddr",
                "1 std::net::self",
                "2 crate::a",
                "3 c::d"
            ]
        );
    }

    #[test]
    fn a_group_over_several_lines_gives_each_its_line() {
        assert_eq!(
            spelled("use a::{\n    b,\n    c::*,\n};\nx"),
            ["2 a::b", "3 a::c"]
        );
    }

    #[test]
    fn strings_and_single_words_are_no_paths() {
        assert!(
            spelled("let x = \"std::fs\"; // std::net\nfn f() -> impl A + use<'a> {}").is_empty()
        );
    }
}
