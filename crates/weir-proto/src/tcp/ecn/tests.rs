//! The tables and examples of RFC 9768, and invariants for any arrival of acknowledgements.

use super::*;
use crate::tcp::wire::{Packet, SackBlocks};
use proptest::prelude::*;

const MSS: u64 = 1460;
const OFFERS: [EcnMode; 3] = [EcnMode::Off, EcnMode::Classic, EcnMode::Accurate];

fn acked(packets: u64) -> NewlyAcked {
    NewlyAcked {
        packets,
        bytes: packets * MSS,
    }
}

#[test]
fn the_flags_of_the_handshake_negotiate_as_in_table_2() {
    use EcnMode::{Accurate, Classic, Off};
    // RFC 9768, table 2: offers of A and B, (AE, CWR, ECE) of SYN and SYN-ACK, mode; the SYN
    // arrives without ECT.
    for (a, b, syn, syn_ack, mode) in [
        (Accurate, Accurate, 0b111, 0b010, Accurate),
        (Accurate, Classic, 0b111, 0b001, Classic),
        (Accurate, Off, 0b111, 0b000, Off),
        (Classic, Accurate, 0b011, 0b001, Classic),
        (Off, Accurate, 0b000, 0b000, Off),
        (Classic, Classic, 0b011, 0b001, Classic),
        (Classic, Off, 0b011, 0b000, Off),
    ] {
        assert_eq!(ace(syn_flags(a)), syn, "{a:?} to {b:?}");
        let server = server_mode(b, syn_flags(a));
        let answer = syn_ack_flags(server, Ecn::NotEct);
        assert_eq!(ace(answer), syn_ack, "{a:?} to {b:?}");
        assert_eq!(
            (server, client_mode(a, answer)),
            (mode, mode),
            "{a:?} to {b:?}"
        );
    }
    // The first block: the codepoint of the SYN. The fourth: a server that reflects the flags.
    for (ecn, flags) in [(Ecn::Ect1, 0b011), (Ecn::Ect0, 0b100), (Ecn::Ce, 0b110)] {
        assert_eq!(ace(syn_ack_flags(Accurate, ecn)), flags);
        assert_eq!(client_mode(Accurate, ace_flags(flags)), Accurate);
        assert_eq!(handshake_codepoint(flags), ecn);
    }
    assert_eq!(client_mode(Accurate, ace_flags(0b111)), Off);
    // §3.1.3: reserved combinations count as AccECN, on the SYN and on the SYN-ACK.
    for flags in [0b001, 0b010, 0b100, 0b101, 0b110] {
        assert_eq!(server_mode(Accurate, ace_flags(flags)), Accurate);
    }
    assert_eq!(client_mode(Accurate, ace_flags(0b101)), Accurate);
    assert_eq!(handshake_codepoint(0b101), Ecn::NotEct);
}

#[test]
fn the_field_lies_in_octets_12_and_13() {
    // RFC 9768 §3.2.2, figure 3: ACE is bits 7, 8 and 9 of the 16 bits, so 0b101 is 0x0140.
    let packet = Packet {
        source_port: 1,
        destination_port: 2,
        seq: 3,
        ack: 4,
        flags: flag::ACK | ace_flags(0b101),
        window: 5,
        syn: None,
        sack: SackBlocks::default(),
        accecn: None,
        payload_len: 0,
    };
    assert_eq!(packet.encode()[12..14], [0x51, 0x50]);
    assert_eq!(ace(packet.flags), 0b101);
}

#[test]
fn a_server_takes_table_4_from_the_acknowledgement_of_its_syn_ack() {
    // RFC 9768, table 4: s.cep is 6 after CE and 5 otherwise; 0b000 disables it. The next ACE is 7.
    for (first, marked) in [(0b110, 1), (0b010, 2), (0b111, 2), (0b001, 2), (0b000, 0)] {
        let mut sender = DataSender::new();
        sender.on_handshake_ack(first);
        assert_eq!(sender.on_ack(7, None, acked(2)), marked, "{first:03b}");
    }
}

#[test]
fn a_marked_syn_ack_is_counted_once() {
    // RFC 9768 §3.2.2.2: from 5 to 6, but no further; table 3: FIRST_CE_PACKETS is 5.
    let mut receiver = DataReceiver::new();
    receiver.on_syn_ack(Ecn::Ect0);
    assert_eq!(receiver.on_ack_sent(), 5);
    receiver.on_syn_ack(Ecn::Ce);
    receiver.on_syn_ack(Ecn::Ce);
    assert_eq!(receiver.on_ack_sent(), 6);
}

