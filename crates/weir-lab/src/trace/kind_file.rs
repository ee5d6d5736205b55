//! Reads the file of one kind of table of a run.
//!
//! The file is verified with its checksum once, when it is opened; its tables are then read from
//! their row groups alone.

use super::parquet::{Part, RowsOfName, TableReader};
use super::table_files::EMPTY;
use crate::table::{Table, ValueKind};
use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

/// The octets that are hashed at once.
const HASHED: usize = 1 << 18;

/// The file of one kind of table.
pub(super) struct KindFile {
    file: TableReader<SharedFile>,
    /// The rows of each table by its name; absent if the kind has a single table.
    names: Option<BTreeMap<String, Vec<RowsOfName>>>,
    /// The last row group of many tables that was read: their readers take one after the other.
    shared: Mutex<Option<SharedRows>>,
}

/// Columns of a row group that many tables share.
struct SharedRows {
    row_group: usize,
    columns: Vec<String>,
    rows: Table,
}

impl KindFile {
    /// Opens a file whose content has been verified; `is_named` if its tables have names.
    ///
    /// # Errors
    /// If it is not in the format.
    pub(super) fn open(file: VerifiedFile, is_named: bool) -> Result<Self, ParquetError> {
        let file = TableReader::open(SharedFile {
            file: Arc::new(Mutex::new(file.file)),
            len: file.len,
        })?;
        let mut names = if is_named { Some(file.names()?) } else { None };
        let empty = file.property(EMPTY).into_iter().flat_map(str::lines);
        if let Some(names) = &mut names {
            for name in empty {
                names.entry(name.to_owned()).or_default();
            }
        }
        let shared = Mutex::new(None);
        Ok(Self {
            file,
            names,
            shared,
        })
    }

    /// The names of the tables; one empty name if the kind has a single table.
    pub(super) fn names(&self) -> Vec<&str> {
        match &self.names {
            Some(names) => names.keys().map(String::as_str).collect(),
            None => vec![""],
        }
    }

    /// The names and the kinds of a table's columns.
    pub(super) fn columns(&self) -> Vec<(String, ValueKind)> {
        let mut columns = self.file.columns();
        if self.names.is_some() {
            columns.drain(..columns.len().min(1));
        }
        columns
    }

    /// Reads a part of the table with this name, which is empty if the kind has a single table;
    /// `None` if there is no such table.
    ///
    /// # Errors
    /// If the file is damaged.
    pub(super) fn read(&self, name: &str, part: &Part<'_>) -> Result<Option<Table>, ParquetError> {
        let Some(names) = &self.names else {
            return self.file.read(part).map(Some);
        };
        let Some(rows) = names.get(name) else {
            return Ok(None);
        };
        let named = self.file.columns().into_iter().next();
        let part = Part {
            columns: &|column| {
                named.as_ref().is_some_and(|(named, _)| named != column) && (part.columns)(column)
            },
            thinning: part.thinning,
        };
        let is_whole = |rows: &RowsOfName| *rows == self.file.row_group(rows.row_group);
        if rows.iter().all(is_whole) {
            let row_groups = rows.iter().map(|rows| rows.row_group);
            return self.file.read_row_groups(&part, row_groups).map(Some);
        }
        let mut table = self.file.read_row_groups(&part, [])?;
        for rows in rows {
            table.append(self.shared_rows(rows, &part)?);
        }
        let thinning = part.thinning;
        let thinning = thinning.filter(|thinning| table.rows() as u64 > thinning.from_rows);
        Ok(Some(match thinning {
            Some(thinning) => table.thinned(thinning),
            None => table,
        }))
    }

    /// Reads rows of a row group that tables share.
    fn shared_rows(&self, rows: &RowsOfName, part: &Part<'_>) -> Result<Table, ParquetError> {
        let columns = self.file.columns().into_iter().map(|(name, _)| name);
        let columns: Vec<_> = columns.filter(|name| (part.columns)(name)).collect();
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let known = shared
            .take()
            .filter(|known| known.row_group == rows.row_group && known.columns == columns);
        let known = match known {
            Some(known) => known,
            None => SharedRows {
                row_group: rows.row_group,
                rows: self.read_row_group(rows.row_group, part)?,
                columns,
            },
        };
        let table = known.rows.rows_in(rows.rows.clone());
        *shared = Some(known);
        Ok(table)
    }

    fn read_row_group(&self, number: usize, part: &Part<'_>) -> Result<Table, ParquetError> {
        let whole = Part {
            columns: part.columns,
            thinning: None,
        };
        self.file.read_row_groups(&whole, [number])
    }
}

/// A file with its checksum.
pub(super) struct VerifiedFile {
    file: File,
    len: u64,
    pub(super) digest: blake3::Hash,
}

impl VerifiedFile {
    /// Reads a file once for its checksum.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn read(mut file: File) -> io::Result<Self> {
        let (mut hasher, mut len) = (blake3::Hasher::new(), 0);
        let mut octets = vec![0; HASHED];
        loop {
            let read = file.read(&mut octets)?;
            if read == 0 {
                break;
            }
            hasher.update(&octets[..read]);
            len += read as u64;
        }
        Ok(Self {
            file,
            len,
            digest: hasher.finalize(),
        })
    }
}

/// A file that several readers read at places of their own.
#[derive(Clone)]
struct SharedFile {
    file: Arc<Mutex<File>>,
    len: u64,
}

impl SharedFile {
    fn read_at(&self, at: u64, octets: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.read(octets)
    }
}

/// Reads a file from a place on.
struct FileFrom {
    file: SharedFile,
    at: u64,
}

impl Read for FileFrom {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.at, octets)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<FileFrom>;

    fn get_read(&self, at: u64) -> Result<Self::T, ParquetError> {
        let file = self.clone();
        Ok(BufReader::new(FileFrom { file, at }))
    }

    fn get_bytes(&self, at: u64, len: usize) -> Result<Bytes, ParquetError> {
        // A damaged length must not allocate more than the file has.
        let is_inside = at
            .checked_add(len as u64)
            .is_some_and(|end| end <= self.len);
        if !is_inside {
            return Err(ParquetError::EOF("a page lies outside the file".to_owned()));
        }
        let mut octets = vec![0; len];
        let file = self.clone();
        FileFrom { file, at }.read_exact(&mut octets)?;
        Ok(octets.into())
    }
}
