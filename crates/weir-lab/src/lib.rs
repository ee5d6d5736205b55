//! Shows what a congestion controller does on a path, and why: a scenario file describes a run, its
//! trace names the rule behind each change of the rate or window and the bound that limited the
//! sender, and the run is drawn and compared with theory, other runs and published experiments.
//!
//! Data flows one way: [`scenario`] → [`run`] → [`trace`] → [`theory`], [`experiment`],
//! [`evaluation`], [`report`].
#![forbid(unsafe_code)]

pub mod candidate;
pub mod comparison;
pub mod diagnosis;
pub mod evaluation;
pub mod experiment;
pub mod fault;
#[cfg(feature = "files")]
pub mod fit;
#[cfg(test)]
mod fixture;
pub mod headers;
pub mod json;
pub mod lint;
mod natural_order;
pub mod replication;
pub mod report;
pub mod run;
pub mod scenario;
pub mod suite;
pub mod summary;
pub mod sweep;
pub mod table;
pub mod theory;
mod toml_file;
pub mod trace;
pub mod verdict;
#[cfg(feature = "files")]
pub mod yearbook;

pub use natural_order::{in_natural_order, natural_order};
