//! What the events of a connection contain, which decides how they are read.

use super::connections::Connection;
use super::record::{Metrics, Packet, Record, SPACES};

/// RFC 9002 §6.2.2: the round-trip time before the first sample, in seconds.
const INITIAL_RTT_S: f64 = 0.333;

/// True of the round-trip time before the first sample, in seconds.
pub(super) fn is_initial_rtt(rtt_s: f64) -> bool {
    (rtt_s - INITIAL_RTT_S).abs() < 1e-6
}

/// Which events show that a probe timeout has expired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TimeoutSource {
    /// Those of the timer.
    Timer,
    /// The metric that counts timeouts in a row.
    Count,
    /// Packets that are sent as probes.
    #[default]
    Probes,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Contents {
    /// The traced end sends the most data.
    pub(super) sends: bool,
    pub(super) packets: bool,
    pub(super) latest_rtt: bool,
    pub(super) min_rtt: bool,
    pub(super) bytes_in_flight: bool,
    pub(super) controller: bool,
    /// Frames of the packets that the traced end sends, and of those that it receives.
    pub(super) sent_frames: bool,
    pub(super) received_frames: bool,
    /// Acknowledgements of what the traced end sends.
    pub(super) acknowledgements: bool,
    /// Sizes of the packets that the traced end sends.
    pub(super) sent_sizes: bool,
    pub(super) paths: bool,
    pub(super) timeouts: TimeoutSource,
    /// quinn writes round-trip times in seconds, where qlog has milliseconds.
    pub(super) rtt_in_seconds: bool,
}

impl Contents {
    pub(super) fn of(connection: &Connection) -> Self {
        let mut found = Self::default();
        let (mut sent, mut received) = (Volume::default(), Volume::default());
        let mut smoothed = None;
        for (_, record) in &connection.records {
            match record {
                Record::Metrics(metrics) => {
                    found.take_metrics(metrics);
                    smoothed = smoothed.or(metrics.smoothed_rtt);
                }
                Record::Sent(packet) => {
                    sent.add(packet);
                    found.sent_frames |= packet.frames.is_some();
                    found.sent_sizes |= packet.size.is_some();
                    found.paths |= packet.space >= SPACES;
                }
                Record::Received(packet) => {
                    received.add(packet);
                    found.received_frames |= packet.frames.is_some();
                    let frames = packet.frames.as_ref();
                    found.acknowledgements |= frames.is_some_and(|all| !all.acks.is_empty());
                }
                Record::Acked(_) => found.acknowledgements = true,
                Record::TimerExpired => found.timeouts = TimeoutSource::Timer,
                _ => {}
            }
        }
        found.packets = sent.packets + received.packets > 0;
        let unit_s = connection.head.unit_s();
        let in_seconds = |rtt: f64| unit_s == 1e-3 && is_initial_rtt(rtt);
        found.rtt_in_seconds = smoothed.is_some_and(in_seconds);
        found.sends = sent.at_least(&received);
        found
    }

    fn take_metrics(&mut self, metrics: &Metrics) {
        self.controller = true;
        self.latest_rtt |= metrics.latest_rtt.is_some();
        self.min_rtt |= metrics.min_rtt.is_some();
        self.bytes_in_flight |= metrics.bytes_in_flight.is_some();
        if metrics.pto_count.is_some_and(|count| count > 0)
            && self.timeouts == TimeoutSource::Probes
        {
            self.timeouts = TimeoutSource::Count;
        }
    }
}

/// How much an end sends.
#[derive(Default)]
struct Volume {
    /// Octets of streams and datagrams.
    data: u64,
    /// Octets of packets.
    octets: u64,
    packets: u64,
}

impl Volume {
    fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.octets = self
            .octets
            .saturating_add(u64::from(packet.size.unwrap_or_default()));
        if let Some(frames) = &packet.frames {
            let streams = frames.streams.iter().map(|octets| octets.length);
            let all = streams.fold(frames.datagram_octets, u64::saturating_add);
            self.data = self.data.saturating_add(all);
        }
    }

    /// True if this end sends at least as much: data, or octets if the data is not known. Of
    /// packets without sizes, as quinn has them received, the number decides.
    fn at_least(&self, other: &Self) -> bool {
        if self.data != other.data {
            self.data > other.data
        } else if self.octets != other.octets && self.octets > 0 && other.octets > 0 {
            self.octets > other.octets
        } else {
            self.packets >= other.packets
        }
    }
}
