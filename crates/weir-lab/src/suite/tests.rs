//! The suite of BBR's draft: what passes, and which case catches which error.

use super::*;
use crate::candidate::Candidate;
use crate::run::TransportRegistry;
use crate::verdict::Verdict;

fn run_case(case: &str, settings: &[&str]) -> SuiteResult {
    let mut suite = Suite::embedded("bbr").unwrap();
    suite.cases.retain(|one| one.name.starts_with(case));
    let words: Vec<_> = ["quic:bbr"].iter().chain(settings).copied().collect();
    let candidate = Candidate::parse(&words.join(",")).unwrap();
    run_suite(&suite, &[candidate], TransportRegistry::default(), &|_| {}).unwrap()
}

#[test]
fn every_case_of_the_draft_passes_over_quic_and_tcp() {
    let suite = Suite::embedded("bbr").unwrap();
    assert_eq!(
        suite.cases.len(),
        58,
        "22, one of them in two halves, and 35 of ours"
    );
    let controllers = ["quic:bbr", "tcp:bbr"].map(|name| Candidate::parse(name).unwrap());
    let result = run_suite(&suite, &controllers, TransportRegistry::default(), &|_| {}).unwrap();
    for one in &result.results {
        let Some(why) = known_failure(&one.case, &one.controller) else {
            assert_eq!(one.verdict, Verdict::Passed, "{} {}", one.case, one.why);
            continue;
        };
        assert_eq!(one.verdict, Verdict::Failed, "{} {why}", one.case);
    }
}

/// The cases that a controller does not pass, and why.
fn known_failure(_case: &str, _controller: &str) -> Option<&'static str> {
    None
}

#[test]
fn planted_errors_are_caught() {
    // The error, and the case that catches it.
    for (setting, case) in [
        ("bbr.startup_pacing_gain=2.0", "01"),
        ("bbr.full_bw_rounds=5", "01"),
        ("bbr.full_bw_rounds=1000", "01"),
        ("bbr.drain_pacing_gain=0.75", "03"),
        ("bbr.drain_rounds=1000", "04"),
        ("bbr.drain_rounds=2", "04"),
        ("bbr.drain_rounds=4", "04"),
        ("bbr.probe_up_pacing_gain=1.1", "05"),
        ("bbr.probe_up_cwnd_gain=2.0", "05"),
        ("bbr.probe_down_pacing_gain=0.8", "08"),
        ("bbr.cwnd_gain=3.0", "08"),
        ("bbr.pacing_margin=0.05", "08"),
        ("bbr.probe_rtt_interval=8s", "10"),
        ("bbr.probe_rtt_duration=1s", "10"),
        ("bbr.probe_rtt_cwnd_gain=0.75", "10"),
        ("bbr.min_pipe_packets=2", "14"),
        ("bbr.max_bw_filter_cycles=10", "16"),
        ("bbr.max_bw_filter_cycles=1", "16"),
        ("bbr.beta=0.98", "16"),
        ("bbr.beta=0.5", "16"),
        ("bbr.startup_full_loss_ranges=2", "26"),
        ("bbr.startup_full_loss_ranges=12", "26"),
        ("bbr.loss_threshold=0.005", "27"),
        ("bbr.loss_threshold=0.03", "32"),
        ("bbr.full_bw_growth=1.1", "28"),
        ("bbr.reno_rounds=126", "29"),
        ("bbr.headroom=0", "21"),
        ("bbr.loss_threshold=0.2", "21"),
        ("bbr.startup_full_loss_ranges=1000", "02"),
        ("bbr.probe_wait=6s", "23"),
        ("bbr.probe_wait=1s", "23"),
        ("bbr.min_rtt_filter=5s", "24"),
        ("bbr.min_rtt_filter=20s", "24"),
        ("bbr.extra_acked_filter_rounds=5", "25"),
        ("bbr.extra_acked_filter_rounds=20", "25"),
    ] {
        let result = run_case(case, &[setting]);
        assert!(!result.holds(), "{setting} passes case {case}");
    }
}

#[test]
fn a_controller_without_states_is_judged_by_the_rest() {
    let suite = {
        let mut suite = Suite::embedded("bbr").unwrap();
        suite.cases.retain(|one| one.name.starts_with("10"));
        suite
    };
    let cubic = Candidate::parse("quic:cubic").unwrap();
    let result = run_suite(&suite, &[cubic], TransportRegistry::default(), &|_| {}).unwrap();
    let checks = &result.results[0].checks;
    let hidden = |check: &&CheckResult| check.verdict == Verdict::NotObservable;
    assert_eq!(checks.iter().filter(hidden).count(), 7);
    assert!(
        checks
            .iter()
            .any(|check| check.verdict != Verdict::NotObservable)
    );
}

#[test]
fn a_transport_without_a_window_controller_is_refused() {
    let suite = Suite::embedded("bbr").unwrap();
    let dccp = Candidate::parse("dccp:3").unwrap();
    let result = run_suite(&suite, &[dccp], TransportRegistry::default(), &|_| {});
    let error = result.unwrap_err().to_string();
    assert!(error.contains("write quic, tcp or quinn"), "{error}");
}
