//! The handshake of ECN, and the effect of accurate feedback on a sender (RFC 9768).

use super::*;
use crate::tcp::ecn::{AccEcnOption, EcnMode, Order, ace, ace_flags};

fn end(controller: &str, ecn: EcnMode, make: Make) -> Connection {
    let config = Config {
        segment_size: MSS as u32,
        ecn,
        ..Config::default()
    };
    let window = WindowConfig {
        max_datagram_size: MSS,
        initial_window: Some(10 * MSS),
        ..WindowConfig::default()
    };
    make(
        config,
        named(controller, &window).expect("a known controller"),
    )
}

type Make = fn(Config, Box<dyn WindowController + Send>) -> Connection;

fn send(from: &mut Connection, millis: u64) -> Packet {
    from.poll_transmit(at(millis)).expect("a segment")
}

fn body(packet: &Packet) -> &TcpPacket {
    let Body::Tcp(body) = &packet.body else {
        panic!("not TCP")
    };
    body
}

/// The flags AE, CWR and ECE of SYN, SYN-ACK and the acknowledgement, and both ends. The packets
/// arrive with these codepoints.
fn handshake(
    ends: [(&str, EcnMode); 2],
    codepoints: [Ecn; 2],
) -> ([u8; 3], Connection, Connection) {
    let mut client = end(ends[0].0, ends[0].1, Connection::client);
    let mut server = end(ends[1].0, ends[1].1, Connection::server);
    client.connect(at(0));
    let mut syn = send(&mut client, 0);
    syn.ip.ecn = codepoints[0];
    server.handle(at(50), &mut syn.clone());
    let mut syn_ack = send(&mut server, 50);
    syn_ack.ip.ecn = codepoints[1];
    client.handle(at(100), &mut syn_ack.clone());
    client
        .write(at(100), Payload::of_len(100_000))
        .expect("room");
    let ack = send(&mut client, 100);
    server.handle(at(150), &mut ack.clone());
    server
        .write(at(150), Payload::of_len(100_000))
        .expect("room");
    let flags = [&syn, &syn_ack, &ack].map(|packet| ace(body(packet).flags));
    (flags, client, server)
}

/// The codepoint of the next data.
fn codepoint(from: &mut Connection, millis: u64) -> Ecn {
    let packet = send(from, millis);
    assert!(body(&packet).payload_len > 0);
    packet.ip.ecn
}

#[test]
fn a_controller_without_an_answer_to_marks_claims_no_ecn() {
    // draft-bbr §3.7.
    for mode in [EcnMode::Classic, EcnMode::Accurate] {
        let (flags, mut client, _) = handshake([("bbr", mode); 2], [Ecn::NotEct; 2]);
        assert_eq!(flags, [0; 3]);
        assert_eq!(codepoint(&mut client, 100), Ecn::NotEct);
    }
}

#[test]
fn a_controller_that_counts_marks_negotiates_accurate_feedback() {
    // RFC 9768, tables 2 and 3, both packets without ECT: 111, 010, 010 on an acknowledgement
    // without data, which leaves before the data.
    for (controller, ecn) in [("prague", Ecn::Ect1), ("dctcp", Ecn::Ect0)] {
        let ends = [(controller, EcnMode::Off), (controller, EcnMode::Off)];
        let (flags, mut client, mut server) = handshake(ends, [Ecn::NotEct; 2]);
        assert_eq!(flags, [0b111, 0b010, 0b010]);
        assert_eq!(codepoint(&mut client, 100), ecn);
        assert_eq!(codepoint(&mut server, 150), ecn);
    }
    let ends = [("cubic", EcnMode::Accurate), ("cubic", EcnMode::Accurate)];
    let (_, mut client, _) = handshake(ends, [Ecn::NotEct; 2]);
    assert_eq!(codepoint(&mut client, 100), Ecn::Ect0);
}

