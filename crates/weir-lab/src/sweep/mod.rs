//! Sweeps: many runs of one scenario, by design, resumable, as one table.
//!
//! A [`Plan`] has a scenario, parameters, a design and seeds; it numbers its runs from zero.
//! [`run_item`] makes one of them into a [`Record`]; [`sweep`] makes all that a [`Store`] does not
//! have yet, on all cores. A store commits each record at once and atomically, so that a sweep that
//! was killed goes on where it was, and keeps records as one Parquet dataset, `runs/*/*.parquet`.
//!
//! [`pair_datasets`] pairs the runs of two of them by settings and seed, for `weir compare`.
//!
//! `weir sweep`, `weirlab.sweep()` and the workers of Dask use the same three.

mod columns;
mod dataset;
mod design;
mod execute;
mod parameter;
mod plan;
mod record;
mod store;

pub use columns::measure_columns;
pub use dataset::{Dataset, SettingPairs, pair_datasets};
pub use design::Design;
pub use execute::{EachThread, Outcome, SweepOptions, run_item, sweep};
pub use parameter::{Label, Parameter, PlanError, Setting};
pub use plan::{MAX_RUNS, Plan, WorkItem};
pub use record::{Record, Row};
pub use store::{Store, StoreError, read_dataset};

#[cfg(test)]
mod tests;
