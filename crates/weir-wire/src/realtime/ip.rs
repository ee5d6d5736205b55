//! The few fields of an IP header that a network reads and writes (RFC 791, RFC 8200).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use weir_proto::packet::Ecn;

/// What a network reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) source: IpAddr,
    pub(super) target: IpAddr,
    pub(super) ecn: Ecn,
}

/// Reads the header of a packet; `None` if it has none.
pub(super) fn read(octets: &[u8]) -> Option<Header> {
    let codepoint = |bits: u8| match bits & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    };
    match octets.first()? >> 4 {
        4 => {
            let header: &[u8; 20] = octets.first_chunk()?;
            let [source, target] = [12, 16].map(|at| {
                let address = [header[at], header[at + 1], header[at + 2], header[at + 3]];
                IpAddr::V4(Ipv4Addr::from(address))
            });
            Some(Header {
                source,
                target,
                ecn: codepoint(header[1]),
            })
        }
        6 => {
            let header: &[u8; 40] = octets.first_chunk()?;
            let address = |at: usize| {
                let octets: Option<&[u8; 16]> = header[at..].first_chunk();
                octets.map(|octets| IpAddr::V6(Ipv6Addr::from(*octets)))
            };
            Some(Header {
                source: address(8)?,
                target: address(24)?,
                ecn: codepoint(header[1] >> 4),
            })
        }
        _ => None,
    }
}

/// Marks a packet with congestion experienced (RFC 3168 §5).
pub(super) fn mark(octets: &mut [u8]) {
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

    /// RFC 1071 §1 over the header: zero if it is right.
    fn checksum(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
        let sum: u32 = words.sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    #[test]
    fn a_mark_keeps_the_checksum_of_ipv4_right() {
        // A header whose checksum is known: 0xb861 for these fields.
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
            mark(&mut header);
            assert_eq!((checksum(&header), header[1]), (0, 3));
        }
        assert_eq!(read(&header).map(|header| header.ecn), Some(Ecn::Ce));
    }

    #[test]
    fn headers_of_both_versions_are_read_and_rubbish_is_not() {
        let mut six = [0_u8; 40];
        (six[0], six[1], six[23], six[39]) = (0x60, 0x20, 1, 2);
        let header = read(&six).unwrap();
        assert_eq!(header.source, "::1".parse::<IpAddr>().unwrap());
        assert_eq!(header.target, "::2".parse::<IpAddr>().unwrap());
        assert_eq!(header.ecn, Ecn::Ect0);
        mark(&mut six);
        assert_eq!(read(&six).unwrap().ecn, Ecn::Ce);
        for octets in [&[][..], &[0x45; 19], &[0x60; 39], &[0x10; 60]] {
            assert_eq!(read(octets), None);
            mark(&mut octets.to_vec());
        }
    }
}
