//! The laboratory in a browser: a worker of the page loads a scenario, runs it in slices, and reads
//! its tables, its explanation and its summary.
//!
//! Everything is decided in [`weir_lab`]; this crate converts. Texts cross as JSON, columns as the
//! places of arrays in the module's memory, from which JavaScript makes typed arrays without a
//! copy. A time is passed in seconds of virtual time: the module has no clock.
//!
//! `web/src/engine` is the other side.

mod fault;
mod live;
mod problem;
mod text;
mod views;

pub use fault::last_fault;
pub use live::{FinishedRun, LiveRun};
pub use text::{check, columns, laws, schema, set, theory, value, version};
