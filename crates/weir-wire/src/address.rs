//! Socket addresses in the forms that sockets and captures need.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The address without the IPv4-mapped form that IPv6 sockets give to IPv4 peers.
pub(crate) const fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The unspecified address of the peer's family, port 0, to which a client's socket binds.
pub(crate) const fn unspecified_for(peer: SocketAddr) -> SocketAddr {
    unspecified_with_port(peer, 0)
}

/// The unspecified address of the peer's family, with this port.
pub(crate) const fn unspecified_with_port(peer: SocketAddr, port: u16) -> SocketAddr {
    let ip = match peer {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(ip, port)
}

/// The local address of a datagram to or from `peer`: the socket's port with `ip`, the local
/// address in the datagram's IP header. Without `ip` it is the socket's address, in the family of
/// the peer if it is unspecified.
pub(crate) fn local_for(socket: SocketAddr, ip: Option<IpAddr>, peer: SocketAddr) -> SocketAddr {
    let unknown = ip.is_none() && socket.ip().is_unspecified();
    let ip = match peer.ip().to_canonical() {
        IpAddr::V4(_) if unknown => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        _ => ip.unwrap_or(socket.ip()),
    };
    canonical(SocketAddr::new(ip, socket.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_address_is_the_one_that_the_peer_used_or_of_its_family() {
        let address = |text: &str| -> SocketAddr { text.parse().expect("an address") };
        let any = address("[::]:6511");
        let peer = address("[::ffff:192.0.2.1]:1");
        assert_eq!(local_for(any, None, peer), address("0.0.0.0:6511"));
        assert_eq!(local_for(any, None, address("[2001:db8::1]:1")), any);
        let used = Some("::ffff:192.0.2.7".parse().expect("an address"));
        assert_eq!(local_for(any, used, peer), address("192.0.2.7:6511"));
        let bound = address("127.0.0.1:6511");
        assert_eq!(local_for(bound, None, address("127.0.0.1:1")), bound);
    }
}
