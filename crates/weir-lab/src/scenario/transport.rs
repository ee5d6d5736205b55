//! `transport = { … }`: the protocol of a flow with all its settings.

use super::value::{Choice, Count, Fraction, Octets, OrWord};
use super::visit::{Need, Purpose, Section, Variants, Visitor};
use weir_proto::cc::tfrc::Profile;
use weir_proto::cc::window::{self, CubicConfig, Rules};
use weir_proto::dccp;
use weir_proto::packet::IpHeader;
use weir_proto::quic::wire::{HeaderFormat, PacketNumberLen};
use weir_proto::quic::{self, AckPolicy, FlowControlConfig, Handshake};
use weir_proto::time::Duration;
use weir_proto::udp;

/// The protocol that carries a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// DCCP (RFC 4340) with one of its congestion controls.
    Dccp(Box<Dccp>),
    /// QUIC (RFC 9000, 9002) with one of the window controllers.
    Quic(Box<Quic>),
    /// quinn, an implementation of QUIC that real programs use.
    Quinn(Box<super::Quinn>),
    /// TCP.
    Tcp(Box<super::Tcp>),
    /// UDP.
    Udp(Udp),
}

/// `{ kind = "udp", … }`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Udp {
    /// What damage the checksum finds.
    pub checksum: udp::Checksum,
}

/// `{ kind = "dccp", … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dccp {
    /// 2, 3 or 4.
    pub ccid: u8,
    /// Preset of TFRC's rules.
    pub profile: &'static str,
    /// The preset with what the scenario changes in it.
    pub tfrc: Profile,
    /// Sequence Window of both ends in packets (RFC 4340 §7.5.2).
    pub sequence_window: u64,
    /// Datagrams that may wait for their transmission.
    pub send_queue: u32,
    /// Data packets use explicit congestion notification.
    pub ecn: bool,
    /// Data packets carry ECN nonces (RFC 4340 §12.2).
    pub ecn_nonces: bool,
    /// CsCov of both ends (RFC 4340 §9.2).
    pub checksum_coverage: u8,
    /// Data packets carry a Data Checksum (RFC 4340 §9.3).
    pub data_checksum: bool,
}

/// `{ kind = "quic", … }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Quic {
    /// A name of the controllers' registry.
    pub controller: &'static str,
    /// Preset of the rules in which revisions differ, and of headers and handshake.
    pub rules: &'static str,
    /// The preset's rules with what the scenario changes in them.
    pub overrides: Rules,
    /// The constants of CUBIC.
    pub cubic: CubicConfig,
    /// Initial window in octets; `None` for RFC 9002's.
    pub initial_window: Option<u64>,
    /// Octets of the largest datagram without IP and UDP headers; `None` for what the path's MTU
    /// allows.
    pub max_datagram_size: Option<u32>,
    /// Sizes of headers.
    pub header: HeaderFormat,
    /// How the connection begins.
    pub handshake: Handshake,
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// Packets that need no acknowledgement are acknowledged with data packets.
    pub bundle_acks: bool,
    /// Credit.
    pub flow_control: FlowControlConfig,
    /// Octets that may wait for their first transmission.
    pub send_queue_limit: u64,
    /// Below this share of `send_queue_limit` the application may write again.
    pub low_water_ratio: f64,
    /// Packets are ECN-capable.
    pub ecn: bool,
    /// Ends the connection after so long without a packet; `None` never does.
    pub idle_timeout: Option<Duration>,
}

impl Default for Transport {
    fn default() -> Self {
        Self::Dccp(Box::default())
    }
}

impl Default for Dccp {
    fn default() -> Self {
        Self {
            ccid: 3,
            profile: "rfc5348",
            tfrc: Profile::default(),
            // RFC 4340 §7.5.2 starts with 100, which is too small for fast paths; this is five
            // round trips of 2000 packets.
            sequence_window: 10_000,
            send_queue: 5,
            ecn: false,
            ecn_nonces: false,
            checksum_coverage: 0,
            data_checksum: false,
        }
    }
}

