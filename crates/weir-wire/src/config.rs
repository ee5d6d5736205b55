//! The configuration of endpoints.

use crate::encapsulation::Encapsulation;
use crate::error::Error;
use crate::tap::Tap;
use std::sync::Arc;
use std::time::Duration;
use weir_proto::cc::tfrc::Profile;
use weir_proto::cc::window::{ControllerEntry, WindowConfig};
use weir_proto::dccp::{self, wire::SeqNum};
use weir_proto::event::EventMask;

/// The UDP port of DCCP servers (RFC 6773 §3.8).
pub const DEFAULT_PORT: u16 = 6511;

/// Octets of a padded Request: at least those of the Response, Init Cookie included, to the options
/// that Weir's clients request.
const PADDED_REQUEST_OCTETS: u32 = 256;

/// The congestion control of a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Ccid {
    /// CCID 2: TCP-like congestion control (RFC 4341).
    TcpLike,
    /// CCID 2 with a window controller in place of the RFC's window.
    TcpLikeWith(&'static ControllerEntry),
    /// CCID 3: TFRC (RFC 4342) with these rules.
    Tfrc(Box<Profile>),
    /// CCID 4: TFRC for small packets (RFC 5622) with these rules.
    TfrcSmallPackets(Box<Profile>),
}

impl Ccid {
    fn half_connection(&self) -> dccp::Ccid {
        match self {
            Self::TcpLike => dccp::Ccid::TcpLike,
            Self::TcpLikeWith(entry) => {
                dccp::Ccid::TcpLikeWith(Box::new(dccp::ccid2::ControllerChoice {
                    entry,
                    config: WindowConfig::default(),
                }))
            }
            Self::Tfrc(rules) => dccp::Ccid::Tfrc(rules.clone()),
            Self::TfrcSmallPackets(rules) => dccp::Ccid::TfrcSmallPackets(rules.clone()),
        }
    }
}

/// The configuration of a connection, or of a listener and all its connections.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The service that the client asks for and the server offers (RFC 5595); zero for none.
    pub service_code: u32,
    /// The DCCP port of the server; the UDP port is the socket's.
    pub dccp_port: u16,
    /// The UDP port of a client's socket; zero for any.
    pub client_port: u16,
    /// The encapsulation of the packets.
    pub encapsulation: Encapsulation,
    /// Congestion control of both directions; CCID 2 if the peer does not support it.
    pub ccid: Ccid,
    /// Further CCIDs that this end accepts, in order of preference, if the peer asks for one.
    pub accept_ccids: Vec<Ccid>,
    /// Datagrams that may wait to be sent.
    pub send_queue: usize,
    /// Received datagrams that may wait for the application; later ones are dropped.
    pub receive_queue: usize,
    /// The Sequence Window feature in packets: about five times the packets of a round trip (RFC
    /// 4340 §7.5.2).
    pub sequence_window: u64,
    /// The path's MTU in octets, IP header included.
    pub mtu: u32,
    /// Data packets are sent ECN-capable.
    pub ecn: bool,
    /// Packets of equal length that may be sent together are passed to the kernel in one segmented
    /// send (GSO), if it supports that.
    pub segmentation: bool,
    /// The most connections of a listener in handshake. Beyond it the oldest is dropped, so that a
    /// flood of Requests from forged addresses blocks clients only briefly.
    pub max_handshakes: usize,
    /// The number of handshakes from which a listener keeps no state for further Requests and
    /// answers them with an Init Cookie (RFC 4340 §8.1.4). With zero it always does.
    pub cookie_threshold: usize,
    /// The most connections of a listener, without those in handshake.
    pub max_connections: usize,
    /// The most connections of a listener from one IPv4 address or one /64 of IPv6.
    pub max_connections_per_address: usize,
    /// The rate of Requests that a listener answers. Requests beyond it, or beyond what the
    /// listener can read, are dropped, by the kernel where it can filter.
    pub max_requests_per_second: u32,
    /// The rate of Resets to packets that belong to no connection, to all peers together.
    pub max_resets_per_second: u32,
    /// A peer whose address is not validated is sent at most as many octets as it sent, instead of
    /// three times as many. A client must pad its Requests to get an answer.
    pub strict_amplification: bool,
    /// A client pads its Requests, so that servers with `strict_amplification` answer.
    pub pad_requests: bool,
    /// How long a client waits for an answer.
    pub connect_timeout: Duration,
    /// The time without a packet after which a Sync asks the peer for one; after another eight
    /// minutes (4 MSL) without an answer the connection ends; `None` for never.
    pub keepalive: Option<Duration>,
    /// Receives a copy of every datagram of the socket.
    pub tap: Option<Arc<dyn Tap>>,
    /// The events in [`Connection::events`](crate::Connection::events); none by default.
    pub event_mask: EventMask,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            service_code: 0,
            dccp_port: 5001,
            client_port: 0,
            encapsulation: Encapsulation::Udp,
            ccid: Ccid::Tfrc(Box::new(Profile::rfc5348())),
            accept_ccids: Vec::new(),
            send_queue: 64,
            receive_queue: 4096,
            sequence_window: 10_000,
            mtu: 1500,
            ecn: false,
            segmentation: true,
            max_handshakes: 1024,
            cookie_threshold: 64,
            max_connections: 10_000,
            max_connections_per_address: 2_000,
            max_requests_per_second: 200_000,
            max_resets_per_second: 1024,
            strict_amplification: false,
            pad_requests: true,
            // RFC 4340 §8.1.1.
            connect_timeout: Duration::from_mins(3),
            keepalive: Some(Duration::from_mins(1)),
            tap: None,
            event_mask: EventMask::NONE,
        }
    }
}

impl EndpointConfig {
    /// The configuration of a DCCP state machine with this initial sequence number; `overhead` is
    /// the number of header octets around DCCP beyond an IPv4 header.
    pub(crate) fn dccp(&self, overhead: u32, iss: SeqNum) -> dccp::Config {
        let ccid = self.ccid.half_connection();
        dccp::Config {
            service_code: self.service_code,
            initial_sequence: iss.get(),
            sequence_window: self.sequence_window,
            send_ccid: ccid.clone(),
            receive_ccid: ccid,
            accept_ccids: self
                .accept_ccids
                .iter()
                .map(Ccid::half_connection)
                .collect(),
            send_queue: u32::try_from(self.send_queue.max(1)).unwrap_or(u32::MAX),
            mtu: self.mtu.saturating_sub(overhead),
            ecn: self.ecn,
            request_octets: if self.pad_requests {
                PADDED_REQUEST_OCTETS
            } else {
                0
            },
            connect_timeout: self.connect_timeout.into(),
            keepalive: self.keepalive.map(Into::into),
            ..dccp::Config::default()
        }
    }
}

/// A random initial sequence number (RFC 4340 §7.2).
pub(crate) fn random_iss() -> Result<SeqNum, Error> {
    random_u64().map(SeqNum::new)
}

/// An unpredictable number from the system.
pub(crate) fn random_u64() -> Result<u64, Error> {
    getrandom::u64().map_err(|error| Error::Randomness(error.to_string()))
}
