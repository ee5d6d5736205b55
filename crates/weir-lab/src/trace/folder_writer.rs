//! Writes a run's folder under a temporary name and renames it, so that no program reads an
//! incomplete one. The same scenario gives the same bytes: no file depends on the wall clock, and
//! the time that a run took is printed but not stored.
//!
//! A repeated run replaces the existing one, but only the files that runs write: plots, exports and
//! notes are kept. A repetition that kept less of its trace changes nothing.

use super::checksums::{CHECKSUMS, Checksums};
use super::folder::{RunFolder, SCENARIO, SUMMARY};
use super::folder_error::{FolderError, io_error};
use super::partial::{PartialFolder, lock_folder, remove_leftovers};
use super::same_result::is_same_result;
use super::stream::{Cancelled, TableStream};
use super::table_files::{TableFiles, file_name, is_table_file};
use crate::replication::{Fingerprint, FingerprintParts};
use crate::run::{RunOutput, Summary, table_kind};
use crate::scenario::Scenario;
use crate::table::SharedSink;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of writing a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The folder holds this run.
    New,
    /// The folder already holds this run, written by an earlier run with a fuller trace.
    KeptFuller,
    /// The folder holds an earlier run with a full trace and another result, made by another
    /// version; this run, which kept less, is not written.
    KeptOther,
}

/// A run's folder under construction.
pub struct FolderWriter {
    target: PathBuf,
    /// Declared before the folder into which it writes, so that it is dropped first.
    stream: Option<TableStream>,
    partial: PartialFolder,
    checksums: Checksums,
    parts: FingerprintParts,
    /// Without rows, if they come as a stream.
    files: TableFiles,
    cancelled: Option<Cancelled>,
}

impl FolderWriter {
    /// Starts the folder of a run. It is completed in a temporary folder inside `scratch`, which
    /// must be in the same file system.
    ///
    /// # Errors
    /// If another folder is at its path, or the folder cannot be written.
    pub fn create(scenario: &Scenario, path: &Path, scratch: &Path) -> Result<Self, FolderError> {
        let hash = scenario.content_hash();
        Self::create_hashed((&hash, scenario.run.seed), path, scratch)
    }

    /// [`create`](Self::create) for callers that know the scenario's seed and its [content
    /// hash](Scenario::content_hash), which is slow to compute with many flows.
    ///
    /// # Errors
    /// As `create`.
    pub fn create_hashed(
        (scenario_hash, seed): (&str, u64),
        path: &Path,
        scratch: &Path,
    ) -> Result<Self, FolderError> {
        RunFolder::check_free(path)?;
        let partial = PartialFolder::create(scratch).map_err(io_error("write into", scratch))?;
        let files = TableFiles::new(partial.new_files(), path.to_owned(), scenario_hash, seed);
        Ok(Self {
            target: path.to_owned(),
            stream: None,
            partial,
            checksums: Checksums::default(),
            parts: FingerprintParts::default(),
            files,
            cancelled: None,
        })
    }

