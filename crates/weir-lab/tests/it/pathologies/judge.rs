//! Judges the detectors of `weir explain` by the labelled scenarios, on seeds on which no threshold
//! was fixed, and writes `docs/pathologies.md` (`WEIR_BLESS=1`).

use super::{Case, healthy, kinds, of_kind, two};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use weir_lab::diagnosis::{Explanation, Trace, explain, pathologies};
use weir_lab::replication::in_order;
use weir_lab::run::{RunOptions, RunOutput, TraceLevel, run};
use weir_lab::scenario::parse;

/// The first seed on which no threshold was fixed.
const FRESH: u64 = 5_000;

pub(super) fn run_of(scenario: &str) -> RunOutput {
    let scenario = parse(scenario, "case.toml").expect("a scenario");
    let options = RunOptions {
        trace: TraceLevel::Full,
        ..RunOptions::default()
    };
    run(&scenario, &options).expect("a run")
}

fn explanations(cases: &[Case]) -> Vec<Explanation> {
    in_order(cases, |case| {
        explain(&Trace::of_run(&run_of(&case.scenario)))
    })
}

pub(super) fn found(explanation: &Explanation) -> Vec<&'static str> {
    let findings = explanation.findings.iter();
    findings.map(|finding| finding.kind).collect()
}

/// How many cases were judged as their labels say, and what was said of the others.
#[derive(Default)]
struct Score {
    cases: usize,
    found: usize,
    first: usize,
    /// What was found first in place of what, and how often.
    confused: BTreeMap<(&'static str, &'static str), usize>,
    by_kind: BTreeMap<&'static str, [usize; 3]>,
}

/// Judges `rounds` cases of each kind.
fn planted_score(rounds: u64) -> Score {
    let cases: Vec<Case> = (0..rounds)
        .flat_map(|round| {
            let of_round = kinds().enumerate();
            of_round.filter_map(move |(number, kind)| {
                of_kind(kind, FRESH + 100 * round + number as u64)
            })
        })
        .collect();
    let mut score = Score::default();
    for (case, explanation) in cases.iter().zip(explanations(&cases)) {
        let found = found(&explanation);
        let label = case.labels[0];
        // What may stand beside the label may also stand before it.
        let mut rest = found.iter().filter(|kind| !case.allowed.contains(kind));
        let first = rest.next().copied().unwrap_or("nothing");
        let is_found = found.contains(&label);
        score.cases += 1;
        score.found += usize::from(is_found);
        score.first += usize::from(first == label);
        let of_kind = score.by_kind.entry(label).or_default();
        of_kind[0] += 1;
        of_kind[1] += usize::from(is_found);
        of_kind[2] += usize::from(first == label);
        if first != label {
            *score.confused.entry((label, first)).or_default() += 1;
        }
    }
    score
}

/// The healthy cases with a finding that is not allowed, of `count`.
fn unhealthy(count: u64) -> Vec<(String, &'static str)> {
    let cases: Vec<Case> = (0..count).map(|number| healthy(FRESH + number)).collect();
    let all = cases.iter().zip(explanations(&cases));
    let named = all.filter_map(|(case, explanation)| {
        let mut found = found(&explanation).into_iter();
        let kind = found.find(|kind| !case.allowed.contains(kind))?;
        Some((case.name.clone(), kind))
    });
    named.collect()
}

/// The cases with two pathologies of which one was not found, of `count`.
fn half_found(count: u64) -> Vec<(String, &'static str)> {
    let cases: Vec<Case> = (0..count).map(|number| two(FRESH + number)).collect();
    let all = cases.iter().zip(explanations(&cases));
    let named = all.filter_map(|(case, explanation)| {
        let found = found(&explanation);
        let mut missing = case.labels.iter().filter(|label| !found.contains(label));
        Some((case.name.clone(), *missing.next()?))
    });
    named.collect()
}

#[test]
fn planted_pathologies_are_found_and_come_first() {
    let score = planted_score(2);
    let report = format!("{:?}", score.confused);
    assert!(score.found * 20 >= score.cases * 18, "{report}");
    assert!(score.first * 20 >= score.cases * 18, "{report}");
}

#[test]
fn healthy_scenarios_have_no_finding() {
    let unhealthy = unhealthy(60);
    assert!(unhealthy.len() <= 2, "{unhealthy:?}");
}