#[test]
fn the_safest_count_is_that_of_the_examples_of_appendix_a_2_1() {
    // RFC 9768 appendix A.2.1: ACE grows by 2. Of 9 packets 9 - ((9-2) % 8) = 2 are marked, of 10
    // it may be 10.
    for (packets, marked) in [(9, 2), (10, 10), (17, 10), (18, 18), (2, 2)] {
        let mut sender = DataSender::new();
        assert_eq!(sender.on_ack(7, None, acked(packets)), marked, "{packets}");
    }
    // §3.2.2.5.2: more marks than packets are accepted.
    assert_eq!(DataSender::new().on_ack(7, None, acked(1)), 2);
}

#[test]
fn the_field_cycles_after_eight_marks() {
    // r.cep is 5 at first (RFC 9768 §3.2.1): 6, 7, 0, 1, 2, …, one mark with each packet.
    let mut sender = DataSender::new();
    for ace in [6, 7, 0, 1, 2, 3, 4, 5, 6] {
        assert_eq!(sender.on_ack(ace, None, acked(1)), 1, "{ace}");
        // The same ACE again is from an older acknowledgement: it acknowledges nothing.
        assert_eq!(sender.on_ack(ace, None, acked(0)), 0);
    }
    assert_eq!(sender.ce_packets(), 14);
}

#[test]
fn thinned_acknowledgements_are_no_cycles() {
    // Each acknowledgement is for 10 packets, none marked; A.2.1 alone would take each for 8 marks.
    // The average passes THINNED = 4 when 10 · (1 - (63/64)^n) does: after the 33rd.
    let mut sender = DataSender::new();
    for count in 1..=100 {
        let marked = sender.on_ack((5 + (count.min(33) * 8)) as u8 & 0b111, None, acked(10));
        assert_eq!(marked, if count <= 33 { 8 } else { 0 }, "{count}");
    }
    // With the option the count is certain.
    let mut sender = DataSender::new();
    let unmarked = AccEcnOption::new(Order::Ect1First, [14_601, 0, 1], 1);
    assert_eq!(sender.on_ack(5, Some(&unmarked), acked(10)), 0);
}

#[test]
fn the_option_tells_how_often_the_field_has_wrapped() {
    // 24 packets of 1460 octets, ACE one more: 1, 9 or 17 marks.
    for marked in [1, 9, 17] {
        let option = AccEcnOption::new(Order::Ect1First, [1, marked * MSS, 1], 2);
        let mut sender = DataSender::new();
        assert_eq!(sender.on_ack(6, Some(&option), acked(24)), marked);
    }
    // RFC 9768 appendix A.2.2, examples 2 and 3: with MSS 1460, 1460 octets are no 10 marks, and
    // 10,200 octets no 15.
    for (ace, octets, packets, marked) in [(7, 1460, 10, 2), (4, 10_200, 15, 7)] {
        let option = AccEcnOption::new(Order::Ect0First, [1, octets, 1], 2);
        assert_eq!(
            DataSender::new().on_ack(ace, Some(&option), acked(packets)),
            marked
        );
    }
    // Example 1: ACE as before, and 1460 octets are marked. Of 8 packets it must be 8.
    let option = AccEcnOption::new(Order::Ect0First, [1, 1460, 1], 2);
    assert_eq!(DataSender::new().on_ack(5, Some(&option), acked(8)), 8);
}

#[test]
fn octets_are_counted_beyond_24_bits() {
    // RFC 9768 appendix A.1: from s.ceb 33,554,433 = 2^25 + 1 to ECEB 1461 there are 1460 octets.
    // 33,554,433 octets are 22,982 packets of 1460 and one of 713; all of them are marked.
    let (mut sender, mut octets, mut packets) = (DataSender::new(), 0, 0);
    for count in [4596, 4596, 4596, 4596, 4598] {
        let bytes = count * MSS;
        (octets, packets) = (octets + bytes, packets + count);
        let option = AccEcnOption::new(Order::Ect0First, [1, octets, 1], 2);
        let newly = NewlyAcked {
            packets: count,
            bytes,
        };
        let ace = ((5 + packets) % 8) as u8;
        assert_eq!(sender.on_ack(ace, Some(&option), newly), count);
    }
    let mut next = |octets, newly, packets| {
        let option = AccEcnOption::new(Order::Ect0First, [1, octets, 1], 2);
        sender.on_ack(((5 + packets) % 8) as u8, Some(&option), newly)
    };
    let short = NewlyAcked {
        packets: 1,
        bytes: 713,
    };
    assert_eq!(next(33_554_433, short, 22_983), 1);
    // One of twenty packets is marked.
    assert_eq!(next(33_554_433 + 1460, acked(20), 22_984), 1);
}