impl Default for Quic {
    fn default() -> Self {
        Self::of_config("rfc9002", &quic::Config::default())
    }
}

impl Quic {
    fn of_config(rules: &'static str, config: &quic::Config) -> Self {
        Self {
            controller: config.controller.name,
            rules,
            overrides: config.rules,
            cubic: config.cubic,
            initial_window: config.initial_window,
            max_datagram_size: None,
            header: config.header,
            handshake: config.handshake,
            ack: config.ack,
            bundle_acks: config.bundle_acks,
            flow_control: config.flow_control,
            send_queue_limit: config.send_queue_limit,
            low_water_ratio: config.low_water_ratio,
            ecn: config.ecn,
            idle_timeout: config.idle_timeout,
        }
    }

    /// What both endpoints are made from; `path_mtu` counts from the IP header on.
    pub(crate) fn config(&self, path_mtu: u32) -> quic::Config {
        let headers = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
        let largest = path_mtu.saturating_sub(headers);
        let mut config = quic::Config {
            rules: self.overrides,
            cubic: self.cubic,
            initial_window: self.initial_window,
            max_datagram_size: Some(self.max_datagram_size.unwrap_or(largest)),
            header: self.header,
            handshake: self.handshake,
            ack: self.ack,
            bundle_acks: self.bundle_acks,
            flow_control: self.flow_control,
            send_queue_limit: self.send_queue_limit,
            low_water_ratio: self.low_water_ratio,
            ecn: self.ecn,
            idle_timeout: self.idle_timeout,
            ..quic::Config::default()
        };
        if let Some(entry) = window::find(self.controller) {
            config.controller = entry;
        }
        config
    }
}

impl Dccp {
    /// What both ends are made from.
    pub(crate) fn config(&self, path_mtu: u32) -> dccp::Config {
        let ccid = || match self.ccid {
            3 => dccp::Ccid::Tfrc(Box::new(self.tfrc.clone())),
            4 => dccp::Ccid::TfrcSmallPackets(Box::new(self.tfrc.clone())),
            _ => dccp::Ccid::TcpLike,
        };
        dccp::Config {
            send_ccid: ccid(),
            receive_ccid: ccid(),
            sequence_window: self.sequence_window,
            send_queue: self.send_queue,
            ecn_nonces: self.ecn_nonces,
            mtu: path_mtu,
            ecn: self.ecn,
            checksum_coverage: self.checksum_coverage,
            data_checksum: self.data_checksum,
            ..dccp::Config::default()
        }
    }
}

impl Variants for Transport {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "dccp",
                "Datagrams without reliability, with congestion control (RFC 4340).",
            ),
            (
                "quic",
                "A reliable stream (RFC 9000 and 9002, without TLS).",
            ),
            (
                "quinn",
                "A reliable stream by the QUIC implementation quinn, with TLS, in virtual time.",
            ),
            ("tcp", "A reliable stream: the yardstick of friendliness."),
            (
                "udp",
                "Datagrams without reliability and without congestion control.",
            ),
        ]
    }
    fn kind(&self) -> &'static str {
        match self {
            Self::Dccp(_) => "dccp",
            Self::Quic(_) => "quic",
            Self::Quinn(_) => "quinn",
            Self::Tcp(_) => "tcp",
            Self::Udp(_) => "udp",
        }
    }
    fn set_kind(&mut self, kind: &str) {
        *self = match kind {
            "quic" => Self::Quic(Box::default()),
            "quinn" => Self::Quinn(Box::default()),
            "tcp" => Self::Tcp(Box::default()),
            "udp" => Self::Udp(Udp::default()),
            _ => Self::Dccp(Box::default()),
        };
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        match self {
            Self::Dccp(dccp) => dccp.visit(v),
            Self::Quic(quic) => quic.visit(v),
            Self::Quinn(quinn) => quinn.visit(v),
            Self::Tcp(tcp) => tcp.visit(v),
            Self::Udp(udp) => udp.visit(v),
        }
    }
}

