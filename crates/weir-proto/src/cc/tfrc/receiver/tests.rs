use super::*;
use crate::cc::tfrc::ReceiverRttRule;
use proptest::prelude::*;

const S: u32 = 1000;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn data(seq: i64, counter: u8) -> ArrivedPacket {
    ArrivedPacket {
        seq,
        counter,
        payload: Some(S),
        ndp: 0,
        marked: false,
    }
}

/// Packets 1 ms apart, with a window counter that advances every 25 ms, so that R = 100 ms. The
/// packets `lost` are missing. Feedback is taken whenever it is due.
fn receive(profile: Profile, count: i64, lost: &[i64]) -> (Receiver, Vec<FeedbackReport>) {
    let mut receiver = Receiver::new(profile);
    let mut reports = Vec::new();
    for seq in (0..count).filter(|seq| !lost.contains(seq)) {
        let now = at(seq.unsigned_abs());
        receiver.on_packet(now, &data(seq, (seq / 25 % 16) as u8), |_| {});
        reports.extend(receiver.take_feedback(now));
    }
    (receiver, reports)
}

#[test]
fn the_first_data_packet_is_reported_at_once_with_a_rate_of_zero() {
    for name in Profile::NAMES {
        let (_, reports) = receive(Profile::named(name).expect("a name"), 1, &[]);
        let [first] = reports[..] else {
            panic!("{reports:?}")
        };
        assert_eq!(first.receive_rate, 0);
        assert_eq!(first.inverse_loss_event_rate, u32::MAX);
    }
}

#[test]
fn feedback_is_due_every_four_counters_with_the_rate_in_between() {
    for name in Profile::NAMES {
        let (receiver, reports) = receive(Profile::named(name).expect("a name"), 1001, &[]);
        assert_eq!(reports.len(), 11, "{name}");
        for report in &reports[1..] {
            assert_eq!(report.receive_rate, 1_000_000, "{name}");
        }
        assert_eq!(receiver.rtt(), Some(Duration::from_millis(100)));
    }
}

#[test]
fn a_loss_event_is_reported_at_once() {
    for name in Profile::NAMES {
        let (receiver, reports) = receive(Profile::named(name).expect("a name"), 521, &[510]);
        assert_eq!(receiver.loss_events(), 1, "{name}");
        let last = reports.last().expect("reports");
        assert_ne!(last.inverse_loss_event_rate, u32::MAX);
        // The synthetic interval inverts the equation at 1 MB/s, R = 100 ms: f = 0.01.
        let p = receiver.loss_event_rate();
        assert!((p - 0.000_149).abs() < 0.000_06, "{name}: {p}");
        // Linux repeats the last value; RFC 5348 measures over a round trip.
        assert!((990_000..=1_010_000).contains(&last.receive_rate));
    }
}

#[test]
fn a_loss_event_that_does_not_increase_p_waits_for_the_next_feedback() {
    // RFC 5348 §6.1 step 4. After ten intervals of 150 packets, an interval of 1100 counts while it
    // is open, so that its end does not increase p; the end of another interval of 150 does. A loss
    // is detected three packets later.
    let lost: Vec<i64> = (1..=10).map(|n| 150 * n).chain([2600, 2750]).collect();
    let profiles = [
        (Profile::rfc5348(), [false, true]),
        (Profile::linux_mainline(), [true, true]),
    ];
    for (profile, at_once) in profiles {
        let mut receiver = Receiver::new(profile);
        let mut times = Vec::new();
        for seq in (0..2800).filter(|seq| !lost.contains(seq)) {
            let now = at(seq.unsigned_abs());
            receiver.on_packet(now, &data(seq, (seq / 25 % 16) as u8), |_| {});
            if receiver.take_feedback(now).is_some() {
                times.push(seq);
            }
        }
        assert_eq!(receiver.loss_events(), 12);
        assert_eq!([2603, 2753].map(|time| times.contains(&time)), at_once);
    }
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    for name in Profile::NAMES {
        let profile = || Profile::named(name).expect("a name");
        for rule in [LossEventRule::WindowCounter, LossEventRule::ArrivalTime] {
            let profile = Profile {
                loss_event_rule: rule,
                receiver_rtt: ReceiverRttRule::Always,
                ..profile()
            };
            let (near, _) = receive(profile.clone(), 1000, &[500, 540, 560]);
            assert_eq!(near.loss_events(), 1, "{name} {rule:?}");
            let (far, _) = receive(profile, 1000, &[500, 700]);
            assert_eq!(far.loss_events(), 2, "{name} {rule:?}");
        }
    }
}

#[test]
fn a_counter_that_wraps_between_two_losses_does_not_merge_them() {
    // 16 counters are 400 ms: the second loss has the first one's counter again.
    let (receiver, _) = receive(Profile::linux_mainline(), 1200, &[500, 900]);
    assert_eq!(receiver.loss_events(), 2);
}

