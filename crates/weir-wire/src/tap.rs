//! Sees every datagram of a socket, as a capture on the host would.
//!
//! A datagram is seen after the kernel has taken it, or when it has been read. Does not model: the
//! kernel's own times, the hop limit, what the kernel splits and joins (GSO, GRO): each datagram
//! is seen alone.

use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;
use weir_proto::packet::Ecn;

/// Which way a datagram goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It came.
    Received,
    /// It left.
    Sent,
}

/// A datagram that was sent or received.
#[derive(Clone, Copy, Debug)]
pub struct TappedDatagram<'a> {
    /// When.
    pub at: Instant,
    /// Which way.
    pub direction: Direction,
    /// The UDP address it comes from; the port is 0 where IP carries DCCP.
    pub from: SocketAddr,
    /// The UDP address it goes to, in the same way. An address of ours that is not known is
    /// unspecified.
    pub to: SocketAddr,
    /// The codepoint of its IP header.
    pub ecn: Ecn,
    /// What UDP or IP carries: a packet of DCCP.
    pub octets: &'a [u8],
}

/// Who sees the datagrams of a socket. It is called in the task that paces them, so it must be
/// quick: whoever writes a file hands them to a thread.
pub trait Tap: Debug + Send + Sync {
    /// A datagram was sent or received.
    fn datagram(&self, datagram: &TappedDatagram<'_>);
}

/// The address of ours that a datagram has: the socket's, with the IP address that the peer used,
/// if it is known, and else of the peer's family.
pub(crate) fn ours(local: SocketAddr, ip: Option<IpAddr>, peer: SocketAddr) -> SocketAddr {
    let unknown = ip.is_none() && local.ip().is_unspecified();
    let ip = match peer.ip().to_canonical() {
        IpAddr::V4(_) if unknown => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        _ => ip.unwrap_or(local.ip()),
    };
    canonical(SocketAddr::new(ip, local.port()))
}

/// The address without the form that IPv6 sockets give to IPv4.
pub(crate) const fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ours_is_the_one_that_the_peer_used_or_of_its_family() {
        let address = |text: &str| -> SocketAddr { text.parse().expect("an address") };
        let any = address("[::]:6511");
        let peer = address("[::ffff:192.0.2.1]:1");
        assert_eq!(ours(any, None, peer), address("0.0.0.0:6511"));
        assert_eq!(ours(any, None, address("[2001:db8::1]:1")), any);
        let used = Some("::ffff:192.0.2.7".parse().expect("an address"));
        assert_eq!(ours(any, used, peer), address("192.0.2.7:6511"));
        let bound = address("127.0.0.1:6511");
        assert_eq!(ours(bound, None, address("127.0.0.1:1")), bound);
    }
}
