//! Mutants that no test can detect, each with the reason: `docs/equivalent-mutants.toml`.

use std::path::Path;

use super::Mutant;

/// The path from the repository's root.
pub const PATH: &str = "docs/equivalent-mutants.toml";

/// The list: `[[mutant]]` with `path`, `place` (the function or constant), `change`, `code` (a part
/// of the line, which distinguishes places in the same function) and `reason`.
pub struct List(Vec<toml::Table>);

impl List {
    /// Fails if the file is missing or not TOML, or an entry lacks a key.
    pub fn read(root: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(root.join(PATH));
        let text = text.map_err(|error| format!("{PATH}: {error}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error| format!("{PATH}: {error}"))?;
        let entries = table.get("mutant").and_then(toml::Value::as_array);
        let mut list = Vec::new();
        for entry in entries.into_iter().flatten() {
            let entry = entry
                .as_table()
                .ok_or_else(|| format!("{PATH}: `mutant` is no table"))?;
            for key in ["path", "place", "change", "code", "reason"] {
                if entry
                    .get(key)
                    .and_then(toml::Value::as_str)
                    .is_none_or(str::is_empty)
                {
                    return Err(format!("{PATH}: `{key}` is missing in {entry}"));
                }
            }
            list.push(entry.clone());
        }
        Ok(Self(list))
    }

    /// Whether an entry describes this mutant.
    pub fn names(&self, mutant: &Mutant) -> bool {
        let Mutant {
            path,
            place,
            change,
            code,
            ..
        } = mutant;
        self.0.iter().any(|entry| {
            let is = |key: &str, value: &str| entry[key].as_str() == Some(value);
            let holds = entry["code"]
                .as_str()
                .is_some_and(|part| code.contains(part));
            is("path", path) && is("place", place) && is("change", change) && holds
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[[mutant]]\npath = \"a.rs\"\nplace = \"f\"\nchange = \"< made <=\"\n\
                        code = \"b < c\"\n";

    #[test]
    fn an_entry_names_a_mutant_by_its_line() {
        let list = List::parse(&format!("{TEXT}reason = \"b is never c\"")).expect("a list");
        let mutant = |code: &str| Mutant {
            path: "a.rs".to_owned(),
            line: 7,
            place: "f".to_owned(),
            change: "< made <=".to_owned(),
            code: code.to_owned(),
        };
        assert!(list.names(&mutant("if b < c {")));
        assert!(!list.names(&mutant("if c < b {")));
    }

    #[test]
    fn an_entry_without_a_reason_is_refused() {
        let error = List::parse(TEXT).err().expect("refused");
        assert!(
            error.starts_with("docs/equivalent-mutants.toml: `reason` is missing"),
            "{error}"
        );
    }
}
