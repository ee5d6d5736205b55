//! The plain values of scenario files: how each is read, written and described.
//!
//! Quantities with a unit are texts and only `weir_proto::units` parses them. What is written is
//! read back to the same value, to the last bit.

use super::document::{Node, Value as Tree};
use super::error::{Problem, suggestion};
use super::reader::shortened;
use super::visit::Value;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;
use weir_proto::time::Duration;
use weir_proto::units::{self, Probability, Rate};

/// Wrong type: what was expected, what there is.
fn expected(what: &str, node: &Node, example: &str) -> Problem {
    Problem::new(
        format!("expected {what}, found {}", node.value.describe()),
        format!("write {example}"),
    )
}

impl<T: Value + ?Sized> Value for &mut T {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        (**self).read(node)
    }
    fn write(&self) -> String {
        (**self).write()
    }
    fn describe(&self) -> Json {
        (**self).describe()
    }
}

impl Value for Duration {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let Tree::Text(text) = &node.value else {
            return Err(expected("a duration in quotes", node, "\"5ms\" or \"10s\""));
        };
        *self = units::parse_duration(text)?;
        Ok(())
    }
    fn write(&self) -> String {
        format!("\"{self}\"")
    }
    fn describe(&self) -> Json {
        json!({ "type": "string", "pattern": "^[0-9.]+([eE][-+]?[0-9]+)? *(ns|us|ms|s|min|h)$",
                "examples": ["5ms", "10s"], "x-unit": "duration with its unit" })
    }
}

/// A positive number of bits per second, whole, so that links and timetables are exact.
pub(crate) struct BitRate<'a>(pub(crate) &'a mut u64);

impl Value for BitRate<'_> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let Tree::Text(text) = &node.value else {
            return Err(expected(
                "a rate in quotes",
                node,
                "\"10Mbit\" or \"64kbit\"",
            ));
        };
        let bps = units::parse_rate(text)?.as_bps();
        if bps < 1.0 {
            return Err(Problem::new(
                format!("\"{}\" is less than 1 bit per second", shortened(text)),
                "write a positive rate, such as \"1Mbit\"",
            ));
        }
        if bps > 1e15 {
            return Err(Problem::new(
                format!("\"{}\" is more than 1000 Tbit per second", shortened(text)),
                "write a rate that a link may have, or \"unlimited\" for the link",
            ));
        }
        // The number was checked to lie between 1 and 1e15.
        *self.0 = (bps + 0.5) as u64;
        Ok(())
    }
    fn write(&self) -> String {
        let (scale, unit) = match *self.0 {
            n if n.is_multiple_of(1_000_000_000) => (1_000_000_000, "Gbit"),
            n if n.is_multiple_of(1_000_000) => (1_000_000, "Mbit"),
            n if n.is_multiple_of(1_000) => (1_000, "kbit"),
            _ => (1, "bit"),
        };
        format!("\"{}{unit}\"", *self.0 / scale)
    }
    fn describe(&self) -> Json {
        json!({ "type": "string",
                "pattern": "^[0-9.]+([eE][-+]?[0-9]+)? *(bit|kbit|[Mm]bit|[Gg]bit|bps|kbps|Mbps|Gbps)$",
                "examples": ["10Mbit", "64kbit"], "x-unit": "bits per second" })
    }
}

impl Value for Rate {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let Tree::Text(text) = &node.value else {
            return Err(expected(
                "a rate in quotes",
                node,
                "\"10Mbit\" or \"64kbit\"",
            ));
        };
        *self = units::parse_rate(text)?;
        Ok(())
    }
    fn write(&self) -> String {
        format!("\"{}bit\"", self.as_bps())
    }
    fn describe(&self) -> Json {
        json!({ "type": "string", "examples": ["10Mbit"], "x-unit": "bits per second" })
    }
}

impl Value for Probability {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let text = match &node.value {
            Tree::Text(text) => text.clone(),
            Tree::Float(number) => number.to_string(),
            Tree::Integer(number) => number.to_string(),
            _ => return Err(expected("a probability", node, "0.02 or \"2%\"")),
        };
        *self = units::parse_probability(&text)?;
        Ok(())
    }
    fn write(&self) -> String {
        write_float(self.get())
    }
    fn describe(&self) -> Json {
        json!({ "anyOf": [ { "type": "number", "minimum": 0, "maximum": 1 },
                           { "type": "string", "pattern": "^[0-9.]+ *%?$" } ],
                "examples": [0.02, "2%"], "x-unit": "probability in 0..1" })
    }
}

