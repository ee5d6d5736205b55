//! A finished run: its summary and its tables.

use crate::table::Table;
use pyo3::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use weir_lab::diagnosis::{Trace, explain, explanation_json, explanation_text};
use weir_lab::run::{RunOutput, Summary, table_kind};
use weir_lab::scenario::Scenario;

/// A finished run.
#[pyclass(frozen, module = "weirlab._weirlab")]
pub struct Run {
    scenario: Scenario,
    measured: Summary,
    summary: String,
    resolved: String,
    /// The explanation as JSON and as text, from the time when all tables were still here.
    explained: OnceLock<(String, String)>,
    names: Vec<String>,
    /// Tables of the run that Python has not requested yet.
    unread: Mutex<BTreeMap<String, weir_lab::table::Table>>,
    read: Mutex<BTreeMap<String, Table>>,
}

impl Run {
    /// Moves the tables out of the output.
    pub fn new(output: RunOutput) -> Self {
        let summary = output.summary.to_json();
        let resolved = output.scenario.resolved_toml();
        let (scenario, measured) = (output.scenario.clone(), output.summary.clone());
        let tables = output.into_tables();
        Self {
            scenario,
            measured,
            summary,
            resolved,
            explained: OnceLock::new(),
            names: tables.iter().map(|(name, _)| name.clone()).collect(),
            unread: Mutex::new(tables.into_iter().collect()),
            read: Mutex::default(),
        }
    }

    /// The explanation, made once: before the first table goes to Python.
    fn explained(&self, unread: &BTreeMap<String, weir_lab::table::Table>) -> &(String, String) {
        self.explained.get_or_init(|| {
            let tables = unread.iter();
            let tables = tables.map(|(path, table)| (path.clone(), Cow::Borrowed(table)));
            let trace = Trace::new(tables.collect(), &self.scenario, &self.measured);
            let explanation = explain(&trace);
            let json = explanation_json(&explanation, None);
            (json, explanation_text(&explanation))
        })
    }
}

#[pymethods]
impl Run {
    /// `summary.json`.
    #[getter]
    fn summary_json(&self) -> &str {
        &self.summary
    }

    /// The scenario with all defaults filled in.
    #[getter]
    fn scenario_toml(&self) -> &str {
        &self.resolved
    }

    /// The paths of the tables, such as `flows/stream`.
    #[getter]
    fn table_names(&self) -> Vec<String> {
        self.names.clone()
    }

    /// The table with this path; `None` if there is none.
    fn table(&self, name: &str) -> PyResult<Option<Table>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = read.get(name) {
            return Ok(Some(table.clone()));
        }
        let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        if !unread.contains_key(name) {
            return Ok(None);
        }
        self.explained(&unread);
        let Some(table) = unread.remove(name) else {
            return Ok(None);
        };
        let kind = table_kind(name);
        let table = Table::new(table, kind.map_or_else(Vec::new, |kind| kind.columns))?;
        read.insert(name.to_owned(), table.clone());
        Ok(Some(table))
    }

    /// What held each sender and what went wrong, as JSON and as text.
    fn explain(&self) -> (String, String) {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
        self.explained(&unread).clone()
    }
}
