//! The summary of a run: statistics from the warm-up to the end. Without a warm-up what happens at
//! time zero counts too.
//!
//! Throughput is the transport's packets as the target received them, acknowledgements included,
//! without IP and UDP headers; goodput is application data delivered for the first time (RFC 5166
//! §2.1). Both are over the time in which the flow is alive: from its start, or the end of the
//! warm-up if that is later, until its last data was delivered or its connection failed, or to
//! the end of the run. Deviations are those of the population. The means of rates weigh each value
//! with the time for which it held; percentiles are the smallest sample that is not exceeded by
//! more than the rest (nearest rank). Those of one-way delay, queueing delay and jitter, and of the
//! round-trip times of flows with arrivals, are within 0.2 % where there are more than 512 packets
//! or samples, all others exact.

use super::groups::{GroupSummary, Totals};
use super::link_summary::LinkSummary;
use super::requests::RequestSummary;
use super::statistics::{Distribution, MeanCov};
use super::transfer_summary::TransferSummary;
use super::video::VideoSummary;
use crate::natural_order;
use crate::scenario::Transport;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use weir_net::app::AudioStatistics;
use weir_proto::endpoint::Statistics;
use weir_proto::time::Duration;

/// The statistics of both endpoints of a flow at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowStatistics {
    pub(super) sender: Statistics,
    pub(super) receiver: Statistics,
}

/// Which end finds out what the network loses of the flow's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossFinder {
    Sender,
    /// Or either, as with DCCP.
    Receiver,
}

impl LossFinder {
    /// Of a flow with this transport.
    pub(super) const fn of(transport: &Transport) -> Self {
        match transport {
            Transport::Dccp(_) | Transport::Udp(_) => Self::Receiver,
            Transport::Quic(_) | Transport::Quinn(_) | Transport::Rtp(_) | Transport::Tcp(_) => {
                Self::Sender
            }
        }
    }
}

impl FlowStatistics {
    /// Of these ends. What a receiver that is no finder has lost is its own: requests and credit,
    /// which are not the flow's data.
    pub(super) fn new([sender, receiver]: [Statistics; 2], finder: LossFinder) -> Self {
        let own = match finder {
            LossFinder::Sender => Statistics {
                packets_lost: 0,
                packets_late: 0,
                loss_events: 0,
                ..receiver
            },
            LossFinder::Receiver => receiver,
        };
        Self {
            sender,
            receiver: own,
        }
    }

    /// Packets of the data's direction that either end found to be lost, less those that arrived
    /// after all.
    pub(super) const fn lost(&self) -> u64 {
        self.sender.packets_lost + self.receiver.packets_lost
    }

    /// Packets that arrived after an end had found them to be lost.
    pub(super) const fn late(&self) -> u64 {
        self.sender.packets_late + self.receiver.packets_late
    }

    /// Packets that either end found to be lost, whether or not they arrived after all.
    pub(super) const fn found_lost(&self) -> u64 {
        self.lost() + self.late()
    }

    /// Packets that were lost since `before`. A packet that was declared lost before and arrived
    /// since makes them fewer, down to zero at the least (RFC 3550 §A.3).
    pub(super) const fn lost_since(&self, before: &Self) -> u64 {
        self.lost().saturating_sub(before.lost())
    }

    /// The counters of two connections together, as far as they are counted for both.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            sender: sum_of(&self.sender, &other.sender),
            receiver: sum_of(&self.receiver, &other.receiver),
        }
    }
}

fn sum_of(a: &Statistics, b: &Statistics) -> Statistics {
    Statistics {
        packets_sent: a.packets_sent + b.packets_sent,
        packets_received: a.packets_received + b.packets_received,
        bytes_received: a.bytes_received + b.bytes_received,
        payload_received: a.payload_received + b.payload_received,
        packets_lost: a.packets_lost + b.packets_lost,
        packets_late: a.packets_late + b.packets_late,
        packets_retransmitted: a.packets_retransmitted + b.packets_retransmitted,
        timeouts: a.timeouts + b.timeouts,
        ..Statistics::default()
    }
}

/// The summary of a run; `summary.json` has exactly these fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The run itself.
    pub run: RunSummary,
    /// Flows by name, in natural order as all names.
    #[serde(serialize_with = "natural_order::serialize")]
    pub flows: BTreeMap<String, FlowSummary>,
    /// Directions of links by name, `NAME` forward and `NAME.backward` backward, and stations of
    /// 802.11 media, `NAME.HOST`.
    #[serde(serialize_with = "natural_order::serialize")]
    pub links: BTreeMap<String, LinkSummary>,
    /// Entries of the scenario that stand for several flows (`count`), by name.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        serialize_with = "natural_order::serialize"
    )]
    pub groups: BTreeMap<String, GroupSummary>,
    /// Flows with arrivals, by name.
    #[serde(
        default,
        skip_serializing_if = "BTreeMap::is_empty",
        serialize_with = "natural_order::serialize"
    )]
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
    pub drawn: BTreeMap<String, f64>,
}

