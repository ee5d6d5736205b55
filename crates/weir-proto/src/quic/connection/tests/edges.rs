//! The calls of applications at their bounds, and the frames of a peer that end a connection.

use super::*;
use crate::cc::WindowController;
use crate::cc::recorder::Recorder;
use crate::endpoint::CountedFrom;
use crate::quic::wire::AckRest;

fn established() -> (Connection, Connection) {
    let config = || lossy_link("inet-2025", 1);
    (Connection::client(config()), Connection::server(config()))
}

#[test]
fn a_send_queue_takes_what_leaves_it_below_its_limit() {
    let mut config = lossy_link("inet-2025", 1);
    config.send_queue_limit = 20_000;
    let mut client = Connection::client(config);
    let write =
        |client: &mut Connection, octets| client.write(Instant::ZERO, Payload::of_len(octets));
    assert_eq!(write(&mut client, 1), Err(WriteError::Closed), "not open");
    client.connect(Instant::ZERO);
    // A write is accepted entirely while less than the limit waits.
    assert_eq!(write(&mut client, 19_999), Ok(()));
    assert_eq!(write(&mut client, 1), Ok(()));
    assert_eq!(write(&mut client, 1), Err(WriteError::Blocked));
    client.close(Instant::ZERO);
    assert_eq!(write(&mut client, 1), Err(WriteError::Closed));

    let mut waiting = Connection::client(Config::named("rfc9002").unwrap());
    waiting.connect(Instant::ZERO);
    assert_eq!(
        write(&mut waiting, 1),
        Err(WriteError::Blocked),
        "not yet open"
    );
}

#[test]
fn the_send_queue_is_writable_again_at_its_low_water() {
    // 0.8 · 20,000 octets may still wait; a packet carries 1252 - 13 - 3 octets and, beyond offset
    // 0, two octets less.
    let mut config = lossy_link("inet-2025", 1);
    config.send_queue_limit = 20_000;
    let mut client = Connection::client(config);
    client.connect(Instant::ZERO);
    client.poll_event();
    client
        .write(Instant::ZERO, Payload::of_len(20_000))
        .unwrap();
    let blocked = client.write(Instant::ZERO, Payload::of_len(1));
    assert_eq!(blocked, Err(WriteError::Blocked));
    let mut sent = 0;
    while !client.has_event() {
        assert!(client.streams.unsent() > 16_000);
        client.poll_transmit(Instant::ZERO).expect("a packet");
        sent += 1;
    }
    assert_eq!(client.poll_event(), Some(EndpointEvent::Writable));
    assert!(!client.has_event());
    assert_eq!(sent, 4);
    assert!(client.streams.unsent() <= 16_000);
}

#[test]
fn only_an_idle_client_connects() {
    for (mut end, states) in [
        (established().0, [State::Idle, State::Established]),
        (established().1, [State::Established, State::Established]),
        (
            Connection::client(Config::named("rfc9002").unwrap()),
            [State::Idle, State::Handshaking],
        ),
        (
            Connection::server(Config::named("rfc9002").unwrap()),
            [State::Idle, State::Idle],
        ),
    ] {
        assert_eq!(end.state, states[0]);
        end.connect(Instant::ZERO);
        assert_eq!(end.state, states[1]);
        let crypto_due = end.crypto_due;
        end.crypto_due = false;
        end.connect(Instant::ZERO);
        assert_eq!((end.state, end.crypto_due), (states[1], false));
        assert_eq!(crypto_due, states[1] == State::Handshaking);
        assert!(end.events().is_some());
    }
}

