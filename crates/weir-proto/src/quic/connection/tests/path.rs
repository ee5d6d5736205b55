//! Changes of the client's address (RFC 9000 §8.2 and §9).

use super::*;
use crate::cc::window::CarefulResumeConfig;
use crate::packet::HostId;
use crate::quic::config::NewPath;

/// The client is at host 1 and moves to host 2; the delay is 20 ms each way.
const OTHER: HostId = HostId(2);

/// A pair whose server has sent for two seconds.
fn download(config: Config) -> Pair {
    let mut pair = Pair::started(config);
    pair.delay = millis(20);
    pair.run_for(millis(100));
    pair.bulk = Some(Side::Server);
    pair.run_for(millis(400));
    assert!(pair.server.controller.window() > 100_000);
    pair
}

fn rfc9002() -> Config {
    Config {
        // The path has no limit: the credit bounds the window.
        flow_control: crate::quic::FlowControlConfig {
            initial_max_data: 400_000,
            initial_max_stream_data: 400_000,
            ..Default::default()
        },
        ..Config::default()
    }
}

fn move_client(pair: &mut Pair) {
    pair.source.0 = OTHER;
    let now = pair.now;
    pair.client.change_address(now);
}

#[test]
fn a_challenge_is_answered_with_its_data_in_a_datagram_of_1200_octets() {
    // RFC 9000 §8.2.2.
    let mut server = Connection::server(lossy_link("inet-2025", 1));
    let answer = deliver(&mut server, data(0, Frame::PathChallenge(77))).expect("an answer");
    let frames = &answer.frames;
    assert!(frames.contains(&Frame::PathResponse(77)));
    assert_eq!(answer.len(&server.config.header), 1200);
    assert!(server.poll_transmit(Instant::ZERO + millis(5)).is_none());
}

#[test]
fn another_port_alone_is_validated_and_keeps_the_controller() {
    // RFC 9000 §9.4: unless the only change is the port number.
    let mut pair = download(rfc9002());
    let before = (pair.server.controller.window(), pair.server.path.first);
    pair.source.1 = 1;
    pair.run_for(millis(30));
    assert!(pair.server.amplification.is_some());
    assert!(pair.server.path.deadline().is_some());
    pair.run_for(millis(60));
    assert!(pair.server.amplification.is_none());
    assert_eq!(pair.server.path.deadline(), None);
    assert!(pair.server.controller.window() >= before.0);
    assert_eq!(pair.server.path.first, before.1);
    assert_eq!(pair.server.peer_host(), Some(HostId(1)));
}

#[test]
fn another_host_begins_anew_at_both_ends_once_the_address_is_validated() {
    let mut pair = download(rfc9002());
    let window = pair.server.controller.window();
    move_client(&mut pair);
    let initial = pair.server.config.window().initial_window();
    assert_eq!(pair.client.rtt.smoothed(), None);
    assert!(pair.limits.is_empty() || !pair.limits.contains(&Limit::PathChange));
    pair.exchange();
    assert!(pair.limits.contains(&Limit::PathChange));
    pair.delay = millis(50);
    // Not validated yet: the server has sent no more than three times what it received from there.
    pair.run_for(millis(60));
    let budget = pair.server.amplification.expect("not validated");
    assert!(budget.sent <= 3 * budget.received, "{budget:?}");
    assert!(pair.server.controller.window() >= window);
    assert_eq!(pair.server.peer_host(), Some(OTHER));
    // The challenge leaves after 50 ms, and the response comes 100 ms later.
    pair.run_until(pair.next_at());
    while pair.server.amplification.is_some() {
        pair.run_until(pair.next_at());
    }
    assert!(pair.server.controller.window() <= initial);
    assert!(pair.server.path.first > 0);
    pair.run_for(millis(900));
    let rtt = pair.server.rtt.get();
    assert!(
        rtt.min >= millis(100) && rtt.smoothed < millis(130),
        "{rtt:?}"
    );
    assert!(pair.server.controller.window() > 2 * initial);
}