impl Udp {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let checksum = &mut Choice {
            slot: &mut self.checksum,
            words: &[
                ("full", udp::Checksum::Full),
                ("headers", udp::Checksum::HeadersOnly),
                ("none", udp::Checksum::Absent),
            ],
        };
        let doc = "What it covers: damage elsewhere is delivered.";
        v.value("checksum", doc, Need::Optional, checksum);
    }

    /// What both sockets are made from.
    pub(crate) fn config(self, path_mtu: u32) -> udp::Config {
        udp::Config {
            mtu: path_mtu,
            checksum: self.checksum,
        }
    }
}

impl Dccp {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let ccid = &mut Count {
            slot: &mut self.ccid,
            min: 2,
            max: 4,
            unit: "",
        };
        let doc = "The congestion control: 2 is like TCP (RFC 4341), 3 is TFRC (RFC 4342), 4 is TFRC \
                   for small packets (RFC 5622).";
        v.value("ccid", doc, optional, ccid);
        let profile = &mut Choice {
            slot: &mut self.profile,
            words: &Profile::NAMES.map(|name| (name, name)),
        };
        let doc = "TFRC's rules as one revision has them; CCID 3 and 4.";
        v.value("profile", doc, optional, profile);
        if v.purpose() == Purpose::Read
            && let Some(profile) = Profile::named(self.profile)
        {
            self.tfrc = profile;
        }
        let doc = "Single rules of TFRC, on top of `profile`.";
        v.section("tfrc", doc, &mut self.tfrc);
        let window = &mut Count {
            slot: &mut self.sequence_window,
            min: 32,
            max: (1 << 46) - 1,
            unit: "packets",
        };
        let doc = "Sequence Window of both ends (RFC 4340 §7.5.2): about five packets per round \
                   trip are needed.";
        v.value("sequence_window", doc, optional, window);
        let queue = &mut Count {
            slot: &mut self.send_queue,
            min: 1,
            max: 1_000_000,
            unit: "packets",
        };
        let doc = "Datagrams that may wait for their transmission, as Linux's tx_qlen.";
        v.value("send_queue", doc, optional, queue);
        let doc = "Data packets use explicit congestion notification.";
        v.value("ecn", doc, optional, &mut self.ecn);
        let doc = "With ecn: data packets are ECT(0) or ECT(1) by chance, and the sender verifies that \
                   the receiver knows which (RFC 4340 §12.2; historic by RFC 8311).";
        v.value("ecn_nonces", doc, optional, &mut self.ecn_nonces);
        let coverage = &mut Count {
            slot: &mut self.checksum_coverage,
            min: 0,
            max: 15,
            unit: "",
        };
        let doc = "CsCov (RFC 4340 §9.2): 0 covers all of a packet, 1 the header, n another \
                   4 (n - 1) bytes of payload; damage beyond is delivered.";
        v.value("checksum_coverage", doc, optional, coverage);
        let doc = "Data packets carry a Data Checksum (RFC 4340 §9.3): damaged data is dropped and \
                   reported with Data Dropped, and its loss is not taken for congestion by TFRC.";
        v.value("data_checksum", doc, optional, &mut self.data_checksum);
    }
}

/// CUBIC's constants.
pub(super) struct Cubic<'a>(pub(super) &'a mut CubicConfig);

impl Section for Cubic<'_> {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let doc = "C, how steep the curve is (RFC 9438 §5).";
        v.value("c", doc, optional, &mut self.0.c);
        let doc = "beta, what a reduction leaves, in 0..1 (RFC 9438 §4.6).";
        let beta = &mut Fraction(&mut self.0.beta);
        v.value("beta", doc, optional, beta);
        let doc = "Give way to newcomers (RFC 9438 §4.7).";
        v.value(
            "fast_convergence",
            doc,
            optional,
            &mut self.0.fast_convergence,
        );
    }
}

