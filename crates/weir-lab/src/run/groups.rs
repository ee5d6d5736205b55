//! Flows together: those that one entry of the scenario stands for, and all of a run.

use super::requests::RequestSummary;
use super::statistics::Distribution;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The flows of an entry with a `count`, or of one `group`: means and spreads over those members
/// that were alive between the warm-up and the end. One that had ended before, or had not yet
/// begun, has no rate and no delay there; completion times are those of all. A flow with arrivals
/// is a member with what all its transfers got; each of its transfers that began after the warm-up
/// counts as a flow, and has its own completion time. It has no part in the fairness index, because
/// what its transfers get is what arrives.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupSummary {
    /// The names of the members.
    #[serde(default)]
    pub members: Vec<String>,
    /// How many flows, each transfer counted.
    pub flows: u64,
    /// Of these, those that were alive between the warm-up and the end.
    #[serde(default)]
    pub active: u64,
    /// Of all, those that ended by themselves and delivered everything, also before the end of the
    /// warm-up.
    pub completed: u64,
    /// The throughput of each member that was alive, in bits per second.
    pub throughput_bps: Distribution,
    /// The goodput of each member that was alive, in bits per second.
    pub goodput_bps: Distribution,
    /// Jain's fairness index of the goodputs of flows without arrivals: 1 if all are equal, 1/n if
    /// one has all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jain_index: Option<f64>,
    /// The completion times of those that completed, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time_s: Option<Distribution>,
    /// The mean one-way delay of each member, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way_delay_s: Option<Distribution>,
    /// The mean queueing delay of each member, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queueing_delay_s: Option<Distribution>,
    /// The mean jitter of each member, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_s: Option<Distribution>,
    /// The mean round-trip time of each member, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_s: Option<Distribution>,
    /// What held the senders back: the mean of each share of the members that were alive.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bound_share: BTreeMap<String, f64>,
    /// Packets that all together sent.
    pub packets_sent: u64,
    /// Of these, packets that were found to be lost.
    pub packets_lost: u64,
    /// Packets that all together sent again.
    pub retransmissions: u64,
    /// Timeouts of all together.
    pub timeouts: u64,
    /// Packets that all together received with Congestion Experienced.
    pub marks: u64,
    /// The requests of all together, if their applications have such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestSummary>,
}

/// All flows of a run together. Rates are over the whole time from the warm-up to the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// How many flows, each transfer of a flow with arrivals counted.
    pub flows: u64,
    /// Octets of transport packets that all receivers got, in bits per second.
    pub throughput_bps: f64,
    /// Octets of application data delivered for the first time, in bits per second.
    pub goodput_bps: f64,
    /// Jain's fairness index of the goodputs (Jain, Chiu and Hawe 1984; RFC 5166 §2.3) of the flows
    /// without arrivals that were alive in that time: 1 if all have the same, 1/n if one has all;
    /// `None` if nothing was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jain_index: Option<f64>,
    /// What held the senders back: the mean of each share of the flows that were alive in that
    /// time, of which one with arrivals is one, with the share of all its transfers together.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bound_share: BTreeMap<String, f64>,
    /// Packets that all senders handed over.
    pub packets_sent: u64,
    /// Of these, packets that were found to be lost.
    pub packets_lost: u64,
    /// Packets that all senders sent again, as far as they count them.
    #[serde(default)]
    pub retransmissions: u64,
    /// Timeouts of all senders that count them.
    #[serde(default)]
    pub timeouts: u64,
    /// Packets that all receivers got with Congestion Experienced.
    #[serde(default)]
    pub marks: u64,
}
