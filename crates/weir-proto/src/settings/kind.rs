//! The kinds of values, as data from which schema and reference are made.

use super::raw::{Raw, Table};
use crate::time::Duration;
use crate::units::Quantity;

/// Whether a key may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It must be there.
    Required,
    /// Its default applies where it is left out.
    Optional,
}

/// A word and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// As it is written.
    pub word: &'static str,
    /// Its documentation, as the source has it: see [`plain_doc`].
    pub doc: &'static str,
}

impl Keyword {
    /// A word with its documentation.
    pub const fn new(word: &'static str, doc: &'static str) -> Self {
        Self { word, doc }
    }

    /// The words of a list.
    pub const fn words<const N: usize>(keywords: &[Self; N]) -> [&'static str; N] {
        let mut words = [""; N];
        let mut at = 0;
        while at < N {
            words[at] = keywords[at].word;
            at += 1;
        }
        words
    }
}

/// What a value may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// True or false, or "on" or "off".
    Boolean,
    /// A whole number.
    Integer {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
        /// What is counted; empty for a plain number.
        unit: &'static str,
    },
    /// A finite number.
    Number {
        /// The least.
        min: f64,
        /// The greatest; infinite without a bound.
        max: f64,
        /// What is measured; empty for a plain number.
        unit: &'static str,
    },
    /// A number in 0..1, or a text in percent.
    Fraction,
    /// A text with a number and a unit.
    Quantity(&'static Quantity),
    /// A duration as a text with a unit, within bounds.
    Duration {
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// A quantity, or two of them with `..` between, the smaller one first.
    Range(&'static Quantity),
    /// A whole number of bytes, or a text with a unit of size.
    Bytes {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// A name that can be part of a path, a file name and an option.
    Name,
    /// Any text; this says what it is.
    Text(&'static str),
    /// One of a few words.
    Keywords(Vec<Keyword>),
    /// Any of these.
    AnyOf(Vec<Kind>),
    /// A list.
    List {
        /// What each element is.
        of: Box<Kind>,
        /// The fewest and the most elements.
        len: (usize, Option<usize>),
    },
    /// A table.
    Table(TableKind),
    /// A list of tables.
    Tables(TableKind),
    /// A table whose `kind` says which keys it has.
    Variants(Vec<Variant>),
}

/// What a table may hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableKind {
    /// What the table is.
    pub doc: &'static str,
    /// Its keys.
    pub fields: Vec<FieldKind>,
    /// What each word of the key that names a preset stands for.
    pub presets: Vec<Preset>,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldKind {
    /// The key.
    pub key: &'static str,
    /// Its documentation, as the source has it: see [`plain_doc`].
    pub doc: &'static str,
    /// Whether it may be left out.
    pub presence: Presence,
    /// What its value may be.
    pub kind: Kind,
    /// The value where the key is left out; none for tables, whose keys have their own.
    pub default: Option<Raw>,
}

/// A named set of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// The key that names it.
    pub key: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The whole table with the values of the preset.
    pub table: Table,
}

/// A table with one `kind`.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The word of `kind` and its documentation.
    pub keyword: Keyword,
    /// The other keys.
    pub table: TableKind,
    /// The key whose value may stand alone in place of the table.
    pub alone: Option<&'static str>,
}

impl Kind {
    /// True for a table, or a list of tables.
    pub const fn is_table(&self) -> bool {
        matches!(self, Self::Table(_) | Self::Tables(_) | Self::Variants(_))
    }

    /// The value in a few words: `a duration`.
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::Boolean => "true or false",
            Self::Integer { .. } => "a whole number",
            Self::Number { .. } => "a number",
            Self::Fraction => "a number in 0..1",
            Self::Quantity(quantity) => quantity.noun,
            Self::Duration { .. } => "a duration",
            Self::Range(_) => "a quantity or a range",
            Self::Bytes { .. } => "a number of bytes",
            Self::Name => "a name",
            Self::Text(what) => what,
            Self::Keywords(_) => "a word",
            Self::AnyOf(_) => "a value",
            Self::List { .. } | Self::Tables(_) => "a list",
            Self::Table(_) | Self::Variants(_) => "a table",
        }
    }
}

impl TableKind {
    /// True if a table without any key is incomplete.
    pub fn needs_keys(&self) -> bool {
        let required = |field: &FieldKind| field.presence == Presence::Required;
        self.fields.iter().any(required)
    }
}

/// A doc comment as one line of text.
pub fn plain_doc(doc: &str) -> String {
    let lines: Vec<&str> = doc.lines().map(str::trim).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}
