//! The summary of a run: statistics from the warm-up to the end. Without a warm-up, events at time
//! zero count too.
//!
//! Throughput is measured in the transport's packets received by the target, including
//! acknowledgements, without IP and UDP headers; goodput is application data delivered for the
//! first time (RFC 5166 §2.1). Both are averaged over the time in which the flow is alive: from its
//! start, or the end of the warm-up if that is later, until its last data was delivered or its
//! connection failed, or to the end of the run. Deviations are those of the population. Means of
//! rates are weighted with the time for which each value held; percentiles are by nearest rank.
//! Percentiles of one-way delay, queueing delay and jitter, and of the round-trip times of flows
//! with arrivals, are accurate to 0.2 % with more than 512 packets or samples; all others are
//! exact.

mod aggregate;
mod columns;
mod flow;
mod groups;
mod link;
mod measure;
mod numbers;
mod requests;
mod statistics;
mod transfers;
mod video;

pub use columns::column_of_runs;
pub use flow::{AudioSummary, FlowSummary, LatencyUnderLoad, Retransmissions};
pub use groups::{GroupSummary, Totals};
pub use link::{FrameCounts, ImpairmentCounts, LinkSummary, QueueBytes};
pub use measure::Better;
pub use requests::RequestSummary;
pub use statistics::{Distribution, MeanCov};
pub use transfers::TransferSummary;
pub use video::VideoSummary;

pub(crate) use aggregate::GroupParts;
pub(crate) use columns::{DICTIONARY, endings_of_distributions};
pub(crate) use flow::{FlowStatistics, LossFinder};
pub(crate) use numbers::{Number, expected_of, numbers, parts};
pub(crate) use requests::time_of_request;
pub(crate) use statistics::{Samples, TimeWeighted};
pub(crate) use video::{delay, joined};

use crate::natural_order;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use weir_proto::event::SndLim;

/// The words of the column `bound`.
fn bounds() -> Vec<&'static str> {
    SndLim::ALL.map(SndLim::name).to_vec()
}

/// The summary of a run; `summary.json` has exactly these fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The run itself.
    pub run: RunSummary,
    /// Flows by name, in natural order like all names.
    #[serde(serialize_with = "natural_order::serialize")]
    #[schemars(with = "BTreeMap<String, FlowSummary>")]
    pub flows: BTreeMap<String, FlowSummary>,
    /// Directions of links by name, `NAME` forward and `NAME.backward` backward, and stations of
    /// 802.11 media, `NAME.HOST`.
    #[serde(serialize_with = "natural_order::serialize")]
    #[schemars(with = "BTreeMap<String, LinkSummary>")]
    pub links: BTreeMap<String, LinkSummary>,
    /// Entries of the scenario that stand for several flows (`count`), by name.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        serialize_with = "natural_order::serialize"
    )]
    #[schemars(with = "BTreeMap<String, GroupSummary>")]
    pub groups: BTreeMap<String, GroupSummary>,
    /// Flows with arrivals, by name.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        serialize_with = "natural_order::serialize"
    )]
    #[schemars(with = "BTreeMap<String, TransferSummary>")]
    pub transfers: BTreeMap<String, TransferSummary>,
    /// All flows together.
    #[serde(default)]
    pub totals: Totals,
    /// What the run drew once from its seed, in seconds: `flow.NAME.start_s`,
    /// `flow.NAME.access_delay_s`, `link.NAME.delay_s`. Only what the scenario gives as a range.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        serialize_with = "natural_order::serialize"
    )]
    #[schemars(with = "BTreeMap<String, f64>")]
    pub drawn: BTreeMap<String, f64>,
}

impl Summary {
    /// `summary.json` as text: the same summary gives the same bytes, whichever program writes it.
    pub fn to_json(&self) -> String {
        // Maps with text keys and finite numbers can always be represented in JSON.
        crate::json::document(self)
    }
}

/// The format of run folders, increased when earlier versions can no longer read new folders, or
/// new versions old ones. Folders of format 1 have no checksums and do not state their format;
/// those of format 2 have a file for each table.
pub const RUN_FORMAT: u32 = 3;

/// The run itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// The format of the folder: [`RUN_FORMAT`].
    pub format: u32,
    /// BLAKE3 of the resolved scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Virtual time of the run in seconds.
    pub duration_s: f64,
    /// Time of the run before the statistics begin, in seconds.
    pub warmup_s: f64,
    /// Events of the simulator.
    pub events: u64,
    /// The program that ran it.
    pub build: String,
    /// The commit of its source, with the suffix `-dirty` if files were changed; `None` if the
    /// caller does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The virtual time in seconds from which the trace was too long to be kept completely: from
    /// then on it has every change of a word, such as the state and the limit, and for intervals of
    /// at least a round-trip time the first row, the last one and the extremes. Absent if it is
    /// complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_thinned_from_s: Option<f64>,
    /// The virtual time in seconds from which the table of packets was too long to be kept
    /// completely: from then on it has the packets that were lost, dropped or marked, and of the
    /// others a half, a quarter and so on, each with all its rows. Absent if it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_left_out_from_s: Option<f64>,
    /// For a run in real time: the 99th percentile of the lateness of events in seconds. Much more
    /// than a millisecond means that the machine was too busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_p99_s: Option<f64>,
}
