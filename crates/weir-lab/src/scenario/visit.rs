//! One description of every key, for all who need it.
//!
//! A [`Section`] names its keys once, with their documentation and the place of their value. The
//! reader, the writer of resolved scenarios and the JSON Schema are three [`Visitor`]s of the
//! same description, so they cannot differ.

use super::document::Node;
use super::error::Problem;

/// Who goes through a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Values come from a file: presets must be applied when their name has been read.
    Read,
    /// Values go into a file.
    Write,
    /// Keys and their kinds are listed.
    Describe,
}

/// Whether a key may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    Optional,
}

/// What goes through all keys of a section.
pub(crate) trait Visitor {
    fn purpose(&self) -> Purpose;
    /// A key with a plain value.
    fn value(&mut self, key: &'static str, doc: &'static str, need: Need, value: &mut dyn Value);
    /// The key `kind` of a table; false if the keys of its kind shall not be visited.
    fn kind(&mut self, variants: &mut dyn Variants) -> bool;
    /// A key with a table, which may be left out.
    fn section(&mut self, key: &'static str, doc: &'static str, section: &mut dyn Section);
    /// A key with a table whose `kind` says which keys it has.
    fn variants(
        &mut self,
        key: &'static str,
        doc: &'static str,
        need: Need,
        variants: &mut dyn Variants,
    );
    /// A key with a list of tables: `[[key]]`.
    fn list(&mut self, key: &'static str, doc: &'static str, list: &mut dyn List);
}

/// A value that can be read, written and described.
pub(crate) trait Value {
    /// Takes the value from the file.
    fn read(&mut self, node: &Node) -> Result<(), Problem>;
    /// The value as TOML.
    fn write(&self) -> String;
    /// What the value may be, as a JSON Schema without documentation.
    fn describe(&self) -> serde_json::Value;
}

/// A table with known keys.
pub(crate) trait Section {
    /// Names each key once.
    fn visit(&mut self, visitor: &mut dyn Visitor);
}

/// A table with a `kind`.
pub(crate) trait Variants {
    /// What there is, with one line of documentation each.
    fn kinds(&self) -> &'static [(&'static str, &'static str)];
    /// Kinds that are planned and not there yet.
    fn later(&self) -> &'static [&'static str] {
        &[]
    }
    /// Which it is.
    fn kind(&self) -> &'static str;
    /// Makes it this kind, with its defaults. Called with words of `kinds` only.
    fn set_kind(&mut self, kind: &str);
    /// Names the keys of the present kind.
    fn visit(&mut self, visitor: &mut dyn Visitor);
}

/// A list of tables.
pub(crate) trait List {
    fn len(&self) -> usize;
    fn get(&mut self, index: usize) -> Option<&mut dyn Section>;
    /// Adds one with default values.
    fn push(&mut self);
}

impl<T: Section + Default> List for Vec<T> {
    fn len(&self) -> usize {
        self.len()
    }
    fn get(&mut self, index: usize) -> Option<&mut dyn Section> {
        self.get_mut(index)
            .map(|section| section as &mut dyn Section)
    }
    fn push(&mut self) {
        self.push(T::default());
    }
}
