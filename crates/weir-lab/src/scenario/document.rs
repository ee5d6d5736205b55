//! A TOML file as a tree in which every key and value has its place in the text.
//!
//! Values from the command line (`--set`) are put into the same tree with a source of their own, so
//! that errors are shown in them.

use super::error::{ScenarioError, line_and_column, suggestion};
use super::files::Files;
use toml::Spanned as Toml;
use toml::de::{DeTable, DeValue};
use weir_proto::settings::{Diagnostic, Help, KeyValue, Place, Raw, Spanned, Table};

/// The maximum size of a file.
pub const MAX_OCTETS: usize = 16 << 20;

/// A text to which places refer.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A file with overrides. A place is an index into `sources` and a range of octets in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    pub(crate) sources: Vec<Source>,
    pub(crate) root: Table,
    /// The files that it refers to.
    pub(crate) files: Files,
}

/// A step from a table or list to one of its elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl Document {
    /// Parses a file that is valid UTF-8.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Self, ScenarioError> {
        let mut document = Self {
            sources: vec![Source {
                name: name.to_owned(),
                text: String::new(),
            }],
            ..Self::default()
        };
        if text.len() > MAX_OCTETS {
            let message = format!(
                "the file has {} octets, expected at most {MAX_OCTETS}",
                text.len()
            );
            return Err(document.error(Place::default(), message, None));
        }
        text.clone_into(&mut document.sources[0].text);
        match DeTable::parse(text) {
            Ok(table) => {
                document.root = table_of(table.get_ref(), 0);
                Ok(document)
            }
            Err(error) => Err(document.syntax_error(&error)),
        }
    }

    fn syntax_error(&self, error: &toml::de::Error) -> ScenarioError {
        let message = error.message().trim();
        let place = place_of(0, error.span().unwrap_or_default());
        let help = "the file must be TOML: KEY = VALUE lines under [run], [[link]] and [[flow]], \
                    texts in quotes";
        let message = format!("this is not TOML: {}", message.replace('\n', ", "));
        self.error(place, message, Some(help.to_owned()))
    }

    /// An error at a place.
    pub(crate) fn error(
        &self,
        place: Place,
        message: String,
        help: Option<String>,
    ) -> ScenarioError {
        let (file, source) = self
            .sources
            .get(place.source)
            .map_or(("", ""), |source| (&source.name, &source.text));
        let (line, column) = line_and_column(source, place.start);
        ScenarioError {
            file: file.to_owned(),
            line,
            column,
            message,
            help,
            span: place.start.min(source.len())..place.end.min(source.len()),
            source: source.into(),
        }
    }

    /// Turns a diagnostic of a declaration into an error at a place.
    pub(crate) fn diagnosed(&self, place: Place, diagnostic: Diagnostic) -> ScenarioError {
        self.error(place, diagnostic.message, Some(help_text(diagnostic.help)))
    }

    /// The place of the value at the path, or of the last step that exists.
    pub(crate) fn place(&self, path: &[Step<'_>]) -> Place {
        let mut table = Some(&self.root);
        let mut list: &[Spanned] = &[];
        let mut place = Place::default();
        for step in path {
            let value = match *step {
                Step::Key(key) => table.and_then(|t| t.get(key)).map(|entry| &entry.value),
                Step::Index(index) => list.get(index),
            };
            let Some(value) = value else { break };
            place = value.place;
            (table, list) = match &value.raw {
                Raw::Table(inner) => (Some(inner), [].as_slice()),
                Raw::Array(elements) => (None, elements.as_slice()),
                _ => (None, [].as_slice()),
            };
        }
        place
    }
}

/// The help text, with the most similar known word.
pub(crate) fn help_text(help: Help) -> String {
    match help {
        Help::Text(text) => text,
        Help::Words { found, what, known } => suggestion(&found, what, &known),
    }
}

const fn place_of(source: usize, span: std::ops::Range<usize>) -> Place {
    Place {
        source,
        start: span.start,
        end: span.end,
    }
}

/// A parsed TOML table, its keys in the order of the file.
fn table_of(table: &DeTable<'_>, source: usize) -> Table {
    let entry = |(key, value): (&Toml<_>, _)| KeyValue {
        key: ToString::to_string(key.get_ref()),
        place: place_of(source, key.span()),
        value: value_of(value, source),
    };
    let mut entries: Vec<KeyValue> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.place.start);
    Table { entries }
}

/// A parsed TOML value.
pub(crate) fn value_of(value: &Toml<DeValue<'_>>, source: usize) -> Spanned {
    let raw = match value.get_ref() {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Raw::Other("a number beyond 64 bits"), Raw::Integer),
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .map_or(Raw::Other("a number that cannot be read"), Raw::Float),
        DeValue::Boolean(value) => Raw::Boolean(*value),
        DeValue::Datetime(_) => Raw::Other("a date or time"),
        DeValue::Array(list) => Raw::Array(list.iter().map(|v| value_of(v, source)).collect()),
        DeValue::Table(table) => Raw::Table(table_of(table, source)),
    };
    Spanned {
        place: place_of(source, value.span()),
        raw,
    }
}
