//! The plan of a sweep: a TOML file, or the same as a document from a program.

use super::columns::{OWN_COLUMNS, measure_columns};
use super::design::{Design, MAX_SOBOL_PARAMETERS, MAX_SOBOL_POINTS};
use super::parameter::{Parameter, PlanError, Setting};
use crate::scenario::files::read_text;
use crate::scenario::overrides::parse_seeds;
use crate::scenario::{Override, Scenario, ScenarioError, parse_with};
use crate::table::ColumnNote;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

/// The most runs of a sweep.
pub const MAX_RUNS: u64 = 100_000_000;

/// A plan as it is written: `scenario` or `text`, parameters, design, seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    /// The file of the scenario, beside the plan's own file.
    #[serde(default)]
    scenario: String,
    /// The text of the scenario in the place of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Values that are set in all runs: paths and values as TOML.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    set: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parameter: Vec<Parameter>,
    #[serde(default)]
    design: Design,
    /// Points of a design other than a grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<u64>,
    /// The seed of the design, which is none of the runs.
    #[serde(default)]
    design_seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seeds: Option<Seeds>,
    /// The most events of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_events: Option<u64>,
}

/// The seeds of each point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "seeds: expected how many, such as 20, a span such as \"1..20\", or a list of whole \
                 numbers from 0 on"
)]
enum Seeds {
    /// 1 up to this number.
    Count(u64),
    /// `"1..20"`.
    Span(String),
    /// These.
    List(Vec<u64>),
}

/// A checked plan. Its runs are numbered from zero: the points in the order of the design, the last
/// parameter of a grid fastest, and for each point its seeds.
#[derive(Clone, Debug)]
pub struct Plan {
    document: Document,
    text: String,
    seeds: Vec<u64>,
    points: u64,
    /// Of designs other than a grid.
    places: Vec<Vec<f64>>,
    columns: Vec<String>,
}

/// A run of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkItem {
    /// Its number.
    pub run: u64,
    /// Its seed; `None` leaves the scenario's own.
    pub seed: Option<u64>,
    /// A value for each parameter, in their order.
    pub settings: Vec<Setting>,
}

impl Plan {
    /// Reads a plan's file, and the scenario that it names.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn load(path: &Path) -> Result<Self, PlanError> {
        let at = |path: &Path, error: String| PlanError(format!("{}: {error}", path.display()));
        let text = read_text(path).map_err(|error| at(path, error))?;
        let mut document: Document =
            toml::from_str(&text).map_err(|error| at(path, error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        if document.text.is_none() {
            if document.scenario.is_empty() {
                return Err(at(path, "it names no scenario = \"FILE\"".to_owned()));
            }
            let file = folder.join(&document.scenario);
            document.text = Some(read_text(&file).map_err(|error| at(&file, error))?);
            document.scenario = file.display().to_string();
        }
        Self::of(document).map_err(|error| at(path, error.0))
    }

    /// Reads a plan from JSON with the scenario's text in it, as [`to_json`](Self::to_json) writes
    /// it.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn from_json(json: &str) -> Result<Self, PlanError> {
        let document = serde_json::from_str(json);
        Self::of(document.map_err(|error| PlanError(format!("the plan is wrong: {error}")))?)
    }

    /// The plan with the scenario's text: equal plans are equal texts.
    pub fn to_json(&self) -> String {
        // A document has only texts and finite numbers, which JSON can hold.
        serde_json::to_string_pretty(&self.document).unwrap_or_default()
    }

    fn of(document: Document) -> Result<Self, PlanError> {
        let mut paths = BTreeSet::new();
        for parameter in &document.parameter {
            parameter.check()?;
            if !paths.insert(&parameter.path) {
                let path = &parameter.path;
                return Err(PlanError(format!(
                    "parameter \"{path}\" is there twice; write all its values in one"
                )));
            }
        }
        let seeds = match &document.seeds {
            None => Vec::new(),
            Some(Seeds::Count(count)) if *count <= MAX_RUNS => (1..=*count).collect(),
            Some(Seeds::Count(count)) => {
                let message = format!("{count} seeds, expected at most {MAX_RUNS}");
                return Err(PlanError(message));
            }
            Some(Seeds::Span(span)) => parse_seeds(span).map_err(|error| {
                // Its place is that on a command line.
                let help = error.help.unwrap_or_default();
                PlanError(format!("seeds = \"{span}\": {}; {help}", error.message))
            })?,
            Some(Seeds::List(seeds)) => seeds.clone(),
        };
        if document.seeds.is_some() && seeds.is_empty() {
            return Err(PlanError("there is no seed; write seeds = 20".to_owned()));
        }
        if seeds.iter().collect::<BTreeSet<_>>().len() < seeds.len() {
            return Err(PlanError("a seed is there twice".to_owned()));
        }
        let points = points_of(&document)?;
        let runs = points.saturating_mul(seeds.len().max(1) as u64);
        if runs > MAX_RUNS {
            let message = format!("{runs} runs, expected at most {MAX_RUNS}");
            return Err(PlanError(message));
        }
        let Document {
            design,
            design_seed,
            ..
        } = document;
        let places = design.points(document.parameter.len(), points, design_seed);
        let text = document.text.clone();
        let text = text.ok_or_else(|| PlanError("there is no scenario".to_owned()))?;
        Ok(Self {
            text,
            seeds,
            points,
            places,
            columns: columns_of(&document.parameter),
            document,
        })
    }

