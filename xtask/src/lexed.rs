//! A Rust file, line by line, with its code, its comments and its tests told apart.
//!
//! Not a parser: it knows comments, string and character literals, brackets and `#[cfg(test)]`,
//! which is all that the house rules need.

/// What stands for each character of a literal in `Line::code`, its quotes included.
pub const LITERAL: char = '"';

/// One line in three readings of the same width.
pub struct Line {
    pub text: String,
    /// The text with comments blanked and literals filled with `LITERAL`.
    pub code: String,
    /// The text with everything but comments blanked.
    pub comment: String,
    /// Inside an item under `#[cfg(test)]`.
    pub test: bool,
}

/// One Rust file.
pub struct Source {
    pub path: String,
    pub lines: Vec<Line>,
    /// The whole file is built for tests only.
    pub test: bool,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let (code, comment) = Mask::split(text);
        let test = test_lines(&code);
        let lines = text
            .lines()
            .zip(code.lines())
            .zip(comment.lines())
            .zip(test)
            .map(|(((text, code), comment), test)| Line {
                text: text.to_owned(),
                code: code.to_owned(),
                comment: comment.to_owned(),
                test,
            })
            .collect();
        Self {
            path: path.to_owned(),
            lines,
            test: is_test_path(path),
        }
    }

    /// Line numbers from 1, with their lines.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.lines
            .iter()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
    }

    /// The numbered lines that are built outside tests too.
    pub fn shipped(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.numbered().filter(|(_, line)| !self.test && !line.test)
    }

    /// The files that this one declares as modules for tests only.
    pub fn test_modules(&self) -> Vec<String> {
        let (folder, name) = self.path.rsplit_once('/').unwrap_or(("", &self.path));
        let stem = name.trim_end_matches(".rs");
        let home = match stem {
            "mod" | "lib" | "main" => folder.to_owned(),
            _ => format!("{folder}/{stem}"),
        };
        self.lines
            .iter()
            .filter(|line| line.test)
            .filter_map(|line| line.code.split_once("mod ")?.1.trim().strip_suffix(';'))
            .flat_map(|module| {
                [
                    format!("{home}/{module}.rs"),
                    format!("{home}/{module}/mod.rs"),
                ]
            })
            .collect()
    }
}

/// By custom: below a folder `tests`, or named `tests.rs` or `…_tests.rs`.
fn is_test_path(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    let stem = parts.next().unwrap_or_default().trim_end_matches(".rs");
    stem == "tests" || stem.ends_with("_tests") || parts.any(|folder| folder == "tests")
}

/// For each line of the code, whether it belongs to an item under `#[cfg(test)]`.
fn test_lines(code: &str) -> Vec<bool> {
    let lines: Vec<&str> = code.lines().collect();
    let mut marks = vec![false; lines.len()];
    let mut depth = None;
    for (line, mark) in lines.iter().zip(&mut marks) {
        let start = line.trim_start();
        let opens = start.starts_with("#[cfg(test)]") || start.starts_with("#[cfg(all(test");
        if depth.is_none() && opens {
            depth = Some(0);
        }
        *mark = depth.is_some();
        depth = depth.and_then(|depth| item_depth(line, depth));
    }
    marks
}

/// The depth of brackets after this line of an item, or nothing once the item has ended.
fn item_depth(line: &str, mut depth: i32) -> Option<i32> {
    for character in line.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' => depth -= 1,
            '}' => {
                depth -= 1;
                if depth <= 0 {
                    return None;
                }
            }
            ';' if depth <= 0 => return None,
            _ => {}
        }
    }
    Some(depth)
}

/// Walks a text once and writes its two readings.
struct Mask<'a> {
    rest: &'a [char],
    previous: char,
    code: String,
    comment: String,
}

impl<'a> Mask<'a> {
    fn split(text: &str) -> (String, String) {
        let characters: Vec<char> = text.chars().filter(|&c| c != '\r').collect();
        let mut mask = Mask {
            rest: &characters,
            previous: ' ',
            code: String::new(),
            comment: String::new(),
        };
        while !mask.rest.is_empty() {
            mask.step();
        }
        (mask.code, mask.comment)
    }

