use super::*;
use crate::cc::media::feedback_deadline;
use crate::cc::media::fixture::{at, close, packet_of};

mod rate;
mod window;

/// The RECOMMENDED values of the draft.
#[test]
fn the_constants_are_those_of_the_draft() {
    let ms = Duration::from_millis;
    let expected = ScreamConfig {
        min_rate: 150_000,
        max_rate: 1_500_000,
        qdelay_target: ms(60),
        qdelay_gain: 0.25,
        base_delay_window: Duration::from_secs(600),
        min_ref_wnd: 3000,
        mss: 1000,
        in_flight_headroom: 1.5,
        beta_loss: 0.7,
        beta_ecn: 0.8,
        post_congestion_round_trips: 100,
        multiplicative_increase: 0.02,
        virtual_rtt: ms(25),
        l4s_gain_up: 0.125,
        l4s_gain_down: 0.007_812_5,
        window_overhead: 3.0,
        min_pacing_rate: 50_000,
        pacing_headroom: 1.5,
        relaxed_pacing: 4.0,
        relaxed_pacing_from: 0.8,
        packet_overhead: 20,
        rate_adjust_gain: 0.0625,
        frame_size_gain: 0.015_625,
        feedback_timeout: ms(500),
    };
    assert_eq!(ScreamConfig::default(), expected);
}

/// A packet of 1000 octets; `delay` is `None` if it was lost.
fn packet(sequence: u64, sent: u64, delay: Option<u64>) -> PacketReport {
    packet_of(1000, sequence, sent, delay)
}

fn report(scream: &mut Scream, now: u64, packets: &[PacketReport]) {
    scream.on_report(&Report {
        now: at(now),
        made_at: Duration::from_millis(now),
        rtt: Some(Duration::from_millis(100)),
        packets,
    });
}

#[test]
fn octets_in_flight_are_those_above_the_highest_acknowledged_number() {
    let mut scream = Scream::new(ScreamConfig::default(), false);
    for sequence in 0..9 {
        assert!(scream.may_send(1000), "3 · 3000 octets: {sequence}");
        scream.on_sent(at(sequence), sequence, 1000);
    }
    assert!(!scream.may_send(1));
    // The second is acknowledged, the first lost: both have left.
    report(
        &mut scream,
        100,
        &[packet(0, 0, None), packet(1, 1, Some(50))],
    );
    assert_eq!(scream.in_flight.octets, 7000);
    assert!(scream.may_send(2000));
    // A loss above the highest acknowledged is still in flight.
    report(&mut scream, 110, &[packet(2, 2, None)]);
    assert_eq!(scream.in_flight.octets, 7000);
    assert_eq!(scream.loss_events(), 1);
    scream.count_loss_events_from(at(1000));
    report(&mut scream, 400, &[packet(3, 300, None)]);
    assert_eq!(scream.loss_events(), 1);
}

#[test]
fn a_packet_that_is_larger_than_the_window_leaves_alone() {
    let scream = Scream::new(ScreamConfig::default(), false);
    assert!(scream.may_send(9001));
}

#[test]
fn the_greatest_flight_of_this_and_the_last_round_trip_is_kept() {
    let mut flight = InFlight::default();
    let rtt = Duration::from_millis(100);
    (0..5).for_each(|sequence| flight.on_sent(sequence, 1000));
    flight.renew(at(99), rtt);
    assert_eq!(flight.most, [5000, 0]);
    assert_eq!(flight.acknowledge(2), 3000);
    flight.renew(at(100), rtt);
    assert_eq!(flight.most, [2000, 5000]);
    flight.renew(at(199), rtt);
    assert_eq!(flight.most, [2000, 5000]);
    flight.renew(at(200), rtt);
    assert_eq!(flight.most, [2000, 2000]);
}

