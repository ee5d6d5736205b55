//! Conversion of DCCP packets to and from octets: the payload of a UDP datagram, with a DCCP
//! checksum of zero (RFC 6773 §3.3), or of an IP packet, with a checksum over a pseudoheader (RFC
//! 4340 §9.1). The ECN field is that of the IP header (RFC 6773 §3.5).

use crate::ecn;
use quinn_udp::EcnCodepoint;
use weir_proto::dccp::wire;
use weir_proto::dccp::wire::checksum::{ChecksumStatus, PseudoHeader};
use weir_proto::packet::{Body, IpHeader, Packet};

/// Decodes the packet in a datagram; `None` if it is invalid, or if its checksum over the
/// pseudoheader is wrong (RFC 4340 §8.5 step 1: the packet is dropped without an answer).
pub(crate) fn decode(
    octets: &[u8],
    ecn: Option<EcnCodepoint>,
    pseudo: Option<&PseudoHeader>,
) -> Option<Packet> {
    let decoded = wire::decode(octets).ok()?;
    if pseudo.is_some_and(|pseudo| decoded.checksum_status(octets, pseudo) != ChecksumStatus::Good)
    {
        return None;
    }
    let body = decoded.into_packet();
    Some(Packet {
        ip: IpHeader {
            ecn: ecn::from_udp(ecn),
            ..IpHeader::default()
        },
        ..Packet::new(IpHeader::V4_OCTETS + octets.len() as u32, Body::Dccp(body))
    })
}

/// Appends the packet's octets, with a checksum over the pseudoheader; false if it is not DCCP or
/// cannot be encoded.
pub(crate) fn encode(packet: &Packet, pseudo: Option<&PseudoHeader>, octets: &mut Vec<u8>) -> bool {
    match &packet.body {
        Body::Dccp(body) => body.encode(pseudo, octets).is_ok(),
        _ => false,
    }
}

/// The DCCP packet in a packet's body, if it is one.
pub(crate) fn dccp_body(packet: &Packet) -> Option<&wire::Packet> {
    match &packet.body {
        Body::Dccp(body) => Some(body),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::dccp::wire::SeqNum;
    use weir_proto::packet::{Ecn, Payload};

    fn packet() -> Packet {
        let body = wire::Packet::data(SeqNum::new(77), Payload::from_bytes(b"payload"));
        Packet {
            ip: IpHeader {
                ecn: Ecn::Ect0,
                ..IpHeader::default()
            },
            ..Packet::new(IpHeader::V4_OCTETS + body.wire_len(), Body::Dccp(body))
        }
    }

    #[test]
    fn decode_undoes_encode_with_a_checksum_of_zero() {
        let packet = packet();
        let mut octets = Vec::new();
        assert!(encode(&packet, None, &mut octets));
        let ecn = ecn::to_udp(packet.ip.ecn);
        assert_eq!(octets.get(6..8), Some(&[0, 0][..]));
        assert_eq!(decode(&octets, ecn, None), Some(packet));
        assert_eq!(decode(&octets[..11], None, None), None);
        assert_eq!(decode(&[], None, None), None);
    }

    #[test]
    fn with_a_pseudoheader_every_bit_of_packet_and_addresses_counts() {
        let pseudo = |last| PseudoHeader::V4 {
            source: [192, 0, 2, 1],
            destination: [192, 0, 2, last],
        };
        let (packet, right) = (packet(), pseudo(2));
        let mut octets = Vec::new();
        assert!(encode(&packet, Some(&right), &mut octets));
        let ecn = ecn::to_udp(packet.ip.ecn);
        assert_eq!(decode(&octets, ecn, Some(&pseudo(3))), None);
        for bit in 0..octets.len() * 8 {
            octets[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&octets, ecn, Some(&right)), None, "bit {bit}");
            octets[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(decode(&octets, ecn, Some(&right)), Some(packet));
    }
}
