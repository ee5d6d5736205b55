//! Judges the detectors of `weir explain` by the labelled scenarios, on seeds on which no threshold
//! was fixed.

use super::score::{FRESH, Score, found_in, half_found, planted_score, run_of, unhealthy};
use super::{kinds, of_kind};
use crate::found_again::found_again;
use std::collections::BTreeSet;
use std::sync::LazyLock;
use weir_lab::diagnosis::{Trace, explain, pathologies};
use weir_lab::scenario::parse_with;

static PLANTED: LazyLock<Score> = LazyLock::new(|| planted_score(FRESH, 2, None));

#[test]
fn planted_pathologies_are_found_and_come_first() {
    let (all, confused) = (PLANTED.all, &PLANTED.confused);
    assert!(all.found * 20 >= all.cases * 18, "{confused:?}");
    assert!(all.first * 20 >= all.cases * 18, "{confused:?}");
}

/// Kinds that no run shows, with the reason.
const NOT_PLANTED: [(&str, &str); 11] = [
    (
        "anti_amplification_limited",
        "the sender of a run is the side that connects, and the limit holds a server",
    ),
    ("not_congestion_limited", IN_IMPORTS),
    ("heavy_retransmission", "it follows from other kinds"),
    (
        "closed_window",
        "the applications of runs read what arrives",
    ),
    ("unread_data", IN_IMPORTS),
    ("out_of_order_buffer", IN_IMPORTS),
    ("black_hole", IN_IMPORTS),
    ("pmtu_black_hole", IN_IMPORTS),
    ("long_path", IN_IMPORTS),
    ("slow_server", IN_IMPORTS),
    ("client_think_time", IN_IMPORTS),
];

/// Why a kind is not planted that only traces of other programs have the tables for.
const IN_IMPORTS: &str = "it is looked for in imported traces";

/// Kinds that are found so seldom that two cases do not show them, with the reason.
const SELDOM: [(&str, &str); 1] = [(
    "rate_oscillation",
    "other losses break the period in about half of the cases",
)];

/// A detector that finds nothing is seen here, where the share of all cases hides it.
#[test]
fn every_kind_is_found_in_half_of_its_cases_or_is_excepted() {
    let is_in = |list: &[(&str, &str)], kind| list.iter().any(|(other, _)| *other == kind);
    let mut missing = Vec::new();
    for kind in pathologies().map(|pathology| pathology.kind) {
        let of = |score: &Score| score.by_kind.get(kind).copied().unwrap_or_default();
        let enough = if is_in(&NOT_PLANTED, kind) {
            continue;
        } else if is_in(&SELDOM, kind) {
            of(&planted_score(FRESH, 6, Some(kind))).found >= 2
        } else {
            of(&PLANTED).found >= 1
        };
        missing.extend((!enough).then_some(kind));
    }
    assert!(missing.is_empty(), "not found: {missing:?}");
}

#[test]
fn healthy_scenarios_have_no_finding() {
    let unhealthy = unhealthy(FRESH, 60);
    assert!(unhealthy.len() <= 2, "{unhealthy:?}");
}

#[test]
fn of_two_pathologies_both_are_named() {
    let half = half_found(FRESH, 20);
    assert!(half.len() <= 4, "{half:?}");
}

/// Every number in a sentence is computed again from the rows that it names, and no remedy sets
/// what is set already.
#[test]
fn numbers_are_found_again_and_remedies_change_the_scenario() {
    let mut checked = 0;
    for kind in kinds() {
        let case = of_kind(kind, FRESH + 7).expect("a case");
        let output = run_of(&case.scenario);
        let trace = Trace::of_run(&output);
        for finding in &explain(&trace).findings {
            checked += found_again(&trace, finding);
            for remedy in finding.remedies.iter().filter(|one| !one.set.is_empty()) {
                let now = output.scenario.resolved_toml();
                let then = parse_with(&now, "case.toml", &remedy.set).expect("a scenario");
                assert_ne!(then.resolved_toml(), now, "{kind}: {remedy:?}");
            }
        }
    }
    assert!(checked > 100, "{checked}");
}