    /// How many runs.
    pub fn runs(&self) -> u64 {
        self.points * self.seeds.len().max(1) as u64
    }

    /// The parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.document.parameter
    }

    /// The columns of the parameters: the shortest clear ends of their paths, with a unit at the
    /// end for ranges.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The most events of a run.
    pub const fn max_events(&self) -> Option<u64> {
        self.document.max_events
    }

    /// The run of this number; `None` beyond the last one.
    pub fn item(&self, run: u64) -> Option<WorkItem> {
        let seeds = self.seeds.len().max(1) as u64;
        let (point, seed) = (run / seeds, run % seeds);
        if point >= self.points {
            return None;
        }
        let settings: Option<Vec<Setting>> = match self.places.get(point as usize) {
            Some(places) => {
                let parameters = self.document.parameter.iter().zip(places);
                parameters.map(|(parameter, &u)| parameter.at(u)).collect()
            }
            None => self.of_grid(point),
        };
        Some(WorkItem {
            run,
            seed: self.seeds.get(seed as usize).copied(),
            settings: settings?,
        })
    }

    fn of_grid(&self, point: u64) -> Option<Vec<Setting>> {
        let mut left = point;
        let mut settings = Vec::new();
        for parameter in self.document.parameter.iter().rev() {
            let count = parameter.values.len() as u64;
            settings.push(parameter.value((left % count) as usize)?);
            left /= count;
        }
        settings.reverse();
        Some(settings)
    }

    /// The scenario of a run.
    ///
    /// # Errors
    /// What is wrong in it.
    pub fn scenario(&self, item: &WorkItem) -> Result<Scenario, ScenarioError> {
        let (text, name, overrides) = self.text_of(item);
        parse_with(text, name, &overrides)
    }

    /// What the scenario of a run is read from: text, name of the file, values set in it.
    pub fn text_of(&self, item: &WorkItem) -> (&str, &str, Vec<Override>) {
        let set = self.document.set.iter().map(|(path, value)| Override {
            path: path.clone(),
            value: value.clone(),
        });
        let settings = item.settings.iter().map(|setting| setting.set.clone());
        let seed = item.seed.map(|seed| Override {
            path: "run.seed".to_owned(),
            value: seed.to_string(),
        });
        let overrides = set.chain(settings).chain(seed).collect();
        (&self.text, &self.document.scenario, overrides)
    }
}

impl Plan {
    /// What the column of a parameter is.
    pub(super) fn note_of(&self, column: &str) -> Option<ColumnNote> {
        let mut parameters = self.columns().iter().zip(self.parameters());
        let (name, parameter) = parameters.find(|(name, _)| *name == column)?;
        Some(ColumnNote {
            name: name.clone(),
            unit: parameter.column_unit(),
            doc: format!("the value of {}", parameter.path),
        })
    }
}

/// How many points the design has.
fn points_of(document: &Document) -> Result<u64, PlanError> {
    let wrong = |what: &str| Err(PlanError(what.to_owned()));
    if document.design == Design::Grid {
        if document.points.is_some() {
            return wrong("a grid has all points; \"points\" belongs to the other designs");
        }
        if let Some(range) = document.parameter.iter().find(|p| p.is_range()) {
            let path = &range.path;
            return Err(PlanError(format!(
                "parameter \"{path}\": a grid needs values; a range belongs to the designs random, \
                 latin-hypercube and sobol"
            )));
        }
        let counts = document.parameter.iter().map(|p| p.values.len() as u64);
        return Ok(counts.fold(1, u64::saturating_mul));
    }
    let points = match document.points {
        None | Some(0) => return wrong("this design needs points = N, its number of points"),
        Some(points) if points > MAX_RUNS => return wrong("there are too many points"),
        Some(points) => points,
    };
    if document.design == Design::Sobol
        && (points > MAX_SOBOL_POINTS || document.parameter.len() > MAX_SOBOL_PARAMETERS)
    {
        return Err(PlanError(format!(
            "a Sobol design has at most {MAX_SOBOL_POINTS} points of {MAX_SOBOL_PARAMETERS} \
             parameters"
        )));
    }
    Ok(points)
}

/// The shortest ends of the paths that are clear and name no other column.
fn columns_of(parameters: &[Parameter]) -> Vec<String> {
    let measures = measure_columns();
    let name_of = |parameter: &Parameter, kept: usize| {
        let steps: Vec<&str> = parameter.path.split('.').collect();
        let end = steps.get(steps.len().saturating_sub(kept)..);
        end.unwrap_or_default().join(".") + parameter.column_ending()
    };
    let column = |(number, parameter): (usize, &Parameter)| {
        let steps = parameter.path.split('.').count();
        let is_clear = |kept: &usize| {
            let name = name_of(parameter, *kept);
            let same_end = |(other, others): (usize, &Parameter)| {
                other != number && name_of(others, *kept) == name
            };
            !OWN_COLUMNS.contains(&name.as_str())
                && !measures.contains(&name)
                && !parameters.iter().enumerate().any(same_end)
        };
        let kept = (1..=steps).find(is_clear).unwrap_or(steps);
        name_of(parameter, kept)
    };
    parameters.iter().enumerate().map(column).collect()
}
