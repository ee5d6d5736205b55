use super::super::MAX_RATE;
use super::super::profile::{
    HalvingWithoutLoss, IdleRule, InitialWindow, NofeedbackExemption, Oscillation,
    OscillationInSlowStart, TimerTick,
};
use super::*;
use proptest::prelude::*;

const S: u32 = 1000;
const MSS: u32 = 1460;
const RTT: Duration = Duration::from_millis(100);

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Without oscillation reduction, so that t_ipi is s/X.
fn plain(profile: Profile) -> Profile {
    Profile {
        oscillation: Oscillation::Off,
        ..profile
    }
}

/// A sender with this handshake round-trip time that has sent its first packet at 0.
fn started(profile: Profile, handshake: Option<Duration>) -> Sender {
    let mut sender = Sender::new(plain(profile), MSS);
    if let Some(rtt) = handshake {
        sender.on_handshake_rtt(rtt);
    }
    sender.on_sent(at(0), S);
    sender
}

/// RFC 3448 without the changes of RFC 4342.
fn letter_of_rfc_3448() -> Profile {
    Profile {
        initial_window: InitialWindow::OneSegment,
        first_feedback: FirstFeedback::Ordinary,
        nofeedback_exemption: NofeedbackExemption::FourPacketsPerRtt,
        ..Profile::rfc3448()
    }
}

fn feed(sender: &mut Sender, now: Instant, receive_rate: u32, p: f64) {
    let feedback = Feedback {
        sent_at: now - RTT,
        elapsed_time: Duration::ZERO,
        receive_rate,
        loss_event_rate: p,
        new_loss_event: false,
    };
    assert!(sender.on_feedback(now, &feedback, &mut Events::default()));
}

fn expire(sender: &mut Sender) -> Instant {
    let due = sender.poll_timeout().expect("a timer");
    sender.handle_timeout(due, &mut Events::default());
    due
}

fn bytes(sender: &Sender) -> f64 {
    sender.allowed_rate().as_bytes_per_sec()
}

#[test]
fn starts_with_a_packet_a_second_or_the_initial_window() {
    for (profile, handshake, rate) in [
        (Profile::rfc5348(), None, 1000.0),
        (Profile::rfc3448(), None, 1000.0),
        (Profile::linux_mainline(), None, 1000.0),
        (Profile::rfc3448(), Some(RTT), 1000.0),
        // min(4·1460, 4380) octets; 4000 octets on Linux, which uses s = 1000.
        (Profile::rfc5348(), Some(RTT), 43_800.0),
        (Profile::linux_2008(), Some(RTT), 40_000.0),
    ] {
        let sender = started(profile, handshake);
        assert_eq!(bytes(&sender), rate);
        assert_eq!(sender.poll_timeout(), Some(at(2000)));
    }
}

#[test]
fn the_first_feedback_gives_a_segment_or_the_initial_window_per_round_trip() {
    for (profile, rate, limit) in [
        // RFC 4342 §5: four packets of 1000 octets.
        (Profile::rfc3448(), 40_000.0, Limit::InitialWindow),
        (letter_of_rfc_3448(), 10_000.0, Limit::OnePacketPerRtt),
        (Profile::rfc5348(), 43_800.0, Limit::InitialWindow),
    ] {
        let mut sender = started(profile, None);
        feed(&mut sender, at(100), 0, 0.0);
        assert_eq!((bytes(&sender), sender.limit()), (rate, limit));
        assert_eq!(sender.smoothed_rtt(), Some(RTT));
    }
    // Linux filters the sample with its initial 200 ms: 190 ms.
    let mut sender = started(Profile::linux_mainline(), None);
    feed(&mut sender, at(100), 0, 0.0);
    assert_eq!(sender.smoothed_rtt(), Some(Duration::from_millis(190)));
}

#[test]
fn slow_start_doubles_once_a_round_trip_up_to_twice_the_receive_rate() {
    let mut sender = started(letter_of_rfc_3448(), None);
    feed(&mut sender, at(100), 0, 0.0);
    feed(&mut sender, at(150), 1_000_000, 0.0);
    assert_eq!(bytes(&sender), 10_000.0, "too early");
    feed(&mut sender, at(200), 1_000_000, 0.0);
    assert_eq!(
        (bytes(&sender), sender.limit()),
        (20_000.0, Limit::SlowStart)
    );
    feed(&mut sender, at(300), 15_000, 0.0);
    assert_eq!(
        (bytes(&sender), sender.limit()),
        (30_000.0, Limit::TwiceReceiveRate)
    );
    feed(&mut sender, at(400), 1, 0.0);
    assert_eq!(
        (bytes(&sender), sender.limit()),
        (10_000.0, Limit::OnePacketPerRtt)
    );
}

