//! Tables of settings: structs with a field for each key, enums of tables with a `kind`, and
//! lists of tables.

use super::diagnostic::{Diagnostic, Finding};
use super::kind::{FieldKind, Keyword, Kind, Presence, Preset, TableKind, Variant};
use super::raw::{Raw, Spanned, Table};
use super::read::{Field, Form, Reader, Value};

/// A struct whose fields are the keys of a table. [`settings!`](crate::settings!) implements it.
pub trait Settings {
    /// What the table is: its doc comment.
    const DOC: &'static str;

    /// The key that names a preset.
    const PRESET: Option<&'static str> = None;

    /// Takes all values of the preset of this name, if there is one. The values of the table are
    /// read after it.
    fn apply_preset(&mut self, _name: &str) {}

    /// Brings values into the form in which they are written.
    fn normalise(&mut self) {}

    /// Reads each field.
    fn read_fields(&mut self, reader: &mut Reader<'_>);

    /// Writes each field.
    fn write_fields(&self, table: &mut Table);

    /// Describes each field; the values are the defaults.
    fn fields(&self) -> Vec<FieldKind>;
}

/// An enum of tables that a key `kind` tells apart. [`kinds!`](crate::kinds!) implements it.
pub trait Variants: Sized {
    /// The kind, and its key, whose value may stand alone in place of the table.
    const ALONE: Option<(&'static str, &'static str)> = None;

    /// The words of `kind` with their documentation.
    fn keywords() -> Vec<Keyword>;

    /// The default of the kind with this word.
    fn of_kind(word: &str) -> Option<Self>;

    /// The word of this value's kind.
    fn word(&self) -> &'static str;

    /// Reads the fields of this value's kind.
    fn read_fields(&mut self, reader: &mut Reader<'_>);

    /// Writes the fields of this value's kind.
    fn write_fields(&self, table: &mut Table);

    /// What the tables of this value's kind are.
    fn table(&self) -> TableKind;
}

/// Reads the outermost table; `title` is its name in messages.
pub fn read<S: Settings>(settings: &mut S, table: &Table, title: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut reader = Reader::outermost(table, title.to_owned(), &mut findings);
    read_settings(settings, &mut reader);
    reader.finish();
    findings
}

/// Reads a struct's keys from the reader's table: its preset first, then the table's values.
pub fn read_settings<S: Settings>(settings: &mut S, reader: &mut Reader<'_>) {
    if let Some(name) = S::PRESET.and_then(|key| reader.peek(key)) {
        settings.apply_preset(name);
    }
    settings.read_fields(reader);
    settings.normalise();
}

/// The struct as a table with every key.
pub fn write<S: Settings>(settings: &S) -> Table {
    let mut table = Table::default();
    settings.write_fields(&mut table);
    table
}

/// What the struct's table may hold.
pub fn describe<S: Settings + Clone>(settings: &S) -> TableKind {
    let fields = settings.fields();
    let named = fields.iter().find(|field| Some(field.key) == S::PRESET);
    let mut presets = Vec::new();
    if let Some((key, Kind::Keywords(words))) = named.map(|field| (field.key, &field.kind)) {
        for keyword in words {
            let mut preset = settings.clone();
            preset.apply_preset(keyword.word);
            let (name, table) = (keyword.word, write(&preset));
            presets.push(Preset { key, name, table });
        }
    }
    TableKind {
        doc: S::DOC,
        presets,
        fields,
    }
}

/// The description of a field.
pub fn describe_field<T>(field: &Field, form: &impl Form<T>, default: &T) -> FieldKind {
    let kind = form.kind(default);
    let presence = match &kind {
        Kind::Table(table) if table.needs_keys() => Presence::Required,
        _ => field.presence,
    };
    let has_default = presence == Presence::Optional && !kind.is_table();
    FieldKind {
        key: field.key,
        doc: field.doc,
        presence,
        default: has_default.then(|| form.write(default)),
        kind,
    }
}

/// Reads the struct of the reader's current key.
pub fn read_section<S: Settings>(settings: &mut S, value: &Spanned, reader: &mut Reader<'_>) {
    reader.section(value, &mut |inner| read_settings(settings, inner));
}

/// Reads a struct whose key is absent.
pub fn read_no_section<S: Settings>(settings: &mut S, reader: &mut Reader<'_>) {
    reader.empty_section(&mut |inner| read_settings(settings, inner));
}

/// Reads the enum of the reader's current key. If the kind does not change, the value keeps the
/// settings that the table leaves out.
pub fn read_variants<V: Variants>(variants: &mut V, value: &Spanned, reader: &mut Reader<'_>) {
    reader.kind_section(value, V::ALONE, &mut |inner| {
        let Some(word) = inner.kind(&V::keywords()) else {
            return;
        };
        if word != variants.word()
            && let Some(fresh) = V::of_kind(word)
        {
            *variants = fresh;
        }
        variants.read_fields(inner);
    });
}

/// The enum as a table, its `kind` first.
pub fn write_variants<V: Variants>(variants: &V) -> Table {
    let mut table = Table::default();
    table.put("kind", Raw::Text(variants.word().to_owned()));
    variants.write_fields(&mut table);
    table
}

/// What the enum's tables may hold, for each kind.
pub fn describe_variants<V: Variants>() -> Vec<Variant> {
    let variant = |keyword: Keyword| {
        let table = V::of_kind(keyword.word)?.table();
        let alone = V::ALONE.filter(|(kind, _)| *kind == keyword.word);
        Some(Variant {
            keyword,
            table,
            alone: alone.map(|(_, key)| key),
        })
    };
    V::keywords().into_iter().filter_map(variant).collect()
}

impl<T: Settings + Default + Clone> Value for Vec<T> {
    fn read(&mut self, value: &Spanned, reader: &mut Reader<'_>) -> Result<(), Diagnostic> {
        reader.elements(value, &mut |element, reader| {
            let mut settings = T::default();
            reader.element(element, &mut |inner| read_settings(&mut settings, inner));
            self.push(settings);
        });
        Ok(())
    }

    fn write(&self) -> Raw {
        Raw::Tables(self.iter().map(write).collect())
    }

    fn kind(&self) -> Kind {
        Kind::Tables(describe(&T::default()))
    }
}

impl<T: Settings> Settings for Box<T> {
    const DOC: &'static str = T::DOC;
    const PRESET: Option<&'static str> = T::PRESET;

    fn apply_preset(&mut self, name: &str) {
        (**self).apply_preset(name);
    }

    fn normalise(&mut self) {
        (**self).normalise();
    }

    fn read_fields(&mut self, reader: &mut Reader<'_>) {
        (**self).read_fields(reader);
    }

    fn write_fields(&self, table: &mut Table) {
        (**self).write_fields(table);
    }

    fn fields(&self) -> Vec<FieldKind> {
        (**self).fields()
    }
}
