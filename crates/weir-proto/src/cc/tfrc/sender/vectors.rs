//! The sender against values worked by hand from RFC 5348, rule by rule.

use super::super::profile::{IdleRule, Oscillation, TimerTick};
use super::*;

pub(super) const S: u32 = 1000;
pub(super) const RTT: Duration = Duration::from_millis(100);
/// X_calc for s = 1000, R = 100 ms and p = 0.01 %: f = 0.008165 + 0.000007 = 0.008172 (§3.1).
const EQUATION_RATE: f64 = 1_223_700.0;

pub(super) fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

pub(super) fn without_oscillation_reduction() -> Profile {
    Profile {
        oscillation: Oscillation::Off,
        ..Profile::rfc5348()
    }
}

/// A sender with R = 100 ms that sent a packet of 1000 octets at 0; MSS as given.
pub(super) fn started(profile: Profile, mss: u32) -> Sender {
    let mut sender = Sender::new(profile, mss);
    sender.on_handshake_rtt(RTT);
    sender.on_sent(at(0), S);
    sender
}

/// Feedback at this time about a packet sent R before.
pub(super) fn feed(sender: &mut Sender, now: Instant, receive_rate: u32, p: f64) {
    let feedback = Feedback {
        sent_at: now - RTT,
        elapsed_time: Duration::ZERO,
        receive_rate,
        loss_event_rate: p,
        new_loss_event: false,
    };
    sender.on_feedback(now, &feedback, &mut Events::default());
}

/// A packet leaves at this time and the next one has to wait: the sender is not data-limited.
fn send_all_that_is_allowed(sender: &mut Sender, now: Instant) {
    sender.nominal_time = now;
    sender.on_sent(now, S);
}

pub(super) fn expire(sender: &mut Sender) {
    let due = sender.poll_timeout().expect("a timer");
    sender.handle_timeout(due, &mut Events::default());
}

pub(super) fn rate(sender: &Sender) -> f64 {
    sender.allowed_rate().as_bytes_per_sec()
}

#[test]
fn the_initial_rate_is_the_window_of_rfc_3390_per_round_trip() {
    // RFC 5348 §4.2: min(4 MSS, max(2 MSS, 4380)) octets in 100 ms, for MOST_SEGMENTS,
    // FEWEST_SEGMENTS and INITIAL_OCTETS.
    for (mss, expected) in [
        (1000, 40_000.0),
        (1095, 43_800.0),
        (1460, 43_800.0),
        (2190, 43_800.0),
        (2200, 44_000.0),
        (500, 20_000.0),
    ] {
        let sender = started(without_oscillation_reduction(), mss);
        assert_eq!(rate(&sender), expected, "{mss}");
    }
}

#[test]
fn without_a_sample_a_segment_leaves_each_second_and_the_timer_runs_two() {
    // RFC 5348 §4.2: INITIAL_TIMEOUT is 2 s; then 2s/X (§4.4) of a halved X: 4 s, 8 s.
    let mut sender = Sender::new(without_oscillation_reduction(), 1460);
    sender.on_sent(at(0), S);
    assert_eq!(rate(&sender), 1000.0);
    for (due, left) in [(2000, 500.0), (6000, 250.0), (14_000, 125.0)] {
        assert_eq!(sender.poll_timeout(), Some(at(due)));
        expire(&mut sender);
        assert_eq!(rate(&sender), left);
        sender.on_sent(at(due), S);
    }
}

#[test]
fn the_round_trip_time_is_filtered_with_nine_tenths() {
    // RFC 5348 §4.3 step 2, RTT_FILTER: 0.9·100 + 0.1·200 = 110 ms, then 0.9·110 + 0.1·60 = 105 ms.
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.0);
    for (sample, expected) in [(200, 110), (60, 105)] {
        let feedback = Feedback {
            sent_at: at(1000) - Duration::from_millis(sample + 7),
            // §4.3 step 1: t_delay does not count.
            elapsed_time: Duration::from_millis(7),
            receive_rate: 0,
            loss_event_rate: 0.0,
            new_loss_event: false,
        };
        sender.on_feedback(at(1000), &feedback, &mut Events::default());
        assert_eq!(sender.smoothed_rtt(), Some(Duration::from_millis(expected)));
    }
}

#[test]
fn the_nofeedback_timer_runs_four_round_trips_or_two_intervals() {
    // RFC 5348 §4.3 step 3, TIMEOUT_ROUND_TRIPS and TIMEOUT_INTERVALS: max(4R, 2s/X).
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.0);
    // X = 43 800: 2s/X is 45.7 ms.
    assert_eq!(sender.poll_timeout(), Some(at(500)));
    // f(1) = sqrt(2/3) + 12·sqrt(3/8)·33 = 243.315 98 (§3.1), so that s/X_calc = 24.331 598 s. The
    // timer takes the X before the update (§4.3), and the new one at the next feedback.
    feed(&mut sender, at(1000), 1_000_000, 1.0);
    assert_eq!(sender.poll_timeout(), Some(at(1400)));
    feed(&mut sender, at(2000), 1_000_000, 1.0);
    let timer = sender.poll_timeout().expect("a timer").since(at(2000));
    assert!((timer.as_secs_f64() - 48.663_196).abs() < 1e-5, "{timer}");
}

