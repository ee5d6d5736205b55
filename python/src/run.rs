//! A finished run: its summary and its tables.

use crate::table::Table;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use weir_lab::run::{RunOutput, table_kind};
use weir_lab::trace::summary_json;

/// A finished run.
#[pyclass(frozen, module = "weirlab._weirlab")]
pub struct Run {
    summary: String,
    resolved: String,
    names: Vec<String>,
    /// Tables of the run that Python has not requested yet.
    unread: Mutex<BTreeMap<String, weir_lab::table::Table>>,
    read: Mutex<BTreeMap<String, Table>>,
}

impl Run {
    /// Moves the tables out of the output.
    pub fn new(output: RunOutput) -> Self {
        let summary = summary_json(&output.summary);
        let resolved = output.scenario.resolved_toml();
        let tables = output.into_tables();
        Self {
            summary,
            resolved,
            names: tables.iter().map(|(name, _)| name.clone()).collect(),
            unread: Mutex::new(tables.into_iter().collect()),
            read: Mutex::default(),
        }
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

    /// The paths of the tables in the folder of a run, such as `flows/stream`.
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
        let Some(table) = unread.remove(name) else {
            return Ok(None);
        };
        let kind = table_kind(name);
        let table = Table::new(table, kind.map_or_else(Vec::new, |kind| kind.columns))?;
        read.insert(name.to_owned(), table.clone());
        Ok(Some(table))
    }
}
