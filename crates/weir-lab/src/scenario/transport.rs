//! `transport = { … }`: the protocol of a flow. Its settings are those of the protocol itself, plus
//! the names of presets and controllers.

use super::foreign::{Foreign, Noq, Quinn};
use weir_proto::cc::media;
use weir_proto::cc::tfrc::Profile;
use weir_proto::cc::window::{
    self, BoxedController, Constants, ControllerEntry, ControllerRules, REGISTRY, RecoveryBoundary,
    Rules, WindowConfig,
};
use weir_proto::dccp::ccid2::ControllerChoice;
use weir_proto::packet::IpHeader;
use weir_proto::settings::{Keyword, count, named};
use weir_proto::{dccp, kinds, quic, rtp, settings, tcp, udp};

/// Octets of a TCP header without options (RFC 9293 §3.1).
const TCP_HEADER: u32 = 20;

kinds! {
    /// The protocol that carries a flow.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Transport {
        /// Datagrams without reliability, with congestion control (RFC 4340).
        Dccp(Box<Dccp>) = "dccp",
        /// A reliable stream (RFC 9000 and 9002, without TLS).
        Quic(Box<Quic>) = "quic",
        /// A reliable stream by the QUIC implementation quinn, with TLS, in virtual time.
        Quinn(Box<Quinn>) = "quinn",
        /// A reliable stream by the QUIC implementation noq, a fork of quinn.
        Noq(Box<Noq>) = "noq",
        /// Media with feedback about each packet (RFC 3550, RFC 8888).
        Rtp(Box<rtp::Config>) = "rtp",
        /// A reliable stream: the baseline of friendliness.
        Tcp(Box<Tcp>) = "tcp",
        /// Datagrams without reliability and without congestion control.
        Udp(udp::Config) = "udp",
    }
}

impl Default for Transport {
    fn default() -> Self {
        Self::Dccp(Box::default())
    }
}

/// The window of CCID 2 as RFC 4341 §5 describes it, as a keyword beside the controllers.
pub const RFC4341: Keyword = Keyword::new(
    "rfc4341",
    "The window of RFC 4341 §5, like Reno's, in packets",
);

/// The window controllers of CCID 2: that of RFC 4341, or one of the registry.
fn ccid2_controllers() -> Vec<Keyword> {
    let mut controllers = vec![RFC4341];
    controllers.extend(window::keywords());
    controllers
}

settings! {
    /// A DCCP flow: both ends alike.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Dccp {
        /// The congestion control: 2 is like TCP (RFC 4341), 3 is TFRC (RFC 4342), 4 is TFRC for
        /// small packets (RFC 5622).
        pub ccid: u8 = 3 => count(2..=4, ""),
        /// The window controller of CCID 2.
        pub controller: &'static str = RFC4341.word => named(ccid2_controllers),
        /// The constants of the controllers.
        pub constants: Constants [flatten],
        /// TFRC's rules as one revision has them; CCID 3 and 4.
        pub profile: &'static str = "rfc5348" => named(|| Profile::PRESETS.into()),
        /// Single rules of TFRC, on top of `profile`.
        pub tfrc: Profile,
        /// What both ends are made from; the CCID and the MTU are set when a run is built.
        pub config: dccp::Config [flatten],
    }
    preset profile = |dccp: &mut Dccp, name: &str| {
        dccp.tfrc = Profile::named(name).unwrap_or_default();
    };
}

settings! {
    /// A QUIC flow: both ends alike.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Quic {
        /// The rules in which revisions and models differ, with their headers and handshake, as
        /// one of them has them.
        pub rules: &'static str = "rfc9002" => named(|| Rules::PRESETS.into()),
        /// What both ends are made from; the MTU is set when a run is built.
        pub config: quic::Config [flatten],
    }
    preset rules = |quic: &mut Quic, name: &str| {
        quic.config = quic::Config::named(name).unwrap_or_default();
    };
}

settings! {
    /// A TCP flow: both ends alike.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Tcp {
        /// The congestion controller.
        pub controller: &'static ControllerEntry = &REGISTRY[0],
        /// The rules of loss recovery and of the retransmission timer, as one of them has them.
        pub rules: &'static str = "linux" => named(|| tcp::Rules::PRESETS.into()),
        /// What both ends are made from; addresses and the segment size are set when a run is
        /// built.
        pub config: tcp::Config [flatten],
        /// The constants of the controllers.
        pub constants: Constants [flatten],
    }
    preset rules = |tcp: &mut Tcp, name: &str| {
        tcp.config = tcp::Config::named(name).unwrap_or_default();
    };
}

