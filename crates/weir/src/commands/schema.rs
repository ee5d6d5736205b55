//! `weir schema [DOCUMENT]`: the JSON Schema of the scenario, or of what a command prints with
//! `--json`, for editors and other programs.

use super::compare::CompareDocument;
use super::fit::FitDocument;
use super::lint::LintDocument;
use super::new::NewDocument;
use super::runs::RunsDocument;
use super::sweep::SweepDocument;
use super::theory::TheoryDocument;
use crate::arguments::FilesDocument;
use crate::exit::{ErrorDocument, Failure};
use crate::measure::BloatDocument;
use crate::terminal;
use clap::{Args, ValueEnum};
use serde_json::Value;
use weir_lab::evaluation::Evaluation;
use weir_lab::experiment::Reproduction;
use weir_lab::json::schema;
use weir_lab::suite::SuiteResult;
use weir_lab::yearbook::Yearbook;

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
    /// What `weir run --json` and `weir testbed --json` print
    Run,
    /// What `weir compare --json` prints of runs and sweeps
    Compare,
    /// What `weir reproduce --json` prints, and `result.json` of its report
    Reproduce,
    /// What `weir evaluate --json` prints, and `result.json` of its report
    Evaluate,
    /// What `weir yearbook --json` prints, and `result.json` of its folder
    Yearbook,
    /// What `weir suite --json` prints, and `result.json` of its report
    Suite,
    /// What `weir sweep --json` prints
    Sweep,
    /// What `weir fit --json` prints
    Fit,
    /// What `weir explain --json` prints
    #[value(alias = "explain")]
    Explanation,
    /// What `weir lint --json` prints
    Lint,
    /// What `weir theory --json` prints
    Theory,
    /// What `weir bloat --json` prints
    Bloat,
    /// What `weir new --json` prints
    New,
    /// What commands print with `--json` that write files: `plot`, `export`, `man`
    Files,
    /// What every command prints with `--json` if it fails
    Error,
}

impl Document {
    fn schema(self) -> Value {
        match self {
            Self::Scenario => weir_lab::scenario::schema(),
            Self::Run => schema::<RunsDocument<'_>>("Weir run"),
            Self::Compare => schema::<CompareDocument<'_>>("Weir comparison"),
            Self::Reproduce => schema::<Reproduction>("Weir reproduction"),
            Self::Evaluate => schema::<Evaluation>("Weir evaluation"),
            Self::Yearbook => schema::<Yearbook>("Weir yearbook"),
            Self::Suite => schema::<SuiteResult>("Weir suite"),
            Self::Sweep => schema::<SweepDocument<'_>>("Weir sweep"),
            Self::Fit => schema::<FitDocument<'_>>("Weir fit"),
            Self::Explanation => weir_lab::diagnosis::explanation_schema(),
            Self::Lint => schema::<LintDocument<'_>>("Weir lint"),
            Self::Theory => schema::<TheoryDocument<'_>>("Weir theory"),
            Self::Bloat => schema::<BloatDocument>("Weir bloat"),
            Self::New => schema::<NewDocument>("Weir new"),
            Self::Files => schema::<FilesDocument<'_>>("Weir files"),
            Self::Error => schema::<ErrorDocument>("Weir error"),
        }
    }
}

/// Prints the schema.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let schema = arguments.document.schema();
    Ok(terminal::print(&format!("{schema:#}\n"))?)
}
