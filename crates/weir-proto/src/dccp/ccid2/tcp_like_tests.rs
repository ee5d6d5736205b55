//! The window of RFC 4341 §5 worked by hand.

use super::*;
use crate::time::Duration;

/// A window of packets of 1000 octets.
fn window(cwnd: u32, ssthresh: u32) -> TcpLike {
    TcpLike {
        cwnd,
        ssthresh,
        ..TcpLike::new(1000)
    }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn unmarked(packets: u32) -> AckSummary {
    AckSummary {
        unmarked: packets,
        ..AckSummary::default()
    }
}

#[test]
fn the_state_is_reported_in_octets_and_begins_without_a_threshold() {
    let state = TcpLike::new(1000).state(3, Rtt::default());
    // RFC 3390: four packets of 1000 octets are within 4380.
    assert_eq!((state.cwnd, state.bytes_in_flight), (4000, 3000));
    assert_eq!((state.ssthresh, state.state), (None, "slow_start"));
    assert_eq!(state.limit, Limit::InitialWindow);
    // A packet size of zero counts as one octet.
    assert_eq!(TcpLike::new(0).state(0, Rtt::default()).cwnd, 4);
    for (cwnd, name) in [(9, "slow_start"), (10, "congestion_avoidance")] {
        let state = window(cwnd, 10).state(0, Rtt::default());
        assert_eq!((state.ssthresh, state.state), (Some(10_000), name));
    }
}

#[test]
fn slow_start_grows_by_half_of_what_is_acknowledged_and_at_most_half_the_ratio() {
    // RFC 4341 §5: ten acknowledged packets add five; with R = 5 at most three, rounded up, and of
    // the rest only half a packet is kept.
    for (acked, ratio, cwnd, left) in [
        (10, 10, 25, 0),
        (10, 5, 23, 1),
        (3, 10, 21, 1),
        (1, 10, 20, 1),
    ] {
        let mut window = window(20, 100);
        window.grow(at(0), &unmarked(acked), ratio);
        let found = (window.cwnd, window.acked_since_increase);
        assert_eq!(found, (cwnd, left), "{acked} {ratio}");
        assert_eq!(window.limit, Limit::SlowStart);
    }
}

#[test]
fn congestion_avoidance_grows_by_a_packet_in_each_window() {
    // RFC 4341 §5: packets acknowledged beyond the window count for the next increase.
    let mut window = window(10, 10);
    let found = [7, 6, 7, 1].map(|acked| {
        window.grow(at(0), &unmarked(acked), 2);
        (window.cwnd, window.acked_since_increase)
    });
    assert_eq!(found, [(10, 7), (11, 3), (11, 10), (12, 0)]);
    assert_eq!(window.limit, Limit::CongestionAvoidance);
}

#[test]
fn a_slow_receiver_stops_growth_until_its_time_and_slow_start_for_good() {
    // RFC 4340 §11.6 and RFC 4341 §5.2.
    let mut window = window(8, 100);
    window.on_receiver_reports(Some(at(50)));
    assert_eq!(window.ssthresh, 8);
    for (now, cwnd) in [(49, 8), (50, 9)] {
        window.grow(at(now), &unmarked(8), 2);
        assert_eq!(window.cwnd, cwnd, "{now} ms");
    }
    // The threshold is at least two packets, and a report without the option keeps the time.
    let mut small = TcpLike {
        cwnd: 1,
        slow_until: Some(at(70)),
        ..TcpLike::new(1000)
    };
    small.on_receiver_reports(None);
    assert_eq!((small.ssthresh, small.slow_until), (2, Some(at(70))));
}

#[test]
fn a_window_that_was_not_filled_or_gets_no_unmarked_packets_does_not_grow() {
    let mut idle = window(10, 100);
    idle.on_sent(9);
    idle.grow(at(0), &unmarked(4), 2);
    assert_eq!((idle.cwnd, idle.limit), (10, Limit::ApplicationLimited));
    idle.on_sent(10);
    idle.grow(at(0), &unmarked(0), 2);
    assert_eq!((idle.cwnd, idle.limit), (10, Limit::ApplicationLimited));
    idle.grow(at(0), &unmarked(2), 2);
    assert_eq!((idle.cwnd, idle.limit), (11, Limit::SlowStart));
}

#[test]
fn each_packet_that_the_receiver_dropped_takes_one_from_the_window() {
    // RFC 4341 §5.2, drop code 2; a packet is left.
    for (dropped, cwnd) in [(3, 7), (9, 1), (20, 1)] {
        let mut window = window(10, 10);
        let summary = AckSummary {
            dropped_by_receiver: dropped,
            ..AckSummary::default()
        };
        window.grow(at(0), &summary, 2);
        assert_eq!(window.cwnd, cwnd);
    }
}

#[test]
fn a_congestion_event_halves_the_window_and_a_timeout_leaves_a_packet() {
    // RFC 4341 §5: ssthresh is half of the window and at least two packets.
    for (cwnd, halved, ssthresh) in [(20, 10, 10), (5, 2, 2), (3, 1, 2), (1, 1, 2)] {
        let before = TcpLike {
            acked_since_increase: 1,
            ..window(cwnd, 100)
        };
        let mut reduced = before.clone();
        reduced.reduce();
        let found = (reduced.cwnd, reduced.ssthresh, reduced.acked_since_increase);
        assert_eq!(found, (halved, ssthresh, 0), "{cwnd}");
        let mut timed_out = before;
        timed_out.on_timeout();
        let found = (
            timed_out.cwnd,
            timed_out.ssthresh,
            timed_out.acked_since_increase,
        );
        assert_eq!(found, (1, ssthresh, 0), "{cwnd}");
    }
}

#[test]
fn an_idle_time_leaves_the_initial_window_and_three_quarters_as_the_threshold() {
    // RFC 4341 §5.1 and RFC 5681 §4.1, with ssthresh as RFC 2861 §3 has it: 3/4 of 100 packets.
    for (cwnd, ssthresh, restarted) in [(100, 10, (4, 75)), (100, 90, (4, 90)), (4, 3, (4, 3))] {
        let mut window = TcpLike {
            acked_since_increase: 2,
            ..window(cwnd, ssthresh)
        };
        window.restart();
        assert_eq!((window.cwnd, window.ssthresh), restarted);
        let left = if cwnd > 4 { 0 } else { 2 };
        assert_eq!(window.acked_since_increase, left, "{cwnd}");
    }
}
