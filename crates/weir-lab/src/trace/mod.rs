//! Traces: columns in memory, and the file formats that they are written in.

mod columns;

pub use columns::{Column, Table, Values};
