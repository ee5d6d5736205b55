//! Written data arrives, within the limits of the receiver (RFC 9000 §4).

use super::*;

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
        config.rules.controller.undo_spurious = rng.chance(0.5);
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
