//! The endpoints of the networks whose speed is measured.

use super::{FlowEndpoints, Topology};
use weir_proto::cc::tfrc::Profile;
use weir_proto::cc::window::{BoxedController, REGISTRY, WindowConfig};
use weir_proto::{dccp, quic, tcp};

/// The transport of the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// QUIC with NewReno.
    Quic,
    /// TCP with NewReno: SACK, RACK and PRR as in Linux.
    Tcp,
    /// DCCP with CCID-3 by RFC 5348, feedback once a round-trip time.
    Dccp,
}

impl Transport {
    /// All transports.
    pub const ALL: [Self; 3] = [Self::Quic, Self::Tcp, Self::Dccp];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quic => "quic",
            Self::Tcp => "tcp",
            Self::Dccp => "dccp",
        }
    }

    /// A connection before its handshake. Over a dumbbell every packet of QUIC and TCP is
    /// acknowledged, as by the sinks of ns-2; over one link every other one.
    pub fn ends(self, topology: Topology) -> FlowEndpoints {
        let ack_every = match topology {
            Topology::Dumbbell => 1,
            Topology::OneLink => 2,
        };
        match self {
            Self::Quic => {
                let mut config = quic::Config {
                    // Little more than the congestion window, so that memory use is that of the
                    // protocol.
                    send_queue_limit: 200_000,
                    ..quic::Config::default()
                };
                config.ack.every = ack_every;
                FlowEndpoints {
                    sender: Box::new(quic::Connection::client(config.clone())),
                    receiver: Box::new(quic::Connection::server(config)),
                }
            }
            Self::Tcp => {
                let config = tcp::Config {
                    ack_every,
                    ..tcp::Config::default()
                };
                FlowEndpoints {
                    sender: Box::new(tcp::Connection::client(config, new_reno(&config))),
                    receiver: Box::new(tcp::Connection::server(config, new_reno(&config))),
                }
            }
            Self::Dccp => {
                let ccid = || dccp::Ccid::Tfrc(Box::new(Profile::rfc5348()));
                let config = dccp::Config {
                    send_ccid: ccid(),
                    receive_ccid: ccid(),
                    ..dccp::Config::default()
                };
                FlowEndpoints {
                    sender: Box::new(dccp::Connection::client(config.clone())),
                    receiver: Box::new(dccp::Connection::server(config)),
                }
            }
        }
    }

    /// Octets of the application's writes: pieces of a stream, or whole datagrams.
    pub const fn write_size(self) -> u32 {
        match self {
            Self::Quic | Self::Tcp => 15_000,
            Self::Dccp => 1_400,
        }
    }

    /// Approximate octets of a full data packet on the wire, which only scale the time of a run.
    pub const fn packet_size(self) -> u32 {
        match self {
            Self::Quic => 1_280,
            Self::Tcp => 1_500,
            Self::Dccp => 1_436,
        }
    }
}

fn new_reno(config: &tcp::Config) -> BoxedController {
    (REGISTRY[0].make)(&WindowConfig {
        max_datagram_size: u64::from(config.segment_size),
        ..WindowConfig::default()
    })
}
