//! `weir compare A B`: the differences between two runs, the runs of two folders, or two sweeps.

mod dataset;
mod document;
mod report;

use super::evaluate::read_evaluation;
use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::terminal;
use clap::{Args, ValueEnum};
pub use document::CompareDocument;
use report::{Report, Side};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use weir_lab::comparison::{
    Divergence, Measures, Pair, bound_shares, changed_settings, effects, first_divergence,
    pair_runs, settings_of,
};
use weir_lab::json::versioned;
use weir_lab::replication::{Fingerprint, Replicates, in_order};
use weir_lab::run::RunOutput;
use weir_lab::scenario::Scenario;
use weir_lab::trace::RunFolder;

/// The arguments of the command.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weir compare results/before results/after --threshold 2%
  weir compare results/before results/after --identical
  weir compare sweeps/before sweeps/after --threshold 2%
  weir compare results results --a flow.stream.transport.controller=cubic \\
      --b flow.stream.transport.controller=newreno --format markdown")]
pub struct Arguments {
    /// The folder of a run, a folder with the folders of several runs, the folder of a sweep, or
    /// that of an evaluation
    a: PathBuf,
    /// The same, to be compared with A; a sweep only with a sweep, an evaluation with an evaluation
    b: PathBuf,
    /// Of A only the runs in which this setting has this value
    #[arg(long = "a", value_name = "PATH=VALUE", value_parser = condition)]
    only_a: Vec<Condition>,
    /// Of B only the runs in which this setting has this value
    #[arg(long = "b", value_name = "PATH=VALUE", value_parser = condition)]
    only_b: Vec<Condition>,
    /// Exit with 3 if a measure differs by more than this share of A: 5%, 0% for any difference
    #[arg(long, value_name = "SHARE", value_parser = share)]
    threshold: Option<f64>,
    /// Exit with 3 if the runs of any pair did not do the same, as far as both sides keep it: for a
    /// change of code that is to change nothing
    #[arg(long)]
    identical: bool,
    /// How the comparison is written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    output: JsonOutput,
}

/// How the comparison is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables for a terminal.
    #[default]
    Text,
    /// Markdown, for a comment on a pull request.
    Markdown,
}

/// A setting and its required value.
#[derive(Clone, Debug)]
struct Condition {
    path: String,
    value: String,
}

fn condition(text: &str) -> Result<Condition, String> {
    match text.split_once('=') {
        Some((path, value)) if !path.trim().is_empty() => Ok(Condition {
            path: path.trim().to_owned(),
            value: value.trim().trim_matches('"').to_owned(),
        }),
        _ => Err("expected PATH=VALUE, such as flow.stream.transport.controller=cubic".to_owned()),
    }
}

/// A share: `5%` or `0.05`. A number of 1 or more is ambiguous.
fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%');
    let number = percent.unwrap_or(text).trim().parse::<f64>().ok();
    let number = number.filter(|number| number.is_finite() && *number >= 0.0);
    let number = number.ok_or("expected a share such as 5% or 0.05")?;
    match percent {
        Some(_) => Ok(number * 0.01),
        None if number < 1.0 => Ok(number),
        None => Err(format!(
            "expected a share such as 5% or 0.05; write {number}% or {}%",
            100.0 * number
        )),
    }
}

/// The folders of one side's runs.
struct Runs {
    /// The name on the command line.
    name: String,
    runs: Vec<RunFolder>,
}

/// The result of comparing a pair.
pub struct PairResult {
    pub seed: u64,
    /// True if the data kept by both runs differs.
    pub differs: bool,
    /// True if both runs have a common table.
    pub has_traces: bool,
    pub divergence: Option<Divergence>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if [&arguments.a, &arguments.b]
        .iter()
        .all(|path| is_evaluation(path))
    {
        return evaluations(arguments);
    }
    let sweeps = [&arguments.a, &arguments.b].map(|path| dataset::folder(path));
    let report = match &sweeps {
        [Some(a), Some(b)] => dataset::compare(arguments, [a, b])?,
        [None, None] => folders(arguments)?,
        [a, _] => {
            let (sweep, other) = if a.is_some() { ("A", "B") } else { ("B", "A") };
            return Err(Failure::Usage(format!(
                "{sweep} is the dataset of a sweep, which keeps measures and no folders of runs, \
                 and {other} is none; compare two datasets, or two folders of runs"
            )));
        }
    };
    let text = match arguments.format {
        Format::Text => report.text(),
        Format::Markdown => report.markdown(),
    };
    if arguments.output.json {
        arguments.output.print(&report.document())?;
    } else {
        terminal::print(&text)?;
    }
    match report.alarm() {
        Some(alarm) => Err(Failure::ExpectationFailed(alarm)),
        None => Ok(()),
    }
}

