//! The reference of scenario files in Markdown, from the declarations that reader and writer use.

use super::Scenario;
use super::writer::inline;
use std::fmt::Write as _;
use weir_proto::cc::{media, window};
use weir_proto::settings::{
    FieldKind, Keyword, Kind, Presence, Raw, Table, TableKind, describe, plain_doc,
};
use weir_proto::units::{DURATION, Quantity, RATE, SIZE};

/// The reference: every table and key with its possible values, its default and its meaning.
pub fn reference() -> String {
    let mut pages = Pages::default();
    pages.table("", &describe(&Scenario::default()));
    let (rules, everyday): (Vec<Page>, Vec<Page>) =
        pages.written.into_iter().partition(Page::has_rules);
    let text_of = |pages: Vec<Page>| pages.into_iter().map(|page| page.text).collect::<String>();
    introduction() + &text_of(everyday) + ALL_RULES + &text_of(rules)
}

/// Keys of tables with the single rules of transports and media; those with controllers' constants
/// have the controllers' names.
const RULES: [&str; 2] = ["header", "overrides"];

const ALL_RULES: &str = "\n## All rules of transports and controllers\n\n\
    A preset (`profile`, `rules`) or a standard gives each of these its value. They are for the \
    study of a single rule.\n";

fn introduction() -> String {
    let words = |quantity: &Quantity| {
        let words: Vec<String> = quantity
            .unit_words()
            .map(|word| format!("`{word}`"))
            .collect();
        words.join(", ")
    };
    format!(
        "# Scenario files\n\n\
         Every table and key of a scenario. This page is made from the declarations in the code; \
         `WEIR_BLESS=1 cargo test -p weir-lab --test it scenario_reference` writes it anew. `weir \
         schema` prints the same as a JSON Schema for editors.\n\n\
         | value | is written as |\n|---|---|\n\
         | duration | a text with {} |\n\
         | duration range | a duration, or the least and the greatest of those that are drawn, such \
         as `\"0s..1s\"`: uniformly, from the seed of the run |\n\
         | bit rate | a text with {}; `mbps` is refused, because it is bytes per second to tc |\n\
         | bytes | a whole number, or a text with {} |\n\
         | fraction | a number from 0 to 1, or a text in percent such as `\"2%\"` |\n\
         | switch | `true` or `false`, or `\"on\"` or `\"off\"` |\n\
         | name | 1 to 64 letters, digits, `_` and `-`, of which the first is a letter or digit |\n\n\
         A table with a key `kind` has the keys of that kind; the word alone stands for the table \
         without other keys: `queue = \"codel\"`. The single rules of transports and \
         controllers come [last](#all-rules-of-transports-and-controllers). Values of the command line \
         (`--set flow.NAME.transport.tfrc.oscillation=off`) name the same keys.\n",
        words(&DURATION),
        words(&RATE),
        words(&SIZE)
    )
}

/// A table or a set of kinds that has been written.
struct Page {
    title: String,
    kind: Kind,
    text: String,
}

#[derive(Default)]
struct Pages {
    written: Vec<Page>,
}

impl Pages {
    /// Writes a table and everything below it; `path` is empty for the whole file.
    fn table(&mut self, path: &str, table: &TableKind) {
        let mut text = String::new();
        if !table.fields.is_empty() {
            text += "\n| key | value | default | meaning |\n|---|---|---|---|\n";
        }
        let at = self.written.len();
        let kind = Kind::Table(table.clone());
        self.open(path, kind);
        let mut below = String::new();
        for field in &table.fields {
            text += &self.row(path, field);
        }
        presets(&mut below, table);
        let page = &mut self.written[at];
        page.text = page.text.clone() + &text + &below;
    }

    /// Starts a page with its heading.
    fn open(&mut self, path: &str, kind: Kind) {
        let text = if path.is_empty() {
            String::new()
        } else {
            format!("\n## {path}\n")
        };
        self.written.push(Page {
            title: path.to_owned(),
            kind,
            text,
        });
    }

    fn row(&mut self, path: &str, field: &FieldKind) -> String {
        let FieldKind { key, kind, .. } = field;
        let mut meaning = plain_doc(field.doc);
        let value = if kind.is_table() {
            let title = self.below(path, key, kind);
            format!("[`{title}`](#{})", anchor(&title))
        } else {
            let mut words = Vec::new();
            let value = value(kind, &mut words);
            for word in words {
                let _ = write!(meaning, "<br>`\"{}\"`: {}", word.word, plain_doc(word.doc));
            }
            value
        };
        let default = match (&field.default, field.presence) {
            (_, Presence::Required) => "required".to_owned(),
            (Some(default), _) => format!("`{}`", inline(default)),
            (None, Presence::Optional) => String::new(),
        };
        let meaning = meaning.replace('|', "\\|");
        format!("| `{key}` | {value} | {default} | {meaning} |\n")
    }

