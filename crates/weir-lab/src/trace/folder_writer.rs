//! Writes a run's folder under a temporary name and renames it, so that no program reads half of
//! one. The same scenario gives the same bytes: no file depends on the wall clock, and the time
//! that a run took is printed, not kept.
//!
//! A run that is there already gives way to its repetition, but only with what the run wrote:
//! plots, exports and notes stay. A repetition that kept less of its trace changes nothing.

use super::checksums::{CHECKSUMS, Checksums};
use super::folder::{RunFolder, SCENARIO, SUMMARY, summary_json};
use super::folder_error::{FolderError, io_error};
use super::partial::{PartialFolder, lock_folder, remove_leftovers};
use super::same_result::is_same_result;
use super::stream::{Cancelled, TableStream};
use super::table_files::{TableFiles, WrittenTable, file_name, is_table};
use crate::replication::{Fingerprint, FingerprintParts};
use crate::run::{RunOutput, Summary};
use crate::scenario::Scenario;
use crate::table::SharedSink;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What became of a run that was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The folder holds this run.
    New,
    /// The folder holds this run, which an earlier run with a fuller trace had written.
    KeptFuller,
    /// The folder holds an earlier run with the full trace of another result, made by another
    /// version; this run, which kept less, is not written.
    KeptOther,
}

/// A run's folder in the making.
pub struct FolderWriter {
    target: PathBuf,
    /// Before the folder that it writes into, which is removed after it.
    stream: Option<TableStream>,
    partial: PartialFolder,
    checksums: Checksums,
    parts: FingerprintParts,
    files: TableFiles,
    cancelled: Option<Cancelled>,
}

impl FolderWriter {
    /// Begins the folder of a run. It is completed in a temporary folder inside `scratch`, which
    /// is in the same file system.
    ///
    /// # Errors
    /// If another folder is at its path, or nothing can be written.
    pub fn create(scenario: &Scenario, path: &Path, scratch: &Path) -> Result<Self, FolderError> {
        let hash = scenario.content_hash();
        Self::create_hashed((&hash, scenario.run.seed), path, scratch)
    }

    /// [`create`](Self::create) for callers that know the scenario's
    /// [content hash](Scenario::content_hash), which takes a while with many flows, and its seed.
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

    /// The files of tables say what was set in the scenario: paths and values, without the seed,
    /// which they say anyway.
    #[must_use]
    pub fn of_settings<'a>(
        mut self,
        settings: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        self.files.set(settings.into_iter());
        self
    }

    /// Writing ends with [`FolderError::Cancelled`] once this says so: the tables of many flows
    /// take a while.
    #[must_use]
    pub fn cancelled_by(mut self, cancelled: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.cancelled = Some(Arc::new(cancelled));
        self
    }

    /// Takes rows from a run while it goes on: [`RunOptions::sink`](crate::run::RunOptions::sink).
    pub fn sink(&mut self) -> SharedSink {
        let stream = || TableStream::start(self.files.others(), self.cancelled.clone());
        self.stream.get_or_insert_with(stream).sink()
    }

    /// Gives the folder up; returns why its tables could not be written, if they could not.
    pub fn abandon(mut self) -> Option<FolderError> {
        self.stream.take()?.finish().err()
    }

    /// Writes a run in one step, as `weir run` does; `note` is a comment at the head of the
    /// scenario.
    ///
    /// # Errors
    /// If another folder is there, or a file cannot be written; then the old state is kept.
    pub fn write(output: &RunOutput, note: &str, path: &Path) -> Result<Written, FolderError> {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        remove_leftovers(parent);
        let writer = Self::create(&output.scenario, path, parent)?;
        writer.finish(output, note).map(|(written, _)| written)
    }

    /// Writes the tables of the output, the scenario and the summary, and gives the folder its
    /// name.
    ///
    /// # Errors
    /// If a file cannot be written; then the old state is kept.
    pub fn finish(
        mut self,
        output: &RunOutput,
        note: &str,
    ) -> Result<(Written, Fingerprint), FolderError> {
        if let Some(stream) = &self.stream {
            // Its files are completed beside the others.
            stream.end_rows();
        }
        for (path, table) in output.tables() {
            self.go_on()?;
            self.files.append(&path, table)?;
            if let Some(table) = self.files.take(&path) {
                let written = self.files.close(table)?;
                self.note(written);
            }
        }
        let mut scenario = output.scenario.resolved_toml();
        if !note.is_empty() {
            scenario = format!("# {}\n{scenario}", note.replace('\n', "\n# "));
        }
        self.write_text(SCENARIO, &scenario)?;
        self.go_on()?;
        self.write_text(SUMMARY, &summary_json(&output.summary))?;
        if let Some(stream) = self.stream.take() {
            for written in stream.finish()? {
                self.note(written);
            }
        }
        let text = self.checksums.text();
        let path = self.partial.new_files().join(CHECKSUMS);
        fs::write(&path, text).map_err(|error| self.write_error(CHECKSUMS)(error))?;
        self.go_on()?;
        let fingerprint = self.parts.fingerprint(&output.summary);
        self.go_on()?;
        Ok((self.take_place(&output.summary)?, fingerprint))
    }

    /// # Errors
    /// [`FolderError::Cancelled`] if the run is no longer wanted.
    fn go_on(&self) -> Result<(), FolderError> {
        match &self.cancelled {
            Some(cancelled) if cancelled() => Err(FolderError::Cancelled),
            _ => Ok(()),
        }
    }

    /// Errors name the file as it would have been called.
    fn write_error(&self, name: &str) -> impl FnOnce(io::Error) -> FolderError + use<> {
        io_error("write", &self.target.join(name))
    }

    fn write_text(&mut self, name: &str, text: &str) -> Result<(), FolderError> {
        let path = self.partial.new_files().join(name);
        fs::write(&path, text).map_err(|error| self.write_error(name)(error))?;
        self.checksums.add(name, text.as_bytes());
        Ok(())
    }

    fn note(&mut self, table: WrittenTable) {
        self.parts.add(&table.path, table.rows.as_bytes());
        let file = file_name(&table.path);
        self.checksums.add_digest(&file, &table.file);
    }

    /// Gives the folder its name, unless what has it is worth more.
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

/// True for the paths in a run's folder that runs write.
fn is_own(path: &Path) -> bool {
    let texts = [SCENARIO, SUMMARY, CHECKSUMS];
    is_table(path) || texts.iter().any(|text| path == Path::new(text))
}

/// Links the files that no run writes from the old folder into the new one, at the same paths.
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
            // A second name costs no space; some file systems have none.
            if fs::hard_link(&from, &to).is_err() {
                fs::copy(&from, &to)?;
            }
        }
    }
    Ok(())
}
