//! Published experiments: what was published, what was measured, and the verdict.
//!
//! An experiment is a folder: scenario files, and `published.toml` with every number of its
//! document, its unit, tolerance and place, and the measure that computes it from a run. This
//! module runs the scenarios, evaluates the measures, judges each row and draws the plots; it has
//! no code for a particular experiment. The folders of the repository are compiled in
//! ([`ExperimentFiles::embedded`]); any other folder can be given.
//!
//! Everything is deterministic: runs are independent and collected in the order of the file, and
//! no clock is read, so a second reproduction gives the same bytes. Only runs in real time on
//! a testbed, which the caller provides, differ each time.

mod curves;
mod draw;
mod evaluate;
mod files;
mod html;
mod measure;
mod measurement;
mod plot_plan;
mod published;
mod published_check;
mod reproduction;
mod row_result;
mod run_data;
mod runner;
mod series;
mod strip;
mod tally;
mod variant_plan;
mod variants;

pub use files::ExperimentFiles;
pub use measurement::Seeds;
pub use published::{Published, RowKind, Testbed};
pub use reproduction::{
    ExperimentResult, Options, Progress, Reproduction, RunResult, Watcher, reproduce,
};
pub use row_result::{InVariant, RowResult};
pub use runner::{Backends, TestbedRunner};
pub use tally::{Count, Tally};
pub use variant_plan::{Scan, Variant};
pub use variants::VariantResult;

use crate::scenario::ScenarioError;
use crate::theory::TheoryError;
use thiserror::Error;

impl From<ScenarioError> for ExperimentError {
    /// Converts an error in a `published.toml`.
    fn from(error: ScenarioError) -> Self {
        Self::Published(error.to_string())
    }
}

/// Why an experiment could not be reproduced. Error text: lower case, no full stop.
#[derive(Debug, Error)]
pub enum ExperimentError {
    /// No such experiment among those compiled in.
    #[error(
        "there is no experiment \"{name}\" and no folder of this name with a published.toml; {known}"
    )]
    Unknown {
        /// The requested name.
        name: String,
        /// The names that exist, and which of them was probably meant.
        known: String,
    },
    /// `published.toml` cannot be used; the message has the place.
    #[error("{0}")]
    Published(String),
    /// A scenario cannot be used.
    #[error("scenario {file} of experiment \"{experiment}\": {message}")]
    Scenario {
        /// The experiment.
        experiment: String,
        /// The scenario's file.
        file: String,
        /// The error message.
        message: String,
    },
    /// A run failed.
    #[error("run \"{run}\" of experiment \"{experiment}\": {message}")]
    Run {
        /// The experiment.
        experiment: String,
        /// The run.
        run: String,
        /// The error message.
        message: String,
    },
    /// The watcher cancelled the reproduction.
    #[error("the reproduction was ended")]
    Cancelled,
    /// A row uses an argument or line that a law does not have.
    #[error("row \"{row}\": {source}")]
    Law {
        /// The row.
        row: String,
        /// The error of the law.
        source: TheoryError,
    },
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The path.
        path: String,
        /// The system's message.
        source: std::io::Error,
    },
}
#[cfg(test)]
mod tests;