/// The format of run folders: raised when an earlier version can no longer read what is written,
/// or the other way round. Folders of format 1 have no checksums and do not say their format.
pub const RUN_FORMAT: u32 = 2;

/// The run itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// The commit of its source, with `-dirty` behind it if files were changed; `None` if the
    /// caller does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Seconds that the run took. Never in a file, because files must not depend on it; a
    /// command line may fill it in for its output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_s: Option<f64>,
    /// The virtual time in seconds from which on the trace was too long to be kept whole: since
    /// then it has every change of a word, such as the state and the limit, and of each round-trip
    /// time or longer the first row, the last one and the extremes. Absent if it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_thinned_from_s: Option<f64>,
    /// The virtual time in seconds from which on the table of packets was too long to have all:
    /// since then it has those that were lost, dropped or marked, and of the others a half, a
    /// quarter and so on, each with all its rows. Absent if it has all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_left_out_from_s: Option<f64>,
    /// Of a run in real time: how late 99 of 100 events were at most, in seconds. Much more than
    /// a millisecond means that the machine was too busy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_p99_s: Option<f64>,
}

/// A flow, from the warm-up to the end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSummary {
    /// Octets of transport packets received by the target, in bits per second.
    pub throughput_bps: f64,
    /// Octets of application data delivered for the first time, in bits per second.
    pub goodput_bps: f64,
    /// The time in which the flow was alive, which both rates are divided by, in seconds.
    #[serde(default)]
    pub active_s: f64,
    /// Of an application that ends by itself: from the start of the flow, its handshake included,
    /// to the delivery of its last octet, in seconds. `None` if not all was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_time_s: Option<f64>,
    /// Packets that the sender handed over.
    pub packets_sent: u64,
    /// Packets of the sender that the transport found to be lost: the sender itself, or for TFRC
    /// and UDP the receiver. With UDP and RTP less those that arrived after all, also if they were
    /// found to be lost in the warm-up, and at least none.
    pub packets_lost: u64,
    /// Packets whose data was sent before, and timeouts. `None` with UDP, which has neither; of
    /// quinn the timeouts alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmissions: Option<Retransmissions>,
    /// Packets that the target received.
    pub packets_received: u64,
    /// Packets that the target received with Congestion Experienced (RFC 3168).
    #[serde(default)]
    pub marks: u64,
    /// Loss events (TFRC) or congestion events (windows) of the packets that were sent in the time
    /// of the statistics, per such packet: data packets, and with QUIC all that elicit
    /// acknowledgements. What TFRC feeds into its equation is a weighted mean over the last
    /// intervals and is in the trace.
    pub loss_event_rate: f64,
    /// Round-trip times as the sender measured them; `None` without a sample.
    pub rtt_s: Option<Distribution>,
    /// From the sender's transport to the receiver's, which takes the packet: hosts with their
    /// `handshake_delay` and access links included, over the packets that arrived (RFC 7679).
    /// `None` without a packet, and on real sockets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_way_delay_s: Option<Distribution>,
    /// The part of it that packets spent in queues of links and 802.11 stations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queueing_delay_s: Option<Distribution>,
    /// RFC 3550's interarrival jitter after each packet (§6.4.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_s: Option<Distribution>,
    /// How much longer round trips took than on the idle path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_under_load: Option<LatencyUnderLoad>,
    /// The controller's allowed rate; for windows cwnd / smoothed RTT. `None` if it never
    /// reported.
    pub rate_bps: Option<MeanCov>,
    /// What held the sender back: the share of the time for each word of the column `bound`, zero
    /// for those that never held, from the end of the warm-up, or from the start of the flow if
    /// that is later.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bound_share: BTreeMap<String, f64>,
    /// Time from the opening of the connection until 65,536 octets were delivered, in seconds: how
    /// fast the flow starts. `None` for TFRC, and if fewer were delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup_s: Option<f64>,
    /// After the longest time without delivery: from its beginning until a second has 80 % of the
    /// goodput before, in seconds. `None` without such a time of half a second, and if the flow
    /// does not recover.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_s: Option<f64>,
    /// The coefficient of variation of the goodput by the length of the intervals in
    /// seconds: how smoothly the flow delivers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub goodput_cov: BTreeMap<String, f64>,
    /// The playback, if the application is audio; from the start of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioSummary>,
    /// The video, if the application is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoSummary>,
    /// The requests, if the application is that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestSummary>,
    /// How the connection ended, if not in good order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// What was sent again (TCP, QUIC), and the timeouts. `packets_lost` counts what acknowledgements