#[test]
fn of_two_pathologies_both_are_named() {
    let half = half_found(20);
    assert!(half.len() <= 4, "{half:?}");
}

/// Every number in a sentence is computed again from the rows that it names.
#[test]
fn every_number_is_found_again_in_its_rows() {
    let mut checked = 0;
    for kind in kinds() {
        let case = of_kind(kind, FRESH + 7).expect("a case");
        let output = run_of(&case.scenario);
        let tables: BTreeMap<String, _> = output.tables().into_iter().collect();
        let explanation = explain(&Trace::of_run(&output));
        for finding in &explanation.findings {
            for statement in std::iter::once(&finding.symptom).chain(&finding.chain) {
                for evidence in &statement.evidence {
                    let shown = evidence.shown();
                    assert!(
                        statement.text.contains(&shown),
                        "{shown}: {}",
                        statement.text
                    );
                    let (Some([first, last]), Some(statistic)) =
                        (evidence.rows, &evidence.statistic)
                    else {
                        continue;
                    };
                    let table = tables[&evidence.table];
                    let end_s = output.summary.run.duration_s;
                    let again = statistic.of(table, &evidence.column, first..last + 1, end_s);
                    assert_eq!(again, Some(evidence.value), "{evidence:?}");
                    checked += 1;
                }
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
        let kinds_of = |scenario: &str| found(&explain(&Trace::of_run(&run_of(scenario))));
        let (before, after) = (kinds_of(&case.scenario), kinds_of(&other));
        // Names seed the random streams of links, so that what depends on chance may differ.
        let label = case.labels[0];
        assert_eq!(before.contains(&label), after.contains(&label), "{kind}");
    }
}

const PAGE: &str = "../../docs/pathologies.md";

/// The page up to the table of the judgement, which needs some hundred runs.
fn definitions() -> String {
    let mut text = String::from(
        "# Pathologies\n\nWhat `weir explain` looks for. base is the round-trip time without queues: \
         propagation and the\ntransmission of a packet where the scenario gives the path, else the smallest \
         sample. Times are\nweighted by how long a row of the trace holds. The test `pathologies::judge` \
         writes this page from the\ncode (`WEIR_BLESS=1`).\n",
    );
    for pathology in pathologies() {
        let needs = match pathology.needs {
            [] => String::new(),
            needs => format!(" Needs {}.", needs.join(", ")),
        };
        let _ = write!(
            text,
            "\n## {}\n`{}`. {}{needs}\n\n*{}*\n",
            pathology.title, pathology.kind, pathology.definition, pathology.citation
        );
    }
    text.push_str("\n# How well they are found\n");
    text
}

#[test]
fn the_page_has_the_definitions_of_the_code() {
    let definitions = definitions();
    if std::env::var_os("WEIR_BLESS").is_some() {
        std::fs::write(PAGE, definitions.clone() + &judgement()).expect("a page");
    }
    let page = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        page.starts_with(&definitions),
        "docs/pathologies.md is not that of the code: run this test with WEIR_BLESS=1"
    );
}

/// The tables of the judgement.
fn judgement() -> String {
    let score = planted_score(6);
    let unhealthy = unhealthy(200);
    let half = half_found(50);
    let mut text = format!(
        "Judged on seeds from {FRESH} on, on which no threshold was fixed. Of {} scenarios with one planted \
         pathology {}\nwere found, and in {} it came first among what the scenario does not imply beside it. \
         Of 200 healthy\nscenarios {} had a finding. Of 50 scenarios with two pathologies both were named in {}.\n",
        score.cases,
        score.found,
        score.first,
        unhealthy.len(),
        50 - half.len()
    );
    text.push_str("\n| planted | cases | found | first |\n|---|---|---|---|\n");
    for (kind, [cases, found, first]) in &score.by_kind {
        let _ = writeln!(text, "| `{kind}` | {cases} | {found} | {first} |");
    }
    text.push_str("\n| planted | found first in its place | cases |\n|---|---|---|\n");
    for ((planted, first), cases) in &score.confused {
        let _ = writeln!(text, "| `{planted}` | `{first}` | {cases} |");
    }
    for (title, cases) in [("healthy", unhealthy), ("two: not found", half)] {
        for (name, kind) in cases {
            let _ = writeln!(text, "| {title}: {name} | `{kind}` | 1 |");
        }
    }
    text
}
