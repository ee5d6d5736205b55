//! The octets of each packet type and its checksum (RFC 4340 §5, §9).

use super::{PSEUDO, encoded, seq};
use crate::dccp::wire::checksum::ChecksumStatus;
use crate::dccp::wire::{Packet, Reserved, decode, decode_prefix};
use crate::packet::Payload;

/// Checks encoding and decoding: the packet has these octets, and these octets are the packet.
#[track_caller]
fn assert_layout(packet: &Packet, bytes: &[u8]) {
    assert_eq!(encoded(packet), bytes);
    let decoded = decode(bytes).expect("well-formed");
    assert_eq!(decoded.reserved, Reserved::default());
    let mut again = Vec::new();
    decoded.encode(&mut again).expect("unchanged");
    assert_eq!(again, bytes);
    let mut expected = packet.clone();
    expected.payload = Payload::from_bytes(packet.payload.content().unwrap_or_default());
    assert_eq!(decoded.into_packet(), expected);
}

const SEQ: u64 = 0x0102_0304_0506;
const ACK: u64 = 0x1112_1314_1516;
const SERVICE: u32 = 0x5745_4952;

#[test]
fn request_is_generic_header_and_service_code() {
    let mut packet = Packet::request(seq(SEQ), SERVICE).with_ports(0x8001, 5001);
    packet.payload = Payload::from_bytes(b"hi");
    assert_layout(
        &packet,
        &[
            0x80, 0x01, 0x13, 0x89, 5, 0x00, 0, 0, // ports, offset, CCVal|CsCov, checksum
            0x01, 0x00, 1, 2, 3, 4, 5, 6, // 000|0000|1, reserved, sequence number
            b'W', b'E', b'I', b'R', b'h', b'i',
        ],
    );
}

#[test]
fn response_has_acknowledgement_then_service_code() {
    let packet = Packet::response(seq(SEQ), seq(ACK), SERVICE).with_ports(5001, 0x8001);
    assert_layout(
        &packet,
        &[
            0x13, 0x89, 0x80, 0x01, 7, 0x00, 0, 0, //
            0x03, 0x00, 1, 2, 3, 4, 5, 6, // 000|0001|1
            0, 0, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, //
            b'W', b'E', b'I', b'R',
        ],
    );
}

#[test]
fn data_has_no_subheader() {
    let mut packet = Packet::data(seq(SEQ), Payload::from_bytes(&[0xaa; 5]));
    packet.ccval = 0xb;
    packet.cscov = 2;
    let long = [
        0, 0, 0, 0, 4, 0xb2, 0, 0, //
        0x05, 0x00, 1, 2, 3, 4, 5, 6, // 000|0010|1
        0xaa, 0xaa, 0xaa, 0xaa, 0xaa,
    ];
    assert_layout(&packet, &long);
}

#[test]
fn short_data_carries_24_bits() {
    let mut packet = Packet::data(seq(0x04_0506), Payload::from_bytes(&[0xaa]));
    packet.extended = false;
    // 000|0010|0
    assert_layout(&packet, &[0, 0, 0, 0, 3, 0, 0, 0, 0x04, 4, 5, 6, 0xaa]);
    packet.seq = seq(SEQ);
    assert_eq!(
        decode(&encoded(&packet)).unwrap().packet.seq,
        seq(0x04_0506)
    );
}

#[test]
fn ack_has_long_and_short_forms() {
    let long = [
        0, 0, 0, 0, 6, 0, 0, 0, //
        0x07, 0, 1, 2, 3, 4, 5, 6, // 000|0011|1
        0, 0, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
    ];
    assert_layout(&Packet::new_ack(seq(SEQ), seq(ACK)), &long);
    let mut packet = Packet::new_ack(seq(0x04_0506), seq(0x14_1516));
    packet.extended = false;
    let short = [0, 0, 0, 0, 4, 0, 0, 0, 0x06, 4, 5, 6, 0, 0x14, 0x15, 0x16];
    assert_layout(&packet, &short);
}

#[test]
fn data_ack_has_long_and_short_forms() {
    let payload = Payload::from_bytes(&[1, 2, 3]);
    let long = [
        0, 0, 0, 0, 6, 0, 0, 0, //
        0x09, 0, 1, 2, 3, 4, 5, 6, // 000|0100|1
        0, 0, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 1, 2, 3,
    ];
    assert_layout(
        &Packet::data_ack(seq(SEQ), seq(ACK), payload.clone()),
        &long,
    );
    let mut packet = Packet::data_ack(seq(1), seq(2), payload);
    packet.extended = false;
    let short = [0, 0, 0, 0, 4, 0, 0, 0, 0x08, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3];
    assert_layout(&packet, &short);
}

