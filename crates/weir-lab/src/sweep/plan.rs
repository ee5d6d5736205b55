//! The plan of a sweep: a TOML file, or a JSON document from a program.

use super::columns::{OWN_COLUMNS, measure_columns};
use super::design::{Design, MAX_SOBOL_PARAMETERS, MAX_SOBOL_POINTS};
use super::parameter::{Parameter, PlanError, Setting};
use crate::scenario::files::{read_input, read_text};
use crate::scenario::overrides::parse_seeds;
use crate::scenario::{Override, Scenario, ScenarioError, parse_with};
use crate::table::ColumnNote;
use crate::toml_file::{Invalid, Pair, TomlFile};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use weir_proto::settings::shortened;

/// The maximum number of runs of a sweep.
pub const MAX_RUNS: u64 = 100_000_000;

/// The maximum number of values of a design's points, which are kept in memory: with one parameter
/// each takes 40 octets including overhead.
const MAX_VALUES: u64 = 10_000_000;

/// The text of a plan: `scenario` or `text`, parameters, design, seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    /// The file of the scenario, relative to the plan's file.
    #[serde(default)]
    scenario: String,
    /// The text of the scenario in place of its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// Overrides for all runs: paths and values as TOML.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "pairs"
    )]
    set: Vec<[String; 2]>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parameter: Vec<Parameter>,
    #[serde(default)]
    design: Design,
    /// Points of a design other than a grid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<u64>,
    /// The seed of the design; runs have separate seeds.
    #[serde(default)]
    design_seed: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seeds: Option<Seeds>,
    /// The maximum number of events of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_events: Option<u64>,
}

fn pairs<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<[String; 2]>, D::Error> {
    let pairs = Vec::<Pair<String>>::deserialize(input)?;
    Ok(pairs.into_iter().map(|pair| pair.0).collect())
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
    /// A list of seeds.
    List(Vec<u64>),
}

/// A checked plan. Its runs are numbered from zero: the points in the order of the design, with the
/// last parameter of a grid varying fastest, and for each point its seeds.
#[derive(Clone, Debug)]
pub struct Plan {
    document: Document,
    /// The plan's own file, if it was read from one.
    file: Option<TomlFile>,
    text: String,
    seeds: Vec<u64>,
    points: u64,
    /// The points of designs other than a grid.
    places: Vec<Vec<f64>>,
    columns: Vec<String>,
}

/// A run of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkItem {
    /// Its number.
    pub run: u64,
    /// Its seed; `None` for the seed in the scenario.
    pub seed: Option<u64>,
    /// A value for each parameter, in their order.
    pub settings: Vec<Setting>,
}

impl Plan {
    /// Reads a plan's file, and the scenario that it names.
    ///
    /// # Errors
    /// [`PlanError`], with the place in the file.
    pub fn load(path: &Path) -> Result<Self, PlanError> {
        let name = path.display().to_string();
        let text = read_input(path).map_err(|error| PlanError(format!("{name}: {error}")))?;
        let (mut document, file) = TomlFile::read::<Document>(&name, &text)?;
        let wrong = |wrong: Invalid| PlanError::from(file.error(wrong));
        match (&document.text, document.scenario.as_str()) {
            (None, "") => {
                let message = "the plan names no scenario; write scenario = \"FILE\"";
                return Err(wrong(Invalid::key("scenario", message)));
            }
            (None, scenario) => {
                let scenario = path.parent().unwrap_or(Path::new("")).join(scenario);
                let text = read_text(&scenario).map_err(|error| {
                    let message = format!("scenario: cannot read {}: {error}", scenario.display());
                    wrong(Invalid::key("scenario", message))
                })?;
                document.text = Some(text);
                document.scenario = scenario.display().to_string();
            }
            (Some(_), "") => document.scenario = format!("text of {name}"),
            (Some(_), _) => {
                let message = "\"text\" and \"scenario\" are both there; write one of them";
                return Err(wrong(Invalid::key("text", message)));
            }
        }
        let mut plan = Self::of(document).map_err(wrong)?;
        plan.file = Some(file);
        Ok(plan)
    }

