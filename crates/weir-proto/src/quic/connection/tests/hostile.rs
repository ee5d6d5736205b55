//! Packets that a peer must not send, or sends twice.

use super::*;

#[test]
fn violations_end_the_connection_with_their_code() {
    let stream = |id, offset, len| {
        Frame::Stream(StreamFrame {
            id,
            offset,
            len,
            fin: false,
        })
    };
    let ack = Frame::Ack(Ack {
        largest: 7,
        smallest: 0,
        delay: u64::MAX >> 2,
        older: None,
        rest: None,
    });
    let cases = [
        ("an acknowledgement of nothing sent", ack, 0xa),
        ("beyond the stream's credit", stream(0, 6_000_000, 1), 0x3),
        (
            "at the end of numbers",
            stream(0, wire::varint::MAX, u32::MAX),
            0x3,
        ),
        ("a stream of ours that is not open", stream(1, 0, 1), 0x5),
        ("a stream beyond the limit", stream(400, 0, 1), 0x4),
        ("handshake done from a client", Frame::HandshakeDone, 0xa),
        // draft-ietf-quic-ack-frequency §4: below min_ack_delay, and 2^14 ms.
        ("acknowledgements too soon", ack_frequency(999), 0xa),
        ("acknowledgements too late", ack_frequency(16_384_000), 0xa),
    ];
    for (name, frame, code) in cases {
        let mut server = Connection::server(Config::named("inet-2025").unwrap());
        let answer = deliver(&mut server, data(0, frame)).unwrap();
        let Frame::ConnectionClose { code: said, .. } = answer.frames[0] else {
            panic!("{name}: {answer:?}");
        };
        assert_eq!(said, code, "{name}");
        assert_eq!(server.poll_event(), Some(EndpointEvent::Connected));
        let reset = EndpointEvent::Closed(CloseReason::Reset(code));
        assert_eq!(server.poll_event(), Some(reset), "{name}");
    }
}

fn ack_frequency(max_ack_delay: u64) -> Frame {
    Frame::AckFrequency(wire::AckFrequency {
        sequence: 0,
        threshold: 1,
        max_ack_delay,
        reordering_threshold: 1,
    })
}

#[test]
fn a_changed_final_size_is_an_error() {
    let mut server = Connection::server(Config::named("inet-2025").unwrap());
    let stream_frame = |offset, fin| {
        Frame::Stream(StreamFrame {
            id: 0,
            offset,
            len: 10,
            fin,
        })
    };
    deliver(&mut server, data(0, stream_frame(0, true)));
    let answer = deliver(&mut server, data(1, stream_frame(10, true))).unwrap();
    assert!(matches!(
        answer.frames[0],
        Frame::ConnectionClose { code: 0x6, .. }
    ));
}

#[test]
fn a_duplicate_changes_nothing() {
    let mut server = Connection::server(Config::named("inet-2025").unwrap());
    let ping = data(0, Frame::Ping);
    assert!(deliver(&mut server, ping.clone()).is_some());
    assert!(deliver(&mut server, ping).is_none());
    assert_eq!(server.statistics().packets_received, 1);
}

proptest! {
    #[test]
    fn no_packet_makes_it_panic_or_spin(
        packets in prop::collection::vec(
            (prop::collection::vec(wire::tests::frame(), 1..4), 0..40_u64, any::<bool>()),
            1..30,
        ),
        server in any::<bool>(),
        preset in 0..3_usize,
    ) {
        let config = Config::named(Config::NAMES[preset]).unwrap();
        let mut end = if server { Connection::server(config) } else { Connection::client(config) };
        let mut now = Instant::ZERO;
        end.connect(now);
        for (frames, number, initial) in packets {
            now += millis(1);
            let space = if initial { SpaceId::Initial } else { SpaceId::Data };
            let frames = frames.into_iter().collect();
            let packet = wire::Packet { number, number_len: 4, space, frames };
            let size = packet.len(&end.config.header);
            end.receive(now, &packet, size, Ecn::NotEct);
            let _ = end.write(now, Payload::of_len(3000));
            let _ = end.read(now);
            let mut sent = 0;
            while end.poll_transmit(now).is_some() {
                sent += 1;
                prop_assert!(sent < 100);
            }
            prop_assert_eq!(end.bytes_in_flight, end.spaces.octets_in_flight());
            while end.poll_timeout().is_some_and(|at| at <= now) {
                end.handle_timeout(now);
                prop_assert!(end.poll_timeout().is_none_or(|at| at > now)
                    || end.poll_transmit(now).is_some());
            }
        }
    }
}
