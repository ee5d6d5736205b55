//! Where this program is, for commands that start it again.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The path by which the command was started, if it leads to a file: a fact about the process.
static STARTED_AS: OnceLock<PathBuf> = OnceLock::new();

/// Remembers the first word of the command.
pub fn set(word: Option<&OsString>) {
    let path = word.map(PathBuf::from).filter(|path| path.is_file());
    if let Some(path) = path {
        let _ = STARTED_AS.set(path);
    }
}

/// The file to start: this executable, or where it is an interpreter, the script that it runs.
pub fn path() -> io::Result<PathBuf> {
    let executable = std::env::current_exe()?;
    let is_weir = |path: &Path| path.file_stem().is_some_and(|stem| stem == "weir");
    match STARTED_AS.get().filter(|path| is_weir(path)) {
        Some(script) if !is_weir(&executable) => Ok(script.clone()),
        _ => Ok(executable),
    }
}
