//! Copa's rules against values worked by hand (NSDI 2018).

use super::*;
use crate::cc::{Rtt, WindowControllerExt as _};

const PACKET: u64 = 1000;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn copa() -> Copa {
    let config = WindowConfig {
        max_datagram_size: PACKET,
        initial_window: Some(10 * PACKET),
        ..WindowConfig::default()
    };
    Copa::new(&config)
}

/// Copa outside of slow start with a window of `packets` packets, after a sample of 100 ms.
fn steady(packets: u64) -> Copa {
    let mut copa = copa();
    copa.take_sample(&acks(0, 0, 100));
    copa.slow_start = false;
    copa.cwnd = (packets * PACKET) as f64;
    copa.velocity = Velocity::new(copa.cwnd);
    copa.round_began = at(1_000_000);
    copa
}

/// An acknowledgement of `packets` packets with a sample of the round-trip time. The smoothed
/// round-trip time is 100 ms.
fn acks(now: u64, packets: u64, rtt_ms: u64) -> EndAcks {
    let sample = Duration::from_millis(rtt_ms);
    EndAcks {
        now: at(now),
        newly_acked: packets * PACKET,
        acked_packets: packets,
        newest_sent_at: at(now.saturating_sub(rtt_ms)),
        rtt_sample: Some(sample),
        rtt: Rtt {
            latest: sample,
            smoothed: Duration::from_millis(100),
            ..Rtt::default()
        },
        ..EndAcks::default()
    }
}

/// The packets arrive, and nothing limits sending.
fn arrive(copa: &mut Copa, now: u64, packets: u64, rtt_ms: u64) -> f64 {
    copa.on_ack(&Acked {
        now: at(now),
        bytes: packets * PACKET,
        ..Acked::default()
    });
    copa.on_end_acks(&acks(now, packets, rtt_ms));
    copa.cwnd
}

#[test]
fn the_window_moves_towards_the_target_rate() {
    // §2.1, DELTA 0.5: with a delay of 25 ms the target is 1/(0.5·0.025) = 80 packets per second,
    // that is ten packets in RTTstanding of 125 ms. A packet of ten moves the window by
    // 1/(0.5·10) = 0.2 packets, one of eleven by 1/5.5.
    for (packets, cwnd) in [
        (9, 9000.0 + 1000.0 / 4.5),
        (10, 10_200.0),
        (11, 11_000.0 - 1000.0 / 5.5),
    ] {
        let mut copa = steady(packets);
        // Later than half of the smoothed round-trip time, so that the 100 ms are no longer
        // RTTstanding.
        let window = arrive(&mut copa, 200, 1, 125);
        assert_eq!(copa.standing.get(), Duration::from_millis(125));
        assert_eq!(copa.min_rtt.get(), Duration::from_millis(100));
        assert!((window - cwnd).abs() < 1e-6, "{packets}: {window}");
    }
}

#[test]
fn rtt_standing_is_the_least_of_half_a_round_trip_and_rtt_min_of_ten_seconds() {
    // §2.1, STANDING_SHARE 0.5 and MIN_RTT_FILTER 10 s.
    for (time, standing) in [(50, 100), (51, 125)] {
        let mut copa = steady(10);
        copa.take_sample(&acks(time, 1, 125));
        assert_eq!(copa.standing.get(), Duration::from_millis(standing));
    }
    for (time, least) in [(10_000, 100), (10_001, 125)] {
        let mut copa = steady(10);
        copa.take_sample(&acks(time, 1, 125));
        assert_eq!(copa.min_rtt.get(), Duration::from_millis(least));
    }
}

#[test]
fn the_velocity_doubles_after_three_round_trips_in_one_direction() {
    // §2.1, STEADY_ROUNDS 3.
    let mut velocity = Velocity::new(10.0);
    let mut after = |window| {
        velocity.on_round(window, STEADY_ROUNDS);
        velocity.value
    };
    let up = [11.0, 12.0, 13.0, 14.0, 15.0, 16.0].map(&mut after);
    assert_eq!(up, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0]);
    let down = [15.0, 14.0, 13.0, 12.0].map(&mut after);
    assert_eq!(down, [1.0, 1.0, 1.0, 2.0]);
}

#[test]
fn a_high_velocity_ends_when_the_window_turns() {
    let mut copa = steady(10);
    copa.velocity.value = 8.0;
    // Up by 8/(0.5·10) packets, at most by the packets acknowledged; then one packet of eleven is
    // too much.
    assert_eq!(arrive(&mut copa, 10, 1, 100), 11_000.0);
    let window = arrive(&mut copa, 200, 1, 125);
    assert!(
        (window - (11_000.0 - 1000.0 / 5.5)).abs() < 1e-6,
        "{window}"
    );
    assert_eq!(copa.velocity.value, 1.0);
}

