//! The folder of a sweep: the plan, a journal of finished runs, and the dataset.
//!
//! `journal/NUMBER.json` is a finished run; it is renamed to this name when it is complete. When a
//! block of 1,000 runs is complete, they are moved to `runs/block=NUMBER/runs.parquet`, which is
//! also renamed when it is complete, and then removed from the journal. A run that is in a block is
//! ignored in the journal, so that it counts once whenever a program is killed.
//!
//! `BLAKE3SUMS` has the checksums of the plan and of each block, which are verified whenever one is
//! read. A checksum is written before its file.

use super::plan::Plan;
use super::record::{Record, records_of, table_of};
use crate::run::column_of_runs;
use crate::table::{Column, Table, Values};
use crate::trace::{CHECKSUMS, Checksums, read_table, table_octets};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Runs of a block.
const BLOCK: u64 = 1000;
/// The maximum number of different errors that are kept.
pub const MOST_ERRORS: usize = 3;
const PLAN: &str = "plan.json";
const JOURNAL: &str = "journal";
const DATASET: &str = "runs";

/// Why the folder of a sweep cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be read.
    #[error("cannot read \"{path}\": {error}")]
    Read {
        /// The file or folder.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// A file cannot be written or removed.
    #[error("cannot write \"{path}\": {error}")]
    Write {
        /// The file or folder.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// The folder belongs to another plan.
    #[error(
        "{0} holds the runs of another plan; give another folder with --out, or remove this one"
    )]
    OtherPlan(String),
    /// Another program is writing to it.
    #[error("{0} is being written by another program")]
    Busy(String),
    /// A file of the dataset is damaged.
    #[error("{0} is damaged: {1}")]
    Damaged(String, String),
}

fn reading<T>(path: &Path, result: io::Result<T>) -> Result<T, StoreError> {
    let path = || path.display().to_string();
    result.map_err(|error| StoreError::Read {
        path: path(),
        error,
    })
}

fn writing<T>(path: &Path, result: io::Result<T>) -> Result<T, StoreError> {
    let path = || path.display().to_string();
    result.map_err(|error| StoreError::Write {
        path: path(),
        error,
    })
}

/// The open folder of a sweep, locked against other programs while this value exists.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    plan: Plan,
    state: Mutex<State>,
    _lock: Option<File>,
}

#[derive(Debug, Default)]
struct State {
    /// All completed runs.
    done: BTreeSet<u64>,
    /// Completed runs in the journal, by block.
    journal: BTreeMap<u64, BTreeSet<u64>>,
    failed: u64,
    /// The first different errors of failed runs, each with its run.
    errors: Vec<(u64, String)>,
    checksums: Checksums,
}

