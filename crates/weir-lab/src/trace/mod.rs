//! File formats: the folder of a run, exports to the formats of other tools, and captures.

#[cfg(feature = "files")]
pub mod capture;
mod dccp_probe;
mod export;
#[cfg(feature = "files")]
mod folder;
#[cfg(feature = "files")]
mod parquet;
pub mod pcapng;
mod run_capture;

pub use export::{ExportError, ExportFile, Format, csv, export};
#[cfg(feature = "files")]
pub use folder::{FolderError, RunFolder, name_of, summary_json};
pub use run_capture::{CaptureOptions, RunCaptureError, capture_run};
