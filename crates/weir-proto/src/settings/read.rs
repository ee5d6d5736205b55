//! Reads a table: each key goes to its field, and every other key is a finding.

use super::diagnostic::{Diagnostic, Finding, Help, shortened};
use super::kind::{Keyword, Kind, Presence, plain_doc};
use super::raw::{Place, Raw, Spanned, Table};
use super::synonym::word_here;

/// How a value of type `T` is written.
pub trait Form<T> {
    /// Takes the value from the tree. A table reports the errors within it to the reader.
    fn read(
        &self,
        slot: &mut T,
        value: &Spanned,
        reader: &mut Reader<'_>,
    ) -> Result<(), Diagnostic>;

    /// The value, in the form in which it is read.
    fn write(&self, value: &T) -> Raw;

    /// What the value may be.
    fn kind(&self, default: &T) -> Kind;

    /// The key is absent: a table may need keys within it.
    fn read_absent(&self, _slot: &mut T, _reader: &mut Reader<'_>) {}
}

/// A type that is written in one way everywhere.
pub trait Value {
    /// As [`Form::read`].
    fn read(&mut self, value: &Spanned, reader: &mut Reader<'_>) -> Result<(), Diagnostic>;

    /// As [`Form::write`].
    fn write(&self) -> Raw;

    /// As [`Form::kind`]; the value is the default.
    fn kind(&self) -> Kind;

    /// As [`Form::read_absent`].
    fn read_absent(&mut self, _reader: &mut Reader<'_>) {}
}

/// A key as it was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The key.
    pub key: &'static str,
    /// Its doc comment.
    pub doc: &'static str,
    /// Whether it may be left out.
    pub presence: Presence,
}

/// One table being read.
#[derive(Debug)]
pub struct Reader<'a> {
    table: &'a Table,
    /// The place where the absence of a key is shown.
    place: Place,
    /// The title of the table in messages: `[[link]]`, `queue of [[link]]`.
    title: String,
    outermost: bool,
    /// The key whose value is being read.
    key: &'static str,
    known: Vec<&'static str>,
    /// The `kind` is not known, so unknown keys cannot be recognised.
    keys_unknown: bool,
    findings: &'a mut Vec<Finding>,
}

impl<'a> Reader<'a> {
    /// A reader of the outermost table; `title` is its name in messages.
    pub(super) const fn outermost(
        table: &'a Table,
        title: String,
        findings: &'a mut Vec<Finding>,
    ) -> Self {
        Self {
            table,
            place: Place {
                source: 0,
                start: 0,
                end: 0,
            },
            title,
            outermost: true,
            key: "",
            known: Vec::new(),
            keys_unknown: false,
            findings,
        }
    }

    /// Reads one key.
    pub fn field<T>(&mut self, field: &Field, form: &impl Form<T>, slot: &mut T) {
        self.key = field.key;
        let Some(value) = self.find(field.key) else {
            match field.presence {
                Presence::Required => self.report_missing(field.key, field.doc),
                Presence::Optional => form.read_absent(slot, self),
            }
            return;
        };
        if let Err(mut diagnostic) = form.read(slot, value, self) {
            diagnostic.message = format!("{}: {}", field.key, diagnostic.message);
            self.report(value.place, diagnostic);
        }
    }

    /// The text of a key that is read later.
    pub fn peek(&self, key: &str) -> Option<&str> {
        self.table.get(key)?.value.raw.as_text()
    }

    /// Reports an error in the table of the current key.
    pub fn report(&mut self, place: Place, diagnostic: Diagnostic) {
        self.findings.push(Finding {
            place,
            diagnostic,
            missing: false,
        });
    }

