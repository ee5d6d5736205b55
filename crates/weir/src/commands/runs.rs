//! Functions shared by `run` and `testbed`: a scenario with overrides, and the folders and
//! summaries of its runs.

use super::expectations::{self, ExpectationDocument};
use super::planned_run::PlannedRun;
use super::replicates::{FinishedRun, GroupDocument, groups, set_of, settings, write_index};
use super::run_name::RunNames;
use super::summary_table::summary_tables;
use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::mistaken;
use crate::terminal;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use weir_lab::lint::{Finding, Purpose, lint_for};
use weir_lab::run::Summary;
use weir_lab::scenario::files::read_input;
use weir_lab::scenario::overrides;
use weir_lab::trace::{remove_leftovers, update_index};

/// The arguments that `run` and `testbed` have.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The scenario, TOML; `-` reads standard input
    pub scenario: PathBuf,
    /// Change a value, or several in turn: flow.stream.transport.tfrc.oscillation=off,full
    #[arg(long = "set", value_name = "PATH=VALUE[,VALUE…]")]
    set: Vec<String>,
    /// Where the folders of the runs go
    #[arg(long, short, default_value = "results")]
    pub out: PathBuf,
    #[command(flatten)]
    output: JsonOutput,
}

impl RunArguments {
    /// A run for each combination of values and seeds; all are checked before the first one starts.
    /// If several combinations give the same scenario, only the first is kept.
    pub fn plan(&self, seeds: Option<&str>) -> Result<Vec<PlannedRun>, Failure> {
        let name = self.scenario.display().to_string();
        let text = read_scenario(&self.scenario)?;
        let axes = self.set.iter().map(|set| overrides::parse_set(set));
        let axes = axes.collect::<Result<Vec<_>, _>>()?;
        let seeds = match seeds {
            Some(seeds) => overrides::parse_seeds(seeds)?,
            None => Vec::new(),
        };
        let folders = RunNames::of(&self.scenario, &self.out);
        let (mut runs, mut hashes) = (Vec::new(), BTreeSet::new());
        for overrides in overrides::grid(&axes, &seeds)? {
            let scenario = overrides::parse_with(&text, &name, &overrides)?;
            let hash = scenario.content_hash();
            if hashes.insert(hash.clone()) {
                runs.push(PlannedRun {
                    folder: folders.name(&overrides, &hash),
                    overrides,
                    scenario,
                    hash,
                });
            }
        }
        Ok(runs)
    }
}

/// The text of a scenario's file, or of standard input for `-`.
pub fn read_scenario(path: &Path) -> Result<String, Failure> {
    let stdin = path == Path::new("-");
    let from = if stdin { Path::new("/dev/stdin") } else { path };
    let said = |why: String| Failure::Usage(format!("{}: {why}", path.display()));
    let text = read_input(from);
    let known = text.as_deref().unwrap_or_default();
    if let Some(why) = mistaken::for_a_scenario(path, known) {
        return Err(said(why));
    }
    text.map_err(said)
}

/// The maximum delay before finished runs are added to the index.
const INDEX_EVERY: Duration = Duration::from_secs(2);

/// The results of all runs of a command.
pub struct RunResults<'a> {
    arguments: &'a RunArguments,
    /// Whether there are several seeds: then tables are printed in place of summaries.
    replicated: bool,
    purpose: Purpose,
    /// The findings of lint in the first scenario.
    findings: Vec<Finding>,
    /// Finished runs in the order of the plan.
    runs: Vec<FinishedRun>,
    /// Runs that ended before an earlier one of the plan, by their index.
    waiting: BTreeMap<usize, FinishedRun>,
    /// The number of planned runs.
    planned: usize,
    /// The indices of the runs that are in the index file.
    indexed: BTreeSet<usize>,
    /// The time of the last update of the index file.
    indexed_at: Instant,
}

impl<'a> RunResults<'a> {
    /// No results yet; removes leftovers of killed commands.
    pub fn new(arguments: &'a RunArguments, plan: &[PlannedRun], purpose: Purpose) -> Self {
        remove_leftovers(&arguments.out);
        let settings: BTreeSet<_> = plan.iter().map(|run| settings(&run.overrides)).collect();
        Self {
            arguments,
            replicated: settings.len() < plan.len(),
            purpose,
            findings: plan
                .first()
                .map_or_else(Vec::new, |run| lint_for(&run.scenario, purpose)),
            runs: Vec::new(),
            waiting: BTreeMap::new(),
            planned: plan.len(),
            indexed: BTreeSet::new(),
            indexed_at: Instant::now(),
        }
    }

    /// Takes the run with this index in the plan, and prints the summaries whose turn it is.
    pub fn add(&mut self, number: usize, run: FinishedRun) -> Result<(), Failure> {
        self.waiting.insert(number, run);
        while let Some(run) = self.waiting.remove(&self.runs.len()) {
            if !self.arguments.output.json && !self.replicated {
                let changed = run.overrides.iter().map(|change| change.text() + "\n");
                let tables = summary_tables(&run.summary).text(terminal::width());
                let goodput = terminal::is_shown().then(|| run.goodput.clone());
                let text = [
                    changed.collect(),
                    tables,
                    goodput.unwrap_or_default(),
                    expectations::lines(&run.judgements),
                    run.folder.clone() + "\n",
                ];
                terminal::print(&text.concat())?;
            }
            self.runs.push(run);
        }
        // The index file is updated periodically, so that a killed command loses few entries.
        let are_all_there = self.runs.len() == self.planned;
        if are_all_there || self.indexed_at.elapsed() > INDEX_EVERY {
            self.update_index()?;
        }
        Ok(())
    }

