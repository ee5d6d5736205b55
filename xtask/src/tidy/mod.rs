//! The house rules that no compiler holds, one idea a file.

mod circles;
mod dependencies;
mod functions;
mod layout;
mod machine;
mod purity;
mod rooms;

use std::fmt;
use std::path::Path;

use crate::lexed::Source;
use crate::{output, tree};

/// One place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breach {
    pub path: String,
    pub line: usize,
    pub message: String,
}

impl Breach {
    pub fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// A rule about one Rust file.
type SourceRule = fn(&Source) -> Vec<Breach>;

const SOURCE_RULES: [SourceRule; 8] = [
    purity::check,
    rooms::transports_stay_apart,
    rooms::stages_leave_the_body_alone,
    rooms::formats_stay_in_the_trace,
    rooms::units_are_parsed_once,
    layout::roots_forbid_unsafe_code,
    layout::lines_and_files_stay_short,
    layout::nothing_is_left_to_do,
];

/// Prints every breach; true when there is none.
pub fn run(root: &Path) -> Result<bool, String> {
    let files = tree::text_files(root)?;
    let sources = tree::sources(&files);
    let mut breaches: Vec<Breach> = sources
        .iter()
        .flat_map(|source| SOURCE_RULES.iter().flat_map(|rule| rule(source)))
        .collect();
    for file in &files {
        breaches.extend(machine::check(&file.path, &file.text));
        breaches.extend(rooms::arrows_between_crates(&file.path, &file.text));
        breaches.extend(purity::foundations_are_known(&file.path, &file.text));
    }
    breaches.extend(dependencies::check(root)?);
    let parsed = tree::parsed(&files)?;
    let mut warnings: Vec<Breach> = parsed.iter().flat_map(functions::check).collect();
    warnings.extend(circles::check(&parsed));
    breaches.sort();
    warnings.sort();
    for breach in &warnings {
        output::line(format_args!("warning: {breach}"));
    }
    for breach in &breaches {
        output::line(breach);
    }
    let (files, rust, found) = (files.len(), sources.len(), breaches.len());
    let warned = warnings.len();
    eprintln!("tidy: {found} breaches, {warned} warnings in {files} files, {rust} of them Rust");
    Ok(breaches.is_empty())
}

/// The lines of a snippet at which a rule finds something.
#[cfg(test)]
fn found(rule: SourceRule, path: &str, text: &str) -> Vec<usize> {
    rule(&Source::new(path, text))
        .into_iter()
        .map(|breach| breach.line)
        .collect()
}