/// showed to be lost, not what TCP's timeout presumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retransmissions {
    /// Packets whose data was sent before.
    pub packets: u64,
    /// Of these, the ones that a timeout presumed lost (TCP).
    pub by_timeout: u64,
    /// Expiries of the timer that waits for acknowledgements or feedback, or for the peer's answer
    /// when the connection is opened or closed.
    pub timeouts: u64,
}

impl Retransmissions {
    /// True if the sender of a flow with this transport counts them.
    pub(super) const fn are_counted(transport: &Transport) -> bool {
        match transport {
            Transport::Dccp(_)
            | Transport::Quic(_)
            | Transport::Quinn(_)
            | Transport::Rtp(_)
            | Transport::Tcp(_) => true,
            Transport::Udp(_) => false,
        }
    }

    /// What a sender that counts them did between two moments.
    pub(super) fn between(before: &Statistics, after: &Statistics) -> Self {
        Self {
            packets: after.packets_retransmitted - before.packets_retransmitted,
            by_timeout: after.packets_retransmitted_by_timeout
                - before.packets_retransmitted_by_timeout,
            timeouts: after.timeouts - before.timeouts,
        }
    }
}

/// The playback of audio since the start of the run. Units are frames or pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AudioSummary {
    /// Units that were due.
    pub units: u64,
    /// Of these, played from their own packets.
    pub on_time: u64,
    /// Recovered by forward error correction.
    pub repaired: u64,
    /// Arrived after their playout time.
    pub late: u64,
    /// Never arrived.
    pub lost: u64,
    /// Played though damaged.
    pub corrupted: u64,
    /// Runs of units that were not played.
    pub gaps: u64,
    /// The longest of them in seconds.
    pub longest_gap_s: f64,
    /// All of them together in seconds.
    pub silence_s: f64,
}

impl From<AudioStatistics> for AudioSummary {
    fn from(audio: AudioStatistics) -> Self {
        Self {
            units: audio.units,
            on_time: audio.on_time,
            repaired: audio.repaired,
            late: audio.late,
            lost: audio.lost,
            corrupted: audio.corrupted,
            gaps: audio.gaps,
            longest_gap_s: audio.longest_gap.as_secs_f64(),
            silence_s: audio.silence.as_secs_f64(),
        }
    }
}

/// How much longer the measured round trips took than one on the idle path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyUnderLoad {
    /// The round-trip time of the idle path, in seconds: propagation, access links and hosts,
    /// without transmission times and 802.11; the smallest measured one, if that is shorter.
    pub base_rtt_s: f64,
    /// The median of the measured ones less `base_rtt_s`.
    pub added_p50_s: f64,
    /// Their 95th percentile less `base_rtt_s`.
    pub added_p95_s: f64,
}

impl LatencyUnderLoad {
    /// Of these round-trip times over a path of this base.
    pub(super) fn new(rtt: &Distribution, base: Duration) -> Self {
        let base = base.as_secs_f64().min(rtt.min);
        Self {
            base_rtt_s: base,
            added_p50_s: rtt.p50 - base,
            added_p95_s: rtt.p95 - base,
        }
    }
}

impl FlowSummary {
    /// What happened to a flow between two moments, of which it was alive for this time.
    pub(super) fn between(
        before: &FlowStatistics,
        after: &FlowStatistics,
        active: Duration,
    ) -> Self {
        let secs = active.as_secs_f64();
        let bits_per_second = |bytes: u64| {
            if secs > 0.0 {
                bytes as f64 * 8.0 / secs
            } else {
                0.0
            }
        };
        let (sender, receiver) = (
            (&before.sender, &after.sender),
            (&before.receiver, &after.receiver),
        );
        let may_be_lost =
            |sender: &Statistics| sender.data_packets_sent + sender.control_packets_sent;
        let sent = may_be_lost(sender.1) - may_be_lost(sender.0);
        let events = sender.1.loss_events + receiver.1.loss_events
            - sender.0.loss_events
            - receiver.0.loss_events;
        Self {
            throughput_bps: bits_per_second(receiver.1.bytes_received - receiver.0.bytes_received),
            goodput_bps: bits_per_second(receiver.1.payload_received - receiver.0.payload_received),
            active_s: secs,
            packets_sent: sender.1.packets_sent - sender.0.packets_sent,
            packets_lost: after.lost_since(before),
            packets_received: receiver.1.packets_received - receiver.0.packets_received,
            loss_event_rate: if sent > 0 {
                events as f64 / sent as f64
            } else {
                0.0
            },
            ..Self::default()
        }
    }
}
