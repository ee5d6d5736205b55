//! Runs the scenarios of the requested experiments in parallel and collects the results.

use super::ExperimentError;
use super::draw;
use super::files::ExperimentFiles;
use super::published::{Published, RunPlan};
use super::row_result::{RowResult, judge};
use super::run_data::{Observation, Runs};
use super::runner::{Backends, parse_scenario, run_once};
use super::tally::Tally;
use super::variants::VariantResult;
use crate::diagnosis::Finding;
use crate::lint::draws_random_numbers;
use crate::replication::in_order;
use crate::report::NamedPlot;
use crate::run::TraceLevel;
use crate::scenario::Scenario;
use crate::table::Table;
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The progress of a reproduction: completed runs of a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Completed runs.
    pub done: usize,
    /// All runs.
    pub total: usize,
}

/// The results of some experiments. Serialises to the same bytes each time.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reproduction {
    /// One entry an experiment, in the order asked for.
    pub experiments: Vec<ExperimentResult>,
}

/// The result of one experiment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExperimentResult {
    /// Its name.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// Where the document is.
    pub source: String,
    /// A summary of the document.
    pub about: String,
    /// The table: published, measured, verdict.
    pub rows: Vec<RowResult>,
    /// Findings for readers of the document.
    pub findings: Vec<FindingResult>,
    /// The variants of what the document leaves open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<VariantResult>,
    /// How many rows agree, hold and are checked.
    pub tally: Tally,
    /// The runs behind it.
    pub runs: Vec<RunResult>,
    /// The plots; files of their own, so not part of the JSON.
    #[serde(skip)]
    pub plots: Vec<NamedPlot>,
}

/// A run, or the runs of many seeds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunResult {
    /// The plan of the run.
    #[serde(flatten)]
    pub plan: RunPlan,
    /// A note on runs of different seeds that are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equal_runs: Option<String>,
    /// What ran in real time: the program, and the kernel if its TCP is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_with: Option<String>,
    /// What went wrong in the first run, if a plot shows it: in its first flow and on the links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub explained: Vec<Finding>,
}

/// A finding, and whether all rows that show it hold.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FindingResult {
    /// The finding.
    pub text: String,
    /// The rows that show it.
    pub rows: Vec<String>,
    /// True unless one of these rows differs without explanation.
    pub holds: bool,
}

impl Reproduction {
    /// True if no judged row differs without an explanation that holds.
    pub fn holds(&self) -> bool {
        self.experiments.iter().all(ExperimentResult::holds)
    }

    /// The exit status of the command: 0, or 3 if a judged value is outside its
    /// tolerance.
    pub fn exit_status(&self) -> u8 {
        if self.holds() { 0 } else { 3 }
    }
}

impl ExperimentResult {
    /// True if no judged row differs without an explanation that holds.
    pub fn holds(&self) -> bool {
        self.count(Verdict::Differs) == 0
    }

    /// How many rows have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows
            .iter()
            .filter(|row| row.verdict == verdict)
            .count()
    }
}

/// An experiment whose files have been read and checked.
struct Prepared {
    name: String,
    published: Published,
    /// The scenarios of each run, one for each of its variants.
    scenarios: BTreeMap<String, Vec<Scenario>>,
    /// The first seed.
    first_seed: u64,
}

/// One run of a scenario.
struct Job<'a> {
    experiment: usize,
    /// Its index among the jobs of its experiment.
    place: usize,
    plan: &'a RunPlan,
    /// The index of the variant.
    variant: usize,
    scenario: Scenario,
    trace: TraceLevel,
    /// Whether the tables are kept for plots.
    keep: bool,
}

/// The options of a reproduction.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Transports and a testbed that other crates provide.
    pub backends: Backends<'a>,
    /// Added to every seed: other random numbers, with which no verdict may change.
    pub seed_offset: u64,
    /// The scan for variants that is made in place of judging those of the file.
    pub scan: Option<&'a str>,
}

/// Receives the progress of a reproduction, possibly from several threads.
pub trait Watcher: Sync {
    /// A run is done.
    fn progress(&self, progress: Progress);
    /// All runs of an experiment are complete and judged. The order of experiments may differ from
    /// that in which they were requested.
    fn finished(&self, experiment: &ExperimentResult);
    /// Called before each run: true ends the reproduction with [`ExperimentError::Cancelled`].
    fn is_over(&self) -> bool {
        false
    }
}

/// The completed runs of an experiment.
struct Gathering {
    /// The observations in the order of the experiment's jobs.
    observations: Vec<Option<Observation>>,
    missing: usize,
    /// The result, once all observations are there.
    result: Option<Result<ExperimentResult, ExperimentError>>,
}