#[test]
fn feedback_falls_back_to_what_both_ends_have() {
    // RFC 9768, table 2, blocks 2 and 3. Without accurate feedback Prague is ECT(0).
    let prague = ("prague", EcnMode::Off);
    let (classic, none) = (("cubic", EcnMode::Classic), ("cubic", EcnMode::Off));
    for (ends, flags, ecn) in [
        ([prague, classic], [0b111, 0b001], Ecn::Ect0),
        ([prague, none], [0b111, 0b000], Ecn::NotEct),
        ([classic, prague], [0b011, 0b001], Ecn::Ect0),
        ([none, prague], [0b000, 0b000], Ecn::NotEct),
    ] {
        let (seen, mut client, mut server) = handshake(ends, [Ecn::NotEct; 2]);
        assert_eq!(seen[..2], flags, "{ends:?}");
        assert_eq!(codepoint(&mut client, 100), ecn, "{ends:?}");
        assert_eq!(codepoint(&mut server, 150), ecn, "{ends:?}");
    }
}

#[test]
fn codepoints_that_change_in_the_handshake_end_the_use_of_ecn() {
    // RFC 9768 §3.2.2.3: Not-ECT must not change. The other direction is not affected.
    let ends = [("prague", EcnMode::Off), ("prague", EcnMode::Off)];
    let (flags, mut client, mut server) = handshake(ends, [Ecn::Ect0, Ecn::NotEct]);
    assert_eq!(flags, [0b111, 0b100, 0b010]);
    assert_eq!(codepoint(&mut client, 100), Ecn::NotEct);
    assert_eq!(codepoint(&mut server, 150), Ecn::Ect1);
    let (flags, mut client, mut server) = handshake(ends, [Ecn::NotEct, Ecn::Ce]);
    assert_eq!(flags, [0b111, 0b010, 0b110]);
    assert_eq!(codepoint(&mut client, 100), Ecn::Ect1);
    assert_eq!(codepoint(&mut server, 150), Ecn::NotEct);
}

#[test]
fn a_client_that_answers_with_zero_gets_no_ecn_capable_data() {
    // RFC 9768, table 4, note 1.
    let mut server = end("prague", EcnMode::Off, Connection::server);
    let mut client = end("prague", EcnMode::Off, Connection::client);
    client.connect(at(0));
    server.handle(at(50), &mut send(&mut client, 0));
    send(&mut server, 50);
    server.handle(at(100), &mut packet(segment(0, &[])));
    server.write(at(100), Payload::of_len(5000)).expect("room");
    assert_eq!(codepoint(&mut server, 100), Ecn::NotEct);
}

#[test]
fn marks_are_fed_back_at_once_and_with_their_octets() {
    let ends = [("prague", EcnMode::Off), ("prague", EcnMode::Off)];
    let (_, mut client, mut server) = handshake(ends, [Ecn::NotEct; 2]);
    server.unsent = 0;
    // r.cep begins at 5. The first segment is acknowledged with a second one, a mark at once.
    server.handle(at(200), &mut send(&mut client, 101));
    assert!(server.poll_transmit(at(200)).is_none());
    for (millis, expected, octets) in [(201, 6, MSS), (202, 0, 0), (203, 0, 3 * MSS)] {
        let mut marked = send(&mut client, 102);
        marked.ip.ecn = Ecn::Ce;
        server.handle(at(millis), &mut marked);
        let answer = server.poll_transmit(at(millis));
        let Some(answer) = answer else {
            // RFC 9768 §3.2.2.5.1: after the first mark, every second one is acknowledged at once.
            assert_eq!(expected, 0);
            continue;
        };
        assert_eq!(ace(body(&answer).flags), expected);
        let option = AccEcnOption::new(Order::Ect1First, [1 + MSS, octets, 0], 2);
        assert_eq!(body(&answer).accecn, Some(option));
        // 20 octets, and 8 of the option: no padding.
        assert_eq!(body(&answer).wire_len(), 28);
    }
}

