//! What is kept of an event.

use std::sync::Arc;

/// An event with its time.
#[derive(Clone, Debug)]
pub(super) struct Timed {
    /// The time as it is in the file.
    pub(super) time: f64,
    /// The sum of the times of all events of the trace up to this one.
    pub(super) sum: f64,
    pub(super) record: Record,
}

/// An event of QUIC that says something about congestion control or the data.
#[derive(Clone, Debug)]
pub(super) enum Record {
    Metrics(Box<Metrics>),
    Congestion(Box<CongestionState>),
    Sent(Box<Packet>),
    Received(Box<Packet>),
    Lost(Box<Loss>),
    /// Packets that the endpoint lists as acknowledged, without the frame that said so.
    Acked(Box<Acked>),
    /// The probe timeout, or a timer without a type, has expired.
    TimerExpired,
    Connection(Arc<str>),
    /// A packet that was declared lost was acknowledged.
    Spurious,
    AppLimited(bool),
    /// Flow control holds the endpoint back, or has released it.
    Blocked(bool),
}

/// Metrics that have changed; times in the unit of the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Metrics {
    pub(super) latest_rtt: Option<f64>,
    pub(super) smoothed_rtt: Option<f64>,
    pub(super) min_rtt: Option<f64>,
    pub(super) congestion_window: Option<f64>,
    pub(super) bytes_in_flight: Option<f64>,
    pub(super) ssthresh: Option<f64>,
    pub(super) pacing_rate: Option<f64>,
    pub(super) pto_count: Option<u32>,
    pub(super) app_limited: Option<bool>,
}

#[derive(Clone, Debug)]
pub(super) struct CongestionState {
    pub(super) new: Arc<str>,
    pub(super) trigger: Arc<str>,
}

/// A packet number space of a path: RFC 9000 §12.3 has three.
pub(super) type Space = u64;
pub(super) const INITIAL: Space = 0;
pub(super) const HANDSHAKE: Space = 1;
pub(super) const APPLICATION: Space = 2;
/// The spaces of each further path follow at this distance.
pub(super) const SPACES: Space = 4;

#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) number: Option<u64>,
    pub(super) space: Space,
    pub(super) type_name: &'static str,
    /// Without UDP and IP headers; `None` if the file does not say.
    pub(super) size: Option<u32>,
    /// `None` if the file does not list them.
    pub(super) frames: Option<Frames>,
    /// The packet probes after a timeout.
    pub(super) is_probe: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Frames {
    pub(super) acks: Box<[AckFrame]>,
    pub(super) streams: Box<[StreamOctets]>,
    pub(super) datagram_octets: u64,
    /// A frame other than ACK, PADDING and CONNECTION_CLOSE (RFC 9002 §2).
    pub(super) ack_eliciting: bool,
    /// PADDING, which counts as in flight without eliciting an acknowledgement.
    pub(super) padding: bool,
    pub(super) blocked: bool,
    pub(super) credit: bool,
}

#[derive(Clone, Debug)]
pub(super) struct AckFrame {
    pub(super) space: Space,
    /// First and last packet number of each range.
    pub(super) ranges: Box<[(u64, u64)]>,
    /// In the unit of the file.
    pub(super) delay: Option<f64>,
}

/// Octets of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamOctets {
    pub(super) stream: u64,
    pub(super) offset: u64,
    pub(super) length: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Loss {
    pub(super) number: Option<u64>,
    pub(super) space: Space,
    pub(super) packet_type: &'static str,
    /// More than one if the file has a count instead of numbers.
    pub(super) packets: u32,
    pub(super) trigger: Arc<str>,
}

#[derive(Clone, Debug)]
pub(super) struct Acked {
    pub(super) space: Space,
    pub(super) numbers: Box<[u64]>,
}
