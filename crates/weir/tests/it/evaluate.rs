//! `weir evaluate` as users see it: exit statuses, baselines, and two evaluations compared.

use crate::common::{folder_with, outcome, parse};

const REORDERING: [&str; 5] = ["--chapter", "reordering", "--seeds", "2", "-q"];

#[test]
fn an_unsafe_controller_is_status_3_and_the_first_line_says_why() {
    let folder = folder_with("");
    let words = [
        "evaluate",
        "quic:prague",
        "--beside",
        "cubic",
        "--chapter",
        "classic-ecn",
        "--seeds",
        "2",
    ];
    let (status, out, err) = outcome(folder.path(), &words);
    assert_eq!(status, Some(3), "{err}");
    let first = out.lines().next().unwrap_or_default();
    let start = "quic:prague is not safe: it breaks 3 of 3 safety limits. It leaves 1.";
    assert!(first.starts_with(start), "{first}");
    assert!(out.contains("RFC 9331 §4.3"), "{out}");
    assert!(err.contains(first), "{err}");
    let words = [&words[..], &["--fail-on", "nothing", "--json"]].concat();
    let (status, out, err) = outcome(folder.path(), &words);
    assert_eq!(status, Some(0), "{err}");
    let document = parse(&out);
    assert_eq!(document["candidates"][1], "quic:cubic,ecn=true");
    let limit = &document["chapters"][0]["cases"][0]["limits"][0];
    assert_eq!(limit["verdicts"], serde_json::json!(["failed", "passed"]));
}

#[test]
fn a_worse_measure_is_status_3_where_that_is_asked_for() {
    let folder = folder_with("");
    let evaluate = |more: &[&str]| {
        let words = [&["evaluate", "quic:newreno"], &REORDERING[..], more].concat();
        outcome(folder.path(), &words)
    };
    let (status, out, err) = evaluate(&["--beside", "bbr", "--fail-on", "worse"]);
    assert_eq!(status, Some(3), "{out} {err}");
    assert!(out.starts_with("No safety limit was tested"), "{out}");
    assert!(err.contains("--fail-on worse"), "{err}");
    let (status, out, err) = evaluate(&["--beside", "newreno", "--fail-on", "worse"]);
    assert_eq!(status, Some(0), "{out} {err}");
    assert!(
        out.contains("Beside B (quic:newreno): performance alike."),
        "{out}"
    );
}

#[test]
fn an_earlier_evaluation_is_a_baseline_and_can_be_compared() {
    let folder = folder_with("");
    let here = folder.path();
    let evaluate = |controller: &str, more: &[&str]| {
        let words = [
            &["evaluate", controller, "--beside", "cubic"],
            &REORDERING[..],
            more,
        ];
        outcome(here, &words.concat())
    };
    let (status, _, err) = evaluate("quic:newreno", &["--out", "before"]);
    assert_eq!(status, Some(0), "{err}");
    let baseline = ["--baseline", "before/result.json", "--out", "after"];
    let (status, out, err) = evaluate("quic:bbr", &baseline);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("C = quic:newreno, stored"), "{out}");
    assert!(out.contains("Better than B and C: "), "{out}");
    let (status, out, err) = outcome(here, &["compare", "after", "before/result.json"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(
        out.contains("A = quic:bbr, B = quic:newreno, stored"),
        "{out}"
    );
    let words = ["compare", "after", "before", "--identical"];
    assert_eq!(outcome(here, &words).0, Some(3));
    let words = ["compare", "before", "before", "--identical"];
    assert_eq!(outcome(here, &words).0, Some(0));
    let (status, _, err) = evaluate("quic:bbr", &["--baseline", "before", "--seeds", "3"]);
    assert_eq!(status, Some(2), "{err}");
    let (status, _, err) = outcome(
        here,
        &[
            "evaluate",
            "quic:bbr",
            "--baseline",
            "before",
            "--chapter",
            "loss",
            "--seeds",
            "2",
        ],
    );
    assert_eq!(status, Some(2), "{err}");
    assert!(err.contains("have other cases"), "{err}");
    std::fs::write(here.join("damaged.json"), "{\"title\": 1}").expect("a file");
    let (status, _, err) = evaluate("quic:bbr", &["--baseline", "damaged.json"]);
    assert_eq!(status, Some(2), "{err}");
    assert!(
        err.contains("damaged.json: no result of an evaluation"),
        "{err}"
    );
}

#[test]
fn paths_of_ones_own_take_the_place_of_the_suites() {
    let folder = folder_with("");
    let here = folder.path();
    let (status, out, err) = outcome(
        here,
        &[
            "evaluate",
            "quic:cubic",
            "--beside",
            "newreno",
            "--chapter",
            "paths",
            "--seeds",
            "2",
            "--rate",
            "3Mbit",
            "--rtt",
            "30ms",
            "--buffer",
            "0.5,2",
            "--json",
        ],
    );
    assert_eq!(status, Some(0), "{err}");
    let document = parse(&out);
    let cases = document["chapters"][0]["cases"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let words: Vec<_> = cases.iter().map(|case| case["words"].clone()).collect();
    assert_eq!(words, ["3Mbit, 30ms, 0.5 BDP", "3Mbit, 30ms, 2 BDP"]);
    for (option, value, expected) in [
        ("--rate", "3", "unit"),
        ("--rate", "1bit", "at least 10kbit"),
        ("--rtt", "1h", "from 100us to 10s"),
        ("--buffer", "none", "from 0.01 to 1000"),
        ("--beside", "cubik", "did you mean \"cubic\"?"),
        ("--size", "big", "quick"),
    ] {
        let (status, _, err) = outcome(here, &["evaluate", "quic:cubic", option, value]);
        assert_eq!(status, Some(2), "{option} {value}: {err}");
        assert!(err.contains(expected), "{option} {value}: {err}");
    }
}
