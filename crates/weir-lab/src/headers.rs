//! IP and UDP headers around a transport's octets, with correct checksums, so that simulated
//! packets can be read by tools for captures.
//!
//! Sources: RFC 791 §3.1, RFC 8200 §3, RFC 768, RFC 3828 §3.1 (UDP-Lite), RFC 9293 §3.1 (TCP's
//! checksum), RFC 3168 §5 (ECN), RFC 6864 (identification).
//!
//! Does not model: IP options, extension headers, fragments.

use std::net::{IpAddr, SocketAddr};
use weir_proto::dccp::wire::checksum::{self, PseudoHeader, internet_checksum};
use weir_proto::packet::Ecn;

const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_LITE: u8 = 136;
/// The offset of the checksum in a TCP segment.
const TCP_CHECKSUM: usize = 16;
const UDP_HEADER_OCTETS: usize = 8;
/// Don't fragment (RFC 791 §3.1).
const DONT_FRAGMENT: u16 = 0x4000;

/// The direction of a packet at the interface that captured it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It arrived.
    Inbound,
    /// It was sent.
    Outbound,
}

/// The fields of the IP and UDP headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeaders {
    /// The sender. The port is used by UDP only.
    pub source: SocketAddr,
    /// The receiver: an address of the same family.
    pub destination: SocketAddr,
    /// The ECN codepoint.
    pub ecn: Ecn,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// IPv4's identification.
    pub id: u16,
}

/// The protocol in the IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpProtocol {
    /// A DCCP packet with its checksum.
    Dccp,
    /// A TCP segment, whose checksum is filled in.
    Tcp,
    /// The payload of UDP.
    Udp,
    /// The payload of UDP whose checksum is left out.
    UdpUnchecked,
    /// The payload of UDP-Lite whose checksum covers its header only.
    UdpLite,
}

/// The content does not fit an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} octets do not fit an IP packet, expected at most 65535")]
pub struct TooLong(usize);

impl IpHeaders {
    /// The pseudo-header of the checksum. If the address families differ, both are encoded as IPv6.
    pub fn pseudo_header(&self) -> PseudoHeader {
        match (self.source.ip(), self.destination.ip()) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => PseudoHeader::V4 {
                source: source.octets(),
                destination: destination.octets(),
            },
            (source, destination) => PseudoHeader::V6 {
                source: six(source),
                destination: six(destination),
            },
        }
    }

    /// Appends the whole packet to `out`.
    ///
    /// # Errors
    /// If the content does not fit; then `out` is unchanged.
    pub fn wrap(
        &self,
        protocol: IpProtocol,
        content: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), TooLong> {
        let (number, header) = match protocol {
            IpProtocol::Dccp => (checksum::PROTOCOL, 0),
            IpProtocol::Tcp => (TCP, 0),
            IpProtocol::Udp | IpProtocol::UdpUnchecked => (UDP, UDP_HEADER_OCTETS),
            IpProtocol::UdpLite => (UDP_LITE, UDP_HEADER_OCTETS),
        };
        let length = header + content.len();
        let segment = u16::try_from(length).map_err(|_| TooLong(length))?;
        let pseudo = self.pseudo_header();
        self.put_ip(&pseudo, (number, segment), out)?;
        let start = out.len();
        if header > 0 {
            out.extend_from_slice(&self.source.port().to_be_bytes());
            out.extend_from_slice(&self.destination.port().to_be_bytes());
            let field = match protocol {
                // UDP-Lite has the checksum coverage in place of the length (RFC 3828 §3.1).
                IpProtocol::UdpLite => UDP_HEADER_OCTETS as u16,
                _ => segment,
            };
            out.extend_from_slice(&field.to_be_bytes());
            out.extend_from_slice(&[0; 2]);
        }
        out.extend_from_slice(content);
        let octets = out.get_mut(start..).unwrap_or_default();
        let (covered, place) = match protocol {
            IpProtocol::Dccp | IpProtocol::UdpUnchecked => return Ok(()),
            IpProtocol::Tcp => (octets.len(), TCP_CHECKSUM),
            IpProtocol::Udp => (octets.len(), 6),
            IpProtocol::UdpLite => (UDP_HEADER_OCTETS, 6),
        };
        let covered = octets.get(..covered).unwrap_or_default();
        let sum = match internet_checksum(&pseudo, number, length as u32, covered) {
            // UDP transmits a computed zero as 0xffff, because zero means no checksum (RFC 768);
            // both represent zero in one's complement.
            0 if protocol != IpProtocol::Tcp => 0xffff,
            sum => sum,
        };
        if let Some(field) = octets.get_mut(place..place + 2) {
            field.copy_from_slice(&sum.to_be_bytes());
        }
        Ok(())
    }

    /// Appends the IP header in front of `octets` of `protocol`.
    fn put_ip(
        &self,
        pseudo: &PseudoHeader,
        (protocol, octets): (u8, u16),
        out: &mut Vec<u8>,
    ) -> Result<(), TooLong> {
        let ecn = self.ecn.bits();
        match pseudo {
            PseudoHeader::V4 {
                source,
                destination,
            } => {
                let total = octets
                    .checked_add(20)
                    .ok_or(TooLong(usize::from(octets) + 20))?;
                let start = out.len();
                out.extend_from_slice(&[0x45, ecn]);
                out.extend_from_slice(&total.to_be_bytes());
                out.extend_from_slice(&self.id.to_be_bytes());
                out.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
                out.extend_from_slice(&[self.ttl, protocol, 0, 0]);
                out.extend_from_slice(source);
                out.extend_from_slice(destination);
                let header = out.get_mut(start..).unwrap_or_default();
                // The checksum covers the header alone: an empty pseudo-header adds zero.
                let none = PseudoHeader::V4 {
                    source: [0; 4],
                    destination: [0; 4],
                };
                let sum = internet_checksum(&none, 0, 0, header);
                if let Some(field) = header.get_mut(10..12) {
                    field.copy_from_slice(&sum.to_be_bytes());
                }
            }
            PseudoHeader::V6 {
                source,
                destination,
            } => {
                out.extend_from_slice(&[0x60, ecn << 4, 0, 0]);
                out.extend_from_slice(&octets.to_be_bytes());
                out.extend_from_slice(&[protocol, self.ttl]);
                out.extend_from_slice(source);
                out.extend_from_slice(destination);
            }
        }
        Ok(())
    }
}