#[test]
fn with_loss_the_equation_or_the_receive_rate_binds() {
    for profile in [
        Profile::rfc3448(),
        Profile::linux_2008(),
        Profile::linux_mainline(),
    ] {
        let mut sender = started(profile, Some(RTT));
        feed(&mut sender, at(100), 0, 0.0);
        // A packet was just sent, so that the sender is not idle under any profile.
        sender.on_sent(at(250), S);
        feed(&mut sender, at(260), 1_000_000, 0.01);
        // f(0.01) = 0.0890; s/(R·f).
        assert!((bytes(&sender) / 112_315.0 - 1.0).abs() < 0.001);
        assert_eq!(sender.limit(), Limit::Equation);
        feed(&mut sender, at(270), 30_000, 0.01);
        assert_eq!(bytes(&sender), 60_000.0);
        assert_eq!(sender.limit(), Limit::TwiceReceiveRate);
        feed(&mut sender, at(280), 0, 0.01);
        assert_eq!(bytes(&sender), 1000.0 / 64.0);
        assert_eq!(sender.limit(), Limit::MinimumRate);
    }
}

#[test]
fn an_idle_linux_sender_keeps_the_initial_rate() {
    for (idle_rule, rate) in [
        (IdleRule::Never, 10_000.0),
        (IdleRule::WindowCounter, 40_000.0),
        (IdleRule::NothingSentSince, 10_000.0),
    ] {
        let profile = Profile {
            idle_rule,
            ..Profile::linux_2008()
        };
        let mut sender = started(profile, Some(RTT));
        feed(&mut sender, at(100), 0, 0.0);
        sender.on_sent(at(110), S);
        // 290 ms after the window counter last changed.
        feed(&mut sender, at(400), 100, 0.0);
        assert_eq!(bytes(&sender), rate, "{idle_rule:?}");
    }
}

#[test]
fn a_data_limited_interval_does_not_lower_the_limit() {
    let mut sender = started(Profile::rfc5348(), Some(RTT));
    for k in 1..=10 {
        // The sender uses its allowed rate: the next packet has to wait.
        let now = at(k * 100);
        sender.nominal_time = now;
        sender.on_sent(now, S);
        feed(&mut sender, now + RTT, 300_000, 0.001);
    }
    let limited_by_equation = bytes(&sender);
    assert_eq!(sender.limit(), Limit::Equation);
    for k in 20..=30 {
        // One packet where many were allowed: the sender is data-limited.
        sender.on_sent(at(k * 100), S);
        feed(&mut sender, at(k * 100) + RTT, 10_000, 0.001);
    }
    assert_eq!(bytes(&sender), limited_by_equation);
    // Under a profile without X_recv_set.
    let last_value = Profile {
        idle_rule: IdleRule::Never,
        ..Profile::rfc5348()
    };
    let mut sender = started(last_value, Some(RTT));
    feed(&mut sender, at(100), 300_000, 0.0);
    feed(&mut sender, at(200), 10_000, 0.001);
    assert_eq!(bytes(&sender), 20_000.0);
}

#[test]
fn losses_while_data_limited_reduce_the_limit() {
    let mut sender = started(Profile::rfc5348(), Some(RTT));
    feed(&mut sender, at(100), 0, 0.0);
    // The allowed rate is never used: each interval is data-limited.
    feed(&mut sender, at(400), 50_000, 0.0);
    feed(&mut sender, at(500), 10_000, 0.0002);
    // max(50 000/2, 0.85·10 000), without a factor of two.
    assert_eq!(
        (bytes(&sender), sender.limit()),
        (25_000.0, Limit::DataLimited)
    );
}