#[test]
fn options_have_the_fields_and_lengths_of_table_5() {
    // RFC 9768, figure 4 and table 5: EE0B 0x010203, ECEB 0x040506, EE1B 0x070809.
    let counts = [0x0001_0203, 0x0004_0506, 0xff07_0809];
    let octets = [1, 2, 3, 4, 5, 6, 7, 8, 9];
    for (order, kind) in [(Order::Ect0First, 172), (Order::Ect1First, 174)] {
        for (count, padding) in [(0, 2), (1, 3), (2, 0), (3, 1)] {
            let option = AccEcnOption::new(order, counts, count);
            let mut expected = vec![kind, 2 + 3 * count as u8];
            expected.extend(&octets[..3 * count]);
            expected.extend(vec![1; padding]);
            let mut encoded = Vec::new();
            option.encode(&mut encoded);
            assert_eq!(encoded, expected);
            let content = &octets[..3 * count];
            assert_eq!(AccEcnOption::decode(kind, content), Some(option));
        }
    }
    // Another length: the whole fields.
    let odd = AccEcnOption::decode(172, &octets[..5]).unwrap();
    assert_eq!((odd.ect0_bytes(), odd.ce_bytes()), (Some(0x01_0203), None));
    let long = AccEcnOption::decode(174, &[7; 20]).unwrap();
    assert_eq!(long.ect0_bytes(), Some(0x07_0707));
    assert_eq!(AccEcnOption::decode(173, &octets), None);
}

#[test]
fn an_option_has_each_count_that_has_ever_changed() {
    // RFC 9768 §3.2.3.3, with its examples; the counts begin at 1, 0 and 1 (§3.2.1:
    // FIRST_ECT_BYTES, FIRST_CE_BYTES).
    let mut receiver = DataReceiver::new();
    assert_eq!(receiver.take_option(), None);
    receiver.on_packet(Ecn::NotEct, 100, true);
    receiver.on_packet(Ecn::Ce, 0, true);
    assert_eq!(
        receiver.take_option(),
        None,
        "no count of octets has changed"
    );
    for (ecn, order, fields, count) in [
        (Ecn::Ect0, Order::Ect0First, [101, 0, 0], 1),
        (Ecn::Ce, Order::Ect0First, [101, 100, 0], 2),
        (Ecn::Ect0, Order::Ect0First, [201, 100, 0], 2),
        (Ecn::Ect1, Order::Ect1First, [101, 100, 201], 3),
    ] {
        receiver.on_packet(ecn, 100, true);
        let option = AccEcnOption::new(order, fields, count);
        assert_eq!(receiver.take_option(), Some(option), "{ecn:?}");
        assert_eq!(receiver.take_option(), None);
    }
    let mut l4s = DataReceiver::new();
    l4s.on_packet(Ecn::Ect1, 100, true);
    l4s.on_packet(Ecn::Ce, 100, true);
    let option = AccEcnOption::new(Order::Ect1First, [101, 100, 0], 2);
    assert_eq!(l4s.take_option(), Some(option));
    let handshake = AccEcnOption::new(Order::Ect0First, [1, 0, 1], 3);
    assert_eq!(DataReceiver::new().handshake_option(), handshake);
}

#[test]
fn a_first_mark_and_every_second_call_for_an_acknowledgement() {
    // RFC 9768 §3.2.2.5.1: at the change to CE, then MARKS_WITH_DATA = 2, and without data that
    // waits MARKS_WITHOUT_DATA = 3.
    let mut receiver = DataReceiver::new();
    let mut calls = |ecn| {
        let calls = receiver.on_packet(ecn, 100, true);
        if calls {
            receiver.on_ack_sent();
        }
        calls
    };
    assert!(!calls(Ecn::Ect1));
    assert_eq!(
        [(); 5].map(|()| calls(Ecn::Ce)),
        [true, false, true, false, true]
    );
    assert!(!calls(Ecn::Ect1) && calls(Ecn::Ce));
    let mut bare = DataReceiver::new();
    assert_eq!(
        [(); 3].map(|()| bare.on_packet(Ecn::Ce, 0, false)),
        [false, false, true]
    );
}

#[test]
fn a_switch_or_a_word_names_the_feedback() {
    for mode in OFFERS {
        let raw = mode.write();
        assert_eq!(raw == Raw::Boolean(true), mode == EcnMode::Classic);
        assert_eq!(raw.as_text().is_some(), mode == EcnMode::Accurate);
    }
}

