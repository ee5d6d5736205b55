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

type Batch = (Arc<str>, Box<dyn RowBatch>);

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
    /// Starts the thread.
    pub(super) fn start(files: TableFiles) -> Self {
        let (sender, receiver) = sync_channel(MAX_WAITING);
        Self {
            sink: Arc::new(StreamSink {
                batches: Mutex::new(Some(sender)),
                broken: AtomicBool::new(false),
            }),
            thread: Some(std::thread::spawn(move || write_all(files, receiver))),
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
}

impl TableSink for StreamSink {
    fn append(&self, path: &Arc<str>, rows: Box<dyn RowBatch>) {
        let sent = match &*self.sender() {
            Some(sender) => sender.send((Arc::clone(path), rows)).is_ok(),
            None => false,
        };
        if !sent {
            self.broken.store(true, Ordering::Relaxed);
        }
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

fn write_all(
    mut files: TableFiles,
    batches: Receiver<Batch>,
) -> Result<Vec<WrittenTable>, FolderError> {
    for (path, rows) in batches {
        files.append(&path, &*rows)?;
    }
    files.finish()
}
