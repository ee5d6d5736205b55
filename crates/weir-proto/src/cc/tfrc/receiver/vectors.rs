//! The receiver against values worked by hand from RFC 4342 and RFC 5348, rule by rule.

use super::*;
use crate::cc::tfrc::{SmallPackets, response};

const S: u32 = 1000;

pub(super) fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

pub(super) fn data(seq: i64, counter: u8) -> ArrivedPacket {
    ArrivedPacket {
        seq,
        counter: counter & 15,
        payload: Some(S),
        ndp: 0,
        marked: false,
    }
}

/// A receiver of data packets with these numbers and window counters, 1 ms apart.
pub(super) fn received(profile: Profile, packets: &[(i64, u8)]) -> Receiver {
    let mut receiver = Receiver::new(profile);
    for (n, &(seq, counter)) in (0..).zip(packets) {
        receiver.on_packet(at(n), &data(seq, counter), |_| {});
    }
    receiver
}

#[test]
fn a_counter_more_than_four_ahead_separates_loss_events() {
    // RFC 4342 §10.2, EVENT_DISTANCE: X = 1 and Y = 4 are lost, X_prev = 0 has counter 14. The
    // packet S in between, 3, and the two before it count; the distance must be greater than 4.
    for (counter, events) in [(14 + 4, 1), (14 + 5, 2), (14 + 15, 2), (14 + 16, 1)] {
        let packets = [
            (0, 14),
            (2, 14),
            (3, counter),
            (5, counter),
            (6, counter),
            (7, counter),
        ];
        let receiver = received(Profile::rfc5348(), &packets);
        assert_eq!(receiver.loss_events(), events, "{counter}");
    }
    // C(Y_prev) is 14 again after a wrap, and a packet between has distance 5.
    let wrapped = [
        (0, 14),
        (2, 14),
        (3, 14 + 5),
        (4, 14),
        (6, 14),
        (7, 14),
        (8, 14),
    ];
    let receiver = received(Profile::rfc5348(), &wrapped);
    assert_eq!(receiver.loss_events(), 2);
    let near = [
        (0, 14),
        (2, 14),
        (3, 14 + 4),
        (4, 14),
        (6, 14),
        (7, 14),
        (8, 14),
    ];
    let receiver = received(Profile::rfc5348(), &near);
    assert_eq!(receiver.loss_events(), 1);
}

#[test]
fn feedback_is_due_when_the_counter_is_four_ahead() {
    // RFC 4342 §10.3, FEEDBACK_DISTANCE: "greater than or equal to last_counter + 4".
    for (counter, due) in [(3, false), (4, true), (5, true), (15, true), (16, false)] {
        let mut receiver = received(Profile::rfc5348(), &[(0, 0)]);
        assert!(receiver.take_feedback(at(0)).is_some(), "the first packet");
        receiver.on_packet(at(1), &data(1, counter), |_| {});
        assert_eq!(receiver.wants_feedback(), due, "{counter}");
    }
    // last_counter is the greatest at the feedback.
    let mut receiver = received(Profile::rfc5348(), &[(0, 0), (1, 2)]);
    receiver.take_feedback(at(1));
    for (counter, due) in [(5, false), (6, true)] {
        receiver.on_packet(at(2), &data(i64::from(counter), counter), |_| {});
        assert_eq!(receiver.wants_feedback(), due, "{counter}");
    }
}

#[test]
fn loss_events_by_time_are_more_than_a_round_trip_apart() {
    // RFC 5348 §5.2: R = 40 ms is known from the sender, packets leave every 10 ms, 2 is lost at
    // 20 ms. A loss at 60 ms belongs to its event, one at 70 ms does not.
    let profile = Profile {
        loss_event_rule: LossEventRule::ArrivalTime,
        ..Profile::rfc5348()
    };
    for (second, events) in [(6_i64, 1), (7, 2)] {
        let mut receiver = Receiver::new(profile.clone());
        receiver.on_rtt_estimate(Duration::from_millis(40));
        for seq in (0..12).filter(|seq| ![2, second].contains(seq)) {
            receiver.on_packet(at(10 * seq.unsigned_abs()), &data(seq, 0), |_| {});
        }
        assert_eq!(receiver.loss_events(), events, "{second}");
    }
}

#[test]
fn the_time_of_a_lost_packet_is_interpolated() {
    // RFC 5348 §5.2: packets 10 and 14 came at 100 and 140 ms; of 11, 12 and 13 the first would
    // have come at 100 + (140 - 100)·(11 - 10)/(14 - 10) = 110 ms.
    let entry = |seq, millis| HistoryEntry {
        seq,
        counter: 0,
        at: at(millis),
        data: true,
        ndp: 0,
        marked: false,
    };
    let hole = Hole {
        before: entry(10, 100),
        after: entry(14, 140),
    };
    assert_eq!(interpolated(&hole), at(110));
}

#[test]
fn the_sender_is_quiescent_after_two_round_trips_and_two_tenths_of_a_second() {
    // RFC 4342 §6.4, QUIESCENT_ROUND_TRIPS and QUIESCENT_TIME: max(0.2 s, 2R).
    for (rtt, quiescent) in [(50, 200), (100, 200), (150, 300)] {
        let mut receiver = received(Profile::rfc5348(), &[(0, 0)]);
        receiver.on_rtt_estimate(Duration::from_millis(rtt));
        assert!(!receiver.is_quiescent(at(quiescent - 1)), "{rtt}");
        assert!(receiver.is_quiescent(at(quiescent)), "{rtt}");
    }
    assert!(!Receiver::new(Profile::rfc5348()).is_quiescent(at(9000)));
}

