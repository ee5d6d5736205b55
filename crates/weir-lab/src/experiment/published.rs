//! `published.toml`: the statements of a document, row by row, and how each row is measured.
//!
//! A row never feeds its value into a run. Inputs (conditions that the document gives and the
//! scenario sets) are shown and not judged.

use super::ExperimentError;
use super::measure::{Measure, View};
use crate::run::columns::{plot_label, plotted_columns};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::BTreeSet;

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The published document.
    pub document: Document,
    /// The runs that measure it.
    #[serde(rename = "run")]
    pub runs: Vec<RunPlan>,
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
#[derive(Clone, Debug, Deserialize, Serialize)]
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
    /// Seeds 1 to this number; absent: one run with the scenario's own seed, traced.
    #[serde(serialize_with = "number_of_seeds")]
    pub seeds: Option<u32>,
    /// Runs in real time, on real sockets between network namespaces.
    #[serde(default, skip_serializing)]
    pub testbed: bool,
}

/// The kind of statement of a row.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    /// A published measurement: judged.
    Value,
    /// A published result of a formula: judged.
    Theory,
    /// A published statement, judged by a measured property.
    Claim,
    /// Our own evidence for an explanation: judged.
    Check,
    /// A condition that the document gives and the scenario sets: not judged.
    Input,
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
    /// The published number, in `unit`.
    pub published: Option<f64>,
    /// In place of a published number: what another run measured.
    pub reference: Option<Measure>,
    /// The unit of `published` and of the measured value as shown.
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
    /// The published value must lie in the band of single runs.
    #[serde(default)]
    pub in_band: bool,
    /// How it is measured; only inputs have none.
    pub measure: Option<Measure>,
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

/// What a plot shows.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PlotKind {
    /// The allowed rate, coloured by what bound it.
    Rate,
    /// The round-trip time.
    Rtt,
    /// The time between two packets.
    Interval,
    /// Its inverse.
    PacketRate,
    /// The window with the theoretical sawtooth over it.
    Sawtooth,
    /// The results of many seeds.
    Distribution,
    /// The allowed rate of several runs.
    Overlay,
    /// One or more columns of one or more runs over time.
    Series,
    /// Measured rows over a number in which their runs differ.
    Sweep,
}

/// A curve of a sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// What it is.
    pub label: String,
    /// Its rows, one for each `x` of the plot.
    pub rows: Vec<String>,
}

/// A plot.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlotPlan {
    /// The file's name without ending.
    pub name: String,
    /// What it shows.
    pub kind: PlotKind,
    /// The heading.
    pub title: String,
    /// What the reader should see.
    pub caption: String,
    /// The runs, most often one; none for a sweep, which has rows.
    #[serde(default)]
    pub runs: Vec<String>,
    /// The columns of a series.
    #[serde(default)]
    pub of: Vec<String>,
    /// What to call the runs, in their order; their names if absent.
    #[serde(default)]
    pub labels: Vec<String>,
    /// What a sweep's runs differ in, one number a run.
    #[serde(default)]
    pub x: Vec<f64>,
    /// What `x` is.
    #[serde(default)]
    pub x_label: String,
    /// What a sweep shows.
    #[serde(default)]
    pub y_label: String,
    /// A sweep's curves.
    #[serde(default)]
    pub curves: Vec<Curve>,
    /// A logarithmic axis for a series.
    #[serde(default)]
    pub log: bool,
    /// The start of the time axis, seconds.
    pub from_s: Option<f64>,
    /// The end of the time axis, seconds.
    pub until_s: Option<f64>,
    /// Published points: pairs of rows, the time and the value.
    #[serde(default)]
    pub points: Vec<[String; 2]>,
    /// A row whose published value is a line; for a distribution the published result.
    pub level: Option<String>,
    /// The row whose law gives the theoretical sawtooth.
    pub theory: Option<String>,
}

