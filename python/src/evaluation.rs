//! `weirlab.evaluate`: the evaluation of RFC 9743, for controllers of Rust and of Python.

use crate::controller::take_fault_in_words;
use crate::errors::exception;
use crate::supervise::supervised;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use weir_lab::candidate::Candidate;
use weir_lab::evaluation::{Evaluation, Options, OwnPaths, Size, Suite, evaluate as evaluated};

/// The options of an evaluation, a dict of Python.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    beside: Vec<String>,
    size: String,
    chapters: Vec<String>,
    seeds: u32,
    out: Option<PathBuf>,
}

/// Evaluates a controller. Returns `result.json`, the text of the terminal, the page, what is not
/// safe, and whether any measure is worse than another controller's.
#[pyfunction]
pub fn evaluate(
    py: Python<'_>,
    controller: &str,
    asked: Asked,
) -> PyResult<(String, String, String, Vec<String>, bool)> {
    let wrong = |error: &dyn std::fmt::Display| PyValueError::new_err(error.to_string());
    let size = Size::named(&asked.size).ok_or_else(|| {
        let known = Size::NAMES.join(", ");
        wrong(&format!(
            "there is no size \"{}\"; known are {known}",
            asked.size
        ))
    })?;
    let suite = Suite::rfc9743()
        .and_then(|suite| suite.sized(size, &OwnPaths::default()))
        .and_then(|suite| suite.only(&asked.chapters))
        .map_err(|error| wrong(&error))?;
    let subject = Candidate::parse(controller).map_err(|error| wrong(&error))?;
    let others = asked.beside.iter().map(|text| subject.other(text));
    let others = others
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| wrong(&error))?;
    let result = supervised(py, None, move |shared| {
        let progress = |done: usize, _| shared.done.store(done as u64, Ordering::Relaxed);
        let options = Options {
            registry: weir::registry(),
            beside: (!others.is_empty()).then_some(&others),
            seeds: asked.seeds,
            progress: Some(&progress),
            cancel: Some(&shared.cancel),
            explain: Some(&take_fault_in_words),
        };
        let evaluation = evaluated(&suite, &subject, &options)?;
        if let Some(folder) = asked.out {
            evaluation.write(&folder)?;
        }
        Ok(evaluation)
    })?;
    let failed = |error: weir_lab::evaluation::EvaluationError| {
        exception(py, "RunError", &error.to_string(), None)
    };
    let evaluation: Evaluation = result.map_err(failed)?;
    Ok((
        evaluation.json(),
        evaluation.text(),
        evaluation.html(),
        evaluation.faults(),
        evaluation.is_worse(),
    ))
}
