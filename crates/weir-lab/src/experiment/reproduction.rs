//! Runs everything that some experiments need, in parallel, and puts the results together.

use super::ExperimentError;
use super::draw;
use super::files::ExperimentFiles;
use super::published::{Published, RunPlan};
use super::run_data::{Backends, RunData, Scenario};
use super::verdict::{RowResult, Verdict, judge};
use crate::report::NamedPlot;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How far a reproduction is: runs done, and of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs done.
    pub done: usize,
    /// All runs.
    pub total: usize,
}

/// What became of some experiments. Serialises to the same bytes each time.
#[derive(Clone, Debug, Serialize)]
pub struct Reproduction {
    /// One entry an experiment, in the order asked for.
    pub experiments: Vec<ExperimentResult>,
}

/// What became of one experiment.
#[derive(Clone, Debug, Serialize)]
pub struct ExperimentResult {
    /// Its name.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// Where the document is.
    pub source: String,
    /// What happens in it.
    pub about: String,
    /// The table: published, measured, verdict.
    pub rows: Vec<RowResult>,
    /// What a reader of the document should know.
    pub findings: Vec<FindingResult>,
    /// The runs behind it.
    pub runs: Vec<RunResult>,
    /// The plots; files of their own, so not part of the JSON.
    #[serde(skip)]
    pub plots: Vec<NamedPlot>,
}

/// A finding, and whether all rows that show it hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FindingResult {
    /// The finding.
    pub text: String,
    /// The rows that show it.
    pub rows: Vec<String>,
    /// True unless one of these rows differs without explanation.
    pub holds: bool,
}

/// A run of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunResult {
    /// Its name.
    pub name: String,
    /// Its scenario's file.
    pub scenario: String,
    /// What differs from the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// What is special about it.
    pub about: String,
    /// How many seeds were run.
    pub seeds: u32,
}

impl Reproduction {
    /// True if no judged row differs without an explanation that holds.
    pub fn holds(&self) -> bool {
        self.experiments.iter().all(ExperimentResult::holds)
    }

    /// The exit status of a command that made it: 0, or 3 if a judged value lies outside its
    /// tolerance.
    pub fn exit_status(&self) -> u8 {
        if self.holds() { 0 } else { 3 }
    }

    /// One JSON document with a line feed at its end.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// One self-contained HTML page.
    pub fn html(&self) -> String {
        super::html::page(self)
    }

    /// Writes `index.html`, `result.json` and each plot as SVG and PNG; returns the page's path.
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    #[cfg(feature = "files")]
    pub fn write(&self, folder: &std::path::Path) -> Result<std::path::PathBuf, ExperimentError> {
        use rayon::prelude::*;
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            std::fs::write(&path, bytes).map_err(|source| ExperimentError::File {
                path: path.display().to_string(),
                source,
            })?;
            Ok(path)
        };
        std::fs::create_dir_all(folder).map_err(|source| ExperimentError::File {
            path: folder.display().to_string(),
            source,
        })?;
        let plots: Vec<&NamedPlot> = self.experiments.iter().flat_map(|e| &e.plots).collect();
        plots.par_iter().try_for_each(|named| {
            let svg = named.plot.svg();
            let png = crate::report::png(&svg, 2.0).map_err(|error| ExperimentError::Plot {
                name: named.name.clone(),
                message: error.to_string(),
            })?;
            write(&format!("{}.svg", named.name), svg.as_bytes())?;
            write(&format!("{}.png", named.name), &png).map(|_| ())
        })?;
        write("result.json", self.json().as_bytes())?;
        write("index.html", self.html().as_bytes())
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
    /// By the name of the run.
    scenarios: BTreeMap<String, Scenario>,
}

/// One simulation.
struct Job<'a> {
    experiment: usize,
    plan: &'a RunPlan,
    scenario: &'a Scenario,
    seed: Option<u32>,
}

