//! Compares two datasets of `weir sweep`, pair by pair and setting by setting.

use super::report::{Report, Side};
use super::{Arguments, Condition, PairResult, counting, meets};
use crate::exit::Failure;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use weir_lab::comparison::{
    Effect, Measures, Pair, changed_settings, judge, left_out, measured_effects,
};
use weir_lab::sweep::{Dataset, Record, SettingPairs, pair_datasets};

/// The folder of the sweep, if this is one or its `runs`.
pub fn folder(path: &Path) -> Option<PathBuf> {
    let of_runs = path.ends_with("runs").then(|| path.parent()).flatten();
    let mut folders = [Some(path), of_runs].into_iter().flatten();
    let found = folders.find(|folder| folder.join("plan.json").is_file());
    found.map(Path::to_path_buf)
}

/// The results for the pairs of all settings.
#[derive(Default)]
struct Found {
    results: Vec<PairResult>,
    counting: usize,
    effects: Vec<Effect>,
    left_out: BTreeSet<String>,
    /// The number of pairs with a failed run.
    failed: usize,
}

/// Compares the sweeps in these folders.
pub fn compare(arguments: &Arguments, [a, b]: [&Path; 2]) -> Result<Report, Failure> {
    let a = read(a, &arguments.only_a)?;
    let b = read(b, &arguments.only_b)?;
    let usage = |message: String| Failure::Usage(message);
    let groups = pair_datasets(&a, &b).map_err(|error| usage(error.to_string()))?;
    let mut found = Found::default();
    for group in &groups {
        found.add(group, [&a, &b]);
    }
    judge(&mut found.effects);
    let names: Vec<String> = found.left_out.into_iter().collect();
    if found.results.is_empty() {
        let failed = found.failed;
        return Err(usage(format!(
            "in each of the {failed} pairs a run failed; the column error says why"
        )));
    }
    if found.effects.is_empty() {
        return Err(usage(format!(
            "A and B have no measure in common, expected the same flows or links: {}",
            names.join(", ")
        )));
    }
    let mut notes = Vec::new();
    let settings = groups.iter().map(|group| group.settings).sum::<usize>();
    if settings > 1 {
        let together = if groups.len() == 1 {
            " with a pair each, taken together"
        } else {
            ""
        };
        notes.push(format!("{settings} settings{together}"));
    }
    if found.failed > 0 {
        let failed = found.failed;
        notes.push(format!(
            "left out, since a run of the pair failed: {failed} pairs"
        ));
    }
    let first = groups.iter().find_map(|group| group.pairs.first());
    let scenarios = first
        .map(|pair| -> Result<_, Failure> { Ok(a.scenario(pair.a)?.zip(b.scenario(pair.b)?)) });
    let changes = scenarios.transpose()?.flatten();
    Ok(Report {
        a: side(&arguments.a, &a),
        b: side(&arguments.b, &b),
        changes: changes.map_or_else(Vec::new, |(a, b)| changed_settings(&a, &b)),
        notes,
        left_out: names,
        results: found.results,
        no_traces: Some("a sweep keeps no traces"),
        counting: found.counting,
        effects: found.effects,
        shares: Vec::new(),
        threshold: arguments.threshold,
        identical: arguments.identical,
    })
}

/// The runs of a sweep that meet all conditions.
fn read(path: &Path, conditions: &[Condition]) -> Result<Dataset, Failure> {
    let mut dataset = Dataset::read(path)?;
    let path = path.display();
    let all = dataset.len();
    if all == 0 {
        let message = format!("\"{path}\" holds no run yet; `weir sweep` makes them");
        return Err(Failure::Usage(message));
    }
    if !conditions.is_empty() {
        dataset.retain(|scenario| meets(scenario, conditions))?;
    }
    if dataset.is_empty() {
        let hint = "expected the path of a setting in full and a value that the plan has";
        let path = path.to_string();
        return Err(super::none_meets(all, &path, conditions, hint));
    }
    Ok(dataset)
}

fn side(path: &Path, dataset: &Dataset) -> Side {
    Side {
        name: path.display().to_string(),
        runs: dataset.len(),
        planned: dataset.planned(),
        build: None,
        commits: Vec::new(),
    }
}

impl Found {
    /// Adds the pairs of a setting.
    fn add(&mut self, group: &SettingPairs, [a, b]: [&Dataset; 2]) {
        let records = |pair: &Pair<usize>| {
            let pair = Pair {
                seed: pair.seed,
                a: a.record(pair.a)?,
                b: b.record(pair.b)?,
            };
            [pair.a, pair.b]
                .iter()
                .all(|r| r.error.is_none())
                .then_some(pair)
        };
        let pairs: Vec<Pair<&Record>> = group.pairs.iter().filter_map(records).collect();
        self.failed += group.pairs.len() - pairs.len();
        // A record's rows are names and numbers, which JSON can represent; without run and seed
        // they identify the run's behaviour.
        let rows = |record: &Record| serde_json::to_string(&record.rows).unwrap_or_default();
        let done: Vec<[String; 2]> = pairs.iter().map(|p| [rows(p.a), rows(p.b)]).collect();
        self.results
            .extend(pairs.iter().zip(&done).map(|(pair, [a, b])| PairResult {
                seed: pair.seed,
                differs: a != b,
                has_traces: false,
                divergence: None,
            }));
        let counting = counting(&done);
        self.counting += counting.len();
        let counted = counting.iter().filter_map(|&index| pairs.get(index));
        let measures: Vec<(u64, [Measures; 2])> = counted
            .map(|pair| (pair.seed, [pair.a.measures(), pair.b.measures()]))
            .collect();
        let pairs = measures
            .iter()
            .map(|(seed, [a, b])| Pair { seed: *seed, a, b });
        let pairs: Vec<Pair<&Measures>> = pairs.collect();
        self.left_out.extend(left_out(&pairs));
        self.effects
            .extend(measured_effects(&group.setting, &pairs));
    }
}
