//! A DCCP packet as the socket has it: the content of a UDP datagram, its checksum zero (RFC 6773
//! §3.3), or that of an IP packet, with a checksum over a pseudoheader (RFC 4340 §9.1). The ECN
//! field is that of the outer IP header (RFC 6773 §3.7).

use quinn_udp::EcnCodepoint;
use weir_proto::dccp::wire::checksum::{ChecksumStatus, PseudoHeader};
use weir_proto::dccp::wire::{self, decode};
use weir_proto::packet::{Body, Ecn, IpHeader, Packet};

/// The packet that a datagram holds; `None` if it holds none, or if its checksum over this
/// pseudoheader is wrong (RFC 4340 §8.5 step 1: no answer).
pub(crate) fn open(
    octets: &[u8],
    ecn: Option<EcnCodepoint>,
    pseudo: Option<&PseudoHeader>,
) -> Option<Packet> {
    let decoded = decode(octets).ok()?;
    if pseudo.is_some_and(|pseudo| decoded.checksum_status(octets, pseudo) != ChecksumStatus::Good)
    {
        return None;
    }
    let body = decoded.into_packet();
    Some(Packet {
        id: 0,
        flow: weir_proto::packet::FlowId::default(),
        ip: IpHeader {
            ecn: ecn_of(ecn),
            ..IpHeader::default()
        },
        size: IpHeader::V4_OCTETS + octets.len() as u32,
        damaged_at: None,
        body: Body::Dccp(body),
    })
}

/// Appends the datagram's content, with a checksum over this pseudoheader; false for what has no
/// wire form.
pub(crate) fn seal(packet: &Packet, pseudo: Option<&PseudoHeader>, octets: &mut Vec<u8>) -> bool {
    match &packet.body {
        Body::Dccp(body) => body.encode(pseudo, octets).is_ok(),
        _ => false,
    }
}

/// A codepoint of the socket as a packet has it.
pub(crate) const fn ecn_of(ecn: Option<EcnCodepoint>) -> Ecn {
    match ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

/// A packet's codepoint as the socket has it.
pub(crate) const fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

/// The DCCP ports and the type of a packet, before anything else is known of it.
pub(crate) fn dccp_of(packet: &Packet) -> Option<&wire::Packet> {
    match &packet.body {
        Body::Dccp(body) => Some(body),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::dccp::wire::SeqNum;
    use weir_proto::packet::Payload;

    fn packet() -> Packet {
        let body = wire::Packet::data(SeqNum::new(77), Payload::from_bytes(b"music"));
        Packet {
            id: 0,
            flow: weir_proto::packet::FlowId::default(),
            ip: IpHeader {
                ecn: Ecn::Ect0,
                ..IpHeader::default()
            },
            size: IpHeader::V4_OCTETS + body.wire_len(),
            damaged_at: None,
            body: Body::Dccp(body),
        }
    }

    #[test]
    fn a_sealed_packet_opens_to_the_same_with_a_checksum_of_zero() {
        let packet = packet();
        let mut octets = Vec::new();
        assert!(seal(&packet, None, &mut octets));
        let ecn = codepoint(packet.ip.ecn);
        assert_eq!(octets.get(6..8), Some(&[0, 0][..]));
        assert_eq!(open(&octets, ecn, None), Some(packet));
        assert_eq!(open(&octets[..11], None, None), None);
        assert_eq!(open(&[], None, None), None);
    }

    #[test]
    fn with_a_pseudoheader_every_bit_of_packet_and_addresses_counts() {
        let pseudo = |last| PseudoHeader::V4 {
            source: [192, 0, 2, 1],
            destination: [192, 0, 2, last],
        };
        let (packet, ours) = (packet(), pseudo(2));
        let mut octets = Vec::new();
        assert!(seal(&packet, Some(&ours), &mut octets));
        let ecn = codepoint(packet.ip.ecn);
        assert_eq!(open(&octets, ecn, Some(&pseudo(3))), None);
        for bit in 0..octets.len() * 8 {
            octets[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open(&octets, ecn, Some(&ours)), None, "bit {bit}");
            octets[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(open(&octets, ecn, Some(&ours)), Some(packet));
    }
}
