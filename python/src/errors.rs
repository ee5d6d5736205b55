//! Errors of the laboratory as exceptions of `weirlab.errors`.

use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use weir_lab::run::RunError;
use weir_lab::scenario::ScenarioError;

/// An exception of this class of `weirlab.errors`, with a message and keywords.
pub fn exception(
    py: Python<'_>,
    class: &str,
    message: &str,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyErr {
    let made = py
        .import("weirlab.errors")
        .and_then(|errors| errors.getattr(class))
        .and_then(|class| class.call((message,), keywords));
    match made {
        Ok(made) => PyErr::from_value(made),
        Err(error) => error,
    }
}

/// A `ScenarioError` with its place.
pub fn of_scenario(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let keywords = [
        ("file", error.file.clone()),
        ("expected", error.help.clone().unwrap_or_default()),
        ("source", error.source.to_string()),
    ];
    let keywords = keywords.into_py_dict(py).and_then(|keywords| {
        keywords.set_item("line", error.line)?;
        keywords.set_item("column", error.column)?;
        Ok(keywords)
    });
    match keywords {
        Ok(keywords) => exception(py, "ScenarioError", &error.message, Some(&keywords)),
        Err(error) => error,
    }
}

/// `RunError`.
pub fn of_run(py: Python<'_>, error: &RunError) -> PyErr {
    exception(py, "RunError", &error.to_string(), None)
}
