//! The codec: golden octets from RFC 9000, round trips, and arbitrary octets.

use super::*;
use crate::packet::Payload;
use proptest::prelude::*;
use std::sync::Arc;

pub(in crate::quic) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn integers_are_those_of_rfc_9000_appendix_a_1() {
    for (octets, value) in [
        ("c2197c5eff14e88c", 151_288_809_941_952_652),
        ("9d7f3e7d", 494_878_333),
        ("7bbd", 15_293),
        ("25", 37),
    ] {
        let octets = hex(octets);
        assert_eq!(Reader::new(&octets).varint(), Ok(value));
        let mut out = Vec::new();
        varint::put(&mut out, value);
        assert_eq!(out, octets);
        assert_eq!(varint::len(value) as usize, octets.len());
        for cut in 0..octets.len() {
            assert_eq!(
                Reader::new(&octets[..cut]).varint(),
                Err(WireError::Truncated)
            );
        }
    }
    // The last line of the table: a value that is not in its shortest form.
    assert_eq!(Reader::new(&hex("4025")).varint(), Ok(37));
}

#[test]
fn packet_numbers_are_those_of_rfc_9000_appendix_a() {
    // Appendix A.2: 0xac5c02 with 0xabe8b3 acknowledged takes two octets, 0xace8fe three.
    let format = HeaderFormat::RFC9000;
    assert_eq!(format.number_len(0xac_5c02, Some(0xab_e8b3)), 2);
    assert_eq!(format.number_len(0xac_e8fe, Some(0xab_e8b3)), 3);
    // Appendix A.3: 0xa82f30ea was the largest, 0x9b32 arrives in two octets.
    assert_eq!(complete(0xa82f_30eb, 0x9b32, 2), 0xa82f_9b32);
}

#[test]
fn packet_numbers_take_as_many_octets_as_their_distance_needs() {
    // RFC 9000 §17.1: more than twice the distance to the largest acknowledged number must be
    // representable, which one octet does up to 127.
    for (distance, octets) in [
        (0x7f, 1),
        (0x80, 2),
        (0x7fff, 2),
        (0x8000, 3),
        (0x7f_ffff, 3),
        (0x80_0000, 4),
    ] {
        let format = HeaderFormat::RFC9000;
        assert_eq!(format.number_len(5000 + distance, Some(5000)), octets);
        // Appendix A.2: without an acknowledgement the distance is the number plus one.
        assert_eq!(format.number_len(distance - 1, None), octets);
    }
    for (number_len, octets) in [
        (PacketNumberLen::One, 1),
        (PacketNumberLen::Two, 2),
        (PacketNumberLen::Three, 3),
        (PacketNumberLen::Four, 4),
    ] {
        let format = HeaderFormat {
            number_len,
            ..HeaderFormat::RFC9000
        };
        assert_eq!(format.number_len(0x8000, Some(0)), octets);
    }
}

#[test]
fn a_number_of_one_octet_is_within_half_a_window_of_the_expected_one() {
    // RFC 9000 appendix A.3: the window is 0x100; a candidate half of it below the expected number
    // is completed upwards, one more than half of it above is completed downwards.
    for (expected, truncated, number) in [
        (0x180, 0x00, 0x200),
        (0x180, 0x01, 0x101),
        (0x17f, 0xff, 0x1ff),
        (0x17e, 0xff, 0x0ff),
        // The candidates 0x00 and 0xff cannot be completed downwards.
        (0x80, 0x00, 0x100),
        (0x00, 0x00, 0x00),
        (0x00, 0xff, 0xff),
        // No number is above 2^62 - 1.
        ((1 << 62) - 0x101, 0x00, (1 << 62) - 0x100),
        ((1 << 62) - 1, 0x00, (1 << 62) - 0x100),
    ] {
        let completed = complete(expected, truncated, 1);
        assert_eq!(completed, number, "{expected:#x} {truncated:#x}");
    }
}