/// The names of flows, links and hosts say nothing.
#[test]
fn other_names_have_the_same_findings() {
    for kind in kinds() {
        let case = of_kind(kind, FRESH + 9).expect("a case");
        let mut other = case.scenario.clone();
        for (number, name) in ["bulk", "media", "late", "far", "bottleneck"]
            .iter()
            .enumerate()
        {
            let (name, new) = (
                format!("name = \"{name}\""),
                format!("name = \"n{number}\""),
            );
            other = other.replace(&name, &new);
        }
        let found = found_in(&[&case.scenario, &other]);
        // Names seed the random streams of links, so that what depends on chance may differ.
        let label = case.labels[0];
        let [before, after] = [0, 1].map(|of| found[of].contains(&label));
        assert_eq!(before, after, "{kind}");
    }
}

/// A scenario whose times are all multiplied by `factor` and whose rates are divided by it: the
/// same packets in another unit of time.
fn slowed(scenario: &str, factor: f64) -> String {
    let mut table: toml::Table = toml::from_str(scenario).expect("a table");
    for (key, value) in &mut table {
        slow(key, value, factor);
    }
    toml::to_string(&table).expect("a scenario")
}

/// Slows what is a time or a rate in a value and below it.
fn slow(key: &str, value: &mut toml::Value, factor: f64) {
    match value {
        toml::Value::String(text) => *text = slowed_quantity(text, factor),
        toml::Value::Array(values) => values.iter_mut().for_each(|one| slow(key, one, factor)),
        toml::Value::Table(table) => {
            for (key, value) in table {
                slow(key, value, factor);
            }
        }
        toml::Value::Float(number) if key == "per_second" => *number /= factor,
        toml::Value::Integer(number) if key == "timer_hz" => {
            *number = (*number as f64 / factor) as i64;
        }
        _ => {}
    }
}

/// A quantity or a range of two with units of time or rate; another text as it is.
fn slowed_quantity(text: &str, factor: f64) -> String {
    const UNITS: [(&str, f64, bool); 8] = [
        ("ns", 1.0, true),
        ("us", 1e3, true),
        ("ms", 1e6, true),
        ("s", 1e9, true),
        ("bit", 1.0, false),
        ("kbit", 1e3, false),
        ("Mbit", 1e6, false),
        ("Gbit", 1e9, false),
    ];
    let one = |part: &str| {
        let (number, unit) = part.split_at(part.find(|c: char| c.is_alphabetic())?);
        let number: f64 = number.parse().ok()?;
        let (_, size, is_time) = UNITS.iter().find(|(name, ..)| *name == unit)?;
        Some(if *is_time {
            format!("{:.0}ns", number * size * factor)
        } else {
            format!("{:.0}bit", number * size / factor)
        })
    };
    let parts: Option<Vec<String>> = text.split("..").map(one).collect();
    parts.map_or_else(|| text.to_owned(), |parts| parts.join(".."))
}

/// Kinds of which a time that does not grow with the others decides, with that time.
const IN_SECONDS: [(&str, &str); 10] = [
    ("standing_queue", "20 ms of queue"),
    ("oscillation_reduction_holds_queue", "10 ms of queue"),
    ("delayed_ack_stall", "10 ms of waiting"),
    ("cut_off_by_delay", "10 s of long round trips"),
    ("cut_off_by_loss", "10 s of losses"),
    ("incast", "10 ms in which flows begin"),
    (
        "spurious_timeout",
        "the least retransmission timeout, 200 ms or 1 s",
    ),
    (
        "timeout_storm",
        "the least retransmission timeout, 200 ms or 1 s",
    ),
    ("wifi_contention", "the slots and rates of 802.11"),
    ("wifi_retries", "the slots and rates of 802.11"),
];

#[test]
fn twice_the_time_at_half_the_rate_has_the_same_findings() {
    for kind in kinds() {
        let is_in_seconds = |kind: &str| IN_SECONDS.iter().any(|(other, _)| *other == kind);
        if is_in_seconds(kind) {
            continue;
        }
        let case = of_kind(kind, FRESH + 11).expect("a case");
        let found = found_in(&[&case.scenario, &slowed(&case.scenario, 2.0)]);
        let [before, after] = [0, 1].map(|of| {
            let kinds = found[of].iter().filter(|kind| !is_in_seconds(kind));
            kinds
                .filter(|kind| !case.allowed.contains(kind))
                .collect::<BTreeSet<_>>()
        });
        assert_eq!(before, after, "{}", case.name);
    }
}