#[test]
fn a_new_loss_event_counts_as_a_loss_though_p_falls() {
    // RFC 5348 §4.3 step 4: "a new loss event or an increase in the loss event rate p".
    for (new_loss_event, rate) in [(true, 21_250.0), (false, 85_000.0)] {
        let mut sender = started(Profile::rfc5348(), Some(RTT));
        feed(&mut sender, at(100), 0, 0.0);
        // Data-limited with an increase of p: X_recv_set becomes 0.85·50 000.
        feed(&mut sender, at(400), 50_000, 0.0002);
        assert_eq!(bytes(&sender), 42_500.0);
        let feedback = Feedback {
            sent_at: at(400),
            elapsed_time: Duration::ZERO,
            receive_rate: 10_000,
            loss_event_rate: 0.0001,
            new_loss_event,
        };
        sender.on_feedback(at(500), &feedback, &mut Events::default());
        // max(42 500/2, 0.85·10 000), or twice max(42 500, 10 000).
        assert_eq!(bytes(&sender), rate);
    }
}

#[test]
fn idle_time_does_not_reduce_ccid_3_below_its_initial_rate() {
    // RFC 4342 §5.1. W_init/R is 40 000: X of 79 999 is kept, X of 80 000 is halved.
    for (receive_rate, kept) in [(39_999, true), (40_000, false)] {
        let mut sender = started(Profile::rfc3448(), None);
        feed(&mut sender, at(100), 0, 0.0);
        feed(&mut sender, at(200), receive_rate, 0.0);
        assert_eq!(bytes(&sender), f64::from(2 * receive_rate));
        expire(&mut sender);
        assert_eq!(sender.receive_rate == f64::from(receive_rate), kept);
        // A sender that was not idle is reduced in any case.
        sender.on_sent(at(5000), S);
        let before = sender.receive_rate;
        expire(&mut sender);
        assert_eq!(sender.receive_rate, before / 2.0);
    }
}

#[test]
fn halves_the_rate_without_feedback() {
    for profile in [Profile::linux_2008(), Profile::rfc5348()] {
        let mut sender = started(profile, Some(RTT));
        feed(&mut sender, at(100), 0, 0.0);
        let before = bytes(&sender);
        sender.on_sent(at(101), S);
        let due = expire(&mut sender);
        assert_eq!(due, at(500), "four round trips");
        assert_eq!(bytes(&sender), before / 2.0);
        assert_eq!(sender.limit(), Limit::NofeedbackHalving);
        for _ in 0..30 {
            sender.on_sent(due, S);
            expire(&mut sender);
        }
        assert_eq!(bytes(&sender), 1000.0 / 64.0);
        assert_eq!(sender.limit(), Limit::MinimumRate);
    }
}

#[test]
fn rfc_3448_halves_the_receive_rate_down_to_a_packet_per_round_trip() {
    let mut sender = started(letter_of_rfc_3448(), None);
    feed(&mut sender, at(100), 0, 0.0);
    for k in 2..=5 {
        feed(&mut sender, at(k * 100), 1_000_000, 0.0);
    }
    assert_eq!(bytes(&sender), 160_000.0);
    let mut previous = 1_000_000.0;
    for _ in 0..8 {
        sender.on_sent(at(501), S);
        expire(&mut sender);
        assert_eq!(sender.receive_rate, previous / 2.0);
        previous = sender.receive_rate;
    }
    // 2·X_recv = 2·3906, and the floor of slow start.
    assert_eq!(bytes(&sender), 10_000.0);
}

#[test]
fn with_loss_an_expiry_halves_the_limit_of_the_rate() {
    for profile in [
        Profile::rfc3448(),
        Profile::linux_mainline(),
        Profile::rfc5348(),
    ] {
        let linux = profile == Profile::linux_mainline();
        let mut sender = started(profile, Some(RTT));
        feed(&mut sender, at(100), 0, 0.0);
        feed(&mut sender, at(350), 1_000_000, 0.01);
        let before = bytes(&sender);
        assert_eq!(sender.limit(), Limit::Equation);
        sender.on_sent(at(351), S);
        expire(&mut sender);
        assert!((bytes(&sender) / before - 0.5).abs() < 1e-4);
        assert_eq!(sender.limit(), Limit::NofeedbackHalving);
        sender.on_sent(at(800), S);
        expire(&mut sender);
        if linux {
            // The sender is idle by then and may use W_init/R.
            assert_eq!(bytes(&sender), 40_000.0);
        } else {
            assert!((bytes(&sender) / before - 0.25).abs() < 1e-4);
        }
    }
}

