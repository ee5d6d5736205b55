//! Runs of one scenario with several seeds: run in parallel, told apart, summed up.
//!
//! [`in_order`] runs jobs on all cores and returns their results in the order of the jobs.
//! [`Fingerprint`] identifies what a run did, whatever its seed was, and [`Replicates`] finds the
//! runs that did the same as an earlier one: the seed changed nothing in them, so they are no
//! replicates and do not count. A [`Sample`] holds one measure over the runs that count, and
//! [`measures`] takes every number of their summaries.

mod fingerprint;
mod measures;
mod sample;

pub use fingerprint::{Fingerprint, FingerprintParts, Replicates};
pub use measures::measures;
pub use sample::{Interval, Sample, student_t_quantile};

/// The results of all jobs in the order of the jobs, whichever thread ran which. Jobs start in
/// this order too. A panic of a job goes on in the caller's thread.
#[cfg(feature = "files")]
pub fn in_order<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> T + Send + Sync) -> Vec<T> {
    use crate::fault::{Fault, caught};
    use rayon::prelude::*;
    if threads() == 1 {
        return jobs.iter().map(work).collect();
    }
    // A bridge hands the jobs out one by one; a parallel slice would start in its middle.
    let numbered = jobs.iter().enumerate().par_bridge();
    let results = numbered.map(|(place, job)| (place, caught(|| work(job))));
    let mut results: Vec<(usize, Result<T, Fault>)> = results.collect();
    results.sort_by_key(|(place, _)| *place);
    let results = results.into_iter().map(|(_, result)| result);
    results
        .collect::<Result<_, _>>()
        .unwrap_or_else(|fault| fault.resume())
}

/// Jobs that [`in_order`] does at a time: as many as the machine has cores, or one where the system
/// lets this process have no more threads.
#[cfg(feature = "files")]
pub fn threads() -> usize {
    use std::error::Error;
    static THREADS: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *THREADS.get_or_init(|| match rayon::ThreadPoolBuilder::new().build_global() {
        // The system's reason; Rayon panics from now on when it is asked for anything.
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
