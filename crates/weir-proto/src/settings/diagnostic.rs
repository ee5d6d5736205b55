//! Errors in values, as messages for users.

use super::kind::Keyword;
use super::raw::{Place, Raw};
use crate::units::UnitError;

/// An error in a value, without its place. Messages are lower case without a full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What was found and what was expected.
    pub message: String,
    /// What to write instead.
    pub help: Help,
}

/// What to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Help {
    /// A sentence.
    Text(String),
    /// One of a few words, of which the nearest may be suggested.
    Words {
        /// The word that was found.
        found: String,
        /// What the known words are: `keys here`.
        what: &'static str,
        /// What could have been written.
        known: Vec<&'static str>,
    },
}

/// An error in a value, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where it is shown.
    pub place: Place,
    /// What is wrong.
    pub diagnostic: Diagnostic,
    /// A required key is missing: an unknown key may explain that.
    pub missing: bool,
}

impl Diagnostic {
    /// A diagnostic with a sentence of help.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: Help::Text(help.into()),
        }
    }

    /// A value of the wrong type.
    pub fn expected(what: &str, found: &Raw, example: &str) -> Self {
        Self::new(
            format!("expected {what}, found {}", found.in_words()),
            format!("write {example}"),
        )
    }

    /// The same message where a word is allowed too.
    pub fn or_word(mut self, word: &str) -> Self {
        if let Help::Text(help) = &mut self.help {
            *help = format!("{help}, or \"{word}\"");
        }
        self
    }

    /// The same message where a few words are allowed too, beside a value of this kind.
    pub fn or_keywords(self, noun: &str, keywords: &[Keyword]) -> Self {
        if let [only] = keywords {
            return self.or_word(only.word);
        }
        let words: Vec<&str> = keywords.iter().map(|keyword| keyword.word).collect();
        let help = format!("{noun}, or one of: {}", words.join(", "));
        Self::new(self.message, help)
    }
}

impl From<UnitError> for Diagnostic {
    fn from(error: UnitError) -> Self {
        Self::new(error.message, error.hint)
    }
}

/// A word of the user's, short enough for a message, and without characters that a terminal would
/// interpret.
pub fn shortened(word: &str) -> String {
    let printable = |c: char| {
        if c.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    let more = word.chars().nth(40).map(|_| '…');
    word.chars().take(40).map(printable).chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_a_message_is_short_and_has_no_control_characters() {
        assert_eq!(shortened("\u{1b}[31mred\0"), "\u{fffd}[31mred\u{fffd}");
        assert_eq!(shortened(&"ü".repeat(40)), "ü".repeat(40));
        assert_eq!(shortened(&"ü".repeat(41)), "ü".repeat(40) + "…");
    }
}
