//! The acknowledgements that a controller processes in fast recovery.

use super::*;
use crate::cc::recorder::Recorder;

#[test]
fn a_controller_that_measures_a_rate_counts_what_arrives_in_fast_recovery() {
    // Segment 0 is lost of twenty; 1 to 10 are SACKed one by one, of which the third begins
    // the recovery; then 0 arrives.
    for (in_recovery_too, segments) in [(false, 3), (true, 11)] {
        let mut bench = Bench::open("linux", false);
        let recorder = Recorder::of_window(20 * MSS);
        recorder.script().acks_in_recovery = in_recovery_too;
        bench.sender.needs = recorder.needs();
        bench.sender.controller = Box::new(recorder.clone());
        assert_eq!(bench.sent(100).len(), 20);
        for n in 1..=10 {
            bench.ack(200, 0, &[(1, n + 1)]);
            bench.sent(200);
        }
        bench.ack(300, 11, &[]);
        let octets = |line: &String| line.split(' ').nth(2)?.parse::<u64>().ok();
        let acked = recorder.take_calls_of("acked");
        let counted: u64 = acked.iter().filter_map(octets).sum();
        assert_eq!(counted, segments * MSS, "{in_recovery_too}");
    }
    let tfrc = named("tfrc", &WindowConfig::default()).expect("a known controller");
    let newreno = named("newreno", &WindowConfig::default()).expect("a known controller");
    assert!(tfrc.needs().acks_in_recovery && !newreno.needs().acks_in_recovery);
}

#[test]
fn rapid_start_has_its_own_window_in_fast_recovery() {
    // Segment 0 is lost of twenty. The third SACK begins the recovery, and each of seven more takes
    // a third of a segment off, beta being a half.
    let mut config = WindowConfig {
        max_datagram_size: MSS,
        initial_window: Some(20 * MSS),
        ..WindowConfig::default()
    };
    config.rules.controller.rapid_start = true;
    let mut bench = Bench::open("linux", false);
    let controller = named("newreno", &config).expect("a known controller");
    bench.sender.needs = controller.needs();
    bench.sender.controller = controller;
    let sent: usize = (100..200).map(|now| bench.sent(now).len()).sum();
    assert_eq!(sent, 20);
    for n in 1..=3 {
        bench.ack(200, 0, &[(1, n + 1)]);
    }
    assert!(bench.sender.prr.is_none());
    let before = bench.sender.controller.window();
    for n in 4..=10 {
        bench.ack(200, 0, &[(1, n + 1)]);
    }
    let fell = before - bench.sender.controller.window();
    assert!(fell.abs_diff(7 * MSS / 3) <= 1, "{fell}");
}
