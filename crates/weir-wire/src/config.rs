//! What an application may choose.

use crate::encapsulation::Encapsulation;
use crate::error::Error;
use crate::tap::Tap;
use std::sync::Arc;
use std::time::Duration;
use weir_proto::cc::tfrc::Profile;
use weir_proto::dccp::{self, wire::SeqNum};
use weir_proto::event::EventMask;

/// The UDP port of DCCP servers (RFC 6773 §3.8).
pub const DEFAULT_PORT: u16 = 6511;

/// Octets of a padded Request: more than a Response with an Init Cookie takes, for what a client
/// of ours asks.
const PADDED: u32 = 256;

/// Which congestion control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ccid {
    /// CCID 2: like TCP.
    TcpLike,
    /// CCID 3: TFRC with the rules of this profile.
    Tfrc(String),
    /// CCID 4: TFRC for small packets.
    TfrcSmallPackets(String),
}

/// Settings of a connection, or of all connections of a listener.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// What the client asks for and the server offers (RFC 5595); zero for none.
    pub service_code: u32,
    /// The DCCP port of the server; the UDP port is the socket's.
    pub dccp_port: u16,
    /// What carries the packets.
    pub encapsulation: Encapsulation,
    /// Congestion control of both directions. What the peer does not have becomes CCID 2.
    pub ccid: Ccid,
    /// Datagrams that may wait for their transmission.
    pub send_queue: usize,
    /// Received datagrams that may wait for the application; later ones are dropped.
    pub receive_queue: usize,
    /// Packets, about five times those of a round trip (RFC 4340 §7.5.2).
    pub sequence_window: u64,
    /// The path's MTU in octets, IP header included.
    pub mtu: u32,
    /// Data packets use explicit congestion notification.
    pub ecn: bool,
    /// Equal packets that may leave at once leave in one segmented send (GSO), where the kernel
    /// can; without it each has a send of its own.
    pub segmentation: bool,
    /// Connections of a listener whose handshake is not done, at most: beyond it the oldest gives
    /// way, so that a flood of Requests from forged addresses shuts nobody out for long.
    pub max_handshakes: usize,
    /// From so many on, a listener remembers nothing of further Requests, but answers with an Init
    /// Cookie (RFC 4340 §8.1.4); zero for always.
    pub cookie_threshold: usize,
    /// Connections of a listener at most, besides those whose handshake is not done.
    pub max_connections: usize,
    /// Of a listener's connections, those from one IPv4 address or 64 bits of IPv6 at most.
    pub max_connections_per_address: usize,
    /// Requests that a listener answers; what is more, or more than it can read, is dropped, by the
    /// kernel if it can.
    pub max_requests_per_second: u32,
    /// Resets to packets that have no connection, in all (RFC 4340 §8.1.3).
    pub max_resets_per_second: u32,
    /// A peer whose address is not proven is sent no more octets than it sent, instead of three
    /// times as many: who does not pad its Requests, or pads them too little, gets no answer.
    pub strict_amplification: bool,
    /// A client pads its Requests, so that strict servers answer.
    pub pad_requests: bool,
    /// How long a client waits for an answer.
    pub connect_timeout: Duration,
    /// A peer that is silent for so long is asked whether it is there, and given up if it does not
    /// answer for another eight minutes (4 MSL); `None` never asks.
    pub keepalive: Option<Duration>,
    /// Sees every datagram of the socket.
    pub tap: Option<Arc<dyn Tap>>,
    /// What [`Connection::events`](crate::Connection::events) tells; nothing by default.
    pub event_mask: EventMask,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            service_code: 0,
            dccp_port: 5001,
            encapsulation: Encapsulation::Udp,
            ccid: Ccid::Tfrc("rfc5348".to_owned()),
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
    /// What a state machine is made from; `overhead` are the octets of headers around DCCP
    /// beyond an IPv4 header.
    pub(crate) fn config(&self, overhead: u32, iss: SeqNum) -> Result<dccp::Config, Error> {
        let profile = |name: &String| {
            let found = Profile::named(name);
            found
                .map(Box::new)
                .ok_or_else(|| Error::UnknownProfile(name.clone()))
        };
        let ccid = match &self.ccid {
            Ccid::TcpLike => dccp::Ccid::TcpLike,
            Ccid::Tfrc(name) => dccp::Ccid::Tfrc(profile(name)?),
            Ccid::TfrcSmallPackets(name) => dccp::Ccid::TfrcSmallPackets(profile(name)?),
        };
        Ok(dccp::Config {
            service_code: self.service_code,
            initial_sequence: iss.get(),
            sequence_window: self.sequence_window,
            send_ccid: ccid.clone(),
            receive_ccid: ccid,
            send_queue: u32::try_from(self.send_queue.max(1)).unwrap_or(u32::MAX),
            mtu: self.mtu.saturating_sub(overhead),
            ecn: self.ecn,
            request_octets: if self.pad_requests { PADDED } else { 0 },
            connect_timeout: nanos(self.connect_timeout),
            keepalive: self.keepalive.map(nanos),
            ..dccp::Config::default()
        })
    }
}

fn nanos(duration: Duration) -> weir_proto::time::Duration {
    weir_proto::time::Duration::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// An initial sequence number (RFC 4340 §7.2).
pub(crate) fn random_iss() -> Result<SeqNum, Error> {
    random().map(SeqNum::new)
}

/// A number that nobody can guess.
pub(crate) fn random() -> Result<u64, Error> {
    getrandom::u64().map_err(|error| Error::Randomness(error.to_string()))
}