/// Reproduces the experiments. All files are read and checked before the first run starts. Runs on
/// the testbed come last and one at a time, so that no other run loads the machine.
///
/// # Errors
/// If a file is invalid, a run fails, or the watcher cancels the reproduction.
pub fn reproduce(
    sources: &[ExperimentFiles],
    options: Options<'_>,
    watcher: &dyn Watcher,
) -> Result<Reproduction, ExperimentError> {
    let prepared = sources.iter().map(|source| prepare(source, options.scan));
    let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
    let jobs = jobs(&prepared, options.seed_offset);
    let gatherings: Vec<Mutex<Gathering>> = (0..prepared.len())
        .map(|experiment| Mutex::new(Gathering::new(&jobs, experiment)))
        .collect();
    let done = AtomicUsize::new(0);
    let work = |job: &Job<'_>| {
        if watcher.is_over() {
            return Err(ExperimentError::Cancelled);
        }
        let experiment = &prepared[job.experiment];
        let observation = observe(experiment, job, options.backends)?;
        watcher.progress(Progress {
            done: done.fetch_add(1, Ordering::Relaxed) + 1,
            total: jobs.len(),
        });
        let gathering = || {
            let gathering = gatherings[job.experiment].lock();
            gathering.unwrap_or_else(PoisonError::into_inner)
        };
        // Judging and drawing take long, so the lock is not held meanwhile.
        let complete = gathering().add(job.place, observation);
        if let Some(observations) = complete {
            let own = jobs
                .iter()
                .filter(|other| other.experiment == job.experiment);
            let result = result(experiment, &runs_of(experiment, own, observations));
            if let Ok(result) = &result {
                watcher.finished(result);
            }
            gathering().result = Some(result);
        }
        Ok(())
    };
    let (real, simulated): (Vec<_>, Vec<_>) =
        jobs.iter().partition(|job| job.plan.testbed.is_some());
    // All results are collected first, so that the reported error does not depend on the order of
    // threads.
    let ended = in_order(&simulated, |job| work(job));
    ended.into_iter().collect::<Result<(), ExperimentError>>()?;
    real.into_iter().try_for_each(&work)?;
    let experiments = gatherings.into_iter().zip(&prepared);
    let experiments = experiments.map(|(gathering, experiment)| {
        let gathering = gathering
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        // An experiment without runs is complete at once.
        let without_runs = || result(experiment, &[Runs::new()]);
        gathering.result.unwrap_or_else(without_runs)
    });
    Ok(Reproduction {
        experiments: experiments.collect::<Result<_, _>>()?,
    })
}

impl Gathering {
    fn new(jobs: &[Job<'_>], experiment: usize) -> Self {
        let jobs = jobs.iter().filter(|job| job.experiment == experiment);
        let missing = jobs.count();
        Self {
            observations: vec![None; missing],
            missing,
            result: None,
        }
    }

    /// Adds a run; returns all of them if this was the last missing one.
    fn add(&mut self, place: usize, observation: Observation) -> Option<Vec<Option<Observation>>> {
        if let Some(slot) = self.observations.get_mut(place) {
            *slot = Some(observation);
        }
        self.missing -= 1;
        (self.missing == 0).then(|| std::mem::take(&mut self.observations))
    }
}

/// Runs a job and evaluates the measures of its experiment's rows.
fn observe(
    experiment: &Prepared,
    job: &Job<'_>,
    backends: Backends<'_>,
) -> Result<Observation, ExperimentError> {
    let name = &job.plan.name;
    let result = run_once(&job.scenario, job.plan, job.trace, job.keep, backends);
    let observation = result.map(|mut data| {
        if !experiment.published.reads_log_of(name) {
            // The log of writes may be large.
            data.log = Table::default();
        }
        Observation::of(&experiment.published, name, data, job.keep)
    });
    observation.map_err(|message| ExperimentError::Run {
        experiment: experiment.name.clone(),
        run: name.clone(),
        message,
    })
}

/// The observations by the names of their runs, for each variant. A run without variants is the
/// same in all of them.
fn runs_of<'a>(
    experiment: &Prepared,
    jobs: impl Iterator<Item = &'a Job<'a>>,
    observations: Vec<Option<Observation>>,
) -> Vec<Runs> {
    let mut variants = vec![Runs::new(); experiment.published.variants.len().max(1)];
    for (job, observation) in jobs.zip(observations) {
        let own = if job.plan.variants {
            job.variant..job.variant + 1
        } else {
            0..variants.len()
        };
        for runs in &mut variants[own] {
            let of_run = runs.entry(job.plan.name.clone()).or_default();
            of_run.seeded = job.plan.seeds.is_some();
            of_run.runs.extend(observation.clone());
        }
    }
    variants
}