/// An acknowledgement of all packets up to one.
#[derive(Clone, Copy, Debug)]
struct Ack {
    packets: u64,
    ace: u8,
    option: Option<AccEcnOption>,
    /// r.cep when it left.
    ce_packets: u64,
}

/// The acknowledgements of a receiver of these marks, one for each `every` packets and where marks
/// call for one; `with_options` is true if options arrive.
fn acks(marks: &[bool], every: u64, with_options: bool) -> Vec<Ack> {
    let mut receiver = DataReceiver::new();
    let mut acks = Vec::new();
    let mut waiting = 0;
    for (packets, &marked) in (1..).zip(marks) {
        let ecn = if marked { Ecn::Ce } else { Ecn::Ect1 };
        waiting += 1;
        if receiver.on_packet(ecn, MSS, true) || waiting >= every {
            waiting = 0;
            let (ace, option) = (receiver.on_ack_sent(), receiver.take_option());
            acks.push(Ack {
                packets,
                ace,
                option: option.filter(|_| with_options),
                ce_packets: receiver.ce_packets(),
            });
        }
    }
    acks
}

proptest! {
    /// However acknowledgements are lost, reordered and repeated, each that is not older than
    /// another brings the sender's count to that of the receiver when it left.
    #[test]
    fn with_the_option_the_count_is_exact(
        marks in proptest::collection::vec(any::<bool>(), 1..400),
        every in 1_u64..20,
        fates in proptest::collection::vec((0.0..1.0_f64, 0_usize..30, any::<bool>()), 400),
        loss in 0.0..1.0_f64,
    ) {
        let mut arrivals = Vec::new();
        let acks = acks(&marks, every, true);
        for (at, (ack, &(fate, delay, twice))) in acks.iter().zip(&fates).enumerate() {
            if fate >= loss {
                arrivals.push((at + delay, *ack));
                if twice {
                    arrivals.push((at + 2 * delay, *ack));
                }
            }
        }
        arrivals.sort_by_key(|&(at, _)| at);
        let (mut sender, mut known, mut total) = (DataSender::new(), 0, 0);
        for (_, ack) in arrivals {
            let newly = acked(ack.packets.saturating_sub(known));
            let marked = sender.on_ack(ack.ace, ack.option.as_ref(), newly);
            total += marked;
            if ack.packets <= known {
                prop_assert_eq!(marked, 0, "an older acknowledgement");
                continue;
            }
            known = ack.packets;
            prop_assert_eq!(sender.ce_packets(), ack.ce_packets);
            prop_assert_eq!(total + 5, ack.ce_packets);
        }
    }

    /// Without the option a count is exact as long as an acknowledgement is for fewer packets than
    /// the field has values. Otherwise it exceeds the true count by whole cycles, and is at most
    /// the number of packets (RFC 9768 §3.2.2.5.2). Few enough arrive here that none counts as
    /// thinned: eight of at most 32 packets.
    #[test]
    fn without_the_option_the_count_errs_to_the_safe_side(
        marks in proptest::collection::vec(any::<bool>(), 256),
        jumps in proptest::collection::vec(1_u64..=32, 1..=8),
    ) {
        let acks = acks(&marks, 1, false);
        let (mut sender, mut known, mut ce_packets) = (DataSender::new(), 0, 5);
        for jump in jumps {
            let next = acks.iter().find(|ack| ack.packets == known + jump);
            let Some(ack) = next else { continue };
            let truth = ack.ce_packets - ce_packets;
            let marked = sender.on_ack(ack.ace, None, acked(jump));
            prop_assert!(marked >= truth && marked <= jump);
            prop_assert_eq!(marked % 8, truth % 8);
            if jump < 8 {
                prop_assert_eq!(marked, truth);
            }
            (known, ce_packets) = (ack.packets, ack.ce_packets);
        }
    }

    #[test]
    fn no_feedback_makes_the_sender_panic(
        steps in proptest::collection::vec(
            (
                any::<u8>(),
                proptest::option::of((any::<u8>(), any::<[u8; 9]>(), 0_usize..10)),
                0_u64..100,
                any::<u32>(),
            ),
            0..50,
        ),
    ) {
        let mut sender = DataSender::new();
        for (ace, option, packets, bytes) in steps {
            let option = option.and_then(|(kind, octets, len)| {
                AccEcnOption::decode(172 + (kind & 2), &octets[..len])
            });
            let newly = NewlyAcked { packets, bytes: u64::from(bytes) };
            let marked = sender.on_ack(ace & 0b111, option.as_ref(), newly);
            prop_assert!(marked <= packets.max(7));
        }
    }
}
