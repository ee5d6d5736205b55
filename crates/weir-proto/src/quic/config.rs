//! What a QUIC endpoint can be told.

use super::wire::{HeaderFormat, varint};
use crate::cc::window::{ControllerEntry, CubicConfig, REGISTRY, Rules, WindowConfig};
use crate::time::Duration;

/// How a connection begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// It is open from the start, as in the model of the published lossy-link experiment.
    Established,
    /// One exchange of Initial packets of 1200 octets, which gives the first sample of the
    /// round-trip time.
    OneRtt,
}

/// When a receiver acknowledges (RFC 9000 §13.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckPolicy {
    /// At once after so many ack-eliciting packets.
    pub every: u32,
    /// The longest that an acknowledgement waits.
    pub max_delay: Duration,
    /// At once when a packet came late or after a gap.
    pub on_gap: bool,
    /// At once for packet number 0; the rules may ask for it too.
    pub first_at_once: bool,
    /// Ranges that are kept and reported, the newest: 1 to 64.
    pub max_ranges: usize,
}

/// How much may be sent before the receiver has read (RFC 9000 §4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowControlConfig {
    /// Octets of the whole connection; both ends assume the same of each other.
    pub initial_max_data: u64,
    /// Octets of a stream.
    pub initial_max_stream_data: u64,
    /// New credit for the connection is due when this share of it is left.
    pub max_data_threshold: f64,
    /// New credit for a stream is due when this share of it is left.
    pub max_stream_data_threshold: f64,
    /// New credit makes a packet of its own; otherwise it waits for the next acknowledgement
    /// or data packet, if one is due to come.
    pub announce_at_once: bool,
    /// Streams of each kind that the peer may open.
    pub max_streams: u64,
}

/// Everything that an endpoint can be told.
#[derive(Clone, Debug)]
pub struct Config {
    /// The window controller.
    pub controller: &'static ControllerEntry,
    /// The rules in which senders differ.
    pub rules: Rules,
    /// The constants of CUBIC.
    pub cubic: CubicConfig,
    /// The initial window in octets; `None` for RFC 9002's.
    pub initial_window: Option<u64>,
    /// The largest datagram in octets without IP and UDP headers: at least 1200.
    pub max_datagram_size: u32,
    /// Sizes of headers.
    pub header: HeaderFormat,
    /// How a connection begins.
    pub handshake: Handshake,
    /// When to acknowledge.
    pub ack: AckPolicy,
    /// Packets that need no acknowledgement are acknowledged with data packets.
    pub bundle_acks: bool,
    /// Credit.
    pub flow_control: FlowControlConfig,
    /// Octets written and not yet sent at which `write` is blocked.
    pub send_queue_limit: u64,
    /// The share of the limit below which writing may go on.
    pub low_water_ratio: f64,
    /// Send packets as ECN-capable.
    pub ecn: bool,
    /// End the connection after so long without a packet; `None` never does.
    pub idle_timeout: Option<Duration>,
}

impl Config {
    /// The names of the presets: those of the rules.
    pub const NAMES: [&'static str; 3] = Rules::NAMES;

    /// The preset of this name: rules, header and handshake of what it reproduces.
    pub fn named(name: &str) -> Option<Self> {
        let rules = Rules::named(name)?;
        let rfc = name == "rfc9002";
        Some(Self {
            controller: &REGISTRY[0],
            rules,
            cubic: CubicConfig::default(),
            initial_window: None,
            max_datagram_size: 1252,
            header: if rfc {
                HeaderFormat::RFC9000
            } else {
                HeaderFormat::INET
            },
            handshake: if name == "inet-2025" {
                Handshake::Established
            } else {
                Handshake::OneRtt
            },
            ack: AckPolicy {
                every: 2,
                max_delay: Duration::from_millis(25),
                on_gap: true,
                first_at_once: false,
                max_ranges: 32,
            },
            bundle_acks: false,
            flow_control: FlowControlConfig {
                initial_max_data: 15_000_000,
                initial_max_stream_data: 6_000_000,
                max_data_threshold: 0.5,
                max_stream_data_threshold: 0.5,
                announce_at_once: false,
                max_streams: 100,
            },
            send_queue_limit: 64_000_000,
            low_water_ratio: 0.4,
            ecn: false,
            idle_timeout: None,
        })
    }

    /// What the window controller is made from.
    pub fn window(&self) -> WindowConfig {
        WindowConfig {
            max_datagram_size: u64::from(self.max_datagram_size),
            initial_window: self.initial_window,
            rules: self.rules,
            cubic: self.cubic,
        }
    }

    /// The same with every value brought into the range in which the protocol works.
    pub(super) fn normalised(mut self) -> Self {
        self.max_datagram_size = self.max_datagram_size.clamp(1200, 65_527);
        self.header.connection_id_len = self.header.connection_id_len.min(20);
        self.header.tag_len = self.header.tag_len.min(32);
        self.ack.every = self.ack.every.max(1);
        self.ack.max_ranges = self.ack.max_ranges.clamp(1, 64);
        self.ack.first_at_once |= self.rules.ack_first_at_once;
        let credit = &mut self.flow_control;
        credit.initial_max_data = credit.initial_max_data.min(varint::MAX);
        credit.initial_max_stream_data = credit.initial_max_stream_data.min(varint::MAX);
        self
    }
}

impl Default for Config {
    /// RFC 9000 and 9002 with NewReno.
    fn default() -> Self {
        Self::named("rfc9002").unwrap_or_else(|| unreachable!("the preset exists"))
    }
}
