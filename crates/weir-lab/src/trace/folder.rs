//! Reads a run's folder: `scenario.toml`, `summary.json`, a Parquet file for each kind of table,
//! such as `flows.parquet`, and the checksums of all.
//!
//! Every file is verified with its checksum before it is read, so that damage causes an error and
//! never wrong numbers; the file of a kind of table once for all its tables.
//! [`FolderWriter`](super::FolderWriter) writes folders.

use super::checksums::{CHECKSUMS, Checksums};
use super::folder_error::{FolderError, io_error};
use super::kind_file::{KindFile, VerifiedFile};
use super::named_rows::split;
use super::parquet;
use super::table_files::file_name;
use crate::run::{
    FlowTrace, LinkTrace, RUN_FORMAT, RunOutput, Summary, TransferTrace, table_kind, table_kinds,
};
use crate::scenario::{self, Scenario};
use crate::table::{RowThinning, Table, ValueKind};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The folder of a run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
    scenario: Scenario,
    summary: Summary,
    checksums: Checksums,
    files: OpenFiles,
}

/// The files of tables that have been opened, by their kind.
#[derive(Clone, Default)]
struct OpenFiles(Arc<Mutex<BTreeMap<String, Arc<KindFile>>>>);

impl fmt::Debug for OpenFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenFiles")
    }
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
            files: OpenFiles::default(),
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
    ///
    /// # Errors
    /// If a file of tables is damaged or cannot be read.
    pub fn table_names(&self) -> Result<Vec<String>, FolderError> {
        let mut all = Vec::new();
        for kind in table_kinds() {
            let (kind, _) = split(kind.path);
            let Some(file) = self.kind_file(kind)? else {
                continue;
            };
            all.extend(file.names().into_iter().map(|name| match name {
                "" => kind.to_owned(),
                name => format!("{kind}/{name}"),
            }));
        }
        Ok(all)
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
        let whole = TablePart {
            columns: &|_| true,
            thinning: None,
        };
        let part = self.part_of_table(path, &whole)?;
        Ok(part.map(|part| part.table))
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
        let (kind, name) = split(path);
        let Some(file) = self.kind_file(kind)? else {
            return Ok(None);
        };
        let part = parquet::Part {
            columns: part.columns,
            thinning: part.thinning,
        };
        let table = file.read(name.unwrap_or_default(), &part);
        let table =
            table.map_err(|error| malformed(&self.path, &file_name(kind), error.to_string()))?;
        Ok(table.map(|table| PartOfTable {
            table,
            columns: file.columns(),
        }))
    }

    /// The file of the tables of this kind; `None` if none was kept.
    fn kind_file(&self, kind: &str) -> Result<Option<Arc<KindFile>>, FolderError> {
        let mut files = self.files.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = files.get(kind) {
            return Ok(Some(Arc::clone(file)));
        }
        let name = file_name(kind);
        let path = self.path.join(&name);
        let Some(declared) = table_kind(kind) else {
            return Ok(None);
        };
        if !path.is_file() && !self.checksums.has(&name) {
            return Ok(None);
        }
        if path.exists() && !path.is_file() {
            // A device or a pipe may be endless.
            return Err(malformed(&self.path, &name, "it is no file".to_owned()));
        }
        let read = File::open(&path).and_then(VerifiedFile::read);
        let read = read.map_err(io_error("read", &path))?;
        let checked = self.checksums.check_digest(&name, &read.digest);
        let opened = checked.and_then(|()| {
            let opened = KindFile::open(read, declared.named.is_some());
            opened.map_err(|error| error.to_string())
        });
        let file = opened.map_err(|message| malformed(&self.path, &name, message))?;
        let file = Arc::new(file);
        files.insert(kind.to_owned(), Arc::clone(&file));
        Ok(Some(file))
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
