//! Parsing of expectations, valid and invalid.

use super::expression::Subject;
use super::*;
use crate::scenario::error::suggestion;
use weir_proto::settings::Help;
use weir_proto::time::Duration;

#[test]
fn what_is_written_is_read_back() {
    for (text, value, unit) in [
        ("flow.video.goodput_bps > 2Mbit", 2e6, "bit/s"),
        ("flow.*.one_way_delay_s.p95 < 50ms", 0.05, "s"),
        (
            "link.wire.backward.queue_bytes.max <= 30kB",
            30_000.0,
            "bytes",
        ),
        ("link.air.ap.utilisation >= 95%", 0.95, ""),
        ("group.burst.completion_time_s.p99 < 1s", 1.0, "s"),
        ("transfers.web.completion_time_s.p99 < 1s", 1.0, "s"),
        ("total.jain_index > 0.9", 0.9, ""),
        ("total.timeouts <= 0", 0.0, ""),
        ("flow.*.bound_share.window < 10%", 0.1, ""),
        ("flow.a.rate_bps.cov < 0.5", 0.5, ""),
    ] {
        let parsed = Expectation::parse(text).unwrap();
        assert_eq!(parsed.to_string(), text);
        let limits = parsed.limits();
        let found = limits[0].or(limits[1]).unwrap();
        assert!((found - value).abs() < 1e-9, "{text}: {parsed:?}");
        assert_eq!(parsed.unit(), unit, "{text}");
        let tight = text.replace(' ', "");
        assert_eq!(Expectation::parse(&tight).unwrap(), parsed);
    }
}

#[test]
fn what_is_wrong_is_told_with_what_was_probably_meant() {
    for (text, message, help) in [
        (
            "flow.a.goodput_bps",
            "compares nothing",
            "goodput_bps > 2Mbit",
        ),
        (
            "flw.a.goodput_bps > 1Mbit",
            "no \"flw\"",
            "did you mean \"flow\"",
        ),
        (
            "flow.a.godput_bps > 1Mbit",
            "no measure \"godput_bps\"",
            "did you mean \"goodput_bps\"",
        ),
        ("flow.a.rtt_s < 5ms", "no measure \"rtt_s\"", "rtt_s.min"),
        ("flow.a.goodput_bps > 5ms", "not a unit of rate", "10Mbit"),
        ("flow.a.goodput_bps > ", "", ""),
        ("total.jain_index > much", "expected a number", "0.95"),
        ("flow.a b.goodput_bps > 1Mbit", "not a name", ""),
        ("> 1", "no \"\"", "parts"),
    ] {
        let wrong = Expectation::parse(text).unwrap_err();
        let told = match wrong.help {
            Help::Text(text) => text,
            Help::Words { found, what, known } => suggestion(&found, what, &known),
        };
        assert!(wrong.message.contains(message), "{text}: {}", wrong.message);
        assert!(told.contains(help), "{text}: {told}");
    }
}

#[test]
fn numbers_are_taken_from_summaries() {
    let summary = serde_json::json!({
        "flows": { "a": { "packets_lost": 6.0, "packets_sent": 4 }, "b": { "packets_sent": 0.0 } },
        "totals": { "jain_index": 0.5 },
    });
    let (lost, sent) = ("flow.a.packets_lost", "flow.a.packets_sent");
    for (text, expected) in [
        (lost.to_owned(), Some(6.0)),
        (format!("{lost} / {sent}"), Some(1.5)),
        (format!("{lost} - {sent} / {sent}"), Some(0.5)),
        (format!("{lost} - {sent}"), Some(2.0)),
        (format!("{lost} / flow.b.packets_sent"), None),
        ("flow.a.marks".to_owned(), None),
        (format!("{lost} / flow.c.packets_sent"), None),
        ("total.jain_index".to_owned(), Some(0.5)),
    ] {
        let found = Term::parse(&text).unwrap().of(&summary);
        assert_eq!(found[0].1, expected, "{text}");
    }
    let all = Term::parse("flow.*.packets_sent").unwrap().of(&summary);
    assert_eq!(
        all,
        [("a".to_owned(), Some(4.0)), ("b".to_owned(), Some(0.0))]
    );
    let quotients = [
        "",
        "flow.a.packets_lost /",
        "flow.*.packets_lost / flow.a.packets_sent",
    ];
    let two = "flow.a.marks / flow.a.packets_sent / flow.a.packets_sent";
    for text in quotients
        .into_iter()
        .chain([two, "flow.a.marks + flow.a.marks"])
    {
        assert!(Term::parse(text).is_err(), "{text}");
    }
}

