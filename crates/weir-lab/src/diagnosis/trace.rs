//! What an explanation reads: the tables of a run, of a run's folder, or of another program's
//! trace, and the scenario and the summary if there are any.

use crate::run::{RunOutput, Summary};
use crate::scenario::Scenario;
use crate::table::Table;
use std::borrow::Cow;
use std::collections::BTreeMap;
use weir_proto::settings::Variants;

/// A trace to explain.
#[derive(Debug, Default)]
pub struct Trace<'a> {
    /// The tables by their paths, such as `flows/stream` or `links/bottleneck`.
    pub tables: BTreeMap<String, Cow<'a, Table>>,
    /// The flows in their order.
    pub flows: Vec<TracedFlow>,
    /// The scenario, of a run.
    pub scenario: Option<&'a Scenario>,
    /// The summary, of a run.
    pub summary: Option<&'a Summary>,
    /// The end of the trace, in seconds.
    pub duration_s: f64,
}

/// A flow of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TracedFlow {
    /// Its name.
    pub name: String,
    /// `tcp`, `quic`, `dccp`, `udp` or `rtp`, if it is known.
    pub transport: String,
}

/// The columns of flows that detectors read.
#[cfg(feature = "files")]
const FLOW_COLUMNS: [&str; 22] = [
    "time_s",
    "allowed_rate_bps",
    "equation_rate_bps",
    "receive_rate_bps",
    "loss_event_rate",
    "rtt_s",
    "smoothed_rtt_s",
    "ipi_s",
    "cwnd_bytes",
    "bytes_in_flight",
    "ssthresh_bytes",
    "pacing_rate_bps",
    "segment_bytes",
    "state",
    "limit",
    "bound",
    "rate_limited_by",
    "receive_window_bytes",
    "delivered_bytes",
    "delivery_rate_bps",
    "event",
    "max_bw_bps",
];

impl<'a> Trace<'a> {
    /// The trace of a run in memory.
    pub fn of_run(run: &'a RunOutput) -> Self {
        let tables = run.tables().into_iter();
        let tables = tables.map(|(path, table)| (path, Cow::Borrowed(table)));
        Self::new(tables.collect(), &run.scenario, &run.summary)
    }

    /// The trace of a run whose tables are somewhere else, by their paths.
    pub fn new(
        tables: BTreeMap<String, Cow<'a, Table>>,
        scenario: &'a Scenario,
        summary: &'a Summary,
    ) -> Self {
        Self {
            tables,
            ..Self::empty(scenario, summary)
        }
    }

    /// The trace of a run's folder, without the columns that no detector reads.
    ///
    /// # Errors
    /// If a table is damaged or cannot be read.
    #[cfg(feature = "files")]
    pub fn of_folder(
        folder: &'a crate::trace::RunFolder,
    ) -> Result<Self, crate::trace::FolderError> {
        use crate::trace::TablePart;
        let mut trace = Self::empty(folder.scenario(), folder.summary());
        let names: Vec<String> = trace.flows.iter().map(|flow| flow.name.clone()).collect();
        let flows = names.iter().flat_map(|name| {
            let kinds = ["flows", "events", "intervals", "frames", "gaps"];
            kinds.map(|kind| format!("{kind}/{name}"))
        });
        let links = folder.scenario().trace_names();
        let links = links.map(|name| format!("links/{name}"));
        let paths: Vec<String> = flows.chain(links).chain(["packets".to_owned()]).collect();
        for path in paths {
            let of_flow = path.starts_with("flows/");
            let columns = |name: &str| !of_flow || FLOW_COLUMNS.contains(&name);
            let part = TablePart {
                columns: &columns,
                thinning: None,
            };
            if let Some(read) = folder.part_of_table(&path, &part)? {
                trace.tables.insert(path, Cow::Owned(read.table));
            }
        }
        Ok(trace)
    }

    /// The trace of another program.
    #[cfg(feature = "files")]
    pub fn of_import(import: &'a crate::trace::import::Imported) -> Self {
        let mut tables = BTreeMap::new();
        let mut flows = Vec::new();
        for flow in &import.flows {
            let trace = &flow.trace;
            flows.push(TracedFlow {
                name: trace.name.clone(),
                transport: flow.transport.to_owned(),
            });
            let optional = [
                ("flows", Some(&trace.table)),
                ("events", trace.events.as_ref()),
                ("intervals", trace.intervals.as_ref()),
                ("counters", flow.counters.as_ref()),
                ("turns", flow.turns.as_ref()),
            ];
            for (kind, table) in optional {
                let path = format!("{kind}/{}", trace.name);
                tables.extend(table.map(|table| (path, Cow::Borrowed(table))));
            }
        }
        let packets = import.packets.as_ref();
        tables.extend(packets.map(|table| ("packets".to_owned(), Cow::Borrowed(table))));
        Self {
            tables,
            flows,
            scenario: None,
            summary: None,
            duration_s: import.duration_s,
        }
    }

    fn empty(scenario: &'a Scenario, summary: &'a Summary) -> Self {
        let flows = scenario.flows.iter().flat_map(|flow| {
            let transport = flow.transport.word().to_owned();
            flow.names().map(move |name| TracedFlow {
                name,
                transport: transport.clone(),
            })
        });
        Self {
            tables: BTreeMap::new(),
            flows: flows.collect(),
            scenario: Some(scenario),
            summary: Some(summary),
            duration_s: summary.run.duration_s,
        }
    }

    /// The table with this path.
    pub(super) fn table(&self, path: &str) -> Option<&Table> {
        self.tables.get(path).map(AsRef::as_ref)
    }
}