#[test]
fn the_code_of_a_close_determines_the_reason() {
    // RFC 9000 §20.1: NO_ERROR is 0; §19.19: a frame of type 0x1c has the type of the frame that
    // was wrong, 0 if that is unknown.
    for (code, frame_type, reason) in [
        (0, None, CloseReason::Finished),
        (0, Some(0), CloseReason::Finished),
        (0, Some(6), CloseReason::Reset(0)),
        (7, None, CloseReason::Reset(7)),
        (7, Some(0), CloseReason::Reset(7)),
    ] {
        let mut client = established().0;
        client.connect(Instant::ZERO);
        client.poll_event();
        let close = Frame::ConnectionClose {
            code,
            frame_type,
            reason_len: 0,
        };
        assert_eq!(deliver(&mut client, data(0, close.clone())), None);
        assert_eq!(client.poll_event(), Some(EndpointEvent::Closed(reason)));
        assert_eq!(
            (client.state, client.poll_timeout()),
            (State::Draining, None)
        );

        // A closing connection does not answer the peer's close (RFC 9000 §10.2.1).
        let mut closing = established().0;
        closing.connect(Instant::ZERO);
        closing.close(Instant::ZERO);
        assert!(
            closing.poll_transmit(Instant::ZERO).is_some(),
            "its own close"
        );
        assert_eq!(deliver(&mut closing, data(0, close)), None);
        let answer = deliver(&mut closing, data(1, Frame::Ping));
        assert!(
            answer.is_some_and(|answer| matches!(answer.frames[0], Frame::ConnectionClose { .. }))
        );
    }
}

#[test]
fn handshake_done_is_for_clients() {
    // RFC 9000 §19.20: a server that receives it treats it as PROTOCOL_VIOLATION.
    let (mut client, mut server) = established();
    client.connect(Instant::ZERO);
    deliver(&mut client, data(0, Frame::HandshakeDone));
    assert_eq!(client.state, State::Established);
    deliver(&mut server, data(0, Frame::HandshakeDone));
    assert!(matches!(server.state, State::Closing(_)));
}

#[test]
fn the_acknowledgement_of_an_initial_packet_validates_the_address() {
    // RFC 9000 §8.1: three times the octets received, 3600 of 1200, until the address of the client
    // is validated.
    let mut server = Connection::server(Config::named("rfc9002").unwrap());
    let initial = |number, frame| wire::Packet {
        space: SpaceId::Initial,
        ..data(number, frame)
    };
    let mut arrive = |number, frame: Frame, size| {
        server.receive(Instant::ZERO, &initial(number, frame), size, Ecn::NotEct);
        server.amplification.map(AmplificationBudget::left)
    };
    let crypto = Frame::Crypto {
        offset: 0,
        len: 300,
    };
    assert_eq!(arrive(0, crypto, 1200), Some(3600));
    assert_eq!(arrive(1, Frame::Ping, 100), Some(3900));
    server
        .poll_transmit(Instant::ZERO)
        .expect("its Initial packet");
    let mut arrive = |number, frame: Frame, size| {
        server.receive(Instant::ZERO, &initial(number, frame), size, Ecn::NotEct);
        server.amplification.map(AmplificationBudget::left)
    };
    assert_eq!(arrive(2, Frame::Ping, 100), Some(3000));
    assert_eq!(arrive(3, ack(0, 0), 100), None);
}

#[test]
fn an_idle_timeout_leaves_room_for_three_probe_timeouts() {
    // RFC 9000 §10.1: at least three PTO, of 2 + 4 · 1 + 25 ms over a path of 2 ms after the first
    // sample; from the last packet received.
    for (timeout, ends) in [(millis(1), 3 * 31), (millis(93), 93), (millis(94), 94)] {
        let mut config = lossy_link("inet-2025", 1);
        config.idle_timeout = Some(timeout);
        let mut pair = Pair::started(config);
        pair.client.write(pair.now, Payload::of_len(1000)).unwrap();
        pair.run_for(millis(3));
        let from = Instant::ZERO + millis(2);
        assert_eq!(pair.client.idle_since, from);
        assert_eq!(pair.client.poll_timeout(), Some(from + millis(ends)));
        pair.client
            .handle_timeout(from + millis(ends) - Duration::from_nanos(1));
        assert_eq!(pair.client.state, State::Established);
        pair.client.handle_timeout(from + millis(ends));
        assert_eq!(pair.client.state, State::Closed);
    }
}

