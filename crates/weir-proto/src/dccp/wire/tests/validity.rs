//! Malformed packets, and packets without a wire form (RFC 4340 §8.5 step 1).

use super::{PSEUDO, encoded, seq};
use crate::dccp::wire::checksum::ChecksumStatus;
use crate::dccp::wire::{
    EncodeError, Malformed, Options, Packet, PacketType, Subheader, decode, decode_prefix,
};
use crate::packet::Payload;

/// A1 to A7 of the list of hostile inputs.
#[test]
fn malformed_packets_have_a_reason() {
    let ack = encoded(&Packet::new_ack(seq(1), seq(2)));
    let with = |index: usize, octet: u8| {
        let mut bytes = ack.clone();
        bytes[index] = octet;
        bytes
    };
    for length in 0..12 {
        assert_eq!(
            decode(&ack[..length]),
            Err(Malformed::TooShort { octets: length })
        );
    }
    for length in 12..24 {
        let expected = Malformed::DataOffsetTooLarge {
            header: 24,
            octets: length,
        };
        assert_eq!(decode(&ack[..length]), Err(expected));
    }
    for number in 11..=15 {
        assert_eq!(
            decode(&with(8, number << 1 | 1)),
            Err(Malformed::ReservedType(number))
        );
    }
    for kind in PacketType::ALL {
        let bytes = with(8, kind.number() << 1);
        let short = decode(&bytes) == Err(Malformed::ShortSequenceNumbers(kind));
        assert_eq!(short, !kind.may_be_short(), "{kind}");
    }
    for offset in 0..6 {
        let header = usize::from(offset) * 4;
        let kind = PacketType::Ack;
        let expected = Malformed::DataOffsetTooSmall {
            kind,
            header,
            fixed: 24,
        };
        assert_eq!(decode(&with(4, offset)), Err(expected));
    }
    let expected = Malformed::DataOffsetTooLarge {
        header: 1020,
        octets: 24,
    };
    assert_eq!(decode(&with(4, 255)), Err(expected));
    let expected = Malformed::CoverageTooLarge {
        cscov: 15,
        payload: 0,
    };
    assert_eq!(decode(&with(5, 15)), Err(expected));
}

/// A9: reserved bits are ignored, and kept for writing the packet again.
#[test]
fn reserved_bits_are_ignored_but_kept() {
    for extended in [true, false] {
        let mut packet = Packet::new_ack(seq(1), seq(2));
        packet.extended = extended;
        let mut bytes = encoded(&packet);
        bytes[8] |= 0xe0;
        if extended {
            bytes[9] = 0xab;
            bytes[16..18].copy_from_slice(&[0xcd, 0xef]);
        } else {
            bytes[12] = 0xef;
        }
        let decoded = decode(&bytes).expect("reserved bits are no error");
        assert_eq!(decoded.packet, packet);
        let mut again = Vec::new();
        decoded.encode(&mut again).expect("unchanged");
        assert_eq!(again, bytes);
    }
}

/// A13: the longest datagram with the longest header, all of it one-octet options.
#[test]
fn the_longest_header_is_read_once() {
    let mut bytes = vec![0; 65_535];
    bytes[4] = 255;
    bytes[8] = 0x04;
    bytes[12..1020].fill(2);
    let decoded = decode(&bytes).expect("well-formed");
    assert_eq!(decoded.packet.options.iter().count(), 1008);
    assert_eq!(decoded.packet.payload.len(), 65_535 - 1020);
}

#[test]
fn a_truncated_packet_is_read_if_its_header_is_complete() {
    let packet = Packet::data_ack(seq(1), seq(2), Payload::of_len(1000));
    let bytes = encoded(&packet);
    let decoded = decode_prefix(&bytes[..30], bytes.len()).expect("header is there");
    assert_eq!((decoded.payload.len(), &decoded.packet), (6, &packet));
    assert_eq!(
        decoded.checksum_status(&bytes[..30], &PSEUDO),
        ChecksumStatus::None
    );
    for captured in 0..24 {
        let expected = Malformed::Truncated { captured };
        assert_eq!(
            decode_prefix(&bytes[..captured], bytes.len()),
            Err(expected)
        );
    }
}

#[test]
fn packets_without_wire_form_are_rejected_and_nothing_is_written() {
    let base = || Packet::data(seq(1), Payload::of_len(4));
    let refused = |packet: Packet| {
        let mut out = vec![42];
        let error = packet
            .encode(Some(&PSEUDO), &mut out)
            .expect_err("no wire form");
        assert_eq!(out, [42]);
        error
    };
    let kind = PacketType::Data;
    let wrong = Packet {
        subheader: Subheader::Ack(seq(1)),
        ..base()
    };
    assert_eq!(refused(wrong), EncodeError::WrongSubheader(kind));
    let short = Packet {
        extended: false,
        ..Packet::request(seq(1), 1)
    };
    assert_eq!(
        refused(short),
        EncodeError::ShortSequenceNumbers(PacketType::Request)
    );
    let ccval = EncodeError::FieldTooLarge {
        field: "CCVal",
        value: 16,
    };
    assert_eq!(
        refused(Packet {
            ccval: 16,
            ..base()
        }),
        ccval
    );
    let cscov = EncodeError::FieldTooLarge {
        field: "CsCov",
        value: 16,
    };
    assert_eq!(
        refused(Packet {
            cscov: 16,
            ..base()
        }),
        cscov
    );
    let coverage = EncodeError::CoverageTooLarge {
        cscov: 3,
        payload: 4,
    };
    assert_eq!(refused(Packet { cscov: 3, ..base() }), coverage);
    let long = Packet {
        payload: Payload::of_len(65_520),
        ..base()
    };
    assert_eq!(refused(long), EncodeError::TooLong { octets: 65_536 });
    let huge = Packet {
        payload: Payload::of_len(u32::MAX),
        ..base()
    };
    assert!(matches!(refused(huge), EncodeError::TooLong { .. }));
    let options = Options::from_wire(&[2; 1005]);
    let header = EncodeError::HeaderTooLong { octets: 16 + 1008 };
    assert_eq!(refused(Packet { options, ..base() }), header);
}