    /// Reads a plan with the scenario's text from JSON, as [`to_json`](Self::to_json) writes it.
    ///
    /// # Errors
    /// [`PlanError`].
    pub fn from_json(json: &str) -> Result<Self, PlanError> {
        let document = serde_json::from_str(json);
        let document =
            document.map_err(|error| PlanError(format!("the plan is wrong: {error}")))?;
        Self::of(document).map_err(|wrong| PlanError(wrong.message))
    }

    /// The plan with the scenario's text: equal plans give equal text.
    pub fn to_json(&self) -> String {
        // A document has only text and finite numbers, which JSON can represent.
        serde_json::to_string_pretty(&self.document).unwrap_or_default()
    }

    fn of(document: Document) -> Result<Self, Invalid> {
        let mut paths = BTreeSet::new();
        for (number, parameter) in document.parameter.iter().enumerate() {
            let path = &parameter.path;
            let checked = if paths.insert(path) {
                parameter.check()
            } else {
                Err(Invalid::key(
                    "path",
                    format!("parameter \"{path}\" is there twice; write all its values in one"),
                ))
            };
            checked.map_err(|wrong| wrong.element("parameter", number))?;
        }
        let seeds = seeds_of(&document).map_err(|message| Invalid::key("seeds", message))?;
        let points = points_of(&document)?;
        let runs = points.saturating_mul(seeds.len().max(1) as u64);
        if runs > MAX_RUNS {
            let message = format!("the plan makes {runs} runs, expected at most {MAX_RUNS}");
            return Err(Invalid::here(message));
        }
        let Document {
            design,
            design_seed,
            ..
        } = document;
        let places = design.points(document.parameter.len(), points, design_seed);
        let text = document.text.clone();
        let text = text.ok_or_else(|| Invalid::here("the plan has no scenario"))?;
        Ok(Self {
            file: None,
            text,
            seeds,
            points,
            places,
            columns: columns_of(&document.parameter),
            document,
        })
    }

    /// The number of runs.
    pub fn runs(&self) -> u64 {
        self.points * self.seeds.len().max(1) as u64
    }

