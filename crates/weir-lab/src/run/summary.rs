//! What a run comes to: statistics from the warm-up to the end.
//!
//! Throughput is the transport's packets as the target received them, acknowledgements included,
//! without IP and UDP headers, over the window; goodput is application data delivered for the
//! first time (RFC 5166). Deviations are those of the population. The means of rates weigh each
//! value with the time for which it held; percentiles are the smallest sample that is not
//! exceeded by more than the rest (nearest rank).

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a run comes to; `summary.json` holds exactly this.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The run itself.
    pub run: RunSummary,
    /// Flows by name.
    pub flows: BTreeMap<String, FlowSummary>,
    /// Directions of links by name: `NAME` forward, `NAME.backward` backward.
    pub links: BTreeMap<String, LinkSummary>,
}

/// The run itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// BLAKE3 of the resolved scenario.
    pub scenario: String,
    /// The seed.
    pub seed: u64,
    /// Virtual time of the run in seconds.
    pub duration_s: f64,
    /// From when on statistics count, in seconds.
    pub warmup_s: f64,
    /// Events of the simulator.
    pub events: u64,
    /// The program that ran it.
    pub build: String,
    /// Seconds that the run took. Never in a file, because files must not depend on it; a
    /// command line may fill it in for its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
}

/// A flow, from the warm-up to the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// Octets of transport packets received by the target, in bits per second.
    pub throughput_bps: f64,
    /// Octets of application data delivered for the first time, in bits per second.
    pub goodput_bps: f64,
    /// Packets that the sender handed over.
    pub packets_sent: u64,
    /// Packets that the sender, or for TFRC the receiver, found to be lost.
    pub packets_lost: u64,
    /// Packets that the target received.
    pub packets_received: u64,
    /// Loss events per packet that the network carried or lost; the last p of TFRC where there
    /// is one.
    pub loss_event_rate: f64,
    /// Round-trip times as the sender measured them; `None` without a sample.
    pub rtt_s: Option<RttSummary>,
    /// The controller's allowed rate; for windows cwnd / smoothed RTT. `None` if it never
    /// reported.
    pub rate_bps: Option<Cov>,
}

/// A distribution of round-trip times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RttSummary {
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Largest.
    pub max: f64,
    /// Standard deviation.
    pub stddev: f64,
}

/// Mean and coefficient of variation over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cov {
    /// Mean.
    pub mean: f64,
    /// Standard deviation over mean; 0 for a mean of 0.
    pub cov: f64,
}

/// One direction of a link, from the warm-up to the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Share of the time spent transmitting.
    pub utilisation: f64,
    /// Packets dropped, for any reason.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// What waited in the queue.
    pub queue_bytes: QueueBytes,
}

/// Octets waiting in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueBytes {
    /// Mean over time.
    pub mean: f64,
    /// Most at any time since the start of the run.
    pub max: u64,
}
