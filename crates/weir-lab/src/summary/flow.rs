//! The summary of a flow of one connection.

use super::bounds;
use super::measure::measures;
use super::requests::RequestSummary;
use super::statistics::{Distribution, MeanCov};
use super::video::VideoSummary;
use std::collections::BTreeMap;
use weir_net::DelayStatistics;
use weir_net::app::AudioStatistics;
use weir_proto::endpoint::Statistics;
use weir_proto::time::Duration;

/// The statistics of both endpoints of a flow at a moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowStatistics {
    pub(crate) sender: Statistics,
    pub(crate) receiver: Statistics,
}

/// The end that detects losses of the flow's data in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossFinder {
    Sender,
    /// The receiver, or either end, as with DCCP.
    Receiver,
}

impl FlowStatistics {
    /// The statistics of these ends. If the sender detects the losses, those counted at the
    /// receiver are ignored: they are of its own requests and credit, which are not the flow's
    /// data.
    pub(crate) fn new([sender, receiver]: [Statistics; 2], finder: LossFinder) -> Self {
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

    /// Data packets that either end declared lost, without those that arrived later.
    pub(crate) const fn lost(&self) -> u64 {
        self.sender.packets_lost + self.receiver.packets_lost
    }

    /// Packets that arrived after they had been declared lost.
    pub(crate) const fn late(&self) -> u64 {
        self.sender.packets_late + self.receiver.packets_late
    }

    /// Packets that either end declared lost, including those that arrived later.
    pub(crate) const fn found_lost(&self) -> u64 {
        self.lost() + self.late()
    }

    /// Packets lost since `before`. A packet that was declared lost before and arrived since
    /// reduces the number, but not below zero (RFC 3550 §A.3).
    pub(crate) const fn lost_since(&self, before: &Self) -> u64 {
        self.lost().saturating_sub(before.lost())
    }

    /// The sum of the counters of two connections, for counters that both have.
    pub(crate) fn plus(self, other: Self) -> Self {
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

measures! {
    /// A flow, from the warm-up to the end.
    pub struct FlowSummary {
        /// Octets of transport packets received by the target.
        pub throughput_bps: f64 => unit("bit/s").shown(&[("", "throughput", 30)]),
        /// Octets of application data delivered for the first time.
        pub goodput_bps: f64 => unit("bit/s").higher().shown(&[("", "goodput", 10)]),
        /// The time in which the flow was alive, which both rates are divided by.
        #[serde(default)]
        pub active_s: f64 => unit("s").shown(&[("", "", 1010)]),
        /// Of an application that ends by itself: from the start of the flow, its handshake
        /// included, to the delivery of its last octet; none if not all was delivered.
        pub completion_time_s: Option<f64> => unit("s").lower().shown(&[("", "completed in", 80)]),
        /// Packets that the sender handed over.
        pub packets_sent: u64 => unit("packets").shown(&[("", "packets sent", 140)]),
        /// Packets of the sender that the transport found to be lost: the sender itself, or for
        /// TFRC and UDP the receiver. With UDP and RTP less those that arrived after all, also if
        /// they were found to be lost in the warm-up, and at least none.
        pub packets_lost: u64 => unit("packets").lower().shown(&[("", "packets lost", 150)]),
        /// Packets whose data was sent before, and timeouts. `None` with UDP, which has neither; of
        /// quinn the timeouts alone.
        pub retransmissions: Option<Retransmissions>,
        /// Packets that the target received.
        pub packets_received: u64 => unit("packets"),
        /// Packets that the target received with Congestion Experienced (RFC 3168).
        #[serde(default)]
        pub marks: u64 => unit("packets").shown(&[("", "marks", 390)]),
        /// Loss events (TFRC) or congestion events (windows) of the packets that were sent in the
        /// time of the statistics, per such packet: data packets, and with QUIC all that elicit
        /// acknowledgements. What TFRC feeds into its equation is a weighted mean over the last
        /// intervals and is in the trace.
        pub loss_event_rate: f64 => unit("").shown(&[("", "loss events per packet", 200)]),
        /// Round-trip times as the sender measured them; none without a sample.
        pub rtt_s: Option<Distribution> [or null] => unit("s").lower().shown(&[
            ("mean", "round trip, mean", 210), ("p95", "round trip, 95 %", 220),
            ("min", "", 1020), ("p50", "", 1030), ("p99", "", 1040),
        ]),
        /// From the sender's transport to the receiver's, which takes the packet: hosts with their
        /// `handshake_delay` and access links included, over the packets that arrived (RFC 7679);
        /// none without a packet, and on real sockets.
        pub one_way_delay_s: Option<Distribution> => unit("s").lower().shown(&[
            ("mean", "one-way delay, mean", 230), ("p95", "one-way delay, 95 %", 240),
            ("p50", "", 1050), ("p99", "", 1060),
        ]),
        /// Time that packets spent in queues of links and 802.11 stations.
        pub queueing_delay_s: Option<Distribution> => unit("s").lower().shown(&[
            ("mean", "in queues, mean", 250), ("p95", "", 1070),
        ]),
        /// RFC 3550's interarrival jitter after each packet (§6.4.1).
        pub jitter_s: Option<Distribution> => unit("s").lower().shown(&[
            ("mean", "jitter, mean", 260),
        ]),
        /// How much longer round trips took than on the idle path.
        pub latency_under_load: Option<LatencyUnderLoad>,
        /// The controller's allowed rate; for windows cwnd / smoothed RTT; none if it never
        /// reported.
        pub rate_bps: Option<MeanCov> [or null] => unit("bit/s"),
        /// What held the sender back: the share of the time for each word of the column `bound`,
        /// zero for those that never held, from the end of the warm-up, or from the start of the
        /// flow if that is later.
        pub bound_share: BTreeMap<String, f64> => unit("").by("BOUND", bounds),
        /// Time from the opening of the connection until 65,536 octets were delivered: how fast the
        /// flow starts. None for TFRC, and if fewer were delivered.
        pub startup_s: Option<f64> => unit("s").lower().shown(&[
            ("", "first 65,536 bytes in", 120),
        ]),
        /// After the longest time without delivery: from its beginning until a second has 80 % of
        /// the goodput before. None without such a time of half a second, and if the flow does not
        /// recover.
        pub recovery_s: Option<f64> => unit("s").lower().shown(&[("", "recovered after", 130)]),
        /// The coefficient of variation of the goodput by the length of the intervals in seconds:
        /// how smoothly the flow delivers.
        pub goodput_cov: BTreeMap<String, f64> => unit("").by("SECONDS", Vec::new).lower().shown(&[
            ("1", "variation over 1 s", 270),
        ]),
        /// The playback, if the application is audio; from the start of the run.
        pub audio: Option<AudioSummary>,
        /// The video, if the application is that.
        pub video: Option<VideoSummary>,
        /// The requests, if the application is that.
        pub requests: Option<RequestSummary>,
        /// How the connection ended, if not in good order.
        pub ended: Option<String>,
    }
}

measures! {
    /// What was sent again (TCP, QUIC), and the timeouts. `packets_lost` counts what
    /// acknowledgements showed to be lost, not what TCP's timeout presumed.
    #[derive(Copy, Eq)]
    pub struct Retransmissions {
        /// Packets whose data was sent before.
        pub packets: u64 => unit("packets").lower().shown(&[("", "retransmitted", 170)]),
        /// Of these, the ones that a timeout presumed lost (TCP).
        pub by_timeout: u64 => unit("packets"),
        /// Expiries of the timer that waits for acknowledgements or feedback, or for the peer's
        /// answer when the connection is opened or closed.
        pub timeouts: u64 => unit("").lower().shown(&[("", "timeouts", 190)]),
    }
}

impl Retransmissions {
    /// The counts between two moments, for a sender that counts them.
    pub(crate) fn between(before: &Statistics, after: &Statistics) -> Self {
        Self {
            packets: after.packets_retransmitted - before.packets_retransmitted,
            by_timeout: after.packets_retransmitted_by_timeout
                - before.packets_retransmitted_by_timeout,
            timeouts: after.timeouts - before.timeouts,
        }
    }
}

measures! {
    /// The playback of audio since the start of the run.
    #[derive(Copy)]
    pub struct AudioSummary {
        /// Units of audio, frames or pages, that were due.
        pub units: u64,
        /// Units of audio that were played from their own packets.
        pub on_time: u64,
        /// Units of audio that forward error correction recovered.
        pub repaired: u64,
        /// Units of audio that arrived after their playout time.
        pub late: u64,
        /// Units of audio that never arrived.
        pub lost: u64,
        /// Units of audio that were played though damaged.
        pub corrupted: u64,
        /// Gaps in the audio: runs of units that were not played.
        pub gaps: u64,
        /// The longest gap in the audio.
        pub longest_gap_s: f64 => unit("s").lower().shown(&[("", "", 1080)]),
        /// All gaps in the audio together.
        pub silence_s: f64 => unit("s").lower().shown(&[("", "silence", 280)]),
    }
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

measures! {
    /// How much longer the measured round trips took than one on the idle path.
    #[derive(Copy)]
    pub struct LatencyUnderLoad {
        /// The round-trip time of the idle path: propagation, access links and hosts, without
        /// transmission times and 802.11; the smallest measured one, if that is shorter.
        pub base_rtt_s: f64 => unit("s"),
        /// The median of the round-trip times less that of the idle path.
        pub added_p50_s: f64 => unit("s"),
        /// The 95th percentile of the round-trip times less that of the idle path.
        pub added_p95_s: f64 => unit("s"),
    }
}

impl LatencyUnderLoad {
    /// The increase of these round-trip times over this base RTT.
    pub(crate) fn new(rtt: &Distribution, base: Duration) -> Self {
        let base = base.as_secs_f64().min(rtt.min);
        Self {
            base_rtt_s: base,
            added_p50_s: rtt.p50 - base,
            added_p95_s: rtt.p95 - base,
        }
    }
}

impl FlowSummary {
    /// The summary of a flow between two moments, during which it was alive for this time.
    pub(crate) fn between(
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

    /// The same with the delays of its packets, if they were measured.
    pub(crate) fn with_delays(self, delays: Option<&DelayStatistics>) -> Self {
        Self {
            one_way_delay_s: delays.and_then(|d| Distribution::of_histogram(&d.one_way)),
            queueing_delay_s: delays.and_then(|d| Distribution::of_histogram(&d.queueing)),
            jitter_s: delays.and_then(|d| Distribution::of_histogram(&d.jitter)),
            marks: delays.map_or(0, |delays| delays.marks),
            ..self
        }
    }
}
