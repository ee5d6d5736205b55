//! The key that identifies a connection among those of one socket.

use std::net::SocketAddr;

/// The peer's part of the 6-tuple of RFC 6773 §3.8, with the local DCCP port: the local address
/// and UDP port are the socket's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionKey {
    /// The peer's IP address and UDP port; port 0 over IP.
    pub(crate) peer: SocketAddr,
    /// The peer's DCCP port.
    pub(crate) peer_port: u16,
    /// The DCCP port at this end.
    pub(crate) local_port: u16,
}