#[test]
fn an_idle_sender_keeps_the_rate_that_its_revision_allows() {
    // RFC 5348 §4.4: with p = 0 the rate is halved only while X is at least twice the initial rate.
    let mut sender = started(Profile::rfc5348(), Some(RTT));
    feed(&mut sender, at(100), 0, 0.0);
    let initial = bytes(&sender);
    let idle_since = expire(&mut sender);
    assert_eq!(bytes(&sender), initial);
    assert_eq!(sender.poll_timeout(), None, "it stays so");
    for intervals in 1..5 {
        sender.handle_timeout(idle_since + RTT * 4 * intervals, &mut Events::default());
    }
    assert_eq!(bytes(&sender), initial);
    let mut sender = started(
        Profile {
            nofeedback_exemption: NofeedbackExemption::None,
            ..Profile::rfc5348()
        },
        Some(RTT),
    );
    feed(&mut sender, at(100), 0, 0.0);
    expire(&mut sender);
    assert_eq!(bytes(&sender), initial / 2.0);
    // RFC 3448 §4.4: no halving while X_recv is below four packets per round trip.
    let mut sender = started(letter_of_rfc_3448(), None);
    feed(&mut sender, at(100), 0, 0.0);
    feed(&mut sender, at(200), 39_999, 0.0);
    expire(&mut sender);
    assert_eq!(sender.receive_rate, 39_999.0);
    feed(&mut sender, at(3000), 40_001, 0.0);
    expire(&mut sender);
    assert_eq!(sender.receive_rate, 20_000.5);
}

#[test]
fn a_suspended_timer_resumes_as_if_it_had_expired_periodically() {
    let mut sender = started(Profile::rfc5348(), Some(RTT));
    feed(&mut sender, at(100), 0, 0.0);
    assert_eq!(expire(&mut sender), at(500));
    sender.on_sent(at(10_123), S);
    assert_eq!(sender.poll_timeout(), Some(at(10_500)));
    // A packet was sent and no feedback arrived: the timer expires.
    let before = bytes(&sender);
    expire(&mut sender);
    assert_eq!(bytes(&sender), before / 2.0);
}

#[test]
fn the_nofeedback_interval_has_the_profiles_minimum() {
    for (profile, millis) in [
        (Profile::linux_2008(), 100),
        (Profile::linux_mainline(), 200),
    ] {
        let mut sender = started(profile, Some(Duration::from_millis(1)));
        let now = at(10);
        let feedback = Feedback {
            sent_at: at(9),
            elapsed_time: Duration::ZERO,
            receive_rate: 0,
            loss_event_rate: 0.0,
            new_loss_event: false,
        };
        sender.on_feedback(now, &feedback, &mut Events::default());
        assert_eq!(sender.poll_timeout(), Some(at(10 + millis)));
    }
}

#[test]
fn the_first_feedback_after_an_expiry_keeps_the_rate_of_linux() {
    for (profile, kept) in [(Profile::linux_2008(), true), (Profile::rfc5348(), false)] {
        let mut sender = started(profile, Some(RTT));
        feed(&mut sender, at(100), 0, 0.0);
        sender.on_sent(at(101), S);
        expire(&mut sender);
        let halved = bytes(&sender);
        feed(&mut sender, at(700), 1_000_000, 0.0);
        assert_eq!(bytes(&sender) == halved, kept);
    }
}

#[test]
fn send_credit_is_unlimited_or_one_round_trip() {
    let burst = |profile: Profile| {
        let mut sender = started(profile, Some(RTT));
        feed(&mut sender, at(100), 0, 0.0);
        let now = at(10_000);
        let mut sent = 0;
        while sender.next_send(now, S) == now && sent < 1000 {
            sender.on_sent(now, S);
            sent += 1;
        }
        sent
    };
    // A round trip holds 4.38 packets; ten seconds at 40 packets a second hold 400.
    assert!((4..=6).contains(&burst(Profile::rfc5348())));
    assert!(burst(Profile::linux_2008()) > 390);
}

#[test]
fn packets_leave_one_interval_apart() {
    let mut sender = started(Profile::rfc5348(), Some(RTT));
    let ipi = sender.inter_packet_interval();
    assert_eq!(ipi, Duration::from_nanos(22_831_050));
    let mut now = at(0);
    for _ in 0..10 {
        let next = sender.next_send(now, S);
        assert_eq!(next.since(now), ipi);
        now = next;
        sender.on_sent(now, S);
    }
}

