//! The evaluation of a congestion controller that RFC 9743 asks its authors for: short scenarios,
//! chapter by chapter, over several seeds, beside other controllers on the same paths.
//!
//! Safety comes first: [limits](SafetyLimit) on what a controller may send while packets or all
//! feedback are lost, on its own losses and on what it leaves to others, which hold whatever others
//! do. Then each measure of each case is taken of the controller and of each that it is compared
//! with, CUBIC and Reno unless the caller names others, over the same transport and with the same
//! seeds; beside each of them it is *better* or *worse* by more than chance and more than a tenth,
//! or *alike*. Metrics are those of RFC 5166. The suite is data ([`suite`]); a controller is a
//! [`Candidate`], which a user's own program makes too.

mod case;
mod figure;
mod judge;
mod measure;
mod page;
mod paths;
#[cfg(feature = "files")]
mod record;
mod safety;
mod stored;
mod suite;
mod words;

pub use crate::summary::Better;
pub use case::{Aspect, Bounds, Case, SafetyLimit, Size};
pub use judge::MeasureResult;
pub use measure::CandidateSample;
pub use paths::OwnPaths;
#[cfg(feature = "files")]
pub(crate) use record::record;
pub use safety::LimitResult;
pub use stored::StoredError;
pub use suite::{Chapter, Suite};

use crate::candidate::{Candidate, CandidateError};
use crate::replication::{Sample, in_order};
use crate::run::{RunOptions, TraceLevel, TransportRegistry, run};
use crate::scenario::{Flow, Scenario, ScenarioError, Transport};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::slice;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use thiserror::Error;

/// Why a controller could not be evaluated. For people: lower case, no full stop.
#[derive(Debug, Error)]
pub enum EvaluationError {
    /// The controller's name is wrong.
    #[error(transparent)]
    Candidate(#[from] CandidateError),
    /// A chapter that the suite does not have.
    #[error("{0}")]
    Chapter(String),
    /// The suite cannot be used; the error has the place.
    #[error(transparent)]
    Invalid(Box<ScenarioError>),
    /// A case of the suite cannot be used.
    #[error("{0}")]
    Suite(String),
    /// A run failed.
    #[error("case \"{case}\" of {candidate}: {message}")]
    Run {
        /// The case.
        case: String,
        /// Whose run it was.
        candidate: String,
        /// What went wrong.
        message: String,
    },
    /// A file of the report cannot be written.
    #[cfg(feature = "files")]
    #[error(transparent)]
    Report(#[from] crate::report::ReportError),
}

impl From<ScenarioError> for EvaluationError {
    fn from(error: ScenarioError) -> Self {
        Self::Invalid(Box::new(error))
    }
}

/// What an evaluation is made with.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Transports that are made elsewhere.
    pub registry: TransportRegistry<'a>,
    /// What the controller is compared with; CUBIC and Reno if `None`.
    pub beside: Option<&'a [Candidate]>,
    /// Seeds of each case, from 1 on; if zero, 8 for the quick size and 20 for the others.
    pub seeds: u32,
    /// Called after each run with the runs done and all runs, perhaps from several threads.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Ends all runs early when set.
    pub cancel: Option<&'a AtomicBool>,
    /// Called in the thread of a run when it has ended; returns a reason for a failure that only
    /// the caller knows.
    pub explain: Option<&'a (dyn Fn() -> Option<String> + Sync)>,
}

/// Seeds of each case if nothing else is said.
const fn default_seeds(size: Size) -> u32 {
    match size {
        Size::Quick => 8,
        Size::Standard | Size::Full => 20,
    }
}

/// A controller beside others. Serialises to the same bytes each time.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Evaluation {
    /// The suite's heading.
    pub title: String,
    /// How much of it was run.
    pub size: Size,
    /// What identifies its cases and scenarios: evaluations with the same can be compared.
    pub suite: String,
    /// The controller, first, and those that it is compared with.
    pub candidates: Vec<String>,
    /// Seeds of each case.
    pub seeds: u32,
    /// The chapters in the order of the suite.
    pub chapters: Vec<ChapterResult>,
}

/// A chapter of the RFC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChapterResult {
    /// What it is about.
    #[serde(flatten)]
    pub chapter: Chapter,
    /// Its cases.
    pub cases: Vec<CaseResult>,
}

/// A scenario with its measures.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CaseResult {
    /// What it is, in words.
    pub words: String,
    /// How many runs of each candidate had a flow whose connection failed.
    pub failed_runs: Vec<u32>,
    /// What was measured.
    pub results: Vec<MeasureResult>,
    /// The limits that a controller must keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitResult>,
}

/// A run to make: which case, of which candidate, with which seed.
struct Job<'a> {
    suite: &'a Suite,
    case: &'a Case,
    candidate: &'a str,
    scenario: Scenario,
}

/// What a run came to: a value a measure, and whether a connection failed.
type Outcome = (Vec<Option<f64>>, bool);

