//! Traces: columns in memory, and the file formats that they are written in.

#[cfg(feature = "files")]
pub mod capture;
mod columns;

pub use columns::{Column, Table, Values};
