//! A run that is to be made.

use weir_lab::scenario::{Override, Scenario};

/// A scenario with the values that were changed in it.
pub struct PlannedRun {
    /// The path of its folder below that of all results.
    pub folder: String,
    pub overrides: Vec<Override>,
    pub scenario: Scenario,
    /// Its content hash.
    pub hash: String,
}
