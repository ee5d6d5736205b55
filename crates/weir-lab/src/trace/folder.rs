//! Reads a run's folder: `scenario.toml`, `summary.json`, `flows/`, `writes/`, `gaps/`, `frames/`,
//! `requests/`, `intervals/`, `transfers/`, `links/`, `delays.parquet`, `packets.parquet`, and the
//! checksums of all.
//!
//! Every file is verified with its checksum before it is read, so that damage causes an error and
//! never wrong numbers. [`FolderWriter`](super::FolderWriter) writes folders.

use super::checksums::{CHECKSUMS, Checksums};
use super::folder_error::{FolderError, io_error};
use super::parquet;
use super::table_files::is_table;
use crate::run::{FlowTrace, LinkTrace, RUN_FORMAT, RunOutput, Summary, TransferTrace};
use crate::scenario::{self, Scenario};
use crate::table::{RowThinning, Table, ValueKind};
use serde_json::Value;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of a run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    scenario: Scenario,
    summary: Summary,
    checksums: Checksums,
}

/// The part of a table that is read.
#[derive(Clone, Copy)]
pub struct TablePart<'a> {
    /// True for the names of the columns to read.
    pub columns: &'a dyn Fn(&str) -> bool,
    /// The thinning of rows; all rows are read if absent.
    pub thinning: Option<&'a RowThinning>,
}

/// A part of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct PartOfTable {
    /// The selected columns.
    pub table: Table,
    /// The names and the kinds of all columns of the file.
    pub columns: Vec<(String, ValueKind)>,
}

/// The file with the resolved scenario.
pub(super) const SCENARIO: &str = "scenario.toml";
/// The file with the summary.
pub(super) const SUMMARY: &str = "summary.json";

impl RunFolder {
    /// Checks that a run may be written to this path.
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