impl Store {
    /// Opens the folder for this plan, or makes it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(folder: &Path, plan: Plan) -> Result<Self, StoreError> {
        for part in ["", JOURNAL, DATASET] {
            let part = folder.join(part);
            writing(&part, fs::create_dir_all(&part))?;
        }
        let name = || folder.display().to_string();
        let file = writing(folder, File::create(folder.join(".lock")))?;
        let lock = match file.try_lock() {
            Ok(()) => Some(file),
            Err(fs::TryLockError::WouldBlock) => return Err(StoreError::Busy(name())),
            // Without support for locks in the file system, programs are not kept apart.
            Err(fs::TryLockError::Error(_)) => None,
        };
        let wanted = plan.to_json();
        let mut checksums = read_checksums(folder)?;
        if folder.join(PLAN).exists() {
            if read_checked(folder, PLAN, &checksums)? != wanted.as_bytes() {
                return Err(StoreError::OtherPlan(name()));
            }
        } else {
            checksums.add(PLAN, wanted.as_bytes());
            write_checksums(folder, &checksums)?;
            write_whole(&folder.join(PLAN), wanted.as_bytes())?;
        }
        let store = Self {
            folder: folder.to_owned(),
            state: Mutex::default(),
            plan,
            _lock: lock,
        };
        store.recover(&checksums)?;
        Ok(store)
    }

    /// Finds completed runs, and completes operations that a killed program began.
    fn recover(&self, checksums: &Checksums) -> Result<(), StoreError> {
        let mut state = self.state();
        remove_unfinished(&self.folder)?;
        remove_unfinished(&self.folder.join(JOURNAL))?;
        for path in files(&self.folder.join(DATASET), "")? {
            if path.is_dir() {
                remove_unfinished(&path)?;
            }
        }
        state.checksums.add(PLAN, self.plan.to_json().as_bytes());
        for name in blocks(&self.folder)? {
            let octets = read_checked(&self.folder, &name, checksums)?;
            state.checksums.add(&name, &octets);
            let records = records_of_file(&self.folder.join(&name), octets)?;
            for record in &records {
                state.count(record);
            }
        }
        if state.checksums != *checksums {
            write_checksums(&self.folder, &state.checksums)?;
        }
        for path in files(&self.folder.join(JOURNAL), "")? {
            let record = fs::read(&path).ok();
            let record = record.and_then(|octets| serde_json::from_slice::<Record>(&octets).ok());
            let record = record.filter(|r| self.journal_file(r.run) == path);
            match record {
                // A run whose file is truncated is executed again.
                None => writing(&path, fs::remove_file(&path))?,
                Some(record) if state.done.contains(&record.run) => {
                    writing(&path, fs::remove_file(&path))?;
                }
                Some(record) => state.add(&record),
            }
        }
        let whole: Vec<u64> = state.journal.keys().copied().collect();
        drop(state);
        for block in whole {
            self.compact_if_whole(block)?;
        }
        Ok(())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plan.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The runs that are not complete yet, in their order.
    pub fn missing(&self) -> Vec<u64> {
        let state = self.state();
        let runs = 0..self.plan.runs();
        runs.filter(|run| !state.done.contains(run)).collect()
    }

    /// True if the run with this number is complete.
    pub fn has(&self, run: u64) -> bool {
        self.state().done.contains(&run)
    }

    /// The first different errors of failed runs, in the order in which they were found: at most
    /// [`MOST_ERRORS`].
    pub fn errors(&self) -> Vec<String> {
        let state = self.state();
        let errors = state.errors.iter();
        errors
            .map(|(run, error)| format!("run {run}: {error}"))
            .collect()
    }

    /// The number of completed runs, and the number of those that failed.
    pub fn done(&self) -> (u64, u64) {
        let state = self.state();
        (state.done.len() as u64, state.failed)
    }

    /// Stores a record in the journal, where it remains if the program is killed. A run that is
    /// already stored is not changed: equal runs have equal records.
    ///
    /// # Errors
    /// [`StoreError`]; then the record is not stored.
    pub fn commit(&self, record: &Record) -> Result<(), StoreError> {
        if record.run >= self.plan.runs() || self.state().done.contains(&record.run) {
            return Ok(());
        }
        let path = self.journal_file(record.run);
        let octets = serde_json::to_vec(record);
        write_whole(&path, &writing(&path, octets.map_err(io::Error::other))?)?;
        self.state().add(record);
        self.compact_if_whole(record.run / BLOCK)
    }

    fn journal_file(&self, run: u64) -> PathBuf {
        self.folder.join(JOURNAL).join(format!("{run:09}.json"))
    }

    /// Writes a block of the dataset if all its runs are complete.
    fn compact_if_whole(&self, block: u64) -> Result<(), StoreError> {
        let state = self.state();
        let (first, end) = (block * BLOCK, ((block + 1) * BLOCK).min(self.plan.runs()));
        let there = state.done.range(first..end).count() as u64;
        if there < end - first {
            return Ok(());
        }
        self.compact(state, block)
    }

    /// Moves the runs of the journal into the dataset, including those of incomplete blocks.
    ///
    /// # Errors
    /// [`StoreError`]; then no record is lost.
    pub fn flush(&self) -> Result<(), StoreError> {
        let blocks: Vec<u64> = self.state().journal.keys().copied().collect();
        for block in blocks {
            self.compact(self.state(), block)?;
        }
        Ok(())
    }

    fn compact(
        &self,
        mut state: std::sync::MutexGuard<'_, State>,
        block: u64,
    ) -> Result<(), StoreError> {
        let Some(runs) = state.journal.get(&block).cloned() else {
            return Ok(());
        };
        let name = format!("{DATASET}/block={block:06}/runs.parquet");
        let path = self.folder.join(&name);
        let folder = path.parent().unwrap_or(&self.folder);
        writing(folder, fs::create_dir_all(folder))?;
        let is_replaced = path.exists();
        let mut records = if is_replaced {
            let octets = read_checked(&self.folder, &name, &state.checksums)?;
            records_of_file(&path, octets)?
        } else {
            Vec::new()
        };
        for run in &runs {
            let file = self.journal_file(*run);
            let octets = reading(&file, fs::read(&file))?;
            let record = serde_json::from_slice(&octets).map_err(io::Error::other);
            records.push(reading(&file, record)?);
        }
        records.sort_by_key(|record| record.run);
        let octets = writing(&path, octets_of(&self.plan, &records))?;
        state.checksums.add_alternative(&name, &octets);
        write_checksums(&self.folder, &state.checksums)?;
        write_whole(&path, &octets)?;
        if is_replaced {
            state.checksums.add(&name, &octets);
            write_checksums(&self.folder, &state.checksums)?;
        }
        state.journal.remove(&block);
        for run in &runs {
            let file = self.journal_file(*run);
            writing(&file, fs::remove_file(&file))?;
        }
        Ok(())
    }

    /// All rows of all completed runs, in the order of the runs.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn table(&self) -> Result<Table, StoreError> {
        self.flush()?;
        read_dataset(&self.folder)
    }
}

