//! File formats: the folder of a run, exports to the formats of other tools, and captures.

mod acknowledgements;
#[cfg(feature = "files")]
pub mod capture;
#[cfg(feature = "files")]
mod checksums;
mod dccp_probe;
#[cfg(feature = "files")]
mod deflate;
#[cfg(feature = "files")]
mod encoding_threads;
mod export;
#[cfg(feature = "files")]
mod folder;
#[cfg(feature = "files")]
mod folder_error;
#[cfg(feature = "files")]
mod folder_writer;
#[cfg(feature = "files")]
pub mod import;
#[cfg(feature = "files")]
mod kind_file;
#[cfg(feature = "files")]
mod named_rows;
#[cfg(feature = "files")]
mod parquet;
#[cfg(feature = "files")]
mod partial;
pub mod pcapng;
#[cfg(feature = "files")]
mod progress;
mod qlog;
mod run_capture;
#[cfg(feature = "files")]
mod run_index;
mod same_result;
#[cfg(feature = "files")]
mod single_table;
#[cfg(feature = "files")]
mod stream;
#[cfg(feature = "files")]
mod table_files;
#[cfg(feature = "files")]
mod wav;

#[cfg(feature = "files")]
pub(crate) use checksums::{CHECKSUMS, Checksums};
#[cfg(feature = "files")]
pub use deflate::{deflate, gunzip, zlib};
pub use export::{ExportError, ExportFile, Format, csv, export};
#[cfg(feature = "files")]
pub use folder::{PartOfTable, RunFolder, TablePart};
#[cfg(feature = "files")]
pub use folder_error::FolderError;
#[cfg(feature = "files")]
pub use folder_writer::{FolderWriter, Written};
#[cfg(feature = "files")]
pub use partial::{FileSet, PartialFolder, check_folder, lock_folder, remove_leftovers};
#[cfg(feature = "files")]
pub use progress::{ProgressFile, progress_in};
#[cfg(feature = "files")]
pub(crate) use qlog::qlog_columns;
pub use run_capture::{CaptureOptions, RunCaptureError, capture_run};
#[cfg(feature = "files")]
pub use run_index::{IndexEntry, read_index, update_index};
#[cfg(feature = "files")]
pub use single_table::{read_table, table_octets};
