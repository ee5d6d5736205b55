//! The encapsulation of DCCP: in UDP (RFC 6773, "DCCP-UDP") or in IP (RFC 4340, "DCCP-STD").

use crate::send_queue::Destination;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use weir_proto::dccp::wire::checksum::PseudoHeader;

/// The encapsulation of a DCCP packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encapsulation {
    /// A UDP datagram, which needs no privilege (RFC 6773). The UDP checksum protects the packet;
    /// the DCCP checksum is zero.
    #[default]
    Udp,
    /// An IP packet, protocol 33 (RFC 4340). It needs Linux and the capability `CAP_NET_RAW`.
    ///
    /// There are no UDP ports: the ports of socket addresses are zero, and peers are identified by
    /// IP address and DCCP ports. A socket ignores packets for DCCP ports other than its own, which
    /// may belong to other processes, so a Request to an unused port gets no Reset. A host without
    /// any such socket refuses with ICMP. Two listeners at one address and DCCP port would both
    /// answer, and so would a kernel with DCCP (Linux before 6.16, if the module is loaded).
    RawIp,
}

impl Encapsulation {
    /// Octets of IP and UDP headers beyond the 20 of IPv4, which the state machine counts itself.
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

    /// A peer's address as in received packets: over IP, without a port.
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

    /// The pseudoheader for the checksum of a sent packet; `None` for a checksum of zero.
    pub(crate) fn pseudo_header(self, destination: &Destination) -> Option<PseudoHeader> {
        match self {
            Self::Udp => None,
            Self::RawIp => {
                let peer = destination.peer.ip();
                Some(pseudo_header(destination.local_ip, Some(peer)))
            }
        }
    }

    /// The pseudoheader of a packet received from `peer` at the local address `local_ip`.
    pub(crate) fn pseudo_header_from(
        self,
        peer: SocketAddr,
        local_ip: Option<IpAddr>,
    ) -> Option<PseudoHeader> {
        match self {
            Self::Udp => None,
            Self::RawIp => Some(pseudo_header(Some(peer.ip()), local_ip)),
        }
    }
}

/// A pseudoheader (RFC 4340 §9.1). An unknown address is zero, so that checksums do not match.
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
            let overhead = |encapsulation: Encapsulation| encapsulation.overhead(address(peer));
            assert_eq!(overhead(Encapsulation::Udp), udp);
            assert_eq!(overhead(Encapsulation::RawIp), udp - 8);
        }
    }
}
