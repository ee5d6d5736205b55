use super::*;
use crate::packet::Ecn;
use crate::payload::Payload;
use crate::rng::Rng;

fn metric(ecn: Ecn, ticks: u16) -> Metric {
    Metric {
        ecn,
        offset: ArrivalOffset::Ticks(ticks),
    }
}

#[test]
fn a_media_packet_as_rfc_3550_draws_it() {
    let packet = Packet::Media(MediaPacket {
        marker: true,
        payload_type: 96,
        sequence: 0x1234,
        timestamp: 0x0102_0304,
        ssrc: 0xa1b2_c3d4,
        payload: Payload::from_bytes(b"hi"),
    });
    // RFC 3550 §5.1: V = 2, no P, no X, CC = 0; M = 1 and PT = 96; sequence number, timestamp,
    // SSRC.
    let octets = [
        0x80, 0xe0, 0x12, 0x34, 1, 2, 3, 4, 0xa1, 0xb2, 0xc3, 0xd4, b'h', b'i',
    ];
    assert_eq!(packet.encode(), octets);
    assert_eq!(Packet::decode(&octets), Some(packet.clone()));

    // One contributing source, an extension of one word, and padding of three octets.
    let mut long = vec![0xb1, 0xe0, 0x12, 0x34, 1, 2, 3, 4, 0xa1, 0xb2, 0xc3, 0xd4];
    long.extend([
        9, 9, 9, 9, 0xbe, 0xde, 0, 1, 7, 7, 7, 7, b'h', b'i', 0, 0, 3,
    ]);
    assert_eq!(Packet::decode(&long), Some(packet));
}

#[test]
fn a_feedback_packet_as_rfc_8888_draws_it() {
    // RFC 8888 §3.1, PACKET_TYPE 205, FORMAT 11: three metrics, so sixteen bits of padding.
    // RECEIVED is the highest bit, then two of ECN. 512 ticks are half a second;
    // LONGEST_OFFSET is 0x1FFD, OVER_RANGE 0x1FFE, UNAVAILABLE 0x1FFF.
    let feedback = CcFeedback {
        ssrc: 0x0000_0001,
        blocks: vec![
            ReportBlock {
                ssrc: 0xa1b2_c3d4,
                begin_seq: 0xffff,
                metrics: vec![Some(metric(Ecn::Ce, 512)), None, Some(metric(Ecn::Ect0, 0))],
            },
            ReportBlock {
                ssrc: 2,
                begin_seq: 5,
                metrics: Vec::new(),
            },
        ],
        timestamp: 0x0001_8000,
    };
    let octets = [
        0x8b,
        205,
        0,
        8,
        0,
        0,
        0,
        1, // length: nine words less one
        0xa1,
        0xb2,
        0xc3,
        0xd4,
        0xff,
        0xff,
        0,
        3, // begin_seq 65535, three reports
        0b1110_0010,
        0,
        0,
        0,
        0b1100_0000,
        0,
        0,
        0, // CE and 512; not received; ECT(0) and 0
        0,
        0,
        0,
        2,
        0,
        5,
        0,
        0, // a stream of which nothing is reported
        0,
        1,
        0x80,
        0, // 1.5 s
    ];
    let packet = Packet::Feedback(feedback);
    assert_eq!(packet.encode(), octets);
    assert_eq!(packet.wire_len(), octets.len());
    assert_eq!(Packet::decode(&octets), Some(packet));
}

#[test]
fn offsets_that_are_too_long_or_unknown_have_their_codes() {
    for (offset, code) in [
        (ArrivalOffset::of_ticks(8189), 0x1ffd),
        (ArrivalOffset::of_ticks(8190), 0x1ffe),
        (ArrivalOffset::of_ticks(u64::MAX), 0x1ffe),
        (ArrivalOffset::Unavailable, 0x1fff),
    ] {
        let block = ReportBlock {
            metrics: vec![Some(Metric {
                ecn: Ecn::NotEct,
                offset,
            })],
            ..ReportBlock::default()
        };
        let packet = Packet::Feedback(CcFeedback {
            blocks: vec![block],
            ..CcFeedback::default()
        });
        let octets = packet.encode();
        assert_eq!(octets[16..18], (0x8000_u16 | code).to_be_bytes());
        assert_eq!(Packet::decode(&octets), Some(packet));
    }
}

#[test]
fn bits_of_a_packet_that_was_not_received_are_ignored_and_wrong_packets_refused() {
    let good = [
        0x8b, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0, 5, 0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 0,
    ];
    let Some(Packet::Feedback(feedback)) = Packet::decode(&good) else {
        panic!("it is well-formed");
    };
    assert_eq!(feedback.blocks[0].metrics, [None]);
    // (octet, value): another version, type, format or length; more reports than MAX_METRICS
    // (RFC 8888 §3.1) or than there are; padding that is longer than the packet.
    for (at, value) in [
        (0, 0x4b),
        (1, 206),
        (0, 0x8f),
        (3, 4),
        (14, 0x40),
        (15, 9),
        (0, 0xab),
    ] {
        let mut bad = good;
        bad[at] = value;
        assert_eq!(Packet::decode(&bad), None, "{at} {value}");
    }
    for len in 0..good.len() {
        assert_eq!(Packet::decode(&good[..len]), None, "{len}");
    }
}

