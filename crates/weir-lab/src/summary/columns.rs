//! The columns of tables of runs, `runs.parquet` and the datasets of sweeps: the identity of a run,
//! and the numbers of its summary, named by their paths.
//!
//! A distribution has a column for each of its numbers, such as `rtt_s_p95`.

use super::measure::{Kind, Measured};
use super::numbers::{Number, numbers};
use super::statistics::Distribution;
use crate::table::ColumnNote;
use std::sync::LazyLock;
use weir_proto::settings::plain_doc;

/// A column: its name, its unit and its description.
type RunColumn = (&'static str, &'static str, &'static str);

/// The columns that identify a run and its row.
#[rustfmt::skip]
const RUN_COLUMNS: &[RunColumn] = &[
    ("folder", "", "the folder of the run, below that of the table"),
    ("scenario", "", "the name of the scenario's file"),
    ("run", "", "the number of the run in its plan"),
    ("seed", "", "the seed of the run"),
    ("status", "", "done or failed"),
    ("error", "", "why the run has no result"),
    ("kind", "", "what the row is of: flow, transfers (a flow with arrivals, all its connections together), group, link, total (all flows together), or run for one that failed"),
    ("name", "", "the name of the flow, group or link"),
    ("duration_s", "s", "virtual time of the run"),
    ("warmup_s", "s", "time of the run before the statistics begin"),
    ("scenario_hash", "", "BLAKE3 of the resolved scenario"),
    ("build", "", "the program that made the run"),
    ("commit", "", "the commit of its source"),
];

/// All columns of tables of runs; a distribution has one entry for all its numbers, and a map one
/// with a placeholder for its keys. The description of a column that several parts have combines
/// their sentences.
pub(crate) static DICTIONARY: LazyLock<Vec<ColumnNote>> = LazyLock::new(|| {
    let named = |number: &'static Number| {
        let name = number.path.replace('.', "_");
        let keys = number.measure.keys.map(|(what, _)| format!("_{what}"));
        (name + &keys.unwrap_or_default(), number)
    };
    let rows: Vec<_> = numbers()
        .filter(|number| number.is_row)
        .map(named)
        .collect();
    let of_run = |(name, unit, doc): &RunColumn| note(name, unit, (*doc).to_owned());
    let mut notes: Vec<ColumnNote> = RUN_COLUMNS.iter().map(of_run).collect();
    for (name, first) in &rows {
        if notes.iter().any(|note| note.name == *name) {
            continue;
        }
        let mut docs: Vec<(&str, String)> = Vec::new();
        for (_, number) in rows.iter().filter(|(other, _)| other == name) {
            match docs.iter_mut().find(|(doc, _)| *doc == number.doc) {
                Some((_, parts)) => parts.extend([", ", number.part]),
                None => docs.push((&number.doc, number.part.to_owned())),
            }
        }
        let docs = docs.iter().map(|(doc, parts)| format!("{doc} ({parts})."));
        notes.push(note(name, first.unit, docs.collect::<Vec<_>>().join(" ")));
    }
    notes
});

fn note(name: &str, unit: &'static str, doc: String) -> ColumnNote {
    let name = name.to_owned();
    ColumnNote { name, unit, doc }
}

/// The numbers of a distribution: the suffix of each column, and its description.
pub(crate) fn endings_of_distributions() -> impl Iterator<Item = (String, String)> {
    let measures = match Distribution::KIND {
        Kind::Part(measures) => measures,
        _ => &[],
    };
    measures.iter().map(|measure| {
        let what = plain_doc(measure.doc).to_lowercase();
        (
            format!("_{}", measure.name),
            what.trim_end_matches('.').to_owned(),
        )
    })
}

/// The description of a column of a table of runs, by its name; `None` for a column that is not a
/// measure.
pub fn column_of_runs(name: &str) -> Option<ColumnNote> {
    let known = |wanted: &str| DICTIONARY.iter().find(|note| note.name == wanted);
    let is_of_map = |of: &&ColumnNote| {
        let begin = of.name.trim_end_matches(|c: char| c.is_ascii_uppercase());
        begin.len() < of.name.len() && name.starts_with(begin)
    };
    if let Some(of) = known(name).or_else(|| DICTIONARY.iter().find(is_of_map)) {
        return Some(note(name, of.unit, of.doc.clone()));
    }
    endings_of_distributions().find_map(|(ending, which)| {
        let of = known(name.strip_suffix(&ending)?)?;
        Some(note(name, of.unit, format!("{which}: {}", of.doc)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::measures_of;
    use crate::summary::{FrameCounts, ImpairmentCounts};
    use crate::sweep::measure_columns;
    use std::collections::BTreeSet;

    #[test]
    fn each_number_of_a_summary_is_described() {
        let parts = ["flow", "transfers", "link", "group", "total"].into_iter();
        let of_parts = parts.flat_map(measures_of);
        let mut names: Vec<String> = of_parts.map(|path| path.replace('.', "_")).collect();
        names.extend(measure_columns());
        for (part, value) in [
            (
                "impaired",
                serde_json::to_value(ImpairmentCounts::default()),
            ),
            ("frames", serde_json::to_value(FrameCounts::default())),
        ] {
            let value = value.unwrap();
            let keys = value.as_object().unwrap().keys();
            names.extend(keys.map(|key| format!("{part}_{key}")));
        }
        names.extend(["goodput_cov_0.5", "bound_share_window", "ended"].map(str::to_owned));
        for name in &names {
            let note = column_of_runs(name);
            assert!(note.is_some_and(|note| !note.doc.is_empty()), "{name}");
        }
        assert_eq!(column_of_runs("flow.stream.transport.controller"), None);
        let p95 = column_of_runs("rtt_s_p95").unwrap();
        assert_eq!(p95.unit, "s");
        assert!(
            p95.doc.starts_with("95th percentile: Round-trip"),
            "{p95:?}"
        );
        // Each name occurs once.
        let rows: Vec<_> = DICTIONARY.iter().map(|note| &note.name).collect();
        let different: BTreeSet<_> = rows.iter().collect();
        assert_eq!(different.len(), rows.len());
    }
}
