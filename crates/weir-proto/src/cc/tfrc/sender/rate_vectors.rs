//! The sender's X, R, s and their limits against values worked by hand, at the bounds of each rule.

use super::super::profile::OscillationInSlowStart;
use super::super::small_packets::SmallPackets;
use super::super::wireless_extensions::Veno;
use super::vectors::{RTT, S, at, expire, feed, rate, started, without_oscillation_reduction};
use super::*;

#[test]
fn a_sender_begins_with_nothing() {
    let mut sender = Sender::new(Profile::rfc5348(), 1460);
    let state = sender.state();
    assert_eq!(state.allowed_rate.as_bytes_per_sec(), 0.0);
    assert_eq!(state.receive_rate.as_bytes_per_sec(), 0.0);
    assert_eq!((state.loss_event_rate, state.segment_size), (0.0, 0));
    assert_eq!(state.state, "no_feedback_yet");
    sender.on_handshake_rtt(RTT);
    sender.on_sent(at(0), S);
    for (now, p, name) in [
        (100, 0.0, "slow_start"),
        (200, 0.01, "congestion_avoidance"),
    ] {
        feed(&mut sender, at(now), 100_000, p);
        assert_eq!(sender.state().state, name);
    }
    expire(&mut sender);
    assert_eq!(sender.state().state, "no_feedback");
}

#[test]
fn the_mss_counts_at_least_one_octet_and_may_change() {
    // RFC 5348 §4.2: 4·MSS octets in 100 ms.
    assert_eq!(rate(&started(Profile::rfc5348(), 0)), 40.0);
    for (mss, expected) in [(0, 40.0), (500, 20_000.0)] {
        let mut sender = Sender::new(Profile::rfc5348(), 1460);
        sender.set_maximum_segment_size(mss);
        sender.on_handshake_rtt(RTT);
        sender.on_sent(at(0), S);
        assert_eq!(rate(&sender), expected);
    }
}

#[test]
fn the_segment_size_counts_at_least_one_octet() {
    for profile in [Profile::rfc5348(), Profile::linux_mainline()] {
        for (payloads, expected) in [
            (&[0][..], 1.0),
            (&[0, 0], 1.0),
            // 0.9·1 + 0.1·11.
            (&[1, 11], 2.0),
        ] {
            let mut sender = Sender::new(profile.clone(), 1460);
            sender.start(at(0), payloads[0]);
            for payload in payloads.iter().skip(1) {
                sender.update_segment_size(*payload);
            }
            let size = sender.segment_size;
            assert!((size - expected).abs() < 1e-9, "{payloads:?}: {size}");
        }
    }
}

#[test]
fn a_round_trip_time_is_at_least_a_nanosecond() {
    let mut sender = Sender::new(
        Profile {
            unusable_rtt: Duration::ZERO,
            ..Profile::rfc5348()
        },
        1460,
    );
    sender.on_handshake_rtt(Duration::ZERO);
    sender.on_sent(at(0), S);
    assert_eq!(sender.state().rtt, Duration::from_nanos(1));
    assert_eq!(sender.state().smoothed_rtt, Duration::from_nanos(1));
}

#[test]
fn the_first_feedback_replaces_the_handshakes_sample() {
    // RFC 5348 §4.3 step 2: "If no feedback has been received before, R = R_sample".
    let mut sender = started(without_oscillation_reduction(), 1460);
    let feedback = Feedback {
        sent_at: at(0),
        elapsed_time: Duration::ZERO,
        receive_rate: 0,
        loss_event_rate: 2.0,
        new_loss_event: false,
    };
    sender.on_feedback(at(200), &feedback, &mut Events::default());
    assert_eq!(sender.smoothed_rtt(), Some(Duration::from_millis(200)));
    assert_eq!(sender.loss_event_rate(), 1.0, "p is at most one");
}

