//! Datagrams of the application (RFC 9221).

use super::*;
use crate::endpoint::WriteError;

/// What applications write goes into datagrams; packets of 1252 octets.
fn datagrams() -> Config {
    let mut config = Config::default();
    config.datagrams.carry_writes = true;
    config
}

fn opened(config: Config) -> Pair {
    let mut pair = Pair::started(config);
    pair.run_for(millis(50));
    pair.endpoint_events.clear();
    pair
}

#[test]
fn the_largest_datagram_fills_a_packet() {
    // 1252 octets without 1 of the first octet, 8 of the connection id, 4 of the longest packet
    // number, 16 of the tag and 1 of the type of the frame.
    assert_eq!(datagrams().max_datagram_payload(), 1222);
    let mut config = datagrams();
    config.header = wire::HeaderFormat::INET;
    // 1252 - 1 - 8 - 4 - 1.
    assert_eq!(config.max_datagram_payload(), 1238);
    // RFC 9221 §3: the frame of at most 1000 octets has one of type and two of length.
    config.datagrams.max_datagram_frame_size = 1000;
    assert_eq!(config.max_datagram_payload(), 997);
    config.datagrams.max_datagram_frame_size = 0;
    assert_eq!(config.max_datagram_payload(), 0);

    let mut pair = opened(datagrams());
    let (now, client) = (pair.now, &mut pair.client);
    let too_large = client.write(now, Payload::of_len(1223));
    assert_eq!(too_large, Err(WriteError::TooLarge(1222)));
    client.write(now, Payload::of_len(1222)).unwrap();
    pair.sizes.clear();
    pair.exchange();
    // The packet number takes one octet, three fewer than the longest.
    assert_eq!(pair.sizes, [1249]);
}

#[test]
fn datagrams_arrive_whole_and_in_order() {
    let mut pair = opened(datagrams());
    pair.codec = true;
    pair.reads = false;
    for octets in [&[1][..], &[2, 2], &[]] {
        let now = pair.now;
        let data = Payload::from_bytes(octets);
        pair.client.write(now, data).unwrap();
    }
    pair.sizes.clear();
    pair.run_for(millis(100));
    // One packet: 26 octets of header and tag; type, length and content of each datagram, the last
    // without a length.
    assert_eq!(pair.sizes[0], 26 + (2 + 1) + (2 + 2) + 1);
    let read = std::iter::from_fn(|| pair.server.read(pair.now));
    let read: Vec<_> = read.map(|data| data.into_bytes().to_vec()).collect();
    assert_eq!(read, [vec![1], vec![2, 2], vec![]]);
    assert_eq!(pair.server.statistics().payload_received, 3);
    let (side, event) = (Side::Server, EndpointEvent::Readable);
    assert_eq!(pair.endpoint_events, [(side, event)]);
}

#[test]
fn a_lost_datagram_is_not_sent_again_and_its_loss_is_one_of_the_window() {
    let mut pair = opened(datagrams());
    let before = pair.client.controller.window();
    pair.drop = Box::new(|_, _| true);
    let now = pair.now;
    pair.client.write(now, Payload::of_len(1000)).unwrap();
    pair.exchange();
    pair.drop = Box::new(|_, _| false);
    for _ in 0..5 {
        let now = pair.now;
        pair.client.write(now, Payload::of_len(900)).unwrap();
        pair.exchange();
    }
    pair.run_for(Duration::from_secs(2));
    let sent = pair.client.statistics();
    assert_eq!((sent.packets_lost, sent.packets_retransmitted), (1, 0));
    assert_eq!(sent.data_packets_sent, 6);
    assert_eq!(pair.octets_read, 5 * 900);
    assert!(pair.client.controller.window() < before);
    assert_eq!(pair.client.bytes_in_flight, 0);
}

#[test]
fn a_probe_after_a_lost_datagram_is_a_ping() {
    let mut pair = opened(datagrams());
    pair.drop = Box::new(|side, _| side == Side::Client);
    let now = pair.now;
    pair.client.write(now, Payload::of_len(1000)).unwrap();
    pair.run_for(Duration::from_secs(1));
    pair.drop = Box::new(|_, _| false);
    pair.run_for(Duration::from_secs(3));
    let sent = pair.client.statistics();
    assert!(sent.timeouts > 0);
    assert_eq!(sent.data_packets_sent, 1, "the datagram is sent once");
    assert_eq!((pair.octets_read, pair.client.bytes_in_flight), (0, 0));
}

