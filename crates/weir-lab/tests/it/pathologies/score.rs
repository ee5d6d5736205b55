//! Runs labelled scenarios, and counts how many of their labels the explanations name.

use super::{Case, healthy, kinds, of_kind, two};
use std::collections::BTreeMap;
use weir_lab::diagnosis::{Explanation, Trace, explain};
use weir_lab::replication::in_order;
use weir_lab::run::{RunOptions, RunOutput, TraceLevel, run};
use weir_lab::scenario::parse;

/// The first seed on which no threshold was fixed.
pub(super) const FRESH: u64 = 5_000;

pub(super) fn run_of(scenario: &str) -> RunOutput {
    let scenario = parse(scenario, "case.toml").expect("a scenario");
    let options = RunOptions {
        trace: TraceLevel::Full,
        ..RunOptions::default()
    };
    run(&scenario, &options).expect("a run")
}

pub(super) fn found(explanation: &Explanation) -> Vec<&'static str> {
    let findings = explanation.findings.iter();
    findings.map(|finding| finding.kind).collect()
}

/// The kinds that are found in each scenario, in the order of the explanation.
pub(super) fn found_in(scenarios: &[&str]) -> Vec<Vec<&'static str>> {
    in_order(scenarios, |scenario| {
        found(&explain(&Trace::of_run(&run_of(scenario))))
    })
}

fn judged(cases: &[Case]) -> impl Iterator<Item = (&Case, Vec<&'static str>)> {
    let scenarios: Vec<&str> = cases.iter().map(|case| &*case.scenario).collect();
    cases.iter().zip(found_in(&scenarios))
}

/// Of some cases with one planted kind, in how many it was found and at which place.
#[derive(Clone, Copy, Default)]
pub(super) struct Count {
    pub(super) cases: usize,
    pub(super) found: usize,
    /// Before all kinds but those that the scenario implies beside it.
    pub(super) first: usize,
    /// Before all kinds.
    pub(super) strictly_first: usize,
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.cases += other.cases;
        self.found += other.found;
        self.first += other.first;
        self.strictly_first += other.strictly_first;
    }
}

/// The counts, and what was found first in place of what and how often.
#[derive(Default)]
pub(super) struct Score {
    pub(super) all: Count,
    pub(super) by_kind: BTreeMap<&'static str, Count>,
    pub(super) confused: BTreeMap<(&'static str, &'static str), usize>,
}

/// Judges `rounds` cases of each kind, or of one only, on seeds from `from` on.
pub(super) fn planted_score(from: u64, rounds: u64, only: Option<&str>) -> Score {
    let cases: Vec<Case> = (0..rounds)
        .flat_map(|round| {
            let of_round = kinds().zip(from + 100 * round..);
            let asked = of_round.filter(|(kind, _)| only.is_none_or(|only| only == *kind));
            asked.filter_map(|(kind, seed)| of_kind(kind, seed))
        })
        .collect();
    let mut score = Score::default();
    for (case, found) in judged(&cases) {
        let label = case.labels[0];
        // What may stand beside the label may also stand before it.
        let mut rest = found.iter().filter(|kind| !case.allowed.contains(kind));
        let first = rest.next().copied().unwrap_or("nothing");
        let count = Count {
            cases: 1,
            found: usize::from(found.contains(&label)),
            first: usize::from(first == label),
            strictly_first: usize::from(found.first() == Some(&label)),
        };
        score.all += count;
        *score.by_kind.entry(label).or_default() += count;
        if first != label {
            *score.confused.entry((label, first)).or_default() += 1;
        }
    }
    score
}

/// The names of the healthy cases with a finding that is not allowed, of `count`.
pub(super) fn unhealthy(from: u64, count: u64) -> Vec<(String, &'static str)> {
    let cases: Vec<Case> = (from..from + count).map(healthy).collect();
    let named = judged(&cases).filter_map(|(case, found)| {
        let kind = found
            .into_iter()
            .find(|kind| !case.allowed.contains(kind))?;
        Some((case.name.clone(), kind))
    });
    named.collect()
}

/// The names of the cases with two pathologies of which one was not found, of `count`.
pub(super) fn half_found(from: u64, count: u64) -> Vec<(String, &'static str)> {
    let cases: Vec<Case> = (from..from + count).map(two).collect();
    let named = judged(&cases).filter_map(|(case, found)| {
        let missing = case.labels.iter().find(|label| !found.contains(label))?;
        Some((case.name.clone(), *missing))
    });
    named.collect()
}