impl State {
    fn add(&mut self, record: &Record) {
        self.count(record);
        self.journal
            .entry(record.run / BLOCK)
            .or_default()
            .insert(record.run);
    }

    fn count(&mut self, record: &Record) {
        self.done.insert(record.run);
        let Some(error) = &record.error else {
            return;
        };
        self.failed += 1;
        if self.errors.len() < MOST_ERRORS && !self.errors.iter().any(|(_, known)| known == error) {
            self.errors.push((record.run, error.clone()));
        }
    }
}

/// The file of these records, with descriptions of its columns.
fn octets_of(plan: &Plan, records: &[Record]) -> io::Result<Vec<u8>> {
    table_octets(&table_of(plan, records), |column| {
        column_of_runs(column).or_else(|| plan.note_of(column))
    })
}

/// The dataset in the folder of a sweep as one table, in the order of the runs.
///
/// # Errors
/// [`StoreError`].
pub fn read_dataset(folder: &Path) -> Result<Table, StoreError> {
    let mut all = Table::default();
    for block in read_blocks(folder)? {
        let (path, octets) = block?;
        append(&mut all, table_of_file(&path, octets)?);
    }
    Ok(all)
}

/// The names of the files of the dataset in the folder, in the order of the runs.
fn blocks(folder: &Path) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    for block in files(&folder.join(DATASET), "")? {
        if block.is_dir() {
            let names = files(&block, "parquet")?.into_iter();
            found.extend(names.map(|path| name_in(folder, &path)));
        }
    }
    Ok(found)
}

