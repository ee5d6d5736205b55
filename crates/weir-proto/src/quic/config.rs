//! The settings of a QUIC endpoint.

use super::datagrams::DatagramConfig;
use super::loss::PACKET_THRESHOLD;
use super::media::MediaConfig;
use super::wire::{HeaderFormat, SpaceId, varint};
use crate::cc::window::{
    CarefulResumeConfig, Constants, ControllerEntry, ControllerRules, Pacing, REGISTRY, Rules,
    WindowConfig,
};
use crate::packet::IpHeader;
use crate::settings::{Keyword, bytes, count, duration, fraction, natural, or_table, or_word};
use crate::time::Duration;
use crate::{keywords, settings};
use std::ops::RangeInclusive;

/// min_ack_delay: the shortest delay of acknowledgements that a peer may request
/// (draft-ietf-quic-ack-frequency §3).
pub(super) const MIN_ACK_DELAY: Duration = Duration::from_millis(1);
/// The bounds of a requested delay: max_ack_delay is below 2^14 ms (RFC 9000 §18.2).
pub(super) const ACK_DELAYS: RangeInclusive<Duration> =
    MIN_ACK_DELAY..=Duration::from_millis((1 << 14) - 1);
/// The bounds of `pto_max`: from the granularity of timers to a day.
const TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(86_400);

/// The pseudocode of RFC 9002, and the pacing that its text requires.
const RFC9002: Rules = Rules {
    controller: ControllerRules {
        pacing: Pacing::Rfc9002,
        ..ControllerRules::OFF
    },
    ..Rules::RFC9002
};

keywords! {
    /// What becomes of the congestion controller on a new path.
    pub enum NewPath {
        /// Window and round-trip time begin anew (RFC 9000 §9.4).
        Reset = "reset",
        /// They stay, against RFC 9000, as if the path were the same.
        Keep = "keep",
    }

    /// How a connection begins.
    pub enum Handshake {
        /// It is open from the start, as in the model of the published lossy-link experiment.
        Established = "established",
        /// One exchange of Initial packets of 1200 octets, which gives the first sample of the
        /// round-trip time.
        OneRtt = "one-rtt",
    }
}

settings! {
    /// When a receiver acknowledges (RFC 9000 §13.2).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AckPolicy {
        /// Ack-eliciting packets after which the receiver acknowledges at once.
        pub every: u32 as "ack_every" = 2 => count(1..=1000, "packets"),
        /// The longest that the receiver delays an acknowledgement.
        pub max_delay: Duration as "max_ack_delay" = Duration::from_millis(25),
        /// A late packet, and one after a gap, is acknowledged at once.
        pub on_gap: bool as "ack_on_gap" = true,
        /// Packet number 0 is acknowledged at once.
        pub first_at_once: bool as "ack_first_at_once",
        /// Ranges of packet numbers that an acknowledgement reports: the newest.
        pub max_ranges: u32 as "ack_ranges" = 32 => count(1..=64, "ranges"),
    }
}

settings! {
    /// What the end that sends data asks of the acknowledgements of the other
    /// (draft-ietf-quic-ack-frequency §4).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AckFrequencyRequest {
        /// Ack-Eliciting Threshold: the packets that the receiver gets before it acknowledges the
        /// next at once. 1 is the standard, every other packet.
        pub ack_eliciting_threshold: u64 = 10 => count(0..=1_000_000, "packets"),
        /// Requested Max Ack Delay: the longest that the receiver delays an acknowledgement.
        pub requested_max_ack_delay: Duration = Duration::from_millis(25) => duration(ACK_DELAYS),
        /// Reordering Threshold: a packet so many numbers above a missing one is acknowledged at
        /// once; 0 acknowledges none at once for that.
        pub reordering_threshold: u64 = 3 => count(0..=1_000_000, "packets"),
    }
}

settings! {
    /// How much may be sent before the receiver has read (RFC 9000 §4).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct FlowControlConfig {
        /// The receiver's credit in bytes, for the whole connection.
        pub initial_max_data: u64 = 15_000_000 => bytes(1..=varint::MAX),
        /// The receiver's credit in bytes, for the stream.
        pub initial_max_stream_data: u64 = 6_000_000 => bytes(1..=varint::MAX),
        /// New credit for the connection is due when this share of it is left, in 0..1.
        pub max_data_threshold: f64 = 0.5 => fraction(),
        /// New credit for the stream is due when this share of it is left, in 0..1.
        pub max_stream_data_threshold: f64 = 0.5 => fraction(),
        /// New credit makes a packet of its own instead of waiting for one.
        pub announce_at_once: bool,
        /// Streams of each kind that the peer may open.
        pub max_streams: u64 [internal] = 100,
    }
}

