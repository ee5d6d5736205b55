//! The columns of the table of all runs of a sweep, beside those of its parameters.

use crate::comparison::HEADLINE;

/// The columns that every table of runs has beside those of parameters and measures.
pub(super) const OWN_COLUMNS: [&str; 6] = ["run", "seed", "status", "error", "kind", "name"];

/// Measures that tables of runs have beside the headline measures: JSON pointers below a flow.
const MORE: [&str; 11] = [
    "active_s",
    "rtt_s/min",
    "rtt_s/p50",
    "rtt_s/p99",
    "one_way_delay_s/p50",
    "one_way_delay_s/p99",
    "queueing_delay_s/p95",
    "audio/longest_gap_s",
    "video/frame_delay_s/p50",
    "video/frame_delay_s/p99",
    "video/late",
];

/// The pointers of all measures.
pub(super) fn pointers() -> impl Iterator<Item = &'static str> {
    let headline = HEADLINE.iter().map(|measure| measure.pointer);
    headline.chain(MORE)
}

/// The names of the columns of measures; a unit is in the name: `rtt_s_p95`.
pub fn measure_columns() -> Vec<String> {
    pointers()
        .map(|pointer| pointer.replace('/', "_"))
        .collect()
}
