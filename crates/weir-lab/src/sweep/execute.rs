//! Executes the runs of a plan: one, or all that a store lacks.

use super::plan::{Plan, WorkItem};
use super::record::Record;
use super::store::{Store, StoreError};
use crate::fault::caught;
use crate::replication::{self, in_order};
use crate::run::{RunError, RunOptions, TraceLevel, TransportRegistry, run};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Options of a sweep.
#[derive(Clone, Copy, Default)]
pub struct SweepOptions<'a> {
    /// Transports that the caller provides.
    pub registry: TransportRegistry<'a>,
    /// Set by another thread to end the sweep; unfinished runs are not recorded.
    pub cancel: Option<&'a AtomicBool>,
    /// Called in the thread of a run when it has ended; returns a reason for a failure that only
    /// the caller knows.
    pub explain: Option<&'a (dyn Fn() -> Option<String> + Sync)>,
    /// Called after each run with the number of completed runs.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
    /// The number of parallel runs; the number of cores if absent.
    pub threads: Option<usize>,
    /// Called in each thread of the sweep with its work, which it must call once.
    pub each_thread: Option<&'a EachThread<'a>>,
}

/// Runs the work of a thread, with the caller's code before and after it.
pub type EachThread<'a> = dyn Fn(&mut (dyn FnMut() + Send)) + Sync + 'a;

/// The result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Runs executed by this call.
    pub made: u64,
    /// Runs in the plan.
    pub runs: u64,
    /// Completed runs.
    pub done: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// True if it was ended early.
    pub cancelled: bool,
}

/// Executes a run of the plan; `None` if it was cancelled. A run that fails has a record too.
pub fn run_item(plan: &Plan, item: &WorkItem, options: &SweepOptions<'_>) -> Option<Record> {
    let made = caught(|| made(plan, item, options));
    let explained = options.explain.and_then(|explain| explain());
    let failed = |why: String| Some(Record::failed(item, explained.clone().unwrap_or(why)));
    match made {
        Ok(Ok(_)) if explained.is_some() => failed(String::new()),
        Ok(Ok(record)) => Some(record),
        Ok(Err(None)) if explained.is_none() => None,
        Ok(Err(error)) => failed(error.unwrap_or_default()),
        Err(fault) => failed(fault.to_string()),
    }
}

/// The record; the error is the reason, `None` for a run that was cancelled.
fn made(
    plan: &Plan,
    item: &WorkItem,
    options: &SweepOptions<'_>,
) -> Result<Record, Option<String>> {
    let scenario = plan.scenario(item);
    let scenario = scenario.map_err(|error| Some(error.to_string()))?;
    let options = RunOptions {
        trace: TraceLevel::Summary,
        max_events: plan.max_events(),
        cancel: options.cancel,
        registry: options.registry,
        ..RunOptions::default()
    };
    match run(&scenario, &options) {
        Ok(output) => Ok(Record::of(item.run, &output.summary)),
        Err(RunError::Cancelled(_)) => Err(None),
        Err(error) => Err(Some(error.to_string())),
    }
}

/// Executes all runs that the store lacks, in their order, on all cores.
///
/// # Errors
/// If the store cannot be written; completed runs are kept.
pub fn sweep(store: &Store, options: &SweepOptions<'_>) -> Result<Outcome, StoreError> {
    let next = AtomicU64::new(0);
    let made = AtomicUsize::new(0);
    let broken = Mutex::new(None);
    let is_over = || {
        let cancelled = options
            .cancel
            .is_some_and(|flag| flag.load(Ordering::Relaxed));
        cancelled
            || broken
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .is_some()
    };
    let work = || {
        while !is_over() {
            // Runs are searched one by one, because a list of all missing ones may exceed the
            // memory.
            let run = next.fetch_add(1, Ordering::Relaxed);
            if run >= store.plan().runs() {
                return;
            }
            if store.has(run) {
                continue;
            }
            let item = store.plan().item(run);
            let record = item.and_then(|item| run_item(store.plan(), &item, options));
            let Some(record) = record else { continue };
            match store.commit(&record) {
                Ok(()) => {
                    made.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    *broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
            if let Some(progress) = options.progress {
                progress(store.done().0);
            }
        }
    };
    let work = |_: &usize| match options.each_thread {
        Some(each_thread) => each_thread(&mut || work()),
        None => work(),
    };
    let threads = options.threads.unwrap_or_else(replication::threads).max(1);
    let numbers: Vec<usize> = (0..threads).collect();
    match options.threads {
        None => drop(in_order(&numbers, work)),
        Some(_) => std::thread::scope(|scope| {
            for number in &numbers {
                let work = &work;
                scope.spawn(move || work(number));
            }
        }),
    }
    if let Some(error) = broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    store.flush()?;
    let (done, failed) = store.done();
    Ok(Outcome {
        runs: store.plan().runs(),
        made: made.into_inner() as u64,
        done,
        failed,
        cancelled: done < store.plan().runs(),
    })
}
