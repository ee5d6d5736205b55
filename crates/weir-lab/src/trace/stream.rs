//! Writes the tables of a run in a separate thread during the run.
//!
//! The thread may be a few batches behind; then the run waits for it, so that memory is bounded.
//! After an error the thread accepts no more rows, and the run can end early.

use super::closing::Closing;
use super::folder_error::{FolderError, io_error};
use super::table_files::{TableFiles, WrittenTable};
use crate::fault::CaughtThread;
use crate::table::{RowBatch, TableSink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// The number of batches sent together, because waking the thread costs as much as making a batch.
const GROUP: usize = 4;
/// The number of groups queued for the thread.
const MAX_WAITING: usize = 4;

/// Rows of the table with this path; `None` when it is complete.
type Batch = (Arc<str>, Option<Box<dyn RowBatch>>);

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

/// The files, or the reason why they are not complete.
type Written = Result<Vec<WrittenTable>, FolderError>;

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

    /// Waits until the files are complete.
    ///
    /// # Errors
    /// The first error of writing.
    pub(super) fn finish(mut self) -> Result<Vec<WrittenTable>, FolderError> {
        self.end_rows();
        match self.thread.take() {
            Some(thread) => thread?.join()?,
            None => Ok(Vec::new()),
        }
    }

    /// Ends the rows, so that the thread completes the files.
    pub(super) fn end_rows(&self) {
        if let Some(mut way) = self.sink.way().take() {
            // If the thread accepts no more, its result has the error.
            way.send();
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
    fn append(&self, path: &Arc<str>, rows: Box<dyn RowBatch>) {
        self.send((Arc::clone(path), Some(rows)));
    }

    fn complete(&self, path: &Arc<str>) {
        self.send((Arc::clone(path), None));
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

fn write_all(
    mut files: TableFiles,
    groups: Receiver<Vec<Batch>>,
    cancelled: Option<Cancelled>,
) -> Result<Vec<WrittenTable>, FolderError> {
    let mut closing = Closing::default();
    for (path, rows) in groups.into_iter().flatten() {
        if cancelled.as_ref().is_some_and(|cancelled| cancelled()) {
            return Err(FolderError::Cancelled);
        }
        match rows {
            Some(rows) => files.append(&path, &*rows)?,
            None => {
                if let Some(table) = files.take(&path) {
                    closing.close(table, &mut files)?;
                }
            }
        }
    }
    for table in files.take_all() {
        closing.close(table, &mut files)?;
    }
    closing.finish()
}