#[test]
fn the_application_is_notified_once_of_readable_data() {
    let mut server = established().1;
    server.poll_event();
    let stream = |offset| {
        Frame::Stream(StreamFrame {
            id: 0,
            offset,
            len: 100,
            fin: false,
        })
    };
    deliver(&mut server, data(0, stream(0)));
    deliver(&mut server, data(1, stream(100)));
    assert_eq!(server.poll_event(), Some(EndpointEvent::Readable));
    assert_eq!(server.poll_event(), None);
    assert_eq!(server.read(Instant::ZERO).map(|data| data.len()), Some(200));
    assert_eq!(server.read(Instant::ZERO), None);
    deliver(&mut server, data(2, stream(200)));
    assert_eq!(server.poll_event(), Some(EndpointEvent::Readable));
    let found = server.statistics();
    assert_eq!(
        (found.packets_received, found.data_packets_received),
        (3, 3)
    );
    assert_eq!(found.bytes_received, found.data_bytes_received);
}

#[test]
fn loss_events_count_from_the_packets_sent_at_that_time_on() {
    for (from, counted) in [(0, 1), (1, 0)] {
        let mut client = client_with_a_window_sent(lossy_link("inet-2025", 1));
        client.count_loss_events_from(CountedFrom {
            at: Instant::ZERO + millis(from),
            ..CountedFrom::default()
        });
        deliver(&mut client, data(0, ack(3, 9)));
        let found = client.statistics();
        assert_eq!((found.packets_lost, found.loss_events), (3, counted));
    }
}

#[test]
fn counts_that_the_path_has_spoilt_are_no_marks() {
    // RFC 9000 §13.4.2.1: ten packets with ECT(0) were acknowledged and nine are counted; later
    // counts are ignored.
    for (ect0, marks) in [(9, [0, 0]), (10, [0, 1])] {
        let mut config = lossy_link("inet-2025", 1);
        config.ecn = true;
        let mut client = client_with_a_window_sent(config);
        let recorder = Recorder::of_window(20_000);
        client.needs = recorder.needs();
        client.controller = Box::new(recorder.clone());
        client.poll_transmit(Instant::ZERO).expect("one more");
        for (number, largest, ce) in [(0, 9, 0), (1, 10, 1)] {
            let mut frame = ack(0, largest);
            if let Frame::Ack(ack) = &mut frame {
                let counts = EcnCounts { ect0, ect1: 0, ce };
                ack.rest = AckRest::new(Some(counts), None);
            }
            deliver(&mut client, data(number, frame));
            let ends = recorder.take_calls_of(" end ");
            let marked = format!(" {} marked", marks[number as usize]);
            assert!(ends.len() == 1 && ends[0].contains(&marked), "{ends:?}");
        }
    }
}

