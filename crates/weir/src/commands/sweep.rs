//! `weir sweep PLAN`: all runs of a plan, on all cores, resumable, as one Parquet dataset.

use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::foreign;
use crate::interrupt::interrupt_flag;
use crate::limits::{LimitArguments, Watchdog};
use crate::mistaken;
use crate::progress::CommandProgress;
use crate::terminal;
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use weir_lab::sweep::{Outcome, Plan, PlanError, Store, StoreError, SweepOptions, sweep};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The plan, TOML: scenario, parameters, design, seeds
    plan: PathBuf,
    /// The folder of the sweep; what it has already is not run again [default: sweeps/NAME]
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Runs at a time [default: the machine's cores]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    #[command(flatten)]
    limits: LimitArguments,
    #[command(flatten)]
    output: JsonOutput,
}

/// Executes the missing runs.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.limits.max_events.is_some() {
        let message = "write max_events in the plan: it belongs to its results";
        return Err(Failure::Usage(message.to_owned()));
    }
    let plan = Plan::load(&arguments.plan).map_err(|error| {
        let text = std::fs::read_to_string(&arguments.plan).unwrap_or_default();
        match mistaken::for_a_plan(&arguments.plan, &text) {
            Some(why) => Failure::Usage(format!("{}: {why}", arguments.plan.display())),
            None => error.into(),
        }
    })?;
    let first = plan.item(0).map(|item| plan.scenario(&item));
    for warning in first.transpose()?.iter().flat_map(|run| &run.outside) {
        terminal::notice(&format!("warning: {warning}"));
    }
    let (runs, out) = (plan.runs(), arguments.folder());
    let watchdog = arguments.limits.watch(interrupt_flag())?;
    let store = Store::open(&out, plan)?;
    let (before, _) = store.done();
    if before > 0 {
        terminal::status(&format!("{before} of {runs} runs are there"));
    }
    let bar = terminal::progress(runs, "sweep");
    bar.set_position(before);
    let begun = Instant::now();
    let told = CommandProgress::new("sweep", &arguments.plan, &out);
    let progress = |done: u64| {
        bar.set_position(done);
        told.advance(done as f64, runs as f64, "runs");
    };
    let options = SweepOptions {
        registry: foreign::registry(),
        cancel: Some(watchdog.cancel()),
        explain: None,
        progress: Some(&progress),
        threads: arguments.threads.map(usize::from),
        each_thread: None,
    };
    let outcome = sweep(&store, &options)?;
    bar.finish_and_clear();
    terminal::detail(|| format!("{} runs in {:.1?}", outcome.made, begun.elapsed()));
    let errors = store.errors();
    report(arguments, &out, (outcome, &errors), &watchdog)
}

impl Arguments {
    fn folder(&self) -> PathBuf {
        let stem = self.plan.file_stem().unwrap_or_default();
        let named = || PathBuf::from("sweeps").join(stem);
        self.out.clone().unwrap_or_else(named)
    }
}

/// Prints the state of the sweep and fails if runs are missing or failed.
fn report(
    arguments: &Arguments,
    out: &std::path::Path,
    (outcome, errors): (Outcome, &[String]),
    watchdog: &Watchdog,
) -> Result<(), Failure> {
    let dataset = out.join("runs/*/*.parquet").display().to_string();
    let Outcome {
        runs, done, failed, ..
    } = outcome;
    if arguments.output.json {
        arguments.output.print(&SweepDocument {
            folder: out.display().to_string(),
            dataset,
            runs,
            made: outcome.made,
            done,
            failed,
            errors,
        })?;
    } else {
        terminal::print(&format!(
            "{done} of {runs} runs, {failed} failed: {dataset}\n"
        ))?;
    }
    if outcome.cancelled {
        return Err(watchdog.ended(&format!("{done} of {runs} runs are there and stay")));
    }
    if failed > 0 {
        let errors = errors.join("\n");
        let message = format!(
            "{failed} of {runs} runs failed; the column error has the reason of each, the first \
             different ones are:\n{errors}"
        );
        return Err(Failure::Failed(message));
    }
    Ok(())
}

/// What `weir sweep --json` prints.
#[derive(Serialize, JsonSchema)]
pub struct SweepDocument<'a> {
    folder: String,
    /// The files of the dataset, as a pattern.
    dataset: String,
    /// The runs of the plan.
    runs: u64,
    /// The runs that this command has made.
    made: u64,
    /// The runs that are there.
    done: u64,
    /// Those of them that failed.
    failed: u64,
    /// The first different reasons.
    errors: &'a [String],
}

impl From<PlanError> for Failure {
    fn from(error: PlanError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::OtherPlan(_) => Self::Usage(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}