    /// Opens the folder of a run; reads its scenario and summary.
    ///
    /// # Errors
    /// If it is not the folder of a run, is in another format, is damaged or cannot be read.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let (scenario_text, summary_text) = (read(path, SCENARIO)?, read(path, SUMMARY)?);
        check_format(path, &summary_text)?;
        let checksums = Checksums::parse(&read(path, CHECKSUMS)?)
            .map_err(|message| malformed(path, CHECKSUMS, message))?;
        for (name, text) in [(SUMMARY, &summary_text), (SCENARIO, &scenario_text)] {
            let checked = checksums.check(name, text.as_bytes());
            checked.map_err(|message| malformed(path, name, message))?;
        }
        let name = path.join(SCENARIO).display().to_string();
        let scenario = scenario::parse(&scenario_text, &name)
            .map_err(|error| malformed(path, SCENARIO, error.to_string()))?;
        let summary = serde_json::from_str(&summary_text)
            .map_err(|error| malformed(path, SUMMARY, error.to_string()))?;
        Ok(Self {
            path: path.to_owned(),
            scenario,
            summary,
            checksums,
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

    /// The paths of the tables that were kept, as in [`RunOutput::tables`].
    pub fn table_names(&self) -> Vec<String> {
        let tables = self.checksums.paths().filter(|path| {
            // A damaged or foreign file of checksums must not name files elsewhere.
            is_table(Path::new(path)) && path.split('/').all(|part| part != "..")
        });
        let names = tables.filter_map(|path| path.strip_suffix(".parquet"));
        names.map(str::to_owned).collect()
    }

    /// The checksums of the files that the run wrote.
    pub(super) fn checksums(&self) -> &Checksums {
        &self.checksums
    }

    /// Reads the whole run. Tables that were not kept are missing.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn load(&self) -> Result<RunOutput, FolderError> {
        let mut flows = Vec::new();
        for name in self.scenario.connection_names() {
            if let Some(table) = self.table(&format!("flows/{name}"))? {
                let events = self.table(&format!("events/{name}"))?;
                let writes = self.table(&format!("writes/{name}"))?;
                let gaps = self.table(&format!("gaps/{name}"))?;
                let frames = self.table(&format!("frames/{name}"))?;
                let requests = self.table(&format!("requests/{name}"))?;
                let intervals = self.table(&format!("intervals/{name}"))?;
                flows.push(FlowTrace {
                    name,
                    table,
                    events,
                    writes,
                    gaps,
                    frames,
                    requests,
                    intervals,
                });
            }
        }
        let mut transfers = Vec::new();
        for name in self.summary.transfers.keys() {
            if let Some(table) = self.table(&format!("transfers/{name}"))? {
                transfers.push(TransferTrace {
                    name: name.clone(),
                    table,
                    intervals: self.table(&format!("intervals/{name}"))?,
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
            transfers,
            delays: self.table("delays")?,
            packets: self.table("packets")?,
            stages: None,
        })
    }

    /// The table with this path in [`RunOutput::tables`]; `None` if it was not kept.
    ///
    /// # Errors
    /// If it is damaged or cannot be read.
    pub fn table(&self, path: &str) -> Result<Option<Table>, FolderError> {
        self.read_table(path, parquet::read)
    }

    /// A part of the table with this path; `None` if it was not kept.
    ///
    /// # Errors
    /// If it is damaged or cannot be read.
    pub fn part_of_table(
        &self,
        path: &str,
        part: &TablePart<'_>,
    ) -> Result<Option<PartOfTable>, FolderError> {
        let part = parquet::Part {
            columns: part.columns,
            thinning: part.thinning,
        };
        self.read_table(path, |octets| {
            parquet::read_part(octets, &part).map(|(table, columns)| PartOfTable { table, columns })
        })
    }

    fn read_table<T, E: fmt::Display>(
        &self,
        path: &str,
        read: impl FnOnce(Vec<u8>) -> Result<T, E>,
    ) -> Result<Option<T>, FolderError> {
        let name = format!("{path}.parquet");
        let path = self.path.join(&name);
        if !path.is_file() && !self.checksums.has(&name) {
            return Ok(None);
        }
        if path.exists() && !path.is_file() {
            // A device or a pipe may be endless.
            let message = "it is no file".to_owned();
            return Err(FolderError::Malformed { path, message });
        }
        let octets = fs::read(&path).map_err(io_error("read", &path))?;
        let checked = self.checksums.check(&name, &octets);
        let table = checked
            .and_then(|()| read(octets).map_err(|error| error.to_string()))
            .map_err(|message| FolderError::Malformed { path, message })?;
        Ok(Some(table))
    }
}

fn malformed(folder: &Path, name: &str, message: String) -> FolderError {
    FolderError::Malformed {
        path: folder.join(name),
        message,
    }
}

/// The text of a file that every run has.
fn read(folder: &Path, name: &'static str) -> Result<String, FolderError> {
    let file = folder.join(name);
    if !file.is_file() {
        return Err(FolderError::NotARun(folder.to_owned(), name));
    }
    let octets = fs::read(&file).map_err(io_error("read", &file))?;
    String::from_utf8(octets)
        .map_err(|_| malformed(folder, name, "it is damaged: it is not UTF-8".to_owned()))
}

/// Rejects another format before anything else is read, because its contents may differ too. A
/// summary without a format has the first one.
fn check_format(folder: &Path, summary: &str) -> Result<(), FolderError> {
    let document: Value = serde_json::from_str(summary)
        .map_err(|error| malformed(folder, SUMMARY, error.to_string()))?;
    let run = document.get("run").unwrap_or(&Value::Null);
    let found = run.get("format").and_then(Value::as_u64).unwrap_or(1);
    let found = u32::try_from(found).unwrap_or(u32::MAX);
    let build = run.get("build").and_then(Value::as_str);
    let (path, build) = (folder.to_owned(), build.unwrap_or("nothing").to_owned());
    let expected = RUN_FORMAT;
    match found.cmp(&expected) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => Err(FolderError::OlderFormat {
            path,
            found,
            build,
            expected,
        }),
        std::cmp::Ordering::Greater => Err(FolderError::NewerFormat {
            path,
            found,
            build,
            expected,
        }),
    }
}
