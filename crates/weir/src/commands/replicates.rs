//! Aggregates several runs of `weir run`: for each setting a table of its measures over the seeds,
//! and `index.json`, which lists the folders.

use super::planned_run::PlannedRun;
use super::sparkline::goodput_lines;
use super::summary_table::{listed_flows, listed_transfers};
use crate::build;
use crate::exit::Failure;
use crate::files::write_file;
use crate::limits::Watchdog;
use crate::terminal;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use weir_lab::comparison::HEADLINE;
use weir_lab::in_natural_order;
use weir_lab::replication::{Fingerprint, Replicates, Sample, measures};
use weir_lab::run::{Judgement, RunOutput, Summary, judge};
use weir_lab::scenario::Override;
use weir_lab::table::SharedSink;
use weir_lab::theory::{format_value, significant};
use weir_lab::trace::{FolderError, FolderWriter, IndexEntry, Written};
use weir_proto::time::Instant;

const INDEX: &str = "index.json";

/// A completed run with its folder.
pub struct FinishedRun {
    pub overrides: Vec<Override>,
    pub summary: Summary,
    pub fingerprint: Fingerprint,
    /// The name of its folder.
    pub name: String,
    /// The folder.
    pub folder: String,
    /// The results of its scenario's expectations.
    pub judgements: Vec<Judgement>,
    /// The goodput of its flows as lines, for a terminal.
    pub goodput: String,
}

/// The folder of a run in progress.
pub struct RunInProgress {
    name: String,
    path: PathBuf,
    writer: FolderWriter,
}

impl RunInProgress {
    /// Starts the folder of this name below `out`, for a planned run.
    pub fn begin(out: &Path, run: &PlannedRun, name: &str) -> Result<Self, Failure> {
        let path = out.join(name);
        let writer = FolderWriter::create_hashed((&run.hash, run.scenario.run.seed), &path, out)?;
        let writer = writer.of_settings(paths_and_values(&run.overrides));
        Ok(Self {
            name: name.to_owned(),
            path,
            writer,
        })
    }

    /// Makes writing end when a limit of the command is exceeded.
    #[must_use]
    pub fn within(mut self, watchdog: &Watchdog) -> Self {
        self.writer = self.writer.cancelled_by(watchdog.cancelled());
        self
    }

    /// The sink for the rows of the run.
    pub fn sink(&mut self) -> SharedSink {
        self.writer.sink()
    }

    /// Discards the folder; returns the error if it could not be written.
    pub fn abandon(self) -> Option<FolderError> {
        self.writer.abandon()
    }
}

impl FinishedRun {
    /// Its entry in the index of all runs.
    pub fn index_entry<'a>(&'a self, scenario: &'a str) -> IndexEntry<'a> {
        IndexEntry {
            folder: &self.name,
            scenario,
            set: paths_and_values(&self.overrides).collect(),
            summary: &self.summary,
        }
    }

    /// Completes the folder of a run, within the limits of the command.
    pub fn write(
        folder: RunInProgress,
        overrides: &[Override],
        mut output: RunOutput,
        watchdog: Option<&Watchdog>,
    ) -> Result<Self, Failure> {
        output.summary.run.commit = build::commit();
        let RunInProgress { name, path, writer } = folder;
        let written = writer.finish(&output, "");
        let (written, fingerprint) = match (written, watchdog) {
            (Err(FolderError::Cancelled), Some(watchdog)) => {
                return Err(watchdog.failure(Instant::ZERO + output.scenario.run.duration));
            }
            (written, _) => written?,
        };
        let folder = path.display().to_string();
        if let Some(note) = note_of(written) {
            terminal::status(&format!("{folder}: {note}"));
        }
        if let Some(from) = output.summary.run.trace_thinned_from_s {
            terminal::status(&format!(
                "{folder}: the trace is thinned from {from} s on, because it is long: it has every \
                 change of state and limit, and the extremes of each round-trip time"
            ));
        }
        if let Some(from) = output.summary.run.packets_left_out_from_s {
            terminal::status(&format!(
                "{folder}: of the packets from {from} s on the table has those that were lost, \
                 dropped or marked, and of the others a part, because it is long"
            ));
        }
        Ok(Self {
            judgements: judge(&output.scenario, &output.summary),
            goodput: goodput_lines(&output),
            overrides: overrides.to_vec(),
            summary: output.summary,
            fingerprint,
            name,
            folder,
        })
    }
}

/// A note for the user if a run was not written.
const fn note_of(written: Written) -> Option<&'static str> {
    match written {
        Written::New => None,
        Written::KeptFuller => Some("the fuller trace of the same run is kept"),
        Written::KeptOther => Some(
            "the full trace of an earlier run, which had another result, is kept and this one not \
             written; name another folder with --out",
        ),
    }
}