#[test]
fn a_range_has_two_limits() {
    let range = Expectation::parse("1Mbit <= flow.a.goodput_bps < 2Mbit").unwrap();
    assert_eq!(range.limits(), [Some(1e6), Some(2e6)]);
    let held = [0.9e6, 1e6, 1.9e6, 2e6].map(|value| range.holds(value));
    assert_eq!(held, [false, true, true, false]);
    for wrong in [
        "1 < flow.a.goodput_bps > 2Mbit",
        "1bit > flow.a.goodput_bps > 2bit",
        "1 < 2 < 3 < 4",
    ] {
        assert!(Expectation::parse(wrong).is_err(), "{wrong}");
    }
}

fn words() -> CaseWords {
    CaseWords {
        flow: "f".to_owned(),
        columns: vec![
            ("cwnd_bytes", "bytes"),
            ("rtt_s", "s"),
            ("pacing_rate_bps", "bit/s"),
        ],
        states: vec!["startup", "probe_bw_up"],
        has_trigger: true,
    }
}

#[test]
fn a_case_compares_numbers_of_its_trace() {
    let parse = |text: &str| Expectation::parse_case(text, &words()).unwrap();
    for (text, measure, reference, limits) in [
        (
            "1.9 bdp <= flow.f.cwnd_bytes.max <= 2.3 bdp until 3s",
            TraceMeasure::Column("cwnd_bytes", "bytes", Take::Max),
            Some(Reference::Bdp),
            [Some(1.9), Some(2.3)],
        ),
        (
            "flow.f.rtt_s.min >= 50ms from 1s",
            TraceMeasure::Column("rtt_s", "s", Take::Min),
            None,
            [Some(0.05), None],
        ),
        (
            "flow.f.goodput_bps >= 0.9 link",
            TraceMeasure::Goodput,
            Some(Reference::Link),
            [Some(0.9), None],
        ),
        (
            "flow.f.visits <= 1 during startup",
            TraceMeasure::Visits,
            None,
            [None, Some(1.0)],
        ),
        (
            "flow.f.duration_s.max <= 3 rtt during startup visit 1",
            TraceMeasure::Duration(Take::Max),
            Some(Reference::Rtt),
            [None, Some(3.0)],
        ),
        (
            "flow.f.followed_by.probe_bw >= 1 during startup",
            TraceMeasure::FollowedBy("probe_bw".to_owned()),
            None,
            [Some(1.0), None],
        ),
    ] {
        let parsed = parse(text);
        assert_eq!(parsed.subject, Subject::Trace(measure), "{text}");
        assert_eq!(parsed.reference, reference, "{text}");
        assert_eq!(parsed.limits(), limits, "{text}");
        assert_eq!(parsed.to_string(), text);
    }
    let of_rate =
        parse("flow.f.goodput_bps >= 0.95 of 35Mbit from trigger + 500ms until trigger - 5ms");
    let Some(Reference::Rate(rate, _)) = of_rate.reference else {
        panic!("it is no rate");
    };
    assert_eq!(rate.as_bps(), 35e6);
    let trigger = Duration::from_secs(2);
    let times = [of_rate.when.from, of_rate.when.until].map(|at| at.unwrap().time(trigger));
    assert_eq!(
        times,
        [Duration::from_millis(2500), Duration::from_millis(1995)]
    );
    // A name that is not a column is a number of the summary.
    let share = parse("flow.f.packets_lost / flow.f.packets_sent <= 2%");
    assert_eq!(share.term().map(Term::unit), Some(""));
    assert_eq!(share.limits(), [None, Some(0.02)]);
}

#[test]
fn a_case_is_told_what_is_wrong() {
    for (text, message) in [
        ("flow.f.cwnd_byts.max <= 2 bdp", "no measure \"cwnd_byts\""),
        ("flow.f.cwnd_bytes <= 2 bdp", "which of its values counts"),
        ("flow.f.cwnd_bytes.most <= 2 bdp", "no \"most\""),
        (
            "flow.f.cwnd_bytes.max <= 2 rtt",
            "\"rtt\" is in s, the number in bytes",
        ),
        (
            "flow.f.cwnd_bytes.max <= 2 bdp during start",
            "no state \"start\"",
        ),
        (
            "flow.f.cwnd_bytes.max <= 2 bdp during startup visit 0",
            "no number of a visit",
        ),
        (
            "flow.f.cwnd_bytes.max <= 2 bdp visit 1",
            "a visit is one of a state",
        ),
        ("flow.f.cwnd_bytes.max <= 2 bdp from soon", "soon"),
        (
            "flow.f.followed_by.probe_rtt >= 1 during startup",
            "no state \"probe_rtt\"",
        ),
        ("flow.f.visits >= 1", "one of a state"),
        ("flow.g.visits >= 1 during startup", "no flow \"g\""),
        ("flow.f.packets_lost <= 1 from 2s", "that of the whole run"),
        ("flow.f.packets_lst <= 1", "no measure \"packets_lst\""),
    ] {
        let wrong = Expectation::parse_case(text, &words()).unwrap_err();
        assert!(wrong.message.contains(message), "{text}: {wrong:?}");
    }
}
