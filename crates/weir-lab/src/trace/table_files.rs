//! The Parquet files of a run under construction.

use super::folder_error::{FolderError, io_error};
use super::parquet::{Description, PageCoder, TableWriter, schema_of};
use crate::run::{RUN_FORMAT, table_kind};
use crate::table::{ColumnNote, RowBatch, ValueKind};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The size of the write buffer of each file in octets.
const BUFFER: usize = 1 << 18;
/// The maximum memory for rows of unfinished row groups, in all tables of a run. Above it, a table
/// that holds more than average ends its row group early.
const MAX_HELD: usize = 64 << 20;
/// The minimum memory of a table for ending its row group early, because smaller row groups would
/// consist largely of metadata.
const LEAST_RELEASED: usize = 1 << 16;

/// A complete file.
#[derive(Debug)]
pub(super) struct WrittenTable {
    /// The path of the table: `flows/stream`.
    pub path: String,
    /// The checksum of its rows only, which do not contain the seed.
    pub rows: blake3::Hash,
    /// The checksum of the file.
    pub file: blake3::Hash,
}

/// The column descriptions of tables with the same columns.
struct TableSchema {
    /// The tables: `flows`.
    table: String,
    columns: Vec<(String, ValueKind)>,
    schema: Arc<str>,
}

/// The files of a run's tables.
pub(super) struct TableFiles {
    /// The folder in which they are written.
    folder: PathBuf,
    /// The final folder, which errors refer to.
    target: PathBuf,
    properties: Vec<(&'static str, String)>,
    open: BTreeMap<String, TableWriter<TableFile>>,
    /// The schemas of tables so far: the tables of a thousand flows have the same columns.
    schemas: Vec<TableSchema>,
    /// Created on first use.
    coder: Option<PageCoder>,
    /// The memory held by all open tables.
    held: usize,
    max_held: usize,
}

impl TableFiles {
    /// No files yet, for a run whose scenario has this [content
    /// hash](crate::scenario::Scenario::content_hash).
    pub(super) fn new(folder: PathBuf, target: PathBuf, scenario_hash: &str, seed: u64) -> Self {
        Self {
            folder,
            target,
            properties: vec![
                ("weir.format", RUN_FORMAT.to_string()),
                ("weir.scenario", scenario_hash.to_owned()),
                ("weir.seed", seed.to_string()),
            ],
            open: BTreeMap::new(),
            schemas: Vec::new(),
            coder: None,
            held: 0,
            max_held: MAX_HELD,
        }
    }

    /// Adds the scenario's overrides, paths and values, to the metadata of files.
    pub(super) fn set<'a>(&mut self, settings: impl Iterator<Item = (&'a str, &'a str)>) {
        let lines: Vec<String> = settings
            .map(|(path, value)| format!("{path}={value}"))
            .collect();
        if !lines.is_empty() {
            self.properties.push(("weir.settings", lines.join("\n")));
        }
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A new set of files for the same run.
    pub(super) fn others(&self) -> Self {
        Self {
            folder: self.folder.clone(),
            target: self.target.clone(),
            properties: self.properties.clone(),
            open: BTreeMap::new(),
            schemas: Vec::new(),
            coder: None,
            held: 0,
            max_held: MAX_HELD,
        }
    }

    /// Adds rows to the table with this path.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn append(&mut self, path: &str, rows: &dyn RowBatch) -> Result<(), FolderError> {
        self.try_append(path, rows)
            .map_err(|error| self.write_error(path)(error))
    }

    fn try_append(&mut self, path: &str, rows: &dyn RowBatch) -> io::Result<()> {
        let coder = coder_in(&mut self.coder)?;
        let tables = self.open.len();
        if let Some(writer) = self.open.get_mut(path) {
            let before = writer.held_bytes();
            writer.append(rows, coder)?;
            let mut held = writer.held_bytes();
            let others = self.held.saturating_sub(before);
            let share = self.max_held / tables.max(1);
            if others + held > self.max_held && held >= share.max(LEAST_RELEASED) {
                writer.release(coder)?.spill()?;
                held = writer.held_bytes();
            }
            self.held = others + held;
            return Ok(());
        }
        let file = TableFile::new(self.folder.join(file_name(path)));
        let description = describe(
            path,
            &self.properties,
            schema_in(&mut self.schemas, path, rows),
        );
        let mut writer = TableWriter::new(rows, &description, file)?;
        writer.append(rows, coder)?;
        self.held += writer.held_bytes();
        self.open.insert(path.to_owned(), writer);
        Ok(())
    }

    /// The table with this path, if it has rows. It is complete and is removed here, because the
    /// state of an open file would be too much for the tables of a hundred thousand flows.
    pub(super) fn take(&mut self, path: &str) -> Option<CompleteTable> {
        let (path, writer) = self.open.remove_entry(path)?;
        self.held = self.held.saturating_sub(writer.held_bytes());
        Some(self.complete_table(path, writer))
    }

