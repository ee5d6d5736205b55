//! The repository rules that rustfmt, clippy and cargo-deny cannot check, with one rule or family
//! of rules in each file.

mod budget;
mod circles;
mod documents;
mod functions;
mod layering;
mod layout;
mod machine;
mod vectors;

use std::fmt;
use std::path::Path;

use crate::modules::Crate;
#[cfg(test)]
use crate::source::Source;
use crate::{output, tree};

/// A place that violates a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Violation {
    pub path: String,
    pub line: usize,
    pub message: String,
}

impl Violation {
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Prints every violation; true if there is none.
pub fn run(root: &Path) -> Result<bool, String> {
    let files = tree::text_files(root)?;
    let sources = tree::sources(&files)?;
    let crates = Crate::all(&sources);

    let mut violations: Vec<Violation> = files.iter().flat_map(machine::check).collect();
    violations.extend(files.iter().flat_map(layering::manifest));
    violations.extend(sources.iter().flat_map(layout::check));
    violations.extend(sources.iter().flat_map(layering::in_source));
    violations.extend(crates.iter().flat_map(layering::in_crate));

    violations.extend(sources.iter().flat_map(functions::check));
    violations.extend(crates.iter().flat_map(circles::check));
    violations.extend(vectors::check(&sources));
    violations.extend(budget::check(&sources));
    violations.extend(documents::check(&files));
    violations.sort();
    for violation in &violations {
        output::line(violation);
    }
    let (all, rust) = (files.len(), sources.len());
    let found = violations.len();
    eprintln!("tidy: {found} violations in {all} files, {rust} of them Rust");
    Ok(violations.is_empty())
}

/// Rust files with these paths and texts.
#[cfg(test)]
fn sources(files: &[(&str, &str)]) -> Vec<Source> {
    let files = files.iter();
    let parsed = files.map(|(path, text)| Source::new(path, text));
    parsed.collect::<Result<_, _>>().expect("valid Rust")
}

/// The lines of the violations of one rule in one file.
#[cfg(test)]
fn lines(rule: fn(&Source) -> Vec<Violation>, path: &str, text: &str) -> Vec<usize> {
    let found = sources(&[(path, text)]);
    let found = found.iter().flat_map(rule);
    found.map(|violation| violation.line).collect()
}