fn prepare(source: &ExperimentFiles, scan: Option<&str>) -> Result<Prepared, ExperimentError> {
    let file = format!("{}/published.toml", source.name);
    let mut published = Published::parse(&file, &source.published)?;
    if let Some(name) = scan {
        published = published
            .scanned(name)
            .map_err(|wrong| ExperimentError::Published(format!("{file}: {}", wrong.message)))?;
    }
    let mut scenarios = BTreeMap::new();
    for plan in &published.runs {
        let failed = |message| ExperimentError::Scenario {
            experiment: source.name.clone(),
            file: plan.scenario.clone(),
            message,
        };
        let text = source.scenarios.get(&plan.scenario);
        let text = text.ok_or_else(|| failed("the file does not exist".to_owned()))?;
        let mut of_run = Vec::new();
        for variant in 0..published.variants_of(plan) {
            let variant = published.variants.get(variant).filter(|_| plan.variants);
            let mut set = variant.map_or_else(Vec::new, |variant| variant.set.clone());
            set.extend_from_slice(&plan.set);
            of_run.push(parse_scenario(&plan.scenario, text, &set).map_err(failed)?);
        }
        // In an experiment on the testbed, simulated runs use the single seed, and so the losses,
        // of the run in real time. A scan judges nothing.
        let judged = published.judges(&plan.name) && !published.needs_testbed() && scan.is_none();
        if let Some(scenario) = of_run.first().filter(|_| judged) {
            enough_seeds(plan, scenario).map_err(failed)?;
        }
        scenarios.insert(plan.name.clone(), of_run);
    }
    Ok(Prepared {
        name: source.name.clone(),
        first_seed: published.first_seed(scan),
        published,
        scenarios,
    })
}

/// The minimum number of seeds of a judged run in which something is random.
const MIN_SEEDS: u32 = 20;

/// A run that draws random numbers needs enough seeds, so that no verdict depends on chance.
pub(super) fn enough_seeds(plan: &RunPlan, scenario: &Scenario) -> Result<(), String> {
    let seeds = plan.seeds.unwrap_or(1);
    if seeds >= MIN_SEEDS || !draws_random_numbers(scenario) {
        return Ok(());
    }
    Err(format!(
        "run \"{}\" is random and rows judge it with {seeds} seed{}, expected at least {MIN_SEEDS}; \
         write seeds = {MIN_SEEDS}",
        plan.name,
        if seeds == 1 { "" } else { "s" }
    ))
}

fn jobs(prepared: &[Prepared], seed_offset: u64) -> Vec<Job<'_>> {
    let mut jobs = Vec::new();
    for (experiment, prepared) in prepared.iter().enumerate() {
        let published = &prepared.published;
        let first = jobs.len();
        for plan in &published.runs {
            let drawn = published.draws_trace_of(&plan.name);
            let traced = published.reads_trace_of(&plan.name);
            // The same trace options for all seeds, so that equal runs have equal traces.
            let trace = if traced || drawn {
                TraceLevel::Full
            } else {
                TraceLevel::Summary
            };
            let scenarios = prepared.scenarios.get(&plan.name).into_iter().flatten();
            for (variant, scenario) in scenarios.enumerate() {
                let (own, begin) = (scenario.run.seed, prepared.first_seed);
                let seeds = plan.seeds;
                let seeds = seeds.map_or(own..=own, |seeds| begin..=begin + u64::from(seeds) - 1);
                for (replicate, seed) in seeds.enumerate() {
                    let mut scenario = scenario.clone();
                    scenario.run.seed = seed + seed_offset;
                    jobs.push(Job {
                        experiment,
                        place: jobs.len() - first,
                        plan,
                        variant,
                        scenario,
                        trace,
                        keep: drawn && replicate == 0 && variant == 0,
                    });
                }
            }
        }
    }
    jobs
}

/// Judges the rows in each variant and draws the plots; these show runs of the first variant.
fn result(experiment: &Prepared, variants: &[Runs]) -> Result<ExperimentResult, ExperimentError> {
    let Prepared {
        name, published, ..
    } = experiment;
    let judged = variants.iter().map(|runs| judge(&published.rows, runs));
    let mut judged = judged
        .collect::<Result<Vec<_>, _>>()
        .map_err(|(row, source)| ExperimentError::Law { row, source })?;
    let (rows, of_variants) = if published.variants.is_empty() {
        (judged.pop().unwrap_or_default(), Vec::new())
    } else {
        published.combined(&judged)
    };
    let nothing = Runs::new();
    let runs = variants.first().unwrap_or(&nothing);
    let differs = |id: &String| {
        rows.iter()
            .any(|row| row.id == *id && row.verdict == Verdict::Differs)
    };
    Ok(ExperimentResult {
        name: name.clone(),
        title: published.document.title.clone(),
        source: published.document.source.clone(),
        about: published.document.about.clone(),
        findings: published
            .findings
            .iter()
            .map(|finding| FindingResult {
                text: finding.text.clone(),
                rows: finding.rows.clone(),
                holds: !finding.rows.iter().any(differs),
            })
            .collect(),
        tally: Tally::of(&rows),
        variants: of_variants,
        runs: published
            .runs
            .iter()
            .map(|plan| RunResult {
                plan: plan.clone(),
                equal_runs: runs
                    .get(&plan.name)
                    .and_then(|runset| runset.replicates().note()),
                measured_with: runs
                    .get(&plan.name)
                    .and_then(|runset| runset.build().map(str::to_owned)),
                explained: runs
                    .get(&plan.name)
                    .and_then(|runset| runset.trace()?.explanation.as_ref())
                    .map_or_else(Vec::new, |explanation| explanation.findings.clone()),
            })
            .collect(),
        plots: draw::plots(name, published, &rows, runs),
        rows,
    })
}
