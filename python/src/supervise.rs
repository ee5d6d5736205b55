//! Runs work in another thread, which the calling thread watches: Ctrl-C cancels it, and a Python
//! callable receives its progress.

use crate::controller::calls_in_progress;
use crate::errors::exception;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The period at which Ctrl-C and the progress are checked.
const PERIOD: Duration = Duration::from_millis(25);
/// The time after which a controller that was interrupted because of a timeout counts as stuck.
const GRACE: Duration = Duration::from_secs(1);
/// The same after Ctrl-C.
const GRACE_AT_END: Duration = Duration::from_millis(50);
const STUCK: &str = "a controller does not return and cannot be interrupted, because it waits \
    outside of Python's code; its thread is left behind";

/// State shared by the work and its watcher.
#[derive(Debug, Default)]
pub struct Shared {
    /// Set when the work must end.
    pub cancel: Arc<AtomicBool>,
    /// The number of completed steps, as counted by the caller.
    pub done: AtomicU64,
}

/// The result that the watcher has seen.
enum Watched<T> {
    Done(T),
    Panicked,
    /// The work is stuck in a controller.
    Stuck,
}

/// Runs the work without the interpreter's lock. An exception of a signal, such as
/// `KeyboardInterrupt`, or of `progress`, which is called with the number of completed steps,
/// cancels the work and is raised when it has ended. If the work is stuck in a controller that
/// cannot be interrupted, its thread is abandoned.
///
/// # Errors
/// The exception of a signal or of `progress`; `ControllerError` for a controller that is stuck.
pub fn supervised<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&Shared) -> T + Send + 'static,
) -> PyResult<T> {
    let shared = Arc::new(Shared::default());
    let (finished, result) = mpsc::channel();
    let of_work = Arc::clone(&shared);
    let spawned = thread::Builder::new()
        .name("weirlab".to_owned())
        .spawn(move || {
            // The receiver is gone if the caller has abandoned this thread.
            let _ = finished.send(attached_once(|| work(&of_work)));
        });
    let failed = |class: &str, message: &str| Err(exception(py, class, message, None));
    if let Err(error) = spawned {
        return failed("RunError", &format!("no thread for the work: {error}"));
    }
    let watched = &shared;
    let (outcome, raised) = py.detach(move || watch(result, progress, watched));
    if let Some(error) = raised {
        return Err(error);
    }
    if let Some(progress) = progress {
        progress.call1(py, (shared.done.load(Ordering::Relaxed),))?;
    }
    match outcome {
        Watched::Done(outcome) => Ok(outcome),
        Watched::Panicked => failed("RunError", "the work panicked"),
        Watched::Stuck => failed("ControllerError", STUCK),
    }
}

/// Runs the work in a thread that stays attached to Python: otherwise each call of a controller
/// would create a thread state and delete it again.
pub fn attached_once<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    Python::attach(|py| py.detach(work))
}

/// Waits for the result, and checks signals, progress and controllers meanwhile.
fn watch<T>(
    result: Receiver<T>,
    progress: Option<&Py<PyAny>>,
    shared: &Shared,
) -> (Watched<T>, Option<PyErr>) {
    let mut raised = None;
    let mut call_times = CallTimes::default();
    loop {
        match result.recv_timeout(PERIOD) {
            Ok(outcome) => return (Watched::Done(outcome), raised),
            Err(RecvTimeoutError::Disconnected) => return (Watched::Panicked, raised),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if call_times.is_stuck(raised.is_some()) {
            shared.cancel.store(true, Ordering::Relaxed);
            return (Watched::Stuck, raised);
        }
        if raised.is_none()
            && let Err(error) = Python::attach(|py| look(py, progress, shared))
        {
            raised = Some(error);
            shared.cancel.store(true, Ordering::Relaxed);
        }
    }
}

/// A call of a controller that has not returned.
#[derive(Debug)]
struct Call {
    begun: Instant,
    /// The time at which an exception was first raised in it.
    interrupted: Option<Instant>,
}

/// The calls in progress, by the identifier of the thread and the count of calls.
#[derive(Debug, Default)]
struct CallTimes(BTreeMap<(u64, u64), Call>);

impl CallTimes {
    /// Raises an exception in controllers that exceed the timeout, or, if the work must end, in
    /// those that have not returned since the last check. True if one continues in spite of the
    /// exception.
    fn is_stuck(&mut self, must_end: bool) -> bool {
        let inside = calls_in_progress();
        self.0.retain(|call, _| inside.contains(call));
        let (now, mut is_stuck) = (Instant::now(), false);
        for (thread, count) in inside {
            let call = self.0.entry((thread, count)).or_insert(Call {
                begun: now,
                interrupted: None,
            });
            if call.begun == now || !(must_end || call.begun.elapsed() > call_timeout()) {
                continue;
            }
            let since = *call.interrupted.get_or_insert(now);
            let grace = if must_end { GRACE_AT_END } else { GRACE };
            is_stuck |= since.elapsed() > grace;
            Python::attach(|py| {
                // If it cannot be interrupted, the next check tries again.
                let module = py.import("weirlab.controller");
                let _ = module.and_then(|module| module.call_method1("_interrupt", (thread,)));
            });
        }
        is_stuck
    }
}

/// The maximum duration of a call.
fn call_timeout() -> Duration {
    let seconds = Python::attach(|py| {
        let module = py.import("weirlab.controller")?;
        module.getattr("CALL_TIMEOUT_S")?.extract()
    });
    let seconds: PyResult<f64> = seconds;
    Duration::try_from_secs_f64(seconds.unwrap_or(10.0)).unwrap_or(Duration::MAX)
}

fn look(py: Python<'_>, progress: Option<&Py<PyAny>>, shared: &Shared) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        progress.call1(py, (shared.done.load(Ordering::Relaxed),))?;
    }
    Ok(())
}
