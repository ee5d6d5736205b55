//! Runs a scenario in the simulator and collects its trace and summary.
//!
//! [`run()`] is a pure function of the scenario: it uses no clock, no file and no random number
//! except those derived from the scenario's seed. Only the caller reads the wall clock, for runs
//! with limits ([`ProcessWatch`]).

pub mod columns;
mod expectations;
mod live;
mod network;
mod process_limits;
mod record;
mod simulation;
mod summarise;

pub use columns::tables::{TableKind, column_dictionary, name_column, table_kind, table_kinds};
pub use expectations::{Judgement, judge};
pub use live::{LiveFlow, LiveLink, LiveObserver, LiveState};
pub use network::registry::{EndpointPair, ForeignFactory, ForeignFlow, TransportRegistry};
pub use network::tap::{SharedTap, Tap, TappedPacket, address_of};
pub use network::{NetworkSegment, Scope, SegmentEnd, SegmentShaper};
pub use process_limits::{ProcessWatch, over_memory, over_time};
#[cfg(feature = "files")]
pub(crate) use record::delivery_rate::DeliveryRate;
pub use record::measured::{
    MEASURED_NOTE, MeasuredEnd, MeasuredFlow, MeasuredTransport, SenderRecorder, is_measured,
    measured_run,
};
#[cfg(feature = "files")]
pub(crate) use record::measured::{run_summary, scenario_text};
pub use simulation::Simulation;

pub use crate::summary::{
    AudioSummary, Distribution, FlowSummary, FrameCounts, GroupSummary, ImpairmentCounts,
    LatencyUnderLoad, LinkSummary, MeanCov, QueueBytes, RUN_FORMAT, RequestSummary,
    Retransmissions, RunSummary, Summary, Totals, TransferSummary, VideoSummary, column_of_runs,
};

use crate::fault::{Fault, caught};
use crate::scenario::Scenario;
use crate::table::{SharedSink, Table};
use columns::delay::delay_table;
use std::sync::atomic::AtomicBool;
use weir_net::DelayStatistics;
use weir_proto::time::Instant;

/// How much of a run is kept in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceLevel {
    /// Counters only: the summary has no round-trip times and no rates of controllers. Fastest.
    Counters,
    /// Enough for the whole summary.
    #[default]
    Summary,
    /// Every change of controllers and queues, in tables.
    Full,
}

/// Options of a run: what is kept, progress, cancellation.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// The [content hash](Scenario::content_hash) of the scenario, which is slow to compute with
    /// many flows, if the caller knows it.
    pub scenario_hash: Option<&'a str>,
    /// How much of the trace is kept.
    pub trace: TraceLevel,
    /// Restricts [`TraceLevel::Full`] to the controller, the writes and the gaps of the flow of
    /// this name; nothing of other flows and of links is kept.
    pub traced_flow: Option<&'a str>,
    /// Keeps every packet too, in [`RunOutput::packets`].
    pub packets: bool,
    /// Follows each packet over the links, in [`RunOutput::stages`].
    pub stages: Option<StageSpan>,
    /// Called about a hundred times with the virtual time reached and the duration.
    pub progress: Option<&'a (dyn Fn(Instant, Instant) + Sync)>,
    /// The maximum number of events of the run, in place of the scenario's; if it is exceeded, the
    /// run ends with [`RunError::TooManyEvents`].
    pub max_events: Option<u64>,
    /// Set by another thread to end the run early with [`RunError::Cancelled`].
    pub cancel: Option<&'a AtomicBool>,
    /// Receives every packet as a capture on the hosts would show it; does not affect the run.
    pub tap: Option<&'a SharedTap>,
    /// Transports that the caller provides.
    pub registry: TransportRegistry<'a>,
    /// Receives the rows of tables during the run; they are missing from the output, so that they
    /// need no memory.
    pub sink: Option<&'a SharedSink>,
    /// The number of rows of flows and links above which their tables are thinned, and of packets
    /// above which packets are sampled; eight million if absent.
    pub max_rows: Option<u64>,
    /// Receives the state of the run at the end of each interval; does not affect the run.
    pub live: Option<&'a LiveObserver>,
}

