//! The datasets of two sweeps, compared run by run.

use super::parameter::Label;
use super::plan::{Plan, WorkItem};
use super::record::{Record, Row};
use super::store::{StoreError, read_plan, read_records};
use crate::comparison::{Measures, Pair, PairingError, is_member, pair_settings};
use crate::scenario::{Scenario, ScenarioError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The runs of a sweep and their plan.
#[derive(Clone, Debug)]
pub struct Dataset {
    plan: Plan,
    runs: Vec<(WorkItem, Record)>,
}

/// The pairs of two datasets with the same setting. A pair holds indices for [`Dataset::record`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingPairs {
    /// The varying parameters as text: `controller=cubic, delay=10ms`; empty if none varies, or if
    /// each setting has one pair and all pairs are combined.
    pub setting: String,
    /// The number of settings.
    pub settings: usize,
    /// In the order of seeds, or of settings if each has one pair.
    pub pairs: Vec<Pair<usize>>,
}

impl Dataset {
    /// Reads the folder of a sweep, without runs that are still in its journal.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let plan = read_plan(folder)?;
        let records = read_records(folder)?.into_iter();
        let runs = records.filter_map(|record| Some((plan.item(record.run)?, record)));
        let runs = runs.collect();
        Ok(Self { plan, runs })
    }

    /// The number of runs.
    pub const fn len(&self) -> usize {
        self.runs.len()
    }

    /// True if there is no run.
    pub const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The number of runs in the plan.
    pub fn planned(&self) -> u64 {
        self.plan.runs()
    }

    /// The record of a run.
    pub fn record(&self, run: usize) -> Option<&Record> {
        self.runs.get(run).map(|(_, record)| record)
    }

    /// The scenario of a run; `None` if there is no such run.
    ///
    /// # Errors
    /// If the scenario is invalid.
    pub fn scenario(&self, run: usize) -> Result<Option<Scenario>, ScenarioError> {
        let item = self.runs.get(run);
        item.map(|(item, _)| self.plan.scenario(item)).transpose()
    }

    /// Keeps the runs whose settings are accepted; the seed is not a setting.
    ///
    /// # Errors
    /// If a scenario is invalid.
    pub fn retain(&mut self, wanted: impl Fn(&Scenario) -> bool) -> Result<(), ScenarioError> {
        let mut kept = Vec::new();
        // The seeds of a point are consecutive.
        let mut last = None;
        for (item, record) in std::mem::take(&mut self.runs) {
            let is_wanted = match last.take() {
                Some((settings, is_wanted)) if settings == item.settings => is_wanted,
                _ => wanted(&self.plan.scenario(&item)?),
            };
            last = Some((item.settings.clone(), is_wanted));
            if is_wanted {
                kept.push((item, record));
            }
        }
        self.runs = kept;
        Ok(())
    }

    /// The values of each parameter in these runs, by its path.
    fn values(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for set in self.settings() {
            values.entry(&set.path).or_default().insert(&set.value);
        }
        values
    }

    fn settings(&self) -> impl Iterator<Item = &crate::scenario::Override> {
        let settings = self.runs.iter().flat_map(|(item, _)| &item.settings);
        settings.map(|setting| &setting.set)
    }

    /// Setting and seed of each run; the setting consists of the parameters with these paths.
    fn keys(&self, paths: &BTreeSet<&str>) -> Vec<(String, u64)> {
        let key = |(item, record): &(WorkItem, Record)| {
            let sets = item.settings.iter().map(|setting| &setting.set);
            let sets = sets.filter(|set| paths.contains(set.path.as_str()));
            let mut words: Vec<_> = sets
                .map(|set| format!("{}={}", set.path, set.value))
                .collect();
            words.sort();
            (words.join("\n"), record.seed)
        };
        self.runs.iter().map(key).collect()
    }

    /// The setting of a run as text, with the names of the dataset's columns.
    fn words(&self, run: usize, paths: &BTreeSet<&str>) -> String {
        let settings = self.runs.get(run).map(|(item, _)| item.settings.iter());
        let settings = settings.into_iter().flatten().zip(self.plan.columns());
        let varying = settings.filter(|(setting, _)| paths.contains(setting.set.path.as_str()));
        let words = varying.map(|(setting, column)| match &setting.label {
            Label::Number(number) => format!("{column}={number}"),
            Label::Word(word) => format!("{column}={word}"),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Pairs the runs of A with those of B: runs of the same settings by their seed, in the order of A.
/// The setting consists of the parameters with several values on a side; parameters with one value
/// on each side may differ between the sides, like the rest of the two scenarios. If each setting
/// has one pair, all pairs are combined, because a single pair does not show the random variation.
///
/// # Errors
/// [`PairingError`].
pub fn pair_datasets(a: &Dataset, b: &Dataset) -> Result<Vec<SettingPairs>, PairingError> {
    let (of_a, of_b) = (a.values(), b.values());
    let varying = of_a
        .iter()
        .chain(&of_b)
        .filter(|(_, values)| values.len() > 1);
    let paths: BTreeSet<&str> = varying.map(|(path, _)| *path).collect();
    let (of_a, of_b) = (a.keys(&paths), b.keys(&paths));
    let mut pairs = pair_settings(&of_a, &of_b)?;
    pairs.sort_by_key(|pair| pair.a);
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found: Vec<SettingPairs> = Vec::new();
    for pair in pairs {
        let key = of_a.get(pair.a).map_or("", |(key, _)| key);
        let group = *groups.entry(key).or_insert(found.len());
        if group == found.len() {
            found.push(SettingPairs {
                setting: a.words(pair.a, &paths),
                settings: 1,
                pairs: Vec::new(),
            });
        }
        found[group].pairs.push(pair);
    }
    if found.len() > 1 && found.iter().all(|group| group.pairs.len() == 1) {
        return Ok(vec![SettingPairs {
            setting: String::new(),
            settings: found.len(),
            pairs: found.into_iter().flat_map(|group| group.pairs).collect(),
        }]);
    }
    Ok(found)
}

impl Record {
    /// The headline measures, as those of a summary.
    pub fn measures(&self) -> Measures {
        let of_kind = |kind: &str| self.rows.iter().filter(move |row| row.kind == kind).count();
        let is_group = |name: &str| {
            let mut groups = self.rows.iter();
            groups.any(|row| row.kind == "group" && row.name == name)
        };
        let is_one = of_kind("flow") + of_kind("transfers") < 2;
        let mut measures = Measures::default();
        for Row {
            kind,
            name,
            measures: known,
        } in &self.rows
        {
            let (kind, name) = match kind.as_str() {
                "flow" if !is_member(name, is_group) => ("flow", name.as_str()),
                "transfers" if !is_member(name, is_group) => ("transfers", name.as_str()),
                "total" if !is_one => ("flows", "together"),
                "group" => ("group", name.as_str()),
                "link" => ("link", name.as_str()),
                _ => continue,
            };
            measures.insert(kind, name, |measure| {
                known.get(&measure.pointer.replace('/', "_")).copied()
            });
        }
        measures
    }
}
