//! The two estimates of the available rate.

use super::super::aimd::State;
use super::*;

fn input(now: u64, usage: Usage, received_kbps: f64) -> Input {
    Input {
        now: at(now),
        usage,
        received: Some(received_kbps * 1e3),
        rtt: Duration::from_millis(100),
    }
}

fn with_start(start_rate: u64) -> (GccConfig, Aimd) {
    let config = GccConfig {
        start_rate,
        ..GccConfig::default()
    };
    (config, Aimd::new(&config))
}

#[test]
fn the_transitions_are_those_of_section_5_5() {
    use State::{Decrease, Hold, Increase};
    for (usage, after) in [
        (Usage::Over, [Decrease, Decrease, Decrease]),
        (Usage::Normal, [Increase, Increase, Hold]),
        (Usage::Under, [Hold, Hold, Hold]),
    ] {
        assert_eq!(
            [Hold, Increase, Decrease].map(|state| state.after(usage)),
            after
        );
    }
    assert_eq!(with_start(1).1.state(), Increase);
}

#[test]
fn far_from_convergence_the_rate_grows_by_eta_a_second() {
    let (config, mut aimd) = with_start(300_000);
    let mut report = |now| {
        let limit = aimd.on_report(&config, &input(now, Usage::Normal, 1000.0));
        (limit, aimd.rate())
    };
    assert_eq!(report(1000), (Limit::MultiplicativeIncrease, 300e3));
    assert!(close(report(2000).1, 324e3));
    // At most a second counts: 324 · 1.08.
    assert!(close(report(4000).1, 349.92e3));
    // 1.08 ^ 0.5 = 1.039230485.
    assert!((report(4500).1 / 349.92e3 - 1.039_230_485).abs() < 1e-9);
}

#[test]
fn the_rate_grows_up_to_one_and_a_half_of_what_arrives() {
    let (config, mut aimd) = with_start(300_000);
    aimd.on_report(&config, &input(0, Usage::Normal, 210.0));
    // 324 is above 1.5 · 210 = 315.
    let limit = aimd.on_report(&config, &input(1000, Usage::Normal, 210.0));
    assert_eq!(limit, Limit::ReceivedMedia);
    assert!(close(aimd.rate(), 315e3));
    // The bound reduces nothing.
    let limit = aimd.on_report(&config, &input(2000, Usage::Normal, 100.0));
    assert_eq!(limit, Limit::ReceivedMedia);
    assert!(close(aimd.rate(), 315e3));
}

#[test]
fn an_over_use_sets_the_rate_to_beta_of_what_arrives() {
    let (config, mut aimd) = with_start(300_000);
    let limit = aimd.on_report(&config, &input(0, Usage::Over, 200.0));
    assert_eq!(
        (limit, aimd.state()),
        (Limit::DelayReduction, State::Decrease)
    );
    assert!(close(aimd.rate(), 170e3));
    assert_eq!(aimd.average(), Some(200.0));
    // An over-use never raises the rate: 0.85 · 400 is more than 170. Beta of the average is, too,
    // 0.85 · 200 = 170.
    aimd.on_report(&config, &input(500, Usage::Over, 400.0));
    assert!(close(aimd.rate(), 170e3));
    let (config, mut aimd) = with_start(300_000);
    aimd.on_report(&config, &input(0, Usage::Over, 400.0));
    assert!(close(aimd.rate(), 300e3));
}

#[test]
fn an_over_use_that_lasts_reduces_once_a_round_trip() {
    // A round trip counts as 10 ms at least and 200 ms at most.
    for (rtt, interval) in [(150, 150), (500, 200), (1, 10)] {
        let (config, mut aimd) = with_start(300_000);
        let mut report = |now, received: f64| {
            let rtt = Duration::from_millis(rtt);
            let input = Input {
                rtt,
                ..input(now, Usage::Over, received)
            };
            aimd.on_report(&config, &input);
            aimd.rate()
        };
        assert!(close(report(0, 200.0), 170e3));
        assert!(close(report(interval - 1, 100.0), 170e3), "{rtt}");
        assert!(close(report(interval, 100.0), 85e3), "{rtt}");
        // Less than half of the rate arrives.
        assert!(close(report(interval + 1, 42.4), 36.04e3), "{rtt}");
    }
}

