use super::*;
use proptest::prelude::*;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

fn feedback(rtt_millis: i64, rate: f64, p: f64) -> Feedback {
    Feedback {
        rtt_nanos: rtt_millis * 1_000_000,
        receive_rate: rate,
        loss_event_rate: p,
        covered_until: Instant::ZERO,
        ccval: 0,
    }
}

fn started(profile: &Profile) -> Sender {
    let mut sender = Sender::new(profile, 1400);
    sender.on_handshake_rtt(Duration::from_millis(100));
    sender.on_send(at(0), 1400, &mut Events::default());
    sender
}

#[test]
fn starts_with_the_initial_window_or_a_packet_a_second() {
    // W_init = min(4 * 1400, max(2 * 1400, 4380)) = 4380 octets in 100 ms.
    for (name, expected) in [
        ("rfc3448", 1400.0),
        ("linux-2008", 43_800.0),
        ("rfc5348", 43_800.0),
    ] {
        let sender = started(&Profile::named(name).unwrap());
        assert!(
            (sender.allowed - expected).abs() < 1.0,
            "{name}: {}",
            sender.allowed
        );
    }
}

#[test]
fn the_equation_twice_the_receive_rate_and_the_minimum_bind_in_turn() {
    let mut events = Events::default();
    for (rate, p, expected) in [
        (1e6, 0.01, Limit::Equation),
        (10_000.0, 0.01, Limit::TwiceReceiveRate),
        (1e6, 1.0, Limit::Equation),
        (0.0, 0.5, Limit::MinimumRate),
    ] {
        let mut sender = started(&Profile::linux_2008());
        sender.on_feedback(at(100), &feedback(100, 1e6, 0.0), &mut events);
        // Not idle: the counter has just changed.
        sender.on_send(at(150), 1400, &mut events);
        sender.on_feedback(at(200), &feedback(100, rate, p), &mut events);
        assert_eq!(sender.limit(), expected, "{rate} {p}");
    }
}

#[test]
fn halves_the_rate_when_no_feedback_comes() {
    for name in Profile::NAMES {
        let profile = Profile {
            timer_tick: TimerTick::Ideal,
            ..Profile::named(name).unwrap()
        };
        let mut sender = started(&profile);
        let mut events = Events::default();
        for n in 1..6 {
            sender.on_send(at(n * 100 - 10), 1400, &mut events);
            sender.on_feedback(at(n * 100), &feedback(100, 200_000.0, 0.0), &mut events);
        }
        let before = sender.allowed;
        sender.on_send(at(510), 1400, &mut events);
        let expiry = sender.nofeedback_at().unwrap();
        sender.on_nofeedback(expiry, &mut events);
        let ratio = sender.allowed / before;
        assert!((0.45..=1.0).contains(&ratio), "{name}: {ratio}");
        sender.on_send(expiry, 1400, &mut events);
        let second = sender.nofeedback_at().unwrap();
        assert!(second > expiry);
        sender.on_nofeedback(second, &mut events);
        assert!(sender.allowed < 0.6 * before, "{name}");
        assert_eq!(sender.limit(), Limit::NofeedbackHalving, "{name}");
    }
}

#[test]
fn an_idle_sender_of_rfc_5348_keeps_its_recover_rate() {
    let mut sender = started(&Profile::rfc5348());
    let mut events = Events::default();
    sender.on_feedback(at(100), &feedback(100, 0.0, 0.0), &mut events);
    for _ in 0..20 {
        let expiry = sender.nofeedback_at().unwrap();
        sender.on_nofeedback(expiry, &mut events);
    }
    assert!((sender.allowed - 43_800.0).abs() < 1.0);
    let mut linux = started(&Profile::linux_2008());
    linux.on_feedback(at(100), &feedback(100, 0.0, 0.0), &mut events);
    for _ in 0..20 {
        let expiry = linux.nofeedback_at().unwrap();
        linux.on_nofeedback(expiry, &mut events);
    }
    assert!(linux.allowed < 100.0, "Linux halves all the same");
}

#[test]
fn credit_is_one_round_trip_or_unlimited() {
    let mut events = Events::default();
    let burst = |profile: &Profile, events: &mut Events| {
        let mut sender = started(profile);
        sender.on_feedback(at(100), &feedback(100, 1e6, 0.0), events);
        let mut count = 0;
        // Ten seconds of silence, then everything that may leave at once.
        while count < 10_000 && sender.next_send(at(10_100)) <= at(10_100) {
            sender.on_send(at(10_100), 1400, events);
            count += 1;
        }
        count
    };
    // 43800 octets a second: 3.1 packets a round trip, 313 in ten seconds.
    let limited = burst(&Profile::rfc5348(), &mut events);
    let unlimited = burst(&Profile::linux_2008(), &mut events);
    assert!((3..=5).contains(&limited), "{limited}");
    assert!((300..=330).contains(&unlimited), "{unlimited}");
}

proptest! {
    #[test]
    fn nothing_makes_the_rate_leave_its_bounds(
        name in 0..4_usize,
        steps in proptest::collection::vec(
            (0_u8..3, 0_u64..5_000_000_000, -1_000_000_000_i64..100_000_000_000, 0.0_f64..1e10, 0.0_f64..=1.0, 0_u32..65_535),
            1..60,
        ),
    ) {
        let profile = Profile::named(Profile::NAMES[name]).unwrap();
        let mut sender = Sender::new(&profile, 1400);
        let mut events = Events::default();
        let mut now = Instant::ZERO;
        for (step, gap, rtt_nanos, receive_rate, p, payload) in steps {
            now += Duration::from_nanos(gap);
            match step {
                0 => { sender.on_send(now, payload, &mut events); }
                1 => sender.on_feedback(
                    now,
                    &Feedback { rtt_nanos, receive_rate, loss_event_rate: p, covered_until: now, ccval: 3 },
                    &mut events,
                ),
                _ => {
                    sender.on_nofeedback(now, &mut events);
                    if sender.phase != Phase::NoSent {
                        prop_assert!(sender.nofeedback_at().is_some_and(|at| at > now));
                    }
                }
            }
            if sender.phase != Phase::NoSent {
                prop_assert!(sender.allowed.is_finite() && sender.allowed <= MAX_RATE);
                prop_assert!(sender.allowed >= 0.99 * f64::from(sender.segment_size.min(22)) / 64.0 || sender.allowed >= 1.0 / 64.0);
                prop_assert!(sender.interval <= MAX_BACKOFF);
                prop_assert!((0.0..=1.0).contains(&sender.loss_event_rate));
            }
        }
    }
}