/// A float as TOML, with a point, so that it is read back as a float.
pub(crate) fn write_float(value: f64) -> String {
    format!("{value:?}")
}

impl Value for f64 {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let number = match node.value {
            Tree::Float(number) => number,
            Tree::Integer(number) => number as f64,
            _ => return Err(expected("a number", node, "a number such as 0.5")),
        };
        if !number.is_finite() || number < 0.0 {
            return Err(Problem::new(
                format!("expected a finite number that is not negative, found {number}"),
                "write a number such as 0.5",
            ));
        }
        *self = number;
        Ok(())
    }
    fn write(&self) -> String {
        write_float(*self)
    }
    fn describe(&self) -> Json {
        json!({ "type": "number", "minimum": 0 })
    }
}

impl Value for bool {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        *self = match &node.value {
            Tree::Boolean(value) => *value,
            Tree::Text(text) if text == "on" => true,
            Tree::Text(text) if text == "off" => false,
            _ => {
                return Err(expected(
                    "true or false",
                    node,
                    "true or false without quotes",
                ));
            }
        };
        Ok(())
    }
    fn write(&self) -> String {
        self.to_string()
    }
    fn describe(&self) -> Json {
        json!({ "type": "boolean" })
    }
}

/// A number in [0, 1].
pub(crate) struct Fraction<'a>(pub(crate) &'a mut f64);

impl Value for Fraction<'_> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let mut fraction = Probability::default();
        fraction.read(node)?;
        *self.0 = fraction.get();
        Ok(())
    }
    fn write(&self) -> String {
        write_float(*self.0)
    }
    fn describe(&self) -> Json {
        json!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

/// A name that can be part of a path, a file name and an option.
pub(crate) struct Name<'a>(pub(crate) &'a mut String);

const NAME_RULE: &str =
    "a name has 1 to 64 letters, digits, \"_\" and \"-\", and starts with a letter or digit";

fn read_name(node: &Node) -> Result<String, Problem> {
    let Tree::Text(text) = &node.value else {
        return Err(expected(
            "a name in quotes",
            node,
            "a name such as \"server\"",
        ));
    };
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !starts || text.len() > 64 || !text.chars().all(legal) {
        let message = format!("\"{}\" is not a name", shortened(text));
        return Err(Problem::new(message, NAME_RULE));
    }
    Ok(text.clone())
}

impl Value for Name<'_> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        *self.0 = read_name(node)?;
        Ok(())
    }
    fn write(&self) -> String {
        quoted(self.0)
    }
    fn describe(&self) -> Json {
        json!({ "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$" })
    }
}

/// The two ends of a link.
impl Value for [String; 2] {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let wrong = || expected("a list of two hosts", node, "[\"server\", \"client\"]");
        let Tree::Array(nodes) = &node.value else {
            return Err(wrong());
        };
        let [first, second] = nodes.as_slice() else {
            return Err(Problem::new(
                format!("expected two hosts, found {}", nodes.len()),
                "write [\"server\", \"client\"]",
            ));
        };
        *self = [read_name(first)?, read_name(second)?];
        Ok(())
    }
    fn write(&self) -> String {
        format!("[{}, {}]", quoted(&self[0]), quoted(&self[1]))
    }
    fn describe(&self) -> Json {
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 })
    }
}

/// Numbers of packets.
impl Value for Vec<u64> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let wrong = || expected("a list of whole numbers", node, "[3, 17]");
        let Tree::Array(nodes) = &node.value else {
            return Err(wrong());
        };
        self.clear();
        for node in nodes {
            match node.value {
                Tree::Integer(number) if number >= 0 => self.push(number.unsigned_abs()),
                _ => return Err(wrong()),
            }
        }
        Ok(())
    }
    fn write(&self) -> String {
        let numbers: Vec<String> = self.iter().map(u64::to_string).collect();
        format!("[{}]", numbers.join(", "))
    }
    fn describe(&self) -> Json {
        json!({ "type": "array", "items": { "type": "integer", "minimum": 0 } })
    }
}

/// A whole number between two bounds.
pub(crate) struct Count<'a, T> {
    pub(crate) slot: &'a mut T,
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// What is counted: `packets`; empty for a plain number.
    pub(crate) unit: &'static str,
}

fn read_count(node: &Node, (min, max): (u64, u64), unit: &str) -> Result<u64, Problem> {
    let wrong = |found: String| match unit {
        "" => Problem::new(
            format!("expected {min} to {max}, found {found}"),
            "write a whole number without quotes",
        ),
        unit => Problem::new(
            format!("expected {min} to {max} {unit}, found {found}"),
            format!("write a whole number of {unit} without quotes"),
        ),
    };
    match &node.value {
        Tree::Integer(number) => match u64::try_from(*number) {
            Ok(number) if (min..=max).contains(&number) => Ok(number),
            _ => Err(wrong(number.to_string())),
        },
        other => Err(wrong(other.describe())),
    }
}