#[test]
fn a_packet_number_takes_one_to_four_octets() {
    // RFC 9000 §17.3.1: the low two bits of the first octet are the octets less one.
    let format = HeaderFormat {
        connection_id_len: 0,
        tag_len: 0,
        ..HeaderFormat::RFC9000
    };
    for (number_len, octets) in [
        (0, "40 05 01"),
        (1, "40 05 01"),
        (2, "41 0405 01"),
        (3, "42 030405 01"),
        (4, "43 02030405 01"),
        (5, "43 02030405 01"),
    ] {
        let packet = Packet {
            number: 0x01_0203_0405,
            number_len,
            space: SpaceId::Data,
            frames: Frames::one(Frame::Ping),
        };
        let mut out = Vec::new();
        packet.encode(&format, &mut out);
        assert_eq!(out, hex(octets), "{number_len}");
    }
}

/// The frames of a packet and their octets.
fn encoded_frames() -> Vec<(Vec<Frame>, &'static str)> {
    [encoded_core_frames(), encoded_extension_frames()].concat()
}

/// The frames of RFC 9000 and their octets.
fn encoded_core_frames() -> Vec<(Vec<Frame>, &'static str)> {
    let stream = |offset, len, fin| {
        Frame::Stream(StreamFrame {
            id: 4,
            offset,
            len,
            fin,
        })
    };
    let ack = Frame::Ack(Ack {
        largest: 100,
        smallest: 90,
        delay: 5,
        older: Some(Arc::new(OlderRanges::new(
            90,
            vec![AckRange {
                smallest: 80,
                largest: 85,
            }],
        ))),
        rest: AckRest::new(
            Some(EcnCounts {
                ect0: 64,
                ect1: 0,
                ce: 1,
            }),
            None,
        ),
    });
    vec![
        // Type, id, offset; the last frame of a packet has no length.
        (vec![stream(3000, 3, true)], "0d 04 4bb8 000000"),
        (vec![stream(0, 2, false), Frame::Ping], "0a 04 02 0000 01"),
        // RFC 9000 §19.8: a stream ends at 2^62 - 1 at the latest.
        (
            vec![stream(varint::MAX - 1, 1, false)],
            "0c 04 fffffffffffffffe 00",
        ),
        // Gap 90 - 85 - 2 = 3, length 5.
        (vec![ack], "03 4064 05 01 0a 03 05 4040 00 01"),
        (vec![Frame::MaxData(15_000_000)], "10 80e4e1c0"),
        (
            vec![Frame::MaxStreamData { id: 0, maximum: 37 }],
            "11 00 25",
        ),
        (vec![Frame::DataBlocked(37)], "14 25"),
        (
            vec![Frame::StreamDataBlocked { id: 1, limit: 37 }],
            "15 01 25",
        ),
        (vec![Frame::Crypto { offset: 0, len: 2 }], "06 00 02 0000"),
        (
            vec![Frame::ConnectionClose {
                code: 10,
                frame_type: Some(2),
                reason_len: 1,
            }],
            "1c 0a 02 01 00",
        ),
        // RFC 9000 §19.17 and §19.18: eight octets of data.
        (
            vec![Frame::PathChallenge(0x0102_0304_0506_0708)],
            "1a 0102030405060708",
        ),
        (vec![Frame::PathResponse(0xff)], "1b 00000000000000ff"),
        (vec![Frame::HandshakeDone, Frame::Padding(3)], "1e 000000"),
    ]
}

/// The frames of extensions and their octets.
fn encoded_extension_frames() -> Vec<(Vec<Frame>, &'static str)> {
    vec![
        // draft-ietf-quic-ack-frequency §4 and §5; 0xaf and 25,000 µs take two and four octets.
        (
            vec![Frame::AckFrequency(AckFrequency {
                sequence: 1,
                threshold: 10,
                max_ack_delay: 25_000,
                reordering_threshold: 3,
            })],
            "40af 01 0a 800061a8 03",
        ),
        (vec![Frame::ImmediateAck, Frame::Padding(3)], "1f 000000"),
        // RFC 9221 §4: type 0x30 extends to the end of the packet, 0x31 has a Length.
        (vec![datagram(&[1, 2, 3])], "30 010203"),
        (vec![datagram(&[])], "30"),
        (vec![datagram(&[9; 2]), datagram(&[7])], "31 02 0909 30 07"),
        (vec![datagram(&[]), Frame::Ping], "31 00 01"),
    ]
}

fn datagram(octets: &[u8]) -> Frame {
    Frame::Datagram(Payload::from_bytes(octets))
}

