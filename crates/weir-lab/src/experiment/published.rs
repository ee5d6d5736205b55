//! `published.toml`: the statements of a document, row by row, and how each row is measured.
//!
//! Three kinds of judged rows are counted apart. A `value` or a formula (`theory`) is a number that
//! the document states: it *agrees*. A `claim` is a statement of the document with the bound that
//! it implies: it *holds*. A `check` is our own regression guard: it is *checked*, and never part
//! of the headline. `published` holds only numbers of the document; what we expect ourselves is
//! `expected`.
//!
//! A row never feeds its value into a run. Inputs (conditions that the document gives and the
//! scenario sets) and parameters (values that we fitted or chose) are shown and not judged.

use super::ExperimentError;
use super::measure::{Measure, Moment, View};
use super::plot_plan::PlotPlan;
use super::variant_plan::{Scan, Variant};
use crate::toml_file::{TomlFile, pair};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The published document.
    pub document: Document,
    /// The runs that measure the document's numbers.
    #[serde(rename = "run")]
    pub runs: Vec<RunPlan>,
    /// Values that the document leaves open.
    #[serde(rename = "variant", default)]
    pub variants: Vec<Variant>,
    /// Searches for such values.
    #[serde(rename = "scan", default)]
    pub scans: Vec<Scan>,
    /// Moments to which measures refer by name; they are searched for in each run.
    #[serde(rename = "moment", default)]
    pub moments: Vec<Moment>,
    /// The published numbers and statements, in the order of the page.
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
    /// The plots, in the order of the page.
    #[serde(rename = "plot", default)]
    pub plots: Vec<PlotPlan>,
    /// Findings for readers of the document.
    #[serde(rename = "finding", default)]
    pub findings: Vec<Finding>,
}

/// The document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The experiment's heading.
    pub title: String,
    /// Where the document is.
    pub source: String,
    /// A summary in a few sentences.
    pub about: String,
}

/// A scenario that is run, once or with many seeds.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunPlan {
    /// The name that measures use.
    pub name: String,
    /// The scenario's file beside `published.toml`.
    pub scenario: String,
    /// Values that differ from the scenario's, as on the command line:
    /// `flow.stream.transport.tfrc.oscillation=full`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// How it differs from the other runs.
    pub about: String,
    /// Seeds 1 to this number, for a scenario in which something is random; absent: one run with
    /// the scenario's own seed.
    #[serde(serialize_with = "number_of_seeds")]
    #[schemars(with = "u32")]
    pub seeds: Option<u32>,
    /// Made in each variant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub variants: bool,
    /// Runs in real time between network namespaces: true on sockets with the laboratory's
    /// endpoints, "kernel-tcp" with the kernel's own TCP.
    #[serde(default, skip_serializing, deserialize_with = "testbed")]
    #[schemars(skip)]
    pub testbed: Option<Testbed>,
}

/// The endpoints of a run in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Testbed {
    /// Those of the laboratory, on real sockets.
    Sockets,
    /// The kernel's own TCP.
    KernelTcp,
}

/// The kind of statement of a row.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// A number of the document that runs measure: agrees or differs.
    Value,
    /// A number of the document that a formula gives: agrees or differs.
    Theory,
    /// A statement of the document, with the bound that it implies: holds or differs.
    Claim,
    /// Our own guard or evidence: checked or differs.
    Check,
    /// A measured number that other rows and plots are made of: shown, not judged.
    Quantity,
    /// A condition that the document gives and the scenario sets: not judged.
    Input,
    /// A condition that the document does not give: fitted to some of its numbers or chosen.
    Parameter,
}

impl RowKind {
    /// True if a row of this kind is measured and has a verdict.
    pub const fn is_judged(self) -> bool {
        self.is_measured() && !matches!(self, Self::Quantity)
    }

    /// True if a row of this kind is measured; the others are set.
    pub const fn is_measured(self) -> bool {
        !matches!(self, Self::Input | Self::Parameter)
    }

    /// True if the row's number may stand in the column of published numbers.
    pub(super) const fn may_publish(self) -> bool {
        matches!(self, Self::Value | Self::Theory | Self::Input)
    }
}

