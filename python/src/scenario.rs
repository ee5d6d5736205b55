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

/// Steps of a run's progress.
const STEPS: u64 = 1000;

/// A scenario, read and checked: the text it was made from and the values that were set in it.
#[pyclass(frozen, module = "weirlab._weirlab")]
pub struct Scenario {
    text: String,
    name: String,
    overrides: Vec<Override>,
    checked: Arc<weir_lab::scenario::Scenario>,
}

#[pymethods]
impl Scenario {
    /// Reads a text with values set in it; `name` stands for the file in errors.
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

    /// The text it was made from.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// The name of its file.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The values that were set: paths and values as TOML.
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

    /// The length of the run in seconds.
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

    /// The scenario with every default filled in.
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

    /// What is valid and probably not meant: rule, path, message, help.
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

    /// Simulates; `trace` is `full`, `summary` or `counters`. `progress` gets thousandths.
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
    /// What it was read from: text, name of the file, values set in it.
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

/// A JSON document as the text of a TOML file.
#[pyfunction]
pub fn toml_of(py: Python<'_>, json: &str) -> PyResult<String> {
    let fail = |message: String| exception(py, "ScenarioError", &message, None);
    let table: toml::Table =
        serde_json::from_str(json).map_err(|error| fail(format!("this is no TOML: {error}")))?;
    toml::to_string(&table).map_err(|error| fail(format!("this is no TOML: {error}")))
}