#[test]
fn a_datagram_without_octets_is_written_as_zeros_of_its_length() {
    let frame = Frame::Datagram(Payload::of_len(64));
    for (last, head) in [(true, &[0x30][..]), (false, &[0x31, 0x40, 0x40])] {
        let mut out = Vec::new();
        frame.put(&mut out, last);
        assert_eq!(out, [head, &[0; 64]].concat());
        assert_eq!(out.len() as u32, frame.len(last));
    }
    assert!(frame.is_ack_eliciting(), "RFC 9221 §5.2");
}

#[test]
fn packets_have_these_octets() {
    let data = |frames| Packet {
        number: 0x0102,
        number_len: 2,
        space: SpaceId::Data,
        frames,
    };
    let format = HeaderFormat {
        connection_id_len: 4,
        number_len: PacketNumberLen::Two,
        tag_len: 2,
        ..HeaderFormat::RFC9000
    };
    for (frames, octets) in encoded_frames() {
        let packet = data(frames.into_iter().collect());
        let mut out = Vec::new();
        packet.encode(&format, &mut out);
        assert_eq!(
            out,
            hex(&format!("41 00000000 0102 {octets} 0000")),
            "{packet:?}"
        );
        assert_eq!(out.len() as u32, packet.len(&format));
        assert_eq!(Packet::decode(&out, &format, |_| 0x0102), Ok(packet));
    }
}

#[test]
fn an_initial_packet_has_the_long_header() {
    let packet = Packet {
        number: 0,
        number_len: 1,
        space: SpaceId::Initial,
        frames: [Frame::Crypto { offset: 0, len: 1 }, Frame::Ping]
            .into_iter()
            .collect(),
    };
    let format = HeaderFormat {
        connection_id_len: 2,
        tag_len: 1,
        ..HeaderFormat::RFC9000
    };
    let mut out = Vec::new();
    packet.encode(&format, &mut out);
    let expected = "c0 00000001 02 0000 02 0000 00 4007 00 06000100 01 00";
    assert_eq!(out, hex(expected));
    assert_eq!(Packet::decode(&out, &format, |_| 0), Ok(packet));
}

#[test]
fn hostile_acknowledgements_are_errors() {
    let format = HeaderFormat::INET;
    for (frame, error) in [
        // The first range extends below zero.
        ("02 05 00 00 06", WireError::Encoding),
        // The gap extends below zero.
        ("02 05 00 01 05 00 00", WireError::Encoding),
        // More ranges than octets.
        ("02 05 00 ffffffffffffffff 00", WireError::Truncated),
        // No octets for one range, whatever the first range is.
        ("02 05 00 01 06", WireError::Truncated),
        ("08", WireError::Truncated),
        // A stream that ends beyond 2^62 - 1.
        ("0c 00 ffffffffffffffff 00", WireError::Encoding),
        ("21", WireError::UnknownFrame(0x21)),
        // A datagram that is longer than its packet, and one whose Length is cut.
        ("31 05 0102", WireError::Truncated),
        ("31 ffffffffffffffff", WireError::Truncated),
        ("31", WireError::Truncated),
        ("4030 00", WireError::Encoding),
        // A PING whose type has two octets (RFC 9000 §12.4).
        ("4001", WireError::Encoding),
        ("", WireError::NoFrames),
    ] {
        let octets = hex(&format!("43 0000000000000000 00000000 {frame}"));
        assert_eq!(
            Packet::decode(&octets, &format, |_| 0),
            Err(error),
            "{frame}"
        );
    }
}

prop_compose! {
    fn ack()(
        top in 0_u64..1 << 40,
        first in 0_u64..1000,
        delay in 0_u64..1 << 30,
        spans in prop::collection::vec((0_u64..1000, 0_u64..1000), 0..20),
        ecn in prop::option::of((0_u64..1 << 40, 0_u64..100, 0_u64..1 << 20)),
    ) -> Frame {
        let largest = top + 50_000;
        let smallest = largest - first;
        let mut above = smallest;
        let mut ranges = Vec::new();
        for (gap, len) in spans {
            let largest = above - gap - 2;
            above = largest - len;
            ranges.push(AckRange { smallest: above, largest });
        }
        let older = (!ranges.is_empty()).then(|| Arc::new(OlderRanges::new(smallest, ranges)));
        let ecn = ecn.map(|(ect0, ect1, ce)| EcnCounts { ect0, ect1, ce });
        Frame::Ack(Ack { largest, smallest, delay, older, rest: AckRest::new(ecn, None) })
    }
}