fn describe_count((min, max): (u64, u64), unit: &str) -> Json {
    let mut schema = json!({ "type": "integer", "minimum": min, "maximum": max });
    if !unit.is_empty() {
        schema["x-unit"] = json!(unit);
    }
    schema
}

impl<T: Copy + TryFrom<u64> + Into<u64>> Value for Count<'_, T> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let number = read_count(node, (self.min, self.max), self.unit)?;
        if let Ok(number) = T::try_from(number) {
            *self.slot = number;
        }
        Ok(())
    }
    fn write(&self) -> String {
        let number: u64 = (*self.slot).into();
        number.to_string()
    }
    fn describe(&self) -> Json {
        describe_count((self.min, self.max), self.unit)
    }
}

/// A number of octets: a whole number, or a text with a unit.
pub(crate) struct Octets<'a, T> {
    pub(crate) slot: &'a mut T,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl<T: Copy + TryFrom<u64> + Into<u64>> Value for Octets<'_, T> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let number = match &node.value {
            Tree::Text(text) => {
                let number = units::parse_size(text)?;
                if !(self.min..=self.max).contains(&number) {
                    let Self { min, max, .. } = self;
                    return Err(Problem::new(
                        format!("expected {min} to {max} bytes, found {number}"),
                        "write a number of bytes, such as 1400 or \"64kB\"",
                    ));
                }
                number
            }
            _ => read_count(node, (self.min, self.max), "bytes")?,
        };
        if let Ok(number) = T::try_from(number) {
            *self.slot = number;
        }
        Ok(())
    }
    fn write(&self) -> String {
        let number: u64 = (*self.slot).into();
        number.to_string()
    }
    fn describe(&self) -> Json {
        json!({ "anyOf": [ describe_count((self.min, self.max), "bytes"),
                           { "type": "string", "examples": ["64kB", "1500b"] } ] })
    }
}

/// One of a few words, each with the value that it stands for.
pub(crate) struct Choice<'a, T> {
    pub(crate) slot: &'a mut T,
    pub(crate) words: &'a [(&'static str, T)],
}

impl<T: Clone + PartialEq> Value for Choice<'_, T> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let words: Vec<&str> = self.words.iter().map(|(word, _)| *word).collect();
        let Tree::Text(text) = &node.value else {
            return Err(expected(
                "a word in quotes",
                node,
                &format!("one of {}", words.join(", ")),
            ));
        };
        let Some((_, value)) = self.words.iter().find(|(word, _)| word == text) else {
            let text = shortened(text);
            return Err(Problem::new(
                format!("there is no \"{text}\" here"),
                suggestion(&text, "expected one of", &words),
            ));
        };
        *self.slot = value.clone();
        Ok(())
    }
    fn write(&self) -> String {
        let word = self.words.iter().find(|(_, value)| value == self.slot);
        quoted(word.map_or("", |(word, _)| word))
    }
    fn describe(&self) -> Json {
        let words: Vec<&str> = self.words.iter().map(|(word, _)| *word).collect();
        json!({ "type": "string", "enum": words })
    }
}

/// A value, or a word that stands for none.
pub(crate) struct OrWord<'a, T> {
    pub(crate) slot: &'a mut Option<T>,
    pub(crate) word: &'static str,
    /// How the value itself is read; starts from `T::default()`.
    pub(crate) inner: for<'b> fn(&'b mut T) -> Box<dyn Value + 'b>,
}

impl<T: Clone + Default> Value for OrWord<'_, T> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        if matches!(&node.value, Tree::Text(text) if text == self.word) {
            *self.slot = None;
            return Ok(());
        }
        let mut value = T::default();
        (self.inner)(&mut value).read(node).map_err(|mut problem| {
            if let Some(help) = &mut problem.help {
                let _ = write!(help, ", or \"{}\"", self.word);
            }
            problem
        })?;
        *self.slot = Some(value);
        Ok(())
    }
    fn write(&self) -> String {
        match &*self.slot {
            None => quoted(self.word),
            Some(value) => (self.inner)(&mut value.clone()).write(),
        }
    }
    fn describe(&self) -> Json {
        let value = (self.inner)(&mut T::default()).describe();
        json!({ "anyOf": [ { "const": self.word }, value ] })
    }
}

/// A text as TOML. Names hold nothing that needs an escape.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}
