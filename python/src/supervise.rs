//! Work in another thread, which the calling thread watches: Ctrl-C ends it, and a Python callable
//! learns how far it is.

use crate::controller::calls_in_progress;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How often Ctrl-C and the progress are looked at.
const PERIOD: Duration = Duration::from_millis(25);

/// What the work tells its watcher, and the other way round.
#[derive(Debug, Default)]
pub struct Shared {
    /// Set when the work must end.
    pub cancel: Arc<AtomicBool>,
    /// How much is done, in the caller's own steps.
    pub done: AtomicU64,
}

/// Does the work without the interpreter's lock. A signal's exception, such as `KeyboardInterrupt`,
/// or one of `progress`, which is called with the number of steps that are done, cancels the work
/// and is raised when it has ended.
///
/// # Errors
/// That exception.
pub fn supervised<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Shared) -> T + Send,
) -> PyResult<T> {
    let shared = Shared::default();
    let (finished, result) = mpsc::channel();
    let (watched, watched_progress) = (&shared, progress);
    let (outcome, raised) = py.detach(move || {
        let mut raised = None;
        let mut call_times = CallTimes::default();
        thread::scope(|scope| {
            let shared = watched;
            scope.spawn(move || {
                // The watcher waits until the result is there.
                let _ = finished.send(work(shared));
            });
            loop {
                match result.recv_timeout(PERIOD) {
                    Ok(outcome) => return (Some(outcome), raised),
                    Err(RecvTimeoutError::Disconnected) => return (None, raised),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                call_times.interrupt_stuck_controllers(raised.is_some());
                if raised.is_none()
                    && let Err(error) = Python::attach(|py| look(py, watched_progress, shared))
                {
                    raised = Some(error);
                    shared.cancel.store(true, Ordering::Relaxed);
                }
            }
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    if let Some(progress) = progress {
        progress.call1(py, (shared.done.load(Ordering::Relaxed),))?;
    }
    outcome.ok_or_else(|| crate::errors::exception(py, "RunError", "the work panicked", None))
}

/// Since when each thread has been in the same call of a controller.
#[derive(Debug, Default)]
struct CallTimes(BTreeMap<(u64, u64), Instant>);

impl CallTimes {
    /// Raises an exception in controllers that do not return for too long; if the work must end, in
    /// those that have not returned since the last look.
    fn interrupt_stuck_controllers(&mut self, must_end: bool) {
        let inside = calls_in_progress();
        self.0.retain(|call, _| inside.contains(call));
        let now = Instant::now();
        for (thread, count) in inside {
            let since = *self.0.entry((thread, count)).or_insert(now);
            if since == now {
                continue;
            }
            Python::attach(|py| {
                let Ok(module) = py.import("weirlab.controller") else {
                    return;
                };
                let limit = module
                    .getattr("CALL_TIMEOUT_S")
                    .and_then(|limit| limit.extract());
                let limit: f64 = limit.unwrap_or(10.0);
                if must_end || since.elapsed().as_secs_f64() > limit {
                    // If it cannot be interrupted, the next look tries again.
                    let _ = module.call_method1("_interrupt", (thread,));
                    self.0.insert((thread, count), now);
                }
            });
        }
    }
}

fn look(py: Python<'_>, progress: Option<&Py<PyAny>>, shared: &Shared) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        progress.call1(py, (shared.done.load(Ordering::Relaxed),))?;
    }
    Ok(())
}