/// `max_datagram_size` of QUIC, the lean one and quinn.
pub(super) fn visit_datagram_size(size: &mut Option<u32>, v: &mut dyn Visitor) {
    let size = &mut OrWord {
        slot: size,
        word: "path",
        inner: |slot| {
            let (min, max) = (1200, 65_507);
            Box::new(Octets { slot, min, max })
        },
    };
    let doc = "Bytes of the largest datagram without IP and UDP headers; \"path\" takes what \
               the path's MTU allows.";
    v.value("max_datagram_size", doc, Need::Optional, size);
}

/// `initial_window` of QUIC, the lean one and quinn.
pub(super) fn visit_initial_window(
    window: &mut Option<u64>,
    doc: &'static str,
    v: &mut dyn Visitor,
) {
    let window = &mut OrWord {
        slot: window,
        word: "rfc9002",
        inner: |slot| {
            let (min, max) = (1, 1 << 40);
            Box::new(Octets { slot, min, max })
        },
    };
    v.value("initial_window", doc, Need::Optional, window);
}

/// `idle_timeout` of QUIC, the lean one and quinn.
pub(super) fn visit_idle_timeout(timeout: &mut Option<Duration>, v: &mut dyn Visitor) {
    let timeout = &mut OrWord {
        slot: timeout,
        word: "never",
        inner: |slot| Box::new(slot),
    };
    let doc = "Ends the connection after this duration without a packet, or \"never\".";
    v.value("idle_timeout", doc, Need::Optional, timeout);
}

impl Quic {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let rules = &mut Choice {
            slot: &mut self.rules,
            words: &Rules::NAMES.map(|name| (name, name)),
        };
        let doc = "The rules in which revisions and models differ, with their headers and \
                   handshake, as one of them has them.";
        v.value("rules", doc, optional, rules);
        if v.purpose() == Purpose::Read
            && let Some(config) = quic::Config::named(self.rules)
        {
            *self = Self::of_config(self.rules, &config);
        }
        let doc = "Single rules, on top of `rules`.";
        v.section("overrides", doc, &mut self.overrides);
        let controller = &mut Choice {
            slot: &mut self.controller,
            words: &window::names().map(|name| (name, name)).collect::<Vec<_>>(),
        };
        v.value("controller", "The window controller.", optional, controller);
        let doc = "The constants of CUBIC (RFC 9438).";
        v.section("cubic", doc, &mut Cubic(&mut self.cubic));
        self.visit_acknowledgement(v);
        self.visit_sizes(v);
        visit_credit(&mut self.flow_control, v);
        self.visit_connection(v);
    }

    fn visit_acknowledgement(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let every = &mut Count {
            slot: &mut self.ack.every,
            min: 1,
            max: 1000,
            unit: "packets",
        };
        let doc = "Ack-eliciting packets after which the receiver acknowledges at once.";
        v.value("ack_every", doc, optional, every);
        let doc = "The longest that the receiver delays an acknowledgement.";
        v.value("max_ack_delay", doc, optional, &mut self.ack.max_delay);
        let doc = "A late packet, and one after a gap, is acknowledged at once.";
        v.value("ack_on_gap", doc, optional, &mut self.ack.on_gap);
        let doc = "Packet number 0 is acknowledged at once.";
        v.value(
            "ack_first_at_once",
            doc,
            optional,
            &mut self.ack.first_at_once,
        );
        let mut ranges = u64::from(self.ack.max_ranges);
        let count = &mut Count {
            slot: &mut ranges,
            min: 1,
            max: 256,
            unit: "ranges",
        };
        let doc = "Ranges of packet numbers that an acknowledgement reports: the newest.";
        v.value("ack_ranges", doc, optional, count);
        // At most 256.
        self.ack.max_ranges = ranges as u32;
        let doc = "Packets that ask for no acknowledgement are acknowledged with data packets.";
        v.value("bundle_acks", doc, optional, &mut self.bundle_acks);
    }

    fn visit_sizes(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        visit_datagram_size(&mut self.max_datagram_size, v);
        let doc = "Initial window in bytes; \"rfc9002\" is min(10 packets, max(2 packets, 14720)).";
        visit_initial_window(&mut self.initial_window, doc, v);
        let doc = "Bytes that may wait for their first transmission.";
        let limit = &mut credit(&mut self.send_queue_limit);
        v.value("send_queue_limit", doc, optional, limit);
        let doc = "The application may write again below this share of the limit, in 0..1.";
        let low_water = &mut Fraction(&mut self.low_water_ratio);
        v.value("low_water_ratio", doc, optional, low_water);
        v.section("header", "Sizes of headers.", &mut Header(&mut self.header));
    }

    fn visit_connection(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let handshake = &mut Choice {
            slot: &mut self.handshake,
            words: &[
                ("established", Handshake::Established),
                ("one-rtt", Handshake::OneRtt),
            ],
        };
        let doc = "How the connection begins: open from the start, or after one exchange.";
        v.value("handshake", doc, optional, handshake);
        let doc = "Packets are ECN-capable.";
        v.value("ecn", doc, optional, &mut self.ecn);
        visit_idle_timeout(&mut self.idle_timeout, v);
    }
}