#[test]
fn x_is_at_most_twice_the_receive_rate() {
    // RFC 5348 §4.3 step 4, RECEIVE_LIMIT: recv_limit = 2·max(X_recv_set), here below X_calc.
    for p in [0.0, 0.0001] {
        let mut sender = started(without_oscillation_reduction(), 1460);
        for k in 1..=10 {
            send_all_that_is_allowed(&mut sender, at(k * 100));
            feed(&mut sender, at(k * 100) + RTT, 50_000, p);
        }
        assert_eq!(rate(&sender), 100_000.0, "{p}");
        assert_eq!(sender.limit(), Limit::TwiceReceiveRate);
    }
    // The revisions without X_recv_set (RFC 3448 §4.3).
    let mut sender = started(
        Profile {
            idle_rule: IdleRule::Never,
            ..without_oscillation_reduction()
        },
        1460,
    );
    feed(&mut sender, at(100), 0, 0.0);
    feed(&mut sender, at(200), 50_000, 0.0001);
    assert_eq!(rate(&sender), 100_000.0);
    // X_calc where it is less.
    feed(&mut sender, at(300), 1_000_000, 0.0001);
    assert!((rate(&sender) / EQUATION_RATE - 1.0).abs() < 1e-4);
    assert_eq!(sender.limit(), Limit::Equation);
}

#[test]
fn a_data_limited_interval_without_loss_keeps_the_greatest_receive_rate() {
    // RFC 5348 §4.3 step 4: Maximize X_recv_set(), then recv_limit = 2·max.
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.0001);
    for (now, receive_rate, expected) in [
        (400, 30_000, 60_000.0),
        (500, 20_000, 60_000.0),
        (600, 31_000, 62_000.0),
    ] {
        feed(&mut sender, at(now), receive_rate, 0.0001);
        assert_eq!(rate(&sender), expected);
    }
}

#[test]
fn a_loss_in_a_data_limited_interval_leaves_half_or_85_percent() {
    // RFC 5348 §4.3 step 4, DATA_LIMITED_LOSS: recv_limit = max(max/2, 0.85·X_recv), not doubled.
    for (receive_rate, expected) in [(10_000, 20_000.0), (23_529, 20_000.0), (40_000, 34_000.0)] {
        let mut sender = started(without_oscillation_reduction(), 1460);
        feed(&mut sender, at(100), 0, 0.0001);
        feed(&mut sender, at(400), 40_000, 0.0001);
        feed(&mut sender, at(500), receive_rate, 0.0002);
        assert_eq!(rate(&sender), expected, "{receive_rate}");
        assert_eq!(sender.limit(), Limit::DataLimited);
    }
    // The same p is no loss.
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.0001);
    feed(&mut sender, at(400), 40_000, 0.0001);
    feed(&mut sender, at(500), 10_000, 0.0001);
    assert_eq!(rate(&sender), 80_000.0);
}

#[test]
fn a_receive_rate_of_zero_is_not_data_limited() {
    // RFC 5348 §4.3: "If the feedback packet reports a receive rate X_recv of zero …". The rate of
    // 40 000 was measured more than two round trips ago and no longer counts.
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.0001);
    feed(&mut sender, at(400), 40_000, 0.0001);
    feed(&mut sender, at(601), 0, 0.0001);
    assert_eq!(rate(&sender), 15.625);
    // One octet per second is data-limited: the rate of 40 000 is maximized.
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.0001);
    feed(&mut sender, at(400), 40_000, 0.0001);
    feed(&mut sender, at(601), 1, 0.0001);
    assert_eq!(rate(&sender), 80_000.0);
}

#[test]
fn slow_start_doubles_when_a_round_trip_has_passed() {
    // RFC 5348 §4.3 step 4, SLOW_START: X = max(min(2X, recv_limit), initial_rate) if t_now - tld
    // >= R.
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.0);
    let early = at(200) - Duration::from_nanos(1);
    feed(&mut sender, early, 1_000_000, 0.0);
    assert_eq!(rate(&sender), 43_800.0);
    feed(&mut sender, at(200), 1_000_000, 0.0);
    assert_eq!(
        (rate(&sender), sender.limit()),
        (87_600.0, Limit::SlowStart)
    );
    // The floor: recv_limit of 2·100 is below the initial rate.
    for k in 3..=6 {
        send_all_that_is_allowed(&mut sender, at(k * 100));
        feed(&mut sender, at(k * 100) + RTT, 100, 0.0);
    }
    assert_eq!(
        (rate(&sender), sender.limit()),
        (43_800.0, Limit::InitialWindow)
    );
}

