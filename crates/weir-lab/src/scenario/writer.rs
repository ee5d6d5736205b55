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

/// A value on one line. Words, names and quantities need no escape; a float keeps its decimal
/// point, so that it is read back as a float.
pub(crate) fn inline(raw: &Raw) -> String {
    let mut text = String::new();
    write_value(&mut text, raw);
    text
}

fn write_value(text: &mut String, raw: &Raw) {
    // Writing to a string cannot fail.
    let _ = match raw {
        Raw::Text(word) => {
            write_text(text, word);
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
        Raw::Table(table) if !table.entries.is_empty() => {
            text.push_str("{ ");
            for (place, entry) in table.entries.iter().enumerate() {
                if place > 0 {
                    text.push_str(", ");
                }
                text.push_str(&key_of(&entry.key));
                text.push_str(" = ");
                write_value(text, &entry.value.raw);
            }
            text.push_str(" }");
            Ok(())
        }
        Raw::Table(_) | Raw::Tables(_) | Raw::Other(_) => {
            text.push_str("{}");
            Ok(())
        }
    };
}

/// A text in quotes. What a user typed may need escapes.
fn write_text(text: &mut String, word: &str) {
    text.push('"');
    for c in word.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\u{:04x}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
}

/// A key as it is written: in quotes if it needs them.
pub(crate) fn key_of(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut text = String::new();
    if !key.is_empty() && key.chars().all(is_bare) {
        text.push_str(key);
    } else {
        write_text(&mut text, key);
    }
    text
}
