//! The fields of IP headers that the simulated network reads and writes (RFC 791, RFC 8200).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use weir_proto::packet::{Dscp, Ecn, FlowId};

/// Flow numbers are below this; flows with the same number are treated as one.
const FLOWS: u32 = 1024;

/// The protocol number of TCP.
const TCP: u8 = 6;

/// The fields that the network reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) target: IpAddr,
    pub(super) ecn: Ecn,
    pub(super) dscp: Dscp,
    /// The same for all packets with the same addresses, protocol and ports.
    pub(super) flow: FlowId,
}

/// A flow's number: a hash (FNV-1a) of the octets that are the same in all its packets.
fn flow_of<'a>(octets: impl IntoIterator<Item = &'a u8>) -> FlowId {
    let mix = |hash: u32, octet: &u8| (hash ^ u32::from(*octet)).wrapping_mul(16_777_619);
    let hash = octets.into_iter().fold(2_166_136_261, mix);
    FlowId((hash ^ (hash >> 16)) % FLOWS)
}

/// The number of the packets that TCP sends from one address to another.
pub fn tcp_flow(from: SocketAddr, to: SocketAddr) -> FlowId {
    let mut constant = Vec::with_capacity(37);
    for address in [from, to] {
        match address.ip() {
            IpAddr::V4(ip) => constant.extend(ip.octets()),
            IpAddr::V6(ip) => constant.extend(ip.octets()),
        }
    }
    constant.push(TCP);
    for address in [from, to] {
        constant.extend(address.port().to_be_bytes());
    }
    flow_of(&constant)
}

/// The octets of the ports, for protocols whose header begins with them.
fn ports(protocol: u8, octets: &[u8]) -> &[u8] {
    match protocol {
        // TCP, UDP, DCCP, SCTP, UDP-Lite.
        TCP | 17 | 33 | 132 | 136 => octets.get(..4).unwrap_or_default(),
        _ => &[],
    }
}

/// Parses the header of a packet; `None` if it is not an IP packet.
pub(super) fn parse(octets: &[u8]) -> Option<Header> {
    match octets.first()? >> 4 {
        4 => {
            let header: &[u8; 20] = octets.first_chunk()?;
            // Only the first fragment contains the ports, so they are ignored for all fragments.
            let whole = [header[6] & 0x3f, header[7]] == [0, 0];
            let length = usize::from(header[0] & 15) * 4;
            let content = octets.get(length..).filter(|_| whole).unwrap_or_default();
            let constant = header[12..].iter().chain(&header[9..10]);
            let target = [header[16], header[17], header[18], header[19]];
            Some(Header {
                target: IpAddr::V4(Ipv4Addr::from(target)),
                ecn: Ecn::from_bits(header[1]),
                dscp: Dscp::from_octet(header[1]),
                flow: flow_of(constant.chain(ports(header[9], content))),
            })
        }
        6 => {
            let header: &[u8; 40] = octets.first_chunk()?;
            let target: &[u8; 16] = header[24..].first_chunk()?;
            let content = octets.get(40..).unwrap_or_default();
            let constant = header[8..].iter().chain(&header[6..7]);
            Some(Header {
                target: IpAddr::V6(Ipv6Addr::from(*target)),
                ecn: Ecn::from_bits(header[1] >> 4),
                dscp: Dscp::from_octet(header[0] << 4 | header[1] >> 4),
                flow: flow_of(constant.chain(ports(header[6], content))),
            })
        }
        _ => None,
    }
}

