//! The Parquet files of a run under construction: one for each kind of table. The tables of flows,
//! and those of links, follow one another in their file, and its first column has their names.
//!
//! A long table has row groups of its own. Short ones share a row group, so that ten thousand flows
//! with a few rows each do not have ten thousand times the metadata.

use super::encoding_threads::encode_all;
use super::folder_error::{FolderError, io_error};
use super::named_rows::{NamedRows, split};
use super::parquet::{Description, GroupWriter, PageCoder, RowGroup};
use crate::run::{RUN_FORMAT, table_kind};
use crate::table::{ColumnNote, RowBatch, ValueKind};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};

/// The size of the write buffer of each file in octets.
const BUFFER: usize = 1 << 18;
/// The maximum memory for rows of unfinished row groups, in all tables of a run. Above it, a table
/// that holds more than average ends its row group early.
const MAX_HELD: usize = 64 << 20;
/// The minimum memory of a table for ending its row group early, because smaller row groups would
/// consist largely of metadata.
const LEAST_RELEASED: usize = 1 << 16;
/// The maximum number of rows of a table that shares a row group with others. A run's tables arrive
/// in pieces of as many rows, so that shorter ones arrive whole.
const SHORT: usize = 1024;
/// The number of rows with which a shared row group ends: a reader of one table reads the others
/// too.
const SHARED: usize = 1 << 14;
/// The property of a file with the names of its tables that have no rows, a line each.
pub(super) const EMPTY: &str = "weir.empty";

/// A complete file.
#[derive(Debug)]
pub(super) struct WrittenTable {
    /// The kind of its tables: `flows`.
    pub kind: String,
    /// The checksum of its rows only, which do not contain the seed.
    pub rows: blake3::Hash,
    /// The checksum of the file.
    pub file: blake3::Hash,
}

/// The file of one kind of table.
struct KindFile {
    writer: GroupWriter<TableFile>,
    /// The names and the kinds of the columns.
    columns: Vec<(String, ValueKind)>,
    /// The row group of short tables.
    shared: Option<RowGroup>,
    /// The names of tables without rows.
    empty: Vec<String>,
}

/// The files of a run's tables.
pub(super) struct TableFiles {
    /// The folder in which they are written.
    folder: PathBuf,
    /// The final folder, which errors refer to.
    target: PathBuf,
    properties: Vec<(&'static str, String)>,
    kinds: BTreeMap<String, KindFile>,
    /// The row groups of long tables that are not complete, by the tables' paths.
    open: BTreeMap<String, RowGroup>,
    /// Complete row groups that are not in their files yet, with their kinds.
    complete: Vec<(String, RowGroup)>,
    /// Created on first use.
    coder: Option<PageCoder>,
    /// The memory held by all row groups.
    held: usize,
    max_held: usize,
}

impl TableFiles {
    /// No files yet, for a run whose scenario has this [content
    /// hash](crate::scenario::Scenario::content_hash).
    pub(super) fn new(folder: PathBuf, target: PathBuf, scenario_hash: &str, seed: u64) -> Self {
        let properties = vec![
            ("weir.format", RUN_FORMAT.to_string()),
            ("weir.scenario", scenario_hash.to_owned()),
            ("weir.seed", seed.to_string()),
        ];
        Self::with_properties(folder, target, properties)
    }

