//! Reference values: numbers printed in the documents and RFCs, or calculated by hand.

use super::*;
use weir_proto::time::Duration;
use weir_proto::units::{Probability, Rate};

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn near(value: f64, expected: f64, relative: f64) {
    assert!(
        (value / expected - 1.0).abs() < relative,
        "{value} is not {expected}"
    );
}

fn value(lines: &[Line], name: &str) -> f64 {
    lines.iter().find(|line| line.name == name).unwrap().value
}

#[test]
fn the_equation_gives_753_kbit_at_1400_bytes_400_ms_and_two_per_mille() {
    let lines = evaluate("tfrc", &[("s", "1400"), ("rtt", "400ms"), ("p", "0.002")]).unwrap();
    near(value(&lines, "equation_rate_bps"), 753_250.0, 1e-5);
    // 3500 B/s · 10^6 / 37172, truncated to whole bytes per second.
    assert_eq!(value(&lines, "kernel_rate_bps"), 94_156.0 * 8.0);
    assert_eq!(lines[0].text, "753.25 kbit/s");
}

#[test]
fn the_kernel_caps_the_rate_at_its_smallest_tabulated_loss() {
    // f(0.0001) = 0.008172 in the kernel's table, so X_calc ≤ 122.4 s/R.
    let rtt = Duration::from_millis(200);
    for loss in [0.000_1, 0.000_05, 0.000_001] {
        near(
            tfrc::kernel_throughput(1400, rtt, p(loss)).as_bps(),
            6.853e6,
            1e-3,
        );
    }
    assert!(tfrc::throughput(1400, rtt, p(0.000_05)).as_bps() > 9.0e6);
}

#[test]
fn the_response_function_matches_the_kernels_printed_entries() {
    for (loss, entry) in [
        (0.0001, 0.008_172),
        (0.002, 0.037_172),
        (0.05, 0.271_305),
        (1.0, 243.315_981),
    ] {
        near(tfrc::response(p(loss)), entry, 1e-4);
    }
}

#[test]
fn the_inverse_finds_the_first_loss_interval_of_half_a_packet_per_rtt() {
    // RFC 5348 §6.3.1: half a packet a round-trip time means p = 20.64 %, five packets.
    let rtt = Duration::from_millis(100);
    let half = Rate::from_bytes_per_sec(0.5 * 1000.0 / 0.1);
    near(
        tfrc::loss_event_rate_for(1000, rtt, half).unwrap().get(),
        0.2064,
        1e-3,
    );
    let floor = Rate::from_bps(1.0);
    assert_eq!(tfrc::loss_event_rate_for(1000, rtt, floor), None);
}

#[test]
fn the_inverse_undoes_the_equation() {
    let rtt = Duration::from_millis(37);
    for loss in [1e-6, 1e-4, 0.01, 0.2, 1.0] {
        let rate = tfrc::throughput(1460, rtt, p(loss));
        near(
            tfrc::loss_event_rate_for(1460, rtt, rate).unwrap().get(),
            loss,
            1e-9,
        );
    }
}

#[test]
fn loopback_starts_at_88_bytes_in_63_microseconds() {
    let start = tfrc::per_rtt(tfrc::initial_window(22), Duration::from_micros(63));
    near(start.as_bps(), 11.1746e6, 1e-5);
    let peak = tfrc::per_rtt(tfrc::initial_window(22), Duration::from_micros(3));
    near(peak.as_bps(), 234.667e6, 1e-5);
    assert_eq!(tfrc::initial_window(1460), 4380);
    assert_eq!(tfrc::initial_window(4380), 8760);
}

#[test]
fn nofeedback_intervals_double_below_the_knee() {
    let rtt = Duration::from_micros(3);
    near(tfrc::nofeedback_knee(22, rtt * 4).as_bps(), 29.33e6, 1e-3);
    near(
        tfrc::nofeedback_knee(22, Duration::from_millis(100)).as_bps(),
        3520.0,
        1e-9,
    );
    let intervals: Vec<u64> = [234.667e6, 58.667e6, 14.667e6, 7.3333e6, 3.6667e6, 1.8333e6]
        .iter()
        .map(|bps| {
            let rate = Rate::from_bps(*bps);
            tfrc::nofeedback_interval(22, rtt, rate, Duration::ZERO).as_nanos()
        })
        .map(|nanos| (nanos + 500) / 1000)
        .collect();
    assert_eq!(intervals, [12, 12, 24, 48, 96, 192]);
}

#[test]
fn the_idle_map_ends_at_the_initial_window_from_every_start() {
    let at = tfrc::SlowStart {
        segment_size: 22,
        rtt: Duration::from_millis(2),
        receive_rate: Rate::from_bps(1800.0),
        idle: true,
    };
    let goal = tfrc::per_rtt(88, at.rtt);
    for start in [1.0, 30_000.0, 60_000.0, 200_000.0, 352_000.0, 1e9] {
        let series = tfrc::slow_start_series(Rate::from_bps(start), at, 100);
        assert_eq!(*series.last().unwrap(), goal, "from {start} bit/s");
    }
    // Without the idle rule the rate converges to s/R.
    let busy = tfrc::SlowStart { idle: false, ..at };
    let series = tfrc::slow_start_series(goal, busy, 100);
    assert_eq!(*series.last().unwrap(), tfrc::per_rtt(22, at.rtt));
}