    /// All tables.
    pub(super) fn take_all(&mut self) -> Vec<CompleteTable> {
        self.held = 0;
        let open = mem::take(&mut self.open).into_iter();
        open.map(|(path, writer)| self.complete_table(path, writer))
            .collect()
    }

    fn complete_table(&self, path: String, writer: TableWriter<TableFile>) -> CompleteTable {
        CompleteTable {
            target: self.target.join(file_name(&path)),
            path,
            writer,
        }
    }

    /// Closes the file of a table.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn close(&mut self, table: CompleteTable) -> Result<WrittenTable, FolderError> {
        table.close(&mut self.coder)
    }

    fn write_error(&self, path: &str) -> impl FnOnce(io::Error) -> FolderError + use<> {
        io_error("write", &self.target.join(file_name(path)))
    }
}

/// A table with all its rows.
pub(super) struct CompleteTable {
    /// The path of the table: `flows/stream`.
    path: String,
    /// The final path of its file.
    target: PathBuf,
    writer: TableWriter<TableFile>,
}

impl CompleteTable {
    /// Closes its file, with a coder that is created if necessary.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn close(self, coder: &mut Option<PageCoder>) -> Result<WrittenTable, FolderError> {
        let (path, writer) = (self.path, self.writer);
        let closed = coder_in(coder).and_then(|coder| writer.close(coder, TableFile::digest));
        let closed = closed.and_then(|(rows, file)| Ok((rows, file.finish()?)));
        let (rows, file) = closed.map_err(io_error("write", &self.target))?;
        Ok(WrittenTable { path, rows, file })
    }
}

/// The coder, created if necessary.
fn coder_in(place: &mut Option<PageCoder>) -> io::Result<&mut PageCoder> {
    match place {
        Some(coder) => Ok(coder),
        none => Ok(none.insert(PageCoder::new()?)),
    }
}

/// The schema of the table with this path and these rows, created if necessary.
fn schema_in(schemas: &mut Vec<TableSchema>, path: &str, rows: &dyn RowBatch) -> Arc<str> {
    let table = path.split('/').next().unwrap_or(path);
    let columns = rows.columns();
    let is_same = |known: &&TableSchema| {
        let others = known.columns.iter();
        known.table == table
            && others
                .map(|(name, kind)| (name.as_str(), *kind))
                .eq(columns.iter().copied())
    };
    if let Some(known) = schemas.iter().find(is_same) {
        return Arc::clone(&known.schema);
    }
    let description = Description {
        columns: notes_of(path),
        ..Description::default()
    };
    let schema: Arc<str> = schema_of(rows, &description).into();
    let columns = columns.into_iter();
    schemas.push(TableSchema {
        table: table.to_owned(),
        columns: columns
            .map(|(name, kind)| (name.to_owned(), kind))
            .collect(),
        schema: Arc::clone(&schema),
    });
    schema
}

/// The descriptions of the columns of the table with this path.
fn notes_of(path: &str) -> Vec<ColumnNote> {
    let kind = table_kind(path);
    let columns = kind.iter().flat_map(|kind| &kind.columns);
    columns.map(ColumnNote::from).collect()
}

/// The description of the table with this path, of a run with these properties.
fn describe(path: &str, properties: &[(&'static str, String)], schema: Arc<str>) -> Description {
    let (table, name) = path.split_once('/').unwrap_or((path, ""));
    let named = [("weir.table", table), ("weir.name", name)];
    let named = named.into_iter().filter(|(_, value)| !value.is_empty());
    let named = named.map(|(key, value)| (key, value.to_owned()));
    Description {
        properties: properties.iter().cloned().chain(named).collect(),
        schema: Some(schema),
        ..Description::default()
    }
}

/// The name of the file of the table with this path.
pub(super) fn file_name(path: &str) -> String {
    format!("{path}.parquet")
}

/// A file that is hashed while it is written. It is open only during writes, so that the tables of
/// a thousand flows do not need a thousand open files.
struct TableFile {
    path: PathBuf,
    buffer: Vec<u8>,
    /// The number of hashed octets of the buffer.
    hashed: usize,
    hasher: blake3::Hasher,
}

impl TableFile {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            buffer: Vec::new(),
            hashed: 0,
            hasher: blake3::Hasher::new(),
        }
    }

    /// The checksum of the octets written so far.
    fn digest(&mut self) -> blake3::Hash {
        self.hash();
        self.hasher.finalize()
    }

    /// Hashes the octets that are not hashed yet.
    fn hash(&mut self) {
        let new = self.buffer.get(self.hashed..).unwrap_or_default();
        self.hasher.update(new);
        self.hashed = self.buffer.len();
    }

    /// Hashes and writes the buffer. Hashing many octets at a time is several times as fast as page
    /// by page. The buffer is freed, so that a thousand files hold no memory between their row
    /// groups.
    fn spill(&mut self) -> io::Result<()> {
        self.hash();
        let buffer = mem::take(&mut self.buffer);
        self.hashed = 0;
        self.open()?.write_all(&buffer)
    }

    /// Opens the file to append to it. Its folder is missing only for the first table of a kind.
    fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        match (options.open(&self.path), self.path.parent()) {
            (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(parent)?;
                options.open(&self.path)
            }
            (opened, _) => opened,
        }
    }

    fn finish(mut self) -> io::Result<blake3::Hash> {
        self.spill()?;
        Ok(self.hasher.finalize())
    }
}