#[test]
fn at_equality_the_rule_of_the_rate_itself_is_its_limit() {
    let rfc = without_oscillation_reduction;
    let linux = || Profile {
        oscillation_in_slow_start: OscillationInSlowStart::Exempt,
        ..Profile::linux_2008()
    };
    for (profile, now, receive_rate, p, expected) in [
        // 2X = 87 600 is recv_limit; recv_limit is W_init/R = 43 800 (RFC 5348 §4.3 step 4).
        (rfc(), 200, 43_800, 0.0, (87_600.0, Limit::SlowStart)),
        (rfc(), 200, 21_900, 0.0, (43_800.0, Limit::TwiceReceiveRate)),
        // Linux's f(0.0005) is 0.018340: X_calc = floor(10^10/18 340) = 545 256 = 2·272 628.
        (linux(), 120, 272_628, 0.0005, (545_256.0, Limit::Equation)),
        // An idle Linux sender: W_init/R = 40 000 = 2·20 000.
        (
            linux(),
            400,
            20_000,
            0.0005,
            (40_000.0, Limit::TwiceReceiveRate),
        ),
    ] {
        let mut sender = started(profile, 1460);
        feed(&mut sender, at(100), 0, 0.0);
        feed(&mut sender, at(now), receive_rate, p);
        assert_eq!((rate(&sender), sender.limit()), expected);
    }
    // s/t_mbi = 15.625.
    let mut sender = started(rfc(), 1460);
    for (asked, limit) in [(15.625, Limit::Equation), (15.6, Limit::MinimumRate)] {
        sender.set_rate(asked, Limit::Equation);
        assert_eq!((rate(&sender), sender.limit()), (15.625, limit));
    }
}

#[test]
fn a_sender_is_idle_after_two_round_trips_without_a_new_counter() {
    // Linux, ccid3_hc_tx_idle_rtt(): the counter changed at 100 ms and R is 100 ms.
    for (micros, expected) in [(299_999, 10_000.0), (300_000, 40_000.0)] {
        let mut sender = started(Profile::linux_2008(), 1460);
        feed(&mut sender, at(100), 0, 0.0);
        sender.on_sent(at(100), S);
        let now = Instant::ZERO + Duration::from_micros(micros);
        feed(&mut sender, now, 100, 0.0);
        assert_eq!(rate(&sender), expected, "{micros}");
    }
}

#[test]
fn venos_equation_gives_more() {
    // f(0.01) = 0.081650 + 12·0.061237·0.01·1.0032 = 0.089022 (§3.1). With g = 4/5 (see the module)
    // sqrt(0.4·0.01/1.8) = 0.047140 + 12·sqrt(0.36·0.01/2)·0.01·1.0032 = 0.005107: 0.052248.
    let mut profile = without_oscillation_reduction();
    profile.wireless.veno = Veno::Equation;
    let mut sender = started(profile, 1460);
    feed(&mut sender, at(100), 0, 0.0);
    feed(&mut sender, at(400), 1_000_000, 0.01);
    assert!((rate(&sender) / (10_000.0 / 0.052_248) - 1.0).abs() < 1e-4);
}

#[test]
fn small_packets_have_the_rate_of_large_ones_less_headers_and_leave_10_ms_apart() {
    // RFC 4828 §3 and RFC 5622 §5: X = 1460/(R·f(0.01)) · s/(s + 36), with s = 36 a half, and
    // t_ipi = s/X would be 0.44 ms.
    let small = Profile {
        small_packets: Some(SmallPackets::CCID4),
        ..without_oscillation_reduction()
    };
    let mut sender = Sender::new(small, 1460);
    sender.on_handshake_rtt(RTT);
    sender.on_sent(at(0), 36);
    feed(&mut sender, at(100), 0, 0.0);
    feed(&mut sender, at(400), 1_000_000, 0.01);
    let expected = 14_600.0 / 0.089_022 / 2.0;
    assert!((rate(&sender) / expected - 1.0).abs() < 1e-4);
    assert_eq!(sender.inter_packet_interval(), Duration::from_millis(10));
    assert_eq!(sender.state().limit, Limit::MinimumInterval);
    // RFC 5622 §5: the credit of a second's silence does not shorten the 10 ms.
    sender.on_sent(at(1400), 36);
    for (now, next) in [(1400, 1410), (1409, 1410), (1410, 1410), (1420, 1420)] {
        assert_eq!(sender.next_send(at(now), 36), at(next), "{now}");
    }
}
