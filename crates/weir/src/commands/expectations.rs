//! The expectations of a scenario, as text lines and as JSON.

use super::replicates::FinishedRun;
use crate::exit::Failure;
use serde_json::{Map, Value, json};
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

/// The expectations of a run as JSON.
pub fn document(judgements: &[Judgement]) -> Value {
    let one = |judgement: &Judgement| {
        let found = judgement.found.iter();
        let found = found.map(|(name, number)| (name.clone(), json!(number)));
        json!({
            "expect": judgement.expectation.to_string(),
            "holds": judgement.holds(),
            "found": found.collect::<Map<_, _>>(),
        })
    };
    judgements.iter().map(one).collect()
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