#[test]
fn the_lossy_link_gives_the_printed_theory_values() {
    let link = [("mss", "1252"), ("rtt", "2ms"), ("p", "0.02")];
    near(
        value(&evaluate("mathis", &link).unwrap(), "throughput_bps"),
        43.37e6,
        1e-4,
    );
    let every = evaluate("mathis-b", &link).unwrap();
    near(value(&every, "throughput_bps"), 36.5043e6, 1e-5);
    near(value(&every, "window_packets"), 9.719, 1e-4);
    near(value(&every, "cycle_rtts"), 6.859, 1e-4);
    let other = [link.as_slice(), &[("ack-every", "2")]].concat();
    let other = evaluate("mathis-b", &other).unwrap();
    near(value(&other, "throughput_bps"), 34.2546e6, 1e-5);
    assert_eq!(value(&other, "idle_rtts"), 2.75);
}

#[test]
fn fifty_packets_in_seven_or_eight_round_trips_are_the_periodic_results() {
    let path = mathis::Path {
        packet_bytes: 1252,
        rtt: Duration::from_millis(2),
        loss: p(0.02),
    };
    near(mathis::identity(50.0, 7.0, path).as_bps(), 35.7714e6, 1e-6);
    near(mathis::identity(50.0, 8.0, path).as_bps(), 31.3e6, 1e-9);
}

#[test]
fn idle_rtts_shrink_when_the_round_trip_outlasts_the_ack_delay() {
    let delay = Duration::from_millis(25);
    assert_eq!(mathis::idle_rtts(1, delay, Duration::from_millis(100)), 2.0);
    assert_eq!(
        mathis::idle_rtts(2, delay, Duration::from_millis(100)),
        2.1875
    );
}

#[test]
fn pftk_is_tfrc_while_the_timeout_share_stays_below_one() {
    let link = [("mss", "1460"), ("rtt", "100ms"), ("p", "0.01")];
    let reno = value(&evaluate("pftk", &link).unwrap(), "throughput_bps");
    let equation = tfrc::throughput(1460, Duration::from_millis(100), p(0.01)).as_bps();
    near(reno, equation, 1e-12);
    let bound = [link.as_slice(), &[("max-window", "4")]].concat();
    near(
        value(&evaluate("pftk", &bound).unwrap(), "throughput_bps"),
        4.0 * 1460.0 * 80.0,
        1e-9,
    );
}

#[test]
fn cubic_gives_the_windows_of_the_rfcs_table() {
    // RFC 9438 §5.1, RFC9438: the table of response functions.
    // The CUBIC RFC's table for RTT = 100 ms: 1054 packets at 1e-5 and 5926 at 1e-6.
    for (loss, packets) in [(1e-5, 1054.0), (1e-6, 5926.0)] {
        let steady = cubic::steady(1500, Duration::from_millis(100), p(loss), cubic::RFC9438);
        near(steady.cubic_packets, packets, 1e-3);
    }
}

#[test]
fn errors_name_the_closest_word() {
    let message = |result: Result<Vec<Line>, TheoryError>| result.unwrap_err().to_string();
    assert_eq!(
        message(evaluate("mathys", &[])),
        "there is no law \"mathys\"; did you mean \"mathis\"?"
    );
    assert_eq!(
        message(evaluate("tfrc", &[("s", "1400"), ("rtt", "5ms")])),
        "tfrc needs --p: loss (event) rate"
    );
    assert!(message(evaluate("tfrc", &[("mss", "1")])).contains("no parameter \"mss\""));
    let bad = [("s", "1400"), ("rtt", "400"), ("p", "0.002")];
    assert!(message(evaluate("tfrc", &bad)).starts_with("--rtt: \"400\" has no unit"));
    let zero = [("s", "1400"), ("rtt", "400ms"), ("p", "0")];
    assert!(message(evaluate("tfrc", &zero)).contains("must be positive"));
    assert!(
        message(evaluate(
            "tfrc",
            &[("s", "-3"), ("rtt", "1s"), ("p", "nan")]
        ))
        .contains("--s")
    );
}

#[test]
fn every_law_evaluates_with_ordinary_values_and_extreme_ones() {
    for law in LAWS {
        for extreme in [false, true] {
            let arguments: Vec<(&str, &str)> = law
                .parameters
                .iter()
                .map(|parameter| {
                    let ordinary = match parameter.quantity {
                        Quantity::Bytes => ["1000", "9000000000000000"],
                        Quantity::Time => ["10ms", "1ns"],
                        Quantity::Probability => ["0.01", "1e-300"],
                        Quantity::Rate => ["1Mbit", "1e-300bit"],
                        Quantity::Number => ["1", "1e308"],
                    };
                    (parameter.name, ordinary[usize::from(extreme)])
                })
                .collect();
            let lines = law.evaluate(&arguments).unwrap();
            assert!(!lines.is_empty(), "{}", law.name);
            if !extreme {
                assert!(
                    lines.iter().all(|line| line.value.is_finite()),
                    "{}",
                    law.name
                );
            }
        }
    }
}

#[test]
fn values_are_printed_with_the_prefix_that_a_person_would_choose() {
    for (number, unit, text) in [
        (753_253.1, "bit/s", "753.25 kbit/s"),
        (0.000_012, "s", "12 µs"),
        (0.098, "s", "98 ms"),
        (1e11, "bit/s", "100 Gbit/s"),
        (0.0, "bit/s", "0 bit/s"),
        (9.718_9, "packets", "9.7189 packets"),
        (12_520.0, "bytes", "12520 bytes"),
        (0.000_001, "packets", "1e-6 packets"),
    ] {
        assert_eq!(format_value(number, unit), text);
    }
}
