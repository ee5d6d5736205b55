//! Sweeps: plans, stores, and the execution of runs.

use crate::controller::take_fault_in_words;
use crate::errors::exception;
use crate::scenario::Scenario;
use crate::supervise::{attached_once, supervised};
use crate::table::Table;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use weir_lab::sweep::{Label, PlanError, Record, StoreError, SweepOptions, run_item};

fn plan_error(py: Python<'_>, error: &PlanError) -> PyErr {
    exception(py, "SweepError", &error.to_string(), None)
}

fn store_error(py: Python<'_>, error: &StoreError) -> PyErr {
    exception(py, "SweepError", &error.to_string(), None)
}

fn options(cancel: &std::sync::atomic::AtomicBool) -> SweepOptions<'_> {
    SweepOptions {
        registry: weir::registry(),
        cancel: Some(cancel),
        explain: Some(&take_fault_in_words),
        each_thread: Some(&|work| attached_once(work)),
        ..SweepOptions::default()
    }
}

/// The plan of a sweep.
#[pyclass(frozen, module = "weirlab._weirlab")]
pub struct Plan(Arc<weir_lab::sweep::Plan>);

#[pymethods]
impl Plan {
    /// Parses a plan from JSON that includes the scenario's text.
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<Self> {
        let plan = weir_lab::sweep::Plan::from_json(json);
        plan.map(|plan| Self(Arc::new(plan)))
            .map_err(|error| plan_error(py, &error))
    }

    /// Reads a plan's TOML file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let plan = weir_lab::sweep::Plan::load(&path);
        plan.map(|plan| Self(Arc::new(plan)))
            .map_err(|error| plan_error(py, &error))
    }

    /// The plan as JSON, including the scenario's text.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// The number of runs.
    #[getter]
    fn runs(&self) -> u64 {
        self.0.runs()
    }

    /// The path and the column of each parameter.
    #[getter]
    fn parameters(&self) -> Vec<(String, String)> {
        let paths = self.0.parameters().iter().map(|p| p.path.clone());
        paths.zip(self.0.columns().iter().cloned()).collect()
    }

    /// The scenario of a run.
    fn scenario(&self, py: Python<'_>, run: u64) -> PyResult<Scenario> {
        Scenario::of_plan(py, &self.0, &self.item(py, run)?)
    }

    /// Reads the scenario of the first run, so that an error of the plan is reported at once and
    /// not for each run.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let first = self.0.item(0).map(|item| self.0.scenario(&item));
        let wrong = first.and_then(Result::err);
        wrong.map_or(Ok(()), |error| Err(plan_error(py, &error.into())))
    }

    /// The settings of a run by their columns, with numbers and words separate.
    #[expect(clippy::type_complexity, reason = "two dicts")]
    fn settings(
        &self,
        py: Python<'_>,
        run: u64,
    ) -> PyResult<(Vec<(String, f64)>, Vec<(String, String)>)> {
        let item = self.item(py, run)?;
        let (mut numbers, mut words) = (Vec::new(), Vec::new());
        for (column, setting) in self.0.columns().iter().zip(item.settings) {
            match setting.label {
                Label::Number(number) => numbers.push((column.clone(), number)),
                Label::Word(word) => words.push((column.clone(), word)),
            }
        }
        Ok((numbers, words))
    }

    /// Executes a run; returns its record as JSON.
    fn run(&self, py: Python<'_>, run: u64) -> PyResult<String> {
        let item = self.item(py, run)?;
        let plan = Arc::clone(&self.0);
        let record = supervised(py, None, move |shared| {
            run_item(&plan, &item, &options(&shared.cancel))
        })?;
        let json = record.and_then(|record| serde_json::to_string(&record).ok());
        json.ok_or_else(|| exception(py, "RunError", "the run was cancelled", None))
    }
}

impl Plan {
    fn item(&self, py: Python<'_>, run: u64) -> PyResult<weir_lab::sweep::WorkItem> {
        self.0.item(run).ok_or_else(|| {
            let message = format!("there is no run {run}; the plan has {}", self.0.runs());
            exception(py, "SweepError", &message, None)
        })
    }
}

/// The folder of a sweep.
#[pyclass(frozen, module = "weirlab._weirlab")]
pub struct Store(Arc<weir_lab::sweep::Store>);

#[pymethods]
impl Store {
    /// Opens the folder for this plan, or creates it.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf, plan: &Plan) -> PyResult<Self> {
        let plan = weir_lab::sweep::Plan::clone(&plan.0);
        let store = py.detach(|| weir_lab::sweep::Store::open(&folder, plan));
        store
            .map(|store| Self(Arc::new(store)))
            .map_err(|error| store_error(py, &error))
    }

    /// The runs that are not complete yet.
    fn missing(&self) -> Vec<u64> {
        self.0.missing()
    }

    /// The number of completed runs, and the number of those that failed.
    fn done(&self) -> (u64, u64) {
        self.0.done()
    }

    /// Stores a record, given as JSON.
    fn commit(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        let record: Record = serde_json::from_str(json)
            .map_err(|error| exception(py, "SweepError", &error.to_string(), None))?;
        let kept = py.detach(|| self.0.commit(&record));
        kept.map_err(|error| store_error(py, &error))
    }

    /// Executes all missing runs, on all cores.
    #[pyo3(signature = (threads, progress))]
    fn sweep(
        &self,
        py: Python<'_>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let store = Arc::clone(&self.0);
        let made = supervised(py, progress.as_ref(), move |shared| {
            let advance = |done: u64| shared.done.store(done, Ordering::Relaxed);
            let options = SweepOptions {
                threads,
                progress: Some(&advance),
                ..options(&shared.cancel)
            };
            weir_lab::sweep::sweep(&store, &options)
        })?;
        made.map(drop).map_err(|error| store_error(py, &error))
    }

    /// All rows of all completed runs, in the order of the runs.
    fn table(&self, py: Python<'_>) -> PyResult<Table> {
        let table = py.detach(|| self.0.table());
        Table::new(table.map_err(|error| store_error(py, &error))?, Vec::new())
    }
}
