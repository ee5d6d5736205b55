//! Traces: columns in memory, and the file formats that they are written in.

#[cfg(feature = "files")]
pub mod capture;
mod columns;
mod dccp_probe;
mod export;
#[cfg(feature = "files")]
mod folder;
pub mod headers;
#[cfg(feature = "files")]
mod parquet;
pub mod pcapng;
mod run_capture;

pub use columns::{Column, Table, Values};
pub use export::{ExportError, ExportFile, Format, csv, export};
#[cfg(feature = "files")]
pub use folder::{FolderError, RunFolder, name_of, summary_json};
pub use run_capture::{CaptureOptions, RunCaptureError, capture_run};
