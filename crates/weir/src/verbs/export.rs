//! `weir export RUN --format csv|dccp-probe`.

use super::run::folder_failure;
use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use std::path::{Path, PathBuf};
use weir_lab::trace::{Format, RunFolder, export};

/// The words after the verb.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a run
    run: PathBuf,
    /// csv or dccp-probe
    #[arg(long, short)]
    format: String,
    /// Where the files go; by default into the run's folder, below the format's name
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// One JSON document with the files written
    #[arg(long)]
    pub json: bool,
}

/// Writes the files.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
    let format = Format::named(&arguments.format).map_err(|error| usage(&error))?;
    let output = RunFolder::open(&arguments.run)
        .and_then(|folder| folder.load())
        .map_err(folder_failure)?;
    let files = export(&output, format).map_err(|error| usage(&error))?;
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| arguments.run.join(&arguments.format));
    let mut written = Vec::new();
    for file in files {
        let path = out.join(&file.path);
        write_whole(&path, file.content.as_bytes())?;
        written.push(path.display().to_string());
    }
    if arguments.json {
        let document = serde_json::json!({ "files": written });
        return Ok(terminal::print(&format!("{document:#}\n"))?);
    }
    Ok(terminal::print(&format!("{}\n", written.join("\n")))?)
}

/// Writes a file under a temporary name and renames it, so that it is whole or not there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::Failed(format!("{}: {error}", path.display()));
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    std::fs::write(&temporary, bytes)
        .and_then(|()| std::fs::rename(&temporary, path))
        .map_err(failed)
}
