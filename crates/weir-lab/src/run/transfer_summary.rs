//! The summary of transfers over connections of their own.

use super::statistics::Distribution;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The transfers of a flow with arrivals that began after the warm-up; rates, packets and delays
/// are those of all its connections from the warm-up to the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransferSummary {
    /// How many began.
    pub transfers: u64,
    /// Of these, those that delivered everything before the end of the run.
    pub completed: u64,
    /// How long those took, from the opening of the connection, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time_s: Option<Distribution>,
    /// The sizes of all that began, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<Distribution>,
    /// Octets of transport packets received by the target, in bits per second.
    pub throughput_bps: f64,
    /// Octets of application data delivered for the first time, in bits per second.
    pub goodput_bps: f64,
    /// Packets that the senders handed over.
    pub packets_sent: u64,
    /// Packets that the transport found to be lost.
    pub packets_lost: u64,
    /// Packets that the receivers' transports got.
    #[serde(default)]
    pub packets_received: u64,
    /// Packets that arrived with Congestion Experienced.
    #[serde(default)]
    pub marks: u64,
    /// Packets whose data was sent before.
    pub retransmissions: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// Round-trip times as the senders of all connections measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_s: Option<Distribution>,
    /// How long packets took from the senders' transport to the receivers'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way_delay_s: Option<Distribution>,
    /// The part of it in queues of links and 802.11 stations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queueing_delay_s: Option<Distribution>,
    /// RFC 3550's interarrival jitter after each packet, of each connection by itself (§6.4.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_s: Option<Distribution>,
    /// What held the senders back: the share of the time for each word of the column `bound`. The
    /// time is that in which the connections were alive, summed over all of them: of each from its
    /// opening, or the end of the warm-up if that is later, until its last octet was delivered or
    /// it failed, or to the end of the run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bound_share: BTreeMap<String, f64>,
}
