//! The columns of the table of all runs of a sweep, other than those of its parameters.

use crate::comparison::SHOWN;

/// The columns of every table of runs other than parameters and measures.
pub(super) const OWN_COLUMNS: [&str; 6] = ["run", "seed", "status", "error", "kind", "name"];

/// The JSON pointers of all measures.
pub(super) fn pointers() -> impl Iterator<Item = &'static str> {
    SHOWN.iter().map(|measure| measure.pointer)
}

/// The names of the columns of measures, which include the unit: `rtt_s_p95`.
pub fn measure_columns() -> Vec<String> {
    pointers()
        .map(|pointer| pointer.replace('/', "_"))
        .collect()
}