/// A number of octets as QUIC can write it (RFC 9000 §16).
fn credit(slot: &mut u64) -> Octets<'_, u64> {
    Octets {
        slot,
        min: 1,
        max: (1 << 62) - 1,
    }
}

/// QUIC's credit (RFC 9000 §4).
fn visit_credit(config: &mut FlowControlConfig, v: &mut dyn Visitor) {
    let optional = Need::Optional;
    let doc = "The receiver's credit in bytes, for the whole connection.";
    let max = &mut credit(&mut config.initial_max_data);
    v.value("initial_max_data", doc, optional, max);
    let doc = "The receiver's credit in bytes, for the stream.";
    let max = &mut credit(&mut config.initial_max_stream_data);
    v.value("initial_max_stream_data", doc, optional, max);
    let doc = "New credit for the connection is due when this share of it is left, in 0..1.";
    let share = &mut Fraction(&mut config.max_data_threshold);
    v.value("max_data_threshold", doc, optional, share);
    let doc = "New credit for the stream is due when this share of it is left, in 0..1.";
    let share = &mut Fraction(&mut config.max_stream_data_threshold);
    v.value("max_stream_data_threshold", doc, optional, share);
    let doc = "New credit makes a packet of its own instead of waiting for one.";
    v.value(
        "announce_at_once",
        doc,
        optional,
        &mut config.announce_at_once,
    );
}

/// QUIC's header sizes.
struct Header<'a>(&'a mut HeaderFormat);

impl Section for Header<'_> {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let octets = |slot, max| Count {
            slot,
            min: 0,
            max,
            unit: "bytes",
        };
        let doc = "Bytes of a connection id.";
        let id = &mut octets(&mut self.0.connection_id_len, 20);
        v.value("connection_id", doc, optional, id);
        let number = &mut Choice {
            slot: &mut self.0.number_len,
            words: &[
                ("minimal", PacketNumberLen::Minimal),
                ("1", PacketNumberLen::One),
                ("2", PacketNumberLen::Two),
                ("3", PacketNumberLen::Three),
                ("4", PacketNumberLen::Four),
            ],
        };
        let doc = "Bytes of a packet number: \"1\" to \"4\", or as few as its place allows.";
        v.value("packet_number", doc, optional, number);
        let doc = "Bytes of the AEAD tag at the end of each packet.";
        v.value("tag", doc, optional, &mut octets(&mut self.0.tag_len, 32));
    }
}
