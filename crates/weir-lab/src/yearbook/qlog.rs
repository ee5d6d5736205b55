//! The runs that cells link to, as qlog.

use crate::run::RunOutput;
use crate::table::{RowThinning, Table};
use crate::trace::{Format, export, qlog_columns};

/// Flows of a run that are written.
const MAX_FLOWS: usize = 1;
/// Time slices of a run, in each of which the extremes of each column and the changes of its words
/// are kept.
const SLICES: f64 = 100.0;

/// The names and contents of the files: `CHAPTER-FLOW.qlog`.
pub(super) fn files(mut run: RunOutput, chapter: &str) -> Vec<(String, Vec<u8>)> {
    let until_s = run.scenario.run.duration.as_secs_f64();
    let thinning = RowThinning {
        from_rows: 0,
        span_s: (0.0, until_s),
        inside_s: (until_s / SLICES).max(1e-3),
        outside_s: 1.0,
    };
    run.flows.truncate(MAX_FLOWS);
    for flow in &mut run.flows {
        let empty = Table {
            columns: Vec::new(),
        };
        let mut table = std::mem::replace(&mut flow.table, empty);
        // What a file does not show would keep rows in it.
        let shown = |name: &str| qlog_columns().any(|column| column == name);
        table.columns.retain(|column| shown(&column.name));
        flow.table = table.thinned(&thinning);
    }
    // A run without a flow that has a trace has nothing to export.
    let exported = export(&run, Format::Qlog).unwrap_or_default();
    let named = exported.into_iter().map(|file| {
        let flow = file.path.rsplit('/').next().unwrap_or_default();
        (format!("{chapter}-{flow}"), file.content)
    });
    named.collect()
}
