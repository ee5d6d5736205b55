//! The suite of BBR's draft: what passes, and which case catches which error.

use super::*;
use crate::candidate::Candidate;
use crate::run::TransportRegistry;
use crate::verdict::Verdict;
use weir_proto::time::Duration;

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
        73,
        "22, two of them in two files, and 49 of ours"
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
fn a_controller_without_states_does_not_fail_where_a_case_is_about_them() {
    let case = |number: &str, controller: &str| {
        let mut suite = Suite::embedded("bbr").unwrap();
        suite.cases.retain(|one| one.name.starts_with(number));
        let candidate = Candidate::parse(controller).unwrap();
        let result = run_suite(&suite, &[candidate], TransportRegistry::default(), &|_| {});
        let result = result.unwrap();
        (result.results[0].verdict, result.holds())
    };
    // Case 5 looks at ProbeBW_UP, case 29 at nothing but its visits, case 27 at goodput alone.
    assert_eq!(case("05", "quic:cubic"), (Verdict::NotBbr, true));
    assert_eq!(case("29", "quic:cubic"), (Verdict::NotObservable, true));
    assert_eq!(case("27", "quic:cubic"), (Verdict::Failed, false));
    let json = serde_json::to_string(&Verdict::NotBbr).unwrap();
    assert_eq!(json, "\"not-bbr\"");
}

#[test]
fn a_check_says_what_it_reads() {
    let reads = |controller: &str| {
        let mut suite = Suite::embedded("bbr").unwrap();
        suite.cases.retain(|one| one.name.starts_with("01"));
        let candidate = Candidate::parse(controller).unwrap();
        let result = run_suite(&suite, &[candidate], TransportRegistry::default(), &|_| {});
        let result = result.unwrap().results.remove(0);
        let of = |reads: Reads, verdict: Verdict| {
            let checks = result.checks.iter();
            let is = |check: &&CheckResult| check.reads == reads && check.verdict == verdict;
            checks.filter(is).count()
        };
        let model = [Verdict::Passed, Verdict::NotObservable].map(|one| of(Reads::Model, one));
        (model, result.why)
    };
    let (model, why) = reads("quic:bbr");
    assert_eq!((model, &*why), ([3, 0], "judged by its model too"));
    assert_eq!(reads("quic:cubic").0, [0, 3]);
}

const SCALED: &str = r#"
[case]
title = "t"
source = "s"
how = "h"
rate = "10Mbit"
rtt = "40ms"
paths = { rate = ["1Mbit", "100Mbit"], rtt = ["10ms", "200ms"], bdp = ["20kB", "1MB"] }
[case.trigger]
state = "probe_rtt"
otherwise = "2s"
[case.transport.quic]
send_queue_limit = "30kB"
[[case.check]]
says = "scales"
expect = "10kB <= flow.f.cwnd_bytes.max <= 20kB from trigger + 100ms until 4s"
[[case.check]]
says = "of a rate"
expect = "flow.f.goodput_bps >= 0.9 of 5Mbit"
[[case.check]]
says = "here alone"
own_path = true
expect = "flow.f.rtt_s.max <= 1.2 rtt"
[[case.check]]
says = "of TCP alone"
transport = ["tcp"]
expect = "flow.f.rtt_s.max <= 1s"
[run]
duration = "8s"
[[link]]
name = "l"
between = ["a", "b"]
rate = "10Mbit"
delay = "20ms"
forward.queue = { kind = "droptail", limit = "100kB" }
forward.change = [{ at = "${trigger + 50ms}", rate = "5Mbit" }]
[[flow]]
name = "f"
from = "a"
to = "b"
"#;

#[test]
fn a_case_on_another_path_scales_rates_times_and_sizes() {
    let case = Case::parse("c", "c.toml", SCALED).unwrap();
    let other = case.at(Some("20Mbit"), Some("20ms")).unwrap();
    assert_eq!((&*other.name, other.path), ("c-20Mbit-20ms", (20e6, 0.02)));
    assert_eq!(other.excluded, None);
    assert_eq!(other.otherwise, Some(Duration::from_secs(1)));
    let trigger = Duration::from_secs(3);
    let scenario = other.scenario(None, trigger).unwrap();
    assert_eq!(scenario.run.duration, Duration::from_secs(4));
    let text = scenario.resolved_toml();
    // Twice the rate, half of the time: the same octets, and the change 25 ms behind the moment.
    for part in ["20Mbit", "10ms", "100000", "3025ms", "10Mbit", "30000"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let says = |case: &Case| {
        case.checks
            .iter()
            .map(|one| one.says.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(says(&other), ["scales", "of a rate", "of TCP alone"]);
    assert_eq!(says(&case).len(), 4);
    let bounds = other.checks.iter().map(|check| check.expect.limits());
    let bounds: Vec<_> = bounds.collect();
    // A rate of the link's own, and TCP's second in half of the time.
    assert_eq!(bounds[0], [Some(10_000.0), Some(20_000.0)]);
    assert_eq!(bounds[1], [Some(0.9), None]);
    assert_eq!(bounds[2], [None, Some(0.5)]);
    let twice = case.at(Some("20Mbit"), None).unwrap();
    assert_eq!(
        twice.checks[0].expect.limits(),
        [Some(20_000.0), Some(40_000.0)]
    );
}

#[test]
fn a_case_says_on_which_paths_it_holds() {
    let case = Case::parse("c", "c.toml", SCALED).unwrap();
    let why = |rate: &str, rtt: &str| case.at(Some(rate), Some(rtt)).unwrap().excluded;
    assert_eq!(why("20Mbit", "40ms"), None);
    assert_eq!(
        why("200Mbit", "10ms").unwrap(),
        "it holds from 1Mbit to 100Mbit"
    );
    let times = "it holds for round trips of 10ms to 200ms";
    assert_eq!(why("20Mbit", "1s").unwrap(), times);
    let products = "it holds for bandwidth-delay products of 20kB to 1MB";
    assert_eq!(why("100Mbit", "200ms").unwrap(), products);
    let own = SCALED.replace("paths = {", "# paths = {");
    let own = Case::parse("c", "c.toml", &own).unwrap();
    assert_eq!(own.at(Some("10Mbit"), Some("40ms")).unwrap().excluded, None);
    assert!(own.at(Some("20Mbit"), None).unwrap().excluded.is_some());
    for (rate, rtt) in [(Some("fast"), None), (None, Some("0s"))] {
        let error = case.at(rate, rtt).unwrap_err().to_string();
        assert!(error.starts_with("path: "), "{error}");
    }
    let wrong = SCALED.replace("[\"20kB\"", "[\"20\"");
    let error = Case::parse("c", "c.toml", &wrong).unwrap_err().to_string();
    assert!(error.contains("bdp"), "{error}");
    let suite = Suite {
        name: "s".to_owned(),
        cases: vec![case.clone()],
    };
    let rates = ["5Mbit", "20Mbit"].map(str::to_owned);
    assert_eq!(
        suite
            .on_paths(&rates, &["10ms".to_owned()])
            .unwrap()
            .cases
            .len(),
        2
    );
}

#[test]
fn a_transport_without_a_window_controller_is_refused() {
    let suite = Suite::embedded("bbr").unwrap();
    let dccp = Candidate::parse("dccp:3").unwrap();
    let result = run_suite(&suite, &[dccp], TransportRegistry::default(), &|_| {});
    let error = result.unwrap_err().to_string();
    assert!(error.contains("write quic, tcp, quinn or noq"), "{error}");
}
