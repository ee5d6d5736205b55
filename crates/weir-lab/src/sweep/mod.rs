//! Sweeps: many runs of one scenario, by design, resumable, as one table.
//!
//! A [`Plan`] has a scenario, parameters, a design and seeds; its runs are numbered from zero.
//! [`run_item`] executes one of them and returns a [`Record`]; [`sweep`] executes all that a
//! [`Store`] lacks, on all cores. A store commits each record immediately and atomically, so that
//! an interrupted sweep can be resumed, and keeps records as one Parquet dataset,
//! `runs/*/*.parquet`.
//!
//! [`pair_datasets`] pairs the runs of two sweeps by settings and seed, for `weir compare`.
//!
//! `weir sweep`, `weirlab.sweep()` and the workers of Dask all use these three.

mod columns;
#[cfg(feature = "files")]
mod dataset;
mod design;
#[cfg(feature = "files")]
mod execute;
mod parameter;
mod plan;
#[cfg(feature = "files")]
mod record;
#[cfg(feature = "files")]
mod store;

pub use columns::measure_columns;
#[cfg(feature = "files")]
pub use dataset::{Dataset, SettingPairs, pair_datasets};
pub use design::Design;
#[cfg(feature = "files")]
pub use execute::{EachThread, Outcome, SweepOptions, run_item, sweep};
pub use parameter::{Label, Parameter, PlanError, Setting};
pub use plan::{MAX_RUNS, Plan, WorkItem};
#[cfg(feature = "files")]
pub use record::{Record, Row};
#[cfg(feature = "files")]
pub use store::{Store, StoreError, read_dataset};

#[cfg(all(test, feature = "files"))]
mod tests;