#[test]
fn the_rule_keeps_window_and_round_trip_time() {
    let mut config = rfc9002();
    config.new_path = NewPath::Keep;
    let mut pair = download(config);
    let window = pair.server.controller.window();
    move_client(&mut pair);
    pair.run_for(millis(200));
    assert!(pair.server.amplification.is_none());
    assert!(pair.server.controller.window() >= window);
    assert_eq!(pair.server.path.first, 0);
    assert!(!pair.limits.contains(&Limit::PathChange));
}

#[test]
fn what_was_sent_on_the_old_path_tells_the_new_controller_nothing() {
    let mut client = client_with_a_window_sent(lossy_link("inet-2025", 1));
    let now = Instant::ZERO + millis(1);
    client.change_address(now);
    let window = client.controller.window();
    assert_eq!((client.path.first, client.bytes_in_flight), (10, 0));
    while client.poll_transmit(now).is_some() {}
    let in_flight = client.bytes_in_flight;
    // Packets 0 to 5 are lost because 6 to 9 are acknowledged; all are of the old path.
    let mut ack = data(0, ack(6, 9));
    ack.number = 3;
    client.receive(now + millis(3), &ack, 50, Ecn::NotEct);
    assert_eq!(client.bytes_in_flight, in_flight);
    assert_eq!(client.controller.window(), window);
    assert_eq!(client.rtt.smoothed(), None);
    assert_eq!(client.statistics().packets_lost, 6);
    assert_eq!(client.statistics().loss_events, 0);
    assert!(client.streams.has_stream_data(), "it is sent again");
}

#[test]
fn a_path_without_a_response_is_given_up_after_three_probe_timeouts() {
    // RFC 9000 §8.2.4: three times the larger of the current probe timeout and that of a new path,
    // 3 · 333 ms and max_ack_delay of 25 ms; challenges leave at 0 and 1024 ms.
    let mut pair = download(rfc9002());
    pair.drop = Box::new(|side, packet| {
        let Body::Quic(quic) = &packet.body else {
            return false;
        };
        let mut frames = quic.frames.iter();
        side == Side::Client && frames.any(|frame| matches!(frame, Frame::PathResponse(_)))
    });
    pair.source = (OTHER, 0);
    while pair.server.path.deadline().is_none() {
        pair.run_until(pair.next_at());
    }
    let began = pair.now;
    assert_eq!(pair.server.path.deadline(), Some(began + millis(1024)));
    pair.run_until(began + millis(1024));
    assert_eq!(pair.server.path.deadline(), Some(began + millis(3072)));
    assert_eq!(pair.server.peer_host(), Some(OTHER));
    // The client sends from the old address again, and nothing from there is newer before.
    pair.bulk = None;
    pair.source = (HostId(1), 0);
    pair.drop = Box::new(|side, _| side == Side::Client);
    pair.run_until(began + millis(3072));
    assert_eq!(pair.server.path.deadline(), None);
    assert_eq!(pair.server.peer_host(), Some(HostId(1)));
    assert!(pair.server.amplification.is_none());
}

#[test]
fn a_response_with_other_data_validates_nothing() {
    let mut pair = download(rfc9002());
    pair.source.0 = OTHER;
    while pair.server.amplification.is_none() {
        pair.run_until(pair.next_at());
    }
    let now = pair.now;
    pair.server.on_path_response(now, 1);
    assert!(pair.server.amplification.is_some());
}

#[test]
fn what_is_known_of_the_new_path_is_for_its_controller_alone() {
    let mut config = rfc9002();
    config.new_path_resume = Some(CarefulResumeConfig {
        saved_cwnd: 200_000,
        saved_rtt: millis(40),
        ..Default::default()
    });
    let mut client = Connection::client(config);
    client.state = State::Established;
    assert_eq!(client.controller.report().state, "slow_start");
    client.change_address(Instant::ZERO);
    assert_eq!(client.controller.report().state, "reconnaissance");
}