/// One published number or statement.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// A short name, unique in the file.
    pub id: String,
    /// Section and sentence.
    pub place: String,
    /// The statement.
    pub text: String,
    /// The kind of statement.
    pub kind: RowKind,
    /// The number that the document states, in `unit`.
    pub published: Option<f64>,
    /// The number that we expect, or a parameter's value, in `unit`.
    pub expected: Option<f64>,
    /// In place of an expected number: what another run measured.
    pub reference: Option<Measure>,
    /// The unit of these numbers and of the measured value as shown.
    #[serde(default)]
    pub unit: String,
    /// Tolerance in percent of the published value.
    pub within_percent: Option<f64>,
    /// Tolerance in `unit`.
    pub within: Option<f64>,
    /// The measured value must not be smaller, in `unit`.
    pub at_least: Option<f64>,
    /// The measured value must not be larger, in `unit`.
    pub at_most: Option<f64>,
    /// The published value must lie among the middle 95 % of single runs; for a document that
    /// reports one run of something random.
    #[serde(default)]
    pub in_band: bool,
    /// Of a parameter: the rows whose numbers it was fitted to; empty for a free choice.
    #[serde(default)]
    pub fitted_to: Vec<String>,
    /// Of a fitted parameter: the first and last seed of the runs that it was fitted on.
    #[serde(default, deserialize_with = "optional_pair")]
    pub fitted_on_seeds: Option<[u32; 2]>,
    /// A variant counts only if this row lies within its tolerance in it.
    #[serde(default)]
    pub required: bool,
    /// How it is measured; only inputs have none.
    pub measure: Option<Measure>,
    /// Of a check, in place of the measure and its bounds: what must hold of the summary of the
    /// run, as scenarios write it.
    pub expect: Option<String>,
    /// The run of `expect`.
    pub run: Option<String>,
    /// A sentence for the table.
    #[serde(default)]
    pub note: String,
    /// Why the measured value differs, with the evidence.
    #[serde(default)]
    pub explanation: String,
    /// Rows that must agree for the explanation to hold.
    #[serde(default)]
    pub explained_by: Vec<String>,
}

/// A sentence or two about the document, with the rows that show it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The finding.
    pub text: String,
    /// The rows that show it.
    #[serde(default)]
    pub rows: Vec<String>,
}

impl Published {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// A syntax error, an unknown key, a row without a way to judge it, or a reference to an
    /// unknown name, each with its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, ExperimentError> {
        let (mut published, places): (Self, _) = TomlFile::read(file, text)?;
        published.resolve().map_err(|wrong| places.error(wrong))?;
        published.check().map_err(|wrong| places.error(wrong))?;
        Ok(published)
    }

    /// The row of this name.
    pub fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// The measures of this run, including those of reference rows.
    fn measures_of<'a>(&'a self, run: &'a str) -> impl Iterator<Item = &'a Measure> {
        let rows = self.rows.iter();
        let measures = rows.flat_map(|row| row.measure.iter().chain(&row.reference));
        measures.filter(move |measure| measure.run.as_deref() == Some(run))
    }

    /// True if a row with a verdict measures this run.
    pub(super) fn judges(&self, run: &str) -> bool {
        let rows = self.rows.iter().filter(|row| row.kind.is_judged());
        let measures = rows.flat_map(|row| row.measure.iter().chain(&row.reference));
        let mut named = measures.filter_map(|measure| measure.run.as_deref());
        named.any(|name| name == run)
    }

    /// True if some row is measured in the log of this run.
    pub(super) fn reads_log_of(&self, run: &str) -> bool {
        self.measures_of(run)
            .any(|measure| measure.view == View::Log && !measure.is_summary())
    }

    /// True if some row is measured in the trace of this run.
    pub(super) fn reads_trace_of(&self, run: &str) -> bool {
        self.measures_of(run).any(|measure| !measure.is_summary())
    }

    /// True if some plot shows the trace of this run.
    pub(super) fn draws_trace_of(&self, run: &str) -> bool {
        let traced = self.plots.iter().filter(|plot| plot.shows_traces());
        traced.flat_map(|plot| &plot.runs).any(|name| name == run)
    }

    /// True if a run needs more than the simulator.
    pub fn needs_testbed(&self) -> bool {
        self.runs.iter().any(|run| run.testbed.is_some())
    }
}

impl Row {
    /// The number with which the measured one is compared.
    pub(super) fn target(&self) -> Option<f64> {
        self.published.or(self.expected)
    }
}

fn optional_pair<'de, D: Deserializer<'de>>(input: D) -> Result<Option<[u32; 2]>, D::Error> {
    pair(input).map(Some)
}

/// True, false, or the name of the endpoints.
fn testbed<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Testbed>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected true, false or \"kernel-tcp\"")]
    enum Given {
        Switch(bool),
        Named(Name),
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Name {
        KernelTcp,
    }
    Ok(match Given::deserialize(input)? {
        Given::Switch(on) => on.then_some(Testbed::Sockets),
        Given::Named(Name::KernelTcp) => Some(Testbed::KernelTcp),
    })
}

/// A plan without seeds has one run.
fn number_of_seeds<T, S>(seeds: &T, out: S) -> Result<S::Ok, S::Error>
where
    T: Copy + Into<Option<u32>>,
    S: Serializer,
{
    let seeds: Option<u32> = (*seeds).into();
    out.serialize_u32(seeds.unwrap_or(1))
}

/// The units of rows, each with its factor to the base unit that traces use (bit/s, seconds, bytes,
/// ratios).
pub(super) const UNITS: [(&str, f64); 14] = [
    ("", 1.0),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("B/s", 8.0),
    ("s", 1.0),
    ("ms", 1e-3),
    ("µs", 1e-6),
    ("%", 0.01),
    ("bytes", 1.0),
    ("packets", 1.0),
    ("packets/s", 1.0),
    ("RTT", 1.0),
    ("times", 1.0),
];

/// The factor of a unit of [`UNITS`].
pub(super) fn unit_scale(unit: &str) -> Option<f64> {
    let found = UNITS.iter().find(|(known, _)| *known == unit);
    found.map(|(_, scale)| *scale)
}