    /// The parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.document.parameter
    }

    /// The columns of the parameters: the shortest unambiguous suffixes of their paths, followed by
    /// a unit for ranges.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The maximum number of events of a run.
    pub const fn max_events(&self) -> Option<u64> {
        self.document.max_events
    }

    /// The run with this number; `None` beyond the last one.
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
    /// If the scenario is invalid.
    pub fn scenario(&self, item: &WorkItem) -> Result<Scenario, ScenarioError> {
        let (text, name, overrides) = self.text_of(item);
        parse_with(text, name, &overrides).map_err(|error| {
            let mut values = overrides.iter().map(Override::text);
            match values.position(|value| error.file != name && *value == *error.source) {
                Some(number) => self.at_value(number, &overrides[number], error),
                None => error,
            }
        })
    }

    /// An error in a value that the plan sets, with its place in the plan.
    fn at_value(&self, number: usize, value: &Override, error: ScenarioError) -> ScenarioError {
        let argument = value.text();
        let Override { path, value } = value;
        let set = self.document.set.len();
        let parameters = self.document.parameter.len();
        let (wrong, noun) = match number.checked_sub(set) {
            None => (Invalid::here("").element("set", number), "set"),
            Some(number) if number < parameters => {
                let of_range = self.document.parameter[number].is_range();
                let key = if of_range { "from" } else { "values" };
                let on_path = error.span.start < path.len();
                let key = if on_path { "path" } else { key };
                (
                    Invalid::key(key, "").element("parameter", number),
                    "parameter",
                )
            }
            Some(_) => (Invalid::key("seeds", ""), "seeds"),
        };
        let message = format!("{noun} {path} = {}: {}", shortened(value), error.message);
        match &self.file {
            Some(file) => ScenarioError {
                help: error.help,
                ..file.error(Invalid { message, ..wrong })
            },
            None => ScenarioError {
                // Line and column refer to the argument.
                file: format!("{noun} {}", shortened(&argument)),
                ..error
            },
        }
    }

    /// The inputs of a run's scenario: its text, the name of its file, and its overrides.
    pub fn text_of(&self, item: &WorkItem) -> (&str, &str, Vec<Override>) {
        let set = self.document.set.iter().map(|[path, value]| Override {
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
    /// The description of a parameter's column.
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

/// The seeds of each point; empty for the seed in the scenario.
fn seeds_of(document: &Document) -> Result<Vec<u64>, String> {
    let seeds = match &document.seeds {
        None => return Ok(Vec::new()),
        Some(Seeds::Count(count)) if *count <= MAX_RUNS => (1..=*count).collect(),
        Some(Seeds::Count(count)) => {
            return Err(format!("{count} seeds, expected at most {MAX_RUNS}"));
        }
        Some(Seeds::Span(span)) => parse_seeds(span).map_err(|error| {
            // The place of the error is that on a command line.
            let help = error.help.unwrap_or_default();
            format!("seeds = \"{}\": {}; {help}", shortened(span), error.message)
        })?,
        Some(Seeds::List(seeds)) => {
            let mut known = BTreeSet::new();
            if let Some(twice) = seeds.iter().find(|seed| !known.insert(**seed)) {
                return Err(format!("seed {twice} is there twice, expected each once"));
            }
            seeds.clone()
        }
    };
    if seeds.is_empty() {
        return Err("there is no seed; write how many, such as seeds = 20".to_owned());
    }
    Ok(seeds)
}

/// The number of points of the design.
fn points_of(document: &Document) -> Result<u64, Invalid> {
    let Document {
        design, parameter, ..
    } = document;
    if *design == Design::Grid {
        if let Some(points) = document.points {
            let message = format!(
                "points = {points}: a grid has all combinations of its values; leave points out, \
                 or write design = \"random\", \"latin-hypercube\" or \"sobol\""
            );
            return Err(Invalid::key("points", message));
        }
        if let Some(number) = parameter.iter().position(Parameter::is_range) {
            let path = &parameter[number].path;
            let message = format!(
                "parameter \"{path}\": a grid needs values = […], found a range; a range belongs \
                 to the designs random, latin-hypercube and sobol"
            );
            return Err(Invalid::key("from", message).element("parameter", number));
        }
        let counts = parameter.iter().map(|p| p.values.len() as u64);
        return Ok(counts.fold(1, u64::saturating_mul));
    }
    let word = design.word();
    let (points, parameters) = (document.points.unwrap_or_default(), parameter.len());
    if points == 0 {
        let message = format!(
            "the design \"{word}\" needs its number of points, found {}; write points = N",
            document.points.map_or("none", |_| "0")
        );
        let key = document.points.map_or("design", |_| "points");
        return Err(Invalid::key(key, message));
    }
    let most = if *design == Design::Sobol {
        MAX_SOBOL_POINTS
    } else {
        MAX_RUNS
    };
    if points > most {
        let message = format!("the design \"{word}\" has {points} points, expected at most {most}");
        return Err(Invalid::key("points", message));
    }
    let values = points.saturating_mul(parameters as u64);
    if values > MAX_VALUES {
        let message = format!(
            "points = {points}: the design \"{word}\" keeps a value for each of {parameters} \
             parameters, {values} in all, expected at most {MAX_VALUES}, which are 400 MB; a grid \
             keeps none"
        );
        return Err(Invalid::key("points", message));
    }
    if *design == Design::Sobol && parameters > MAX_SOBOL_PARAMETERS {
        let message = format!(
            "the design \"{word}\" has {parameters} parameters, expected at most \
             {MAX_SOBOL_PARAMETERS}"
        );
        return Err(Invalid::key("design", message));
    }
    Ok(points)
}

/// The shortest suffixes of the paths that are unambiguous and differ from other columns.
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
