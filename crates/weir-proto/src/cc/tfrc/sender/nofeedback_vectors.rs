//! The expiry of the nofeedback timer against values worked by hand from RFC 3448, RFC 5348 and
//! Linux's ccid3.c.

use super::super::profile::{
    BeforeFeedback, IdleRule, InitialWindow, NofeedbackExemption, Oscillation,
};
use super::vectors::{RTT, S, at, expire, feed, rate, started, without_oscillation_reduction};
use super::*;

fn without_oscillation(profile: Profile) -> Profile {
    Profile {
        oscillation: Oscillation::Off,
        ..profile
    }
}

#[test]
fn each_expiry_is_numbered_until_feedback_arrives() {
    let mut sender = started(without_oscillation_reduction(), 1460);
    let mut events = Events::default();
    events.set_mask(EventMask::TIMEOUT);
    let mut numbers = Vec::new();
    for feedback_first in [false, false, false, true, false] {
        let due = sender.poll_timeout().expect("a timer");
        if feedback_first {
            feed(&mut sender, due, 0, 0.0);
        }
        sender.on_sent(due, S);
        let due = sender.poll_timeout().expect("a timer");
        sender.handle_timeout(due, &mut events);
        numbers.extend(events.drain().filter_map(|(_, event)| match event {
            Event::Timeout { backoff } => Some(backoff),
            _ => None,
        }));
    }
    assert_eq!(numbers, [0, 1, 2, 0, 1]);
}

#[test]
fn before_feedback_linux_waits_two_seconds_each_time() {
    // RFC 5348 §4.4: 2s/X, which is 4 s after X = 500. Linux: TFRC_INITIAL_TIMEOUT.
    for (rule, second) in [
        (BeforeFeedback::TwoSeconds, 4000),
        (BeforeFeedback::TwoIntervals, 6000),
    ] {
        let profile = Profile {
            nofeedback_before_feedback: rule,
            ..without_oscillation_reduction()
        };
        let mut sender = Sender::new(profile, 1460);
        sender.on_sent(at(0), S);
        expire(&mut sender);
        assert_eq!(rate(&sender), 500.0);
        assert_eq!(sender.poll_timeout(), Some(at(second)), "{rule:?}");
    }
}

#[test]
fn without_a_sample_an_idle_sender_is_halved_before_rfc_5348() {
    // RFC 5348 §4.4: "has been idle … and has not received feedback" is no reason to halve.
    for (profile, second) in [(Profile::rfc5348(), 500.0), (Profile::rfc3448(), 250.0)] {
        let mut sender = Sender::new(without_oscillation(profile), 1460);
        sender.on_sent(at(0), S);
        expire(&mut sender);
        assert_eq!(rate(&sender), 500.0, "a packet was sent");
        expire(&mut sender);
        assert_eq!(rate(&sender), second);
    }
}

#[test]
fn a_receive_rate_of_four_packets_a_round_trip_is_halved() {
    // RFC 3448 §4.4: idle, and X_recv less than 4·1000 octets in 100 ms.
    for (receive_rate, left) in [(39_999, 39_999.0), (40_000, 20_000.0)] {
        let profile = Profile {
            initial_window: InitialWindow::OneSegment,
            nofeedback_exemption: NofeedbackExemption::FourPacketsPerRtt,
            ..without_oscillation(Profile::rfc3448())
        };
        let mut sender = started(profile, 1460);
        feed(&mut sender, at(100), 0, 0.0);
        feed(&mut sender, at(200), receive_rate, 0.0);
        expire(&mut sender);
        assert_eq!(sender.receive_rate, left, "{receive_rate}");
    }
}

#[test]
fn with_loss_the_receive_rate_and_not_x_decides_about_an_idle_sender() {
    // RFC 5348 §4.4: p > 0 and X_recv = 100 000 is not below recover_rate = 43 800, though X is:
    // f(0.05) = 0.182574 + 12·0.136931·0.05·1.08 = 0.271305 (§3.1), X = 10 000/f = 36 859.
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.05);
    feed(&mut sender, at(400), 100_000, 0.05);
    assert!((rate(&sender) / 36_859.0 - 1.0).abs() < 1e-4);
    expire(&mut sender);
    assert!((rate(&sender) / 18_429.5 - 1.0).abs() < 1e-4);
}