/// Any frame but padding.
pub fn frame() -> impl Strategy<Value = Frame> {
    let int = 0..=varint::MAX;
    prop_oneof![
        Just(Frame::Ping),
        Just(Frame::HandshakeDone),
        Just(Frame::ImmediateAck),
        [int.clone(), int.clone(), int.clone(), int.clone()].prop_map(
            |[sequence, threshold, max_ack_delay, reordering_threshold]| {
                Frame::AckFrequency(AckFrequency {
                    sequence,
                    threshold,
                    max_ack_delay,
                    reordering_threshold,
                })
            }
        ),
        ack(),
        (int.clone(), 0..1_u64 << 60, 0..300_u32, any::<bool>()).prop_map(
            |(id, offset, len, fin)| Frame::Stream(StreamFrame {
                id,
                offset,
                len,
                fin
            })
        ),
        (0..1_u64 << 60, 0..300_u32).prop_map(|(offset, len)| Frame::Crypto { offset, len }),
        any::<u64>().prop_map(Frame::PathChallenge),
        any::<u64>().prop_map(Frame::PathResponse),
        int.clone().prop_map(Frame::MaxData),
        int.clone().prop_map(Frame::DataBlocked),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(|octets| datagram(&octets)),
        (int.clone(), int.clone()).prop_map(|(id, maximum)| Frame::MaxStreamData { id, maximum }),
        (int.clone(), int.clone()).prop_map(|(id, limit)| Frame::StreamDataBlocked { id, limit }),
        (int.clone(), prop::option::of(int), 0..50_u32).prop_map(
            |(code, frame_type, reason_len)| Frame::ConnectionClose {
                code,
                frame_type,
                reason_len
            }
        ),
    ]
}

fn format() -> impl Strategy<Value = HeaderFormat> {
    (0..=20_u8, 0..=16_u8).prop_map(|(connection_id_len, tag_len)| HeaderFormat {
        connection_id_len,
        tag_len,
        ..HeaderFormat::RFC9000
    })
}

proptest! {
    #[test]
    fn decoding_is_the_inverse_of_encoding(
        format in format(),
        frames in prop::collection::vec(frame(), 1..5),
        padding in 0..20_u32,
        acked in 0_u64..1 << 50,
        ahead in 1_u64..1 << 20,
        initial in any::<bool>(),
    ) {
        let mut frames: Frames = frames.into_iter().collect();
        if padding > 0 {
            frames.push(Frame::Padding(padding));
        }
        let number = acked + ahead;
        let packet = Packet {
            number,
            number_len: format.number_len(number, Some(acked)),
            space: if initial { SpaceId::Initial } else { SpaceId::Data },
            frames,
        };
        let mut out = Vec::new();
        packet.encode(&format, &mut out);
        prop_assert_eq!(out.len() as u32, packet.len(&format));
        prop_assert_eq!(Packet::decode(&out, &format, |_| acked + 1), Ok(packet));
    }

    #[test]
    fn arbitrary_octets_never_panic(
        first in prop_oneof![Just(0x43_u8), Just(0xc0), any::<u8>()],
        rest in prop::collection::vec(any::<u8>(), 0..200),
        expected in any::<u64>(),
        format in format(),
    ) {
        let mut octets = vec![first];
        octets.extend(rest);
        if let Ok(packet) = Packet::decode(&octets, &format, |_| expected) {
            let _ = packet.len(&format);
            packet.encode(&format, &mut Vec::new());
        }
    }

    #[test]
    fn every_prefix_of_a_packet_is_rejected_or_read(
        frames in prop::collection::vec(frame(), 1..4),
    ) {
        let packet = Packet {
            number: 7,
            number_len: 1,
            space: SpaceId::Data,
            frames: frames.into_iter().collect(),
        };
        let mut out = Vec::new();
        packet.encode(&HeaderFormat::RFC9000, &mut out);
        for cut in 0..out.len() {
            let _ = Packet::decode(&out[..cut], &HeaderFormat::RFC9000, |_| 0);
        }
    }
}