#[test]
fn closing_and_synchronising_types_differ_in_the_type_octet() {
    for (packet, type_octet) in [
        (Packet::close_req(seq(SEQ), seq(ACK)), 0x0b), // 000|0101|1
        (Packet::close(seq(SEQ), seq(ACK)), 0x0d),     // 000|0110|1
        (Packet::sync(seq(SEQ), seq(ACK)), 0x11),      // 000|1000|1
        (Packet::sync_ack(seq(SEQ), seq(ACK)), 0x13),  // 000|1001|1
    ] {
        let bytes = [
            0, 0, 0, 0, 6, 0, 0, 0, type_octet, 0, 1, 2, 3, 4, 5, 6, //
            0, 0, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16,
        ];
        assert_layout(&packet, &bytes);
    }
}

#[test]
fn reset_ends_with_code_and_three_octets() {
    let mut packet = Packet::reset(seq(SEQ), seq(ACK), 5, [32, 0xde, 0xad]);
    packet.payload = Payload::from_bytes(b"no");
    let bytes = [
        0, 0, 0, 0, 7, 0, 0, 0, //
        0x0f, 0, 1, 2, 3, 4, 5, 6, // 000|0111|1
        0, 0, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 5, 32, 0xde, 0xad, b'n', b'o',
    ];
    assert_layout(&packet, &bytes);
}

#[test]
fn listen_is_a_request_of_type_10() {
    let bytes = [
        0x13, 0x89, 0x80, 0x01, 5, 0, 0, 0, //
        0x15, 0, 0, 0, 0, 0, 0, 0, // 000|1010|1
        b'W', b'E', b'I', b'R',
    ];
    assert_layout(&Packet::listen(SERVICE).with_ports(5001, 0x8001), &bytes);
}

/// Added by hand: addresses c000 0201 c000 0202, protocol 0021, length 0013, header 8001 1389
/// 0400 0000 0500 0000 0000 0001, payload 6869 2100 (the odd octet padded) are 2_aa2b, with
/// the carries aa2d, complemented 55d2.
#[test]
fn checksum_of_a_whole_packet() {
    let packet = Packet::data(seq(1), Payload::from_bytes(b"hi!")).with_ports(0x8001, 5001);
    let mut bytes = Vec::new();
    packet.encode(Some(&PSEUDO), &mut bytes).unwrap();
    assert_eq!(bytes[6..8], [0x55, 0xd2]);
    let decoded = decode(&bytes).unwrap();
    assert_eq!(
        decoded.checksum_status(&bytes, &PSEUDO),
        ChecksumStatus::Good
    );
}

/// RFC 4340 §9.2: octets beyond the coverage may change, covered octets may not.
#[test]
fn partial_coverage_protects_only_the_covered_octets() {
    let mut packet = Packet::data(seq(1), Payload::from_bytes(&[7; 20]));
    packet.cscov = 3;
    let mut bytes = Vec::new();
    packet.encode(Some(&PSEUDO), &mut bytes).unwrap();
    for index in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[index] ^= 0x10;
        let Ok(decoded) = decode(&changed) else {
            continue;
        };
        let expected = if index < 16 + 8 {
            ChecksumStatus::Bad
        } else {
            ChecksumStatus::Good
        };
        assert_eq!(
            decoded.checksum_status(&changed, &PSEUDO),
            expected,
            "octet {index}"
        );
    }
    // A capture with only the covered part can still be verified.
    let cut = &bytes[..24];
    let decoded = decode_prefix(cut, bytes.len()).unwrap();
    assert_eq!(decoded.checksum_status(cut, &PSEUDO), ChecksumStatus::Good);
}

/// A8: zero does not mean "no checksum" on protocol 33.
#[test]
fn a_checksum_of_zero_is_verified() {
    let bytes = encoded(&Packet::new_ack(seq(1), seq(2)));
    assert_eq!(bytes[6..8], [0, 0]);
    let decoded = decode(&bytes).unwrap();
    assert_eq!(
        decoded.checksum_status(&bytes, &PSEUDO),
        ChecksumStatus::Bad
    );
}

#[test]
fn a_payload_without_content_is_zeros() {
    let octets = encoded(&Packet::data(seq(SEQ), Payload::of_len(3)));
    assert_eq!(octets[octets.len() - 3..], [0, 0, 0]);
}
