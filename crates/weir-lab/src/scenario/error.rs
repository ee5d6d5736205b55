//! Errors of a scenario with their places, as plain data that a command line can display.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use weir_proto::settings::{nearest, word_here};

/// The first error of a scenario.
///
/// The message states what was found and what was expected, the help what to write instead; both
/// are lower case without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file's name as the caller gave it, or the override: `--set flow.a.start=x`.
    pub file: String,
    /// Line in the file, counted from 1.
    pub line: usize,
    /// Column in the line, in characters, counted from 1.
    pub column: usize,
    /// The problem.
    pub message: String,
    /// The advice.
    pub help: Option<String>,
    /// The place in octets of `source`.
    pub span: Range<usize>,
    /// The text that the span refers to.
    pub source: Arc<str>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file, line, column, ..
        } = self;
        write!(f, "{file}:{line}:{column}: {}", self.message)?;
        self.help
            .as_ref()
            .map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for ScenarioError {}

/// Line and column, both from 1, of an octet of a text.
pub(crate) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}

/// The word of `known` that was probably meant by `word`.
pub(crate) fn similar<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| {
            let score = strsim::jaro_winkler(&wanted, &candidate.to_lowercase());
            (candidate, score)
        })
        .filter(|&(_, score)| score > 0.8)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(candidate, _)| candidate)
}

/// "did you mean …" if a known word is similar or has another name elsewhere, or the nearest of
/// what is not here; then the known words.
pub(crate) fn suggestion(word: &str, what: &str, known: &[&str]) -> String {
    let list = format!("{what}: {}", known.join(", "));
    if let Some(said) = nearest(word, known) {
        return format!("{said}; {list}");
    }
    let called = Some(word_here(word)).filter(|here| known.contains(here));
    match called.or_else(|| similar(word, known.iter().copied())) {
        Some(near) => format!("did you mean \"{near}\"? {list}"),
        None => list,
    }
}
