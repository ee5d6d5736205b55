//! Pairs of connections: the published results, and properties under loss.

use super::pair::{Pair, Side, periodic};
use super::*;
use crate::cc::window::{self, RateLimitedGrowth, Rules};
use crate::endpoint::EndpointEvent;
use crate::event::Bound;
use crate::packet::Ecn;
use crate::quic::wire::{Ack, Frame, PacketNumberLen, StreamFrame};
use crate::quic::{AckPolicy, wire};
use crate::rng::Rng;
use proptest::prelude::*;

mod bursts;
mod outage;

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The published experiment: no flow control, unlimited data, packets of 1252 octets.
fn lossy_link(preset: &str, every: u32) -> Config {
    let mut config = Config::named(preset).unwrap();
    config.handshake = Handshake::Established;
    config.ack.every = every;
    config.flow_control.initial_max_data = 4_294_967_295;
    config.flow_control.initial_max_stream_data = 4_294_967_295;
    config.send_queue_limit = 50_000_000;
    config.low_water_ratio = 0.8;
    config
}

/// The throughput in Mbit/s over whole cycles of 7 and of 8 round trips of 2 ms, after slow start.
fn measure(config: Config, drop: pair::Dropper) -> (f64, u64) {
    let mut pair = Pair::started(config);
    pair.bulk = Some(Side::Client);
    pair.drop = drop;
    pair.run_until(Instant::ZERO + Duration::from_secs(2));
    pair.largest_window = 0;
    let throughput = pair.throughput_over(millis(112) * 60);
    (throughput, pair.largest_window)
}

#[test]
fn periodic_loss_gives_fifty_packets_in_seven_round_trips() {
    let (throughput, window) = measure(lossy_link("inet-2025", 1), periodic(51));
    assert_eq!(window, 12_520);
    assert!((throughput / 35.7714 - 1.0).abs() < 0.001, "{throughput}");
}

#[test]
fn with_an_ack_for_every_other_packet_it_takes_eight_round_trips() {
    let (throughput, window) = measure(lossy_link("inet-2025", 2), periodic(51));
    assert_eq!(window, 12_520);
    assert!((throughput / 31.3 - 1.0).abs() < 0.001, "{throughput}");
}

#[test]
fn the_current_model_is_markedly_faster() {
    for (every, old) in [(1, 35.77), (2, 31.30)] {
        let (throughput, _) = measure(lossy_link("inet-now", every), periodic(51));
        println!("inet-now, every {every}: {throughput:.3} Mbit/s");
        assert!(throughput > old * 1.03, "{throughput}");
    }
}

#[test]
fn random_loss_of_the_same_rate_gives_a_higher_throughput() {
    for (every, old) in [(1, 35.77), (2, 31.30)] {
        let mut sum = 0.0;
        for seed in 1..=5 {
            let mut rng = Rng::stream(seed, "loss");
            let drop = Box::new(move |side, _: &Packet| side == Side::Client && rng.chance(0.02));
            sum += measure(lossy_link("inet-2025", every), drop).0;
        }
        println!("random 2 %, every {every}: mean {:.3} Mbit/s", sum / 5.0);
        assert!(sum / 5.0 > old * 1.05, "{}", sum / 5.0);
    }
}

#[test]
fn every_packet_is_full_while_there_is_data() {
    for preset in Config::NAMES {
        let mut pair = Pair::started(lossy_link(preset, 2));
        pair.bulk = Some(Side::Client);
        pair.drop = periodic(51);
        pair.run_for(millis(500));
        let full = pair.sizes.iter().filter(|size| **size == 1252).count();
        assert!(full > 500);
        assert_eq!(full, pair.sizes.len(), "{preset}");
    }
}

