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
    /// Moments of a run that measures name, found in each run anew.
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
    /// Seeds 1 to this number, for a scenario in which something is random; absent: one run with
    /// the scenario's own seed.
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
    const fn may_publish(self) -> bool {
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
    pub fitted_on_seeds: Option<[u32; 2]>,
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

    /// The measures of this run, and those of the runs that stand for expected numbers.
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

    fn check(&self) -> Result<(), String> {
        let runs: BTreeSet<&str> = self.runs.iter().map(|run| run.name.as_str()).collect();
        if runs.len() != self.runs.len() {
            return Err("two runs have the same name".to_owned());
        }
        self.check_moments()?;
        let mut rows = BTreeSet::new();
        for row in &self.rows {
            if !rows.insert(row.id.as_str()) {
                return Err(format!("two rows are called \"{}\"", row.id));
            }
            row.check(&runs)
                .and_then(|()| self.check_row(row))
                .map_err(|message| format!("row \"{}\": {message}", row.id))?;
        }
        for (of, id) in self.references() {
            if !rows.contains(id) {
                return Err(format!("{of} names row \"{id}\", which does not exist"));
            }
        }
        for plot in &self.plots {
            plot.check(&runs)
                .map_err(|message| format!("plot \"{}\": {message}", plot.name))?;
        }
        Ok(())
    }

    /// A moment is named once and builds only on moments before it.
    fn check_moments(&self) -> Result<(), String> {
        let mut known = BTreeSet::new();
        for moment in &self.moments {
            let name = &moment.name;
            if let Some(after) = moment
                .after
                .as_ref()
                .filter(|after| !known.contains(*after))
            {
                return Err(format!(
                    "moment \"{name}\" comes after \"{after}\", which must stand before it"
                ));
            }
            if moment.rises_to.is_some() == moment.falls_below.is_some() {
                return Err(format!("moment \"{name}\" needs rises_to or falls_below"));
            }
            if !known.insert(name) {
                return Err(format!("two moments are called \"{name}\""));
            }
        }
        Ok(())
    }

    /// What a row needs of the rest of the file: the moments that it names, and seeds enough.
    fn check_row(&self, row: &Row) -> Result<(), String> {
        for measure in row.measure.iter().chain(&row.reference) {
            let named = [&measure.at, &measure.from, &measure.until];
            for name in named.into_iter().flatten() {
                if self.moments.iter().all(|moment| moment.name != *name) {
                    return Err(format!("there is no moment \"{name}\""));
                }
            }
        }
        let most = self.runs.iter().filter_map(|run| run.seeds).max();
        match (row.fitted_on_seeds, most) {
            (Some([first, last]), Some(most)) if first <= most || last < first => Err(format!(
                "fitted_on_seeds must lie beyond the {most} seeds that judge"
            )),
            _ => Ok(()),
        }
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
            for id in row.explained_by.iter().chain(&row.fitted_to).chain(between) {
                all.push((format!("row \"{}\"", row.id), id.as_str()));
            }
        }
        for plot in &self.plots {
            let ids = plot.rows();
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
        if unit_scale(&self.unit).is_none() {
            let unit = &self.unit;
            return Err(format!("\"{unit}\" is not a unit that the report knows"));
        }
        self.check_numbers()?;
        let tolerance = self.within.is_some() || self.within_percent.is_some() || self.in_band;
        let bound = self.at_least.is_some() || self.at_most.is_some();
        if !self.kind.is_measured() {
            if tolerance || bound || self.measure.is_some() {
                return Err(
                    "an input or parameter is set, so it is neither measured nor judged".to_owned(),
                );
            }
            return Ok(());
        }
        let Some(measure) = &self.measure else {
            return Err("it needs a measure, or kind = \"input\"".to_owned());
        };
        if tolerance && self.target().is_none() && self.reference.is_none() {
            return Err("it has a tolerance but no number that it belongs to".to_owned());
        }
        if self.kind.is_judged() != (tolerance || bound) {
            return Err(if self.kind.is_judged() {
                "it needs within, within_percent, in_band, at_least or at_most".to_owned()
            } else {
                "a quantity is not judged, so it has no tolerance".to_owned()
            });
        }
        if self.explanation.is_empty() != self.explained_by.is_empty() {
            return Err("explanation and explained_by belong together".to_owned());
        }
        if let Some(reference) = &self.reference {
            reference.check(runs)?;
        }
        measure.check(runs)
    }

    /// The number that the measured one is compared with.
    pub(super) fn target(&self) -> Option<f64> {
        self.published.or(self.expected)
    }

    /// The column of published numbers holds numbers of the document and nothing else.
    fn check_numbers(&self) -> Result<(), String> {
        let numbers = [
            self.published.is_some(),
            self.expected.is_some(),
            self.reference.is_some(),
        ];
        if numbers.iter().filter(|present| **present).count() > 1 {
            return Err("published, expected and reference exclude each other".to_owned());
        }
        if self.published.is_some() && !self.kind.may_publish() {
            return Err(
                "published is a number of the document, for kinds value, theory and input; \
                 write expected"
                    .to_owned(),
            );
        }
        if matches!(self.kind, RowKind::Value | RowKind::Theory) && self.published.is_none() {
            return Err(
                "a value needs published; a statement without number is a claim".to_owned(),
            );
        }
        if self.kind != RowKind::Parameter {
            if self.fitted_to.is_empty() && self.fitted_on_seeds.is_none() {
                return Ok(());
            }
            return Err("only a parameter is fitted".to_owned());
        }
        Ok(())
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
