//! Changes values in the text of a scenario: everything else stays as it was written, comments and
//! layout too.
//!
//! The settings are put into the parsed document as those of `--set` are, and what then differs is
//! written into the text: a value that is there is replaced, a new key stands behind the last one
//! of its table. The new text is parsed again and compared, so that an edit either has the effect
//! of the settings or is refused.

use super::document::Document;
use super::error::{ScenarioError, line_and_column};
use super::overrides::{Override, applied};
use super::writer::{inline, key_of};
use std::ops::Range;
use weir_proto::settings::{KeyValue, Place, Raw, Spanned, Table};

/// The text with these settings; later ones take precedence.
///
/// # Errors
/// If the text is not TOML, or a setting cannot be put into it. Values are not checked.
pub fn edited(text: &str, file_name: &str, settings: &[Override]) -> Result<String, ScenarioError> {
    let before = Document::parse(text, file_name)?;
    let after = applied(before.clone(), settings)?;
    let mut edits = Edits {
        text,
        list: Vec::new(),
    };
    edits.table(&before.root, &after.root, None);
    let edited = edits.apply();
    let again = Document::parse(&edited, file_name);
    if again.is_ok_and(|again| is_same_table(&again.root, &after.root)) {
        return Ok(edited);
    }
    let source = before.sources.len() + settings.len().saturating_sub(1);
    let place = Place {
        source: source.min(after.sources.len().saturating_sub(1)),
        start: 0,
        end: settings.last().map_or(0, |setting| setting.path.len()),
    };
    let message = "the text has no place where this can be written".to_owned();
    let help = "write it into the table of the scenario by hand".to_owned();
    Err(after.error(place, message, Some(help)))
}

/// A span of a text; lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSpan {
    /// Line and column of its first character.
    pub start: (usize, usize),
    /// Line and column of the character after its last one.
    pub end: (usize, usize),
}

/// The place in the text of the setting with this path, or of the last of its steps that is
/// written there; `None` if the text is not TOML or has not even the first.
pub fn place_of(text: &str, path: &str) -> Option<TextSpan> {
    let document = Document::parse(text, "").ok()?;
    let steps: Vec<&str> = path.split('.').map(str::trim).collect();
    let place = deepest(&document.root, &steps)?;
    Some(TextSpan {
        start: line_and_column(text, place.start),
        end: line_and_column(text, place.end),
    })
}

/// True if the text itself has the key with this path.
pub fn is_written(text: &str, path: &str) -> bool {
    let Ok(document) = Document::parse(text, "") else {
        return false;
    };
    let steps: Vec<&str> = path.split('.').map(str::trim).collect();
    find(&document.root, &steps).is_some()
}

/// The value at a path.
pub(super) fn find<'a>(table: &'a Table, steps: &[&str]) -> Option<&'a Raw> {
    let (first, rest) = steps.split_first()?;
    let raw = &table.get(first)?.value.raw;
    if rest.is_empty() {
        return Some(raw);
    }
    match raw {
        Raw::Table(inner) => find(inner, rest),
        Raw::Array(elements) => {
            let (which, rest) = rest.split_first()?;
            let element = &element_of(elements, which)?.raw;
            if rest.is_empty() {
                return Some(element);
            }
            find(element.as_table()?, rest)
        }
        _ => None,
    }
}

/// The place of the last step that exists.
fn deepest(table: &Table, steps: &[&str]) -> Option<Place> {
    let (first, rest) = steps.split_first()?;
    let entry = table.get(first)?;
    let own = Place {
        end: entry.value.place.end.max(entry.place.end),
        ..entry.place
    };
    let below = match &entry.value.raw {
        Raw::Table(inner) => deepest(inner, rest),
        Raw::Array(elements) => rest.split_first().and_then(|(which, rest)| {
            let element = element_of(elements, which)?;
            let inner = element.raw.as_table();
            let below = inner.and_then(|inner| deepest(inner, rest));
            Some(below.unwrap_or(element.place))
        }),
        _ => None,
    };
    Some(below.unwrap_or(own))
}

/// The element of this name, host or number.
fn element_of<'a>(elements: &'a [Spanned], which: &str) -> Option<&'a Spanned> {
    let is_called = |element: &&Spanned| {
        let table = element.raw.as_table();
        let names = ["name", "host"].map(|key| table.and_then(|table| table.get(key)));
        let mut names = names.into_iter().flatten();
        names.any(|entry| entry.value.raw.as_text() == Some(which))
    };
    let named = elements.iter().find(is_called);
    named.or_else(|| elements.get(which.parse::<usize>().ok()?))
}

