//! The data of a run for measures: the flow's trace in two views, and a few totals.

use crate::table::Table;
use std::collections::BTreeMap;

/// All runs of an experiment by name; several where there are several seeds.
pub(super) type Runs = BTreeMap<String, Vec<RunData>>;

/// One run, or one seed of it. The flow is the scenario's first.
#[derive(Clone, Debug, Default)]
pub(super) struct RunData {
    /// A row at each change of the controller; empty if the run was not traced.
    pub state: Table,
    /// A line at each write of the application with the state before it; rate controllers only.
    pub log: Table,
    /// The gaps in the audio; empty without audio.
    pub gaps: Table,
    /// Throughput in the run's window: octets of packets that arrived, as the transport counts
    /// them.
    pub throughput_bps: f64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets that were found to be lost.
    pub packets_lost: u64,
    /// The whole summary, for JSON pointers.
    pub summary: serde_json::Value,
}