#[test]
fn the_slowest_rate_is_a_packet_in_64_seconds() {
    // RFC 5348 §4.3, MAX_BACKOFF: s/t_mbi = 1000/64 = 15.625 octets per second.
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.0);
    for _ in 0..20 {
        let due = sender.poll_timeout().expect("a timer");
        sender.on_sent(due, S);
        expire(&mut sender);
    }
    assert_eq!(
        (rate(&sender), sender.limit()),
        (15.625, Limit::MinimumRate)
    );
    assert_eq!(sender.inter_packet_interval(), Duration::from_secs(64));
}

#[test]
fn an_idle_sender_keeps_less_than_twice_the_recover_rate() {
    // RFC 5348 §4.4, KEPT_RATE: p = 0 and X < 2·recover_rate = 87 600. X is twice X_recv here.
    for (receive_rate, kept) in [(43_799, true), (43_800, false)] {
        let mut sender = started(without_oscillation_reduction(), 1460);
        feed(&mut sender, at(100), 0, 0.0);
        feed(&mut sender, at(400), receive_rate, 0.0);
        let before = rate(&sender);
        assert_eq!(before, f64::from(2 * receive_rate));
        expire(&mut sender);
        assert_eq!(rate(&sender), if kept { before } else { before / 2.0 });
    }
}

#[test]
fn with_loss_an_idle_sender_keeps_a_receive_rate_below_the_recover_rate() {
    // RFC 5348 §4.4: p > 0 and X_recv < recover_rate = 43 800. Otherwise 2·X_recv limited X:
    // Update_Limits(X_recv) gives X = X_recv and X_recv_set = {X_recv/2}.
    for (receive_rate, expected) in [(43_799, 87_598.0), (43_800, 43_800.0)] {
        let mut sender = started(without_oscillation_reduction(), 1460);
        feed(&mut sender, at(100), 0, 0.0001);
        feed(&mut sender, at(400), receive_rate, 0.0001);
        assert_eq!(rate(&sender), f64::from(2 * receive_rate));
        expire(&mut sender);
        assert_eq!(rate(&sender), expected);
    }
}

#[test]
fn an_expiry_halves_the_limit_or_the_equations_rate() {
    // RFC 5348 §4.4: X_Bps <= 2·X_recv, so Update_Limits(X_Bps/2) gives X = X_Bps/2 and
    // X_recv_set = {X_Bps/4}; the next expiry X_Bps/4, because now 2·X_recv limits X.
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.0001);
    feed(&mut sender, at(400), 1_000_000, 0.0001);
    for divisor in [2.0, 4.0, 8.0] {
        let due = sender.poll_timeout().expect("a timer");
        sender.on_sent(due, S);
        expire(&mut sender);
        let share = rate(&sender) / EQUATION_RATE * divisor;
        assert!((share - 1.0).abs() < 1e-4, "{share}");
        let set = sender.receive_rate_set.max() / EQUATION_RATE * divisor * 2.0;
        assert!((set - 1.0).abs() < 1e-4, "{set}");
    }
}

#[test]
fn unused_sending_time_is_worth_one_round_trip() {
    // RFC 5348 §4.6: after ten idle seconds the nominal times are -100, -77.2, -54.3, -31.5 and
    // -8.7 ms (t_ipi = 22.83 ms): five packets leave at once.
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.0);
    let now = at(10_000);
    let mut sent = 0;
    while sender.next_send(now, S) == now {
        sender.on_sent(now, S);
        sent += 1;
    }
    assert_eq!(sent, 5);
}

#[test]
fn a_packet_leaves_half_a_granularity_early() {
    // RFC 5348 §8.3: t_delta = min(t_ipi, t_gran, R)/2, each of the three the least once.
    for (hertz, rtt_millis, expected_micros) in [
        // t_ipi = 22.83 ms, t_gran = 10 ms, R = 100 ms.
        (100, 100, 5000),
        // t_gran = 50 ms: t_ipi counts. 4380 octets a round trip: R/4.38.
        (20, 100, 11_415),
        (20, 200, 22_831),
        // t_gran = 500 ms.
        (2, 300, 34_246),
    ] {
        let mut sender = Sender::new(
            Profile {
                timer_tick: TimerTick::Hz(hertz),
                ..without_oscillation_reduction()
            },
            1460,
        );
        sender.on_handshake_rtt(Duration::from_millis(rtt_millis));
        sender.on_sent(at(0), S);
        assert_eq!(sender.send_ahead().as_micros(), expected_micros);
    }
    // s = 10 000 octets: t_ipi is 2.28 R, so that R counts.
    let mut sender = Sender::new(
        Profile {
            timer_tick: TimerTick::Hz(2),
            ..without_oscillation_reduction()
        },
        1460,
    );
    sender.on_handshake_rtt(RTT);
    sender.on_sent(at(0), 10_000);
    assert_eq!(sender.send_ahead(), RTT / 2);
}
