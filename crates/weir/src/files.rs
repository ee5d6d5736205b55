//! Files that are written whole or not at all.

use crate::exit::Failure;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Writes a file under a temporary name and renames it, so that it is whole or not there.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_with(path, |mut file| {
        file.write_all(bytes)
            .map_err(|error| failure_at(path, &error))
    })
}

fn failure_at(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {error}", path.display()))
}

/// Lets `write` fill a file under a temporary name, and renames it if that went well.
pub fn write_with<T>(
    path: &Path,
    write: impl FnOnce(File) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let failed = |error| failure_at(path, &error);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let file = File::create(&temporary).map_err(failed)?;
    let written = write(file);
    if written.is_err() {
        // A part of the file is of no use.
        let _ = std::fs::remove_file(&temporary);
    } else {
        std::fs::rename(&temporary, path).map_err(failed)?;
    }
    written
}
