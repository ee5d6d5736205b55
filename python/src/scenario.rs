//! Scenarios: reading, changing, running.

use crate::controller::{begin_run, take_fault};
use crate::errors::{exception, of_run, of_scenario};
use crate::run::Run;
use crate::supervise::{Shared, supervised};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use weir_lab::comparison::settings_of;
use weir_lab::lint::lint;
use weir_lab::run::{RunError, RunOptions, RunOutput, TraceLevel, run as simulate};
use weir_lab::scenario::files::read_input;
use weir_lab::scenario::{Override, parse_with};
use weir_lab::sweep::{Plan, WorkItem};
use weir_proto::time::Instant;

/// The number of steps in which the progress of a run is reported.
const STEPS: u64 = 1000;

/// A parsed and checked scenario, with its original text and its overrides.
#[pyclass(frozen, module = "weirlab._weirlab")]
pub struct Scenario {
    text: String,
    name: String,
    overrides: Vec<Override>,
    checked: Arc<weir_lab::scenario::Scenario>,
}

#[pymethods]
impl Scenario {
    /// Parses a text with overrides; `name` is used in place of a file name in errors.
    #[new]
    fn new(
        py: Python<'_>,
        text: String,
        name: String,
        overrides: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let set = |(path, value)| Override { path, value };
        let overrides: Vec<Override> = overrides.into_iter().map(set).collect();
        let checked = py.detach(|| parse_with(&text, &name, &overrides));
        let checked = checked.map_err(|error| of_scenario(py, &error))?;
        Ok(Self {
            text,
            name,
            overrides,
            checked: Arc::new(checked),
        })
    }

    /// The text of a file, at most 32 MiB.
    #[staticmethod]
    fn read(py: Python<'_>, path: std::path::PathBuf) -> PyResult<String> {
        read_input(Path::new(&path)).map_err(|error| {
            let message = format!("{}: {error}", path.display());
            exception(py, "ScenarioError", &message, None)
        })
    }

    /// The original text.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The name of its file.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The overrides: paths and values as TOML.
    #[getter]
    fn overrides(&self) -> Vec<(&str, &str)> {
        let pairs = self.overrides.iter();
        pairs.map(|set| (&*set.path, &*set.value)).collect()
    }

    /// The seed.
    #[getter]
    fn seed(&self) -> u64 {
        self.checked.run.seed
    }

    /// The duration of the run in seconds.
    #[getter]
    fn duration(&self) -> f64 {
        self.checked.run.duration.as_secs_f64()
    }

    /// The names of the flows, in the order of the scenario.
    #[getter]
    fn flow_names(&self) -> Vec<String> {
        let flows = self.checked.flows.iter();
        flows.flat_map(weir_lab::scenario::Flow::names).collect()
    }

    /// The scenario with all defaults filled in.
    fn resolved(&self) -> String {
        self.checked.resolved_toml()
    }

    /// BLAKE3 of the resolved scenario.
    fn content_hash(&self) -> String {
        self.checked.content_hash()
    }

    /// Every setting by its path.
    fn settings(&self) -> BTreeMap<String, String> {
        settings_of(&self.checked)
    }

    /// Settings that are valid but probably not intended: rule, path, message, help.
    fn lint(&self) -> Vec<(String, String, String, String)> {
        let findings = lint(&self.checked).into_iter();
        let parts = findings.map(|found| {
            (
                found.rule.to_string(),
                found.path.clone(),
                found.message.clone(),
                found.help.clone(),
            )
        });
        parts.collect()
    }

    /// Runs the simulation; `trace` is `full`, `summary` or `counters`. `progress` is called with
    /// thousandths.
    #[pyo3(signature = (trace, packets, max_events, progress))]
    fn run(
        &self,
        py: Python<'_>,
        trace: &str,
        packets: bool,
        max_events: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Run> {
        let trace = trace_level(py, trace)?;
        let scenario = Arc::clone(&self.checked);
        let (ran, fault) = supervised(py, progress.as_ref(), move |shared| {
            begin_run(&shared.cancel);
            let ran = simulated(&scenario, trace, packets, max_events, shared);
            (ran, take_fault())
        })?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        Ok(Run::new(ran.map_err(|error| of_run(py, &error))?))
    }
}

impl Scenario {
    /// The inputs of the scenario: text, name of the file, and overrides.
    pub fn parts(&self) -> (String, String, Vec<Override>) {
        (self.text.clone(), self.name.clone(), self.overrides.clone())
    }

    /// The scenario of a run of a plan.
    pub fn of_plan(py: Python<'_>, plan: &Plan, item: &WorkItem) -> PyResult<Self> {
        let (text, name, overrides) = plan.text_of(item);
        let (text, name) = (text.to_owned(), name.to_owned());
        let set = overrides.into_iter().map(|set| (set.path, set.value));
        Self::new(py, text, name, set.collect())
    }
}

fn trace_level(py: Python<'_>, word: &str) -> PyResult<TraceLevel> {
    match word {
        "full" => Ok(TraceLevel::Full),
        "summary" => Ok(TraceLevel::Summary),
        "counters" => Ok(TraceLevel::Counters),
        _ => {
            let message = format!("trace is \"{word}\", expected full, summary or counters");
            Err(exception(py, "WeirError", &message, None))
        }
    }
}

fn simulated(
    scenario: &weir_lab::scenario::Scenario,
    trace: TraceLevel,
    packets: bool,
    max_events: Option<u64>,
    shared: &Shared,
) -> Result<RunOutput, RunError> {
    let progress = |reached: Instant, end: Instant| {
        let share = reached.as_secs_f64() / end.as_secs_f64().max(1e-9);
        shared
            .done
            .store((share * STEPS as f64) as u64, Ordering::Relaxed);
    };
    let options = RunOptions {
        trace,
        packets,
        progress: Some(&progress),
        max_events,
        cancel: Some(&shared.cancel),
        registry: weir::registry(),
        ..RunOptions::default()
    };
    let output = simulate(scenario, &options);
    shared.done.store(STEPS, Ordering::Relaxed);
    output
}

/// Converts a JSON document to TOML text.
#[pyfunction]
pub fn toml_of(py: Python<'_>, json: &str) -> PyResult<String> {
    let fail = |message: String| exception(py, "ScenarioError", &message, None);
    let table: toml::Table =
        serde_json::from_str(json).map_err(|error| fail(format!("this is no TOML: {error}")))?;
    toml::to_string(&table).map_err(|error| fail(format!("this is no TOML: {error}")))
}