#[test]
fn the_receive_rate_covers_at_least_a_round_trip() {
    // RFC 4342 §8.3, RFC 5348 §6.2: R = 100 ms, 1000 octets each 10 ms. Feedback leaves at 0, 100,
    // 130 and 170 ms: the last two count from the feedback that is at least R ago, at 0 and 0 ms.
    let mut receiver = Receiver::new(Profile::rfc5348());
    receiver.on_rtt_estimate(Duration::from_millis(100));
    let mut seq = 0_i64;
    for (until, due, expected) in [
        (0_i64, FeedbackReason::FirstPacket, 0),
        (100, FeedbackReason::Periodic, 100_000),
        (130, FeedbackReason::Periodic, 100_000),
        (170, FeedbackReason::Periodic, 100_000),
        // 30 packets of 2000 octets since 170 ms, of 10 in 100 ms before.
        (270, FeedbackReason::Periodic, 200_000),
    ] {
        let size = if until > 170 { 2000 } else { 1000 };
        while seq * 10 <= until {
            let packet = ArrivedPacket {
                payload: Some(size),
                ..data(seq, 0)
            };
            receiver.on_packet(at(10 * seq.unsigned_abs()), &packet, |_| {});
            seq += 1;
        }
        receiver.due = due;
        let report = receiver.take_feedback(at(until.unsigned_abs()));
        assert_eq!(
            report.map(|report| report.receive_rate),
            Some(expected),
            "{until}"
        );
    }
    // If the only feedback is less than R ago, the rate is taken over R.
    let mut receiver = received(Profile::rfc5348(), &[(0, 0)]);
    receiver.on_rtt_estimate(Duration::from_millis(100));
    receiver.take_feedback(at(0));
    receiver.on_packet(at(50), &data(1, 4), |_| {});
    let report = receiver.take_feedback(at(50)).expect("it is due");
    assert_eq!(report.receive_rate, 10_000);
}

#[test]
fn the_first_interval_gives_the_greatest_receive_rate() {
    // RFC 5348 §6.3.1: R = 100 ms; 20 000 octets were received in the best round trip, and 10 000
    // in the last. The first interval is 1/p with s/(R·f(p)) = 200 000, so that f(p) = 0.05.
    let mut receiver = Receiver::new(Profile::rfc5348());
    receiver.on_rtt_estimate(Duration::from_millis(100));
    let mut seq = 0_i64;
    let mut now = 0;
    for spacing in [5, 10] {
        for _ in 0..100 / spacing {
            receiver.on_packet(at(now), &data(seq, 0), |_| {});
            receiver.take_feedback(at(now));
            (seq, now) = (seq + 1, now + spacing);
        }
        receiver.due = FeedbackReason::Periodic;
        receiver.on_packet(at(now), &data(seq, 0), |_| {});
        receiver.take_feedback(at(now));
        (seq, now) = (seq + 1, now + spacing);
    }
    assert_eq!(receiver.greatest_receive_rate, 200_000.0);
    for _ in 0..3 {
        seq += 1;
        receiver.on_packet(at(now), &data(seq + 1, 0), |_| {});
    }
    assert_eq!(receiver.loss_events(), 1);
    let p = receiver.loss_event_rate();
    assert!((response(p) - 0.05).abs() < 1e-6, "{p}");
}

#[test]
fn at_least_half_a_packet_a_round_trip_is_the_target_of_the_first_interval() {
    // RFC 5348 §6.3.1, LEAST_TARGET: X_target = 0.5/R packets per second, so that f(p) = 2 (§3.1),
    // although 40 octets in 100 ms were received.
    let mut receiver = Receiver::new(Profile::rfc5348());
    receiver.on_rtt_estimate(Duration::from_millis(100));
    for (seq, millis) in [(0, 0), (1, 5000), (3, 10_000), (4, 15_000), (5, 20_000)] {
        receiver.on_packet(at(millis), &data(seq, 0), |_| {});
        receiver.take_feedback(at(millis));
    }
    assert_eq!(receiver.loss_events(), 1);
    let p = receiver.loss_event_rate();
    assert!((response(p) - 2.0).abs() < 1e-6, "{p}");
}

#[test]
fn the_inverse_loss_event_rate_is_rounded_up() {
    // RFC 4342 §8.5: "the inverse of the loss event rate, rounded UP"; 2^32 - 1 without loss.
    let mut receiver = received(Profile::rfc5348(), &[(0, 0)]);
    assert_eq!(receiver.inverse_loss_event_rate(), u32::MAX);
    for (length, expected) in [
        (1.0, 1),
        (10.0, 10),
        (10.25, 11),
        (9.999, 10),
        (5e9, u32::MAX - 1),
    ] {
        let mut intervals = LossIntervals::new(&Profile::rfc5348());
        intervals.on_first_loss(ReportedInterval::default(), length, 1.0);
        receiver.intervals = intervals;
        assert_eq!(receiver.inverse_loss_event_rate(), expected, "{length}");
    }
}

#[test]
fn short_intervals_last_at_most_two_round_trips() {
    // RFC 4828 §3, SHORT_ROUND_TRIPS: R = 100 ms.
    let mut receiver = Receiver::new(Profile {
        small_packets: Some(SmallPackets::CCID4),
        ..Profile::rfc5348()
    });
    receiver.on_rtt_estimate(Duration::from_millis(100));
    let event = LossEvent {
        start: 0,
        counter: 0,
        at: at(1000),
        last_lost: 0,
        closed: false,
        non_data: 0,
        drops: 1,
    };
    assert!(receiver.is_short(&event, at(1200)));
    assert!(!receiver.is_short(&event, at(1201)));
}