/// Runs that differ only in their seed.
pub struct Group<'a> {
    set: Vec<&'a Override>,
    runs: Vec<&'a FinishedRun>,
    replicates: Replicates,
}

/// The overrides except for the seed.
fn paths_and_values(overrides: &[Override]) -> impl Iterator<Item = (&str, &str)> {
    let set = overrides.iter().filter(|change| !is_seed(change));
    set.map(|one| (one.path.as_str(), one.value.as_str()))
}

/// The overrides except for the seed, as on the command line.
pub fn settings(overrides: &[Override]) -> Vec<String> {
    let others = overrides.iter().filter(|change| !is_seed(change));
    others.map(Override::text).collect()
}

fn is_seed(change: &Override) -> bool {
    change.path == "run.seed"
}

/// Overrides as a JSON object.
pub fn set_of<'a>(overrides: impl IntoIterator<Item = &'a Override>) -> BTreeMap<&'a str, &'a str> {
    let set = overrides.into_iter();
    set.map(|one| (one.path.as_str(), one.value.as_str()))
        .collect()
}

/// The runs by their settings, in the order of the first run of each.
pub fn groups(runs: &[FinishedRun]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for run in runs {
        let set: Vec<&Override> = run.overrides.iter().filter(|o| !is_seed(o)).collect();
        match groups.iter_mut().find(|group| group.set == set) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group {
                set,
                runs: vec![run],
                replicates: Replicates::default(),
            }),
        }
    }
    for group in &mut groups {
        let fingerprints: Vec<_> = group.runs.iter().map(|run| run.fingerprint).collect();
        group.replicates = Replicates::of(&fingerprints);
    }
    groups
}

impl Group<'_> {
    /// True if there is more than one seed.
    pub fn is_replicated(&self) -> bool {
        self.runs.len() > 1
    }

    /// The measures over the distinct runs.
    fn measures(&self) -> BTreeMap<String, Sample> {
        let counting = self.replicates.counting();
        let runs = counting.filter_map(|run| self.runs.get(run));
        measures(runs.map(|run| &run.summary))
    }

    /// The settings, the number of runs, the note about them, and every measure.
    pub fn document(&self) -> GroupDocument {
        let measures = self.measures().into_iter().map(|(path, sample)| {
            let interval = sample.interval_95();
            let measure = MeasureDocument {
                n: sample.n(),
                mean: sample.mean(),
                standard_deviation: sample.standard_deviation(),
                standard_error: sample.standard_error(),
                interval_95: interval.map(|interval| [interval.low, interval.high]),
            };
            (path, measure)
        });
        let set = self.set.iter();
        GroupDocument {
            set: set
                .map(|one| (one.path.clone(), one.value.clone()))
                .collect(),
            runs: self.replicates.runs(),
            counting: self.replicates.counting().count(),
            note: self.replicates.note(),
            measures: measures.collect(),
        }
    }

    /// A table as text.
    pub fn table(&self) -> String {
        let set = self.set.iter().map(|change| change.text() + "\n");
        let mut text: String = set.collect();
        let measures = self.measures();
        let summary = self.runs.first().map(|run| &run.summary);
        let parts = summary.map_or_else(Vec::new, parts);
        for (title, pointer) in parts {
            let heads = ["mean", "std. error", "95 % interval"];
            text += &line(&title, heads.map(str::to_owned), "n");
            for measure in HEADLINE.iter() {
                if let Some(sample) = measures.get(&format!("{pointer}/{}", measure.pointer)) {
                    let cells = cells(sample, measure.unit);
                    let label = format!("  {}", measure.label);
                    text += &line(&label, cells, &sample.n().to_string());
                }
            }
        }
        let (runs, counting) = (self.replicates.runs(), self.replicates.counting().count());
        // Writing to a string cannot fail.
        let _ = match self.replicates.note() {
            Some(note) => writeln!(text, "{note}"),
            None => writeln!(text, "{counting} of {runs} runs count"),
        };
        text
    }

    /// The entries of the index.
    fn entries(&self, scenario: &str) -> impl Iterator<Item = Value> {
        self.runs.iter().enumerate().map(move |(number, run)| {
            let mut entry = json!({
                "folder": run.name,
                "scenario": scenario,
                "set": set_of(self.set.iter().copied()),
                "seed": run.summary.run.seed,
            });
            let equal = self.replicates.equals(number);
            if let Some(equal) = equal.and_then(|equal| self.runs.get(equal)) {
                entry["equals"] = json!(equal.name);
            }
            entry
        })
    }
}

/// The runs of one setting over their seeds.
#[derive(Serialize, JsonSchema)]
pub struct GroupDocument {
    /// Values that differ from the scenario's, by their path.
    set: BTreeMap<String, String>,
    /// The number of runs.
    runs: usize,
    /// The number of runs that no other repeats; the statistics are over these.
    counting: usize,
    /// What was found about equal runs.
    note: Option<String>,
    /// The measures, by their JSON pointer in the summary.
    measures: BTreeMap<String, MeasureDocument>,
}