#[test]
fn what_is_encoded_decodes_to_itself() {
    let mut rng = Rng::stream(1, "rtp/wire");
    for _ in 0..2000 {
        let packet = if rng.chance(0.5) {
            let payload: Vec<u8> = (0..rng.below(40)).map(|_| rng.below(256) as u8).collect();
            Packet::Media(MediaPacket {
                marker: rng.chance(0.5),
                // RFC 5761 §4: 64 to 95 would be taken for RTCP with the marker set.
                payload_type: 96 + rng.below(32) as u8,
                sequence: rng.next_u64() as u16,
                timestamp: rng.next_u64() as u32,
                ssrc: rng.next_u64() as u32,
                payload: Payload::from_bytes(&payload),
            })
        } else {
            let mut block = || ReportBlock {
                ssrc: rng.next_u64() as u32,
                begin_seq: rng.next_u64() as u16,
                metrics: (0..rng.below(30))
                    .map(|_| {
                        rng.chance(0.8).then(|| Metric {
                            ecn: Ecn::from_bits(rng.below(4) as u8),
                            offset: ArrivalOffset::of_bits(rng.next_u64() as u16),
                        })
                    })
                    .collect(),
            };
            let blocks = vec![block(), block()];
            Packet::Feedback(CcFeedback {
                ssrc: rng.next_u64() as u32,
                blocks,
                timestamp: rng.next_u64() as u32,
            })
        };
        let octets = packet.encode();
        assert_eq!(octets.len(), packet.wire_len());
        assert_eq!(Packet::decode(&octets), Some(packet));
    }
}

#[test]
fn a_packet_has_room_for_so_many_metrics() {
    // 8 of header, 8 of the block, 4 of the timestamp: 1452 of 1472 octets are left.
    assert_eq!(CcFeedback::metrics_within(1472), 726);
    assert_eq!(CcFeedback::metrics_within(23), 0);
    assert_eq!(CcFeedback::metrics_within(24), 2);
    assert_eq!(CcFeedback::metrics_within(1 << 20), MAX_METRICS);
}

#[test]
fn sources_padding_and_content_of_media_are_told_apart() {
    let header = |flags: u8| vec![flags, 0x60, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3];
    // RFC 3550 §5.1: one contributing source without an extension; padding of one octet, which is
    // the count itself.
    for (flags, rest, payload) in [
        (0x81, &b"\x09\x09\x09\x09hi"[..], &b"hi"[..]),
        (0xa0, b"hi\x01", b"hi"),
        (0xa0, b"hi\x00\x02", b"hi"),
    ] {
        let octets = [header(flags), rest.to_vec()].concat();
        let Some(Packet::Media(media)) = Packet::decode(&octets) else {
            panic!("{flags:x} {rest:?} is media");
        };
        assert_eq!(media.payload, Payload::from_bytes(payload));
        assert!(!media.marker);
    }
    // Padding with a length of zero is refused.
    assert_eq!(Packet::decode(&[header(0xa0), vec![0]].concat()), None);
    // A payload of which only the length is known is as long in wire form.
    let media = Packet::Media(MediaPacket {
        marker: false,
        payload_type: 96,
        sequence: 1,
        timestamp: 2,
        ssrc: 3,
        payload: Payload::of_len(5),
    });
    assert_eq!(media.encode(), [header(0x80), vec![0; 5]].concat());
}

#[test]
fn a_report_covers_at_most_a_quarter_of_the_numbers() {
    // RFC 8888 §3.1: 2^16 / 4 = 16,384 metrics.
    let report = |count: usize| CcFeedback {
        blocks: vec![ReportBlock {
            metrics: vec![None; count],
            ..ReportBlock::default()
        }],
        ..CcFeedback::default()
    };
    let most = Packet::Feedback(report(16_384));
    let octets = most.encode();
    assert_eq!(octets.len(), 8 + 8 + 2 * 16_384 + 4);
    assert_eq!(Packet::decode(&octets), Some(most.clone()));
    // A further metric is left out; a packet that has it nevertheless is refused.
    assert_eq!(Packet::Feedback(report(16_385)).encode(), octets);
    let mut long = octets;
    long.splice(16..16, [0; 4]);
    long[2..4].copy_from_slice(&8198_u16.to_be_bytes());
    long[14..16].copy_from_slice(&16_385_u16.to_be_bytes());
    assert_eq!(Packet::decode(&long), None);
}
