//! Closes the files of tables in two threads: the tables of a hundred flows end at the same time,
//! and their last pages have to be compressed.

use super::folder_error::FolderError;
use super::table_files::{CompleteTable, TableFiles, WrittenTable};
use crate::fault::CaughtThread;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// The number of tables queued for the second thread.
const MAX_WAITING: usize = 1;

/// The complete files, and the thread that completes some of them.
#[derive(Default)]
pub(super) struct Closing {
    written: Vec<WrittenTable>,
    /// Started with the first table.
    helper: Option<Helper>,
}

struct Helper {
    sender: SyncSender<CompleteTable>,
    thread: CaughtThread<Result<Vec<WrittenTable>, FolderError>>,
}

impl Closing {
    /// Closes the file of this table, in this thread if the other one is busy.
    ///
    /// # Errors
    /// If it cannot be written in this thread.
    pub(super) fn close(
        &mut self,
        table: CompleteTable,
        files: &mut TableFiles,
    ) -> Result<(), FolderError> {
        if self.helper.is_none() {
            self.helper = Helper::start();
        }
        let Some(helper) = &self.helper else {
            self.written.push(files.close(table)?);
            return Ok(());
        };
        match helper.sender.try_send(table) {
            Ok(()) => {}
            Err(TrySendError::Full(table) | TrySendError::Disconnected(table)) => {
                self.written.push(files.close(table)?);
            }
        }
        Ok(())
    }

    /// Waits for the other thread.
    ///
    /// # Errors
    /// If the other thread could not write a file.
    pub(super) fn finish(mut self) -> Result<Vec<WrittenTable>, FolderError> {
        if let Some(helper) = self.helper.take() {
            self.written.extend(helper.end()?);
        }
        Ok(std::mem::take(&mut self.written))
    }
}

impl Drop for Closing {
    /// The thread must not write into a folder that is being removed.
    fn drop(&mut self) {
        if let Some(helper) = self.helper.take() {
            // Its result is not needed.
            let _ = helper.end();
        }
    }
}

impl Helper {
    /// `None` if the system provides no thread.
    fn start() -> Option<Self> {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let thread = CaughtThread::start(move || close_all(receiver)).ok()?;
        Some(Self { sender, thread })
    }

    fn end(self) -> Result<Vec<WrittenTable>, FolderError> {
        drop(self.sender);
        self.thread.join()?
    }
}

fn close_all(tables: Receiver<CompleteTable>) -> Result<Vec<WrittenTable>, FolderError> {
    let mut coder = None;
    tables
        .into_iter()
        .map(|table| table.close(&mut coder))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Table, Values};
    use std::path::Path;

    const TABLES: usize = 40;

    fn files(folder: &Path, tables: usize) -> TableFiles {
        let mut files = TableFiles::new(folder.to_owned(), folder.to_owned(), "a hash", 1);
        let rows = Table {
            columns: vec![Column {
                name: "drops".to_owned(),
                values: Values::U64((0..5000).collect()),
            }],
        };
        for table in 0..tables {
            files.append(&format!("links/{table}"), &rows).unwrap();
        }
        files
    }

    fn close_all(files: &mut TableFiles) -> Result<Vec<WrittenTable>, FolderError> {
        let mut closing = Closing::default();
        for table in files.take_all() {
            closing.close(table, files)?;
        }
        closing.finish()
    }

    #[test]
    fn both_threads_write_the_same_files() {
        let place = tempfile::tempdir().unwrap();
        let written = close_all(&mut files(place.path(), TABLES)).unwrap();
        let mut paths: Vec<_> = written.iter().map(|table| table.path.as_str()).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), TABLES);
        for table in &written {
            let octets = std::fs::read(place.path().join(format!("{}.parquet", table.path)));
            assert_eq!(table.file, blake3::hash(&octets.unwrap()), "{}", table.path);
            assert_eq!(table.rows, written[0].rows, "{}", table.path);
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error_in_either_thread() {
        // With one table, the other thread writes it.
        for tables in [1, TABLES] {
            let place = tempfile::tempdir().unwrap();
            let mut files = files(place.path(), tables);
            std::fs::write(place.path().join("links"), "a file").unwrap();
            let error = close_all(&mut files).unwrap_err().to_string();
            assert!(error.contains("links/"), "{error}");
        }
    }
}
