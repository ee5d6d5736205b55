//! Writes the tables of a run in a thread of their own while the run goes on.
//!
//! The thread may be a few batches behind; then the run waits for it, so that memory stays
//! bounded. After an error it takes no more rows, and the run can end early.

use super::folder_error::FolderError;
use super::table_files::{TableFiles, WrittenTable};
use crate::table::{RowBatch, TableSink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Batches that may wait for the thread.
const MAX_WAITING: usize = 16;

/// Rows of the table with this path; none once it is complete.
type Batch = (Arc<str>, Option<Box<dyn RowBatch>>);

/// Says whether the run is no longer wanted.
pub(super) type Cancelled = Arc<dyn Fn() -> bool + Send + Sync>;

/// The run's end of the way to the thread.
pub(super) struct StreamSink {
    batches: Mutex<Option<SyncSender<Batch>>>,
    broken: AtomicBool,
}

/// Tables on their way to files.
pub(super) struct TableStream {
    sink: Arc<StreamSink>,
    thread: Option<JoinHandle<Result<Vec<WrittenTable>, FolderError>>>,
}

impl TableStream {
    /// Starts the thread, which ends with an error once the run is cancelled.
    pub(super) fn start(files: TableFiles, cancelled: Option<Cancelled>) -> Self {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        Self {
            sink: Arc::new(StreamSink {
                batches: Mutex::new(Some(sender)),
                broken: AtomicBool::new(false),
            }),
            thread: Some(std::thread::spawn(move || {
                write_all(files, receiver, cancelled)
            })),
        }
    }

    /// What the run writes to.
    pub(super) fn sink(&self) -> Arc<StreamSink> {
        Arc::clone(&self.sink)
    }

    /// Completes the files.
    ///
    /// # Errors
    /// The first one of writing.
    pub(super) fn finish(mut self) -> Result<Vec<WrittenTable>, FolderError> {
        self.end().unwrap_or_else(|| Ok(Vec::new()))
    }

    fn end(&mut self) -> Option<Result<Vec<WrittenTable>, FolderError>> {
        *self.sink.sender() = None;
        match self.thread.take()?.join() {
            Ok(written) => Some(written),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for TableStream {
    /// The thread must not write into a folder that is being removed.
    fn drop(&mut self) {
        *self.sink.sender() = None;
        if let Some(thread) = self.thread.take() {
            // Its result is of no use any more.
            let _ = thread.join();
        }
    }
}

impl StreamSink {
    fn sender(&self) -> std::sync::MutexGuard<'_, Option<SyncSender<Batch>>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, batch: Batch) {
        let sender = self.sender();
        let sent = sender.as_ref().map(|sender| sender.send(batch));
        if !matches!(sent, Some(Ok(()))) {
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
    batches: Receiver<Batch>,
    cancelled: Option<Cancelled>,
) -> Result<Vec<WrittenTable>, FolderError> {
    for (path, rows) in batches {
        if cancelled.as_ref().is_some_and(|cancelled| cancelled()) {
            return Err(FolderError::Cancelled);
        }
        match rows {
            Some(rows) => files.append(&path, &*rows)?,
            None => files.complete(&path)?,
        }
    }
    files.finish()
}