/// The time in which packets are followed over the links, and the most rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageSpan {
    /// The first time.
    pub from: Instant,
    /// The last time.
    pub to: Instant,
    /// Rows after which nothing more is recorded.
    pub max_rows: u64,
}

/// The ways of packets over the links.
#[derive(Clone, Debug, PartialEq)]
pub struct PacketStages {
    /// The columns of [`columns::STAGE`].
    pub table: Table,
    /// When the table was full.
    pub left_out_from: Option<Instant>,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutput {
    /// The scenario that was run.
    pub scenario: Scenario,
    /// Its statistics.
    pub summary: Summary,
    /// The traces of flows, in the order of the scenario; empty unless [`TraceLevel::Full`].
    pub flows: Vec<FlowTrace>,
    /// The traces of links, both directions; empty unless [`TraceLevel::Full`].
    pub links: Vec<LinkTrace>,
    /// The transfers of flows with arrivals; empty unless [`TraceLevel::Full`].
    pub transfers: Vec<TransferTrace>,
    /// The one-way delays of each flow's packets: the columns of [`columns::DELAY`]; `None` unless
    /// [`TraceLevel::Full`], and between two hosts, whose clocks differ.
    pub delays: Option<Table>,
    /// Every packet at every endpoint and every drop on a link, if [`RunOptions::packets`] was set:
    /// the columns of [`columns::PACKET`].
    pub packets: Option<Table>,
    /// The ways of packets over the links, if [`RunOptions::stages`] was set; in no folder.
    pub stages: Option<PacketStages>,
}

/// The trace of a flow: a row for each change of the sender's controller or of its bound.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTrace {
    /// The flow's name.
    pub name: String,
    /// The columns of [`columns::FLOW`].
    pub table: Table,
    /// A row for each event at its ends that is not a state of its controller: the columns of
    /// [`columns::EVENT`].
    pub events: Option<Table>,
    /// For datagrams of DCCP, a row for each write of the application with the state of the rate
    /// controller before it, as Linux's dccp_probe prints it: the columns of [`columns::writes`].
    pub writes: Option<Table>,
    /// For audio, a row for each gap: the columns of [`columns::GAP`].
    pub gaps: Option<Table>,
    /// For video, a row for each frame: the columns of [`columns::FRAME`].
    pub frames: Option<Table>,
    /// For requests, a row for each: the columns of [`columns::REQUEST`].
    pub requests: Option<Table>,
    /// A row for each interval of the run: the columns of [`columns::INTERVAL`].
    pub intervals: Option<Table>,
}

impl FlowTrace {
    /// A trace with only the main table.
    pub const fn new(name: String, table: Table) -> Self {
        Self {
            name,
            table,
            events: None,
            writes: None,
            gaps: None,
            frames: None,
            requests: None,
            intervals: None,
        }
    }
}

/// The trace of one direction of a link: a row for each change of its queue and each drop or mark.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTrace {
    /// `NAME` from the first host of `between` to the second, `NAME.backward` for the other
    /// direction; `NAME.HOST` for a station of an 802.11 medium.
    pub name: String,
    /// The columns of [`columns::LINK`].
    pub table: Table,
}

/// The transfers of a flow with arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferTrace {
    /// The flow's name.
    pub name: String,
    /// A row for each transfer: the columns of [`columns::TRANSFER`].
    pub table: Table,
    /// A row for each interval of the run, for all connections together: the columns of
    /// [`columns::INTERVAL`].
    pub intervals: Option<Table>,
}