/// Changes of a text that have not been made.
struct Edits<'a> {
    text: &'a str,
    list: Vec<(Range<usize>, String)>,
}

impl Edits<'_> {
    /// Notes what a table has beyond what it had; `place` is that of a table with braces or a
    /// header, none of the root.
    fn table(&mut self, before: &Table, after: &Table, place: Option<Place>) {
        for entry in &after.entries {
            match before.get(&entry.key) {
                Some(known) => self.value(&known.value, &entry.value),
                None => self.add(before, entry, place),
            }
        }
    }

    fn value(&mut self, before: &Spanned, after: &Spanned) {
        if is_same(&before.raw, &after.raw) {
            return;
        }
        let was_written = before.place.source == after.place.source;
        match (&before.raw, &after.raw) {
            (Raw::Table(old), Raw::Table(new)) if was_written => {
                self.table(old, new, Some(before.place));
            }
            (Raw::Array(old), Raw::Array(new)) if was_written && old.len() == new.len() => {
                for (old, new) in old.iter().zip(new) {
                    self.value(old, new);
                }
            }
            (Raw::Array(old), Raw::Array(new)) if was_written && old.len() < new.len() => {
                for (old, new) in old.iter().zip(new) {
                    self.value(old, new);
                }
                // No element can be added to a list of tables but hosts, which have headers.
                self.add_hosts(new.get(old.len()..).unwrap_or_default());
            }
            (_, new) => {
                let range = before.place.start..before.place.end;
                self.list.push((range, inline(new)));
            }
        }
    }

    /// Notes a new key of a table.
    fn add(&mut self, table: &Table, entry: &KeyValue, place: Option<Place>) {
        let line = format!("{} = {}", key_of(&entry.key), inline(&entry.value.raw));
        let written = place.and_then(|place| self.text.get(place.start..place.end));
        if written.is_some_and(|written| written.starts_with('{')) {
            let end = place.map_or(0, |place| place.end).saturating_sub(1);
            let inside = self.text.get(..end).unwrap_or_default().trim_end();
            let joint = if inside.ends_with('{') { " " } else { ", " };
            self.list
                .push((inside.len()..end, format!("{joint}{line} ")));
            return;
        }
        let lines = table.entries.iter().filter(|entry| self.is_line(entry));
        let last = lines.map(|entry| entry.value.place.end).max();
        let after = last.or(place.map(|place| place.end));
        match after {
            Some(after) => {
                let rest = self.text.get(after..).unwrap_or_default();
                let at = after + rest.find('\n').unwrap_or(rest.len());
                self.list.push((at..at, format!("\n{line}")));
            }
            None => self.list.push((0..0, format!("{line}\n"))),
        }
    }

    /// Notes new hosts, at the end of the text.
    fn add_hosts(&mut self, hosts: &[Spanned]) {
        let end = self.text.len();
        for host in hosts.iter().filter_map(|host| host.raw.as_table()) {
            let keys = host.entries.iter();
            let keys = keys
                .map(|entry| format!("{} = {}\n", key_of(&entry.key), inline(&entry.value.raw)));
            let lines: String = keys.collect();
            self.list.push((end..end, format!("\n[[host]]\n{lines}")));
        }
    }

    /// True for a key with its value on a line, and not for a table with a header of its own.
    fn is_line(&self, entry: &KeyValue) -> bool {
        let between = self.text.get(entry.place.end..entry.value.place.start);
        between.is_some_and(|between| between.trim_matches(['"', '\'', ' ', '\t']) == "=")
    }

    /// The text with all changes; of changes at one place the first comes first.
    fn apply(mut self) -> String {
        self.list.sort_by_key(|(range, _)| range.start);
        let mut edited = String::with_capacity(self.text.len() + 64);
        let mut done = 0;
        for (range, new) in &self.list {
            edited.push_str(self.text.get(done..range.start).unwrap_or_default());
            edited.push_str(new);
            done = done.max(range.end);
        }
        edited.push_str(self.text.get(done..).unwrap_or_default());
        edited
    }
}

/// True if both have the same value, wherever it was written.
fn is_same(a: &Raw, b: &Raw) -> bool {
    match (a, b) {
        (Raw::Table(a), Raw::Table(b)) => is_same_table(a, b),
        (Raw::Array(a), Raw::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(&a.raw, &b.raw))
        }
        _ => a == b,
    }
}

