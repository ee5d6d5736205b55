//! TOML files other than scenarios: `published.toml`, plans of sweeps, suites. Serde reads them
//! into structs, and a tree of the same text gives errors their line and wording.

use crate::scenario::document::{Document, Step, help_text};
use crate::scenario::error::{ScenarioError, suggestion};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use weir_proto::settings::{Diagnostic, Place, Raw, Spanned, Table, shortened};

/// A step to a value: a key, or an index in a list.
pub(crate) type FixedStep = Step<'static>;

/// An error, and the path from the root to the value at which it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Invalid {
    /// The path; the last existing step is shown.
    pub(crate) at: Vec<FixedStep>,
    /// The value found and the expected one.
    pub(crate) message: String,
}

impl Invalid {
    /// An error at the value of this key, or at the enclosing table if the key is missing.
    pub(crate) fn key(key: &'static str, message: impl Into<String>) -> Self {
        Self {
            at: vec![Step::Key(key)],
            message: message.into(),
        }
    }

    /// An error at the value of this key, with the expectation after the problem.
    pub(crate) fn diagnosed(key: &'static str, wrong: Diagnostic) -> Self {
        let help = help_text(wrong.help);
        Self::key(key, format!("{}; {help}", wrong.message))
    }

    /// An error of a whole table or file.
    pub(crate) fn here(message: impl Into<String>) -> Self {
        Self {
            at: Vec::new(),
            message: message.into(),
        }
    }

    /// The same error below this key.
    pub(crate) fn below(mut self, key: &'static str) -> Self {
        self.at.insert(0, Step::Key(key));
        self
    }

    /// The same error in an element of this key's list.
    pub(crate) fn element(mut self, key: &'static str, index: usize) -> Self {
        self.at.splice(0..0, [Step::Key(key), Step::Index(index)]);
        self
    }
}

/// Reads a list of two; serde's own implementation ignores further elements.
pub(crate) fn pair<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    input: D,
) -> Result<[T; 2], D::Error> {
    let list = Vec::deserialize(input)?;
    let wrong = |list: Vec<T>| {
        D::Error::custom(format!(
            "expected a list of two, found a list of {}",
            list.len()
        ))
    };
    <[T; 2]>::try_from(list).map_err(wrong)
}

/// A list of two values, for use with serde's derive.
#[derive(Deserialize)]
#[serde(transparent, bound = "T: Deserialize<'de>")]
pub(crate) struct Pair<T>(#[serde(deserialize_with = "pair")] pub(crate) [T; 2]);

/// The text of a file with the places of its values.
#[derive(Clone, Debug)]
pub(crate) struct TomlFile {
    pub(crate) document: Document,
}

impl TomlFile {
    /// Reads a file into a struct. NaN and infinite numbers are errors.
    ///
    /// # Errors
    /// If there is a syntax error, an unknown key or word, a missing key, or a value of the wrong
    /// type.
    pub(crate) fn read<T: DeserializeOwned>(
        name: &str,
        text: &str,
    ) -> Result<(T, Self), ScenarioError> {
        let document = Document::parse(text, name).map_err(|error| ScenarioError {
            help: Some("the file must be TOML: KEY = VALUE lines, texts in quotes".to_owned()),
            ..error
        })?;
        let file = Self { document };
        if let Some((key, value)) = not_finite(&file.document.root) {
            let found = value.raw.in_words();
            let message = format!("{key}: expected a finite number, found {found}");
            return Err(file.document.error(value.place, message, None));
        }
        match toml::from_str(text) {
            Ok(read) => Ok((read, file)),
            Err(error) => Err(file.in_words(&error)),
        }
    }

    /// An error with the place of the value at its path.
    pub(crate) fn error(&self, wrong: Invalid) -> ScenarioError {
        let place = self.document.place(&wrong.at);
        self.document.error(place, wrong.message, None)
    }

    /// An error with the place of a key and the key before the message.
    pub(crate) fn key_error(
        &self,
        steps: &[Step<'_>],
        key: &str,
        wrong: Diagnostic,
    ) -> ScenarioError {
        let message = format!("{key}: {}", wrong.message);
        let wrong = Diagnostic { message, ..wrong };
        self.document.diagnosed(self.document.place(steps), wrong)
    }

    /// An error of serde, in the wording of scenarios.
    fn in_words(&self, error: &toml::de::Error) -> ScenarioError {
        let span = error.span().unwrap_or_default();
        let place = Place {
            source: 0,
            start: span.start,
            end: span.end,
        };
        // An error of the whole file has no span.
        let found = if span.is_empty() {
            Found::default()
        } else {
            found_at(&self.document.root, "", place)
        };
        let (message, help) = words_of(error.message().trim(), &found);
        self.document.error(place, message, help)
    }
}

/// The first NaN or infinite number, with its key.
fn not_finite(table: &Table) -> Option<(&str, &Spanned)> {
    fn inside<'a>(key: &'a str, value: &'a Spanned) -> Option<(&'a str, &'a Spanned)> {
        match &value.raw {
            Raw::Float(number) if !number.is_finite() => Some((key, value)),
            Raw::Array(list) => list.iter().find_map(|value| inside(key, value)),
            Raw::Table(table) => not_finite(table),
            _ => None,
        }
    }
    let mut entries = table.entries.iter();
    entries.find_map(|entry| inside(&entry.key, &entry.value))
}

/// The value at a place.
#[derive(Debug, Default)]
struct Found<'a> {
    /// The key of the value; empty outside of all values.
    key: &'a str,
    value: Option<&'a Spanned>,
    /// The key of the enclosing table; empty at the top level.
    table: &'a str,
}

