//! The expectations of a scenario, as text lines and as JSON.

use super::replicates::FinishedRun;
use crate::exit::Failure;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use weir_lab::run::Judgement;
use weir_lab::scenario::Expectation;
use weir_lab::theory::format_digits;

/// The maximum number of failing flows or links listed in a line.
const LISTED: usize = 5;

/// A line for each expectation.
pub fn lines(judgements: &[Judgement]) -> String {
    judgements.iter().map(line).collect()
}

fn line(judgement: &Judgement) -> String {
    let expectation = &judgement.expectation;
    if judgement.holds() {
        return format!("holds   {expectation}\n");
    }
    let failing: Vec<_> = judgement.failing().collect();
    let listed = failing.iter().take(LISTED);
    let listed = listed.map(|(name, found)| format!("{name} {}", value(expectation, *found)));
    let more = match failing.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let listed = listed.collect::<Vec<_>>().join(", ");
    format!("FAILS   {expectation}: {listed}{more}\n")
}

fn value(expectation: &Expectation, found: Option<f64>) -> String {
    let Some(found) = found else {
        return "has none".to_owned();
    };
    let number = format_digits(found, expectation.unit(), 4);
    format!("has {number}")
}

/// The result of an expectation.
#[derive(Serialize, JsonSchema)]
pub struct ExpectationDocument<'a> {
    /// As the scenario writes it.
    expect: String,
    holds: bool,
    /// The numbers that it speaks of, by their name; null for one that the run has not.
    found: BTreeMap<&'a str, Option<f64>>,
}

/// The expectations of a run as JSON.
pub fn document(judgements: &[Judgement]) -> Vec<ExpectationDocument<'_>> {
    judgements.iter().map(result).collect()
}

fn result(judgement: &Judgement) -> ExpectationDocument<'_> {
    let Judgement {
        expectation, found, ..
    } = judgement;
    let found = found.iter().map(|(name, number)| (name.as_str(), *number));
    ExpectationDocument {
        expect: expectation.to_string(),
        holds: judgement.holds(),
        found: found.collect(),
    }
}

/// A line for each of several runs with a failed expectation.
pub fn failing_runs(runs: &[FinishedRun]) -> String {
    let failing = runs
        .iter()
        .filter(|run| !run.judgements.iter().all(Judgement::holds));
    let lines = failing.map(|run| {
        let fails = run.judgements.iter().filter(|judgement| !judgement.holds());
        let fails = fails.map(line).collect::<String>();
        format!("seed {}, {}:\n{fails}", run.summary.run.seed, run.folder)
    });
    lines.collect()
}

/// Exit status 3 if an expectation fails in one of the runs.
pub fn verdict(runs: &[FinishedRun]) -> Result<(), Failure> {
    let judgements = || runs.iter().flat_map(|run| &run.judgements);
    let failed = judgements().filter(|judgement| !judgement.holds()).count();
    if failed == 0 {
        return Ok(());
    }
    let all = judgements().count();
    let message = format!("{failed} of {all} expectations did not hold");
    Err(Failure::ExpectationFailed(message))
}
