//! Why the folder of a run cannot be written or read.

use crate::fault::Fault;
use std::io;
use std::path::{Path, PathBuf};

/// Why a folder cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The operating system reports an error.
    #[error("cannot {what} \"{}\": {source}", path.display())]
    Io {
        /// The operation: `read`, `write`.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path belongs to another folder or a file.
    #[error(
        "\"{}\" exists and is not the folder of a run, expected a new name or such a folder",
        .0.display()
    )]
    Occupied(PathBuf),
    /// A panic in the writer thread.
    #[error("{0}")]
    Fault(#[from] Fault),
    /// The caller cancelled the run.
    #[error("the run is not written: it was ended")]
    Cancelled,
    /// The folder lacks a file that every run has.
    #[error(
        "\"{path}\" is not the folder of a run: it has no {missing}",
        path = .0.display(),
        missing = .1
    )]
    NotARun(PathBuf, &'static str),
    /// A file of the folder is damaged or not in its format.
    #[error("cannot read \"{}\": {message}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The problem.
        message: String,
    },
    /// The folder is in the format of an earlier version.
    #[error(
        "\"{path}\" is in format {found} of run folders, which \"{build}\" wrote; this version \
         reads format {expected}: run \"{path}/scenario.toml\" again",
        path = path.display()
    )]
    OlderFormat {
        /// The folder.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The program that wrote it.
        build: String,
        /// The format that this version reads.
        expected: u32,
    },
    /// The folder is in the format of a later version.
    #[error(
        "\"{path}\" is in format {found} of run folders, which \"{build}\" wrote; this version \
         reads format {expected} only: use a later version",
        path = path.display()
    )]
    NewerFormat {
        /// The folder.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The program that wrote it.
        build: String,
        /// The format that this version reads.
        expected: u32,
    },
}

/// Creates the error of an operation on a file.
pub(super) fn io_error(
    what: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> FolderError + use<> {
    let path = path.to_owned();
    move |source| FolderError::Io { what, path, source }
}