/// Sets the codepoint Congestion Experienced (RFC 3168 §5) and updates the checksum.
pub(super) fn set_ce(octets: &mut [u8]) {
    match octets.first().map(|first| first >> 4) {
        Some(4) => {
            if let Some(header) = octets.first_chunk_mut::<20>() {
                let before = u16::from_be_bytes([header[0], header[1]]);
                header[1] |= 3;
                let after = u16::from_be_bytes([header[0], header[1]]);
                // RFC 1624 §3: HC' = ~(~HC + ~m + m').
                let checksum = u16::from_be_bytes([header[10], header[11]]);
                let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
                let folded = (sum & 0xffff) + (sum >> 16);
                let folded = (folded & 0xffff) + (folded >> 16);
                [header[10], header[11]] = (!(folded as u16)).to_be_bytes();
            }
        }
        Some(6) => {
            if let Some(second) = octets.get_mut(1) {
                *second |= 0x30;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum over a header (RFC 1071 §1): zero if the checksum field is correct.
    fn checksum(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let sum: u32 = words.sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn set_ce_keeps_the_checksum_of_ipv4_right() {
        // A header with a known checksum, 0xb861.
        let mut header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(checksum(&header), 0);
        for ecn in [0, 1, 2] {
            header[1] = ecn;
            header[10..12].copy_from_slice(&[0, 0]);
            let sum = checksum(&header).to_be_bytes();
            header[10..12].copy_from_slice(&sum);
            set_ce(&mut header);
            assert_eq!((checksum(&header), header[1]), (0, 3));
        }
        assert_eq!(parse(&header).map(|header| header.ecn), Some(Ecn::Ce));
    }

    #[test]
    fn packets_of_a_flow_have_one_number_and_other_ports_another() {
        let packet = |port: u8, fragment: u8, content: u8| {
            let mut octets = [0_u8; 40];
            (octets[0], octets[9], octets[6]) = (0x45, 17, fragment);
            (octets[23], octets[39]) = (port, content);
            parse(&octets).unwrap().flow
        };
        assert_eq!(packet(1, 0, 5), packet(1, 0, 6));
        assert_ne!(packet(1, 0, 5), packet(2, 0, 5));
        assert_eq!(packet(1, 0x20, 5), packet(2, 0x20, 5));
        let numbers: std::collections::BTreeSet<_> = (0..200).map(|n| packet(n, 0, 0)).collect();
        assert!(numbers.len() > 150 && numbers.iter().all(|flow| flow.0 < FLOWS));
    }

    #[test]
    fn a_connection_of_tcp_has_the_number_of_its_packets() {
        let mut four = [0_u8; 40];
        (four[0], four[9]) = (0x45, TCP);
        four[12..20].copy_from_slice(&[10, 77, 0, 1, 10, 77, 0, 2]);
        four[20..24].copy_from_slice(&[0x9c, 0x40, 0x01, 0xbb]);
        let [from, to] = ["10.77.0.1:40000", "10.77.0.2:443"].map(|at| at.parse().unwrap());
        assert_eq!(parse(&four).unwrap().flow, tcp_flow(from, to));
        assert_ne!(tcp_flow(to, from), tcp_flow(from, to));
        let mut six = [0_u8; 60];
        (six[0], six[6], six[23], six[39]) = (0x60, TCP, 1, 2);
        six[40..44].copy_from_slice(&[0x9c, 0x40, 0x01, 0xbb]);
        let [from, to] = ["[::1]:40000", "[::2]:443"].map(|at| at.parse().unwrap());
        assert_eq!(parse(&six).unwrap().flow, tcp_flow(from, to));
    }

    #[test]
    fn headers_of_both_versions_are_parsed_and_other_octets_are_not() {
        let mut six = [0_u8; 40];
        (six[0], six[1], six[23], six[39]) = (0x60, 0x20, 1, 2);
        let header = parse(&six).unwrap();
        assert_eq!(header.target, "::2".parse::<IpAddr>().unwrap());
        assert_eq!(header.ecn, Ecn::Ect0);
        set_ce(&mut six);
        assert_eq!(parse(&six).unwrap().ecn, Ecn::Ce);
        for octets in [&[][..], &[0x45; 19], &[0x60; 39], &[0x10; 60]] {
            assert_eq!(parse(octets), None);
            set_ce(&mut octets.to_vec());
        }
    }
}
