//! The handshake, the limit of a server before the client's address is validated (RFC 9000 §8.1),
//! and the end of an idle connection (§10.1).

use super::*;

#[test]
fn the_handshake_gives_the_first_sample_of_the_round_trip_time() {
    let mut config = Config::named("rfc9002").unwrap();
    config.controller = window::find("cubic").unwrap();
    let mut pair = Pair::started(config);
    pair.run_for(millis(10));
    assert_eq!(pair.client.rtt.get().smoothed, millis(2));
    assert_eq!(pair.server.rtt.get().smoothed, millis(2));
    assert_eq!(pair.sizes[0], 1200);
    let connected = [Side::Server, Side::Client].map(|side| (side, EndpointEvent::Connected));
    assert_eq!(pair.endpoint_events, connected);
}

#[test]
fn a_lost_handshake_is_repeated_with_backoff() {
    let mut pair = Pair::new(Config::named("rfc9002").unwrap());
    let mut dropped = 0;
    pair.drop = Box::new(move |_, _| {
        dropped += 1;
        dropped <= 2
    });
    pair.client.connect(Instant::ZERO);
    // RFC 9002 §6.2.2: 3 times 333 ms, then doubled.
    pair.run_until(Instant::ZERO + millis(2990));
    assert!(pair.endpoint_events.is_empty());
    pair.run_until(Instant::ZERO + millis(3000));
    assert!(
        pair.endpoint_events
            .contains(&(Side::Client, EndpointEvent::Connected))
    );
}

#[test]
fn a_server_sends_at_most_three_times_what_an_unvalidated_client_sent() {
    let mut pair = Pair::started(Config::named("rfc9002").unwrap());
    pair.bulk = Some(Side::Server);
    pair.server.events.set_mask(EventMask::BOUND);
    // Only the first packet of the client arrives.
    let mut sent = [0, 0];
    pair.drop = Box::new(move |side, packet| {
        sent[usize::from(side == Side::Server)] += packet.size - 28;
        assert!(sent[1] <= 3600);
        side == Side::Client
    });
    pair.run_for(Duration::from_secs(5));
    assert!(pair.server.amplification.is_some());
    let bounds: Vec<_> = pair.server.events.drain().collect();
    let expected = [(0, SndLim::Nothing), (1, SndLim::AntiAmplification)]
        .map(|(at, bound)| (Instant::ZERO + millis(at), Event::Blocked(bound)));
    assert_eq!(bounds, expected, "all of the time after the first packet");
}

#[test]
fn a_server_whose_probes_the_limit_holds_back_is_held_by_anti_amplification() {
    let mut pair = Pair::started(Config::named("rfc9002").unwrap());
    pair.server.events.set_mask(EventMask::BOUND);
    // Only the first packet of the client arrives, and the application of the server sends no data:
    // the server repeats its handshake twice (RFC 9002 §6.2.2: after 999 ms, then after twice as
    // long), and may send no more (RFC 9000 §8.1).
    pair.drop = Box::new(|side, _| side == Side::Client);
    pair.run_for(Duration::from_secs(9));
    assert_eq!(pair.server.statistics().bytes_sent, 3600);
    let bounds: Vec<_> = pair.server.events.drain().collect();
    let expected = [
        (0, SndLim::Nothing),
        (1, SndLim::Application),
        (1 + 999 * 3, SndLim::AntiAmplification),
    ]
    .map(|(at, bound)| (Instant::ZERO + millis(at), Event::Blocked(bound)));
    assert_eq!(bounds, expected);
}

#[test]
fn an_idle_connection_ends_only_by_rule() {
    for (timeout, ends) in [(None, false), (Some(Duration::from_secs(30)), true)] {
        let mut config = Config::named("inet-2025").unwrap();
        config.idle_timeout = timeout;
        let mut pair = Pair::started(config);
        pair.run_for(Duration::from_secs(31));
        let timed_out = (Side::Client, EndpointEvent::Closed(CloseReason::TimedOut));
        assert_eq!(pair.endpoint_events.contains(&timed_out), ends);
    }
}

#[test]
fn a_handshake_with_jumbo_frames_takes_no_longer() {
    let mut sizes = Vec::new();
    for max_datagram_size in [1200, 8972] {
        let mut config = Config::named("rfc9002").unwrap();
        config.max_datagram_size = Some(max_datagram_size);
        let mut pair = Pair::started(config);
        pair.bulk = Some(Side::Client);
        pair.run_for(millis(10));
        assert!(pair.server.amplification.is_none(), "{max_datagram_size}");
        sizes.push(pair.sizes.iter().copied().max());
    }
    assert!(sizes[0] < sizes[1] && sizes[1] > Some(8000), "{sizes:?}");
}
