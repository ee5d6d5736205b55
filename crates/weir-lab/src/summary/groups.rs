//! Aggregates of flows: those of one entry of the scenario, and all flows of a run.

use super::bounds;
use super::measure::measures;
use super::requests::RequestSummary;
use super::statistics::Distribution;
use std::collections::BTreeMap;

measures! {
    /// The flows of an entry with a `count`, or of one `group`: means and spreads over those
    /// members that were alive between the warm-up and the end. One that had ended before, or had
    /// not yet begun, has no rate and no delay there; completion times are those of all. A flow
    /// with arrivals is a member with what all its transfers got; each of its transfers that began
    /// after the warm-up counts as a flow, and has its own completion time. It has no part in the
    /// fairness index, because what its transfers get is what arrives.
    pub struct GroupSummary {
        /// The names of the members.
        #[serde(default)]
        pub members: Vec<String>,
        /// Flows, each transfer of a flow with arrivals counted.
        pub flows: u64 => unit("flows"),
        /// Of these, those that were alive between the warm-up and the end.
        #[serde(default)]
        pub active: u64 => unit("flows"),
        /// Of all, those that ended by themselves and delivered everything, also before the end of
        /// the warm-up.
        pub completed: u64 => unit("flows").higher(),
        /// The throughput of each member that was alive.
        pub throughput_bps: Distribution => unit("bit/s").shown(&[
            ("mean", "throughput, mean", 40),
        ]),
        /// The goodput of each member that was alive.
        pub goodput_bps: Distribution => unit("bit/s").higher().shown(&[
            ("mean", "goodput, mean", 20),
        ]),
        /// Jain's fairness index of the goodputs of flows without arrivals: 1 if all are equal, 1/n
        /// if one has all.
        pub jain_index: Option<f64> => unit("").higher().shown(&[("", "Jain's index", 50)]),
        /// The completion times of those that completed.
        pub completion_time_s: Option<Distribution> => unit("s").lower(),
        /// The mean one-way delay of each member.
        pub one_way_delay_s: Option<Distribution> => unit("s").lower(),
        /// The mean queueing delay of each member.
        pub queueing_delay_s: Option<Distribution> => unit("s").lower(),
        /// The mean jitter of each member.
        pub jitter_s: Option<Distribution> => unit("s").lower(),
        /// The mean round-trip time of each member.
        pub rtt_s: Option<Distribution> => unit("s").lower(),
        /// What held the senders back: the mean of each share of the members that were alive.
        pub bound_share: BTreeMap<String, f64> => unit("").by("BOUND", bounds),
        /// Packets that all together sent.
        pub packets_sent: u64 => unit("packets"),
        /// Of these, packets that were found to be lost.
        pub packets_lost: u64 => unit("packets").lower(),
        /// Packets that all together sent again.
        pub retransmissions: u64 => unit("packets").lower(),
        /// Timeouts of all together.
        pub timeouts: u64 => unit("").lower(),
        /// Packets that all together received with Congestion Experienced.
        pub marks: u64 => unit("packets"),
        /// The requests of all together, if their applications have such.
        pub requests: Option<RequestSummary>,
    }
}

measures! {
    /// All flows of a run together. Rates are over the whole time from the warm-up to the end.
    pub struct Totals {
        /// Flows, each transfer of a flow with arrivals counted.
        pub flows: u64 => unit("flows"),
        /// Octets of transport packets that all receivers got.
        pub throughput_bps: f64 => unit("bit/s"),
        /// Octets of application data delivered for the first time.
        pub goodput_bps: f64 => unit("bit/s").higher(),
        /// Jain's fairness index of the goodputs (Jain, Chiu and Hawe 1984; RFC 5166 §2.3) of the
        /// flows without arrivals that were alive in that time: 1 if all have the same, 1/n if one
        /// has all; none if nothing was delivered.
        pub jain_index: Option<f64> => unit("").higher(),
        /// What held the senders back: the mean of each share of the flows that were alive in that
        /// time, of which one with arrivals is one, with the share of all its transfers together.
        pub bound_share: BTreeMap<String, f64> => unit("").by("BOUND", bounds),
        /// Packets that all senders handed over.
        pub packets_sent: u64 => unit("packets"),
        /// Of these, packets that were found to be lost.
        pub packets_lost: u64 => unit("packets").lower(),
        /// Packets that all senders sent again, as far as they count them.
        #[serde(default)]
        pub retransmissions: u64 => unit("packets").lower(),
        /// Timeouts of all senders that count them.
        #[serde(default)]
        pub timeouts: u64 => unit("").lower(),
        /// Packets that all receivers got with Congestion Experienced.
        #[serde(default)]
        pub marks: u64 => unit("packets"),
    }
}
