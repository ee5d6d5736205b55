//! From a scenario file to a report: parse and check the scenario, build and run the network,
//! keep its trace as columns, compare it with theory and with published experiments, draw it.
//!
//! Data flows one way: [`scenario`] → [`run`] → [`trace`] → [`theory`], [`experiment`],
//! [`evaluation`], [`report`].
#![forbid(unsafe_code)]

pub mod candidate;
pub mod comparison;
pub mod evaluation;
pub mod experiment;
pub mod fault;
#[cfg(test)]
mod fixture;
pub mod headers;
mod json;
pub mod lint;
mod natural_order;
pub mod replication;
pub mod report;
pub mod run;
pub mod scenario;
pub mod suite;
#[cfg(feature = "files")]
pub mod sweep;
pub mod table;
pub mod theory;
mod toml_file;
pub mod trace;

pub use natural_order::{in_natural_order, natural_order};