    /// Writes the value of a key, unless an equal one has been written already; returns its title.
    fn below(&mut self, path: &str, key: &str, kind: &Kind) -> String {
        let dotted = if path.is_empty() {
            key.to_owned()
        } else {
            let path = path.trim_start_matches('[').trim_end_matches(']');
            format!("{path}.{key}")
        };
        let same = |page: &&Page| page.kind == *kind || Kind::Tables(page.table()) == *kind;
        if let Some(page) = self.written.iter().find(same) {
            return page.title.clone();
        }
        match kind {
            Kind::Table(table) => {
                let title = if path.is_empty() {
                    format!("[{dotted}]")
                } else {
                    dotted
                };
                self.table(&title, table);
                title
            }
            Kind::Tables(table) => {
                let title = format!("[[{dotted}]]");
                self.table(&title, table);
                title
            }
            Kind::Variants(variants) => {
                let at = self.written.len();
                self.open(&dotted, kind.clone());
                let mut text = "\n| kind | meaning |\n|---|---|\n".to_owned();
                for variant in variants {
                    let (word, doc) = (variant.keyword.word, plain_doc(variant.keyword.doc));
                    if variant.table.fields.is_empty() {
                        let _ = writeln!(text, "| `{word}` | {doc} |");
                        continue;
                    }
                    let title = format!("{dotted} = {word}");
                    let same = |page: &&Page| page.table() == variant.table;
                    let known = self
                        .written
                        .iter()
                        .find(same)
                        .map(|page| page.title.clone());
                    let title = known.unwrap_or_else(|| {
                        self.table(&title, &variant.table);
                        title
                    });
                    let _ = writeln!(text, "| [`{word}`](#{}) | {doc} |", anchor(&title));
                }
                for variant in variants {
                    if let Some(inner) = variant.alone {
                        let word = variant.keyword.word;
                        let _ = writeln!(
                            text,
                            "\nA value alone is the `{inner}` of `{word}`: `{key} = \"1%\"`."
                        );
                    }
                }
                self.written[at].text += &text;
                dotted
            }
            _ => dotted,
        }
    }
}

impl Page {
    /// True for the tables of [`RULES`] and of controllers, and everything below them.
    fn has_rules(&self) -> bool {
        let keys = || self.title.split(['.', ' ', '[', ']']);
        // A controller may be called like a word of another table.
        let of_transport = keys().any(|key| key == "transport");
        let media = media::Controller::keywords();
        let is_controller = |key| {
            let of_media = media.iter().any(|controller| controller.word == key);
            of_transport && (of_media || window::names().any(|name| name == key))
        };
        keys().any(|key| RULES.contains(&key) || is_controller(key))
    }

    fn table(&self) -> TableKind {
        match &self.kind {
            Kind::Table(table) => table.clone(),
            _ => TableKind::default(),
        }
    }
}

/// A short description of the possible values; documented keywords are added to the list.
fn value(kind: &Kind, documented: &mut Vec<Keyword>) -> String {
    let unit_of = |unit: &str| {
        if unit.is_empty() {
            String::new()
        } else {
            format!(" {unit}")
        }
    };
    match kind {
        Kind::Boolean => "switch".to_owned(),
        Kind::Integer { min, max, unit } => {
            let most = if *max == i64::MAX as u64 {
                "…".to_owned()
            } else {
                max.to_string()
            };
            format!("{min} to {most}{}", unit_of(unit))
        }
        Kind::Number { min, max, unit } if max.is_finite() => {
            format!("number from {min} to {max}{}", unit_of(unit))
        }
        Kind::Number { min, unit, .. } => format!("number from {min}{}", unit_of(unit)),
        Kind::Fraction => "fraction".to_owned(),
        Kind::Quantity(quantity) if **quantity == RATE => "bit rate".to_owned(),
        Kind::Quantity(quantity) if **quantity == SIZE => "bytes as a text".to_owned(),
        Kind::Quantity(quantity) => quantity.name().to_owned(),
        Kind::Duration { min, max } => format!("duration from {min} to {max}"),
        Kind::Range(quantity) => format!("{} range", quantity.name()),
        Kind::Bytes { min, max } => format!("{min} to {max} bytes"),
        Kind::Name => "name".to_owned(),
        Kind::Text(what) => (*what).to_owned(),
        Kind::Keywords(keywords) => {
            documented.extend(keywords.iter().filter(|keyword| !keyword.doc.is_empty()));
            let word = |keyword: &Keyword| format!("`\"{}\"`", keyword.word);
            keywords.iter().map(word).collect::<Vec<_>>().join(", ")
        }
        Kind::AnyOf(kinds) => {
            let kinds: Vec<String> = kinds.iter().map(|kind| value(kind, documented)).collect();
            kinds.join(", ")
        }
        Kind::List { of, len } => {
            let length = len.1.map_or(String::new(), |most| format!("{most} "));
            format!("list of {length}{}", value(of, documented))
        }
        Kind::Table(_) | Kind::Tables(_) | Kind::Variants(_) => String::new(),
    }
}

/// The values of presets, for each key in which presets differ.
fn presets(text: &mut String, table: &TableKind) {
    let Some(first) = table.presets.first() else {
        return;
    };
    let names: Vec<String> = table
        .presets
        .iter()
        .map(|p| format!("`{}`", p.name))
        .collect();
    let _ = write!(
        text,
        "\n| key by `{}` | {} |\n|---|",
        first.key,
        names.join(" | ")
    );
    let _ = writeln!(text, "{}", "---|".repeat(names.len()));
    let columns: Vec<Vec<(String, String)>> = table
        .presets
        .iter()
        .map(|preset| leaves("", &preset.table))
        .collect();
    for (row, (key, value)) in columns[0].iter().enumerate() {
        if *key == first.key || columns.iter().all(|column| column[row].1 == *value) {
            continue;
        }
        let values: Vec<String> = columns.iter().map(|c| format!("`{}`", c[row].1)).collect();
        let _ = writeln!(text, "| `{key}` | {} |", values.join(" | "));
    }
}

/// All scalar values of a table with their dotted keys.
fn leaves(path: &str, table: &Table) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in &table.entries {
        let key = format!("{path}{}", entry.key);
        match &entry.value.raw {
            Raw::Table(inner) => all.extend(leaves(&format!("{key}."), inner)),
            Raw::Tables(_) => {}
            raw => all.push((key, inline(raw))),
        }
    }
    all
}

/// The anchor of a heading in Markdown.
fn anchor(title: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || c == ' ' || c == '_' || c == '-';
    let kept: String = title.chars().filter(|&c| kept(c)).collect();
    kept.to_lowercase().replace(' ', "-")
}
