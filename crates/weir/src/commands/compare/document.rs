//! What `weir compare --json` prints of two sides of runs.

use schemars::JsonSchema;
use serde::Serialize;

/// The differences between A and B; of two evaluations `weir compare` prints what `weir evaluate`
/// does.
#[derive(Serialize, JsonSchema)]
pub struct CompareDocument<'a> {
    pub a: SideDocument<'a>,
    pub b: SideDocument<'a>,
    /// Settings that differ in the first pair.
    pub settings: Vec<ChangeDocument<'a>>,
    /// The pairs of runs with the same seed.
    pub pairs: usize,
    /// The pairs that count: those that do not repeat an earlier one.
    pub counting: usize,
    /// The pairs in which anything differs.
    pub diverging: usize,
    /// The earliest difference between two traces.
    pub first_divergence: Option<DivergenceDocument<'a>>,
    pub notes: &'a [String],
    /// Measures that not all pairs have.
    pub left_out: &'a [String],
    pub effects: Vec<EffectDocument<'a>>,
    /// What held the flows, where the shares differ.
    pub bound_share: Vec<ShareDocument<'a>>,
    /// The share of A beyond which a difference makes the command fail.
    pub threshold: Option<f64>,
    /// The number of measures beyond it.
    pub beyond_threshold: usize,
}

/// A side.
#[derive(Serialize, JsonSchema)]
pub struct SideDocument<'a> {
    pub folder: &'a str,
    pub runs: usize,
    /// The program that made them.
    pub build: Option<&'a str>,
    /// The commits of its source, each once.
    pub commits: &'a [String],
}

/// A setting that differs.
#[derive(Serialize, JsonSchema)]
pub struct ChangeDocument<'a> {
    pub path: &'a str,
    pub a: Option<&'a str>,
    pub b: Option<&'a str>,
}

/// Where two traces part.
#[derive(Serialize, JsonSchema)]
pub struct DivergenceDocument<'a> {
    pub seed: u64,
    pub table: &'a str,
    pub row: usize,
    pub time_s: Option<f64>,
    pub column: &'a str,
    /// The value in A; null if there is no such row.
    pub a: Option<&'a str>,
    pub b: Option<&'a str>,
}

/// A measure of a flow, group or link, in A and in B.
#[derive(Serialize, JsonSchema)]
pub struct EffectDocument<'a> {
    /// The setting that both sides share; empty if there is one only.
    pub setting: &'a str,
    pub kind: &'a str,
    pub name: &'a str,
    /// Its JSON pointer in the summary.
    pub measure: &'a str,
    pub unit: &'a str,
    /// The number of pairs.
    pub n: usize,
    pub a_mean: Option<f64>,
    pub b_mean: Option<f64>,
    pub difference_mean: Option<f64>,
    /// The 95 % confidence interval of the mean difference.
    pub difference_interval_95: Option<[f64; 2]>,
    /// The difference over A.
    pub relative: Option<f64>,
    pub verdict: &'a str,
    /// Better or worse for users, where the measure has a direction.
    pub judgement: Option<&'a str>,
    pub beyond_threshold: Option<bool>,
}

/// The share of time in which a bound held a flow.
#[derive(Serialize, JsonSchema)]
pub struct ShareDocument<'a> {
    pub flow: &'a str,
    pub bound: &'a str,
    pub a: f64,
    pub b: f64,
}
