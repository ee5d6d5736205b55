//! `weirlab._weirlab`: the laboratory for Python.
//!
//! Users import the package `weirlab` around this module; this module contains only the part that
//! must be written in Rust. Statistics, reading of scenarios and simulation are those of
//! `weir-lab`.
// The macros of PyO3 expand to unsafe code; there is no other unsafe code here.

mod controller;
mod declaration;
mod environment;
mod errors;
mod evaluation;
mod numbers;
mod run;
mod scenario;
mod supervise;
mod sweep;
mod table;

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command `weir` with these arguments, the first of which is the program's path; returns
/// its exit status.
#[pyfunction]
fn run_command(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| weir::run_command(words))
}

/// The extension module.
#[pymodule]
fn _weirlab(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Faults of a run are raised as exceptions or stored in its record, and not printed on stderr.
    weir_lab::fault::silence_caught_panics();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<run::Run>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<table::Column>()?;
    module.add_class::<sweep::Plan>()?;
    module.add_class::<sweep::Store>()?;
    module.add_class::<controller::ControllerConfig>()?;
    module.add_class::<controller::Ack>()?;
    module.add_class::<controller::Congestion>()?;
    module.add_class::<environment::Environment>()?;
    module.add_function(wrap_pyfunction!(controller::add_controller, module)?)?;
    module.add_function(wrap_pyfunction!(evaluation::evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(run_command, module)?)?;
    module.add_function(wrap_pyfunction!(scenario::toml_of, module)?)?;
    module.add_function(wrap_pyfunction!(declaration::declaration, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::laws, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::theory, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::shown, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::palette, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::sample, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::compare, module)?)?;
    module.add_function(wrap_pyfunction!(numbers::welch, module)?)?;
    Ok(())
}
