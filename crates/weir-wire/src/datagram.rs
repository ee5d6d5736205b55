//! DCCP in UDP (RFC 6773): a datagram's content is a DCCP packet, its checksum zero (§3.3), and
//! the ECN field is that of the outer IP header (§3.7).

use quinn_udp::EcnCodepoint;
use weir_proto::dccp::wire::{self, decode};
use weir_proto::packet::{Body, Ecn, IpHeader, Packet};

/// The packet that a datagram holds; `None` if it holds none.
pub(crate) fn open(octets: &[u8], ecn: Option<EcnCodepoint>) -> Option<Packet> {
    let decoded = decode(octets).ok()?;
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

/// Appends the datagram's content; false for what has no wire form.
pub(crate) fn seal(packet: &Packet, octets: &mut Vec<u8>) -> bool {
    match &packet.body {
        Body::Dccp(body) => body.encode(None, octets).is_ok(),
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

    #[test]
    fn a_sealed_packet_opens_to_the_same_with_a_checksum_of_zero() {
        let body = wire::Packet::data(SeqNum::new(77), Payload::from_bytes(b"music"));
        let packet = Packet {
            id: 0,
            flow: weir_proto::packet::FlowId::default(),
            ip: IpHeader {
                ecn: Ecn::Ect0,
                ..IpHeader::default()
            },
            size: IpHeader::V4_OCTETS + body.wire_len(),
            damaged_at: None,
            body: Body::Dccp(body),
        };
        let mut octets = Vec::new();
        assert!(seal(&packet, &mut octets));
        let ecn = codepoint(packet.ip.ecn);
        assert_eq!(octets.get(6..8), Some(&[0, 0][..]));
        assert_eq!(open(&octets, ecn), Some(packet));
        assert_eq!(open(&octets[..11], None), None);
        assert_eq!(open(&[], None), None);
    }
}