#[test]
fn a_sender_takes_each_mark_once() {
    let ends = [("prague", EcnMode::Off), ("prague", EcnMode::Off)];
    let (_, mut client, _) = handshake(ends, [Ecn::NotEct; 2]);
    for _ in 0..10 {
        send(&mut client, 100);
    }
    assert!(
        client.poll_transmit(at(100)).is_none(),
        "the window is full"
    );
    let ack = |segments, field| TcpPacket {
        flags: flag::ACK | ace_flags(field),
        ..segment(segments, &[])
    };
    let window = |client: &Connection| client.controller.window() / MSS;
    client.handle(at(200), &mut packet(ack(2, 5)));
    assert_eq!(window(&client), 12, "slow start");
    // alpha is 1 before the first round with marks (RFC 8257 §4.2): the first mark halves.
    client.handle(at(201), &mut packet(ack(4, 6)));
    assert_eq!(window(&client), 6);
    assert_eq!(client.statistics().loss_events, 1);
    // The same acknowledgement again, and an older one.
    client.handle(at(202), &mut packet(ack(4, 6)));
    client.handle(at(202), &mut packet(ack(2, 5)));
    assert_eq!(client.statistics().loss_events, 1);
    // A mark of the same round does not reduce again (RFC 8257 §3.3).
    client.handle(at(203), &mut packet(ack(6, 7)));
    assert_eq!(window(&client), 6);
    assert_eq!(client.statistics().loss_events, 1);
}

const CLASSIC: [(&str, EcnMode); 2] = [("cubic", EcnMode::Classic); 2];

/// The next data that leaves because a timer has expired.
fn at_timeout(from: &mut Connection) -> Packet {
    for _ in 0..10 {
        let next = from.poll_timeout().expect("a timer");
        from.handle_timeout(next);
        if let Some(packet) = from.poll_transmit(next) {
            assert!(body(&packet).payload_len > 0);
            return packet;
        }
    }
    panic!("no timer has an effect");
}

#[test]
fn only_l4s_retransmits_with_ect() {
    // RFC 3168 §6.1.5; an L4S queue takes ECT(1) alone (RFC 9331 §4.1).
    for (controller, mode, first, again) in [
        ("cubic", EcnMode::Classic, Ecn::Ect0, Ecn::NotEct),
        ("cubic", EcnMode::Accurate, Ecn::Ect0, Ecn::NotEct),
        ("dctcp", EcnMode::Off, Ecn::Ect0, Ecn::NotEct),
        ("prague", EcnMode::Off, Ecn::Ect1, Ecn::Ect1),
    ] {
        let (_, mut client, _) = handshake([(controller, mode); 2], [Ecn::NotEct; 2]);
        assert_eq!(codepoint(&mut client, 100), first, "{controller}");
        client.unsent = 0;
        assert_eq!(at_timeout(&mut client).ip.ecn, again, "{controller}");
    }
}

#[test]
fn a_window_probe_is_not_ecn_capable() {
    // RFC 3168 §6.1.6.
    let mut client = end("cubic", EcnMode::Classic, Connection::client);
    client.connect(at(0));
    send(&mut client, 0);
    let closed = TcpPacket {
        seq: 0,
        flags: flag::SYN | flag::ACK | flag::ECE,
        syn: Some(SynOptions {
            mss: MSS as u16,
            window_scale: 0,
            sack_permitted: true,
        }),
        window: 0,
        ..segment(0, &[])
    };
    client.handle(at(100), &mut packet(closed));
    assert_eq!(client.write(at(100), Payload::of_len(5000)), Ok(()));
    while client.poll_transmit(at(100)).is_some() {}
    let probe = at_timeout(&mut client);
    assert_eq!(body(&probe).payload_len, 1);
    assert_eq!(probe.ip.ecn, Ecn::NotEct);
}

#[test]
fn the_first_new_data_after_a_reduction_has_cwr() {
    // RFC 3168 §6.1.2.
    let (_, mut client, _) = handshake(CLASSIC, [Ecn::NotEct; 2]);
    for _ in 0..2 {
        send(&mut client, 100);
    }
    let unsent = std::mem::take(&mut client.unsent);
    let echo = TcpPacket {
        flags: flag::ACK | flag::ECE,
        ..segment(1, &[])
    };
    client.handle(at(200), &mut packet(echo));
    let again = at_timeout(&mut client);
    assert!(!body(&again).has(flag::CWR), "a retransmission");
    client.unsent = unsent;
    client.handle(at(2000), &mut packet(segment(2, &[])));
    let flags = [2000, 2001].map(|millis| body(&send(&mut client, millis)).flags);
    assert_eq!(flags, [0x90, 0x10], "ACK 0x10, CWR 0x80");
}