#[test]
fn the_window_holds_datagrams_back_and_a_full_queue_refuses_them() {
    let mut config = datagrams();
    config.datagrams.datagram_queue = 4;
    let mut pair = opened(config);
    pair.drop = Box::new(|_, _| true);
    let mut taken = 0;
    loop {
        let now = pair.now;
        match pair.client.write(now, Payload::of_len(1222)) {
            Ok(()) => taken += 1,
            Err(error) => {
                assert_eq!(error, WriteError::Blocked);
                if pair.client.poll_transmit(now).is_none() {
                    break;
                }
            }
        }
        assert!(taken < 100, "the window has no end");
    }
    let in_flight = pair.client.bytes_in_flight;
    assert!(in_flight <= pair.client.controller.window());
    // The initial window of ten packets and the four that wait; the first octets of the window are
    // still there for acknowledged packets of the handshake.
    assert!((10 + 4..=12 + 4).contains(&taken), "{taken}");
    assert_eq!(pair.client.bound(), SndLim::Window);
    assert_eq!(pair.endpoint_events, []);
    pair.drop = Box::new(|_, _| false);
    pair.run_for(Duration::from_secs(3));
    let (side, event) = (Side::Client, EndpointEvent::Writable);
    assert!(pair.endpoint_events.contains(&(side, event)));
}

#[test]
fn a_datagram_that_waits_too_long_is_dropped() {
    let mut config = datagrams();
    config.datagrams.datagram_lifetime = Some(millis(20));
    let mut pair = opened(config);
    pair.drop = Box::new(|_, _| true);
    let now = pair.now;
    while pair.client.write(now, Payload::of_len(1222)).is_ok() {
        while pair.client.poll_transmit(now).is_some() {}
    }
    assert_eq!(pair.client.datagrams_expired(), 0);
    let waiting = pair.client.datagrams.head_len();
    assert_eq!(waiting, Some(1223));
    // At the limit it still waits, one nanosecond later it is gone.
    assert!(!pair.client.datagrams.expire(now + millis(20)));
    let later = now + millis(20) + Duration::from_nanos(1);
    assert!(pair.client.write(later, Payload::of_len(1)).is_ok());
    assert_eq!(pair.client.datagrams_expired(), 16);
}

#[test]
fn a_due_acknowledgement_leaves_alone_if_the_datagram_needs_the_room() {
    let mut pair = opened(datagrams());
    let now = pair.now;
    for _ in 0..2 {
        pair.server.write(now, Payload::of_len(100)).unwrap();
        pair.exchange();
    }
    pair.now = pair.next_at();
    let now = pair.now;
    pair.client.write(now, Payload::of_len(1222)).unwrap();
    pair.sizes.clear();
    pair.run_until(now);
    let full = pair.sizes.iter().filter(|&&size| size > 1200).count();
    assert_eq!((full, pair.sizes.len()), (1, 2), "{:?}", pair.sizes);
    pair.run_for(millis(200));
    assert_eq!(pair.octets_read, 1222 + 200);
}

#[test]
fn a_stream_and_datagrams_share_a_packet() {
    let mut pair = opened(Config::default());
    let now = pair.now;
    pair.client.send_datagram(now, Payload::of_len(10)).unwrap();
    pair.client.write(now, Payload::of_len(20)).unwrap();
    pair.sizes.clear();
    pair.exchange();
    // 26 octets of header and tag, 12 of the datagram with its length, 2 of the stream's head.
    assert_eq!(pair.sizes, [26 + 12 + 2 + 20]);
    pair.run_for(millis(100));
    assert_eq!(pair.octets_read, 20);
    assert_eq!(pair.server.recv_datagram(), Some(Payload::of_len(10)));
    assert_eq!(pair.server.recv_datagram(), None);
}

#[test]
fn a_datagram_beyond_what_an_end_takes_is_a_violation() {
    for (most, len, is_taken) in [(0, 0, false), (101, 100, true), (101, 101, false)] {
        let mut config = Config::named("inet-2025").unwrap();
        config.datagrams.max_datagram_frame_size = most;
        let mut server = Connection::server(config);
        let answer = deliver(&mut server, data(0, Frame::Datagram(Payload::of_len(len)))).unwrap();
        let closes = matches!(answer.frames[0], Frame::ConnectionClose { code: 0xa, .. });
        assert_eq!(closes, !is_taken, "{len} of {most}");
    }
}

#[test]
fn an_end_keeps_a_limited_number_of_unread_datagrams() {
    let mut server = Connection::server(Config::named("inet-2025").unwrap());
    for number in 0..5000 {
        let frame = Frame::Datagram(Payload::of_len(1));
        let packet = data(number, frame);
        server.receive(Instant::ZERO, &packet, 50, Ecn::NotEct);
        while server.poll_transmit(Instant::ZERO).is_some() {}
    }
    let read = std::iter::from_fn(|| server.recv_datagram()).count();
    assert_eq!(read, 4096);
}
