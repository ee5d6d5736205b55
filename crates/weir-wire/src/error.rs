//! What can go wrong between an application and its connection.

use std::io;
use std::net::SocketAddr;
use weir_proto::cc::window;

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The socket cannot be had or used.
    #[error("cannot use a socket at {address}: {source}")]
    Socket {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The system has no random numbers for sequence numbers.
    #[error("the system gives no random numbers: {0}")]
    Randomness(String),
    /// No TFRC profile of this name.
    #[error(
        "there is no profile \"{0}\", expected one of rfc3448, linux-2008, linux-mainline, rfc5348"
    )]
    UnknownProfile(String),
    /// The peer's host says that nobody listens at this UDP port, or nobody for DCCP over IP.
    #[error("nobody listens at {}", place(.0))]
    Refused(SocketAddr),
    /// No window controller of this name.
    #[error("there is no controller \"{0}\", expected one of {names}", names = controllers())]
    UnknownController(String),
    /// TLS cannot be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
    /// Nobody answered.
    #[error("{} does not answer", place(.0))]
    TimedOut(SocketAddr),
    /// The server has too many tests.
    #[error("{0} is busy: it has as many tests as it takes")]
    Busy(SocketAddr),
    /// The peer ended the connection with a reset code (RFC 4340 §5.6).
    #[error("the peer reset the connection with code {0}")]
    Reset(u64),
    /// A datagram larger than the path carries.
    #[error("a datagram of {octets} bytes does not fit, expected at most {limit}")]
    TooLarge {
        /// Its size.
        octets: usize,
        /// What fits.
        limit: u32,
    },
    /// A right is missing.
    #[error("{0}")]
    Privilege(&'static str),
    /// A program is missing, or failed.
    #[error("{program} failed: {why}")]
    Tool {
        /// Which.
        program: &'static str,
        /// What it said.
        why: String,
    },
    /// The system said no.
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

/// An address in words; no port means that there is no UDP.
fn place(address: &SocketAddr) -> String {
    match address.port() {
        0 => format!("{}, protocol 33", address.ip().to_canonical()),
        _ => format!("UDP {address}"),
    }
}

/// The names of all window controllers.
fn controllers() -> String {
    window::names().collect::<Vec<_>>().join(", ")
}