/// Reproduces the experiments. All files are read and checked before the first run starts.
/// `progress` is called after each run, perhaps from several threads. Runs on the testbed come
/// last, one after the other, so that nothing else keeps the machine busy.
///
/// # Errors
/// A file that cannot be used, or a run that fails.
pub fn reproduce(
    sources: &[ExperimentFiles],
    backends: Backends<'_>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Reproduction, ExperimentError> {
    let prepared = sources.iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
    let jobs = jobs(&prepared);
    let done = AtomicUsize::new(0);
    let work = |job: &Job<'_>| {
        let log = prepared[job.experiment]
            .published
            .reads_log_of(&job.plan.name);
        let result = job
            .scenario
            .observe(job.plan, job.seed, backends)
            .map(|observation| observation.with_log_if(log))
            .map_err(|message| ExperimentError::Run {
                experiment: prepared[job.experiment].name.clone(),
                run: job.plan.name.clone(),
                message,
            });
        progress(Progress {
            done: done.fetch_add(1, Ordering::Relaxed) + 1,
            total: jobs.len(),
        });
        result
    };
    let (real, simulated): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| job.plan.testbed);
    let mut results = all(&simulated, work)?.into_iter();
    let mut real_results = real
        .into_iter()
        .map(&work)
        .collect::<Result<Vec<_>, _>>()?
        .into_iter();
    let mut runs: Vec<BTreeMap<String, Vec<RunData>>> = vec![BTreeMap::new(); prepared.len()];
    for job in &jobs {
        let next = if job.plan.testbed {
            real_results.next()
        } else {
            results.next()
        };
        let Some(observation) = next else { continue };
        let of_run = runs[job.experiment]
            .entry(job.plan.name.clone())
            .or_default();
        of_run.push(observation);
    }
    let experiments = prepared
        .iter()
        .zip(&runs)
        .map(|(experiment, runs)| result(experiment, runs))
        .collect::<Result<_, _>>()?;
    Ok(Reproduction { experiments })
}

/// All jobs' results in the order of the jobs; the first error of that order, if any.
#[cfg(feature = "files")]
fn all<'a, T: Send>(
    jobs: &[&Job<'a>],
    work: impl Fn(&Job<'a>) -> Result<T, ExperimentError> + Sync,
) -> Result<Vec<T>, ExperimentError> {
    use rayon::prelude::*;
    // Collected first, so that which error is reported does not depend on the threads.
    let results: Vec<_> = jobs.par_iter().map(|job| work(job)).collect();
    results.into_iter().collect()
}

#[cfg(not(feature = "files"))]
fn all<'a, T>(
    jobs: &[&Job<'a>],
    work: impl Fn(&Job<'a>) -> Result<T, ExperimentError>,
) -> Result<Vec<T>, ExperimentError> {
    jobs.iter().map(|job| work(job)).collect()
}

fn prepare(source: &ExperimentFiles) -> Result<Prepared, ExperimentError> {
    let file = format!("{}/published.toml", source.name);
    let published = Published::parse(&file, &source.published)?;
    let mut scenarios = BTreeMap::new();
    for plan in &published.runs {
        let failed = |message| ExperimentError::Scenario {
            experiment: source.name.clone(),
            file: plan.scenario.clone(),
            message,
        };
        let text = source.scenarios.get(&plan.scenario);
        let text = text.ok_or_else(|| failed("the file does not exist".to_owned()))?;
        let scenario = Scenario::parse(&plan.scenario, text, &plan.set).map_err(failed)?;
        scenarios.insert(plan.name.clone(), scenario);
    }
    Ok(Prepared {
        name: source.name.clone(),
        published,
        scenarios,
    })
}

fn jobs(prepared: &[Prepared]) -> Vec<Job<'_>> {
    let mut jobs = Vec::new();
    for (experiment, prepared) in prepared.iter().enumerate() {
        for plan in &prepared.published.runs {
            let Some(scenario) = prepared.scenarios.get(&plan.name) else {
                continue;
            };
            let job = |seed| Job {
                experiment,
                plan,
                scenario,
                seed,
            };
            match plan.seeds {
                None => jobs.push(job(None)),
                Some(seeds) => jobs.extend((1..=seeds).map(|seed| job(Some(seed)))),
            }
        }
    }
    jobs
}

fn result(
    experiment: &Prepared,
    runs: &BTreeMap<String, Vec<RunData>>,
) -> Result<ExperimentResult, ExperimentError> {
    let Prepared {
        name, published, ..
    } = experiment;
    let rows = judge(&published.rows, runs)
        .map_err(|(row, source)| ExperimentError::Law { row, source })?;
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
        runs: published
            .runs
            .iter()
            .map(|plan| RunResult {
                name: plan.name.clone(),
                scenario: plan.scenario.clone(),
                set: plan.set.clone(),
                about: plan.about.clone(),
                seeds: plan.seeds.unwrap_or(1),
            })
            .collect(),
        plots: draw::plots(name, published, &rows, runs),
        rows,
    })
}