#[test]
fn the_codec_does_not_change_results() {
    let run = |codec| {
        let mut config = Config::named("rfc9002").unwrap();
        config.ecn = true;
        let mut pair = Pair::started(config);
        pair.codec = codec;
        pair.bulk = Some(Side::Client);
        pair.drop = periodic(17);
        pair.run_for(millis(800));
        (
            pair.client.statistics(),
            pair.server.statistics(),
            pair.octets_read,
        )
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn the_end_of_an_empty_stream_has_the_size_that_it_claims() {
    // Packet number and frame have 3 octets, one too few for header protection; before PADDING the
    // STREAM frame has a length. The codec compares sizes.
    let mut pair = Pair::started(Config::named("rfc9002").unwrap());
    pair.codec = true;
    pair.run_for(millis(100));
    let now = pair.now;
    pair.client.write(now, Payload::of_len(1000)).unwrap();
    pair.run_for(millis(100));
    let now = pair.now;
    pair.server.close(now);
    pair.run_for(millis(100));
    let finished = EndpointEvent::Closed(CloseReason::Finished);
    assert!(pair.endpoint_events.contains(&(Side::Client, finished)));
}

#[test]
fn everything_written_arrives_whatever_is_lost() {
    for seed in 0..40 {
        let mut rng = Rng::stream(seed, "world");
        let preset = Config::NAMES[rng.below(3) as usize];
        let mut config = Config::named(preset).unwrap();
        config.controller = &window::REGISTRY[rng.below(window::REGISTRY.len() as u64) as usize];
        config.rules.losses_before_acks = rng.chance(0.5);
        config.rules.undo_spurious = rng.chance(0.5);
        config.flow_control.initial_max_data = 20_000 + rng.below(200_000);
        config.flow_control.initial_max_stream_data = 20_000 + rng.below(200_000);
        config.flow_control.announce_at_once = rng.chance(0.5);
        config.bundle_acks = rng.chance(0.5);
        config.ack.every = 1 + rng.below(4) as u32;
        config.ack.max_ranges = 1 + rng.below(8) as u32;
        let p = [0.0, 0.02, 0.2, 0.4][rng.below(4) as usize];
        let total = 1 + rng.below(300_000);
        let mut pair = Pair::started(config);
        pair.codec = rng.chance(0.5);
        pair.drop = Box::new(move |_, _| rng.chance(p));
        let mut written = false;
        for _ in 0..20_000 {
            pair.run_for(millis(100));
            let open = pair.client.state == State::Established;
            if open && !written {
                written = true;
                let now = pair.now;
                pair.client
                    .write(now, Payload::of_len(total as u32))
                    .unwrap();
                pair.client.close(now);
            }
            if matches!(pair.client.state, State::Closing(_) | State::Closed) {
                break;
            }
        }
        assert_eq!(pair.octets_read, total, "seed {seed}, {preset}, p {p}");
        assert_eq!(
            pair.server.statistics().payload_received,
            total,
            "seed {seed}"
        );
        let finished = EndpointEvent::Closed(CloseReason::Finished);
        assert!(
            pair.endpoint_events.contains(&(Side::Client, finished)),
            "seed {seed}"
        );
        assert_eq!(
            pair.client.bytes_in_flight,
            pair.client.spaces.octets_in_flight(),
            "seed {seed}"
        );
    }
}

#[test]
fn never_more_in_flight_than_the_window_allows() {
    for recovery_probe in [false, true] {
        let mut config = lossy_link("inet-2025", 2);
        config.rules.recovery_probe = recovery_probe;
        let mut pair = Pair::started(config);
        pair.bulk = Some(Side::Client);
        pair.drop = periodic(51);
        pair.run_for(Duration::from_secs(3));
        // After a reduction more is in flight than the window; only the probe may be added.
        assert_eq!(pair.overshoot > 0, recovery_probe);
        assert!(pair.flight > 0);
    }
}

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
fn probes_follow_the_doubling_timeout() {
    let mut pair = Pair::started(lossy_link("inet-2025", 1));
    let now = pair.now;
    pair.client.write(now, Payload::of_len(1000)).unwrap();
    pair.run_for(millis(100));
    // Smoothed 2 ms and variation 1 ms make a timeout of 2 + 4 + 25 ms.
    assert_eq!(pair.client.probe_timeout(), millis(31));
    pair.drop = Box::new(|_, _| true);
    let start = pair.now;
    pair.client.write(start, Payload::of_len(1000)).unwrap();
    pair.sizes.clear();
    pair.exchange();
    for (after, sent) in [(30, 1), (31, 2), (92, 2), (93, 3), (216, 3), (217, 4)] {
        pair.run_until(start + millis(after));
        assert_eq!(pair.sizes.len(), sent, "after {after} ms");
    }
    let statistics = pair.client.statistics();
    let counted = (statistics.timeouts, statistics.packets_retransmitted);
    assert_eq!(counted, (3, 3));
    pair.drop = Box::new(|_, _| false);
    pair.run_for(millis(500));
    assert_eq!(pair.server.statistics().payload_received, 2000);
    assert_eq!(pair.client.pto_count, 0);
}

#[test]
fn a_long_outage_is_persistent_congestion() {
    let mut pair = Pair::started(lossy_link("inet-2025", 1));
    pair.bulk = Some(Side::Client);
    pair.drop = periodic(51);
    pair.run_for(millis(500));
    pair.drop = Box::new(|_, _| true);
    pair.run_for(millis(1000));
    pair.drop = Box::new(|_, _| false);
    let client = &pair.client;
    assert!(client.controller.window() > 2 * 1252);
    while !pair.limits.contains(&Limit::PersistentCongestion) {
        pair.run_for(millis(1));
        assert!(pair.now < Instant::ZERO + Duration::from_secs(10));
    }
    assert_eq!(pair.smallest_window, 2 * 1252);
}

#[test]
fn flow_control_limits_the_data_of_a_round_trip() {
    let mut config = lossy_link("inet-2025", 1);
    config.flow_control.initial_max_data = 10_000;
    let mut pair = Pair::started(config);
    pair.reads = false;
    pair.bulk = Some(Side::Client);
    pair.run_for(millis(200));
    assert_eq!(pair.server.statistics().payload_received, 10_000);
    assert!(pair.client.app_limited);
    pair.reads = true;
    pair.run_for(millis(200));
    assert!(pair.server.statistics().payload_received > 100_000);
}

#[test]
fn writing_blocks_at_the_limit_and_resumes_below_the_low_water_mark() {
    let mut config = lossy_link("inet-2025", 1);
    config.send_queue_limit = 100_000;
    config.low_water_ratio = 0.4;
    let mut pair = Pair::started(config);
    let now = pair.now;
    let mut writes = 0;
    while pair.client.write(now, Payload::of_len(15_000)).is_ok() {
        writes += 1;
    }
    assert_eq!(writes, 7);
    let writable = (Side::Client, EndpointEvent::Writable);
    while !pair.endpoint_events.contains(&writable) {
        assert!(pair.client.streams.unsent() > 0);
        pair.run_for(millis(1));
    }
    assert!(pair.client.streams.unsent() <= 40_000);
}

#[test]
fn bundled_acknowledgements_cover_packets_that_need_none() {
    for bundle in [false, true] {
        let mut config = lossy_link("inet-2025", 1);
        config.bundle_acks = bundle;
        let mut pair = Pair::started(config);
        pair.bulk = Some(Side::Client);
        let mut drop = periodic(51);
        pair.drop = Box::new(move |side, packet| {
            let Body::Quic(quic) = &packet.body else {
                unreachable!("the pair sends QUIC");
            };
            let mut frames = quic.frames.iter();
            let has_ack = frames.any(|frame| matches!(frame, Frame::Ack(_)));
            assert!(bundle || side == Side::Server || !has_ack);
            drop(side, packet)
        });
        pair.run_for(millis(400));
        let received = &mut pair.server.spaces.data.received;
        let ranges = received.take_ack(pair.now).unwrap().ranges().count();
        // One range for each loss so far, up to the 32 that are kept, because packets with
        // acknowledgements alone are not acknowledged.
        assert_eq!(ranges, 32);
        assert_eq!(
            pair.client.spaces.data.received.has_unacked_others(),
            !bundle
        );
    }
}

fn deliver(to: &mut Connection, frames: wire::Packet) -> Option<wire::Packet> {
    let size = frames.len(&to.config.header);
    let now = Instant::ZERO + millis(5);
    to.receive(now, &frames, size, Ecn::NotEct);
    match to.poll_transmit(now)?.body {
        Body::Quic(packet) => Some(packet),
        _ => None,
    }
}

fn data(number: u64, frame: Frame) -> wire::Packet {
    wire::Packet {
        number,
        number_len: 4,
        space: SpaceId::Data,
        frames: wire::Frames::one(frame),
    }
}

fn ack(smallest: u64, largest: u64) -> Frame {
    Frame::Ack(Ack {
        largest,
        smallest,
        delay: 0,
        older: None,
        ecn: None,
    })
}

/// A client that has sent packets 0 to 9, its initial window.
fn client_with_a_window_sent(config: Config) -> Connection {
    let mut client = Connection::client(config);
    client.connect(Instant::ZERO);
    client
        .write(Instant::ZERO, Payload::of_len(100_000))
        .unwrap();
    let sent = std::iter::from_fn(|| client.poll_transmit(Instant::ZERO)).count();
    assert_eq!(sent, 10);
    client
}

#[test]
fn whether_losses_or_acknowledgements_come_first_is_a_rule() {
    // Packet 0 is lost and 1 to 9 arrive. With losses first the window is half of 10 packets, and
    // the acknowledged packets belong to recovery. With acknowledgements first it grows to 19
    // packets in slow start and is then halved.
    for (losses_before_acks, window) in [(true, 5 * 1252), (false, 19 * 1252 / 2)] {
        let mut config = lossy_link("inet-2025", 1);
        config.rules.losses_before_acks = losses_before_acks;
        let mut client = client_with_a_window_sent(config);
        deliver(&mut client, data(0, ack(1, 9)));
        assert_eq!(client.controller.window(), window);
        assert_eq!(client.statistics().packets_lost, 1);
    }
}

#[test]
fn ten_packets_and_four_after_a_pause_leave_24_packets_or_20() {
    // draft-ietf-ccwg-ratelimited-increase §3.1: without a limit 24, with it 2 · maxFS = 20.
    // RFC 9002 §7.8: the second flight uses less than the window, which does not grow.
    for (growth, grown) in [
        (RateLimitedGrowth::Unlimited, 24),
        (RateLimitedGrowth::Flight, 20),
        (RateLimitedGrowth::Hold, 20),
    ] {
        let mut config = lossy_link("inet-2025", 1);
        config.rules.rate_limited_growth = growth;
        let mut client = Connection::client(config);
        client.connect(Instant::ZERO);
        let (mut now, mut sent) = (Instant::ZERO, 0);
        // Packets of a flight, and the stream data that fills them.
        for (flight, octets, window) in [(10, 12_352, 20), (4, 4_940, grown)] {
            let written = client.write(now, Payload::of_len(octets));
            assert_eq!(written, Ok(()));
            let packets = std::iter::from_fn(|| client.poll_transmit(now));
            let sizes: Vec<u32> = packets.map(|packet| packet.size - 28).collect();
            assert_eq!(sizes, vec![1252; flight], "{growth:?}");
            let (number, last) = (u64::from(sent > 0), sent + flight as u64 - 1);
            let acknowledgement = data(number, ack(sent, last));
            let size = acknowledgement.len(&client.config.header);
            now += millis(5);
            client.receive(now, &acknowledgement, size, Ecn::NotEct);
            assert_eq!(client.controller.window(), window * 1252, "{growth:?}");
            now += millis(20);
            sent = last + 1;
        }
    }
}

#[test]
fn a_reduction_is_undone_when_the_lost_packets_are_acknowledged() {
    for (undo_spurious, window) in [(false, 5), (true, 10)] {
        let mut config = lossy_link("inet-2025", 1);
        config.rules.undo_spurious = undo_spurious;
        let mut client = client_with_a_window_sent(config);
        deliver(&mut client, data(0, ack(2, 9)));
        assert_eq!(client.controller.window(), 5 * 1252);
        deliver(&mut client, data(1, ack(1, 9)));
        assert_eq!(
            client.controller.window(),
            5 * 1252,
            "one of two is still missing"
        );
        deliver(&mut client, data(2, ack(0, 9)));
        assert_eq!(client.controller.window(), window * 1252);
    }
}

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
        ecn: None,
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
    let expected = [(0, Bound::Nothing), (1, Bound::AntiAmplification)]
        .map(|(at, bound)| (Instant::ZERO + millis(at), Event::Blocked(bound)));
    assert_eq!(bounds, expected, "all of the time after the first packet");
}

#[test]
fn a_server_whose_probes_the_limit_holds_back_is_held_by_anti_amplification() {
    let mut pair = Pair::started(Config::named("rfc9002").unwrap());
    pair.server.events.set_mask(EventMask::BOUND);
    // Only the first packet of the client arrives, and the application of the server has nothing to
    // say: it repeats its handshake twice (RFC 9002 §6.2.2: after 999 ms, then after twice as
    // long), and may send no more (RFC 9000 §8.1).
    pair.drop = Box::new(|side, _| side == Side::Client);
    pair.run_for(Duration::from_secs(9));
    assert_eq!(pair.server.statistics().bytes_sent, 3600);
    let bounds: Vec<_> = pair.server.events.drain().collect();
    let expected = [
        (0, Bound::Nothing),
        (1, Bound::Application),
        (1 + 999 * 3, Bound::AntiAmplification),
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
fn closing_while_blocked_ends_when_the_maximum_is_raised() {
    let mut config = lossy_link("inet-2025", 1);
    config.flow_control.initial_max_data = 5_000;
    let mut pair = Pair::started(config);
    pair.reads = false;
    let now = pair.now;
    pair.client.write(now, Payload::of_len(20_000)).unwrap();
    pair.client.close(now);
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.client.state, State::Established);
    pair.reads = true;
    pair.run_for(Duration::from_secs(3));
    let finished = EndpointEvent::Closed(CloseReason::Finished);
    assert!(pair.endpoint_events.contains(&(Side::Server, finished)));
    assert_eq!(pair.octets_read, 20_000);
}

#[test]
fn ecn_marks_halve_the_window_without_a_loss() {
    let mut config = lossy_link("inet-2025", 1);
    config.ecn = true;
    let mut pair = Pair::started(config);
    pair.bulk = Some(Side::Client);
    pair.drop = periodic(51);
    pair.run_for(millis(500));
    pair.drop = Box::new(|_, _| false);
    pair.run_for(millis(20));
    let before = (pair.client.controller.window(), pair.client.statistics());
    pair.mark_next = true;
    pair.run_for(millis(4));
    let after = (pair.client.controller.window(), pair.client.statistics());
    assert!(
        after.0 <= before.0 / 2 + 2 * 1252,
        "{} {}",
        before.0,
        after.0
    );
    assert_eq!(after.1.loss_events, before.1.loss_events + 1);
    assert_eq!(after.1.packets_lost, before.1.packets_lost);
}

#[test]
fn a_controller_without_an_answer_to_marks_sends_packets_without_ect() {
    // draft-bbr §3.7.
    for (controller, ecn) in [("bbr", Ecn::NotEct), ("newreno", Ecn::Ect0)] {
        let mut config = Config {
            ecn: true,
            ..Config::default()
        };
        config.controller = window::find(controller).unwrap();
        let mut pair = Pair::started(config);
        pair.bulk = Some(Side::Client);
        pair.run_for(millis(200));
        assert_eq!(pair.client.ecn_field(), ecn, "{controller}");
    }
}

/// A pair with ECN whose client sends all it can.
fn with_ecn() -> Pair {
    let mut pair = Pair::new(Config {
        ecn: true,
        ..Config::default()
    });
    pair.bulk = Some(Side::Client);
    pair
}

#[test]
fn a_black_hole_for_ecn_costs_two_probe_timeouts_and_then_packets_are_not_capable() {
    // RFC 9000 §13.4.2 and appendix A.4: three periods of the PTO without an acknowledgement. The
    // initial PTO is 3·333 ms (RFC 9002 §6.2.2): it expires at 1 and at 3 s.
    for black_hole in [Side::Client, Side::Server] {
        let mut pair = with_ecn();
        pair.drop =
            Box::new(move |side, packet| side == black_hole && packet.ip.ecn != Ecn::NotEct);
        pair.client.connect(pair.now);
        pair.run_for(millis(2900));
        assert_eq!(pair.end(black_hole).ecn_field(), Ecn::Ect0);
        assert_eq!(pair.octets_read, 0);
        pair.run_for(millis(2000));
        assert_eq!(pair.end(black_hole).ecn_field(), Ecn::NotEct);
        assert!(pair.octets_read > 0, "{black_hole:?}");
    }
}

#[test]
fn timeouts_of_a_path_that_takes_ecn_do_not_end_its_use() {
    let mut pair = with_ecn();
    pair.client.connect(pair.now);
    pair.run_for(millis(500));
    pair.drop = Box::new(|_, _| true);
    pair.run_for(millis(60_000));
    assert!(pair.client.pto_count > 3);
    assert_eq!(pair.client.ecn_field(), Ecn::Ect0);
}

#[test]
fn a_path_that_clears_the_field_ends_the_use_of_ecn_and_one_that_marks_does_not() {
    // RFC 9000 §13.4.2.1: each acknowledged packet has to appear in the counts of the peer.
    for (share, field) in [(1, Ecn::NotEct), (20, Ecn::NotEct), (0, Ecn::Ect0)] {
        let mut pair = with_ecn();
        pair.bleach = share;
        pair.client.connect(pair.now);
        pair.run_for(millis(300));
        pair.mark_next = pair.client.ecn_field() == Ecn::Ect0;
        pair.run_for(millis(300));
        assert_eq!(pair.client.ecn_field(), field, "{share}");
        assert!(pair.octets_read > 100_000, "{share}");
    }
}

#[test]
fn headers_have_the_sizes_of_their_presets() {
    let rfc = Config::default();
    assert_eq!(rfc.header.number_len, PacketNumberLen::Minimal);
    assert_eq!(rfc.header.overhead(SpaceId::Data, 1), 1 + 8 + 1 + 16);
    let inet = Config::named("inet-2025").unwrap();
    assert_eq!(inet.header.overhead(SpaceId::Data, 4), 13);
    assert_eq!(inet.rules, Rules::INET_2025);
    assert_eq!(
        inet.ack,
        AckPolicy {
            first_at_once: false,
            ..inet.ack
        }
    );
    assert!(
        size_of::<wire::Packet>() <= 64,
        "{}",
        size_of::<wire::Packet>()
    );
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

#[test]
fn a_handshake_with_jumbo_frames_takes_no_longer() {
    let mut sizes = Vec::new();
    for max_datagram_size in [1200, 8972] {
        let mut config = Config::named("rfc9002").unwrap();
        config.max_datagram_size = Some(max_datagram_size);
        let mut pair = Pair::started(config);
        pair.bulk = Some(Side::Client);
        pair.run_for(Duration::from_millis(500));
        assert!(pair.server.amplification.is_none(), "{max_datagram_size}");
        sizes.push(pair.sizes.iter().copied().max());
    }
    assert!(sizes[0] < sizes[1] && sizes[1] > Some(8000), "{sizes:?}");
}