#[test]
fn a_receiver_ignores_marks_outside_of_its_window() {
    // RFC 3168 §6.1.5.
    let (_, mut client, mut server) = handshake(CLASSIC, [Ecn::NotEct; 2]);
    server.unsent = 0;
    let first = send(&mut client, 100);
    let marked = |packet: &Packet| {
        let mut packet = packet.clone();
        packet.ip.ecn = Ecn::Ce;
        packet
    };
    server.handle(at(200), &mut first.clone());
    send(&mut server, 200);
    for (packet, echo) in [(&first, false), (&send(&mut client, 101), true)] {
        server.handle(at(201), &mut marked(packet));
        let answer = send(&mut server, 201);
        let expected = if echo { 0x50 } else { 0x10 };
        assert_eq!(body(&answer).flags, expected, "ACK 0x10, ECE 0x40");
    }
}

#[test]
fn a_mark_counts_from_the_first_to_behind_the_last_octet_of_the_window() {
    // RFC 3168 §6.1.5 and §6.1.6: a segment out of order, and a probe at the edge of the window.
    let (_, _, mut server) = handshake(CLASSIC, [Ecn::NotEct; 2]);
    server.unsent = 0;
    let marked = |offset: u64, octets| {
        let mut marked = packet(TcpPacket {
            seq: wrap(0, offset),
            payload_len: octets,
            ..segment(0, &[])
        });
        marked.ip.ecn = Ecn::Ce;
        marked
    };
    let next = server.receiver.next();
    server.handle(at(200), &mut marked(next + MSS, 1000));
    assert!(body(&send(&mut server, 200)).has(flag::ECE));
    let mut cwr = packet(TcpPacket {
        flags: flag::ACK | flag::CWR,
        seq: wrap(0, next),
        payload_len: 1000,
        ..segment(0, &[])
    });
    server.handle(at(201), &mut cwr);
    assert!(!body(&send(&mut server, 201)).has(flag::ECE));
    let edge = server.receiver.next() + server.receive_window.room(server.unread);
    server.handle(at(202), &mut marked(edge, 1));
    assert!(body(&send(&mut server, 202)).has(flag::ECE));
}

#[test]
fn a_client_that_goes_back_to_no_ecn_gets_none() {
    // RFC 9768 §3.1.5: a second SYN without the flags.
    for (again, expected) in [(0b111, Ecn::Ect1), (0, Ecn::NotEct)] {
        let mut client = end("prague", EcnMode::Off, Connection::client);
        let mut server = end("prague", EcnMode::Off, Connection::server);
        client.connect(at(0));
        let syn = send(&mut client, 0);
        server.handle(at(50), &mut syn.clone());
        send(&mut server, 50);
        let mut repeated = syn.clone();
        let Body::Tcp(fields) = &mut repeated.body else {
            panic!("not TCP")
        };
        fields.flags = flag::SYN | ace_flags(again);
        server.handle(at(60), &mut repeated);
        client.handle(at(110), &mut send(&mut server, 60));
        server.handle(at(160), &mut send(&mut client, 110));
        server.write(at(160), Payload::of_len(5000)).expect("room");
        assert_eq!(codepoint(&mut server, 160), expected, "{again}");
    }
}

#[test]
fn data_has_no_room_for_the_option() {
    // RFC 9768 §3.2.3.3: a full segment has no room for it; the acknowledgement without data has
    // it.
    let ends = [("prague", EcnMode::Off), ("prague", EcnMode::Off)];
    let (_, mut client, mut server) = handshake(ends, [Ecn::NotEct; 2]);
    for millis in [200, 201] {
        let mut marked = send(&mut client, 101);
        marked.ip.ecn = Ecn::Ce;
        server.handle(at(millis), &mut marked);
        let data = send(&mut server, millis);
        assert_eq!((body(&data).payload_len, body(&data).accecn), (1000, None));
    }
}

#[test]
fn the_octets_of_ect1_stand_where_the_order_says() {
    // RFC 9768 §3.2.3: order 0 has ECT(0), CE, ECT(1); order 1 the reverse.
    let option = |order| AccEcnOption::new(order, [1, 2, 3], 3);
    assert_eq!(option(Order::Ect0First).ect1_bytes(), Some(3));
    assert_eq!(option(Order::Ect1First).ect1_bytes(), Some(1));
}
