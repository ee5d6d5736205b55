//! The value of `send_ahead`: a rule by its name, or a duration.

use super::document::{Node, Value as Tree};
use super::error::{Problem, suggestion};
use super::visit::Value;
use serde_json::{Value as Json, json};
use weir_proto::cc::tfrc::SendAhead;
use weir_proto::time::Duration;

/// A word, or a duration.
pub(super) struct Ahead<'a>(pub(super) &'a mut SendAhead);

const AHEAD: [(&str, SendAhead); 2] = [
    ("half-granularity", SendAhead::HalfGranularity),
    ("half-granularity-or-rtt", SendAhead::HalfGranularityOrRtt),
];

impl Value for Ahead<'_> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let known = match &node.value {
            Tree::Text(text) => AHEAD.iter().find(|(word, _)| word == text),
            _ => None,
        };
        if let Some((_, rule)) = known {
            *self.0 = *rule;
            return Ok(());
        }
        let mut span = Duration::ZERO;
        span.read(node).map_err(|problem| {
            let words = AHEAD.map(|(word, _)| word);
            Problem::new(
                problem.message,
                suggestion("", "a duration, or one of", &words),
            )
        })?;
        *self.0 = SendAhead::Constant(span);
        Ok(())
    }
    fn write(&self) -> String {
        match *self.0 {
            SendAhead::Constant(span) => span.write(),
            rule => {
                let word = AHEAD.iter().find(|(_, known)| *known == rule);
                super::value::quoted(word.map_or("", |(word, _)| word))
            }
        }
    }
    fn describe(&self) -> Json {
        let words = AHEAD.map(|(word, _)| word);
        json!({ "anyOf": [ { "enum": words }, Duration::ZERO.describe() ] })
    }
}
