//! Reads the tree of a file into sections: every key that nobody named is an error.

use super::document::{Document, Node, Place, Table, Value as Tree};
use super::error::{Problem, ScenarioError, suggestion};
use super::visit::{List, Need, Purpose, Section, Value, Variants, Visitor};

/// Something wrong, and how much it explains: an unknown key explains a missing one.
struct Finding {
    place: Place,
    problem: Problem,
    missing: bool,
}

/// Reads the whole document into `section`.
///
/// # Errors
/// What is wrong first in the order of the file, unknown keys before missing ones.
pub(crate) fn read(document: &Document, section: &mut dyn Section) -> Result<(), ScenarioError> {
    let mut findings = Vec::new();
    let title = "the scenario".to_owned();
    read_table(
        &mut findings,
        &document.root,
        (title, Place::default()),
        section,
    );
    let first = findings
        .into_iter()
        .min_by_key(|f| (f.missing, f.place.source == 0, f.place.span.start));
    match first {
        None => Ok(()),
        Some(Finding { place, problem, .. }) => {
            Err(document.error(&place, problem.message, problem.help))
        }
    }
}

fn read_table(
    findings: &mut Vec<Finding>,
    table: &Table,
    (title, place): (String, Place),
    section: &mut dyn Section,
) {
    let mut reader = Reader {
        table,
        place,
        title,
        known: Vec::new(),
        without_kind: false,
        findings,
    };
    section.visit(&mut reader);
    reader.finish();
}

/// One table being read.
struct Reader<'a> {
    table: &'a Table,
    /// Where its absence of something is shown.
    place: Place,
    /// What people call it: `[[link]]`, `queue of [[link]]`.
    title: String,
    known: Vec<&'static str>,
    /// Nobody can say which keys belong here.
    without_kind: bool,
    findings: &'a mut Vec<Finding>,
}

impl<'a> Reader<'a> {
    fn find(&mut self, key: &'static str) -> Option<&'a Node> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.table.get(key).map(|entry| &entry.node)
    }

    fn report(&mut self, place: &Place, problem: Problem) {
        self.findings.push(Finding {
            place: place.clone(),
            problem,
            missing: false,
        });
    }

    fn report_missing(&mut self, key: &str, doc: &str) {
        self.findings.push(Finding {
            place: self.place.clone(),
            problem: Problem::new(
                format!("{} has no \"{key}\"", self.title),
                format!("{key}: {}", first_sentence(doc)),
            ),
            missing: true,
        });
    }

    fn title_of(&self, key: &str) -> String {
        if self.title == "the scenario" {
            format!("[{key}]")
        } else {
            format!("{key} of {}", self.title)
        }
    }

    fn expect_table(&mut self, node: &'a Node, title: &str) -> Option<&'a Table> {
        if let Tree::Table(table) = &node.value {
            return Some(table);
        }
        let found = node.value.describe();
        self.report(
            &node.place,
            Problem::new(
                format!("{title} must be a table, found {found}"),
                "write { KEY = VALUE, … }",
            ),
        );
        None
    }

    /// Reports the keys that nobody named.
    fn finish(self) {
        if self.without_kind {
            return;
        }
        for entry in &self.table.entries {
            if self.known.contains(&entry.key.as_str()) {
                continue;
            }
            let key = shortened(&entry.key);
            self.findings.push(Finding {
                place: entry.place.clone(),
                problem: Problem::new(
                    format!("unknown key \"{key}\" in {}", self.title),
                    suggestion(&entry.key, "keys here", &self.known),
                ),
                missing: false,
            });
        }
    }
}

impl Visitor for Reader<'_> {
    fn purpose(&self) -> Purpose {
        Purpose::Read
    }

    fn value(&mut self, key: &'static str, doc: &'static str, need: Need, value: &mut dyn Value) {
        match self.find(key) {
            Some(node) => {
                if let Err(mut problem) = value.read(node) {
                    problem.message = format!("{key}: {}", problem.message);
                    self.report(&node.place, problem);
                }
            }
            None if need == Need::Required => self.report_missing(key, doc),
            None => {}
        }
    }