/// Evaluates a controller.
///
/// # Errors
/// A suite that cannot be used, or a run that fails.
pub fn evaluate(
    suite: &Suite,
    subject: &Candidate,
    options: &Options<'_>,
) -> Result<Evaluation, EvaluationError> {
    let suite = suite.of(subject);
    let suite = suite.as_ref();
    let candidates = match options.beside {
        None => subject.with_standards()?,
        Some(others) => [slice::from_ref(subject), others].concat(),
    };
    let seeds = if options.seeds == 0 {
        default_seeds(suite.size)
    } else {
        options.seeds
    };
    let jobs = jobs(suite, &candidates, seeds)?;
    let done = AtomicUsize::new(0);
    let outcomes = in_order(&jobs, |job| {
        let outcome = outcome(job, options);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(progress) = options.progress {
            progress(done, jobs.len());
        }
        outcome
    });
    // Collected first, so that which error is reported does not depend on the threads.
    let outcomes = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut of_candidates = outcomes.chunks(seeds as usize);
    let mut chapters = Vec::new();
    for chapter in &suite.chapters {
        let mut cases = Vec::new();
        for case in &chapter.cases {
            let runs: Vec<_> = of_candidates.by_ref().take(candidates.len()).collect();
            cases.push(case_result(suite, case, &candidates, &runs));
        }
        let chapter = chapter.clone();
        chapters.push(ChapterResult { chapter, cases });
    }
    Ok(Evaluation {
        title: suite.title.clone(),
        size: suite.size,
        suite: suite.fingerprint(),
        candidates: candidates.into_iter().map(|one| one.name).collect(),
        seeds,
        chapters,
    })
}

/// The runs in the order of chapters, cases, candidates and seeds.
fn jobs<'a>(
    suite: &'a Suite,
    candidates: &'a [Candidate],
    seeds: u32,
) -> Result<Vec<Job<'a>>, EvaluationError> {
    let mut jobs = Vec::new();
    for case in suite.chapters.iter().flat_map(|chapter| &chapter.cases) {
        let scenario = Suite::scenario(case)?;
        for candidate in candidates {
            let rival = candidates[0].standard(&case.rival)?;
            let mut scenario = scenario.clone();
            cast(&mut scenario, case, candidate, &rival);
            for seed in 1..=u64::from(seeds) {
                let mut scenario = scenario.clone();
                scenario.run.seed = seed;
                jobs.push(Job {
                    suite,
                    case,
                    candidate: &candidate.name,
                    scenario,
                });
            }
        }
    }
    Ok(jobs)
}

/// Gives the flows of a case their transports. Calls of others keep theirs.
fn cast(scenario: &mut Scenario, case: &Case, candidate: &Candidate, rival: &Candidate) {
    for flow in &mut scenario.flows {
        let is_subject = case.subject.iter().any(|name| is_of(flow, name));
        if is_subject {
            flow.transport = candidate.transport.clone();
        } else if !matches!(flow.transport, Transport::Udp(_)) && flow.transport.media().is_none() {
            flow.transport = rival.transport.clone();
        }
    }
}

/// True for the flow of this name and for those that its `count` makes.
fn is_of(flow: &Flow, name: &str) -> bool {
    flow.name == name || flow.group.as_deref() == Some(name)
}

fn outcome(job: &Job<'_>, options: &Options<'_>) -> Result<Outcome, EvaluationError> {
    let of_run = RunOptions {
        trace: TraceLevel::Summary,
        registry: options.registry,
        cancel: options.cancel,
        ..RunOptions::default()
    };
    let wrong = |message| EvaluationError::Run {
        case: job.case.words.clone(),
        candidate: job.candidate.to_owned(),
        message,
    };
    let output = run(&job.scenario, &of_run).map_err(|error| error.to_string());
    let output = match options.explain.and_then(|explain| explain()) {
        Some(reason) => Err(reason),
        None => output,
    };
    let output = output.map_err(wrong)?;
    let failed = output
        .summary
        .flows
        .values()
        .any(|flow| flow.ended.is_some());
    // A summary has only names and numbers, which JSON can hold.
    let summary = serde_json::to_value(&output.summary).unwrap_or_default();
    let measures = job.case.measures.iter();
    let values: Vec<_> = measures
        .map(|name| job.suite.measures.get(name)?.of(&summary))
        .collect();
    let numbers = job.case.measures.iter().zip(&values);
    for (name, value) in numbers.filter_map(|(name, value)| Some((name, (*value)?))) {
        // All measures are amounts, times, shares or quotients of such.
        if value < 0.0 {
            return Err(wrong(format!("the measure {name} is {value}, below zero")));
        }
    }
    Ok((values, failed))
}

fn case_result(
    suite: &Suite,
    case: &Case,
    candidates: &[Candidate],
    runs: &[&[Outcome]],
) -> CaseResult {
    let failed = |runs: &&[Outcome]| runs.iter().filter(|(_, failed)| *failed).count() as u32;
    let measures = case.measures.iter().enumerate();
    let results = measures.filter_map(|(place, name)| {
        let plan = suite.measures.get(name)?;
        let scale = plan.scale().ok()?;
        let samples = candidates.iter().zip(runs).map(|(candidate, runs)| {
            let values = runs.iter().map(|(values, _)| values[place]);
            CandidateSample::new(&candidate.name, values.collect(), scale)
        });
        let is_judged = !case.shown.contains(name);
        Some(MeasureResult::new(name, plan, is_judged, samples.collect()))
    });
    let mut results: Vec<_> = results.collect();
    judge::judge(&mut results);
    let controller = candidates.first().and_then(Candidate::controller);
    let limits = case.limits.iter().filter_map(|limit| {
        let mut taken = results.iter();
        let of = taken.find(|result| result.name == limit.measure)?;
        let reason = controller.and_then(|controller| suite.reason(controller, &limit.id));
        Some(LimitResult::new(limit, reason, &of.candidates))
    });
    CaseResult {
        words: case.words.clone(),
        failed_runs: runs.iter().map(failed).collect(),
        limits: limits.collect(),
        results,
    }
}

/// The mean of a sample's runs that have a value.
fn sample_of(values: &[Option<f64>]) -> Sample {
    values.iter().flatten().copied().collect()
}

#[cfg(test)]
mod tests;
