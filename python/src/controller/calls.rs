//! Tracks the threads inside a controller, so that a call that does not return is detected.

use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A thread that may be inside a controller.
#[derive(Debug)]
pub struct Calls {
    /// The number of entries and exits: odd while the thread is inside.
    count: AtomicU64,
    /// The thread's identifier in Python.
    thread: u64,
}

/// All threads that run controllers.
static CALLS: Mutex<Vec<Weak<Calls>>> = Mutex::new(Vec::new());

/// The threads that are inside a controller: identifier and count of calls.
pub fn calls_in_progress() -> Vec<(u64, u64)> {
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    calls.retain(|calls| calls.strong_count() > 0);
    let inside = calls.iter().filter_map(Weak::upgrade).filter_map(|calls| {
        let count = calls.count.load(Ordering::Relaxed);
        (count % 2 == 1).then_some((calls.thread, count))
    });
    inside.collect()
}

impl Calls {
    /// The calls of this thread, which [`calls_in_progress`] lists while the value exists.
    pub(super) fn of_this_thread(py: Python<'_>) -> Arc<Self> {
        let thread = py
            .import("threading")
            .and_then(|module| module.call_method0("get_ident"));
        let thread = thread.and_then(|ident| ident.extract()).unwrap_or_default();
        let calls = Arc::new(Self {
            count: AtomicU64::new(0),
            thread,
        });
        let mut all = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::downgrade(&calls));
        calls
    }

    /// Counts an entry or an exit.
    pub(super) fn pass(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}
