//! Runs of one scenario with several seeds: executed in parallel, compared for equality, and
//! aggregated.
//! [`in_order`] runs jobs on all cores and returns their results in the order of the jobs.
//! [`Fingerprint`] identifies the behaviour of a run independently of its seed, and [`Replicates`]
//! finds the runs that equal an earlier one: their seed had no effect, so they are not replicates
//! and do not count. A [`Sample`] holds one measure over the runs that count, and [`measures`]
//! takes every number of their summaries.

mod fingerprint;
mod measures;
mod sample;

pub use fingerprint::{Fingerprint, FingerprintParts, Replicates};
pub use measures::measures;
pub use sample::{Interval, Sample, student_t_quantile};

/// The results of all jobs in the order of the jobs, independent of the threads. Jobs also start in
/// this order. A panic of a job is resumed in the caller's thread.
#[cfg(feature = "files")]
pub fn in_order<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> T + Send + Sync) -> Vec<T> {
    use crate::fault::{Fault, caught};
    use rayon::prelude::*;
    if threads() == 1 {
        return jobs.iter().map(work).collect();
    }
    // A bridge hands out the jobs one by one in order; a parallel slice would split at its middle.
    let numbered = jobs.iter().enumerate().par_bridge();
    let results = numbered.map(|(place, job)| (place, caught(|| work(job))));
    let mut results: Vec<(usize, Result<T, Fault>)> = results.collect();
    results.sort_by_key(|(place, _)| *place);
    let results = results.into_iter().map(|(_, result)| result);
    results
        .collect::<Result<_, _>>()
        .unwrap_or_else(|fault| fault.resume())
}

/// The number of jobs that [`in_order`] runs at a time: one for each core, or one if the system
/// denies the process more threads.
#[cfg(feature = "files")]
pub fn threads() -> usize {
    use std::error::Error;
    static THREADS: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *THREADS.get_or_init(|| match rayon::ThreadPoolBuilder::new().build_global() {
        // The error has a source if the system refused; Rayon would panic on any later use.
        Err(error) if error.source().is_some() => 1,
        _ => rayon::current_num_threads(),
    })
}

/// The results of all jobs in the order of the jobs.
#[cfg(not(feature = "files"))]
pub fn in_order<J, T>(jobs: &[J], work: impl Fn(&J) -> T) -> Vec<T> {
    jobs.iter().map(work).collect()
}

#[cfg(test)]
mod tests;