/// An address as an IPv6 address.
const fn six(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(source: &str, destination: &str) -> IpHeaders {
        IpHeaders {
            source: source.parse().expect("an address"),
            destination: destination.parse().expect("an address"),
            ecn: Ecn::Ect0,
            ttl: 64,
            id: 0x1234,
        }
    }

    fn wrapped(headers: &IpHeaders, protocol: IpProtocol, content: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        headers.wrap(protocol, content, &mut out).expect("it fits");
        out
    }

    /// The checksum over a segment including its checksum field: zero if the field is correct.
    fn rest(headers: &IpHeaders, protocol: u8, segment: &[u8], covered: usize) -> u16 {
        let length = segment.len() as u32;
        let covered = &segment[..covered];
        internet_checksum(&headers.pseudo_header(), protocol, length, covered)
    }

    #[test]
    fn lays_out_ipv4_and_udp_with_their_checksums() {
        let headers = headers("10.0.0.1:6511", "10.0.0.2:49152");
        #[rustfmt::skip]
        let expected = [
            0x45, 0x02, 0, 30, 0x12, 0x34, 0x40, 0, 64, 17, 0x14, 0x97,
            10, 0, 0, 1, 10, 0, 0, 2,
            0x19, 0x6f, 0xc0, 0x00, 0, 10, 0xa9, 0xfe, b'h', b'i',
        ];
        assert_eq!(wrapped(&headers, IpProtocol::Udp, b"hi"), expected);
    }

    #[test]
    fn checksums_of_all_carriers_and_both_families_are_right() {
        let content = [7; 33];
        for (headers, ip) in [
            (headers("10.0.0.1:1", "10.0.0.2:2"), 20),
            (headers("[2001:db8::1]:1", "[2001:db8::2]:2"), 40),
        ] {
            for (protocol, number, covered) in [
                (IpProtocol::Udp, 17, 41),
                (IpProtocol::UdpLite, 136, 8),
                (IpProtocol::Tcp, 6, 33),
            ] {
                let mut content = content;
                if protocol == IpProtocol::Tcp {
                    // The checksum field counts as zero.
                    content[16..18].fill(0);
                }
                let octets = wrapped(&headers, protocol, &content);
                assert_eq!(rest(&headers, number, &octets[ip..], covered), 0);
            }
            let octets = wrapped(&headers, IpProtocol::UdpUnchecked, &content);
            assert_eq!(octets[ip + 6..ip + 8], [0, 0]);
            let octets = wrapped(&headers, IpProtocol::Dccp, &content);
            assert_eq!(octets[ip..], content);
        }
    }

    #[test]
    fn the_codepoint_stands_in_both_families_and_the_length_of_ipv6_counts_no_header() {
        for (ecn, bits) in [
            (Ecn::NotEct, 0),
            (Ecn::Ect1, 1),
            (Ecn::Ect0, 2),
            (Ecn::Ce, 3),
        ] {
            let four = IpHeaders {
                ecn,
                ..headers("10.0.0.1:1", "10.0.0.2:2")
            };
            assert_eq!(wrapped(&four, IpProtocol::Udp, b"")[1], bits);
            let six = IpHeaders {
                ecn,
                ..headers("[::1]:1", "[::2]:2")
            };
            let octets = wrapped(&six, IpProtocol::Udp, b"abc");
            assert_eq!(octets[..8], [0x60, bits << 4, 0, 0, 0, 11, 17, 64]);
        }
    }

    #[test]
    fn what_is_longer_than_an_ip_packet_is_refused() {
        let headers = headers("10.0.0.1:1", "10.0.0.2:2");
        let mut out = Vec::new();
        let whole = headers.wrap(IpProtocol::Udp, &vec![0; 65_507], &mut out);
        assert_eq!((whole, out.len()), (Ok(()), 65_535));
        for octets in [65_508, 70_000] {
            let mut out = Vec::new();
            let refused = headers.wrap(IpProtocol::Udp, &vec![0; octets], &mut out);
            assert!(refused.is_err() && out.is_empty());
        }
    }
}
