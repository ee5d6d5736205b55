//! Fingerprints of runs, which tell whether two runs behaved the same.

use crate::run::{RunOutput, RunSummary, Summary};
use crate::table::Values;
use serde::Serialize;
use std::collections::BTreeMap;

/// BLAKE3 of everything that a run recorded, except its seed, the scenario that contains it, and
/// the values drawn from it, which count only by their effects. Fingerprints are comparable if the
/// runs kept the same tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a run: of its summary and of the tables that were kept.
    pub fn of(output: &RunOutput) -> Self {
        let mut hasher = blake3::Hasher::new();
        // Each part is prefixed with its length, so that different parts never hash the same
        // octets.
        let mut add = |octets: &[u8]| {
            hasher.update(&(octets.len() as u64).to_le_bytes());
            hasher.update(octets);
        };
        add_summary(&output.summary, &mut add);
        for (name, table) in output.tables() {
            add(name.as_bytes());
            for column in &table.columns {
                add(column.name.as_bytes());
                // A column is hashed in one call: a call for each value would cost more than the
                // run.
                add(&octets_of(&column.values));
            }
        }
        Self(*hasher.finalize().as_bytes())
    }
}

/// The values in order; words are prefixed with their lengths.
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

/// The parts of a fingerprint, collected while the tables of a run are written to files.
#[derive(Clone, Debug, Default)]
pub struct FingerprintParts {
    /// Digests of the rows of each table, by its path.
    tables: BTreeMap<String, Vec<u8>>,
}

impl FingerprintParts {
    /// Adds a table by a digest of its rows, which does not depend on the seed's value.
    pub fn add(&mut self, path: &str, rows: &[u8]) {
        self.tables.insert(path.to_owned(), rows.to_vec());
    }

    /// The fingerprint of the run with this summary. It is comparable with others made of parts,
    /// and not with those of [`Fingerprint::of`].
    pub fn fingerprint(&self, summary: &Summary) -> Fingerprint {
        let mut hasher = blake3::Hasher::new();
        let mut add = |octets: &[u8]| {
            hasher.update(&(octets.len() as u64).to_le_bytes());
            hasher.update(octets);
        };
        add_summary(summary, &mut add);
        for (path, rows) in &self.tables {
            add(path.as_bytes());
            add(rows);
        }
        Fingerprint(*hasher.finalize().as_bytes())
    }
}

/// Adds the summary without the fields that differ for every seed, part by part, because one text
/// of all flows would take as much memory as the summary.
fn add_summary(summary: &Summary, add: &mut impl FnMut(&[u8])) {
    // Each field is named here, so that none is forgotten.
    let Summary {
        run,
        flows,
        links,
        groups,
        transfers,
        totals,
        drawn: _,
    } = summary;
    let run = RunSummary {
        scenario: String::new(),
        seed: 0,
        ..run.clone()
    };
    add(&json(&run));
    add(&json(totals));
    add_parts(flows, add);
    add_parts(links, add);
    add_parts(groups, add);
    add_parts(transfers, add);
}

fn add_parts(parts: &BTreeMap<String, impl Serialize>, add: &mut impl FnMut(&[u8])) {
    add(&(parts.len() as u64).to_le_bytes());
    for (name, part) in parts {
        add(name.as_bytes());
        add(&json(part));
    }
}

/// A part as JSON, which can represent names and numbers.
fn json(part: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(part).unwrap_or_default()
}

/// The runs of one scenario with several seeds that count: those that differ from every earlier
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replicates {
    /// For each run the index of the first run equal to it: its own index if it counts.
    first_equal: Vec<usize>,
}

impl Replicates {
    /// Compares the runs, given in the order of their seeds, by their fingerprints or by any other
    /// value that identifies their behaviour.
    pub fn of<T: Ord>(runs: &[T]) -> Self {
        let mut seen = BTreeMap::new();
        let first = |(index, run)| *seen.entry(run).or_insert(index);
        Self {
            first_equal: runs.iter().enumerate().map(first).collect(),
        }
    }

    /// The total number of runs.
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

    /// True if there are several runs and all are equal.
    pub fn nothing_is_random(&self) -> bool {
        self.runs() > 1 && self.counting().count() == 1
    }

    /// A note about equal runs for the user; `None` if all runs count.
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
