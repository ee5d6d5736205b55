//! The receiver's feedback against values worked by hand: when it is due, why, and its X_recv.

use super::vectors::{at, data, received};
use super::*;
use crate::event::FeedbackDecision;

#[test]
fn the_reason_of_feedback_is_named() {
    let (rfc, linux) = (Profile::rfc5348, Profile::linux_mainline);
    let after_first = |profile: Profile, packets: &[(i64, u8)]| {
        let mut receiver = received(profile, &[(0, 0)]);
        assert_eq!(
            receiver.feedback_decision(),
            Some(FeedbackDecision::FirstPacket)
        );
        receiver.take_feedback(at(0));
        for &(seq, counter) in packets {
            receiver.on_packet(at(1), &data(seq, counter), |_| {});
        }
        receiver.feedback_decision()
    };
    assert_eq!(Receiver::new(rfc()).feedback_decision(), None);
    // RFC 4342 §10.3: the counter is four ahead. Linux waits while a hole may become a loss.
    for (profile, counter, decision) in [
        (rfc(), 3, FeedbackDecision::CounterBehind),
        (linux(), 3, FeedbackDecision::CounterBehind),
        (rfc(), 4, FeedbackDecision::Periodic),
        (linux(), 4, FeedbackDecision::LossPending),
    ] {
        assert_eq!(after_first(profile, &[(2, counter)]), Some(decision));
    }
    let lost = [(2, 0), (3, 0), (4, 0)];
    assert_eq!(after_first(rfc(), &lost), Some(FeedbackDecision::LossEvent));
    // RFC 5348 §6.1: p was zero, also before the first feedback.
    let receiver = received(rfc(), &[(0, 0), (2, 0), (3, 0), (4, 0)]);
    assert_eq!(
        receiver.feedback_decision(),
        Some(FeedbackDecision::LossEvent)
    );
}

#[test]
fn counters_of_packets_without_data_do_not_count() {
    // RFC 4342 §8.1: CCVal is that of data packets.
    let mut receiver = received(Profile::rfc5348(), &[(0, 0)]);
    receiver.take_feedback(at(0));
    let acknowledgement = ArrivedPacket {
        payload: None,
        ..data(1, 9)
    };
    receiver.on_packet(at(1), &acknowledgement, |_| {});
    assert!(!receiver.wants_feedback());
}

#[test]
fn the_first_data_packet_sets_the_counter_though_another_packet_is_newer() {
    // RFC 4342 §10.3: last_counter is that of data. 5 carries no data and comes before 3.
    let mut receiver = Receiver::new(Profile::rfc5348());
    for seq in [0, 5] {
        let no_data = ArrivedPacket {
            payload: None,
            ..data(seq, 0)
        };
        receiver.on_packet(at(0), &no_data, |_| {});
    }
    let first = ArrivedPacket {
        ndp: 2,
        ..data(3, 9)
    };
    receiver.on_packet(at(1), &first, |_| {});
    assert!(receiver.take_feedback(at(1)).is_some());
    receiver.on_packet(at(2), &data(6, 10), |_| {});
    assert!(!receiver.wants_feedback());
}

/// X_recv of the feedback at the end of these packets: sequence number, milliseconds, counter,
/// octets. Other feedback leaves when it is due, except where `at_end_only`.
fn last_rate(profile: Profile, at_end_only: bool, packets: &[(i64, u64, u8, u32)]) -> u32 {
    let mut receiver = Receiver::new(profile);
    let mut last = None;
    for (n, &(seq, millis, counter, octets)) in (1..).zip(packets) {
        let packet = ArrivedPacket {
            payload: Some(octets),
            ..data(seq, counter)
        };
        receiver.on_packet(at(millis), &packet, |_| {});
        if n == packets.len() || !at_end_only {
            last = receiver.take_feedback(at(millis));
        }
    }
    last.expect("feedback at the end").receive_rate
}

#[test]
fn a_loss_event_repeats_the_rate_in_linux_and_measures_it_in_the_rfc() {
    let (rfc, linux) = (Profile::rfc5348, Profile::linux_mainline);
    let lost_at_once = [
        (0, 0, 0, 500),
        (2, 1, 0, 500),
        (3, 2, 0, 500),
        (4, 10, 0, 500),
    ];
    // An octet in a second, then faster. R is a second from the counters.
    let measured = [
        (0, 0, 0, 1),
        (1, 1000, 4, 1),
        (3, 1250, 5, 1000),
        (4, 1500, 6, 1000),
        (5, 2000, 7, 998),
    ];
    for (profile, at_end_only, packets, expected) in [
        // No feedback was sent before, so there is no time to measure over.
        (linux(), true, &lost_at_once[..], 0),
        (rfc(), true, &lost_at_once[..], 0),
        // The first feedback has no rate to repeat: 1500 octets in 10 ms.
        (linux(), false, &lost_at_once[..], 150_000),
        (rfc(), false, &lost_at_once[..], 150_000),
        // RFC 5348 §6.2: 2998 octets in the second since the last feedback.
        (linux(), false, &measured[..], 1),
        (rfc(), false, &measured[..], 2998),
    ] {
        let found = last_rate(profile, at_end_only, packets);
        assert_eq!(found, expected, "{at_end_only} {packets:?}");
    }
}

#[test]
fn a_rate_is_measured_over_a_microsecond_at_least() {
    for profile in [Profile::rfc5348(), Profile::linux_mainline()] {
        let rate = last_rate(profile, false, &[(0, 0, 0, 1), (1, 0, 4, 1)]);
        assert_eq!(rate, 1_000_000);
    }
}

#[test]
fn the_segment_size_is_filtered_with_nine_tenths() {
    // RFC 5348 §4.1; an empty payload counts as an octet.
    for profile in [Profile::rfc5348(), Profile::linux_mainline()] {
        for (payloads, expected) in [
            (&[0][..], 1.0),
            (&[1, 1], 1.0),
            (&[1, 11], 2.0),
            (&[1000, 2000], 1100.0),
        ] {
            let mut receiver = Receiver::new(profile.clone());
            for (seq, payload) in (0..).zip(payloads) {
                let packet = ArrivedPacket {
                    payload: Some(*payload),
                    ..data(seq, 0)
                };
                receiver.on_packet(at(0), &packet, |_| {});
            }
            let size = receiver.segment_size;
            assert!((size - expected).abs() < 1e-9, "{payloads:?}: {size}");
        }
    }
}

#[test]
fn a_round_trip_time_that_is_far_too_long_leaves_the_rate_of_the_time_that_is_remembered() {
    // RFC 5348 §6.2: octets received in R. R is 10 s and a packet of 1000 octets comes every 50 ms,
    // each with feedback, which reaches eight feedbacks back: 8·1000 octets in 0.4 s.
    let mut receiver = Receiver::new(Profile::rfc5348());
    receiver.on_rtt_estimate(Duration::from_secs(10));
    let mut rate = 0;
    for n in 0..20_u8 {
        let now = at(50 * u64::from(n));
        receiver.on_packet(now, &data(i64::from(n), 5 * n), |_| {});
        rate = receiver.take_feedback(now).expect("feedback").receive_rate;
        if n == 4 {
            // Before that all octets since the first packet are known: 4000 in 10 s.
            assert_eq!(rate, 400);
        }
    }
    assert_eq!(rate, 20_000);
}