#[test]
fn an_expiry_that_does_not_reduce_the_rate_is_not_its_limit() {
    // RFC 5348 §4.3 and §4.4: recv_limit was 0.85·40 000 without the factor of two, and
    // Update_Limits(X_recv) gives 34 000 again.
    let mut sender = started(without_oscillation_reduction(), 1460);
    feed(&mut sender, at(100), 0, 0.0001);
    feed(&mut sender, at(400), 40_000, 0.0001);
    feed(&mut sender, at(500), 40_000, 0.0002);
    sender.on_sent(at(501), S);
    expire(&mut sender);
    assert_eq!(
        (rate(&sender), sender.limit()),
        (34_000.0, Limit::TwiceReceiveRate)
    );
}

#[test]
fn rfc_3448_leaves_half_of_x_recv_or_a_quarter_of_x_calc() {
    // RFC 3448 §4.4: if X_calc > 2·X_recv, X_recv = max(X_recv/2, s/(2·t_mbi)), else X_calc/4.
    let mut sender = started(
        Profile {
            idle_rule: IdleRule::Never,
            ..without_oscillation(Profile::rfc5348())
        },
        1460,
    );
    // X_calc is 36 859 (see above) and less than 2·30 000.
    feed(&mut sender, at(100), 0, 0.05);
    feed(&mut sender, at(400), 30_000, 0.05);
    sender.on_sent(at(401), S);
    expire(&mut sender);
    assert!((sender.receive_rate / 9214.8 - 1.0).abs() < 1e-4);
    // Linux, s = 1000 and R = 1 s: X_calc = floor(10^9/243 315 981) = 4, s/128 = 7.8125.
    for (receive_rate, expected) in [(2, 1.0), (1, 7.8125), (0, 7.8125)] {
        let second = Duration::from_secs(1);
        let mut sender = Sender::new(without_oscillation(Profile::linux_2008()), 1460);
        sender.on_handshake_rtt(second);
        sender.on_sent(at(0), S);
        for now in [1000, 2000] {
            let feedback = Feedback {
                sent_at: at(now) - second,
                elapsed_time: Duration::ZERO,
                receive_rate,
                loss_event_rate: 1.0,
                new_loss_event: false,
            };
            sender.on_feedback(at(now), &feedback, &mut Events::default());
        }
        assert_eq!(sender.equation_rate, Some(4.0));
        expire(&mut sender);
        assert_eq!(sender.receive_rate, expected, "{receive_rate}");
    }
}

#[test]
fn the_minimum_rate_of_a_stream_lasts_until_feedback_fails_twice() {
    // X_calc at p = 1 is 41 octets per second; the minimum is 80 kbit/s.
    let mut profile = without_oscillation_reduction();
    profile.wireless.minimum_rate = Some(80_000);
    let mut sender = started(profile, 1460);
    feed(&mut sender, at(100), 0, 0.0);
    feed(&mut sender, at(400), 1_000_000, 1.0);
    assert_eq!(
        (rate(&sender), sender.limit()),
        (10_000.0, Limit::MinimumRate)
    );
    for expected in [10_000.0, 15.625] {
        let due = sender.poll_timeout().expect("a timer");
        sender.on_sent(due - RTT, S);
        expire(&mut sender);
        assert_eq!(rate(&sender), expected);
    }
    // A rate of exactly the minimum keeps its own limit.
    let mut profile = without_oscillation_reduction();
    profile.wireless.minimum_rate = Some(80_000);
    let mut sender = started(profile, 1460);
    feed(&mut sender, at(100), 0, 0.0001);
    feed(&mut sender, at(400), 5000, 0.0001);
    assert_eq!(
        (rate(&sender), sender.limit()),
        (10_000.0, Limit::TwiceReceiveRate)
    );
}