impl Write for TableFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(octets);
        if self.buffer.len() >= BUFFER {
            self.spill()?;
        }
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// True for the path of a table's file below the folder of a run.
pub(super) fn is_table(path: &Path) -> bool {
    let path = path.to_str().and_then(|path| path.strip_suffix(".parquet"));
    path.is_some_and(|path| table_kind(path).is_some())
}

#[cfg(test)]
mod tests {
    use super::super::parquet::read;
    use super::*;
    use crate::table::{Column, Table, Values};
    use ::parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn the_file_of_a_complete_table_is_there_before_the_others() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().to_owned();
        let mut files = TableFiles::new(folder.clone(), folder.clone(), "a hash", 1);
        let rows = Table {
            columns: vec![Column {
                name: "drops".to_owned(),
                values: Values::U64(vec![1, 2, 3]),
            }],
        };
        files.set([("flow.f.start", "1s"), ("link.wire.rate", "2Mbit")].into_iter());
        files.append("links/one", &rows).unwrap();
        files.append("links/two", &rows).unwrap();
        let one = files.take("links/one").unwrap();
        let one = files.close(one).unwrap();
        assert_eq!(files.open.len(), 1);
        assert_eq!(files.schemas.len(), 1);
        assert!(folder.join("links/one.parquet").is_file());
        assert!(!folder.join("links/two.parquet").is_file());
        let file = File::open(folder.join("links/one.parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let properties = reader.metadata().file_metadata().key_value_metadata();
        let mut properties = properties.unwrap().iter();
        let settings = properties.find(|property| property.key == "weir.settings");
        let settings = settings.and_then(|property| property.value.as_deref());
        assert_eq!(settings, Some("flow.f.start=1s\nlink.wire.rate=2Mbit"));
        assert_eq!(one.path, "links/one");
        let others = files.take_all();
        let others: Vec<_> = others.iter().map(|table| table.path.as_str()).collect();
        assert_eq!(others, ["links/two"]);
    }

    #[test]
    fn many_tables_end_row_groups_early_and_lose_no_row() {
        const TABLES: u64 = 16;
        const ROUNDS: u64 = 40;
        const ROWS: u64 = 1024;
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().to_owned();
        let mut files = TableFiles::new(folder.clone(), folder.clone(), "a hash", 1);
        files.max_held = (2 * TABLES as usize) * LEAST_RELEASED;
        let rows = |table: u64, round: u64| {
            let rows = (round * ROWS..(round + 1) * ROWS).map(|row| row * row + table);
            Table {
                columns: ["drops", "marks"]
                    .map(|name| Column {
                        name: name.to_owned(),
                        values: Values::U64(rows.clone().collect()),
                    })
                    .into(),
            }
        };
        let mut most = 0;
        for round in 0..ROUNDS {
            for table in 0..TABLES {
                files
                    .append(&format!("links/{table}"), &rows(table, round))
                    .unwrap();
                most = most.max(files.held);
            }
        }
        // The rows of one call may exceed the limit.
        assert!(
            most <= files.max_held + (1 << 20),
            "{most} octets were held"
        );
        assert!(folder.join("links/0.parquet").is_file());
        for table in files.take_all() {
            files.close(table).unwrap();
        }
        for table in 0..TABLES {
            let octets = fs::read(folder.join(format!("links/{table}.parquet"))).unwrap();
            let all: Vec<u64> = (0..ROUNDS * ROWS).map(|row| row * row + table).collect();
            let read = read(octets).unwrap();
            for column in read.columns {
                assert_eq!(column.values, Values::U64(all.clone()), "{}", column.name);
            }
        }
    }

    #[test]
    fn tables_with_other_columns_have_another_schema() {
        let table = |name: &str| Table {
            columns: vec![Column {
                name: name.to_owned(),
                values: Values::U64(vec![1]),
            }],
        };
        let (drops, marks) = (table("drops"), table("marks"));
        let mut schemas = Vec::new();
        let first = schema_in(&mut schemas, "links/one", &drops);
        assert_eq!(first, schema_in(&mut schemas, "links/two", &drops));
        assert_eq!(schemas.len(), 1);
        assert_ne!(first, schema_in(&mut schemas, "links/two", &marks));
        // The same columns in a table for which they have no descriptions.
        assert_ne!(first, schema_in(&mut schemas, "flows/two", &drops));
        let alone = Description {
            columns: notes_of("links/one"),
            ..Description::default()
        };
        assert_eq!(*first, schema_of(&drops, &alone));
    }
}