impl Published {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// A syntax error, an unknown key, a row without a way to judge it, or a reference to an
    /// unknown name, each with its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, ExperimentError> {
        let published: Self = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.get(..start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before
                .rsplit('\n')
                .next()
                .unwrap_or_default()
                .chars()
                .count()
                + 1;
            ExperimentError::Published(format!("{file}:{line}:{column}: {}", error.message()))
        })?;
        published
            .check()
            .map_err(|message| ExperimentError::Published(format!("{file}: {message}")))?;
        Ok(published)
    }

    /// The row of this name.
    pub fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// True if some row is measured in the log of this run.
    pub(super) fn reads_log_of(&self, run: &str) -> bool {
        let measures = self.rows.iter().filter_map(|row| row.measure.as_ref());
        measures
            .filter(|measure| measure.run.as_deref() == Some(run))
            .any(|measure| measure.view == View::Log && !measure.is_summary())
    }

    fn check(&self) -> Result<(), String> {
        let runs: BTreeSet<&str> = self.runs.iter().map(|run| run.name.as_str()).collect();
        if runs.len() != self.runs.len() {
            return Err("two runs have the same name".to_owned());
        }
        let mut rows = BTreeSet::new();
        for row in &self.rows {
            if !rows.insert(row.id.as_str()) {
                return Err(format!("two rows are called \"{}\"", row.id));
            }
            row.check(&runs)
                .map_err(|message| format!("row \"{}\": {message}", row.id))?;
        }
        for (of, id) in self.references() {
            if !rows.contains(id) {
                return Err(format!("{of} names row \"{id}\", which does not exist"));
            }
        }
        for plot in &self.plots {
            if let Some(run) = plot.runs.iter().find(|run| !runs.contains(run.as_str())) {
                let name = &plot.name;
                return Err(format!(
                    "plot \"{name}\" names run \"{run}\", which does not exist"
                ));
            }
            let uneven = |curve: &Curve| curve.rows.len() != plot.x.len();
            if plot.curves.iter().any(uneven) {
                let name = &plot.name;
                return Err(format!("plot \"{name}\": a curve needs one row for each x"));
            }
            if plot.kind == PlotKind::Series {
                check_columns(&plot.of)
                    .map_err(|message| format!("plot \"{}\": {message}", plot.name))?;
            }
        }
        Ok(())
    }

    /// True if a run needs more than the simulator.
    pub fn needs_testbed(&self) -> bool {
        self.runs.iter().any(|run| run.testbed)
    }

    /// All places that name a row.
    fn references(&self) -> Vec<(String, &str)> {
        let mut all = Vec::new();
        for row in &self.rows {
            let between = row.measure.iter().flat_map(|measure| &measure.between);
            for id in row.explained_by.iter().chain(between) {
                all.push((format!("row \"{}\"", row.id), id.as_str()));
            }
        }
        for plot in &self.plots {
            let ids = plot
                .points
                .iter()
                .flatten()
                .chain(&plot.level)
                .chain(&plot.theory);
            let curves = plot.curves.iter().flat_map(|curve| &curve.rows);
            let ids = ids.chain(curves);
            all.extend(ids.map(|id| (format!("plot \"{}\"", plot.name), id.as_str())));
        }
        for finding in &self.findings {
            all.extend(
                finding
                    .rows
                    .iter()
                    .map(|id| ("a finding".to_owned(), id.as_str())),
            );
        }
        all
    }
}

impl Row {
    fn check(&self, runs: &BTreeSet<&str>) -> Result<(), String> {
        let expected = self.published.is_some() || self.reference.is_some();
        let tolerance = self.within.is_some() || self.within_percent.is_some() || self.in_band;
        let bound = self.at_least.is_some() || self.at_most.is_some();
        if unit_scale(&self.unit).is_none() {
            return Err(format!(
                "\"{}\" is not a unit that the report knows",
                self.unit
            ));
        }
        if self.kind == RowKind::Input {
            if tolerance || bound || self.measure.is_some() {
                return Err("an input is set, so it is neither measured nor judged".to_owned());
            }
            return Ok(());
        }
        let Some(measure) = &self.measure else {
            return Err("it needs a measure, or kind = \"input\"".to_owned());
        };
        if tolerance && !expected {
            return Err("it has a tolerance but no published value".to_owned());
        }
        if !tolerance && !bound {
            return Err("it needs within, within_percent, in_band, at_least or at_most".to_owned());
        }
        if self.explanation.is_empty() != self.explained_by.is_empty() {
            return Err("explanation and explained_by belong together".to_owned());
        }
        if let Some(reference) = &self.reference {
            if self.published.is_some() {
                return Err("it has a published value and a reference".to_owned());
            }
            reference.check(runs)?;
        }
        measure.check(runs)
    }
}

/// A plan without seeds is one run.
fn number_of_seeds<T, S>(seeds: &T, out: S) -> Result<S::Ok, S::Error>
where
    T: Copy + Into<Option<u32>>,
    S: Serializer,
{
    let seeds: Option<u32> = (*seeds).into();
    out.serialize_u32(seeds.unwrap_or(1))
}

/// Checks that plots know these columns and that the columns can share an axis.
fn check_columns(names: &[String]) -> Result<(), String> {
    let mut units = Vec::new();
    for name in names {
        let unknown = || {
            let known: Vec<_> = plotted_columns().map(|(name, _)| name).collect();
            format!("of: \"{name}\" is none of {}", known.join(", "))
        };
        units.push(plot_label(name).ok_or_else(unknown)?.unit);
    }
    match units.first() {
        None => Err("a series needs of = [\"COLUMN\", …]".to_owned()),
        Some(first) if units.iter().any(|unit| unit != first) => {
            Err("of: the columns have different units".to_owned())
        }
        Some(_) => Ok(()),
    }
}

/// The factor from a unit to the base unit that traces use (bit/s, seconds, bytes, ratios).
pub(super) fn unit_scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "Mbit/s" => 1e6,
        "kbit/s" => 1e3,
        "B/s" => 8.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        "%" => 0.01,
        "" | "bit/s" | "s" | "bytes" | "packets" | "packets/s" | "RTT" | "times" => 1.0,
        _ => return None,
    })
}
