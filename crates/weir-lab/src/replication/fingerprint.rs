//! Whether two runs did the same.

use crate::run::{RunOutput, RunSummary, Summary};
use crate::table::Values;
use std::collections::BTreeMap;

/// BLAKE3 of everything that a run recorded, without its seed, the scenario that has it, and the
/// values drawn from it, which count by what they cause. Runs are comparable if they kept equally
/// much of their trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a run: of its summary, and of its tables as far as they were kept.
    pub fn of(output: &RunOutput) -> Self {
        let mut hasher = blake3::Hasher::new();
        // Lengths stand before what is hashed, so that no two runs are the same octets.
        let mut add = |octets: &[u8]| {
            hasher.update(&(octets.len() as u64).to_le_bytes());
            hasher.update(octets);
        };
        add(&without_seed(&output.summary));
        for (name, table) in output.tables() {
            add(name.as_bytes());
            for column in &table.columns {
                add(column.name.as_bytes());
                // A column at once: a call for each value costs more than the run.
                add(&octets_of(&column.values));
            }
        }
        Self(*hasher.finalize().as_bytes())
    }
}

/// The values one after the other; words with their lengths before them.
fn octets_of(values: &Values) -> Vec<u8> {
    match values {
        Values::F64(values) => {
            let octets = values.iter().map(|value| value.to_bits().to_le_bytes());
            octets.collect::<Vec<_>>().into_flattened()
        }
        Values::U64(values) => {
            let octets = values.iter().map(|value| value.to_le_bytes());
            octets.collect::<Vec<_>>().into_flattened()
        }
        Values::Text(values) => {
            let mut octets = Vec::new();
            for value in values {
                octets.extend((value.len() as u64).to_le_bytes());
                octets.extend(value.as_bytes());
            }
            octets
        }
    }
}

/// What a fingerprint is made of while the tables of a run are on their way to files.
#[derive(Clone, Debug, Default)]
pub struct FingerprintParts {
    /// Digests of the rows of each table, by its path.
    tables: BTreeMap<String, Vec<u8>>,
}

impl FingerprintParts {
    /// Adds a table by a digest of its rows, in which no seed is.
    pub fn add(&mut self, path: &str, rows: &[u8]) {
        self.tables.insert(path.to_owned(), rows.to_vec());
    }

    /// The fingerprint of the run with this summary. It is comparable with others that are made
    /// of parts, and not with those of [`Fingerprint::of`].
    pub fn fingerprint(&self, summary: &Summary) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        let mut add = |octets: &[u8]| {
            hasher.update(&(octets.len() as u64).to_le_bytes());
            hasher.update(octets);
        };
        add(&without_seed(summary));
        for (path, rows) in &self.tables {
            add(path.as_bytes());
            add(rows);
        }
        Fingerprint(*hasher.finalize().as_bytes())
    }
}

/// The summary as JSON, without what every seed changes.
fn without_seed(summary: &Summary) -> Vec<u8> {
    let summary = Summary {
        run: RunSummary {
            scenario: String::new(),
            seed: 0,
            ..summary.run.clone()
        },
        drawn: BTreeMap::new(),
        ..summary.clone()
    };
    // A summary has only names and numbers, which JSON can hold.
    serde_json::to_vec(&summary).unwrap_or_default()
}

/// Which runs of one scenario with several seeds count: each that did not do the same as an
/// earlier one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replicates {
    /// For each run the first run that did the same: itself, if it counts.
    first_equal: Vec<usize>,
}

impl Replicates {
    /// Compares the runs, given in the order of their seeds, by their fingerprints or by whatever
    /// else tells what they did.
    pub fn of<T: Ord>(runs: &[T]) -> Self {
        let mut seen = BTreeMap::new();
        let first = |(index, run)| *seen.entry(run).or_insert(index);
        Self {
            first_equal: runs.iter().enumerate().map(first).collect(),
        }
    }

    /// How many runs were made.
    pub fn runs(&self) -> usize {
        self.first_equal.len()
    }

    /// The runs that count, by their index.
    pub fn counting(&self) -> impl Iterator<Item = usize> + '_ {
        let runs = self.first_equal.iter().enumerate();
        runs.filter_map(|(index, &first)| (index == first).then_some(index))
    }

    /// For a run that does not count, the earlier run that it equals.
    pub fn equals(&self, run: usize) -> Option<usize> {
        let first = self.first_equal.get(run).copied();
        first.filter(|&first| first != run)
    }

    /// True if there are several runs and all did the same.
    pub fn nothing_is_random(&self) -> bool {
        self.runs() > 1 && self.counting().count() == 1
    }

    /// What people must know about equal runs; `None` if all runs count.
    pub fn note(&self) -> Option<String> {
        let (runs, counting) = (self.runs(), self.counting().count());
        if self.nothing_is_random() {
            Some(format!(
                "nothing here is random: {runs} seeds gave the same run, which counts once"
            ))
        } else {
            (counting < runs).then(|| {
                format!(
                    "{} of {runs} seeds gave the same run as an earlier seed and do not count",
                    runs - counting
                )
            })
        }
    }
}

#[cfg(test)]
#[path = "fingerprint_tests.rs"]
mod tests;