    fn kind(&mut self, variants: &mut dyn Variants) -> bool {
        let Some(node) = self.find("kind") else {
            let words: Vec<&str> = variants.kinds().iter().map(|(word, _)| *word).collect();
            self.report_missing("kind", &format!("one of {}", words.join(", ")));
            self.without_kind = true;
            return false;
        };
        match read_kind(node, variants) {
            Ok(word) => {
                if word != variants.kind() {
                    variants.set_kind(word);
                }
                true
            }
            Err(problem) => {
                self.report(&node.place, problem);
                self.without_kind = true;
                false
            }
        }
    }

    fn section(&mut self, key: &'static str, _doc: &'static str, section: &mut dyn Section) {
        let title = self.title_of(key);
        let Some(node) = self.find(key) else {
            // A section that is not there is read as an empty one: it may need a key.
            let place = (title, self.place.clone());
            read_table(self.findings, &Table::default(), place, section);
            return;
        };
        if let Some(table) = self.expect_table(node, &title) {
            let place = (title, node.place.clone());
            read_table(self.findings, table, place, section);
        }
    }

    fn variants(
        &mut self,
        key: &'static str,
        doc: &'static str,
        need: Need,
        variants: &mut dyn Variants,
    ) {
        let title = self.title_of(key);
        if variants.kinds().is_empty() && self.table.get(key).is_none() {
            // A key of a later version: nobody should be told to write it.
            return;
        }
        let Some(node) = self.find(key) else {
            if need == Need::Required {
                self.report_missing(key, doc);
            }
            return;
        };
        let Some(table) = self.expect_table(node, &title) else {
            return;
        };
        let place = (title, node.place.clone());
        read_table(self.findings, table, place, &mut Tagged(variants));
    }

    fn list(&mut self, key: &'static str, _doc: &'static str, list: &mut dyn List) {
        let Some(node) = self.find(key) else { return };
        let title = format!("[[{key}]]");
        let Tree::Array(nodes) = &node.value else {
            let found = node.value.describe();
            let message = format!("\"{key}\" must be a list of tables, found {found}");
            self.report(
                &node.place,
                Problem::new(message, format!("write {title} with two brackets")),
            );
            return;
        };
        for node in nodes {
            list.push();
            let last = list.len() - 1;
            let Some(table) = self.expect_table(node, &title) else {
                continue;
            };
            if let Some(section) = list.get(last) {
                let place = (title.clone(), node.place.clone());
                read_table(self.findings, table, place, section);
            }
        }
    }
}

/// A section whose first key, `kind`, says which keys follow.
struct Tagged<'a>(&'a mut dyn Variants);

impl Section for Tagged<'_> {
    fn visit(&mut self, visitor: &mut dyn Visitor) {
        if visitor.kind(self.0) {
            self.0.visit(visitor);
        }
    }
}

/// The word of `kinds` that the node holds.
fn read_kind(node: &Node, variants: &dyn Variants) -> Result<&'static str, Problem> {
    let words: Vec<&'static str> = variants.kinds().iter().map(|(word, _)| *word).collect();
    let Tree::Text(text) = &node.value else {
        return Err(Problem::new(
            format!("kind: expected a word, found {}", node.value.describe()),
            format!("kinds: {}", words.join(", ")),
        ));
    };
    if let Some(word) = words.iter().find(|word| *word == text) {
        return Ok(word);
    }
    let text = shortened(text);
    if variants.later().contains(&text.as_str()) {
        let help = match words.as_slice() {
            [] => "there is no kind yet: leave the table out".to_owned(),
            words => format!("kinds that exist: {}", words.join(", ")),
        };
        return Err(Problem::new(
            format!("kind: \"{text}\" is not available yet"),
            help,
        ));
    }
    Err(Problem::new(
        format!("kind: there is no \"{text}\" here"),
        suggestion(&text, "kinds", &words),
    ))
}

/// A user's word, short enough for a message.
pub(crate) fn shortened(word: &str) -> String {
    if word.chars().count() <= 40 {
        return word.to_owned();
    }
    word.chars().take(40).chain(['…']).collect()
}

fn first_sentence(doc: &str) -> String {
    let end = doc.find(". ").unwrap_or(doc.len());
    let sentence = doc[..end].trim_end_matches('.');
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(chars).collect()
    })
}