/// The document of two runs, as `--json` prints it.
pub fn documented(a: &Path, b: &Path) -> Result<Value, Failure> {
    let arguments = Arguments {
        a: a.to_owned(),
        b: b.to_owned(),
        only_a: Vec::new(),
        only_b: Vec::new(),
        threshold: None,
        identical: false,
        format: Format::Text,
        output: JsonOutput::default(),
    };
    let text = versioned(&folders(&arguments)?.document());
    // What was written is a document.
    Ok(serde_json::from_str(&text).unwrap_or_default())
}

/// True for the folder of an evaluation, or its `result.json`.
fn is_evaluation(path: &Path) -> bool {
    path.join("result.json").is_file() || path.file_name().is_some_and(|name| name == "result.json")
}

/// Compares the controllers of two evaluations: A beside B.
fn evaluations(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.threshold.is_some() || !arguments.only_a.is_empty() || !arguments.only_b.is_empty()
    {
        let message = "--threshold, --a and --b are for runs and sweeps: of two evaluations A is \
                       better or worse than B by the rule of weir evaluate";
        return Err(Failure::Usage(message.to_owned()));
    }
    let [a, b] = [&arguments.a, &arguments.b].map(|path| read_evaluation(path));
    let both = a?.alone().with_stored(&b?);
    let both = both.map_err(|error| Failure::Usage(error.to_string()))?;
    if arguments.output.json {
        terminal::print(&both.json())?;
    } else {
        terminal::print(&both.text())?;
    }
    let differs = both.chapters.iter().flat_map(|chapter| &chapter.cases);
    let differs = differs.flat_map(|case| &case.results).find(|result| {
        let mut candidates = result.candidates.iter();
        let runs = candidates.next().map(|sample| &sample.runs);
        candidates.any(|other| Some(&other.runs) != runs)
    });
    match differs {
        Some(result) if arguments.identical => {
            let message = format!("\"{}\" differs between A and B", result.words);
            Err(Failure::ExpectationFailed(message))
        }
        _ => Ok(()),
    }
}

/// Compares folders of runs.
fn folders(arguments: &Arguments) -> Result<Report, Failure> {
    let a = runs(&arguments.a, &arguments.only_a)?;
    let b = runs(&arguments.b, &arguments.only_b)?;
    let scenarios = |side: &'_ Runs| side.runs.iter().map(RunFolder::scenario).cloned().collect();
    let [of_a, of_b]: [Vec<_>; 2] = [scenarios(&a), scenarios(&b)];
    let pairs = pair_runs(
        &of_a.iter().collect::<Vec<_>>(),
        &of_b.iter().collect::<Vec<_>>(),
    )
    .map_err(|error| Failure::Usage(error.to_string()))?;
    let (results, fingerprints) = compare_traces(&a, &b, &pairs)?;
    let counting = counting(&fingerprints);
    let counted: Vec<_> = counting
        .iter()
        .filter_map(|&index| pairs.get(index))
        .map(|pair| Pair {
            seed: pair.seed,
            a: a.runs[pair.a].summary(),
            b: b.runs[pair.b].summary(),
        })
        .collect();
    let changes = pairs.first().map_or_else(Vec::new, |pair| {
        changed_settings(a.runs[pair.a].scenario(), b.runs[pair.b].scenario())
    });
    let has_traces = results.iter().any(|pair| pair.has_traces);
    Ok(Report {
        effects: effects(&counted),
        shares: bound_shares(&counted),
        counting: counting.len(),
        threshold: arguments.threshold,
        identical: arguments.identical,
        a: a.side(),
        b: b.side(),
        changes,
        notes: Vec::new(),
        left_out: Vec::new(),
        results,
        no_traces: (!has_traces).then_some("no pair has traces on both sides"),
    })
}

impl Runs {
    fn side(self) -> Side {
        let commits = self
            .runs
            .iter()
            .filter_map(|run| run.summary().run.commit.clone());
        let commits: BTreeSet<String> = commits.collect();
        Side {
            build: self.runs.first().map(|run| run.summary().run.build.clone()),
            commits: commits.into_iter().collect(),
            runs: self.runs.len(),
            planned: self.runs.len() as u64,
            name: self.name,
        }
    }
}

