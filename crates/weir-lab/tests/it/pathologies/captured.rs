//! Captures of labelled scenarios, which are explained without the scenario: what is well in a run
//! is well in its capture, and losses keep their names.

use super::score::{FRESH, found};
use super::{Case, healthy, of_kind};
use std::collections::BTreeMap;
use weir_lab::diagnosis::{Trace, explain};
use weir_lab::replication::in_order;
use weir_lab::run::{RunOptions, TraceLevel, run};
use weir_lab::scenario::parse;
use weir_lab::trace::import::read_tcp_capture;
use weir_lab::trace::{CaptureOptions, capture_run};

/// The kinds that are found in a capture at the host `host`; `None` if it has no TCP.
fn found_in_capture(scenario: &str, host: &str) -> Option<Vec<&'static str>> {
    let scenario = parse(scenario, "case.toml").expect("a scenario");
    let is_tcp = |flow: &weir_lab::scenario::Flow| {
        matches!(flow.transport, weir_lab::scenario::Transport::Tcp(_))
    };
    if !scenario.flows.iter().any(is_tcp) {
        return None;
    }
    let options = RunOptions {
        trace: TraceLevel::Summary,
        ..RunOptions::default()
    };
    let run = run(&scenario, &options).expect("a run");
    let options = CaptureOptions {
        host: Some(host),
        snap_octets: 96,
        ..CaptureOptions::default()
    };
    let file = tempfile::NamedTempFile::new().expect("a file");
    let out = file.reopen().expect("the same file");
    capture_run(&scenario, &run.summary, &options, out).ok()?;
    let imported = read_tcp_capture(file.path()).ok()?;
    Some(found(&explain(&Trace::of_import(&imported))))
}

/// The sender of the first flow.
fn sender(case: &Case) -> String {
    let scenario = parse(&case.scenario, "case.toml").expect("a scenario");
    scenario.flows[0].from.clone()
}

fn of_cases(cases: &[Case]) -> Vec<(&Case, Vec<&'static str>)> {
    let found = in_order(cases, |case: &Case| {
        found_in_capture(&case.scenario, &sender(case))
    });
    let cases = cases.iter().zip(found);
    cases
        .filter_map(|(case, found)| Some((case, found?)))
        .collect()
}

/// A capture does not say that an application pauses on purpose.
const OF_APPLICATIONS: [&str; 3] = [
    "application_limited",
    "client_think_time",
    "not_congestion_limited",
];

#[test]
fn captures_of_healthy_runs_have_no_finding() {
    let cases: Vec<Case> = (FRESH..FRESH + 56).map(healthy).collect();
    let found = of_cases(&cases);
    assert!(found.len() >= 10, "{}", found.len());
    let unhealthy: Vec<_> = found
        .iter()
        .flat_map(|(case, found)| {
            let wrong = found
                .iter()
                .filter(|kind| !case.allowed.contains(kind) && !OF_APPLICATIONS.contains(kind));
            wrong.map(|kind| (case.name.clone(), *kind))
        })
        .collect();
    assert!(unhealthy.is_empty(), "{unhealthy:?}");
}

/// A wrong name is worse than none.
#[test]
fn losses_keep_their_names_in_captures_or_have_none() {
    let kinds = [
        "random_loss",
        "bursty_loss",
        "shallow_buffer",
        "policer",
        "standing_queue",
        "reordering",
    ];
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut captures: BTreeMap<&str, usize> = BTreeMap::new();
    for kind in kinds {
        let cases: Vec<Case> = (FRESH..FRESH + 10)
            .filter_map(|seed| of_kind(kind, seed))
            .collect();
        for (_, found) in of_cases(&cases) {
            *captures.entry(kind).or_default() += 1;
            for other in found {
                *counts.entry((kind, other)).or_default() += 1;
            }
        }
    }
    let of = |planted, found| counts.get(&(planted, found)).copied().unwrap_or_default();
    for planted in kinds {
        for found in ["random_loss", "bursty_loss", "shallow_buffer"] {
            let wrong = of(planted, found);
            assert!(planted == found || wrong == 0, "{planted}: {found} {wrong}");
        }
    }
    for (planted, all) in captures {
        let is_named = ["random_loss", "bursty_loss", "standing_queue"].contains(&planted);
        let found = of(planted, planted);
        assert!(!is_named || 2 * found >= all, "{planted}: {found} of {all}");
    }
}
