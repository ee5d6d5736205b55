//! Segments octet by octet, as RFCs 9293, 7323 and 2018 draw them.

use super::*;

/// A header with these flags and options, of which the length is a whole number of words.
fn segment(flags: u8, options: &[u8]) -> Vec<u8> {
    let words = 5 + options.len() / 4;
    let mut octets = vec![
        0,
        1,
        0,
        2,
        0,
        0,
        0,
        3,
        0,
        0,
        0,
        4,
        (words as u8) << 4,
        flags,
    ];
    octets.extend([0, 5, 0, 0, 0, 0]);
    octets.extend(options);
    octets
}

fn decode(octets: &[u8]) -> Packet {
    Packet::decode(octets).expect("a segment")
}

#[test]
fn each_flag_has_its_bit() {
    // RFC 9293 §3.1: CWR, ECE, URG, ACK, PSH, RST, SYN, FIN from the highest bit on.
    for (octet, flag) in [
        (0x80, flag::CWR),
        (0x40, flag::ECE),
        (0x10, flag::ACK),
        (0x04, flag::RST),
        (0x02, flag::SYN),
        (0x01, flag::FIN),
    ] {
        let packet = decode(&segment(octet, &[]));
        assert_eq!(packet.flags, flag);
        assert_eq!(packet.encode()[13], octet);
        assert!(packet.has(flag));
    }
}

#[test]
fn a_syn_without_options_has_their_defaults() {
    // RFC 9293 §3.7.1: 536 octets; RFC 7323 §2.2: no scaling without the option.
    let defaults = SynOptions {
        mss: 536,
        window_scale: 0,
        sack_permitted: false,
    };
    let with = |change: fn(&mut SynOptions)| {
        let mut options = defaults;
        change(&mut options);
        options
    };
    for (options, expected) in [
        (vec![], defaults),
        (vec![2, 4, 5, 0xb4], with(|o| o.mss = 1460)),
        (vec![4, 2, 1, 1], with(|o| o.sack_permitted = true)),
        (vec![1, 3, 3, 14], with(|o| o.window_scale = 14)),
        // RFC 7323 §2.3: a greater shift counts as 14.
        (vec![1, 3, 3, 15], with(|o| o.window_scale = 14)),
        // RFC 9293 §3.2: nothing follows the end of the list.
        (vec![0, 3, 3, 7, 4, 2, 1, 1], defaults),
        (vec![0, 2, 4, 2], defaults),
        // A length beyond the header is impossible.
        (vec![2, 9, 5, 0xb4], defaults),
    ] {
        let packet = decode(&segment(0x02, &options));
        assert_eq!(packet.syn, Some(expected), "{options:?}");
    }
    // Only a SYN has them.
    assert_eq!(decode(&segment(0x10, &[2, 4, 5, 0xb4])).syn, None);
}

#[test]
fn options_are_filled_up_with_nops() {
    // RFC 9293 §3.2: kind 1. A SYN that does not permit SACK has two in its place.
    let mut packet = decode(&segment(0x02, &[]));
    packet.syn = Some(SynOptions {
        mss: 1460,
        window_scale: 7,
        sack_permitted: false,
    });
    let options = [2, 4, 5, 0xb4, 1, 1, 1, 3, 3, 7, 1, 1];
    assert_eq!(packet.encode(), segment(0x02, &options));
    // RFC 2018 §3: kind 5, 8 octets for each block; what follows is the payload.
    let mut packet = decode(&segment(0x10, &[]));
    assert!(packet.sack.push((10, 20)) && packet.sack.push((30, 40)));
    packet.payload_len = 3;
    let mut options = vec![1, 1, 5, 18];
    for number in [10_u32, 20, 30, 40] {
        options.extend(number.to_be_bytes());
    }
    let mut octets = segment(0x10, &options);
    octets.extend([0; 3]);
    assert_eq!(packet.encode(), octets);
    assert_eq!(decode(&octets), packet);
}

#[test]
fn a_header_that_is_full_keeps_its_blocks() {
    // RFC 9293 §3.1: 15 words. Three blocks are 28 octets, AccECN with three fields 12.
    let mut options = vec![1, 1, 5, 26];
    options.extend(1..=24);
    options.extend([172, 11, 0, 0, 1, 0, 0, 2, 0, 0, 3, 1]);
    let packet = decode(&segment(0x10, &options));
    assert_eq!(packet.sack.as_slice().len(), 3);
    assert_eq!(packet.header_len(), 60);
    assert_eq!(packet.encode(), segment(0x10, &options));
    // A data offset of less than five words, or beyond the octets, is no segment.
    for words in [4, 6] {
        let mut octets = segment(0x10, &[]);
        octets[12] = words << 4;
        assert_eq!(Packet::decode(&octets), None, "{words}");
    }
}
