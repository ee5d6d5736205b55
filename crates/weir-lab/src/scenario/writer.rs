//! Writes a scenario with every default filled in: the same scenario gives the same bytes.

use super::visit::{List, Need, Purpose, Section, Value, Variants, Visitor};
use std::fmt::Write as _;

/// The section as a TOML file.
pub(crate) fn write(section: &mut dyn Section) -> String {
    let mut writer = Writer::default();
    section.visit(&mut writer);
    writer.finish()
}

/// One table being written: its own lines first, then the tables below it.
#[derive(Default)]
struct Writer {
    /// Dotted name of the table, empty for the file.
    path: String,
    lines: String,
    below: String,
}

impl Writer {
    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            return key.to_owned();
        }
        format!("{}.{key}", self.path)
    }

    fn write_table(&mut self, header: &str, path: String, visit: &mut dyn FnMut(&mut Self)) {
        let mut table = Self {
            path,
            ..Self::default()
        };
        visit(&mut table);
        let content = table.finish();
        let _ = write!(self.below, "\n{header}\n{content}");
    }

    fn finish(self) -> String {
        self.lines + &self.below
    }
}

impl Visitor for Writer {
    fn purpose(&self) -> Purpose {
        Purpose::Write
    }

    fn value(&mut self, key: &'static str, _: &'static str, _: Need, value: &mut dyn Value) {
        let _ = writeln!(self.lines, "{key} = {}", value.write());
    }

    fn kind(&mut self, variants: &mut dyn Variants) -> bool {
        let _ = writeln!(self.lines, "kind = \"{}\"", variants.kind());
        true
    }

    fn section(&mut self, key: &'static str, _: &'static str, section: &mut dyn Section) {
        let path = self.path_of(key);
        self.write_table(&format!("[{path}]"), path, &mut |table| {
            section.visit(table);
        });
    }

    fn variants(
        &mut self,
        key: &'static str,
        _: &'static str,
        _: Need,
        variants: &mut dyn Variants,
    ) {
        let path = self.path_of(key);
        self.write_table(&format!("[{path}]"), path, &mut |table| {
            table.kind(variants);
            variants.visit(table);
        });
    }

    fn list(&mut self, key: &'static str, _: &'static str, list: &mut dyn List) {
        for index in 0..list.len() {
            let path = self.path_of(key);
            let Some(section) = list.get(index) else {
                return;
            };
            self.write_table(&format!("[[{path}]]"), path, &mut |table| {
                section.visit(table);
            });
        }
    }
}
