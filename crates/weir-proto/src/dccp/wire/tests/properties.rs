//! Random packets, random bytes and bytes with one fault.

use super::{PSEUDO, encoded, seq};
use crate::dccp::wire::checksum::ChecksumStatus;
use crate::dccp::wire::{
    DccpOption, Options, Packet, PacketType, RawOption, decode, decode_prefix,
};
use crate::packet::Payload;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[derive(Clone, Debug)]
struct OwnedOption {
    kind: u8,
    data: Vec<u8>,
}

fn any_option() -> impl Strategy<Value = OwnedOption> {
    let one_octet = (1u8..32).prop_map(|kind| OwnedOption {
        kind,
        data: Vec::new(),
    });
    let known = (
        select(vec![32, 34, 37, 38, 41, 42, 43, 44, 128, 192, 193, 194]),
        vec(any::<u8>(), 0..12),
    )
        .prop_map(|(kind, data)| OwnedOption { kind, data });
    let any_kind =
        (32u8.., vec(any::<u8>(), 0..40)).prop_map(|(kind, data)| OwnedOption { kind, data });
    prop_oneof![one_octet, known, any_kind]
}

fn any_packet() -> impl Strategy<Value = Packet> {
    let header = (
        select(PacketType::ALL.to_vec()),
        any::<bool>(),
        0u8..16,
        any::<[u16; 2]>(),
    );
    let numbers = (any::<u64>(), any::<u64>(), any::<u32>());
    let rest = (
        vec(any_option(), 0..8),
        vec(any::<u8>(), 0..80),
        any::<prop::sample::Index>(),
    );
    (header, numbers, rest).prop_map(|(header, numbers, (options, payload, coverage))| {
        let (kind, extended, ccval, [source_port, destination_port]) = header;
        let extended = extended || !kind.may_be_short();
        let mask = if extended { u64::MAX } else { 0xff_ffff };
        let (number, ack) = (seq(numbers.0 & mask), seq(numbers.1 & mask));
        let base = match kind {
            PacketType::Request => Packet::request(number, numbers.2),
            PacketType::Response => Packet::response(number, ack, numbers.2),
            PacketType::Data => Packet::data(number, Payload::default()),
            PacketType::Reset => Packet::reset(number, ack, ccval, [1, 2, 3]),
            PacketType::Listen => Packet::listen(numbers.2),
            _ => Packet {
                kind,
                ..Packet::new_ack(number, ack)
            },
        };
        let mut packet = Packet {
            extended,
            ccval,
            cscov: coverage.index((payload.len() / 4 + 2).min(16)) as u8,
            payload: Payload::from_bytes(&payload),
            ..base.with_ports(source_port, destination_port)
        };
        for option in &options {
            packet.options.push(&DccpOption::Other {
                kind: option.kind,
                data: &option.data,
            });
        }
        packet
    })
}

proptest! {
    #[test]
    fn decoding_is_the_inverse_of_encoding(packet in any_packet()) {
        let mut bytes = Vec::new();
        packet.encode(Some(&PSEUDO), &mut bytes).unwrap();
        prop_assert_eq!(bytes.len() as u32, packet.wire_len());
        let decoded = decode(&bytes).unwrap();
        prop_assert_eq!(decoded.checksum_status(&bytes, &PSEUDO), ChecksumStatus::Good);
        let mut again = Vec::new();
        decoded.encode(&mut again).unwrap();
        prop_assert_eq!(again, bytes.clone());
        prop_assert_eq!(decoded.into_packet(), packet);
    }

    #[test]
    fn prefixes_of_a_packet_never_panic(packet in any_packet()) {
        let bytes = encoded(&packet);
        for length in 0..bytes.len() {
            let _ = decode(&bytes[..length]);
            let _ = decode_prefix(&bytes[..length], bytes.len());
        }
    }

    /// A packet with one changed octet that can be decoded is encoded to the same octets again.
    #[test]
    fn mutated_packets_decode_faithfully_or_not_at_all(packet in any_packet(), mask in 1u8..) {
        let mut bytes = encoded(&packet);
        for index in 0..bytes.len() {
            bytes[index] ^= mask;
            if let Ok(decoded) = decode(&bytes) {
                decoded.packet.options.iter().for_each(drop);
                let mut again = Vec::new();
                decoded.encode(&mut again).unwrap();
                prop_assert_eq!(&again, &bytes);
            }
            bytes[index] ^= mask;
        }
    }

    #[test]
    fn random_bytes_decode_faithfully_or_not_at_all(
        mut bytes in vec(any::<u8>(), 12..200),
        offset in 3u8..30,
    ) {
        // Some octets are chosen so that the first checks pass.
        bytes[4] = offset;
        bytes[8] %= 11 << 1;
        if let Ok(decoded) = decode(&bytes) {
            let mut again = Vec::new();
            decoded.encode(&mut again).unwrap();
            prop_assert_eq!(&again, &bytes);
            let _ = decoded.checksum_status(&bytes, &PSEUDO);
        }
    }

    /// A typed option that was read is written as an option that reads the same.
    #[test]
    fn typed_options_keep_their_value_in_the_smallest_form(
        kind in any::<u8>(),
        data in vec(any::<u8>(), 0..30),
    ) {
        let data = if kind < 32 { &[][..] } else { &data };
        let option = DccpOption::from_raw(RawOption { kind, data });
        prop_assert_eq!(option.kind(), kind);
        let mut options = Options::new();
        prop_assert!(options.push(&option));
        prop_assert_eq!(options.iter().next(), Some(option));
    }
}
