//! The columns of the table of all runs of a sweep, beside those of its parameters.

use crate::comparison::SHOWN;

/// The columns that every table of runs has beside those of parameters and measures.
pub(super) const OWN_COLUMNS: [&str; 6] = ["run", "seed", "status", "error", "kind", "name"];

/// The pointers of all measures.
pub(super) fn pointers() -> impl Iterator<Item = &'static str> {
    SHOWN.iter().map(|measure| measure.pointer)
}

/// The names of the columns of measures; a unit is in the name: `rtt_s_p95`.
pub fn measure_columns() -> Vec<String> {
    pointers()
        .map(|pointer| pointer.replace('/', "_"))
        .collect()
}