#[test]
fn packets_are_numbered_for_traces_from_zero() {
    let mut client = client_with_a_window_sent(lossy_link("inet-2025", 1));
    assert_eq!(client.next_id, 10);
    let mut first = Connection::client(lossy_link("inet-2025", 1));
    first.connect(Instant::ZERO);
    first.write(Instant::ZERO, Payload::of_len(5000)).unwrap();
    let ids = std::iter::from_fn(|| first.poll_transmit(Instant::ZERO)).map(|packet| packet.id);
    assert_eq!(ids.collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(
        client.poll_transmit(Instant::ZERO).map(|packet| packet.id),
        None
    );
}

#[test]
fn the_shortest_packets_are_long_enough_for_header_protection() {
    // RFC 9001 §5.4.2: number and frames have four octets at least. A header has 1 + 8 octets and
    // the number, and the tag 16. A PING is one octet.
    for (number_len, size, padding) in [
        (PacketNumberLen::One, 9 + 1 + 3 + 16, Some(2)),
        (PacketNumberLen::Two, 9 + 2 + 2 + 16, Some(1)),
        (PacketNumberLen::Three, 9 + 3 + 1 + 16, None),
        (PacketNumberLen::Four, 9 + 4 + 1 + 16, None),
    ] {
        for tag in [true, false] {
            let mut config = lossy_link("inet-2025", 1);
            config.header.number_len = number_len;
            config.header.tag_len = if tag { 16 } else { 0 };
            let mut client = Connection::client(config);
            client.connect(Instant::ZERO);
            client.probes_due = 1;
            let packet = client.poll_transmit(Instant::ZERO).expect("a probe");
            let Body::Quic(quic) = &packet.body else {
                panic!("a QUIC packet");
            };
            let mut frames = vec![Frame::Ping];
            frames.extend(padding.filter(|_| tag).map(Frame::Padding));
            assert_eq!(quic.frames.iter().cloned().collect::<Vec<_>>(), frames);
            let without_tag = size - 16 - padding.unwrap_or(0);
            let expected = if tag { size } else { without_tag };
            assert_eq!(packet.size - 28, expected, "{number_len:?}");
        }
    }
}

#[test]
fn an_empty_stream_frame_before_padding_has_its_length() {
    // Type, stream and length are three octets, as the number has one: one octet of PADDING, and
    // none at an offset, which is one octet more.
    for (octets, expected, size) in [
        (0, vec![(0, 0, true)], 9 + 1 + 3 + 1 + 16),
        (1, vec![(0, 1, true)], 9 + 1 + 3 + 16),
    ] {
        let mut config = lossy_link("inet-2025", 1);
        config.header.number_len = PacketNumberLen::One;
        config.header.tag_len = 16;
        let mut client = Connection::client(config);
        client.connect(Instant::ZERO);
        if octets > 0 {
            client
                .write(Instant::ZERO, Payload::of_len(octets))
                .unwrap();
        } else {
            client.streams.write(client.streams.first_local_id(), 0);
        }
        client.close(Instant::ZERO);
        let packet = client
            .poll_transmit(Instant::ZERO)
            .expect("the end of the stream");
        let Body::Quic(quic) = &packet.body else {
            panic!("a QUIC packet");
        };
        let streams = quic.frames.iter().filter_map(|frame| match frame {
            Frame::Stream(frame) => Some((frame.offset, frame.len, frame.fin)),
            _ => None,
        });
        assert_eq!(streams.collect::<Vec<_>>(), expected);
        assert_eq!(packet.size - 28, size, "{octets}");
    }
}

/// An open client with this script and without data to send.
fn scripted(config: Config, recorder: &Recorder) -> Connection {
    let mut client = Connection::client(config);
    client.needs = recorder.needs();
    client.controller = Box::new(recorder.clone());
    client.connect(Instant::ZERO);
    client
}

fn write(client: &mut Connection, octets: u32) {
    let written = client.write(Instant::ZERO, Payload::of_len(octets));
    assert_eq!(written, Ok(()));
}

/// The sizes of the packets that leave now.
fn sizes(client: &mut Connection, now: Instant) -> Vec<u32> {
    let packets = std::iter::from_fn(|| client.poll_transmit(now));
    packets.map(|packet| packet.size - 28).collect()
}

#[test]
fn what_holds_data_back_is_named() {
    let config = || lossy_link("inet-2025", 1);
    // New data, and lost data alone, wait for the window; also in a connection that closes.
    let recorder = Recorder::of_window(0);
    let mut client = scripted(config(), &recorder);
    assert_eq!(client.bound(), SndLim::Application);
    write(&mut client, 1);
    assert_eq!(client.bound(), SndLim::Window);
    recorder.script().window = 20_000;
    write(&mut client, 4999);
    assert_eq!(
        sizes(&mut client, Instant::ZERO),
        [1252, 1252, 1252, 1252, 75]
    );
    recorder.script().window = 0;
    assert_eq!(client.bound(), SndLim::Application);
    deliver(&mut client, data(0, ack(3, 4)));
    assert_eq!(client.streams.unsent(), 0);
    assert_eq!(client.bound(), SndLim::Window);
    client.close(Instant::ZERO);
    assert_eq!(client.bound(), SndLim::Window);
    recorder.script().window = 20_000;
    assert!(!sizes(&mut client, Instant::ZERO).is_empty());
    assert_eq!(client.state, State::Established);
    assert_eq!(
        client.bound(),
        SndLim::Nothing,
        "only acknowledgements are missing"
    );

    // The last octet waits for credit.
    let mut config = config();
    config.flow_control.initial_max_stream_data = 100;
    let mut client = scripted(config, &Recorder::of_window(20_000));
    write(&mut client, 101);
    sizes(&mut client, Instant::ZERO);
    assert_eq!(client.streams.unsent(), 1);
    assert_eq!(client.bound(), SndLim::ReceiverCredit);

    // A client that waits for the handshake has the bound `nothing`.
    let mut client = Connection::client(Config::named("rfc9002").unwrap());
    client.connect(Instant::ZERO);
    assert_eq!(client.bound(), SndLim::Nothing);
}

#[test]
fn a_server_that_may_not_send_is_held_if_it_has_something_to_send() {
    // RFC 9000 §8.1: three times 100 octets are less than a datagram of 1200.
    let mut server = Connection::server(Config::named("rfc9002").unwrap());
    let crypto = wire::Packet {
        space: SpaceId::Initial,
        ..data(0, Frame::Crypto { offset: 0, len: 50 })
    };
    server.receive(Instant::ZERO, &crypto, 100, Ecn::NotEct);
    assert!(server.crypto_due && server.is_amplification_limited());
    assert_eq!(server.bound(), SndLim::AntiAmplification);
    assert!(server.poll_transmit(Instant::ZERO).is_none());
    server.crypto_due = false;
    assert_eq!(server.bound(), SndLim::Application);
    write(&mut server, 1);
    assert_eq!(server.bound(), SndLim::AntiAmplification);
}

#[test]
fn a_probe_waits_for_neither_window_nor_pacer() {
    // RFC 9002 §7.5: probes must not be blocked by the congestion controller.
    let recorder = Recorder::of_window(0);
    let mut client = scripted(lossy_link("inet-2025", 1), &recorder);
    write(&mut client, 5000);
    assert_eq!(sizes(&mut client, Instant::ZERO), [0; 0]);
    client.probes_due = 1;
    assert_eq!(sizes(&mut client, Instant::ZERO), [1252]);
    assert_eq!(client.probes_due, 0);

    recorder.script().window = 20_000;
    let rate = crate::units::Rate::from_bps(1e6);
    recorder.script().pacing = Some((rate, 1252));
    assert_eq!(sizes(&mut client, Instant::ZERO), [1252]);
    assert_eq!(client.bound(), SndLim::Pacer);
    client.probes_due = 1;
    assert_eq!(sizes(&mut client, Instant::ZERO), [1252]);
}

#[test]
fn the_pacer_lets_a_packet_out_at_its_time() {
    // 1252 octets at 1 Mbit/s take 10.016 ms.
    let recorder = Recorder::of_window(20_000);
    let rate = crate::units::Rate::from_bps(1e6);
    recorder.script().pacing = Some((rate, 1252));
    let mut client = scripted(lossy_link("inet-2025", 1), &recorder);
    write(&mut client, 3000);
    assert_eq!(sizes(&mut client, Instant::ZERO), [1252]);
    let at = Instant::ZERO + Duration::from_micros(10_016);
    assert_eq!(client.poll_timeout(), Some(at));
    client.handle_timeout(at - Duration::from_nanos(1));
    assert_eq!(client.paced_until, Some(at));
    assert_eq!(sizes(&mut client, at - Duration::from_nanos(1)), [0; 0]);
    client.handle_timeout(at);
    assert_eq!(client.paced_until, None);
    assert_eq!(sizes(&mut client, at), [1252]);
    assert_eq!(client.bound(), SndLim::Pacer);
    // No data waits behind the last packet.
    let at = at + Duration::from_micros(10_016);
    client.handle_timeout(at);
    assert_eq!(sizes(&mut client, at).len(), 1);
    assert_eq!(client.bound(), SndLim::Application);
    assert_eq!(client.paced_until, None);
}
