//! Errors of endpoints and connections.

use crate::fault::{ImplausibleValue, Refusal};
use std::io;
use std::net::SocketAddr;
use weir_proto::cc::window;
use weir_proto::settings::nearest;

/// Why an operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A socket cannot be opened or used.
    #[error("cannot use a socket at {address}: {source}")]
    Socket {
        /// The address to which it was to be bound or connected.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// Another process listens for DCCP over IP at this port.
    #[error("DCCP port {port} over IP at {} is in use: another process serves it", .address.ip())]
    PortInUse {
        /// The address, without a UDP port.
        address: SocketAddr,
        /// The DCCP port.
        port: u16,
    },
    /// The system provides no random numbers for sequence numbers and keys.
    #[error("the system gives no random numbers: {0}")]
    Randomness(String),
    /// An ICMP message reports that no process listens at this UDP port, or for DCCP over IP.
    #[error("connection refused: no process listens at {}", describe(.0))]
    Refused(SocketAddr),
    /// There is no window controller of this name.
    #[error("there is no controller \"{0}\", expected one of {names}", names = controllers(.0))]
    UnknownController(String),
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
    /// The peer did not answer in time.
    #[error("{} does not answer", describe(.0))]
    TimedOut(SocketAddr),
    /// The server already runs as many tests as it allows.
    #[error("{0} is busy: it has as many tests as it takes")]
    Busy(SocketAddr),
    /// The server's tests use RTP media and the client asks for datagrams, or vice versa.
    #[error(
        "{0} expects the other one of UDP and RTP: give both ends the same transport (--transport)"
    )]
    OtherMedia(SocketAddr),
    /// The server refuses the test.
    #[error("{0} {1}")]
    Declined(SocketAddr, Refusal),
    /// This server refuses the test of a client.
    #[error("{0} is told: this server {1}")]
    Rejected(SocketAddr, Refusal),
    /// A client does not request a test, or not with the server's secret.
    #[error("{0} does not ask for a test with the secret")]
    NoRequest(SocketAddr),
    /// The peer ended the connection during a test.
    #[error("{0} ended the connection before the test was over")]
    EndedEarly(SocketAddr),
    /// The peer reports an impossible value.
    #[error("{0} claims what cannot be true: {1}")]
    Implausible(SocketAddr, ImplausibleValue),
    /// The sender has not ended the test in the agreed time.
    #[error("{} has not ended the test in its time", describe(.0))]
    Overdue(SocketAddr),
    /// The peer ended the connection with a reset code (RFC 4340 §5.6).
    #[error("the peer reset the connection with code {0}")]
    Reset(u64),
    /// A datagram does not fit into a packet.
    #[error("a datagram of {octets} bytes does not fit, expected at most {limit}")]
    TooLarge {
        /// The octets of the datagram.
        octets: usize,
        /// The most octets that fit.
        limit: u32,
    },
    /// The process lacks a privilege.
    #[error("{0}")]
    Privilege(&'static str),
    /// A program is missing or has failed.
    #[error("{program} failed: {why}")]
    Tool {
        /// The program.
        program: &'static str,
        /// Its output, or why it did not start.
        why: String,
    },
    /// A system call failed: its purpose, and the system's error.
    #[error("cannot {0}: {1}")]
    System(String, io::Error),
    /// The connection has ended.
    #[error("the connection is closed")]
    Closed,
}

#[cfg(feature = "quinn")]
impl Error {
    pub(crate) fn tls(error: impl ToString) -> Self {
        Self::Tls(error.to_string())
    }
}

/// Formats an address for a message; port 0 stands for DCCP over IP.
fn describe(address: &SocketAddr) -> String {
    match address.port() {
        0 => format!("{}, protocol 33", address.ip().to_canonical()),
        _ => format!("UDP {address}"),
    }
}

/// The names of all window controllers.
/// The names of the controllers, and the nearest to one that is not here.
fn controllers(name: &str) -> String {
    let names: Vec<&str> = window::names().collect();
    let near = nearest(name, &names).map_or(String::new(), |near| format!("; {near}"));
    names.join(", ") + &near
}