fn is_same_table(a: &Table, b: &Table) -> bool {
    let same = |entry: &KeyValue| {
        let other = b.get(&entry.key);
        other.is_some_and(|other| is_same(&entry.value.raw, &other.value.raw))
    };
    a.entries.len() == b.entries.len() && a.entries.iter().all(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# A path.
[run]
duration = \"10s\" # ten seconds

[[link]]
name = \"path\"
between = [\"a\", \"b\"]
rate = \"1Mbit\"   # the bottleneck
queue = \"codel\"
loss = { kind = \"random\", rate = 0.02 }

[[flow]]
name = \"bulk\"
from = \"a\"
to = \"b\"

[flow.transport]
kind = \"tcp\"
";

    fn after(settings: &[(&str, &str)]) -> String {
        let settings: Vec<Override> = settings
            .iter()
            .map(|(path, value)| Override {
                path: (*path).to_owned(),
                value: (*value).to_owned(),
            })
            .collect();
        edited(TEXT, "a.toml", &settings).expect("an edit")
    }

    /// What was replaced in [`TEXT`].
    fn replaced(old: &str, new: &str) -> String {
        assert_eq!(TEXT.matches(old).count(), 1, "{old}");
        TEXT.replace(old, new)
    }

    #[test]
    fn a_value_changes_and_its_comment_stays() {
        let (old, new) = ("\"1Mbit\"   # the", "\"5Mbit\"   # the");
        assert_eq!(after(&[("link.path.rate", "5Mbit")]), replaced(old, new));
        assert_eq!(after(&[("link.*.rate", "5Mbit")]), replaced(old, new));
        assert_eq!(after(&[("link.path.rate", "1Mbit")]), TEXT);
        let twice = [("link.path.rate", "2Mbit"), ("link.path.rate", "5Mbit")];
        assert_eq!(after(&twice), replaced(old, new));
        let loss = replaced("rate = 0.02", "rate = 0.5");
        assert_eq!(after(&[("link.path.loss.rate", "0.5")]), loss);
    }

    #[test]
    fn a_new_key_stands_behind_the_last_of_its_table() {
        let seed = replaced("# ten seconds\n", "# ten seconds\nseed = 7\n");
        assert_eq!(after(&[("run.seed", "7")]), seed);
        let controller = replaced(
            "kind = \"tcp\"\n",
            "kind = \"tcp\"\ncontroller = \"cubic\"\n",
        );
        let set = [("flow.bulk.transport.controller", "cubic")];
        assert_eq!(after(&set), controller);
        let burst = replaced("rate = 0.02 }", "rate = 0.02, x = 1 }");
        assert_eq!(after(&[("link.path.loss.x", "1")]), burst);
        let app = replaced(
            "to = \"b\"\n",
            "to = \"b\"\napp = { kind = \"cbr\", rate = \"1Mbit\" }\n",
        );
        let set = [
            ("flow.bulk.app.kind", "cbr"),
            ("flow.bulk.app.rate", "1Mbit"),
        ];
        assert_eq!(after(&set), app);
    }

    #[test]
    fn a_word_becomes_a_table_and_a_host_gets_an_entry() {
        let queue = replaced("\"codel\"", "{ kind = \"codel\", limit = 20 }");
        assert_eq!(after(&[("link.path.queue.limit", "20")]), queue);
        let host = "host = [{ name = \"a\", transmit_delay = \"1ms\" }]\n";
        let set = [("host.a.transmit_delay", "1ms")];
        assert_eq!(after(&set), format!("{host}{TEXT}"));
    }

    #[test]
    fn what_cannot_be_written_is_an_error_and_never_another_text() {
        let set = |path: &str, value: &str| Override {
            path: path.to_owned(),
            value: value.to_owned(),
        };
        // The table has a header, which a word cannot replace.
        let refused = edited(TEXT, "a.toml", &[set("flow.bulk.transport", "tcp")]);
        assert!(refused.is_err(), "{refused:?}");
        assert!(edited(TEXT, "a.toml", &[set("link.other.rate", "1Mbit")]).is_err());
        assert!(edited("= 1", "a.toml", &[set("run.seed", "1")]).is_err());
        let odd = edited(TEXT, "a.toml", &[set("run.a b", "\"q\\\"uote")]).expect("an edit");
        assert!(odd.contains("\"a b\" = "), "{odd}");
    }

    #[test]
    fn a_setting_is_found_in_the_text() {
        let at = |path: &str| place_of(TEXT, path).map(|span| span.start);
        assert_eq!(at("link.path.loss.rate"), Some((10, 27)));
        assert_eq!(at("link.path.queue"), Some((9, 1)));
        assert_eq!(at("link.path.delay"), Some((5, 1)));
        assert_eq!(at("wifi.air.rate"), None);
    }
}