#[test]
fn close_to_convergence_the_rate_grows_by_half_a_packet_in_a_response_time() {
    // After an over-use at this rate; the response time is 100 + 100 ms, so 100 ms count for a
    // quarter of a packet.
    let grown = |received: f64, wait: u64| {
        let (config, mut aimd) = with_start(10_000_000);
        aimd.on_report(&config, &input(0, Usage::Over, received));
        let held = aimd.on_report(&config, &input(100, Usage::Normal, received));
        assert_eq!((held, aimd.state()), (Limit::DelayHold, State::Hold));
        let before = aimd.rate();
        let limit = aimd.on_report(&config, &input(100 + wait, Usage::Normal, received));
        assert_eq!(limit, Limit::AdditiveIncrease);
        (before, aimd.rate() - before)
    };
    // 170 kbit/s are 5666.67 bits a frame, one packet: 1416.67 bit/s.
    let (rate, step) = grown(200.0, 100);
    assert!(
        close(rate, 170e3) && (step - 170e3 / 30.0 / 4.0).abs() < 1e-6,
        "{step}"
    );
    // The response time at most: half a packet.
    assert!((grown(200.0, 900).1 - 170e3 / 30.0 / 2.0).abs() < 1e-6);
    // 960 kbit/s are 32000 bits a frame, four packets of at most 9600: 8000 / 4.
    let (rate, step) = grown(960.0 / 0.85, 100);
    assert!(close(rate, 960e3) && (step - 2000.0).abs() < 1e-6, "{step}");
    // 102 kbit/s: 3400 bits a frame, of which a quarter is less than 1000.
    assert!((grown(120.0, 100).1 - 1000.0).abs() < 1e-6);
}

#[test]
fn three_deviations_from_the_average_the_average_is_forgotten() {
    // The variance begins at 0.4 times the average: σ = √(0.4 · 200) = 8.944 kbit/s, 3σ = 26.83.
    let after = |usage, received| {
        let (config, mut aimd) = with_start(10_000_000);
        aimd.on_report(&config, &input(0, Usage::Over, 200.0));
        aimd.on_report(&config, &input(100, Usage::Normal, 200.0));
        let limit = aimd.on_report(&config, &input(200, usage, received));
        (limit, aimd.average(), aimd.variance())
    };
    assert_eq!(after(Usage::Normal, 226.0).0, Limit::AdditiveIncrease);
    let (limit, average, _) = after(Usage::Normal, 227.0);
    assert_eq!((limit, average), (Limit::MultiplicativeIncrease, None));
    // 0.95 · 200 + 0.05 · 174, and 173 alone.
    assert!(close(after(Usage::Over, 174.0).1.expect("known"), 198.7));
    assert!(close(after(Usage::Over, 173.0).1.expect("known"), 173.0));
    // 190: the average is 199.5, and (199.5 - 190)² / 199.5 = 0.452381 weighs a twentieth.
    let (_, _, variance) = after(Usage::Over, 190.0);
    assert!(
        (variance - (0.95 * 0.4 + 0.05 * 0.452_381)).abs() < 1e-6,
        "{variance}"
    );
    // Rates that do not differ leave the least variance.
    assert!(close(after(Usage::Over, 200.0).2, 0.4));
}

#[test]
fn the_variance_is_bounded() {
    let (config, mut aimd) = with_start(10_000_000);
    // Rates that alternate within three deviations.
    for k in 0..2000 {
        let received = if k % 2 == 0 { 1000.0 } else { 890.0 };
        aimd.on_report(&config, &input(1000 * k, Usage::Over, received));
        assert!((0.4..=2.5).contains(&aimd.variance()));
    }
    assert!(aimd.variance() > 2.0, "{}", aimd.variance());
}

/// As_hat after reports at these times with so many lost of all packets, from 300 kbit/s on.
fn losses(reports: &[(u64, [u64; 2])]) -> f64 {
    let config = GccConfig::default();
    let mut losses = LossBased::new(&config);
    for (now, counted) in reports {
        losses.on_report(&config, at(*now), *counted, Duration::from_millis(100));
    }
    losses.rate()
}

#[test]
fn up_to_two_percent_of_losses_let_the_rate_grow_once_a_second() {
    // 300 · 1.08 + 1 kbit/s, and again from the least rate of the last second.
    assert!(close(losses(&[(0, [0, 100])]), 325e3));
    assert!(close(losses(&[(0, [2, 100])]), 325e3));
    assert!(close(losses(&[(0, [3, 100])]), 300e3));
    assert!(close(losses(&[(0, [0, 100]), (999, [0, 100])]), 325e3));
    assert!(close(losses(&[(0, [0, 100]), (1000, [0, 100])]), 352e3));
}

#[test]
fn more_than_ten_percent_of_losses_reduce_it_by_half_of_their_share() {
    assert!(close(losses(&[(0, [10, 100])]), 300e3));
    // 300 · (1 - 0.5 · 0.2).
    let lost = [20, 100];
    assert!(close(losses(&[(0, lost)]), 270e3));
    // Once in 300 ms and a round trip of 100 ms.
    assert!(close(losses(&[(0, lost), (399, lost)]), 270e3));
    assert!(close(losses(&[(0, lost), (400, lost)]), 243e3));
}

#[test]
fn a_share_is_taken_of_twenty_packets() {
    // The share of ten packets is not known yet, so that it counts as none.
    assert!(close(losses(&[(0, [10, 19])]), 325e3));
    // 10 of 20: 325 · 0.75.
    assert!(close(losses(&[(0, [10, 19]), (10, [0, 1])]), 243.75e3));
}
