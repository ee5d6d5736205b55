//! The octets of each option, and invalid options (RFC 4340 §5.8).

use super::{encoded, seq};
use crate::dccp::wire::{
    DccpOption, LossInterval, OptionBuffers, OptionIter, Options, Packet, PacketType, RawOption,
    decode,
};

fn other(kind: u8, data: &[u8]) -> DccpOption<'_> {
    DccpOption::Other { kind, data }
}

#[track_caller]
fn assert_layouts(table: &[(DccpOption<'_>, &[u8])]) {
    for (option, bytes) in table {
        let mut options = Options::new();
        assert!(options.push(option), "{option:?}");
        assert_eq!(options.as_bytes(), *bytes, "{option:?}");
        assert_eq!(options.iter().collect::<Vec<_>>(), [*option]);
        assert_eq!(option.kind(), bytes[0]);
    }
}

/// RFC 4340 table 3.
#[test]
fn general_options_have_the_layouts_of_the_rfc() {
    let timestamp = 0x0102_0304;
    let echo = |elapsed| DccpOption::TimestampEcho { timestamp, elapsed };
    let vector = |nonce, cells| DccpOption::AckVector { nonce, cells };
    assert_layouts(&[
        (DccpOption::Padding, &[0]),
        (DccpOption::Mandatory, &[1]),
        (DccpOption::SlowReceiver, &[2]),
        (other(31, &[]), &[31]),
        (DccpOption::InitCookie(&[7, 8]), &[36, 4, 7, 8]),
        (DccpOption::NdpCount(0), &[37, 3, 0]),
        (DccpOption::NdpCount(256), &[37, 4, 1, 0]),
        (
            DccpOption::NdpCount((1 << 48) - 1),
            &[37, 8, 255, 255, 255, 255, 255, 255],
        ),
        (vector(false, &[0x40]), &[38, 3, 0x40]),
        (vector(true, &[]), &[39, 2]),
        (DccpOption::DataDropped(&[0x85]), &[40, 3, 0x85]),
        (DccpOption::Timestamp(timestamp), &[41, 6, 1, 2, 3, 4]),
        (echo(None), &[42, 6, 1, 2, 3, 4]),
        (echo(Some(0xffff)), &[42, 8, 1, 2, 3, 4, 255, 255]),
        (echo(Some(0x1_0000)), &[42, 10, 1, 2, 3, 4, 0, 1, 0, 0]),
        (DccpOption::ElapsedTime(0xffff), &[43, 4, 255, 255]),
        (DccpOption::ElapsedTime(0x1_0000), &[43, 6, 0, 1, 0, 0]),
        (DccpOption::DataChecksum(0x0102_0304), &[44, 6, 1, 2, 3, 4]),
        (other(45, &[9]), &[45, 3, 9]),
    ]);
}

/// RFC 4340 §6.1 and §6.2.
#[test]
fn feature_options_have_the_feature_before_its_values() {
    let (change, confirm): (&[u8], &[u8]) = (&[3, 2], &[2, 3, 2]);
    assert_layouts(&[
        (
            DccpOption::ChangeL {
                feature: 1,
                values: change,
            },
            &[32, 5, 1, 3, 2],
        ),
        (
            DccpOption::ConfirmL {
                feature: 9,
                values: &[],
            },
            &[33, 3, 9],
        ),
        (
            DccpOption::ChangeR {
                feature: 6,
                values: change,
            },
            &[34, 5, 6, 3, 2],
        ),
        (
            DccpOption::ConfirmR {
                feature: 6,
                values: confirm,
            },
            &[35, 6, 6, 2, 3, 2],
        ),
    ]);
}

/// RFC 4342 §8.3, §8.5, §8.6 and RFC 6323 §3.2.1.
#[test]
fn options_of_ccid_3_have_the_layouts_of_its_rfcs() {
    let interval = LossInterval {
        lossless_length: 1,
        nonce: true,
        loss_length: 2,
        data_length: 3,
    };
    let intervals = &interval.to_bytes();
    assert_layouts(&[
        (DccpOption::RttEstimate(0), &[128, 3, 0]),
        (DccpOption::RttEstimate(0x100), &[128, 4, 1, 0]),
        (DccpOption::RttEstimate(0xff_ffff), &[128, 5, 255, 255, 255]),
        (
            DccpOption::LossEventRate(u32::MAX),
            &[192, 6, 255, 255, 255, 255],
        ),
        (
            DccpOption::LossIntervals { skip: 3, intervals },
            &[193, 12, 3, 0, 0, 1, 0x80, 0, 2, 0, 0, 3],
        ),
        (DccpOption::ReceiveRate(0x0102_0304), &[194, 6, 1, 2, 3, 4]),
    ]);
}

#[test]
fn an_rtt_too_long_for_its_option_becomes_the_greatest_value() {
    let mut options = Options::new();
    options.push(&DccpOption::RttEstimate(0x100_0000));
    assert_eq!(options.as_bytes(), [128, 5, 255, 255, 255]);
}

#[test]
fn padding_fills_the_last_word_only() {
    let mut packet = Packet::new_ack(seq(1), seq(2));
    packet.options.push(&DccpOption::NdpCount(5));
    let bytes = encoded(&packet);
    assert_eq!(bytes[4], 7);
    assert_eq!(bytes[24..], [37, 3, 5, 0]);
    assert_eq!(decode(&bytes).unwrap().packet, packet);
}

/// Linux pads before the options, other hosts with whole words: the same area is written again.
#[test]
fn unusual_padding_is_reproduced() {
    for area in [
        [0, 37, 3, 5, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],
        [41, 6, 0, 0, 0, 0, 0, 2],
        [2, 41, 6, 0, 0, 0, 0, 0],
        [41, 6, 1, 2, 0, 0, 32, 0],
        [32, 0, 0, 0, 0, 0, 0, 0],
        [2, 2, 2, 2, 2, 2, 2, 32],
    ] {
        let mut bytes = encoded(&Packet::new_ack(seq(1), seq(2)));
        bytes[4] = 8;
        bytes.extend_from_slice(&area);
        let decoded = decode(&bytes).expect("well-formed");
        let mut again = Vec::new();
        decoded.encode(&mut again).expect("unchanged");
        assert_eq!(again, bytes, "{area:?}");
    }
}

/// B1: reading ends at the option with an invalid length; the options before it are read.
#[test]
fn options_end_at_the_first_invalid_length() {
    for tail in [
        &[32][..],
        &[32, 0],
        &[32, 1],
        &[32, 5, 1, 2],
        &[255],
        &[200, 255, 0],
    ] {
        let mut area = vec![2, 37, 3, 9];
        area.extend_from_slice(tail);
        area.push(2);
        let mut options = OptionIter::new(&area[..4 + tail.len()]);
        assert_eq!(options.next(), Some(DccpOption::SlowReceiver));
        assert_eq!(options.next(), Some(DccpOption::NdpCount(9)));
        assert_eq!((options.next(), options.next()), (None, None), "{tail:?}");
        assert_eq!(options.rest(), tail);
    }
}

/// B2: CVE-2011-1770, where the length does not include the fixed part.
#[test]
fn options_of_length_two_are_harmless() {
    for kind in 32..=u8::MAX {
        let area = [kind, 2, 2];
        let options: Vec<_> = OptionIter::new(&area).collect();
        assert_eq!(options.len(), 2);
        assert_eq!(options[1], DccpOption::SlowReceiver);
        let has_empty_form = matches!(kind, 36 | 38..=40);
        let is_other = options[0] == DccpOption::Other { kind, data: &[] };
        assert_eq!(is_other, !has_empty_form, "type {kind}");
    }
}

/// B6: options with invalid values are ignored, so they are read as unknown (RFC 4340 §5.8).
#[test]
fn an_option_with_data_of_the_wrong_length_is_unknown() {
    for (kind, lengths) in [
        (37, &[0, 7, 8][..]),
        (41, &[0, 3, 5]),
        (42, &[0, 3, 5, 7, 9]),
        (43, &[0, 1, 3, 5]),
        (44, &[0, 2, 3, 5]),
        (128, &[0, 4]),
        (192, &[0, 3, 5]),
        (193, &[0, 1, 9, 11, 18]),
        (194, &[0, 3, 5]),
    ] {
        for &length in lengths {
            let data = &[0xff; 20][..length];
            let option = DccpOption::from_raw(RawOption { kind, data });
            assert_eq!(
                option,
                DccpOption::Other { kind, data },
                "type {kind}, {length} octets"
            );
        }
    }
}

#[test]
fn options_without_wire_form_are_rejected_entirely() {
    let mut options = Options::new();
    assert!(!options.push(&DccpOption::InitCookie(&[0; 254])));
    assert!(!options.push(&DccpOption::Other {
        kind: 3,
        data: &[1]
    }));
    assert!(options.is_empty());
    // Three options of 255 octets and one of 227 fill the 992 octets after the longest header.
    for length in [253, 253, 253, 225] {
        assert!(options.push(&DccpOption::InitCookie(&[1; 253][..length])));
    }
    assert_eq!(options.len(), 992);
    assert!(!options.push(&DccpOption::SlowReceiver));
    let mut packet = Packet::reset(seq(1), seq(2), 0, [0; 3]);
    packet.options = options;
    assert_eq!(encoded(&packet).len(), 1020);
}

/// RFC 4340 table 3 and the sections that it names.
#[test]
fn packet_types_determine_which_options_apply() {
    let on =
        |kind: u8, packet: PacketType| DccpOption::Other { kind, data: &[] }.is_allowed_on(packet);
    for kind in [1, 32, 33, 34, 35, 36, 38, 39, 40, 43, 192, 193, 194] {
        assert!(!on(kind, PacketType::Data), "type {kind}");
        assert!(on(kind, PacketType::DataAck), "type {kind}");
    }
    for kind in [0, 2, 37, 41, 42, 44, 128] {
        assert!(on(kind, PacketType::Data), "type {kind}");
    }
    for kind in [36, 38, 39, 40, 43, 193] {
        assert!(!on(kind, PacketType::Request), "type {kind}");
    }
    assert!(on(32, PacketType::Request));
    assert!(!on(41, PacketType::Listen));
}

#[test]
fn the_buffer_of_long_options_is_used_again_once_the_packet_is_gone() {
    let mut buffers = OptionBuffers::default();
    let long = [7; 100];
    let mut options = buffers.options();
    options.push(&DccpOption::InitCookie(&long));
    let place = options.as_bytes().as_ptr();
    buffers.keep(&options);
    let meanwhile = buffers.options();
    assert!(meanwhile.is_empty());
    assert_eq!(options.len(), 102, "the packet keeps what it has");
    drop(options);
    let mut again = buffers.options();
    assert!(again.is_empty());
    again.push(&DccpOption::SlowReceiver);
    assert_eq!(again.as_bytes(), [2]);
    assert_eq!(again.as_bytes().as_ptr(), place);
    let mut short = Options::new();
    short.push(&DccpOption::SlowReceiver);
    assert_eq!(again, short, "where they lie makes no difference");
}

#[test]
fn options_are_equal_if_their_octets_are() {
    let of = |option: Option<DccpOption<'_>>| {
        let mut options = Options::new();
        if let Some(option) = option {
            options.push(&option);
        }
        options
    };
    let (none, slow) = (of(None), of(Some(DccpOption::SlowReceiver)));
    assert!(none.is_empty() && !slow.is_empty());
    assert_eq!(slow, of(Some(DccpOption::SlowReceiver)));
    assert_ne!(slow, none);
    assert_ne!(slow, of(Some(DccpOption::Mandatory)));
}

#[test]
fn counts_of_dropped_packets_have_three_octets_each() {
    // RFC 5622 §8.7.
    for (data, valid) in [
        (&[0, 0, 1][..], true),
        (&[0, 0, 1, 0][..], false),
        (&[0, 0, 1, 0, 0, 2][..], true),
    ] {
        let mut octets = vec![195, data.len() as u8 + 2];
        octets.extend(data);
        let option = OptionIter::new(&octets).next();
        let expected = if valid {
            DccpOption::DroppedPackets(data)
        } else {
            other(195, data)
        };
        assert_eq!(option, Some(expected));
    }
}