    fn with_properties(
        folder: PathBuf,
        target: PathBuf,
        properties: Vec<(&'static str, String)>,
    ) -> Self {
        Self {
            folder,
            target,
            properties,
            kinds: BTreeMap::new(),
            open: BTreeMap::new(),
            complete: Vec::new(),
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
        let (folder, target) = (self.folder.clone(), self.target.clone());
        Self::with_properties(folder, target, self.properties.clone())
    }

    /// Adds rows to the table with this path, which has more.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn append(&mut self, path: &str, rows: &dyn RowBatch) -> Result<(), FolderError> {
        let added = self.try_append(path, rows);
        if added.map_err(|error| self.write_error(path)(error))? {
            self.write_complete()?;
        }
        Ok(())
    }

    /// True if complete row groups should be written.
    fn try_append(&mut self, path: &str, rows: &dyn RowBatch) -> io::Result<bool> {
        let rows = NamedRows::of(path, rows);
        let group = self.open.remove(path);
        let file = self.kind_file(&rows)?;
        let mut group = group.unwrap_or_else(|| file.writer.row_group());
        let before = group.held_bytes();
        group.append(&rows, coder_in(&mut self.coder)?)?;
        let others = self.held.saturating_sub(before);
        let held = group.held_bytes();
        let share = self.max_held / (self.open.len() + 1);
        self.held = others + held;
        let is_large = self.held > self.max_held && held >= share.max(LEAST_RELEASED);
        let is_complete = is_large || group.is_full();
        if is_complete {
            self.complete.push((rows.kind().to_owned(), group));
        } else {
            self.open.insert(path.to_owned(), group);
        }
        Ok(is_complete)
    }

    /// Adds the last rows of the table with this path.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn complete(&mut self, path: &str, rows: &dyn RowBatch) -> Result<(), FolderError> {
        let added = self.try_complete(path, rows);
        added.map_err(|error| self.write_error(path)(error))?;
        if self.held > self.max_held {
            self.write_complete()?;
        }
        Ok(())
    }

    fn try_complete(&mut self, path: &str, rows: &dyn RowBatch) -> io::Result<()> {
        let rows = NamedRows::of(path, rows);
        let open = self.open.remove(path);
        let is_short = open.is_none() && rows.rows() <= SHORT;
        let file = self.kind_file(&rows)?;
        if rows.rows() == 0 && is_short {
            file.empty.extend(rows.name().map(str::to_owned));
        }
        let group = if is_short { file.shared.take() } else { open };
        let mut group = group.unwrap_or_else(|| file.writer.row_group());
        let before = group.held_bytes();
        group.append(&rows, coder_in(&mut self.coder)?)?;
        self.held = self.held.saturating_sub(before) + group.held_bytes();
        if is_short && group.rows() < SHARED {
            self.kind_file(&rows)?.shared = Some(group);
        } else {
            self.complete.push((rows.kind().to_owned(), group));
        }
        Ok(())
    }

    /// Writes the complete row groups, in their order.
    fn write_complete(&mut self) -> Result<(), FolderError> {
        let (kinds, groups): (Vec<_>, Vec<_>) = mem::take(&mut self.complete).into_iter().unzip();
        let held: usize = groups.iter().map(RowGroup::held_bytes).sum();
        self.held = self.held.saturating_sub(held);
        let encoded = coder_in(&mut self.coder).and_then(|coder| encode_all(groups, coder));
        let encoded = encoded.map_err(io_error("write", &self.target))?;
        for (kind, group) in kinds.iter().zip(encoded) {
            let written = match self.kinds.get_mut(kind) {
                Some(file) => file.writer.write(group).map(|_| ()),
                None => Ok(()),
            };
            written.map_err(|error| self.write_error(kind)(error))?;
        }
        Ok(())
    }

    /// Completes all files.
    ///
    /// # Errors
    /// If they cannot be written.
    pub(super) fn close(mut self) -> Result<Vec<WrittenTable>, FolderError> {
        for (path, group) in mem::take(&mut self.open) {
            let (kind, _) = split(&path);
            self.complete.push((kind.to_owned(), group));
        }
        for (kind, file) in &mut self.kinds {
            let shared = file.shared.take().map(|group| (kind.clone(), group));
            self.complete.extend(shared);
        }
        self.write_complete()?;
        let files = mem::take(&mut self.kinds).into_iter();
        let closed = files.map(|(kind, file)| {
            let target = self.target.join(file_name(&kind));
            file.close(kind).map_err(io_error("write", &target))
        });
        closed.collect()
    }

