//! A TOML file as a tree in which every key and value knows its place.
//!
//! Values given on the command line (`--set`) are put into the same tree with a source of their
//! own, so that what is wrong with them is shown there.

use super::error::{ScenarioError, line_and_column};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The longest file that is read.
pub const MAX_OCTETS: usize = 16 << 20;

/// Where a key or value stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Index into [`Document::sources`].
    pub(crate) source: usize,
    pub(crate) span: Range<usize>,
}

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// What a TOML value may be.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// Dates, and numbers beyond 64 bits: no key takes them.
    Other(&'static str),
    Array(Vec<Node>),
    Table(Table),
}

/// Keys with their values, in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

/// One key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) node: Node,
}

/// A text that places refer to.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// The file, and what was set beside it.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) sources: Vec<Source>,
    pub(crate) root: Table,
}

/// A step from a table or list to what it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl Value {
    /// The value in words, for "found …".
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Text(text) if text.chars().count() <= 40 => format!("the text \"{text}\""),
            Self::Text(_) => "a long text".to_owned(),
            Self::Integer(number) => format!("the number {number}"),
            Self::Float(number) => format!("the number {number}"),
            Self::Boolean(value) => format!("{value}"),
            Self::Other(what) => (*what).to_owned(),
            Self::Array(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

impl Table {
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

impl Document {
    /// Parses a file. Text that is not UTF-8 never comes here.
    pub(crate) fn parse(text: &str, name: &str) -> Result<Self, ScenarioError> {
        let mut document = Self {
            sources: vec![Source {
                name: name.to_owned(),
                text: String::new(),
            }],
            root: Table::default(),
        };
        if text.len() > MAX_OCTETS {
            let message = format!(
                "the file has {} octets, expected at most {MAX_OCTETS}",
                text.len()
            );
            return Err(document.error(&Place::default(), message, None));
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
        let place = Place {
            source: 0,
            span: error.span().unwrap_or_default(),
        };
        let help = "the file must be TOML: KEY = VALUE lines under [run], [[link]] and [[flow]], \
                    texts in quotes";
        let message = format!("this is not TOML: {}", message.replace('\n', ", "));
        self.error(&place, message, Some(help.to_owned()))
    }

    /// An error at a place.
    pub(crate) fn error(
        &self,
        place: &Place,
        message: String,
        help: Option<String>,
    ) -> ScenarioError {
        let (file, source) = self
            .sources
            .get(place.source)
            .map_or(("", ""), |source| (&source.name, &source.text));
        let (line, column) = line_and_column(source, place.span.start);
        ScenarioError {
            file: file.to_owned(),
            line,
            column,
            message,
            help,
            span: place.span.start.min(source.len())..place.span.end.min(source.len()),
            source: source.into(),
        }
    }

    /// The place of what the path leads to, or of the last step that exists.
    pub(crate) fn place(&self, path: &[Step<'_>]) -> Place {
        let mut table = Some(&self.root);
        let mut list: Option<&[Node]> = None;
        let mut place = Place::default();
        for step in path {
            let node = match *step {
                Step::Key(key) => table.and_then(|t| t.get(key)).map(|entry| &entry.node),
                Step::Index(index) => list.and_then(|l| l.get(index)),
            };
            let Some(node) = node else { break };
            place = node.place.clone();
            table = match &node.value {
                Value::Table(table) => Some(table),
                _ => None,
            };
            list = match &node.value {
                Value::Array(list) => Some(list),
                _ => None,
            };
        }
        place
    }
}

/// The table of a parsed TOML table, its keys in the order of the file.
pub(crate) fn table_of(table: &DeTable<'_>, source: usize) -> Table {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            place: Place {
                source,
                span: key.span(),
            },
            node: node_of(value, source),
        })
        .collect();
    entries.sort_by_key(|entry| entry.place.span.start);
    Table { entries }
}

/// The node of a parsed TOML value.
pub(crate) fn node_of(value: &Spanned<DeValue<'_>>, source: usize) -> Node {
    let place = Place {
        source,
        span: value.span(),
    };
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other("a number beyond 64 bits"), Value::Integer),
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .map_or(Value::Other("a number that cannot be read"), Value::Float),
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Datetime(_) => Value::Other("a date or time"),
        DeValue::Array(list) => Value::Array(list.iter().map(|v| node_of(v, source)).collect()),
        DeValue::Table(table) => Value::Table(table_of(table, source)),
    };
    Node { place, value }
}
