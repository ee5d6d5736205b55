//! Suites of test cases for congestion controllers: each case a scenario with checks of what the
//! controller under test does in it, run for any controller of any transport.
//!
//! A case is one TOML file: a scenario whose flow has no `transport`, and a table `[case]` with the
//! checks. What a check measures is behaviour that a trace shows: rates, delays, volumes in flight,
//! losses, and the states that a controller names. A controller that names no such states is judged
//! by the rest.

mod case;
mod check;
mod evidence;
mod files;
mod page;
mod path;
mod picture;
mod runner;
#[cfg(test)]
mod tests;

pub use case::{Case, SuiteError};
pub use check::{CheckResult, Reads};
pub use files::Suite;
pub use runner::{CaseResult, SuiteResult, run_suite};