    fn step(&mut self) {
        match self.rest {
            ['/', '/', ..] => {
                let length = self.rest.iter().take_while(|&&c| c != '\n').count();
                self.take_comment(length);
            }
            ['/', '*', ..] => self.take_comment(block_comment(self.rest)),
            ['"', ..] => self.take_literal(string(self.rest)),
            ['\'', '\\', tail @ ..] => {
                let body = tail.iter().skip(1).take_while(|&&c| c != '\'').count();
                self.take_literal(body + 4);
            }
            ['\'', _, '\'', ..] => self.take_literal(3),
            ['r', tail @ ..] if !is_word(self.previous) || "bc".contains(self.previous) => {
                match raw_string(tail) {
                    Some(length) => self.take_literal(length + 1),
                    None => self.take_code(),
                }
            }
            _ => self.take_code(),
        }
    }

    fn take(&mut self, length: usize) -> &'a [char] {
        let (taken, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        self.previous = taken.last().copied().unwrap_or(' ');
        taken
    }

    fn take_code(&mut self) {
        for &character in self.take(1) {
            self.code.push(character);
            self.comment
                .push(if character == '\n' { '\n' } else { ' ' });
        }
    }

    fn take_comment(&mut self, length: usize) {
        for &character in self.take(length) {
            self.code.push(if character == '\n' { '\n' } else { ' ' });
            self.comment.push(character);
        }
    }

    fn take_literal(&mut self, length: usize) {
        for &character in self.take(length) {
            self.code
                .push(if character == '\n' { '\n' } else { LITERAL });
            self.comment
                .push(if character == '\n' { '\n' } else { ' ' });
        }
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The length of a block comment, nested ones included.
fn block_comment(text: &[char]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        match text.get(at..at + 2) {
            Some(['/', '*']) => (depth, at) = (depth + 1, at + 2),
            Some(['*', '/']) => (depth, at) = (depth.saturating_sub(1), at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a string with escapes, both quotes included.
fn string(text: &[char]) -> usize {
    let mut at = 1;
    while let Some(&character) = text.get(at) {
        match character {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The length of a raw string after its `r`, if one starts here.
fn raw_string(text: &[char]) -> Option<usize> {
    let hashes = text.iter().take_while(|&&c| c == '#').count();
    if text.get(hashes) != Some(&'"') {
        return None;
    }
    let body = text.get(hashes + 1..)?;
    let end = (0..body.len()).find(|&at| {
        body.get(at) == Some(&'"')
            && body
                .get(at + 1..at + 1 + hashes)
                .is_some_and(|c| c.iter().all(|&c| c == '#'))
    });
    Some(end.map_or(text.len(), |end| hashes + 1 + end + 1 + hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<String> {
        Source::new("a.rs", text)
            .lines
            .into_iter()
            .map(|line| line.code)
            .collect()
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        assert_eq!(codes("a /* b /* c */ d */ e"), ["a                   e"]);
        assert_eq!(
            codes("f(\"x\\\"y\") // z"),
            [format!("f({})     ", "\"".repeat(6))]
        );
        assert_eq!(
            codes("r#\"a\"b\"#;"),
            [format!("r{};", "\"".repeat(7)).replacen('r', "\"", 1)]
        );
        assert_eq!(
            codes("'\\'' 'a' '\"' &'a str"),
            ["\"\"\"\" \"\"\" \"\"\" &'a str"]
        );
    }

    #[test]
    fn a_string_over_several_lines_keeps_their_number() {
        assert_eq!(codes("\"a\nb\" + c"), ["\"\"", "\"\" + c"]);
    }

    #[test]
    fn an_item_under_cfg_test_ends_with_its_bracket_or_semicolon() {
        let text = "fn a() {}\n#[cfg(test)]\nmod pair;\nfn b() {}\n#[cfg(test)]\nmod tests {\n\
                    fn c() { [0; 2]; }\n}\nfn d() {}\n";
        let source = Source::new("src/a/mod.rs", text);
        let marks: Vec<bool> = source.lines.iter().map(|line| line.test).collect();
        assert_eq!(
            marks,
            [false, true, true, false, true, true, true, true, false]
        );
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
            assert!(Source::new(path, "").test, "{path}");
        }
        assert!(!Source::new("src/contests.rs", "").test);
    }
}
