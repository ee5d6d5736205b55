//! Values as in a file: a tree that is independent of the file format, each value with its place.

/// The place of a key or value. The parser of the text gives the numbers their meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The index of the text.
    pub source: usize,
    /// The first octet of the key or value.
    pub start: usize,
    /// The octet after its last one.
    pub end: usize,
}

/// A value without its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    /// A text, in quotes in a file.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number with a point or an exponent.
    Float(f64),
    /// True or false.
    Boolean(bool),
    /// A list of anything.
    Array(Vec<Spanned>),
    /// Keys with their values.
    Table(Table),
    /// A list of tables, which [`Settings`](super::Settings) write; a parser gives an `Array`.
    Tables(Vec<Table>),
    /// A value that no key accepts, in words: "a date or time".
    Other(&'static str),
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Spanned {
    /// Its place.
    pub place: Place,
    /// The value.
    pub raw: Raw,
}

/// One key of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValue {
    /// The key.
    pub key: String,
    /// The place of the key.
    pub place: Place,
    /// Its value.
    pub value: Spanned,
}

/// Keys with their values, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The keys, each once.
    pub entries: Vec<KeyValue>,
}

impl Raw {
    /// The value in words, for "found …".
    pub fn in_words(&self) -> String {
        match self {
            Self::Text(text) if text.chars().count() <= 40 => format!("the text \"{text}\""),
            Self::Text(_) => "a long text".to_owned(),
            Self::Integer(number) => format!("the number {number}"),
            Self::Float(number) => format!("the number {number}"),
            Self::Boolean(value) => format!("{value}"),
            Self::Other(what) => (*what).to_owned(),
            Self::Array(_) | Self::Tables(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }

    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The table, if it is one.
    pub const fn as_table(&self) -> Option<&Table> {
        match self {
            Self::Table(table) => Some(table),
            _ => None,
        }
    }
}

impl From<Raw> for Spanned {
    /// A value that does not come from a file.
    fn from(raw: Raw) -> Self {
        Self {
            place: Place::default(),
            raw,
        }
    }
}

impl Table {
    /// The table that a word alone stands for: its `kind` is the word.
    pub fn of_kind(word: Spanned) -> Self {
        Self {
            entries: vec![KeyValue {
                key: "kind".to_owned(),
                place: word.place,
                value: word,
            }],
        }
    }

    /// The table of this kind with the value of one key.
    pub fn of_value(kind: &str, key: &str, value: Spanned) -> Self {
        let place = value.place;
        let word = Raw::Text(kind.to_owned());
        let mut table = Self::of_kind(Spanned { place, raw: word });
        table.entries.push(KeyValue {
            key: key.to_owned(),
            place,
            value,
        });
        table
    }

    /// The entry of this key.
    pub fn get(&self, key: &str) -> Option<&KeyValue> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The entry of this key.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut KeyValue> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }

    /// The entry of this key; if there is none, a new one at this place with an empty table.
    pub fn get_or_insert(&mut self, key: &str, place: Place) -> &mut KeyValue {
        let known = self.entries.iter().position(|entry| entry.key == key);
        let at = known.unwrap_or(self.entries.len());
        if known.is_none() {
            let raw = Raw::Table(Self::default());
            self.entries.push(KeyValue {
                key: key.to_owned(),
                place,
                value: Spanned { place, raw },
            });
        }
        &mut self.entries[at]
    }

    /// Adds a key, which must not exist yet, with a value that does not come from a file.
    pub fn put(&mut self, key: &str, raw: Raw) {
        self.entries.push(KeyValue {
            key: key.to_owned(),
            place: Place::default(),
            value: raw.into(),
        });
    }
}
