//! Writes the tables of a run in a separate thread during the run.
//!
//! The thread may be a few batches behind; then the run waits for it, so that memory is bounded.
//! After an error the thread accepts no more rows, and the run can end early.

use super::folder_error::{FolderError, io_error};
use super::table_files::TableFiles;
use crate::fault::CaughtThread;
use crate::table::{RowBatch, TableSink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of batches sent together, because waking the thread costs as much as making a batch.
const GROUP: usize = 4;
/// The number of groups queued for the thread.
const MAX_WAITING: usize = 4;

/// Rows of the table with this path, and whether they are its last.
type Batch = (Arc<str>, Box<dyn RowBatch + Send>, bool);

/// Returns true once the run is cancelled.
pub(super) type Cancelled = Arc<dyn Fn() -> bool + Send + Sync>;

/// Batches that have not been sent to the thread, and the channel to it.
struct Way {
    group: Vec<Batch>,
    sender: SyncSender<Vec<Batch>>,
}

impl Way {
    /// Sends the waiting batches; false if the thread accepts no more.
    fn send(&mut self) -> bool {
        self.sender.send(std::mem::take(&mut self.group)).is_ok()
    }
}

/// The run's end of the channel to the thread.
pub(super) struct StreamSink {
    /// `None` once the run has ended.
    way: Mutex<Option<Way>>,
    broken: AtomicBool,
}

/// The files with all rows, or the reason why they do not have them.
type Written = Result<TableFiles, FolderError>;

/// The stream of tables to their files.
pub(super) struct TableStream {
    sink: Arc<StreamSink>,
    /// An error if the thread cannot be started; then the sink discards all rows.
    thread: Option<Result<CaughtThread<Written>, FolderError>>,
}

impl TableStream {
    /// Starts the thread, which ends with an error once the run is cancelled.
    pub(super) fn start(files: TableFiles, cancelled: Option<Cancelled>) -> Self {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        let folder = files.folder().to_owned();
        let thread = CaughtThread::start(move || write_all(files, receiver, cancelled));
        Self {
            sink: Arc::new(StreamSink {
                way: Mutex::new(Some(Way {
                    group: Vec::new(),
                    sender,
                })),
                broken: AtomicBool::new(false),
            }),
            thread: Some(thread.map_err(io_error("write", &folder))),
        }
    }

    /// The sink for the run.
    pub(super) fn sink(&self) -> Arc<StreamSink> {
        Arc::clone(&self.sink)
    }

    /// Waits until the files have all rows.
    ///
    /// # Errors
    /// The first error of writing.
    pub(super) fn finish(mut self) -> Written {
        if let Some(mut way) = self.sink.way().take() {
            // If the thread accepts no more, its result has the error.
            way.send();
        }
        match self.thread.take() {
            Some(thread) => thread?.join()?,
            None => Err(FolderError::Cancelled),
        }
    }
}

impl Drop for TableStream {
    /// The thread must not write into a folder that is being removed.
    fn drop(&mut self) {
        *self.sink.way() = None;
        if let Some(Ok(thread)) = self.thread.take() {
            // Its result is not needed.
            let _ = thread.join();
        }
    }
}

impl StreamSink {
    fn way(&self) -> std::sync::MutexGuard<'_, Option<Way>> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, batch: Batch) {
        let mut way = self.way();
        let taken = way.as_mut().is_some_and(|way| {
            way.group.push(batch);
            way.group.len() < GROUP || way.send()
        });
        if !taken {
            self.broken.store(true, Ordering::Relaxed);
        }
    }
}

impl TableSink for StreamSink {
    fn append(&self, path: &Arc<str>, rows: Box<dyn RowBatch + Send>) {
        self.send((Arc::clone(path), rows, false));
    }

    fn complete(&self, path: &Arc<str>, rows: Box<dyn RowBatch + Send>) {
        self.send((Arc::clone(path), rows, true));
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

fn write_all(
    mut files: TableFiles,
    groups: Receiver<Vec<Batch>>,
    cancelled: Option<Cancelled>,
) -> Written {
    for (path, rows, is_last) in groups.into_iter().flatten() {
        if cancelled.as_ref().is_some_and(|cancelled| cancelled()) {
            return Err(FolderError::Cancelled);
        }
        if is_last {
            files.complete(&path, &*rows)?;
        } else {
            files.append(&path, &*rows)?;
        }
    }
    Ok(files)
}
