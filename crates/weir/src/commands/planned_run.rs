//! A planned run.

use weir_lab::scenario::{Override, Scenario};

/// A scenario with its overrides applied.
pub struct PlannedRun {
    /// The path of its folder relative to that of all results.
    pub folder: String,
    pub overrides: Vec<Override>,
    pub scenario: Scenario,
    /// The content hash of the scenario.
    pub hash: String,
}
