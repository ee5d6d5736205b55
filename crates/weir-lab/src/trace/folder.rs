//! A run's folder: `scenario.toml`, `summary.json`, `flows/`, `writes/`, `gaps/`, `links/`,
//! `packets.parquet`.
//!
//! A folder is written under a temporary name in its parent and then renamed, so that no program
//! reads half of one. The same scenario gives the same bytes: no file depends on the wall clock,
//! and the time that a run took is printed, not kept.

use super::parquet;
use crate::run::{FlowTrace, LinkTrace, RunOutput, Summary};
use crate::scenario::{self, Flow, Scenario};
use crate::table::Table;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
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
    /// Another folder or a file is at this path.
    #[error(
        "\"{}\" exists and is not the folder of a run, expected a new name or such a folder",
        .0.display()
    )]
    Occupied(PathBuf),
    /// The folder has no file that each run has.
    #[error(
        "\"{path}\" is not the folder of a run: it has no {missing}",
        path = .0.display(),
        missing = .1
    )]
    NotARun(PathBuf, &'static str),
    /// A file of the folder is not in its format.
    #[error("cannot read \"{}\": {message}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

/// The folder of a run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    scenario: Scenario,
    summary: Summary,
}

const SCENARIO: &str = "scenario.toml";
const SUMMARY: &str = "summary.json";

fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io { what, path, source }
}

/// The name of a run by its content: the first 16 digits of the scenario's hash.
pub fn name_of(scenario: &Scenario) -> String {
    let mut hash = scenario.content_hash();
    hash.truncate(16);
    hash
}

/// `summary.json` as text: the same summary gives the same bytes.
pub fn summary_json(summary: &Summary) -> String {
    let mut summary = summary.clone();
    summary.run.wall_s = None;
    // Maps with text keys and finite numbers always have a JSON form.
    let mut text = serde_json::to_string_pretty(&summary).unwrap_or_default();
    text.push('\n');
    text
}

impl RunFolder {
    /// Writes a run. A run that is already there is replaced.
    ///
    /// # Errors
    /// If another folder is there, or a file cannot be written; then the old state is kept.
    pub fn write(output: &RunOutput, path: &Path) -> Result<Self, FolderError> {
        Self::write_noted(output, "", path)
    }

    /// Checks that a run may be written here.
    ///
    /// # Errors
    /// [`FolderError::Occupied`].
    pub fn check_free(path: &Path) -> Result<(), FolderError> {
        let occupied = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
        if (occupied && !path.join(SUMMARY).is_file()) || path.is_file() {
            return Err(FolderError::Occupied(path.to_owned()));
        }
        Ok(())
    }

    /// As [`write`](Self::write), with a comment at the head of the scenario.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_noted(output: &RunOutput, note: &str, path: &Path) -> Result<Self, FolderError> {
        Self::check_free(path)?;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        fs::create_dir_all(parent).map_err(io_error("create", parent))?;
        let partial = tempfile::Builder::new()
            .prefix(".weir-partial-")
            .tempdir_in(parent)
            .map_err(io_error("write into", parent))?;
        let new = partial.path().join("new");
        write_all(output, note, &new)?;
        if path.exists() {
            let old = partial.path().join("old");
            fs::rename(path, &old).map_err(io_error("replace", path))?;
        }
        fs::rename(&new, path).map_err(io_error("write", path))?;
        Ok(Self {
            path: path.to_owned(),
            scenario: output.scenario.clone(),
            summary: output.summary.clone(),
        })
    }

    /// Opens the folder of a run; reads its scenario and summary.
    ///
    /// # Errors
    /// If it is not the folder of a run, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let read = |name: &'static str| {
            let file = path.join(name);
            if !file.is_file() {
                return Err(FolderError::NotARun(path.to_owned(), name));
            }
            fs::read_to_string(&file).map_err(io_error("read", &file))
        };
        let malformed = |name: &str, message: String| FolderError::Malformed {
            path: path.join(name),
            message,
        };
        let text = read(SCENARIO)?;
        let name = path.join(SCENARIO).display().to_string();
        let scenario =
            scenario::parse(&text, &name).map_err(|e| malformed(SCENARIO, e.to_string()))?;
        let summary =
            serde_json::from_str(&read(SUMMARY)?).map_err(|e| malformed(SUMMARY, e.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            scenario,
            summary,
        })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The scenario of the run.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The summary of the run.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Reads the whole run back. Tables that were not kept are not there.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn load(&self) -> Result<RunOutput, FolderError> {
        let mut flows = Vec::new();
        for name in self.scenario.flows.iter().flat_map(Flow::names) {
            if let Some(table) = self.table(&format!("flows/{name}"))? {
                let writes = self.table(&format!("writes/{name}"))?;
                let gaps = self.table(&format!("gaps/{name}"))?;
                flows.push(FlowTrace {
                    name,
                    table,
                    writes,
                    gaps,
                });
            }
        }
        let mut links = Vec::new();
        for name in self.scenario.trace_names() {
            if let Some(table) = self.table(&format!("links/{name}"))? {
                links.push(LinkTrace { name, table });
            }
        }
        Ok(RunOutput {
            scenario: self.scenario.clone(),
            summary: self.summary.clone(),
            flows,
            links,
            packets: self.table("packets")?,
        })
    }

    /// The table with this path in [`RunOutput::tables`]; `None` if it was not kept.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn table(&self, path: &str) -> Result<Option<Table>, FolderError> {
        let path = self.path.join(format!("{path}.parquet"));
        if !path.is_file() {
            return Ok(None);
        }
        let file = File::open(&path).map_err(io_error("read", &path))?;
        let table = parquet::read(file);
        table.map(Some).map_err(|error| FolderError::Malformed {
            path,
            message: error.to_string(),
        })
    }
}

/// Writes all files of a run below a folder that does not exist yet.
fn write_all(output: &RunOutput, note: &str, folder: &Path) -> Result<(), FolderError> {
    fs::create_dir(folder).map_err(io_error("create", folder))?;
    let text = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(io_error("write", &path))
    };
    let mut scenario = output.scenario.resolved_toml();
    if !note.is_empty() {
        scenario = format!("# {}\n{scenario}", note.replace('\n', "\n# "));
    }
    text(SCENARIO, &scenario)?;
    text(SUMMARY, &summary_json(&output.summary))?;
    for (path, table) in output.tables() {
        write_table(table, &folder.join(format!("{path}.parquet")))?;
    }
    Ok(())
}

fn write_table(table: &Table, path: &Path) -> Result<(), FolderError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(io_error("create", parent))?;
    }
    let file = File::create(path).map_err(io_error("write", path))?;
    let mut out = BufWriter::new(file);
    parquet::write(table, &mut out).map_err(|error| FolderError::Malformed {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    out.flush().map_err(io_error("write", path))
}
