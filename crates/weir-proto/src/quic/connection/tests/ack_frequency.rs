//! A sender asks for fewer acknowledgements (draft-ietf-quic-ack-frequency).

use super::*;
use crate::quic::config::AckFrequencyRequest;

/// The packets that the receiver of 400,000 octets sent; `lost` is the number of the client's
/// packet that is lost.
fn acknowledgements(request: Option<AckFrequencyRequest>, lost: Option<u64>) -> u64 {
    let mut config = Config::named("rfc9002").unwrap();
    config.ack_frequency = request;
    let mut pair = Pair::started(config);
    pair.codec = true;
    let mut sent = 0;
    pair.drop = Box::new(move |side, _| {
        let number = sent;
        sent += u64::from(side == Side::Client);
        side == Side::Client && Some(number) == lost
    });
    pair.run_for(millis(1000));
    let now = pair.now;
    pair.client.write(now, Payload::of_len(400_000)).unwrap();
    pair.run_for(millis(10_000));
    assert_eq!(pair.octets_read, 400_000);
    pair.server.statistics().packets_sent
}

fn request(ack_eliciting_threshold: u64) -> AckFrequencyRequest {
    AckFrequencyRequest {
        ack_eliciting_threshold,
        ..AckFrequencyRequest::default()
    }
}

#[test]
fn the_receiver_acknowledges_as_often_as_it_was_asked_to() {
    let of = |threshold| acknowledgements(Some(request(threshold)), None);
    let standard = acknowledgements(None, None);
    // A threshold of 1 is the standard, every other packet; of 0 each; of 9 each tenth, and what
    // the delay of 25 ms brings.
    assert!(of(1).abs_diff(standard) <= 2, "{} {standard}", of(1));
    assert!(of(0) > standard * 3 / 2, "{} {standard}", of(0));
    assert!(of(9) < standard / 2, "{} {standard}", of(9));
}

#[test]
fn a_request_that_was_lost_is_made_again() {
    // The first packet of the client is its handshake, the second the one with the request.
    let with = acknowledgements(Some(request(9)), None);
    for lost in 1..4 {
        let found = acknowledgements(Some(request(9)), Some(lost));
        assert!(found.abs_diff(with) <= 12, "{lost}: {found} {with}");
    }
    let standard = acknowledgements(None, Some(2));
    assert!(standard > with + 40, "{standard} {with}");
}

#[test]
fn timeouts_wait_for_the_requested_delay() {
    let longest = |ack_frequency| {
        let standard = Config::named("rfc9002").unwrap();
        let config = Config {
            ack_frequency,
            ..standard
        };
        Connection::client(config).peer_max_ack_delay()
    };
    assert_eq!(longest(None), millis(25));
    let request = AckFrequencyRequest {
        requested_max_ack_delay: millis(80),
        ..AckFrequencyRequest::default()
    };
    assert_eq!(longest(Some(request)), millis(80));
}

/// §5 of the draft: an acknowledgement leaves at once, whatever was asked for before.
#[test]
fn immediate_ack_is_answered_at_once() {
    let mut pair = Pair::started(Config::named("rfc9002").unwrap());
    pair.run_for(millis(1000));
    let (now, mut server) = (pair.now, pair.server);
    let mut answer = |number: u64, frame: Frame| {
        let packet = data(number, frame);
        let size = packet.len(&server.config.header);
        server.receive(now, &packet, size, Ecn::NotEct);
        match server.poll_transmit(now)?.body {
            Body::Quic(packet) => Some(packet),
            _ => None,
        }
    };
    let request = Frame::AckFrequency(wire::AckFrequency {
        sequence: 0,
        threshold: 9,
        max_ack_delay: 25_000,
        reordering_threshold: 0,
    });
    assert_eq!(answer(100, request), None);
    for number in 101..104 {
        assert_eq!(answer(number, Frame::Ping), None);
    }
    let answer = answer(104, Frame::ImmediateAck).expect("an acknowledgement");
    let Frame::Ack(ack) = &answer.frames[0] else {
        panic!("{answer:?}");
    };
    assert_eq!((ack.largest, ack.smallest), (104, 100));
}