#[test]
fn the_loss_event_rate_of_periodic_loss_is_its_rate() {
    let lost: Vec<i64> = (1..40).map(|k| k * 200).collect();
    for name in Profile::NAMES {
        let profile = Profile::named(name).expect("a name");
        let (receiver, _) = receive(profile, 8000, &lost);
        assert_eq!(receiver.loss_events(), 39, "{name}");
        let p = receiver.loss_event_rate();
        assert!((p - 0.005).abs() < 1e-9, "{name}: {p}");
    }
}

#[test]
fn a_lost_first_packet_is_a_loss_rate_of_one_fifth() {
    let mut receiver = Receiver::new(Profile::rfc5348());
    let request = ArrivedPacket {
        payload: None,
        ..data(0, 0)
    };
    receiver.on_packet(at(0), &request, |_| {});
    for seq in 2..5 {
        receiver.on_packet(at(1), &data(seq, 0), |_| {});
    }
    assert_eq!(receiver.loss_events(), 1);
    let report = receiver.take_feedback(at(1)).expect("feedback");
    assert_eq!(report.inverse_loss_event_rate, 5);
    assert!((receiver.loss_event_rate() - 0.2064).abs() < 1e-4);
    // Linux ignores losses before the first data packet.
    let mut linux = Receiver::new(Profile::linux_mainline());
    linux.on_packet(at(0), &request, |_| {});
    for seq in 2..5 {
        linux.on_packet(at(1), &data(seq, 0), |_| {});
    }
    assert_eq!(linux.loss_events(), 0);
}

#[test]
fn a_mark_is_a_loss_event_at_once() {
    let mut receiver = Receiver::new(Profile::rfc5348());
    for seq in 0..10 {
        receiver.on_packet(at(1), &data(seq, 0), |_| {});
        receiver.take_feedback(at(1));
    }
    receiver.on_packet(
        at(2),
        &ArrivedPacket {
            marked: true,
            ..data(10, 0)
        },
        |_| {},
    );
    assert_eq!(receiver.loss_events(), 1);
    assert!(receiver.wants_feedback());
}

#[test]
fn intervals_describe_the_losses() {
    let (mut receiver, _) = receive(Profile::rfc5348(), 1000, &[300, 301, 600]);
    receiver.take_feedback(at(1000));
    let intervals: Vec<_> = receiver.reported_intervals().collect();
    let lengths: Vec<_> = intervals
        .iter()
        .map(|i| (i.lossless_length, i.loss_length))
        .collect();
    assert_eq!(lengths, [(399, 1), (298, 2), (300, 0)]);
    assert_eq!(
        (intervals[0].data_length, intervals[1].data_length),
        (400, 300)
    );
}

#[test]
fn packets_without_data_do_not_lengthen_an_interval() {
    let mut receiver = Receiver::new(Profile::rfc5348());
    for seq in (0..400).filter(|seq| *seq != 100 && *seq != 300) {
        let counter = (seq / 25 % 16) as u8;
        let packet = ArrivedPacket {
            payload: (seq % 2 == 0).then_some(S),
            ndp: u64::from(seq % 2 == 0),
            ..data(seq, counter)
        };
        receiver.on_packet(at(seq.unsigned_abs()), &packet, |_| {});
    }
    let closed = receiver.reported_intervals().nth(1).expect("I_1");
    assert_eq!(closed.data_length, 100);
}

#[test]
fn the_sender_is_quiescent_after_two_round_trips() {
    let (receiver, _) = receive(Profile::rfc5348(), 1000, &[]);
    assert!(!receiver.is_quiescent(at(999 + 199)));
    assert!(receiver.is_quiescent(at(999 + 200)));
}

proptest! {
    #[test]
    fn no_arrival_breaks_the_receiver(
        profile in 0..4_usize,
        arrivals in prop::collection::vec(
            (
                prop_oneof![-5..40_i64, Just(1 << 47), Just(-(1 << 47))],
                any::<u8>(),
                prop_oneof![Just(None), Just(Some(0)), Just(Some(u32::MAX)), Just(Some(S))],
                prop_oneof![Just(0), Just(u64::MAX), 0..4_u64],
                any::<bool>(),
                0..2_000_000_u64,
            ),
            1..200,
        ),
    ) {
        let profile = Profile::named(Profile::NAMES[profile]).expect("a name");
        let mut receiver = Receiver::new(profile);
        let mut now = Instant::ZERO;
        let mut seq = 0_i64;
        for (step, counter, payload, ndp, marked, wait) in arrivals {
            now += Duration::from_micros(wait);
            seq = seq.saturating_add(step).clamp(-(1 << 60), 1 << 60);
            let arrival = ArrivedPacket { seq, counter, payload, ndp, marked };
            receiver.on_packet(now, &arrival, |_| {});
            let p = receiver.loss_event_rate();
            prop_assert!((0.0..=1.0).contains(&p));
            if receiver.wants_feedback() {
                let report = receiver.take_feedback(now).expect("it was due");
                prop_assert!(report.skip <= 3);
                prop_assert!(receiver.reported_intervals().count() <= 9);
            }
            prop_assert!(!receiver.wants_feedback());
        }
    }
}
