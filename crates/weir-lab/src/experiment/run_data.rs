//! The data kept of a run: its trace until the rows are measured, then the measured numbers.

use super::measure::Measure;
use super::measurement::Measurement;
use super::published::{Published, Row};
use crate::diagnosis::Explanation;
use crate::replication::{Fingerprint, Replicates};
use crate::table::Table;
use std::collections::BTreeMap;

/// All runs of an experiment by name.
pub(super) type Runs = BTreeMap<String, Runset>;

/// One run. The flow is the scenario's first.
#[derive(Clone, Debug, Default)]
pub(super) struct RunData {
    /// A row for each change of the controller's state; empty if the run was not traced.
    pub state: Table,
    /// A line for each write of the application with the state before it; rate controllers only.
    pub log: Table,
    /// The gaps in the audio; empty without audio.
    pub gaps: Table,
    /// Throughput in the run's window: octets of packets that arrived, as the transport counts
    /// them.
    pub throughput_bps: f64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets declared lost.
    pub packets_lost: u64,
    /// The whole summary, for JSON pointers.
    pub summary: serde_json::Value,
    /// A hash of the run's behaviour, independent of the seed's value.
    pub fingerprint: Option<Fingerprint>,
    /// What held the sender and what went wrong, of a run that a plot shows.
    pub explanation: Option<Explanation>,
}

/// The values measured in one run.
#[derive(Clone, Debug, Default)]
pub(super) struct Observation {
    /// The measured values by the row's name, in base units.
    measured: BTreeMap<String, Option<f64>>,
    /// The measured values of reference runs, by the row's name.
    references: BTreeMap<String, Option<f64>>,
    /// The 99th percentile of the lateness of events, for a run in real time.
    lateness_s: Option<f64>,
    /// What ran in real time: the program, and the kernel if its TCP is measured.
    build: Option<String>,
    /// A hash of the run's behaviour, independent of the seed's value.
    fingerprint: Option<Fingerprint>,
    /// The tables, if a plot shows them.
    pub trace: Option<RunData>,
}

/// The runs of one plan, in the order of their seeds.
#[derive(Clone, Debug, Default)]
pub(super) struct Runset {
    /// The runs.
    pub runs: Vec<Observation>,
    /// True if the plan asks for seeds.
    pub seeded: bool,
}

impl Observation {
    /// Measures all rows of this run; the run's tables are dropped unless `keep`.
    pub(super) fn of(published: &Published, name: &str, run: RunData, keep: bool) -> Self {
        let take = |measure: fn(&Row) -> Option<&Measure>| {
            let rows = published.rows.iter();
            let taken = rows.filter_map(|row| Some((row.id.clone(), measure(row)?)));
            let taken = taken.filter(|(_, measure)| measure.run.as_deref() == Some(name));
            taken
                .map(|(id, measure)| (id, measure.of_run(&run, &published.moments)))
                .collect()
        };
        let lateness = run.summary.pointer("/run/lateness_p99_s");
        let lateness_s = lateness.and_then(serde_json::Value::as_f64);
        let build = run.summary.pointer("/run/build");
        let build = build.and_then(serde_json::Value::as_str);
        Self {
            measured: take(|row| row.measure.as_ref()),
            references: take(|row| row.reference.as_ref()),
            lateness_s,
            build: lateness_s.and(build).map(str::to_owned),
            fingerprint: run.fingerprint,
            trace: keep.then_some(run),
        }
    }
}

impl Runset {
    /// The distinct runs; the others are equal to an earlier one.
    pub(super) fn replicates(&self) -> Replicates {
        let prints: Vec<_> = self.runs.iter().filter_map(|run| run.fingerprint).collect();
        Replicates::of(&prints)
    }

    /// The first run's tables, if a plot shows them.
    pub(super) fn trace(&self) -> Option<&RunData> {
        self.runs.first()?.trace.as_ref()
    }

    /// The measurement of this row. Equal runs count once.
    pub(super) fn measured(&self, row: &str) -> Option<Measurement> {
        self.sample(|run| run.measured.get(row).copied())
    }

    /// The measurement of this row's reference.
    pub(super) fn reference(&self, row: &str) -> Option<Measurement> {
        self.sample(|run| run.references.get(row).copied())
    }

    /// The largest lateness of runs in real time.
    pub(super) fn lateness_s(&self) -> Option<f64> {
        self.runs
            .iter()
            .filter_map(|run| run.lateness_s)
            .reduce(f64::max)
    }

    /// What ran, if it ran in real time.
    pub(super) fn build(&self) -> Option<&str> {
        self.runs.first()?.build.as_deref()
    }

    fn sample(&self, value: impl Fn(&Observation) -> Option<Option<f64>>) -> Option<Measurement> {
        let replicates = self.replicates();
        if !self.seeded || replicates.nothing_is_random() {
            return Some(Measurement::One(value(self.runs.first()?)?));
        }
        let counting = replicates.counting();
        let values = counting.map(|place| Some((place, value(self.runs.get(place)?)?)));
        Some(Measurement::Seeds(values.collect::<Option<_>>()?))
    }
}
