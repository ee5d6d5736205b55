//! Writes a table as TOML: the same table gives the same bytes.

use std::fmt::Write as _;
use weir_proto::settings::{Raw, Table};

/// The table as a TOML file.
pub(crate) fn write(table: &Table) -> String {
    let mut text = String::new();
    write_table(&mut text, table, "");
    text
}

/// The table's own keys first, then the tables below it; `path` is its dotted name.
fn write_table(text: &mut String, table: &Table, path: &str) {
    for entry in &table.entries {
        if !matches!(entry.value.raw, Raw::Table(_) | Raw::Tables(_)) {
            let _ = writeln!(text, "{} = {}", entry.key, inline(&entry.value.raw));
        }
    }
    for entry in &table.entries {
        let point = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{point}{}", entry.key);
        match &entry.value.raw {
            Raw::Table(inner) => {
                let _ = writeln!(text, "\n[{path}]");
                write_table(text, inner, &path);
            }
            Raw::Tables(list) => {
                for inner in list {
                    let _ = writeln!(text, "\n[[{path}]]");
                    write_table(text, inner, &path);
                }
            }
            _ => {}
        }
    }
}

/// A value on one line. Texts are words, names and quantities, which hold nothing that needs an
/// escape; a float keeps its point, so that it is read back as a float.
pub(super) fn inline(raw: &Raw) -> String {
    match raw {
        Raw::Text(text) => format!("\"{text}\""),
        Raw::Integer(number) => number.to_string(),
        Raw::Float(number) => format!("{number:?}"),
        Raw::Boolean(value) => value.to_string(),
        Raw::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(|e| inline(&e.raw)).collect();
            format!("[{}]", elements.join(", "))
        }
        Raw::Table(_) | Raw::Tables(_) | Raw::Other(_) => "{}".to_owned(),
    }
}
