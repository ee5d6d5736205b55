//! What carries DCCP: UDP (RFC 6773, "DCCP-UDP") or IP itself (RFC 4340, "DCCP-STD").

use crate::outbox::Way;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use weir_proto::dccp::wire::checksum::PseudoHeader;

/// What a packet of DCCP lies in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encapsulation {
    /// A UDP datagram, for which no privilege is needed (RFC 6773). UDP's checksum counts, and
    /// that of DCCP is zero.
    #[default]
    Udp,
    /// An IP packet, protocol 33 (RFC 4340). It needs Linux and the capability `CAP_NET_RAW`.
    ///
    /// There are no UDP ports: those of socket addresses are zero, and peers are told apart by
    /// their IP address and the DCCP ports. A socket takes what is for its own DCCP port and says
    /// nothing to the rest, which another process may wait for: so a Request to a port that nobody
    /// has gets no Reset. Where no process has such a socket, the system refuses with ICMP. Who
    /// listens must see to it that nobody else on this address has the same DCCP port, and that
    /// the kernel has no DCCP of its own (Linux before 6.16, if its module is loaded): either
    /// would answer too.
    RawIp,
}

impl Encapsulation {
    /// Octets of the headers around DCCP beyond the twenty of IPv4 that the machine counts itself.
    pub(crate) const fn overhead(self, peer: SocketAddr) -> u32 {
        let ip = match peer.ip().to_canonical() {
            IpAddr::V4(_) => 0,
            IpAddr::V6(_) => 20,
        };
        match self {
            Self::Udp => ip + 8,
            Self::RawIp => ip,
        }
    }

    /// A peer's address as its packets have it.
    pub(crate) const fn peer(self, address: SocketAddr) -> SocketAddr {
        match (self, address) {
            (Self::Udp, _) => address,
            (Self::RawIp, SocketAddr::V4(v4)) => SocketAddr::V4(SocketAddrV4::new(*v4.ip(), 0)),
            (Self::RawIp, SocketAddr::V6(v6)) => match v6.ip().to_canonical() {
                IpAddr::V4(ip) => SocketAddr::V4(SocketAddrV4::new(ip, 0)),
                IpAddr::V6(ip) => SocketAddr::V6(SocketAddrV6::new(ip, 0, 0, v6.scope_id())),
            },
        }
    }

    /// What the checksum of a packet that goes this way takes from IP; `None` for no checksum.
    pub(crate) fn pseudo_header(self, way: &Way) -> Option<PseudoHeader> {
        match self {
            Self::Udp => None,
            Self::RawIp => Some(pseudo_header(way.from, Some(way.to.ip()))),
        }
    }

    /// That of a packet which came from this peer to this address of ours.
    pub(crate) fn pseudo_header_from(
        self,
        peer: SocketAddr,
        ours: Option<IpAddr>,
    ) -> Option<PseudoHeader> {
        match self {
            Self::Udp => None,
            Self::RawIp => Some(pseudo_header(Some(peer.ip()), ours)),
        }
    }
}

/// Of these addresses; one that is not known is zero, with which no checksum is right.
fn pseudo_header(source: Option<IpAddr>, destination: Option<IpAddr>) -> PseudoHeader {
    let [source, destination] = [source, destination].map(|ip| ip.map(|ip| ip.to_canonical()));
    let wide = |ip: Option<IpAddr>| match ip {
        None => Ipv6Addr::UNSPECIFIED.octets(),
        Some(IpAddr::V4(ip)) => ip.to_ipv6_mapped().octets(),
        Some(IpAddr::V6(ip)) => ip.octets(),
    };
    match (source, destination) {
        (Some(IpAddr::V4(source)), Some(IpAddr::V4(destination))) => PseudoHeader::V4 {
            source: source.octets(),
            destination: destination.octets(),
        },
        _ => PseudoHeader::V6 {
            source: wide(source),
            destination: wide(destination),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_around_dccp_are_those_of_the_peers_family() {
        let address = |text: &str| -> SocketAddr { text.parse().expect("an address") };
        for (peer, udp) in [
            ("192.0.2.1:0", 8),
            ("[::ffff:192.0.2.1]:0", 8),
            ("[2001:db8::1]:0", 28),
        ] {
            let overhead = |carrier: Encapsulation| carrier.overhead(address(peer));
            assert_eq!(overhead(Encapsulation::Udp), udp);
            assert_eq!(overhead(Encapsulation::RawIp), udp - 8);
        }
    }
}