settings! {
    /// The settings of a QUIC endpoint. The defaults are those of RFC 9000 and 9002 with NewReno.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Config {
        /// Single rules, on top of `rules`.
        pub rules: Rules as "overrides" = RFC9002,
        /// The window controller.
        pub controller: &'static ControllerEntry = &REGISTRY[0],
        /// The constants of the controllers.
        pub constants: Constants [flatten],
        /// When the receiver acknowledges.
        pub ack: AckPolicy [flatten],
        /// What the sender asks of the receiver's acknowledgements.
        pub ack_frequency: Option<AckFrequencyRequest> => or_table(
            Keyword { word: "none", doc: "Nothing: the receiver's settings hold." },
            Keyword { word: "request", doc: "An ACK_FREQUENCY frame with the first data." },
        ),
        /// Packets that ask for no acknowledgement are acknowledged with data packets.
        pub bundle_acks: bool,
        /// Bytes of the largest datagram without IP and UDP headers; "path" takes what the path's
        /// MTU allows.
        pub max_datagram_size: Option<u32> => or_word("path", bytes(1200..=65_507)),
        /// Initial window in bytes; "rfc9002" is min(10 packets, max(2 packets, 14720)).
        pub initial_window: Option<u64> => or_word("rfc9002", bytes(1..=1 << 40)),
        /// Bytes that may wait for their first transmission.
        pub send_queue_limit: u64 = 64_000_000 => bytes(1..=varint::MAX),
        /// The application may write again below this share of the limit, in 0..1.
        pub low_water_ratio: f64 = 0.4 => fraction(),
        /// kPacketThreshold (RFC 9002 §6.1.1): a packet is lost when one that was sent so many
        /// packets later is acknowledged.
        pub packet_threshold: u32 = PACKET_THRESHOLD => count(1..=1 << 20, "packets"),
        /// The longest that a probe timeout grows to by back-off, which RFC 9002 §6.2.1 does not
        /// bound; "none" is the RFC's. A timeout that is longer without back-off stays as it is.
        pub pto_max: Option<Duration> => or_word("none", duration(TIMEOUTS)),
        /// Sizes of headers.
        pub header: HeaderFormat,
        /// Credit.
        pub flow_control: FlowControlConfig [flatten],
        /// Datagrams.
        pub datagrams: DatagramConfig [flatten],
        /// Media: what the application writes goes into datagrams, under a controller of media.
        pub media: Option<Box<MediaConfig>> => or_table(
            Keyword { word: "none", doc: "The application writes a stream." },
            Keyword { word: "datagrams", doc: "Media in datagrams, with receive timestamps." },
        ),
        /// How the connection begins: open from the start, or after one exchange.
        pub handshake: Handshake = Handshake::OneRtt,
        /// Packets are ECN-capable: ECT(0). DCTCP and Prague make them so whatever this says.
        pub ecn: bool,
        /// What becomes of the congestion controller when the peer's or the own address changes.
        pub new_path: NewPath = NewPath::Reset,
        /// What an earlier connection has learnt of the new path.
        pub new_path_resume: Option<CarefulResumeConfig> => or_table(
            Keyword { word: "none", doc: "Nothing is known of it." },
            Keyword { word: "resume", doc: "The window jumps there by Careful Resume." },
        ),
        /// Ends the connection after this duration without a packet, or "never".
        pub idle_timeout: Option<Duration> => or_word("never", natural()),
        /// The path's MTU in octets, IP header included.
        pub mtu: u32 [internal] = 1280,
        /// What random choices follow from.
        pub seed: u64 [internal],
    }
}