#[test]
fn slow_start_doubles_until_the_rate_exceeds_the_target() {
    // §2.1: without a queue there is no target; with 10 ms it is 200 packets per second, 22 in
    // 110 ms.
    let mut copa = copa();
    assert_eq!(arrive(&mut copa, 100, 10, 100), 20_000.0);
    assert_eq!(copa.report().state, "slow_start");
    assert_eq!(arrive(&mut copa, 200, 1, 110), 21_000.0);
    assert_eq!(arrive(&mut copa, 201, 2, 110), 23_000.0);
    let window = arrive(&mut copa, 202, 1, 110);
    assert!(
        (window - (23_000.0 - 1000.0 / 11.5)).abs() < 1e-6,
        "{window}"
    );
    assert_eq!(copa.report().state, "congestion_avoidance");
}

#[test]
fn packets_leave_at_twice_the_window_in_rtt_standing() {
    // §2.1, PACING_GAIN 2: 10 packets in 100 ms are 100,000 octets per second.
    assert_eq!(copa().pacing_rate(), None);
    let copa = steady(10);
    assert_eq!(
        copa.pacing_rate(),
        Some(Rate::from_bytes_per_sec(200_000.0))
    );
    assert_eq!(
        copa.pacing().and_then(|pacing| pacing.quantum),
        Some(2 * PACKET)
    );
}

/// `count` round trips with this round-trip time.
fn rounds(copa: &mut Copa, from: u64, count: u64, rtt_ms: u64) {
    for round in 0..count {
        copa.round_began = Instant::ZERO;
        arrive(copa, from + 100 * round, 1, rtt_ms);
    }
}

#[test]
fn a_queue_that_is_never_nearly_empty_in_five_round_trips_makes_it_compete() {
    // §2.2, EMPTY_SHARE 0.1, EMPTY_ROUNDS 5, MAX_RTT_ROUNDS 4: with RTTmax 200 ms and RTTmin
    // 100 ms the queue is nearly empty with 10 ms and not with 11 ms.
    for (rtt_ms, state) in [(110, "congestion_avoidance"), (111, "competitive")] {
        let mut copa = steady(10);
        for round in 0..8 {
            let now = 200 + 200 * round;
            copa.take_sample(&acks(now, 0, 200));
            copa.round_began = Instant::ZERO;
            arrive(&mut copa, now + 100, 1, rtt_ms);
            let expected = if round < 4 {
                "congestion_avoidance"
            } else {
                state
            };
            if round != 4 {
                assert_eq!(copa.report().state, expected, "{rtt_ms} ms, round {round}");
            }
        }
    }
}

#[test]
fn a_competing_flow_adds_to_1_over_delta_and_halves_it_with_a_loss() {
    // §2.2, COMPETITIVE_INCREASE 1 and COMPETITIVE_DECREASE 0.5, from 1/DELTA = 2 on.
    let mut copa = steady(100);
    copa.rounds_since_empty = 100;
    let mut wanted = Vec::new();
    for round in 0..6 {
        rounds(&mut copa, 200 + 100 * round, 1, 200);
        wanted.push(copa.wanted());
    }
    assert_eq!(wanted, [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let loss = |copa: &mut Copa, now, sent| {
        copa.on_congestion_event(&CongestionEvent {
            now: at(now),
            sent_at: at(sent),
            ..CongestionEvent::default()
        });
        copa.wanted()
    };
    assert_eq!(loss(&mut copa, 800, 700), 3.5);
    assert_eq!(loss(&mut copa, 810, 799), 3.5, "the same flight");
    rounds(&mut copa, 850, 1, 200);
    assert_eq!(copa.wanted(), 3.5, "a round trip with a loss adds nothing");
    assert_eq!(loss(&mut copa, 900, 801), 2.0, "never less than by default");
    // A nearly empty queue brings the default mode back.
    copa.take_sample(&acks(1000, 1, 100));
    rounds(&mut copa, 1010, 1, 100);
    assert_eq!(copa.report().state, "congestion_avoidance");
    assert_eq!(copa.wanted(), 2.0);
}

#[test]
fn losses_mean_nothing_in_the_default_mode_and_a_timeout_starts_again() {
    let mut copa = steady(50);
    copa.on_congestion_event(&CongestionEvent::default());
    assert_eq!(copa.window(), 50 * PACKET);
    copa.on_retransmission_timeout(&RetransmissionTimeout::default());
    assert_eq!((copa.window(), copa.report().state), (PACKET, "slow_start"));
    let mut copa = steady(3);
    // Ten packets with half a second of queue: the target is 2.4 packets in RTTstanding.
    arrive(&mut copa, 200, 10, 600);
    assert_eq!(copa.window(), 2 * PACKET, "the least window");
    assert_eq!(copa.report().limit, Limit::MinimumWindow);
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut copa = steady(10);
    copa.on_ack(&Acked {
        bytes: PACKET,
        app_limited: true,
        ..Acked::default()
    });
    copa.on_end_acks(&acks(10, 1, 100));
    assert_eq!(copa.window(), 10 * PACKET);
    assert_eq!(copa.report().limit, Limit::ApplicationLimited);
}
