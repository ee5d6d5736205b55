//! The summary of transfers over separate connections.

use super::bounds;
use super::measure::measures;
use super::statistics::Distribution;
use std::collections::BTreeMap;

measures! {
    /// The transfers of a flow with arrivals that began after the warm-up; rates, packets and
    /// delays are those of all its connections from the warm-up to the end.
    pub struct TransferSummary {
        /// Transfers that began after the warm-up.
        pub transfers: u64 => unit("transfers").shown(&[("", "begun", 60)]),
        /// Of these, those that delivered everything before the end of the run.
        pub completed: u64 => unit("flows").higher().shown(&[("", "completed", 70)]),
        /// How long those took that delivered everything, from the opening of the connection.
        pub completion_time_s: Option<Distribution> => unit("s").lower().shown(&[
            ("mean", "completed in, mean", 90), ("p50", "completed in, median", 100),
            ("p99", "completed in, 99 %", 110),
        ]),
        /// The sizes of all transfers that began.
        pub size_bytes: Option<Distribution> => unit("bytes"),
        /// Octets of transport packets received by the target.
        pub throughput_bps: f64 => unit("bit/s"),
        /// Octets of application data delivered for the first time.
        pub goodput_bps: f64 => unit("bit/s").higher(),
        /// Packets that the senders handed over.
        pub packets_sent: u64 => unit("packets"),
        /// Packets that the transport found to be lost.
        pub packets_lost: u64 => unit("packets").lower(),
        /// Packets that the receivers' transports got.
        #[serde(default)]
        pub packets_received: u64 => unit("packets"),
        /// Packets that arrived with Congestion Experienced.
        #[serde(default)]
        pub marks: u64 => unit("packets"),
        /// Packets whose data was sent before.
        pub retransmissions: u64 => unit("packets").lower().shown(&[("", "retransmitted", 160)]),
        /// Timeouts of the senders.
        pub timeouts: u64 => unit("").lower().shown(&[("", "timeouts", 180)]),
        /// Round-trip times as the senders of all connections measured them.
        pub rtt_s: Option<Distribution> => unit("s").lower(),
        /// From the senders' transport to the receivers'.
        pub one_way_delay_s: Option<Distribution> => unit("s").lower(),
        /// Time in queues of links and 802.11 stations.
        pub queueing_delay_s: Option<Distribution> => unit("s").lower(),
        /// RFC 3550's interarrival jitter after each packet, of each connection by itself (§6.4.1).
        pub jitter_s: Option<Distribution> => unit("s").lower(),
        /// What held the senders back: the share of the time for each word of the column `bound`.
        /// The time is that in which the connections were alive, summed over all of them: of each
        /// from its opening, or the end of the warm-up if that is later, until its last octet was
        /// delivered or it failed, or to the end of the run.
        pub bound_share: BTreeMap<String, f64> => unit("").by("BOUND", bounds),
    }
}
