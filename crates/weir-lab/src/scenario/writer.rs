//! Writes a table as TOML: the same table gives the same bytes.

use std::fmt::Write as _;
use weir_proto::settings::{Raw, Table};

/// The table as a TOML file.
pub(crate) fn write(table: &Table) -> String {
    let mut text = String::new();
    write_table(&mut text, table, "");
    text
}

/// Writes the table's own keys first, then the tables below it; `path` is its dotted name.
fn write_table(text: &mut String, table: &Table, path: &str) {
    for entry in &table.entries {
        if !matches!(entry.value.raw, Raw::Table(_) | Raw::Tables(_)) {
            text.push_str(&entry.key);
            text.push_str(" = ");
            write_value(text, &entry.value.raw);
            text.push('\n');
        }
    }
    let point = if path.is_empty() { "" } else { "." };
    let path_of = |key: &str| format!("{path}{point}{key}");
    for entry in &table.entries {
        match &entry.value.raw {
            Raw::Table(inner) => {
                let path = path_of(&entry.key);
                let _ = writeln!(text, "\n[{path}]");
                write_table(text, inner, &path);
            }
            Raw::Tables(list) => {
                let path = path_of(&entry.key);
                for inner in list {
                    let _ = writeln!(text, "\n[[{path}]]");
                    write_table(text, inner, &path);
                }
            }
            _ => {}
        }
    }
}

/// A value on one line. Text values are words, names and quantities, which need no escape; a float
/// keeps its decimal point, so that it is read back as a float.
pub(crate) fn inline(raw: &Raw) -> String {
    let mut text = String::new();
    write_value(&mut text, raw);
    text
}

fn write_value(text: &mut String, raw: &Raw) {
    // Writing to a string cannot fail.
    let _ = match raw {
        Raw::Text(word) => {
            text.push('"');
            text.push_str(word);
            text.push('"');
            Ok(())
        }
        Raw::Integer(number) => write!(text, "{number}"),
        Raw::Float(number) => write!(text, "{number:?}"),
        Raw::Boolean(value) => write!(text, "{value}"),
        Raw::Array(elements) => {
            text.push('[');
            for (place, element) in elements.iter().enumerate() {
                if place > 0 {
                    text.push_str(", ");
                }
                write_value(text, &element.raw);
            }
            text.push(']');
            Ok(())
        }
        Raw::Table(_) | Raw::Tables(_) | Raw::Other(_) => {
            text.push_str("{}");
            Ok(())
        }
    };
}