/// All tables of an output with their paths: borrowed with `[&]`, owned with `[]`.
macro_rules! all_tables {
    ($output:ident, [$($by:tt)?]) => {{
        let mut tables = Vec::new();
        for flow in $($by)? $output.flows {
            tables.push((format!("flows/{}", flow.name), $($by)? flow.table));
            let optional = [
                ("events", $($by)? flow.events),
                ("writes", $($by)? flow.writes),
                ("gaps", $($by)? flow.gaps),
                ("frames", $($by)? flow.frames),
                ("requests", $($by)? flow.requests),
                ("intervals", $($by)? flow.intervals),
            ];
            for (kind, table) in optional {
                tables.extend(table.into_iter().map(|of| (format!("{kind}/{}", flow.name), of)));
            }
        }
        for set in $($by)? $output.transfers {
            tables.push((format!("transfers/{}", set.name), $($by)? set.table));
            let intervals = $($by)? set.intervals;
            tables.extend(intervals.into_iter().map(|of| (format!("intervals/{}", set.name), of)));
        }
        for link in $($by)? $output.links {
            tables.push((format!("links/{}", link.name), $($by)? link.table));
        }
        let of_run = [("delays", $($by)? $output.delays), ("packets", $($by)? $output.packets)];
        for (name, table) in of_run {
            tables.extend(table.into_iter().map(|of| (name.to_owned(), of)));
        }
        tables.retain(|(_, table)| !table.columns.is_empty());
        tables
    }};
}

impl RunOutput {
    /// All tables, each with its path: `flows/NAME`, `writes/NAME`,
    /// `gaps/NAME`, `frames/NAME`, `requests/NAME`, `intervals/NAME`, `transfers/NAME`,
    /// `links/NAME`, `delays` and `packets`. Tables that a sink has received are missing.
    pub fn tables(&self) -> Vec<(String, &Table)> {
        all_tables!(self, [&])
    }

    /// Adds the delays of flows by name, measured where their packets enter and leave the network.
    pub fn set_delays(&mut self, delays: &[(String, DelayStatistics)]) {
        let each = delays
            .iter()
            .map(|(name, of)| (name.as_str(), Some(&of.one_way)));
        self.delays = Some(delay_table(each));
        for (name, delays) in delays {
            if let Some(flow) = self.summary.flows.get_mut(name) {
                *flow = std::mem::take(flow).with_delays(Some(delays));
            }
        }
    }

    /// The same tables, owned.
    pub fn into_tables(self) -> Vec<(String, Table)> {
        all_tables!(self, [])
    }
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The network cannot be built, although the scenario's file is valid.
    #[error("{0}")]
    Build(String),
    /// Time did not advance.
    #[error("{0}")]
    Stuck(String),
    /// A packet did not survive being encoded and decoded (`[run] codec = true`), or has no wire
    /// format for a tap.
    #[error("{0}")]
    Codec(String),
    /// The run was cancelled at this virtual time.
    #[error("the run was cancelled at {0} s of virtual time")]
    Cancelled(Instant),
    /// The run had more events than [`RunOptions::max_events`].
    #[error("the run reached its limit of {limit} events at {at} s of virtual time")]
    TooManyEvents {
        /// The limit.
        limit: u64,
        /// The virtual time reached.
        at: Instant,
    },
    /// The run used more wall-clock time or memory than `max_time` or `max_memory` of its scenario
    /// allows.
    #[error("the run was ended at {at} s of virtual time: {why}")]
    Ended {
        /// The virtual time reached.
        at: Instant,
        /// The exceeded limit in words.
        why: String,
    },
    /// The trace would need more memory than is allowed.
    #[error("the trace has more than {0} rows; run shorter, or keep only the summary")]
    TooMuchTrace(u64),
    /// A panic: a bug in the program, not an error in the scenario.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// The sink of [`RunOptions::sink`] refused further rows; the sink has the reason.
    #[error("the trace cannot be written")]
    TraceNotWritten,
}

/// Runs a scenario from its start to its end.
///
/// # Errors
/// See [`RunError`].
pub fn run(scenario: &Scenario, options: &RunOptions<'_>) -> Result<RunOutput, RunError> {
    caught(|| {
        let mut live = Simulation::new(scenario, options, Scope::Whole)?;
        live.advance(options, live.end())?;
        live.finish_within(options)
    })?
}

#[cfg(test)]
mod tests;
