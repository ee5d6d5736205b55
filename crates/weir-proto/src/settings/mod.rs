//! Settings declared once: a struct's fields with their keys, units, bounds and documentation,
//! from which reader, writer, JSON Schema and reference follow.
//!
//! - [`settings!`](crate::settings!) declares a struct: each field is a key of a table.
//! - [`keywords!`](crate::keywords!) declares an enum that is written as a word, such as
//!   `oscillation = "off"`.
//! - [`kinds!`](crate::kinds!) declares an enum of tables that a key `kind` tells apart, such as
//!   `queue = { kind = "red", … }`. It is the registry of what it lists.
//!
//! A doc comment is documentation for readers of the code, the schema's description and the text
//! of the reference at once. It is plain text without links.
//!
//! How a field's value is written follows from its type ([`Value`]), or from a [`Form`] behind
//! `=>`: `count(1..=1000, "packets")`, `bytes(1..=65_535)`, `bit_rate()`, `fraction()`,
//! `or_word("never", natural())`. Values come from a [`Raw`] tree and go into one; this module is
//! independent of file formats. An error is a [`Finding`] with its [`Place`].

mod bounded;
mod diagnostic;
mod form;
mod kind;
mod macros;
mod or_table;
mod raw;
mod read;
mod synonym;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use bounded::duration;
pub use diagnostic::{Diagnostic, Finding, Help, shortened};
pub use form::{
    bit_rate, bytes, count, find_keyword, find_name, fraction, name, named, natural, number,
    or_kind, or_word,
};
pub use kind::{FieldKind, Keyword, Kind, Presence, Preset, TableKind, Variant, plain_doc};
pub use or_table::or_table;
pub use raw::{KeyValue, Place, Raw, Spanned, Table};
pub use read::{Field, Form, Reader, Value};
pub use synonym::{nearest, word_here};
pub use table::{
    Settings, Variants, describe, describe_field, describe_variants, read, read_no_section,
    read_section, read_settings, read_variants, write, write_variants,
};
