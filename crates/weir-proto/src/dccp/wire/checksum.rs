//! The header checksum with its partial coverage (RFC 4340 §9.1, §9.2) and the Data Checksum's
//! CRC-32c (§9.3).
//!
//! checksum = one's complement of the one's complement sum of all 16-bit words of: pseudoheader
//! (addresses, protocol 33, length), DCCP header and options, and the covered payload:
//!
//! ```text
//! CsCov = 0      all of it
//! CsCov = 1..15  the first (CsCov - 1) * 4 octets of it
//! ```

use crate::named::named;

/// The IP protocol number of DCCP (RFC 4340 §19.1).
pub const PROTOCOL: u8 = 33;

/// The pseudoheader: the part of the IP header that the checksum covers (RFC 4340 §9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PseudoHeader {
    /// IPv4 (RFC 793 §3.1).
    V4 {
        /// Source address.
        source: [u8; 4],
        /// Destination address.
        destination: [u8; 4],
    },
    /// IPv6 (RFC 2460 §8.1).
    V6 {
        /// Source address.
        source: [u8; 16],
        /// Destination address: the last one, if there is a routing header.
        destination: [u8; 16],
    },
}

named! {
    /// The result of a checksum verification.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ChecksumStatus {
        /// The checksum is right.
        Good => "good",
        /// The checksum is wrong, and the packet must be ignored (RFC 4340 §9.1).
        Bad => "bad",
        /// The checksum was not verified: in UDP it is not used (RFC 6773 §3.3), and a truncated
        /// capture lacks the octets.
        None => "none",
    }
}

/// The octets that the header checksum covers; `None` if `cscov` exceeds the payload, in which case
/// the packet must be ignored (RFC 4340 §9.2).
pub fn covered_len(header_len: usize, payload_len: usize, cscov: u8) -> Option<usize> {
    let covered = match cscov {
        0 => payload_len,
        words => usize::from(words - 1) * 4,
    };
    (covered <= payload_len).then(|| header_len + covered)
}

/// The Internet checksum over a pseudoheader and `covered`. It is zero over octets that contain
/// their own right checksum.
///
/// `length` is the length in the pseudoheader: that of the whole transport packet.
pub fn internet_checksum(pseudo: &PseudoHeader, protocol: u8, length: u32, covered: &[u8]) -> u16 {
    let addresses = match pseudo {
        PseudoHeader::V4 {
            source,
            destination,
        } => sum(source) + sum(destination),
        PseudoHeader::V6 {
            source,
            destination,
        } => sum(source) + sum(destination),
    };
    let total = addresses + u64::from(protocol) + sum(&length.to_be_bytes()) + sum(covered);
    !fold(total)
}

/// The sum of 16-bit words; an odd octet at the end is the high half of a word.
fn sum(octets: &[u8]) -> u64 {
    let (pairs, rest) = octets.as_chunks::<2>();
    let words: u64 = pairs
        .iter()
        .map(|pair| u64::from(u16::from_be_bytes(*pair)))
        .sum();
    words + rest.iter().map(|octet| u64::from(*octet) << 8).sum::<u64>()
}

/// Adds the carries back until there are none.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The CRC-32c of SCTP (RFC 3309): reflected polynomial 0x82f63b78, all ones before and after.
pub fn crc32c(data: &[u8]) -> u32 {
    !data
        .iter()
        .fold(u32::MAX, |crc, octet| crc_step(crc, *octet))
}

/// The value of a Data Checksum option over this payload, where octets without content count as
/// zeros (RFC 4340 §9.3).
///
/// SCTP sends its CRC with the least significant octet first (RFC 3309 §2), and DCCP uses the same
/// algorithm. The value of the option is read most significant octet first, so it is the CRC with
/// its octets reversed.
pub fn data_checksum(payload: &crate::payload::Payload) -> u32 {
    let crc = match payload.content() {
        Some(content) => crc32c(content),
        None => !(0..payload.len()).fold(u32::MAX, |crc, _| crc_step(crc, 0)),
    };
    crc.swap_bytes()
}

fn crc_step(crc: u32, octet: u8) -> u32 {
    let index = (crc ^ u32::from(octet)) & 0xff;
    CRC_TABLE[index as usize] ^ crc >> 8
}

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                0x82f6_3b78 ^ crc >> 1
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Payload;

    const LOOPBACK: PseudoHeader = PseudoHeader::V4 {
        source: [127, 0, 0, 1],
        destination: [127, 0, 0, 2],
    };

    /// Added by hand: 7f00 + 0001 + 7f00 + 0002 + 0021 + 0004 + 1234 + 5678 = 1_66d4 → 66d5.
    #[test]
    fn adds_words_and_carries() {
        let octets = [0x12, 0x34, 0x56, 0x78];
        assert_eq!(internet_checksum(&LOOPBACK, PROTOCOL, 4, &octets), !0x66d5);
    }

    /// The odd octet 9a counts as 9a00: 66d5 + 9a00 + (length 5 instead of 4) = 1_00d6 → 00d7.
    #[test]
    fn an_odd_octet_is_padded_on_the_right() {
        let octets = [0x12, 0x34, 0x56, 0x78, 0x9a];
        assert_eq!(internet_checksum(&LOOPBACK, PROTOCOL, 5, &octets), !0x00d7);
    }

    #[test]
    fn version_6_adds_the_whole_addresses_and_length() {
        let mut source = [0; 16];
        source[15] = 1;
        let pseudo = PseudoHeader::V6 {
            source,
            destination: [0xff; 16],
        };
        // 0001 + eight times ffff (which is zero) + 0021 + 0001 + 0002 (length 0x10002) = 0025
        assert_eq!(internet_checksum(&pseudo, PROTOCOL, 0x1_0002, &[]), !0x0025);
    }

    #[test]
    fn a_carry_of_one_is_added_back() {
        // RFC 1071: 0021 + 0002 + ffdd = 1_0000 → 0001.
        let nowhere = PseudoHeader::V4 {
            source: [0; 4],
            destination: [0; 4],
        };
        assert_eq!(internet_checksum(&nowhere, PROTOCOL, 2, &[0xff, 0xdd]), !1);
    }

    /// RFC 4340 §9.2.
    #[test]
    fn coverage_counts_words_of_payload_from_one() {
        for (cscov, payload, covered) in [
            (0, 7, Some(24 + 7)),
            (1, 7, Some(24)),
            (2, 7, Some(28)),
            (3, 7, None),
            (3, 8, Some(32)),
            (15, 56, Some(80)),
            (15, 55, None),
            (15, 0, None),
            (1, 0, Some(24)),
        ] {
            assert_eq!(
                covered_len(24, payload, cscov),
                covered,
                "CsCov {cscov} of {payload}"
            );
        }
    }

    /// The check value that every catalogue of CRCs gives for CRC-32C, and the vectors of
    /// RFC 3720 appendix B.4 (the iSCSI CRC is the same).
    #[test]
    fn crc_has_the_published_values() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(&[]), 0);
    }

    #[test]
    fn payload_without_content_has_the_checksum_of_zeros() {
        let zeros = Payload::from_bytes(&[0; 32]);
        assert_eq!(data_checksum(&Payload::of_len(32)), data_checksum(&zeros));
        assert_eq!(data_checksum(&zeros), 0xaa36_918a);
        assert_eq!(data_checksum(&Payload::of_len(0)), 0);
    }
}