#[test]
fn unusable_samples_are_replaced_and_bounded() {
    let sample = |profile: Profile, raw: Duration, elapsed: Duration| {
        let mut sender = started(profile, None);
        let now = at(20_000);
        let feedback = Feedback {
            sent_at: now - raw,
            elapsed_time: elapsed,
            receive_rate: 0,
            loss_event_rate: 0.0,
            new_loss_event: false,
        };
        let mut events = Events::default();
        events.set_mask(EventMask::RTT);
        let taken = sender.on_feedback(now, &feedback, &mut events);
        let sample = events.drain().find_map(|(_, event)| match event {
            Event::Rtt(rtt) => Some(rtt.as_micros()),
            _ => None,
        });
        assert_eq!(taken, sample.is_some());
        sample
    };
    let micros = Duration::from_micros;
    let (old, new) = (Profile::linux_2008, Profile::linux_mainline);
    assert_eq!(sample(old(), micros(3), micros(0)), Some(3));
    assert_eq!(sample(old(), micros(0), micros(0)), None);
    assert_eq!(sample(old(), micros(5), micros(10)), Some(100));
    assert_eq!(sample(new(), micros(0), micros(0)), Some(100));
    assert_eq!(sample(new(), micros(9_000_000), micros(0)), Some(3_000_000));
    assert_eq!(
        sample(Profile::rfc5348(), micros(9_000_000), micros(0)),
        Some(9_000_000)
    );
    let clamped = Profile {
        rtt_min: micros(4),
        ..old()
    };
    assert_eq!(sample(clamped, micros(3), micros(0)), Some(4));
}

#[test]
fn the_2005_guard_raises_r_itself() {
    let profile = Profile {
        counter_guard: CounterGuard::RaiseRtt,
        ..Profile::linux_2008()
    };
    let sender = started(profile, Some(Duration::from_micros(3)));
    assert_eq!(sender.smoothed_rtt, Some(Duration::from_micros(4)));
}

#[test]
fn the_segment_size_follows_its_rule() {
    for (segment_size, s) in [
        (SegmentSizeRule::Average, 1040.0),
        (SegmentSizeRule::Largest, 1400.0),
        (SegmentSizeRule::MaximumSegmentSize, 1460.0),
    ] {
        for base in [Profile::rfc5348(), Profile::linux_2008()] {
            let mut sender = started(
                Profile {
                    segment_size,
                    ..base
                },
                Some(RTT),
            );
            sender.on_sent(at(50), 1400);
            assert_eq!(sender.segment_size, s);
        }
    }
}

#[test]
fn a_growing_round_trip_time_is_reported_as_the_limit() {
    let mut sender = Sender::new(
        Profile {
            oscillation: Oscillation::IncreaseOnly,
            oscillation_in_slow_start: OscillationInSlowStart::Exempt,
            ..Profile::rfc5348()
        },
        MSS,
    );
    sender.on_sent(at(0), S);
    feed(&mut sender, at(100), 0, 0.0);
    feed(&mut sender, at(300), 1_000_000, 0.01);
    let plain = sender.inter_packet_interval();
    let slower = Feedback {
        sent_at: at(200),
        elapsed_time: Duration::ZERO,
        receive_rate: 1_000_000,
        loss_event_rate: 0.01,
        new_loss_event: false,
    };
    sender.on_feedback(at(400), &slower, &mut Events::default());
    assert!(sender.inter_packet_interval() > plain);
    assert_eq!(sender.limit(), Limit::OscillationReduction);
}

#[test]
fn halving_through_the_receive_rate_can_be_selected_alone() {
    let mut sender = started(
        Profile {
            halving_without_loss: HalvingWithoutLoss::ViaReceiveRate,
            idle_rule: IdleRule::Never,
            ..Profile::linux_2008()
        },
        Some(RTT),
    );
    feed(&mut sender, at(100), 8000, 0.0);
    sender.on_sent(at(101), S);
    expire(&mut sender);
    assert_eq!(sender.receive_rate, 4000.0);
    assert_eq!(bytes(&sender), 10_000.0, "s/R");
    assert_eq!(sender.limit(), Limit::OnePacketPerRtt);
}