#[test]
fn the_queueing_delay_is_that_of_the_newest_packet_above_the_least() {
    let mut scream = Scream::new(ScreamConfig::default(), false);
    report(
        &mut scream,
        100,
        &[packet(0, 0, Some(50)), packet(1, 10, Some(58))],
    );
    assert_eq!(scream.qdelay, Duration::from_millis(8));
    // A lost packet has no delay.
    report(
        &mut scream,
        200,
        &[packet(2, 20, Some(45)), packet(3, 30, None)],
    );
    assert_eq!(scream.qdelay, Duration::ZERO);
    report(&mut scream, 300, &[packet(4, 40, Some(65))]);
    assert_eq!(scream.qdelay, Duration::from_millis(20));
    let media = scream.state(5, 1000).media.expect("media");
    assert_eq!(
        (media.queue_delay, media.buffered_bytes),
        (Duration::from_millis(20), 5)
    );
}

#[test]
fn a_loss_reduces_the_window_and_the_rate_that_follows_from_it() {
    let config = ScreamConfig {
        min_rate: 1000,
        ..ScreamConfig::default()
    };
    let mut scream = Scream::new(config, false);
    scream.window = ReferenceWindow::of(&config, false, [20_000.0, 1.0]);
    (0..20).for_each(|sequence| scream.on_sent(at(sequence), sequence, 1000));
    report(&mut scream, 100, &[packet(0, 0, Some(50))]);
    // What is acknowledged next to nothing adds 1000 · 1000 / 20000 · (1 + 0.4).
    assert!(
        close(scream.window.octets(), 20_070.0),
        "{}",
        scream.window.octets()
    );
    report(&mut scream, 200, &[packet(1, 1, None)]);
    assert!(close(scream.window.octets(), 14_049.0));
    assert_eq!(scream.limit, Limit::LossReduction);
    let state = scream.state(0, 1000);
    assert_eq!((state.state, state.loss_event_rate), ("decrease", 1.0));
    // MSS / ref_wnd is below 0.1: 8 · 14049 / 0.1 · (1000 / 1020) / 1.2.
    let rate = 8.0 * 14_049.0 / 0.1 / 1.02 / 1.2;
    assert!(close(scream.target_rate(0).as_bps(), rate), "{rate}");
    assert_eq!(scream.smoothed_rtt(), Duration::from_millis(100));
}

#[test]
fn at_the_greatest_rate_the_window_does_not_grow() {
    let config = ScreamConfig::default();
    let mut scream = Scream::new(config, false);
    // 8 · 30000 / 0.1 is 2.4 Mbit/s.
    scream.window = ReferenceWindow::of(&config, false, [30_000.0, 1.0]);
    (0..30).for_each(|sequence| scream.on_sent(at(sequence), sequence, 1000));
    report(&mut scream, 100, &[packet(0, 0, Some(50))]);
    assert_eq!(scream.limit, Limit::MaximumMediaRate);
    assert!(close(scream.target_rate(0).as_bps(), 1.5e6));
    let window = scream.window.octets();
    report(&mut scream, 200, &[packet(1, 1, Some(50))]);
    assert!(close(scream.window.octets(), window));
}

#[test]
fn missing_feedback_halves_the_window_and_opens_it() {
    let config = ScreamConfig::default();
    let mut scream = Scream::new(config, false);
    assert_eq!(feedback_deadline(&scream, at(7)), at(507));
    let state = scream.state(0, 1000);
    assert_eq!(
        (state.state, state.limit),
        ("no_feedback_yet", Limit::MinimumMediaRate)
    );
    scream.rtt.on_sample(at(0), Duration::from_millis(300));
    assert_eq!(feedback_deadline(&scream, at(7)), at(607));
    scream.window = ReferenceWindow::of(&config, false, [20_000.0, 1.0]);
    (0..60).for_each(|sequence| scream.on_sent(at(sequence), sequence, 1000));
    assert!(!scream.may_send(1));
    scream.on_feedback_timeout();
    assert!(close(scream.window.octets(), 10_000.0));
    assert!(scream.may_send(1000));
    assert_eq!(scream.limit, Limit::NofeedbackHalving);
    scream.on_feedback_timeout();
    scream.on_feedback_timeout();
    assert!(close(scream.window.octets(), 3000.0), "MIN_REF_WND");
    assert_eq!(scream.limit, Limit::MinimumMediaRate);
}