impl Config {
    /// The names of the presets: those of the rules.
    pub const NAMES: [&'static str; 3] = Rules::NAMES;

    /// The preset of this name: rules, header and handshake of the model that it reproduces.
    pub fn named(name: &str) -> Option<Self> {
        let mut config = Self {
            rules: Rules::named(name)?,
            ..Self::default()
        };
        if name == "rfc9002" {
            config.rules = RFC9002;
        } else {
            config.header = HeaderFormat::INET;
        }
        if name == "inet-2025" {
            config.handshake = Handshake::Established;
        }
        Some(config)
    }

    /// The largest datagram in octets, without IP and UDP headers.
    pub fn datagram_size(&self) -> u32 {
        let headers = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
        let on_path = self.mtu.saturating_sub(headers);
        self.max_datagram_size.unwrap_or(on_path)
    }

    /// Octets of the largest datagram of RFC 9221 that fits a packet of any number.
    pub fn max_datagram_payload(&self) -> u32 {
        let datagram = self.datagram_size().clamp(1200, 65_527);
        let overhead = self.header.longest_overhead(SpaceId::Data);
        // RFC 9221 §4: as the last frame of its packet it has a type of one octet and no Length.
        let in_packet = datagram.saturating_sub(overhead + 1);
        in_packet.min(self.datagrams.max_payload())
    }

    /// How packets are written and read: the sizes of headers, and whether ACK frames have receive
    /// timestamps.
    pub fn wire_format(&self) -> HeaderFormat {
        HeaderFormat {
            receive_timestamps: self.media.is_some(),
            ..self.header
        }
    }

    /// The name of the controller of media, if the window does not hold its datagrams back.
    pub fn sole_media_controller(&self) -> Option<&'static str> {
        let media = self.media.as_deref().filter(|media| !media.nested);
        media?.controller.title()
    }

    /// The configuration of the window controller.
    pub fn window(&self) -> WindowConfig {
        WindowConfig {
            max_datagram_size: u64::from(self.datagram_size()),
            initial_window: self.initial_window,
            rules: self.rules,
            constants: self.constants,
            seed: self.seed,
        }
    }

    /// The same settings with every value brought into the range in which the protocol works.
    pub(super) fn normalised(mut self) -> Self {
        self.max_datagram_size = Some(self.datagram_size().clamp(1200, 65_527));
        self.header.connection_id_len = self.header.connection_id_len.min(20);
        self.header.tag_len = self.header.tag_len.min(32);
        self.ack.every = self.ack.every.max(1);
        self.ack.max_ranges = self.ack.max_ranges.clamp(1, 64);
        self.ack.first_at_once |= self.rules.ack_first_at_once;
        if let Some(media) = &self.media {
            self.datagrams.carry_writes = true;
            self.datagrams.datagram_queue = media.send_queue;
        }
        let credit = &mut self.flow_control;
        credit.initial_max_data = credit.initial_max_data.min(varint::MAX);
        credit.initial_max_stream_data = credit.initial_max_stream_data.min(varint::MAX);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalised(set: impl FnOnce(&mut Config)) -> Config {
        let mut config = Config::default();
        set(&mut config);
        config.normalised()
    }

    #[test]
    fn values_are_brought_into_the_range_in_which_the_protocol_works() {
        // RFC 9000 §14: datagrams of 1200 octets pass; §18.2: none is above 65527.
        for (given, size) in [
            (1199, 1200),
            (1201, 1201),
            (65_526, 65_526),
            (65_527, 65_527),
            (65_528, 65_527),
        ] {
            let config = normalised(|config| config.max_datagram_size = Some(given));
            assert_eq!(config.max_datagram_size, Some(size));
        }
        // RFC 9000 §17.2: connection ids have up to 20 octets.
        for (given, id_len) in [(0, 0), (20, 20), (21, 20)] {
            let config = normalised(|config| config.header.connection_id_len = given);
            assert_eq!(config.header.connection_id_len, id_len);
        }
        for (given, tag_len) in [(0, 0), (32, 32), (33, 32)] {
            let config = normalised(|config| config.header.tag_len = given);
            assert_eq!(config.header.tag_len, tag_len);
        }
        for (given, every, max_ranges) in [(0, 1, 1), (1, 1, 1), (64, 64, 64), (65, 65, 64)] {
            let config = normalised(|config| {
                config.ack.every = given;
                config.ack.max_ranges = given;
            });
            assert_eq!(
                (config.ack.every, config.ack.max_ranges),
                (every, max_ranges)
            );
        }
        // RFC 9000 §16: no integer is above 2^62 - 1.
        for (given, credit) in [(varint::MAX, varint::MAX), (1 << 62, varint::MAX)] {
            let config = normalised(|config| {
                config.flow_control.initial_max_data = given;
                config.flow_control.initial_max_stream_data = given;
            });
            assert_eq!(config.flow_control.initial_max_data, credit);
            assert_eq!(config.flow_control.initial_max_stream_data, credit);
        }
    }
}
