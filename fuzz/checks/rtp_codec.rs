//! Arbitrary bytes as a packet of an RTP session: no input panics, and a decoded packet that is
//! encoded and decoded again is the same. The octets may differ, because lists of contributing
//! sources, extensions, padding and bits that must be ignored are not encoded.

use weir_proto::rtp::Packet;

pub fn check(bytes: &[u8]) {
    let Some(packet) = Packet::decode(bytes) else {
        return;
    };
    let encoded = packet.encode();
    assert_eq!(encoded.len(), packet.wire_len());
    assert!(encoded.len() <= bytes.len());
    let again = Packet::decode(&encoded).expect("an encoded packet is well-formed");
    assert_eq!(again, packet);
}
