//! `weir run SCENARIO`: one run, or one for each combination of `--set` values and seeds, in
//! parallel.

use super::execution::Execution;
use super::planned_run::PlannedRun;
use super::replicates::FinishedRun;
use super::runs::{RunArguments, RunResults};
use crate::exit::Failure;
use crate::interrupt::interrupt_flag;
use crate::limits::{LimitArguments, Watchdog};
use crate::live_view::LiveView;
use crate::progress::CommandProgress;
use crate::terminal;
use clap::Args;
use indicatif::ProgressBar;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use weir_lab::lint::Purpose;
use weir_lab::replication::in_order;
use weir_lab::run::{LiveObserver, TraceLevel};
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
    /// Show rates, delays, queues and losses while the run goes on; one run only
    #[arg(long, conflicts_with = "seeds")]
    live: bool,
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
    if arguments.live && runs.len() > 1 {
        let message = "--live shows one run, and these values make several";
        return Err(Failure::Usage(message.to_owned()));
    }
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
    let shown = Shown::new(arguments, runs.len() as u64);
    let results = Mutex::new(RunResults::new(&arguments.runs, &runs, arguments.purpose()));
    let jobs: Vec<_> = runs.iter().enumerate().collect();
    let outcomes = in_order(&jobs, |&(number, run)| {
        let finished = one(arguments, run, &shown, &watchdog)?;
        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
        shown.bar.suspend(|| results.add(number, finished))
    });
    shown.bar.finish_and_clear();
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

/// What is shown while the runs go on: a bar or a live view on the terminal, and the progress for
/// other programs.
struct Shown {
    bar: ProgressBar,
    view: Option<LiveView>,
    progress: Arc<CommandProgress>,
    live: Option<LiveObserver>,
}

impl Shown {
    fn new(arguments: &Arguments, runs: u64) -> Self {
        let RunArguments { scenario, out, .. } = &arguments.runs;
        let progress = Arc::new(CommandProgress::new("run", scenario, out));
        let view = arguments.live.then(LiveView::new);
        let bar = match (&view, runs) {
            (Some(_), _) => ProgressBar::hidden(),
            (None, 1) => terminal::progress(STEPS, "run"),
            (None, runs) => terminal::progress(STEPS * runs, &format!("{runs} runs")),
        };
        bar.set_length(STEPS * runs);
        // Several runs have one progress and no common time; intervals cost a summary some time.
        let observed = runs == 1 && (arguments.live || !arguments.summary_only);
        let observer = observed.then(|| {
            let (progress, view) = (Arc::clone(&progress), view.clone());
            let observer: LiveObserver = Arc::new(move |state| {
                progress.show(state);
                if let Some(view) = &view {
                    view.show(state);
                }
            });
            observer
        });
        Self {
            bar,
            view,
            progress,
            live: observer,
        }
    }

    /// So many steps more, of all runs together.
    fn advance(&self, steps: u64) {
        self.bar.inc(steps);
        if self.live.is_none() {
            let per_run = STEPS as f64;
            let total = self.bar.length().unwrap_or_default() as f64;
            let done = self.bar.position() as f64;
            self.progress
                .advance(done / per_run, total / per_run, "runs");
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
    shown: &Shown,
    watchdog: &Watchdog,
) -> Result<FinishedRun, Failure> {
    let done = AtomicU64::new(0);
    let advance = |to: u64| shown.advance(to.saturating_sub(done.fetch_max(to, Ordering::Relaxed)));
    let progress = |reached: Instant, end: Instant| {
        let share = reached.as_secs_f64() / end.as_secs_f64().max(1e-9);
        advance((share * STEPS as f64) as u64);
    };
    let execution = Execution {
        out: &arguments.runs.out,
        trace: if arguments.summary_only {
            TraceLevel::Summary
        } else {
            TraceLevel::Full
        },
        packets: arguments.packets,
        max_events: arguments.limits.max_events,
        progress: &progress,
        live: shown.live.as_ref(),
        watchdog,
    };
    let finished = execution.execute(run);
    if let Some(view) = &shown.view {
        view.finish();
    }
    advance(STEPS);
    finished
}