/// An action of a hostile network or peer.
#[derive(Clone, Debug)]
enum Step {
    Send(u32),
    Feedback {
        age: u64,
        elapsed: u64,
        rate: u32,
        inverse: u32,
    },
    Expire,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![Just(0), Just(1), Just(u32::MAX), 1..65_536_u32];
    let span = prop_oneof![
        Just(0),
        Just(1),
        Just(3_000),
        Just(65_000_000_000_000),
        0..10_000_000_000_u64
    ];
    let rate = prop_oneof![Just(0), Just(1), Just(u32::MAX), any::<u32>()];
    let inverse = prop_oneof![
        Just(0),
        Just(1),
        Just(u32::MAX),
        Just(u32::MAX - 1),
        1..100_000_u32
    ];
    prop_oneof![
        size.prop_map(Step::Send),
        (span.clone(), span.clone(), rate, inverse).prop_map(|(age, elapsed, rate, inverse)| {
            Step::Feedback {
                age,
                elapsed,
                rate,
                inverse,
            }
        }),
        Just(Step::Expire),
        span.prop_map(Step::Wait),
    ]
}

fn check(sender: &Sender, now: Instant) -> Result<(), TestCaseError> {
    let state = sender.state();
    let rate = state.allowed_rate.as_bytes_per_sec();
    prop_assert!(rate.is_finite());
    if sender.is_started() {
        let least = sender.segment_size / 64.0;
        prop_assert!(rate >= least * (1.0 - 1e-12), "{rate} < {least}");
        let timer = sender.poll_timeout();
        prop_assert!(timer.is_none_or(|timer| timer > now));
        // Only an ideal timer is suspended, and not while packets wait for feedback.
        let may_rest = sender.idle && sender.profile.timer_tick == TimerTick::Ideal;
        prop_assert!(timer.is_some() || may_rest);
    }
    prop_assert!(rate <= MAX_RATE);
    prop_assert!((0.0..=1.0).contains(&state.loss_event_rate));
    prop_assert!(state.inter_packet_interval <= super::super::MAX_BACKOFF);
    Ok(())
}

proptest! {
    #[test]
    fn nothing_makes_the_rate_leave_its_bounds(
        profile in 0..4_usize,
        handshake in prop_oneof![Just(0), Just(3_000), 0..4_000_000_000_u64],
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let profile = Profile::named(Profile::NAMES[profile]).expect("a name");
        let mut sender = Sender::new(profile.clone(), MSS);
        sender.on_handshake_rtt(Duration::from_nanos(handshake));
        let mut events = Events::default();
        events.set_mask(EventMask::ALL);
        let mut now = at(1);
        for step in steps {
            match step {
                Step::Send(len) => {
                    let next = sender.next_send(now, len);
                    prop_assert!(next >= now);
                    sender.on_sent(now, len);
                }
                Step::Feedback { age, elapsed, rate, inverse } => {
                    let feedback = Feedback {
                        sent_at: now - Duration::from_nanos(age),
                        elapsed_time: Duration::from_nanos(elapsed),
                        receive_rate: rate,
                        loss_event_rate: profile.loss_event_rate(inverse),
                        new_loss_event: false,
                    };
                    sender.on_feedback(now, &feedback, &mut events);
                }
                Step::Expire => {
                    now = sender.poll_timeout().unwrap_or(now).max(now);
                    sender.handle_timeout(now, &mut events);
                }
                Step::Wait(span) => {
                    now += Duration::from_nanos(span);
                    sender.handle_timeout(now, &mut events);
                }
            }
            events.drain().for_each(drop);
            check(&sender, now)?;
        }
    }

    /// A timer with ticks of a nanosecond is as exact as an ideal one, but never suspended.
    #[test]
    fn a_timer_that_rests_changes_no_rate(
        p in prop_oneof![Just(0.0), Just(0.001), Just(0.1)],
        steps in prop::collection::vec((0..3_u8, 1..3_000_u64, 0..2_000_000_u32), 1..60),
    ) {
        let restless = Profile { timer_tick: TimerTick::Hz(1_000_000_000), ..Profile::rfc5348() };
        let mut senders = [Profile::rfc5348(), restless].map(|profile| started(profile, Some(RTT)));
        let mut now = at(200);
        for (kind, millis, receive_rate) in steps {
            let end = now + Duration::from_millis(millis);
            for sender in &mut senders {
                while sender.poll_timeout().is_some_and(|due| due <= end) {
                    expire(sender);
                }
                match kind {
                    0 => feed(sender, end, receive_rate, p),
                    1 => drop(sender.on_sent(end, S)),
                    _ => {}
                }
            }
            now = end;
            let [resting, restless] = &senders;
            prop_assert_eq!(bytes(resting), bytes(restless));
            let timer = resting.poll_timeout();
            prop_assert!(timer.is_none() || timer == restless.poll_timeout());
        }
    }
}
