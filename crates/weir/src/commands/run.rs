//! `weir run SCENARIO`: one run, or one for each combination of `--set` values and seeds, in
//! parallel.

use super::planned_run::PlannedRun;
use super::replicates::{FinishedRun, RunInProgress};
use super::runs::{RunArguments, RunResults};
use crate::exit::Failure;
use crate::interrupt::interrupt_flag;
use crate::limits::{LimitArguments, Watchdog};
use crate::quinn;
use crate::terminal;
use clap::Args;
use indicatif::ProgressBar;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use weir_lab::lint::Purpose;
use weir_lab::replication::in_order;
use weir_lab::run::{
    ProcessWatch, RunError, RunOptions, TraceLevel, TransportRegistry, run as simulate,
};
use weir_lab::scenario::Estimate;
use weir_proto::time::Instant;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    runs: RunArguments,
    #[command(flatten)]
    limits: LimitArguments,
    /// Run once for each seed, 1..20, and print each measure's mean, standard error and 95 %
    /// interval
    #[arg(long, value_name = "SEEDS")]
    seeds: Option<String>,
    /// Keep every packet too
    #[arg(long)]
    packets: bool,
    /// Keep the summary only
    #[arg(long, conflicts_with = "packets")]
    summary_only: bool,
}

impl Arguments {
    const fn purpose(&self) -> Purpose {
        match self.seeds {
            Some(_) => Purpose::Seeds,
            None => Purpose::OneRun,
        }
    }
}

/// Runs the scenario: all runs in parallel, on all cores.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runs = arguments.runs.plan(arguments.seeds.as_deref())?;
    let limits = arguments
        .limits
        .or_of(runs.iter().map(|run| &run.scenario.run));
    let watchdog = limits.watch(interrupt_flag())?;
    for warning in runs.first().iter().flat_map(|run| &run.scenario.outside) {
        terminal::notice(&format!("warning: {warning}"));
    }
    if let Some(warning) = estimate(&runs).and_then(|estimate| estimate.warning()) {
        terminal::notice(&format!("warning: {warning}"));
    }
    let title = match runs.len() {
        1 => "run".to_owned(),
        count => format!("{count} runs"),
    };
    let bar = terminal::progress(STEPS * runs.len() as u64, &title);
    let results = Mutex::new(RunResults::new(&arguments.runs, &runs, arguments.purpose()));
    let jobs: Vec<_> = runs.iter().enumerate().collect();
    let outcomes = in_order(&jobs, |&(number, run)| {
        let finished = one(arguments, run, &bar, &watchdog)?;
        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
        bar.suspend(|| results.add(number, finished))
    });
    bar.finish_and_clear();
    let results = results.into_inner();
    let results = results.unwrap_or_else(PoisonError::into_inner);
    match outcomes.into_iter().collect::<Result<(), _>>() {
        Ok(()) => results.finish(),
        Err(failure) => {
            results.stop();
            Err(failure)
        }
    }
}

/// The estimated size of all runs together; `None` if one of them has no bound.
fn estimate(runs: &[PlannedRun]) -> Option<Estimate> {
    let each = runs.iter().map(|run| run.scenario.estimate());
    let each = each.collect::<Option<Vec<_>>>()?;
    Some(Estimate {
        packets: each.iter().map(|run| run.packets).sum(),
        events: each.iter().map(|run| run.events).sum(),
    })
}

/// Steps of the progress bar for each run.
const STEPS: u64 = 100;

/// Executes one run and writes it.
fn one(
    arguments: &Arguments,
    run: &PlannedRun,
    bar: &ProgressBar,
    watchdog: &Watchdog,
) -> Result<FinishedRun, Failure> {
    let done = AtomicU64::new(0);
    let advance = |to: u64| bar.inc(to.saturating_sub(done.fetch_max(to, Ordering::Relaxed)));
    let progress = |reached: Instant, end: Instant| {
        let share = reached.as_secs_f64() / end.as_secs_f64().max(1e-9);
        advance((share * STEPS as f64) as u64);
    };
    let name = &run.folder;
    let folder = RunInProgress::begin(&arguments.runs.out, run, name)?;
    let mut folder = folder.within(watchdog);
    let sink = folder.sink();
    let options = RunOptions {
        scenario_hash: Some(&run.hash),
        trace: if arguments.summary_only {
            TraceLevel::Summary
        } else {
            TraceLevel::Full
        },
        traced_flow: None,
        packets: arguments.packets,
        progress: Some(&progress),
        max_events: arguments.limits.max_events,
        cancel: Some(watchdog.cancel()),
        tap: None,
        registry: TransportRegistry {
            process: ProcessWatch::Caller,
            ..quinn::registry()
        },
        sink: Some(&sink),
        max_rows: None,
    };
    let started = std::time::Instant::now();
    let output = match simulate(&run.scenario, &options) {
        Ok(output) => output,
        Err(RunError::Cancelled(at)) => return Err(watchdog.failure(at)),
        Err(error) => {
            let why = folder.abandon().map(Failure::from);
            return Err(why.unwrap_or_else(|| Failure::Failed(error.to_string())));
        }
    };
    advance(STEPS);
    terminal::detail(|| {
        let (events, wall_s) = (output.summary.run.events, started.elapsed().as_secs_f64());
        let per_second = events as f64 / wall_s.max(1e-9);
        format!("{name}: {events} events in {wall_s:.3} s, {per_second:.0} a second")
    });
    FinishedRun::write(folder, &run.overrides, output, Some(watchdog))
}
