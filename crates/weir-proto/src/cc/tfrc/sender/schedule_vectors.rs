//! When a packet may leave, against values worked by hand from RFC 3448 §4.6, RFC 5348 §4.6 and
//! §8.3, and Linux's ccid3.c.

use super::vectors::{RTT, S, at, started, without_oscillation_reduction};
use super::*;

fn micros(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

#[test]
fn linux_sends_below_a_millisecond_and_waits_whole_ones() {
    let ahead = |micros| SendAhead::Constant(Duration::from_micros(micros));
    // t_nom - t_now, and how long the packet waits, in microseconds.
    for (send_ahead, delay, wait) in [
        (ahead(1000), 0, 0),
        (ahead(1000), 999, 0),
        (ahead(1000), 1000, 1000),
        (ahead(1000), 1999, 1000),
        (ahead(1000), 2000, 2000),
        (ahead(1000), 22_831, 22_000),
        // A timer of zero milliseconds runs for one.
        (ahead(500), 499, 0),
        (ahead(500), 500, 1000),
        (ahead(0), 0, 0),
    ] {
        let profile = Profile {
            send_ahead,
            ..Profile::linux_2008()
        };
        let mut sender = started(profile, 1460);
        sender.nominal_time = micros(delay);
        let next = sender.next_send(at(0), S);
        assert_eq!(next, micros(wait), "{send_ahead:?} {delay}");
    }
}

#[test]
fn a_packet_that_is_half_a_granularity_early_leaves_now() {
    // RFC 5348 §8.3: t_delta = 10 ms/2 before the nominal time of 50 ms; else at the next tick.
    let mut sender = started(
        Profile {
            timer_tick: TimerTick::Hz(100),
            ..without_oscillation_reduction()
        },
        1460,
    );
    sender.inter_packet_interval = Duration::from_millis(50);
    assert_eq!(sender.next_send(at(45), S), at(45));
    let early = at(45) - Duration::from_nanos(1);
    assert_eq!(sender.next_send(early, S), at(50));
}

#[test]
fn rfc_3448_sends_half_of_an_interval_or_of_the_granularity_early() {
    // RFC 3448 §4.6: t_delta = min(t_ipi/2, t_gran/2), with t_ipi = 100 ms.
    for (hertz, millis) in [(100, 5), (5, 50)] {
        let mut sender = started(
            Profile {
                timer_tick: TimerTick::Hz(hertz),
                ..Profile::rfc3448()
            },
            1460,
        );
        sender.inter_packet_interval = RTT;
        assert_eq!(sender.send_ahead(), Duration::from_millis(millis));
    }
}

#[test]
fn an_interval_of_zero_moves_the_nominal_time_by_a_nanosecond() {
    let nano = Duration::from_nanos(1);
    let mut sender = started(without_oscillation_reduction(), 1460);
    sender.inter_packet_interval = Duration::ZERO;
    assert_eq!(sender.next_send(at(0), S), at(0) + nano);
    let mut sender = started(Profile::linux_2008(), 1460);
    sender.inter_packet_interval = Duration::ZERO;
    sender.nominal_time = at(7);
    sender.on_sent(at(7), S);
    assert_eq!(sender.nominal_time, at(7) + nano);
}

#[test]
fn the_first_packet_leaves_at_once_and_starts_the_schedule() {
    // RFC 5348 §4.6: t_0 is when the first packet leaves, here 5 ms after it was asked for.
    let mut sender = Sender::new(without_oscillation_reduction(), 1460);
    sender.on_handshake_rtt(RTT);
    assert_eq!(sender.next_send(at(0), S), at(0));
    sender.on_sent(at(5), S);
    let interval = sender.inter_packet_interval();
    assert_eq!(interval, Duration::from_nanos(22_831_050));
    assert_eq!(sender.next_send(at(5), S), at(5) + interval);
}

#[test]
fn an_acknowledgement_moves_the_window_counter() {
    // RFC 4342 §8.1: at least four more than that of the acknowledged packet.
    let mut sender = started(without_oscillation_reduction(), 1460);
    sender.on_acked_counter(0);
    assert_eq!(sender.on_sent(at(1), S), 4);
}

#[test]
fn the_next_packet_follows_a_change_of_its_interval_except_in_linux() {
    // RFC 5348 §4.6: t_(i+1) = t_i + t_ipi, with the present t_ipi. A packet leaves at 64 s at a
    // rate of one in 64 s; then feedback allows one in 2 s. Linux has already set 128 s by then.
    for (nominal_time, set, next) in [
        (NominalTime::Rescheduled, at(0), at(66_000)),
        (NominalTime::Kept, at(64_000), at(128_000)),
    ] {
        let profile = Profile {
            nominal_time,
            ..without_oscillation_reduction()
        };
        let mut sender = started(profile, 1460);
        sender.nominal_time = set;
        sender.inter_packet_interval = Duration::from_secs(64);
        sender.on_sent(at(64_000), S);
        sender.inter_packet_interval = Duration::from_secs(2);
        let found = sender.next_send(at(64_030), S);
        assert_eq!(found, next, "{nominal_time:?}");
    }
}