impl Transport {
    /// The key of the buffer or credit with the smallest limit on data in flight, and the limit in
    /// octets; `None` if only the controller limits it.
    pub fn in_flight_limit(&self) -> Option<(&'static str, u64)> {
        let settings = match self {
            Self::Quinn(_) | Self::Noq(_) => {
                let settings = self.foreign()?.settings;
                [
                    ("stream_window", settings.stream_window),
                    ("send_window", settings.send_window),
                ]
            }
            Self::Tcp(tcp) => [
                ("receive_buffer", tcp.config.receive_buffer),
                ("send_buffer", tcp.config.send_buffer),
            ],
            // RFC 9221 §5.3: datagrams have no flow control.
            Self::Quic(quic) if quic.config.media.is_some() => return None,
            Self::Quic(quic) => {
                let credit = &quic.config.flow_control;
                [
                    ("initial_max_data", credit.initial_max_data),
                    ("initial_max_stream_data", credit.initial_max_stream_data),
                ]
            }
            Self::Dccp(_) | Self::Rtp(_) | Self::Udp(_) => return None,
        };
        settings.into_iter().min_by_key(|(_, bytes)| *bytes)
    }

    /// The transport as a stack of others, if it is one.
    pub fn foreign(&self) -> Option<Foreign<'_>> {
        match self {
            Self::Quinn(quinn) => Some((&**quinn).into()),
            Self::Noq(noq) => Some((&**noq).into()),
            Self::Dccp(_) | Self::Quic(_) | Self::Rtp(_) | Self::Tcp(_) | Self::Udp(_) => None,
        }
    }

    /// True if the application writes the octets of a stream, false if it writes datagrams.
    pub fn is_stream(&self) -> bool {
        match self {
            Self::Quic(quic) => quic.config.media.is_none(),
            Self::Quinn(_) | Self::Noq(_) | Self::Tcp(_) => true,
            Self::Dccp(_) | Self::Rtp(_) | Self::Udp(_) => false,
        }
    }

    /// The controller of media with its constants; `None` for a flow that is no media.
    pub fn media(&self) -> Option<(media::Controller, &media::Constants)> {
        match self {
            Self::Rtp(rtp) => Some((rtp.controller, &rtp.constants)),
            Self::Quic(quic) => {
                let media = quic.config.media.as_deref()?;
                Some((media.controller, &media.constants))
            }
            Self::Dccp(_) | Self::Quinn(_) | Self::Noq(_) | Self::Tcp(_) | Self::Udp(_) => None,
        }
    }

    /// The name of the controller of media, if there is one.
    pub fn media_title(&self) -> Option<&'static str> {
        self.media()?.0.title()
    }

    /// The transport's name, if it accepts all writes at once and never makes the application wait.
    pub fn takes_all(&self) -> Option<&'static str> {
        match self {
            Self::Udp(_) => Some("UDP"),
            Self::Rtp(rtp) if rtp.controller == rtp::Controller::Uncontrolled => {
                Some("RTP without a controller")
            }
            _ => None,
        }
    }
}

impl Dccp {
    /// The controller in place of the window of RFC 4341, if one is set.
    pub fn controller(&self) -> Option<&'static ControllerEntry> {
        window::find(self.controller)
    }

    /// The configuration of both ends; `path_mtu` includes the IP header.
    pub(crate) fn config(&self, path_mtu: u32, seed: u64) -> dccp::Config {
        let ccid = || match (self.ccid, self.controller()) {
            (3, _) => dccp::Ccid::Tfrc(Box::new(self.tfrc.clone())),
            (4, _) => dccp::Ccid::TfrcSmallPackets(Box::new(self.tfrc.clone())),
            (_, None) => dccp::Ccid::TcpLike,
            (_, Some(entry)) => dccp::Ccid::TcpLikeWith(Box::new(ControllerChoice {
                entry,
                config: WindowConfig {
                    constants: self.constants,
                    seed,
                    ..WindowConfig::default()
                },
            })),
        };
        dccp::Config {
            send_ccid: ccid(),
            receive_ccid: ccid(),
            mtu: path_mtu,
            nonce_seed: seed,
            ..self.config.clone()
        }
    }
}

impl Tcp {
    /// The configuration of both ends, and the factory of their controllers.
    pub(crate) fn config(
        &self,
        path_mtu: u32,
        seed: u64,
    ) -> (tcp::Config, impl Fn() -> BoxedController) {
        let headers = IpHeader::V4_OCTETS + TCP_HEADER;
        let segment_size = path_mtu.saturating_sub(headers).max(1);
        let config = tcp::Config {
            segment_size,
            ..self.config
        };
        let rules = &self.config.rules;
        let window = WindowConfig {
            max_datagram_size: u64::from(segment_size),
            initial_window: Some(rules.initial_window(segment_size)),
            rules: Rules {
                // RFC 5681 §3.1: in recovery only the window permits sending.
                recovery_probe: false,
                // Packets sent at the start of a recovery count as sent after the reduction.
                recovery_boundary: RecoveryBoundary::Before,
                controller: ControllerRules {
                    undo_spurious: rules.controller.undo_spurious || rules.f_rto,
                    ..rules.controller
                },
                ..Rules::RFC9002
            },
            constants: self.constants,
            seed,
        };
        let make = self.controller.make;
        (config, move || make(&window))
    }
}