/// The statistics of a measure over seeds.
#[derive(Serialize, JsonSchema)]
struct MeasureDocument {
    /// The number of runs that have it.
    n: usize,
    mean: Option<f64>,
    standard_deviation: Option<f64>,
    standard_error: Option<f64>,
    /// The 95 % confidence interval of the mean.
    interval_95: Option<[f64; 2]>,
}

/// The parts with lines in a table: title and JSON pointer in the summary.
fn parts(summary: &Summary) -> Vec<(String, String)> {
    let (flows, _) = listed_flows(summary);
    let flows = flows.into_iter().map(|(name, _)| ("flow", "flows", name));
    let transfers = listed_transfers(summary).into_iter();
    let transfers = transfers.map(|(name, _)| ("transfers", "transfers", name));
    let groups = in_natural_order(&summary.groups).into_iter();
    let groups = groups.map(|(name, _)| ("group", "groups", name));
    let links = in_natural_order(&summary.links).into_iter();
    let links = links.map(|(name, _)| ("link", "links", name));
    let named = flows.chain(transfers).chain(groups).chain(links);
    let mut parts: Vec<_> = named
        .map(|(kind, list, name)| (format!("{kind} {name}"), format!("/{list}/{name}")))
        .collect();
    if summary.totals.flows > 1 {
        parts.push(("all flows".to_owned(), "/totals".to_owned()));
    }
    parts
}

/// Mean, standard error and interval in a unit suitable for the mean.
fn cells(sample: &Sample, unit: &str) -> [String; 3] {
    let value = |value: Option<f64>| match value {
        None => "–".to_owned(),
        Some(value) if unit.is_empty() => significant(value, 5),
        Some(value) => format_value(value, unit),
    };
    let interval = sample.interval_95().map_or_else(
        || "–".to_owned(),
        |i| format!("{} to {}", value(Some(i.low)), value(Some(i.high))),
    );
    [
        value(sample.mean()),
        value(sample.standard_error()),
        interval,
    ]
}

fn line(title: &str, [mean, error, interval]: [String; 3], n: &str) -> String {
    format!("{title:<26}{mean:>16}{error:>16}   {interval:<36}{n:>4}\n")
}

/// Writes `index.json`: the folder, the settings and the seed of each run, and the earlier run that
/// it equals, if any. Entries of other commands are kept while their folders exist.
pub fn write_index(out: &Path, scenario: &Path, groups: &[Group<'_>]) -> Result<String, Failure> {
    let name = scenario.file_name().unwrap_or_default().to_string_lossy();
    let ours: Vec<Value> = groups
        .iter()
        .flat_map(|group| group.entries(&name))
        .collect();
    let path = out.join(INDEX);
    let known = std::fs::read_to_string(&path).ok();
    let known = known.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let mut runs: Vec<Value> = match known.as_ref().and_then(|known| known["runs"].as_array()) {
        Some(entries) => entries.clone(),
        None => Vec::new(),
    };
    runs.retain(|entry| {
        let folder = entry["folder"].as_str().unwrap_or_default();
        let is_ours = ours.iter().any(|own| own["folder"] == folder);
        !folder.is_empty() && !is_ours && out.join(folder).is_dir()
    });
    runs.extend(ours);
    let text = |entry: &Value, key: &str| entry[key].to_string();
    runs.sort_by_key(|entry| {
        let seed = entry["seed"].as_u64().unwrap_or_default();
        (
            text(entry, "scenario"),
            text(entry, "set"),
            seed,
            text(entry, "folder"),
        )
    });
    write_file(&path, format!("{:#}\n", json!({ "runs": runs })).as_bytes())?;
    Ok(path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_lab::run::{Distribution, TransferSummary};

    #[test]
    fn tables_over_seeds_have_the_transfers() {
        let mut summary = Summary::default();
        let transfers = TransferSummary {
            completion_time_s: Some(Distribution::default()),
            ..TransferSummary::default()
        };
        for name in ["web10", "web2"] {
            summary.transfers.insert(name.to_owned(), transfers.clone());
        }
        let found = parts(&summary);
        let titles: Vec<_> = found.iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!(titles, ["transfers web2", "transfers web10"]);
        let measures = measures([&summary]);
        for (_, pointer) in found {
            let shown = HEADLINE
                .iter()
                .filter(|measure| measures.contains_key(&format!("{pointer}/{}", measure.pointer)));
            let labels: Vec<_> = shown.map(|measure| measure.label).collect();
            for label in ["begun", "completed", "completed in, 99 %", "goodput"] {
                assert!(labels.contains(&label), "{label}: {labels:?}");
            }
        }
    }
}