    /// Adds the overrides of the scenario to the files of tables: paths and values, without the
    /// seed, which the files have anyway.
    #[must_use]
    pub fn of_settings<'a>(
        mut self,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        self.files.set(settings.into_iter());
        self
    }

    /// Makes writing end with [`FolderError::Cancelled`] once this returns true, because the tables
    /// of many flows take a while.
    #[must_use]
    pub fn cancelled_by(mut self, cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.cancelled = Some(Arc::new(cancelled));
        self
    }

    /// A sink for the rows of a run in progress:
    /// [`RunOptions::sink`](crate::run::RunOptions::sink).
    pub fn sink(&mut self) -> SharedSink {
        let stream = || TableStream::start(self.files.others(), self.cancelled.clone());
        self.stream.get_or_insert_with(stream).sink()
    }

    /// Discards the folder; returns the error if its tables could not be written.
    pub fn abandon(mut self) -> Option<FolderError> {
        self.stream.take()?.finish().err()
    }

    /// Writes a run in one step, as `weir run` does; `note` is a comment at the start of the
    /// scenario.
    ///
    /// # Errors
    /// If another folder is at the path, or a file cannot be written; then the old state is kept.
    pub fn write(output: &RunOutput, note: &str, path: &Path) -> Result<Written, FolderError> {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        remove_leftovers(parent);
        let writer = Self::create(&output.scenario, path, parent)?;
        writer.finish(output, note).map(|(written, _)| written)
    }

    /// Writes the tables of the output, the scenario and the summary, and renames the folder to its
    /// name.
    ///
    /// # Errors
    /// If a file cannot be written; then the old state is kept.
    pub fn finish(
        mut self,
        output: &RunOutput,
        note: &str,
    ) -> Result<(Written, Fingerprint), FolderError> {
        let mut files = match self.stream.take() {
            Some(stream) => stream.finish()?,
            None => self.files.others(),
        };
        for (path, table) in output.tables() {
            self.go_on()?;
            files.complete(&path, table)?;
        }
        for written in files.close()? {
            self.parts.add(&written.kind, written.rows.as_bytes());
            self.checksums
                .add_digest(&file_name(&written.kind), &written.file);
        }
        let mut scenario = output.scenario.resolved_toml();
        if !note.is_empty() {
            scenario = format!("# {}\n{scenario}", note.replace('\n', "\n# "));
        }
        self.write_text(SCENARIO, &scenario)?;
        self.go_on()?;
        self.write_text(SUMMARY, &output.summary.to_json())?;
        let text = self.checksums.text();
        let path = self.partial.new_files().join(CHECKSUMS);
        fs::write(&path, text).map_err(|error| self.write_error(CHECKSUMS)(error))?;
        self.go_on()?;
        let fingerprint = self.parts.fingerprint(&output.summary);
        self.go_on()?;
        Ok((self.take_place(&output.summary)?, fingerprint))
    }

    /// # Errors
    /// [`FolderError::Cancelled`] if the run was cancelled.
    fn go_on(&self) -> Result<(), FolderError> {
        match &self.cancelled {
            Some(cancelled) if cancelled() => Err(FolderError::Cancelled),
            _ => Ok(()),
        }
    }

    /// Errors contain the final name of the file.
    fn write_error(&self, name: &str) -> impl FnOnce(io::Error) -> FolderError + use<> {
        io_error("write", &self.target.join(name))
    }

    fn write_text(&mut self, name: &str, text: &str) -> Result<(), FolderError> {
        let path = self.partial.new_files().join(name);
        fs::write(&path, text).map_err(|error| self.write_error(name)(error))?;
        self.checksums.add(name, text.as_bytes());
        Ok(())
    }

    /// Renames the folder to its name, unless the existing run has a fuller trace.
    fn take_place(self, summary: &Summary) -> Result<Written, FolderError> {
        let parent = self.target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(io_error("write into", parent))?;
        let _guard = lock_folder(parent);
        RunFolder::check_free(&self.target)?;
        if self.target.join(SUMMARY).is_file() {
            if let Ok(old) = RunFolder::open(&self.target) {
                let tables = |sums: &Checksums| -> BTreeSet<String> {
                    let tables = sums.paths().filter(|path| path.ends_with(".parquet"));
                    tables.map(str::to_owned).collect()
                };
                let (ours, theirs) = (tables(&self.checksums), tables(old.checksums()));
                if !theirs.is_subset(&ours) {
                    if is_same_result(summary, old.summary()) {
                        return Ok(Written::KeptFuller);
                    }
                    if ours.is_empty() {
                        return Ok(Written::KeptOther);
                    }
                }
            }
            keep_foreign(&self.target, &self.partial.new_files(), Path::new(""))
                .map_err(io_error("write", &self.target))?;
        }
        let replaced = self.partial.replace(&self.target);
        replaced.map_err(io_error("write", &self.target))?;
        Ok(Written::New)
    }
}

/// True for the paths in a run's folder that runs write, or wrote in format 2, which had a file for
/// each table.
fn is_own(path: &Path) -> bool {
    let texts = [SCENARIO, SUMMARY, CHECKSUMS];
    let folder = path
        .parent()
        .and_then(Path::to_str)
        .filter(|folder| !folder.is_empty());
    let is_table = match folder {
        Some(kind) => path.extension() == Some("parquet".as_ref()) && table_kind(kind).is_some(),
        None => is_table_file(path),
    };
    is_table || texts.iter().any(|text| path == Path::new(text))
}

/// Links the files that runs do not write from the old folder into the new one, at the same paths.
fn keep_foreign(old: &Path, new: &Path, below: &Path) -> io::Result<()> {
    for entry in fs::read_dir(old.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            keep_foreign(old, new, &path)?;
        } else if !is_own(&path) {
            let (from, to) = (old.join(&path), new.join(&path));
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            // A hard link needs no space, but some file systems do not support it.
            if fs::hard_link(&from, &to).is_err() {
                fs::copy(&from, &to)?;
            }
        }
    }
    Ok(())
}