/// True if the scenario meets all conditions.
fn meets(scenario: &Scenario, conditions: &[Condition]) -> bool {
    let settings = settings_of(scenario);
    let holds = |condition: &Condition| settings.get(&condition.path) == Some(&condition.value);
    conditions.iter().all(holds)
}

fn none_meets(all: usize, path: &str, conditions: &[Condition], hint: &str) -> Failure {
    let conditions = conditions.iter();
    let conditions = conditions.map(|c| format!("{}={}", c.path, c.value));
    let conditions = conditions.collect::<Vec<_>>().join(" and ");
    let message = format!("none of the {all} runs of \"{path}\" has {conditions}; {hint}");
    Failure::Usage(message)
}

/// The runs of a folder that meet all conditions.
fn runs(path: &Path, conditions: &[Condition]) -> Result<Runs, Failure> {
    let mut folders = Vec::new();
    find_runs(path, &mut folders, 0)?;
    let name = path.display().to_string();
    if folders.is_empty() {
        let message = format!("\"{name}\" holds no run, expected summary.json");
        return Err(Failure::Usage(message));
    }
    let mut runs = Vec::new();
    for folder in &folders {
        let run = RunFolder::open(folder)?;
        if conditions.is_empty() || meets(run.scenario(), conditions) {
            runs.push(run);
        }
    }
    if runs.is_empty() {
        let hint = "`scenario.toml` of a run shows its settings";
        return Err(none_meets(folders.len(), &name, conditions, hint));
    }
    Ok(Runs { name, runs })
}

/// The maximum depth below a folder at which run folders are searched.
const MAX_DEPTH: u32 = 3;

/// The run folders at or below a folder, in the order of their names.
fn find_runs(path: &Path, found: &mut Vec<PathBuf>, depth: u32) -> Result<(), Failure> {
    if path.join("summary.json").is_file() || !path.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    if depth == MAX_DEPTH {
        return Ok(());
    }
    let mut inner = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if entry.path().is_dir() && !hidden {
            inner.push(entry.path());
        }
    }
    inner.sort();
    inner
        .iter()
        .try_for_each(|folder| find_runs(folder, found, depth + 1))
}

/// The fingerprints of the two runs of each pair.
type Fingerprints = Vec<[Fingerprint; 2]>;

/// Loads the traces of each pair in parallel, and compares them.
fn compare_traces(
    a: &Runs,
    b: &Runs,
    pairs: &[Pair<usize>],
) -> Result<(Vec<PairResult>, Fingerprints), Failure> {
    let bar = terminal::progress(pairs.len() as u64, "comparing");
    let results = in_order(pairs, |pair| {
        let outputs = [a.runs[pair.a].load()?, b.runs[pair.b].load()?];
        bar.inc(1);
        let divergence = first_divergence(&outputs[0], &outputs[1]);
        let [measures, others] = outputs.each_ref().map(|run| Measures::of(&run.summary));
        let result = PairResult {
            seed: pair.seed,
            differs: divergence.is_some() || measures != others,
            has_traces: have_a_table(&outputs),
            divergence,
        };
        Ok((result, outputs.each_ref().map(Fingerprint::of)))
    });
    bar.finish_and_clear();
    results.into_iter().collect()
}

/// True if both runs have a table of the same name, whatever its contents.
fn have_a_table([a, b]: &[RunOutput; 2]) -> bool {
    let of_b: BTreeSet<String> = b.tables().into_iter().map(|(name, _)| name).collect();
    a.tables().iter().any(|(name, _)| of_b.contains(name))
}

/// The pairs that count: a pair whose two sides both equal those of earlier pairs does not.
fn counting<T: Ord>(did: &[[T; 2]]) -> Vec<usize> {
    let side =
        |index: usize| Replicates::of(&did.iter().map(|pair| &pair[index]).collect::<Vec<_>>());
    let sides = [side(0), side(1)];
    let repeats = |pair: &usize| {
        let [a, b] = [sides[0].equals(*pair), sides[1].equals(*pair)];
        a.is_some() && b.is_some()
    };
    (0..did.len()).filter(|pair| !repeats(pair)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percentages_or_numbers() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.5"), Ok(0.5));
        assert_eq!(share("500%"), Ok(5.0));
        assert!(share("-1%").is_err() && share("five").is_err() && share("nan").is_err());
        // 5 without a percent sign is ambiguous.
        let error = share("5").unwrap_err();
        assert!(error.contains("write 5% or 500%"), "{error}");
    }
}
