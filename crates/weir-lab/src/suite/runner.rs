//! Runs the cases of a suite for each controller under test, in parallel.

use super::case::{Case, NEVER, SuiteError, kind_of};
use super::check::{CheckResult, Reads};
use super::evidence::{Evidence, Span};
use super::files::Suite;
use super::picture;
use crate::candidate::Candidate;
use crate::replication::in_order;
use crate::report::NamedPlot;
use crate::run::{RunOptions, TraceLevel, TransportRegistry, run};
use crate::scenario::Transport;
use crate::verdict::{Outcome, Verdict};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use weir_proto::time::Duration;

/// What a case came to with one controller.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CaseResult {
    /// The name of the case.
    pub case: String,
    /// Its title.
    pub title: String,
    /// Where the document has it.
    pub source: String,
    /// What makes it happen here.
    pub how: String,
    /// The controller under test.
    pub controller: String,
    /// Whether it passed: a failed check fails it, and at least one must have passed.
    pub verdict: Verdict,
    /// The measured value against its bounds, of the check that decided.
    pub why: String,
    /// When what the case changes has changed, in seconds.
    pub trigger_s: Option<f64>,
    /// Each check.
    pub checks: Vec<CheckResult>,
    /// The picture of the run.
    #[serde(skip)]
    pub plot: Option<NamedPlot>,
}

/// The results of a suite.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SuiteResult {
    /// The suite's name.
    pub suite: String,
    /// The controllers, in the order in which they were named.
    pub controllers: Vec<String>,
    /// Case by case, and for each in the order of the controllers.
    pub results: Vec<CaseResult>,
}

impl SuiteResult {
    /// True if no case failed.
    pub fn holds(&self) -> bool {
        let mut results = self.results.iter();
        results.all(|result| result.verdict.outcome() != Outcome::Fails)
    }
}

/// Runs all cases for all controllers. `progress` is called after each with how many are done.
///
/// # Errors
/// A scenario that cannot be run with a controller.
pub fn run_suite(
    suite: &Suite,
    candidates: &[Candidate],
    registry: TransportRegistry<'_>,
    progress: &(dyn Fn(usize) + Sync),
) -> Result<SuiteResult, SuiteError> {
    let cases = suite.cases.iter();
    let pairs: Vec<_> = cases
        .flat_map(|case| candidates.iter().map(move |candidate| (case, candidate)))
        .collect();
    let done = AtomicUsize::new(0);
    let results = in_order(&pairs, |(case, candidate)| {
        let result = run_case(case, candidate, registry);
        progress(done.fetch_add(1, Ordering::Relaxed) + 1);
        result
    });
    Ok(SuiteResult {
        suite: suite.name.clone(),
        controllers: candidates.iter().map(|one| one.name.clone()).collect(),
        results: results.into_iter().collect::<Result<_, _>>()?,
    })
}

fn run_case(
    case: &Case,
    candidate: &Candidate,
    registry: TransportRegistry<'_>,
) -> Result<CaseResult, SuiteError> {
    let result = CaseResult {
        case: case.name.clone(),
        title: case.spec.title.clone(),
        source: case.spec.source.clone(),
        how: case.spec.how.clone(),
        controller: candidate.name.clone(),
        verdict: Verdict::OutOfRange,
        why: case.excluded.clone().unwrap_or_default(),
        trigger_s: None,
        checks: Vec::new(),
        plot: None,
    };
    if case.excluded.is_some() {
        return Ok(result);
    }
    let observe = |trigger: Duration| {
        let scenario = case.scenario(Some(candidate), trigger)?;
        let options = RunOptions {
            trace: TraceLevel::Full,
            registry,
            ..RunOptions::default()
        };
        let output = run(&scenario, &options).map_err(|error| case.error(error.to_string()))?;
        Evidence::of(output, case.path, header_octets(candidate))
            .ok_or_else(|| case.error("the run has no trace of the flow".to_owned()))
    };
    let trigger = match &case.spec.trigger {
        None => None,
        Some(trigger) => {
            let rehearsal = observe(NEVER)?;
            let whole = Span {
                from: 0.0,
                until: f64::INFINITY,
            };
            let visits = rehearsal.visits(&trigger.state, whole);
            let visit = trigger.visit.checked_sub(1).and_then(|at| visits.get(at));
            Some(match visit {
                Some(visit) => Duration::from_secs_f64(visit.from),
                None => case.otherwise.unwrap_or(NEVER),
            })
        }
    };
    let moment = trigger.unwrap_or(NEVER);
    let evidence = observe(moment)?;
    let kind = kind_of(candidate)?;
    let checks = case.checks.iter();
    let checks =
        checks.filter(|check| check.transports.is_empty() || check.transports.contains(&kind));
    let checks: Vec<CheckResult> = checks.map(|check| check.judge(&evidence, moment)).collect();
    let (verdict, why) = decide(&checks, evidence.has_states());
    let name = format!(
        "{}-{}",
        case.name,
        candidate.name.replace([':', ',', '='], "-")
    );
    let trigger_s = trigger.map(Duration::as_secs_f64);
    Ok(CaseResult {
        verdict,
        why,
        trigger_s,
        plot: picture::plot(&name, &evidence, trigger_s),
        checks,
        ..result
    })
}

/// Octets of the IP and transport headers of a packet that the transport does not count.
fn header_octets(candidate: &Candidate) -> f64 {
    if matches!(candidate.transport, Transport::Tcp(_)) {
        40.0
    } else {
        28.0
    }
}

/// The verdict of a case and the check that decided it. Where a case is about states of BBR, a
/// controller that names none does not fail: it is another.
fn decide(checks: &[CheckResult], has_states: bool) -> (Verdict, String) {
    let find = |verdict| checks.iter().find(|check| check.verdict == verdict);
    let is_of_states = checks.iter().any(|check| check.reads != Reads::Behaviour);
    if let Some(failed) = find(Verdict::Failed) {
        let why = format!("{}: {}", failed.says, failed.text());
        return if is_of_states && !has_states {
            (Verdict::NotBbr, why)
        } else {
            (Verdict::Failed, why)
        };
    }
    if find(Verdict::Passed).is_none() {
        let why = "the controller shows none of what is measured";
        return (Verdict::NotObservable, why.to_owned());
    }
    let count = |reads: Reads, verdict: Verdict| {
        let checks = checks.iter();
        let is = |check: &&CheckResult| check.reads == reads && check.verdict == verdict;
        checks.filter(is).count()
    };
    let mut why = Vec::new();
    for (reads, of) in [(Reads::States, "states"), (Reads::Model, "model")] {
        match count(reads, Verdict::NotObservable) {
            0 => {}
            1 => why.push(format!("1 check of its {of} is not observable")),
            hidden => why.push(format!("{hidden} checks of its {of} are not observable")),
        }
    }
    if count(Reads::Model, Verdict::Passed) > 0 {
        why.push("judged by its model too".to_owned());
    }
    (Verdict::Passed, why.join(", "))
}