    /// The file of tables with such rows, created if necessary.
    fn kind_file(&mut self, rows: &NamedRows<'_>) -> io::Result<&mut KindFile> {
        let kind = rows.kind();
        if !self.kinds.contains_key(kind) {
            let path = self.folder.join(file_name(kind));
            let file = KindFile::create(rows, &self.properties, &path)?;
            self.kinds.insert(kind.to_owned(), file);
        }
        let file = self.kinds.get_mut(kind);
        let file = file.filter(|file| file.has_columns_of(rows));
        file.ok_or_else(|| {
            io::Error::other(format!("tables of the kind {kind} have different columns"))
        })
    }

    fn write_error(&self, path: &str) -> impl FnOnce(io::Error) -> FolderError + use<> {
        io_error("write", &self.target.join(file_name(split(path).0)))
    }
}

impl KindFile {
    fn create(
        rows: &NamedRows<'_>,
        properties: &[(&'static str, String)],
        path: &Path,
    ) -> io::Result<Self> {
        let kind = table_kind(rows.kind());
        let named = kind.iter().filter_map(|kind| kind.named.as_ref());
        let columns = kind.iter().flat_map(|kind| &kind.columns);
        let table = ("weir.table", rows.kind().to_owned());
        let description = Description {
            columns: named.chain(columns).map(ColumnNote::from).collect(),
            properties: properties.iter().cloned().chain([table]).collect(),
        };
        let columns = rows.columns().into_iter();
        Ok(Self {
            writer: GroupWriter::new(rows, &description, TableFile::create(path)?)?,
            columns: columns
                .map(|(name, kind)| (name.to_owned(), kind))
                .collect(),
            shared: None,
            empty: Vec::new(),
        })
    }

    fn has_columns_of(&self, rows: &NamedRows<'_>) -> bool {
        let ours = self.columns.iter();
        ours.map(|(name, kind)| (name.as_str(), *kind))
            .eq(rows.columns())
    }

    fn close(mut self, kind: String) -> io::Result<WrittenTable> {
        if !self.empty.is_empty() {
            self.writer.add_property(EMPTY, self.empty.join("\n"));
        }
        let (rows, file) = self.writer.close(TableFile::digest)?;
        let file = file.finish()?;
        Ok(WrittenTable { kind, rows, file })
    }
}

/// The coder, created if necessary.
fn coder_in(place: &mut Option<PageCoder>) -> io::Result<&mut PageCoder> {
    match place {
        Some(coder) => Ok(coder),
        none => Ok(none.insert(PageCoder::new()?)),
    }
}

/// The name of the file of tables of this kind.
pub(super) fn file_name(kind: &str) -> String {
    format!("{kind}.parquet")
}

/// A file that is hashed while it is written.
struct TableFile {
    file: File,
    buffer: Vec<u8>,
    /// The number of hashed octets of the buffer.
    hashed: usize,
    hasher: blake3::Hasher,
}

impl TableFile {
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::create(path)?,
            buffer: Vec::new(),
            hashed: 0,
            hasher: blake3::Hasher::new(),
        })
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
    /// by page.
    fn spill(&mut self) -> io::Result<()> {
        self.hash();
        self.hashed = 0;
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
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

/// True for the name of the file of a kind of table.
pub(super) fn is_table_file(path: &Path) -> bool {
    let kind = path.to_str().and_then(|path| path.strip_suffix(".parquet"));
    kind.is_some_and(|kind| !kind.contains('/') && table_kind(kind).is_some())
}

#[cfg(test)]
mod tests {
    use super::super::kind_file::{KindFile, VerifiedFile};
    use super::super::parquet::Part;
    use super::*;
    use crate::table::{Column, Table, Values};
    use parquet::file::metadata::RowGroupMetaData;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use proptest::prelude::*;
    use std::ops::Range;

    const WHOLE: Part<'static> = Part {
        columns: &|_| true,
        thinning: None,
    };

    fn files_in(folder: &Path) -> TableFiles {
        TableFiles::new(folder.to_owned(), folder.to_owned(), "a hash", 1)
    }

    /// A table of a link with drops that grow.
    fn table(number: u64, rows: Range<u64>) -> Table {
        let rows = rows.map(|row| row * row + number);
        Table {
            columns: [("drops", 0), ("marks", 7)]
                .map(|(name, more)| Column {
                    name: name.to_owned(),
                    values: Values::U64(rows.clone().map(|row| row + more).collect()),
                })
                .into(),
        }
    }

    fn opened(folder: &Path) -> KindFile {
        let file = File::open(folder.join("links.parquet")).unwrap();
        KindFile::open(VerifiedFile::read(file).unwrap(), true).unwrap()
    }

    /// The numbers of rows of the row groups.
    fn row_groups(folder: &Path) -> Vec<i64> {
        let file = File::open(folder.join("links.parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let groups = reader.metadata().row_groups().iter();
        groups.map(RowGroupMetaData::num_rows).collect()
    }

    #[test]
    fn a_file_has_the_tables_of_a_kind_and_says_what_they_are_of() {
        let place = tempfile::tempdir().unwrap();
        let mut files = files_in(place.path());
        files.set([("flow.f.start", "1s"), ("link.wire.rate", "2Mbit")].into_iter());
        files.complete("links/one", &table(1, 0..3)).unwrap();
        files.complete("links/none", &table(2, 0..0)).unwrap();
        files.complete("links/two", &table(3, 0..2)).unwrap();
        files.complete("packets", &table(4, 0..2)).unwrap();
        let written = files.close().unwrap();
        let kinds: Vec<_> = written.iter().map(|table| table.kind.as_str()).collect();
        assert_eq!(kinds, ["links", "packets"]);
        for table in &written {
            let octets = std::fs::read(place.path().join(file_name(&table.kind))).unwrap();
            assert_eq!(table.file, blake3::hash(&octets));
        }
        let read = super::super::parquet::read;
        let links = read(std::fs::read(place.path().join("links.parquet")).unwrap()).unwrap();
        let names: Vec<_> = links.columns.iter().map(|column| &column.name).collect();
        assert_eq!(names, ["link", "drops", "marks"]);
        let links: Vec<_> = links
            .words("link")
            .unwrap()
            .iter()
            .map(|link| &**link)
            .collect();
        assert_eq!(links, ["one", "one", "one", "two", "two"]);
        let packets = read(std::fs::read(place.path().join("packets.parquet")).unwrap()).unwrap();
        assert_eq!(packets, table(4, 0..2));
        let file = opened(place.path());
        assert_eq!(file.names(), ["none", "one", "two"]);
        let columns: Vec<_> = file.columns().into_iter().map(|(name, _)| name).collect();
        assert_eq!(columns, ["drops", "marks"]);
        assert_eq!(file.read("none", &WHOLE).unwrap(), Some(table(2, 0..0)));
        assert_eq!(file.read("two", &WHOLE).unwrap(), Some(table(3, 0..2)));
        assert_eq!(file.read("three", &WHOLE).unwrap(), None);

        let file = File::open(place.path().join("links.parquet")).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let properties = reader.metadata().file_metadata().key_value_metadata();
        let property = |key: &str| {
            let mut properties = properties.unwrap().iter();
            properties
                .find(|property| property.key == key)?
                .value
                .clone()
        };
        let settings = property("weir.settings").unwrap();
        assert_eq!(settings, "flow.f.start=1s\nlink.wire.rate=2Mbit");
        assert_eq!(property("weir.table").unwrap(), "links");
        assert_eq!(property(EMPTY).unwrap(), "none");
        let names = reader
            .metadata()
            .row_group(0)
            .column(0)
            .statistics()
            .unwrap();
        assert_eq!(names.min_bytes_opt(), Some(&b"one"[..]));
        assert_eq!(names.max_bytes_opt(), Some(&b"two"[..]));
    }

    #[test]
    fn short_tables_share_row_groups_and_a_long_one_has_its_own() {
        let place = tempfile::tempdir().unwrap();
        let mut files = files_in(place.path());
        let short = SHORT as u64;
        for number in 0..40 {
            files
                .complete(&format!("links/{number}"), &table(number, 0..short))
                .unwrap();
        }
        files
            .complete("links/long", &table(0, 0..short + 1))
            .unwrap();
        files.append("links/pieces", &table(0, 0..short)).unwrap();
        files
            .complete("links/pieces", &table(0, short..short + 1))
            .unwrap();
        files.close().unwrap();
        let shared = SHARED as i64;
        assert_eq!(
            row_groups(place.path()),
            [shared, shared, 1025, 1025, 8 * 1024]
        );
        let file = opened(place.path());
        for number in 0..40 {
            let read = file.read(&number.to_string(), &WHOLE).unwrap();
            assert_eq!(read, Some(table(number, 0..short)), "{number}");
        }
        // Columns of a row group that was just read with others.
        for (column, place) in [("marks", 1), ("drops", 0), ("marks", 1)] {
            let part = Part {
                columns: &|name| name == column,
                thinning: None,
            };
            let read = file.read("7", &part).unwrap().unwrap();
            assert_eq!(read.columns, table(7, 0..short).columns[place..=place]);
        }
        for name in ["long", "pieces"] {
            let read = file.read(name, &WHOLE).unwrap();
            assert_eq!(read, Some(table(0, 0..short + 1)), "{name}");
        }
    }

    #[test]
    fn many_tables_end_row_groups_early_and_lose_no_row() {
        const TABLES: u64 = 16;
        const ROUNDS: u64 = 40;
        const ROWS: u64 = 1024;
        let place = tempfile::tempdir().unwrap();
        let mut files = files_in(place.path());
        files.max_held = (2 * TABLES as usize) * LEAST_RELEASED;
        let mut most = 0;
        for round in 0..ROUNDS {
            for number in 0..TABLES {
                let rows = table(number, round * ROWS..(round + 1) * ROWS);
                let path = format!("links/{number}");
                if round + 1 < ROUNDS {
                    files.append(&path, &rows).unwrap();
                } else {
                    files.complete(&path, &rows).unwrap();
                }
                most = most.max(files.held);
            }
        }
        // The rows of one call may exceed the limit.
        assert!(
            most <= files.max_held + (1 << 20),
            "{most} octets were held"
        );
        files.close().unwrap();
        assert!(row_groups(place.path()).len() > TABLES as usize);
        let file = opened(place.path());
        for number in 0..TABLES {
            let read = file.read(&number.to_string(), &WHOLE).unwrap();
            assert_eq!(read, Some(table(number, 0..ROUNDS * ROWS)), "{number}");
        }
    }

    #[test]
    fn tables_of_a_kind_with_other_columns_are_an_error() {
        let place = tempfile::tempdir().unwrap();
        let mut files = files_in(place.path());
        files.complete("links/one", &table(1, 0..3)).unwrap();
        let mut other = table(2, 0..3);
        other.columns.pop();
        let error = files.complete("links/two", &other).unwrap_err().to_string();
        assert!(error.contains("links.parquet"), "{error}");
        assert!(error.contains("different columns"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]

        /// The row groups are encoded by two threads, in any order.
        #[test]
        fn tables_of_any_lengths_are_the_same_octets_and_come_back(
            lengths in prop::collection::vec(prop_oneof![0_u64..40, 0_u64..3000], 1..60),
        ) {
            let [first, second] = [(); 2].map(|()| {
                let place = tempfile::tempdir().unwrap();
                let mut files = files_in(place.path());
                for (number, rows) in (0..).zip(&lengths) {
                    files.complete(&format!("links/{number}"), &table(number, 0..*rows)).unwrap();
                }
                let written = files.close().unwrap();
                (place, written[0].file)
            });
            prop_assert_eq!(first.1, second.1);
            let file = opened(first.0.path());
            for (number, rows) in (0..).zip(&lengths) {
                let read = file.read(&number.to_string(), &WHOLE).unwrap();
                prop_assert_eq!(read, Some(table(number, 0..*rows)));
            }
        }
    }
}
