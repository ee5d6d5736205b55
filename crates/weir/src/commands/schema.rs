//! `weir schema [DOCUMENT]`: the JSON Schema of the scenario, or of what `explain` prints, for
//! editors and other programs.

use crate::exit::Failure;
use crate::terminal;
use clap::{Args, ValueEnum};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The document
    #[arg(default_value = "scenario")]
    document: Document,
    /// Accepted for symmetry; the schema is JSON in any case
    #[arg(long)]
    json: bool,
}

/// A document with a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Document {
    /// A scenario, in TOML
    Scenario,
    /// What `weir explain --json` prints
    Explanation,
}

/// Prints the schema.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let schema = match arguments.document {
        Document::Scenario => weir_lab::scenario::schema(),
        Document::Explanation => weir_lab::diagnosis::explanation_schema(),
    };
    Ok(terminal::print(&format!("{schema:#}\n"))?)
}