    /// Adds each finished run once to the index of all runs, because writing many flows takes long.
    fn update_index(&mut self) -> Result<(), Failure> {
        let file = self.arguments.scenario.file_name().unwrap_or_default();
        let file = file.to_string_lossy();
        let waiting = self.waiting.iter().map(|(number, run)| (*number, run));
        let finished = self.runs.iter().enumerate().chain(waiting);
        let finished = finished.filter(|(number, _)| !self.indexed.contains(number));
        let (numbers, entries): (Vec<_>, Vec<_>) = finished
            .map(|(number, run)| (number, run.index_entry(&file)))
            .unzip();
        if !entries.is_empty() {
            if let Some(damaged) = update_index(&self.arguments.out, &entries)? {
                terminal::notice(&format!(
                    "warning: runs.parquet was damaged; it is {} now, and runs of earlier commands \
                     are missing from the new one until they are made again",
                    damaged.display()
                ));
            }
            self.indexed.extend(numbers);
        }
        self.indexed_at = Instant::now();
        Ok(())
    }

    /// Keeps completed runs when a run has failed.
    pub fn stop(mut self) {
        if let Err(failure) = self.update_index() {
            terminal::status(&failure.message());
        }
    }

    /// A line that counts the findings of lint; each is a detail. Of a scenario from standard
    /// input, which cannot be read again, a line for each.
    fn remarks(&self) -> String {
        let scenario = &self.arguments.scenario;
        let count = self.findings.len();
        let lines = self.findings.iter();
        let lines: Vec<String> = lines.map(|finding| format!("lint: {finding}\n")).collect();
        if scenario == Path::new("-") {
            return lines.concat();
        }
        for line in lines {
            terminal::detail(|| line.trim_end().to_owned());
        }
        let s = if count == 1 { "" } else { "s" };
        let seeds = match self.purpose {
            Purpose::Seeds => " --seeds",
            Purpose::OneRun | Purpose::RealTime => "",
        };
        match count {
            0 => String::new(),
            _ => format!(
                "{count} remark{s} on the scenario: weir lint {}{seeds}\n",
                scenario.display()
            ),
        }
    }

    /// Writes the index of several runs; prints the tables of replicated runs, or with `--json` the
    /// document of all runs.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.update_index()?;
        let groups = groups(&self.runs);
        let index = if self.runs.len() > 1 {
            let RunArguments { out, scenario, .. } = self.arguments;
            Some(write_index(out, scenario, &groups)?)
        } else {
            None
        };
        let replicated: Vec<_> = groups
            .iter()
            .filter(|group| group.is_replicated())
            .collect();
        if !self.arguments.output.json {
            let tables = replicated.iter().map(|group| group.table() + "\n");
            let tables: String = tables.collect();
            let index = index.filter(|_| !tables.is_empty());
            let index = index.map_or_else(String::new, |index| index + "\n");
            let findings = self.remarks();
            let failing = self
                .replicated
                .then(|| expectations::failing_runs(&self.runs));
            let failing = failing.unwrap_or_default();
            terminal::print(&[tables, failing, index, findings].concat())?;
            return expectations::verdict(&self.runs);
        }
        let runs = self.runs.iter().map(|run| RunDocument {
            folder: &run.folder,
            set: set_of(&run.overrides),
            summary: &run.summary,
            expectations: expectations::document(&run.judgements),
        });
        self.arguments.output.print(&RunsDocument {
            runs: runs.collect(),
            replicated: replicated.iter().map(|group| group.document()).collect(),
            findings: self.findings.iter().map(FindingDocument::of).collect(),
        })?;
        expectations::verdict(&self.runs)
    }
}

/// What `weir run --json` and `weir testbed --json` print.
#[derive(Serialize, JsonSchema)]
pub struct RunsDocument<'a> {
    /// The runs in the order of the command line.
    runs: Vec<RunDocument<'a>>,
    /// For each setting with several seeds the statistics over them.
    replicated: Vec<GroupDocument>,
    /// What is valid in the scenario and probably not meant.
    findings: Vec<FindingDocument<'a>>,
}

/// A run.
#[derive(Serialize, JsonSchema)]
struct RunDocument<'a> {
    /// The folder with its traces.
    folder: &'a str,
    /// Values that differ from the scenario's, by their path.
    set: BTreeMap<&'a str, &'a str>,
    summary: &'a Summary,
    /// The results of the scenario's expectations.
    expectations: Vec<ExpectationDocument<'a>>,
}

/// A finding of `weir lint`.
#[derive(Serialize, JsonSchema)]
pub struct FindingDocument<'a> {
    /// The rule that found it.
    rule: &'a str,
    /// The setting, in the notation of `--set`.
    path: &'a str,
    /// The problem.
    message: &'a str,
    /// The advice.
    help: &'a str,
}

impl<'a> FindingDocument<'a> {
    /// The finding as JSON.
    pub fn of(finding: &'a Finding) -> Self {
        Self {
            rule: finding.rule,
            path: &finding.path,
            message: &finding.message,
            help: &finding.help,
        }
    }
}
