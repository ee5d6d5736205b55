//! The plots that `published.toml` asks for.

use crate::run::columns::{plot_label, plotted_columns};
use crate::scenario::error::suggestion;
use crate::toml_file::{Invalid, Pair};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;

/// The kind of a plot.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum PlotKind {
    /// The allowed rate, coloured by the rule that limited it.
    Rate,
    /// The round-trip time.
    Rtt,
    /// The time between two packets.
    Interval,
    /// The inverse of the time between two packets.
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
    /// A point for each variant: two rows, named by `points`.
    Variants,
}

/// A curve of a sweep.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// The label of the curve.
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
    /// The kind of the plot.
    pub kind: PlotKind,
    /// The heading.
    pub title: String,
    /// What the reader of the page should notice.
    pub caption: String,
    /// The runs, most often one; none for a sweep, which has rows.
    #[serde(default)]
    pub runs: Vec<String>,
    /// The columns of a series.
    #[serde(default)]
    pub of: Vec<String>,
    /// Labels of the runs, in their order; their names if absent.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The parameter in which a sweep's runs differ, one number for each run.
    #[serde(default)]
    pub x: Vec<f64>,
    /// The quantity of `x`; for a distribution the row's quantity with its unit.
    #[serde(default)]
    pub x_label: String,
    /// The quantity that a sweep shows.
    #[serde(default)]
    pub y_label: String,
    /// A sweep's curves.
    #[serde(default)]
    pub curves: Vec<Curve>,
    /// Whether the axis of a series is logarithmic.
    #[serde(default)]
    pub log: bool,
    /// The start of the time axis, seconds.
    pub from_s: Option<f64>,
    /// The end of the time axis, seconds.
    pub until_s: Option<f64>,
    /// The end of the vertical axis of a series, in base units, so that plots can be compared; that
    /// of the data if absent.
    pub y_until: Option<f64>,
    /// Published points: pairs of rows, the time and the value. Of variants one pair: the rows of
    /// the horizontal and the vertical axis.
    #[serde(default, deserialize_with = "pairs")]
    pub points: Vec<[String; 2]>,
    /// A row whose published value is a line; for a distribution the row that it shows.
    pub level: Option<String>,
    /// The row whose law gives the theoretical sawtooth.
    pub theory: Option<String>,
}

fn pairs<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<[String; 2]>, D::Error> {
    let pairs = Vec::<Pair<String>>::deserialize(input)?;
    Ok(pairs.into_iter().map(|pair| pair.0).collect())
}

impl PlotPlan {
    /// True if the plot shows traces, not results of runs.
    pub(super) fn shows_traces(&self) -> bool {
        !matches!(
            self.kind,
            PlotKind::Distribution | PlotKind::Sweep | PlotKind::Variants
        )
    }

    /// True if the plot has a point for each variant.
    pub(super) fn shows_variants(&self) -> bool {
        self.kind == PlotKind::Variants
    }

    /// The rows that the plot names, each with the key that names it.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let points = self.points.iter().flatten().map(|id| ("points", id));
        let curves = self.curves.iter().flat_map(|curve| &curve.rows);
        let curves = curves.map(|id| ("curves", id));
        let level = self.level.iter().map(|id| ("level", id));
        let theory = self.theory.iter().map(|id| ("theory", id));
        points.chain(level).chain(theory).chain(curves)
    }

    pub(super) fn check(&self, runs: &BTreeSet<&str>) -> Result<(), Invalid> {
        if let Some(run) = self.runs.iter().find(|run| !runs.contains(run.as_str())) {
            let known: Vec<&str> = runs.iter().copied().collect();
            let known = suggestion(run, "runs", &known);
            let message = format!("it names run \"{run}\", which does not exist; {known}");
            return Err(Invalid::key("runs", message));
        }
        let uneven = |curve: &&Curve| curve.rows.len() != self.x.len();
        if let Some(curve) = self.curves.iter().find(uneven) {
            let message = format!(
                "a curve needs one row for each x, found {} rows and {} x",
                curve.rows.len(),
                self.x.len()
            );
            return Err(Invalid::key("curves", message));
        }
        if let (Some(from), Some(until)) = (self.from_s, self.until_s)
            && from >= until
        {
            let message = format!("from_s = {from} and until_s = {until}, expected a later end");
            return Err(Invalid::key("until_s", message));
        }
        match self.kind {
            PlotKind::Series => check_columns(&self.of).map_err(|words| Invalid::key("of", words)),
            PlotKind::Distribution if self.level.is_none() || self.x_label.is_empty() => {
                let message = "a distribution needs level, its row, and x_label";
                Err(Invalid::key("kind", message))
            }
            PlotKind::Variants if self.points.len() != 1 => {
                let message = "it needs points = [[\"ROW\", \"ROW\"]], the rows of its axes";
                Err(Invalid::key("kind", message))
            }
            _ => Ok(()),
        }
    }
}

/// Checks that the columns can be plotted and can share an axis.
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
