//! Pairs runs of A with runs of B.

use crate::scenario::Scenario;
use std::collections::BTreeMap;

/// A run of A and the run of B that is paired with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<T> {
    /// The seed of both.
    pub seed: u64,
    /// The run of A.
    pub a: T,
    /// The run of B.
    pub b: T,
}

/// Why runs cannot be paired.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairingError {
    /// A side has runs of several settings, and the settings of the other side differ.
    #[error(
        "A has runs of {a} settings and B of {b}, of which {common} are the same; expected one \
         setting a side or the same settings on both; choose with --a PATH=VALUE and --b PATH=VALUE"
    )]
    Ambiguous {
        /// The number of settings of A.
        a: usize,
        /// The number of settings of B.
        b: usize,
        /// The number of settings that both have.
        common: usize,
    },
    /// No seed is used on both sides.
    #[error("no seed of A ({a}) is a seed of B ({b}); run both with the same seeds")]
    NoCommonSeed {
        /// The seeds of A as text.
        a: String,
        /// The seeds of B as text.
        b: String,
    },
}

/// The runs of one setting: the index of each run by its seed.
type Seeds = BTreeMap<u64, usize>;

/// Pairs runs of the same settings by their seed. If each side has exactly one setting that the
/// other does not have, these two are paired. A pair holds the indices of its runs; pairs are in
/// the order of settings and seeds.
///
/// # Errors
/// [`PairingError`].
pub fn pair_runs(a: &[&Scenario], b: &[&Scenario]) -> Result<Vec<Pair<usize>>, PairingError> {
    let settings = |runs: &[&Scenario]| -> Vec<(String, u64)> {
        let of = |scenario: &&Scenario| {
            let mut setting = (*scenario).clone();
            setting.run.seed = 0;
            (setting.resolved_toml(), scenario.run.seed)
        };
        runs.iter().map(of).collect()
    };
    pair_settings(&settings(a), &settings(b))
}

/// Like [`pair_runs`], for runs given by their settings, as text, and their seeds.
///
/// # Errors
/// [`PairingError`].
pub fn pair_settings(
    a: &[(String, u64)],
    b: &[(String, u64)],
) -> Result<Vec<Pair<usize>>, PairingError> {
    let (a, b) = (by_setting(a), by_setting(b));
    let common = a.keys().filter(|setting| b.contains_key(*setting)).count();
    let matched = a
        .iter()
        .filter_map(|(setting, seeds)| Some((seeds, b.get(setting)?)));
    let mut groups: Vec<(&Seeds, &Seeds)> = matched.collect();
    if (a.len(), b.len()) == (1, 1) {
        groups = a.values().zip(b.values()).collect();
    } else if common == 0 || common < a.len() || common < b.len() {
        return Err(PairingError::Ambiguous {
            a: a.len(),
            b: b.len(),
            common,
        });
    }
    let pairs = groups.iter().flat_map(|(a, b)| {
        let pair = |(&seed, &a): (&u64, &usize)| {
            let b = *b.get(&seed)?;
            Some(Pair { seed, a, b })
        };
        a.iter().filter_map(pair)
    });
    let pairs: Vec<_> = pairs.collect();
    if pairs.is_empty() {
        let words = |side: &BTreeMap<&str, Seeds>| {
            let seeds = side.values().flat_map(BTreeMap::keys);
            let (least, most) = (seeds.clone().min(), seeds.max());
            let text = |seed: Option<&u64>| seed.map_or_else(String::new, u64::to_string);
            format!("{} to {}", text(least), text(most))
        };
        return Err(PairingError::NoCommonSeed {
            a: words(&a),
            b: words(&b),
        });
    }
    Ok(pairs)
}

/// The runs by their settings.
fn by_setting(runs: &[(String, u64)]) -> BTreeMap<&str, Seeds> {
    let mut settings: BTreeMap<&str, Seeds> = BTreeMap::new();
    for (index, (setting, seed)) in runs.iter().enumerate() {
        let seeds = settings.entry(setting).or_default();
        seeds.entry(*seed).or_insert(index);
    }
    settings
}