    /// Reads the table of the current key.
    pub(super) fn section(&mut self, value: &Spanned, read: &mut dyn FnMut(&mut Reader<'_>)) {
        let title = self.title_of_key();
        self.table_at(value, title, read);
    }

    /// Reads the table of a `kind` of the current key. A word alone stands for the table of that
    /// kind without other keys: `queue = "codel"`; a number or a percentage alone for the kind and
    /// key of `alone`: `loss = "1%"`.
    pub(super) fn kind_section(
        &mut self,
        value: &Spanned,
        alone: Option<(&str, &str)>,
        read: &mut dyn FnMut(&mut Reader<'_>),
    ) {
        let table = match alone.filter(|_| is_number(&value.raw)) {
            Some((kind, key)) => Table::of_value(kind, key, value.clone()),
            None if value.raw.as_text().is_some() => Table::of_kind(value.clone()),
            None => return self.section(value, read),
        };
        let title = self.title_of_key();
        self.descend(&table, (title, value.place), read);
    }

    /// Reads the list of tables of the current key.
    pub(super) fn elements(&mut self, value: &Spanned, read: &mut dyn FnMut(&Spanned, &mut Self)) {
        if let Raw::Array(elements) = &value.raw {
            for element in elements {
                read(element, self);
            }
            return;
        }
        let (key, found) = (self.key, value.raw.in_words());
        let message = format!("\"{key}\" must be a list of tables, found {found}");
        let help = format!("write [[{key}]] with two brackets");
        self.report(value.place, Diagnostic::new(message, help));
    }

    /// Reads an element of the list of tables of the current key.
    pub(super) fn element(&mut self, value: &Spanned, read: &mut dyn FnMut(&mut Reader<'_>)) {
        self.table_at(value, format!("[[{}]]", self.key), read);
    }

    /// Reads a table that is absent: it may need a key.
    pub(super) fn empty_section(&mut self, read: &mut dyn FnMut(&mut Reader<'_>)) {
        let (title, place) = (self.title_of_key(), self.place);
        self.descend(&Table::default(), (title, place), read);
    }

    /// Reads the `kind`: the word among `variants`, if it is one.
    pub(super) fn kind(&mut self, variants: &[Keyword]) -> Option<&'static str> {
        let words: Vec<&'static str> = variants.iter().map(|variant| variant.word).collect();
        let Some(value) = self.find("kind") else {
            self.report_missing("kind", &format!("one of {}", words.join(", ")));
            self.keys_unknown = true;
            return None;
        };
        let text = value.raw.as_text();
        let exact = words.iter().find(|word| text == Some(word));
        let here = text.map(word_here);
        let found = exact.or_else(|| words.iter().find(|word| here == Some(word)));
        if found.is_none() {
            self.report(value.place, unknown_kind(&value.raw, &words));
            self.keys_unknown = true;
        }
        found.copied()
    }

    fn find(&mut self, key: &'static str) -> Option<&'a Spanned> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.table.get(key).map(|entry| &entry.value)
    }

    fn title_of_key(&self) -> String {
        if self.outermost {
            format!("[{}]", self.key)
        } else {
            format!("{} of {}", self.key, self.title)
        }
    }

    fn table_at(&mut self, value: &Spanned, title: String, read: &mut dyn FnMut(&mut Reader<'_>)) {
        let Raw::Table(table) = &value.raw else {
            let found = value.raw.in_words();
            let message = format!("{title} must be a table, found {found}");
            let help = "write { KEY = VALUE, … }";
            self.report(value.place, Diagnostic::new(message, help));
            return;
        };
        self.descend(table, (title, value.place), read);
    }

    fn descend(
        &mut self,
        table: &Table,
        (title, place): (String, Place),
        read: &mut dyn FnMut(&mut Reader<'_>),
    ) {
        let mut reader = Reader {
            table,
            place,
            title,
            outermost: false,
            key: "",
            known: Vec::new(),
            keys_unknown: false,
            findings: self.findings,
        };
        read(&mut reader);
        reader.finish();
    }

    fn report_missing(&mut self, key: &str, doc: &str) {
        let message = format!("{} has no \"{key}\"", self.title);
        let help = format!("{key}: {}", first_sentence(&plain_doc(doc)));
        self.findings.push(Finding {
            place: self.place,
            diagnostic: Diagnostic::new(message, help),
            missing: true,
        });
    }

    /// Reports the keys that have no field.
    pub(super) fn finish(self) {
        if self.keys_unknown {
            return;
        }
        for entry in &self.table.entries {
            if self.known.contains(&entry.key.as_str()) {
                continue;
            }
            let key = shortened(&entry.key);
            self.findings.push(Finding {
                place: entry.place,
                diagnostic: Diagnostic {
                    message: format!("unknown key \"{key}\" in {}", self.title),
                    help: Help::Words {
                        found: entry.key.clone(),
                        what: "keys here",
                        known: self.known.clone(),
                    },
                },
                missing: false,
            });
        }
    }
}

/// True for a number, or a text that begins like one.
fn is_number(raw: &Raw) -> bool {
    match raw {
        Raw::Integer(_) | Raw::Float(_) => true,
        Raw::Text(text) => {
            text.trim_start().starts_with(['+', '-', '.']) || {
                let first = text.trim_start().bytes().next();
                first.is_some_and(|first| first.is_ascii_digit())
            }
        }
        _ => false,
    }
}

fn unknown_kind(raw: &Raw, words: &[&'static str]) -> Diagnostic {
    let Some(text) = raw.as_text() else {
        return Diagnostic::new(
            format!("kind: expected a word, found {}", raw.in_words()),
            format!("kinds: {}", words.join(", ")),
        );
    };
    let text = shortened(text);
    Diagnostic {
        message: format!("kind: there is no \"{text}\" here"),
        help: Help::Words {
            found: text,
            what: "kinds",
            known: words.to_vec(),
        },
    }
}

fn first_sentence(doc: &str) -> String {
    let end = doc.find(". ").unwrap_or(doc.len());
    let sentence = doc[..end].trim_end_matches('.');
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}