/// The name of a file in the checksums, with `/` between folders.
fn name_in(folder: &Path, path: &Path) -> String {
    let parts = path.strip_prefix(folder).unwrap_or(path).iter();
    let parts: Vec<_> = parts.map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

/// A file of the dataset and its content.
type Block = (PathBuf, Vec<u8>);

/// The files of the dataset, in the order of the runs.
fn read_blocks(
    folder: &Path,
) -> Result<impl Iterator<Item = Result<Block, StoreError>>, StoreError> {
    // Files are listed before the checksums are read, because a writing program adds the checksum
    // first.
    let names = blocks(folder)?;
    let checksums = read_checksums(folder)?;
    Ok(names.into_iter().map(move |name| {
        let octets = read_checked(folder, &name, &checksums)?;
        Ok((folder.join(name), octets))
    }))
}

/// The records of the dataset in the folder of a sweep, in the order of the runs.
pub(super) fn read_records(folder: &Path) -> Result<Vec<Record>, StoreError> {
    let mut all = Vec::new();
    for block in read_blocks(folder)? {
        let (path, octets) = block?;
        all.extend(records_of_file(&path, octets)?);
    }
    Ok(all)
}

/// The plan in the folder of a sweep.
pub(super) fn read_plan(folder: &Path) -> Result<Plan, StoreError> {
    let octets = read_checked(folder, PLAN, &read_checksums(folder)?)?;
    let text = String::from_utf8(octets).map_err(|error| error.to_string());
    let plan = text.and_then(|text| Plan::from_json(&text).map_err(|error| error.0));
    plan.map_err(|why| damaged(&folder.join(PLAN), why))
}

/// The checksums of the folder's files; empty for a new folder.
fn read_checksums(folder: &Path) -> Result<Checksums, StoreError> {
    let path = folder.join(CHECKSUMS);
    match fs::read(&path) {
        Ok(octets) => {
            let text = String::from_utf8(octets).map_err(|error| error.to_string());
            let sums = text.and_then(|text| Checksums::parse(&text));
            sums.map_err(|why| damaged(&path, why))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Checksums::default()),
        Err(error) => reading(&path, Err(error)),
    }
}

fn write_checksums(folder: &Path, checksums: &Checksums) -> Result<(), StoreError> {
    write_whole(&folder.join(CHECKSUMS), checksums.text().as_bytes())
}

/// The content of a file of the folder, verified by its checksum.
fn read_checked(folder: &Path, name: &str, checksums: &Checksums) -> Result<Vec<u8>, StoreError> {
    let path = folder.join(name);
    let octets = reading(&path, fs::read(&path))?;
    let checked = checksums.check(name, &octets);
    checked.map_err(|why| damaged(&path, why))?;
    Ok(octets)
}

fn damaged(path: &Path, why: String) -> StoreError {
    StoreError::Damaged(path.display().to_string(), why)
}

/// Adds rows; blocks of one plan have the same columns.
fn append(all: &mut Table, more: Table) {
    if all.columns.is_empty() {
        *all = more;
        return;
    }
    for (Column { values, .. }, more) in all.columns.iter_mut().zip(more.columns) {
        match (values, more.values) {
            (Values::F64(values), Values::F64(more)) => values.extend(more),
            (Values::U64(values), Values::U64(more)) => values.extend(more),
            (Values::Text(values), Values::Text(more)) => values.extend(more),
            _ => {}
        }
    }
}

fn table_of_file(path: &Path, octets: Vec<u8>) -> Result<Table, StoreError> {
    read_table(octets).map_err(|error| damaged(path, error.to_string()))
}

fn records_of_file(path: &Path, octets: Vec<u8>) -> Result<Vec<Record>, StoreError> {
    let table = table_of_file(path, octets)?;
    let records = records_of(&table);
    records.ok_or_else(|| damaged(path, "it has other columns than a sweep".to_owned()))
}

/// The prefix of the names of incomplete files.
const UNFINISHED: &str = ".new-";

/// Removes incomplete files of a killed program.
fn remove_unfinished(folder: &Path) -> Result<(), StoreError> {
    for entry in reading(folder, fs::read_dir(folder))? {
        let path = reading(folder, entry)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(UNFINISHED) {
            writing(&path, fs::remove_file(&path))?;
        }
    }
    Ok(())
}

/// The visible entries of a folder with this extension, or all if it is empty; sorted.
fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, StoreError> {
    let mut found = Vec::new();
    for entry in reading(folder, fs::read_dir(folder))? {
        let path = reading(folder, entry)?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let wanted = extension.is_empty() || path.extension().is_some_and(|e| e == extension);
        if !hidden && wanted {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Writes a file under a temporary name and renames it when it is complete and on the disk.
fn write_whole(path: &Path, octets: &[u8]) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(folder)?;
        // The error of the file itself, because that of the temporary file contains its name.
        file.as_file_mut().write_all(octets)?;
        // Files of the journal are not synchronised, because a lost run is only executed again.
        if !folder.ends_with(JOURNAL) {
            file.as_file().sync_all()?;
        }
        file.persist(path)?;
        Ok(())
    };
    writing(path, write())
}
