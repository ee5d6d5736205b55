//! A table that may be switched off by its `kind`: `shaper = { kind = "none" }`.

use super::diagnostic::Diagnostic;
use super::kind::{Keyword, Kind, TableKind, Variant};
use super::raw::{Raw, Spanned, Table};
use super::read::{Form, Reader};
use super::table::{Settings, describe, read_settings};

/// A table of one `kind`, or of another kind without keys that stands for `None`.
#[derive(Clone, Copy, Debug)]
pub struct OrTable {
    none: Keyword,
    some: Keyword,
}

/// A table of the kind `some`, or of the kind `none`, which has no keys and stands for `None`.
pub const fn or_table(none: Keyword, some: Keyword) -> OrTable {
    OrTable { none, some }
}

impl<S: Settings + Default + Clone> Form<Option<S>> for OrTable {
    fn read(
        &self,
        slot: &mut Option<S>,
        value: &Spanned,
        reader: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        reader.kind_section(value, None, &mut |inner| {
            let Some(word) = inner.kind(&[self.none, self.some]) else {
                return;
            };
            if word == self.none.word {
                *slot = None;
            } else {
                read_settings(slot.get_or_insert_with(S::default), inner);
            }
        });
        Ok(())
    }

    fn write(&self, value: &Option<S>) -> Raw {
        let word = if value.is_some() {
            self.some
        } else {
            self.none
        };
        let mut table = Table::default();
        table.put("kind", Raw::Text(word.word.to_owned()));
        if let Some(settings) = value {
            settings.write_fields(&mut table);
        }
        Raw::Table(table)
    }

    fn kind(&self, _: &Option<S>) -> Kind {
        let variant = |keyword, table| Variant {
            keyword,
            table,
            alone: None,
        };
        Kind::Variants(vec![
            variant(self.none, TableKind::default()),
            variant(self.some, describe(&S::default())),
        ])
    }
}