/// The key at a place, or the innermost value that contains the place.
fn found_at<'a>(table: &'a Table, name: &'a str, at: Place) -> Found<'a> {
    let holds = |place: Place| place.start <= at.start && at.end.max(1) <= place.end;
    let mut found = Found {
        table: name,
        ..Found::default()
    };
    for entry in &table.entries {
        let key = entry.key.as_str();
        if entry.place == at {
            return Found {
                key,
                value: None,
                table: name,
            };
        }
        let mut values = vec![&entry.value];
        while let Some(value) = values.pop() {
            match &value.raw {
                Raw::Table(inner) => {
                    let inside = found_at(inner, key, at);
                    if !inside.key.is_empty() {
                        return inside;
                    }
                    if holds(value.place) {
                        found = Found {
                            key,
                            value: Some(value),
                            table: key,
                        };
                    }
                }
                Raw::Array(list) => {
                    if holds(value.place) {
                        found = Found {
                            key,
                            value: Some(value),
                            table: name,
                        };
                    }
                    values.extend(list.iter().rev());
                }
                _ if holds(value.place) => {
                    return Found {
                        key,
                        value: Some(value),
                        table: name,
                    };
                }
                _ => {}
            }
        }
    }
    found
}

/// Message and help. Serde's messages are fixed text with names in backquotes.
fn words_of(message: &str, found: &Found<'_>) -> (String, Option<String>) {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let known = |what: &str, names: &[&str]| suggestion(names[0], what, &names[1..]);
    let is = |beginning: &str| message.starts_with(beginning) && !names.is_empty();
    if is("unknown field") {
        let place = match found.table {
            "" => String::new(),
            table => format!(" in \"{table}\""),
        };
        let message = format!("unknown key \"{}\"{place}", shortened(names[0]));
        return (message, Some(known("keys here", &names)));
    }
    let key = match found.key {
        "" => String::new(),
        key => format!("{key}: "),
    };
    if is("unknown variant") {
        let message = format!("{key}there is no \"{}\" here", shortened(names[0]));
        return (message, Some(known("expected one of", &names)));
    }
    if is("missing field") {
        let key = names[0];
        let (table, help) = match found.table {
            "" => ("the file".to_owned(), format!("write [{key}] or [[{key}]]")),
            table => (format!("\"{table}\""), format!("write {key} = …")),
        };
        return (format!("{table} has no \"{key}\""), Some(help));
    }
    let value = found.value.map(|value| value.raw.in_words());
    let value = value.unwrap_or_else(|| "something else".to_owned());
    if let Some((_, expected)) = message.split_once(", expected ")
        && message.starts_with("invalid ")
    {
        let is_table = found
            .value
            .is_some_and(|value| matches!(value.raw, Raw::Table(_)));
        let help = (expected == "a sequence" && is_table)
            .then(|| format!("write [[{}]] with two brackets for an element", found.key));
        let expected = type_in_words(expected);
        return (format!("{key}expected {expected}, found {value}"), help);
    }
    if message == "wanted string or table" {
        return (
            format!("{key}expected a word in quotes, found {value}"),
            None,
        );
    }
    if message.starts_with(&key) && !message.contains("found") {
        return (format!("{message}, found {value}"), None);
    }
    (format!("{key}{message}"), None)
}

/// The TOML name of a type of Rust or serde.
fn type_in_words(name: &str) -> &str {
    match name {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on",
        "f64" => "a number",
        "a string" => "a text in quotes",
        "a sequence" => "a list",
        "a boolean" => "true or false",
        _ if name == "a map" || name.starts_with("struct ") => "a table",
        other => other,
    }
}
