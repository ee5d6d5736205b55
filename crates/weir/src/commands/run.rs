//! `weir run SCENARIO`: one run, or one for each combination of `--set` values and seeds.

use super::runs::{RunArguments, RunResults};
use crate::exit::Failure;
use crate::interrupt::interrupt_flag;
use crate::quinn;
use crate::terminal;
use clap::Args;
use std::sync::atomic::AtomicBool;
use weir_lab::run::{RunError, RunOptions, RunOutput, TraceLevel, run as simulate};
use weir_lab::scenario::Scenario;
use weir_lab::trace::name_of;
use weir_proto::time::Instant;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    runs: RunArguments,
    /// Run once for each seed: 1..20
    #[arg(long, value_name = "SEEDS")]
    seeds: Option<String>,
    /// Keep every packet too
    #[arg(long)]
    packets: bool,
    /// Keep the summary only
    #[arg(long, conflicts_with = "packets")]
    summary_only: bool,
}

/// Runs the scenario.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runs = arguments.runs.plan(arguments.seeds.as_deref())?;
    let cancel = interrupt_flag()?;
    let mut results = RunResults::new(&arguments.runs);
    for (number, run) in runs.iter().enumerate() {
        let title = format!("run {}/{}", number + 1, runs.len());
        let output = one(arguments, &run.scenario, &title, &cancel)?;
        results.add(&run.overrides, &output, &name_of(&run.scenario))?;
    }
    results.finish()
}

fn one(
    arguments: &Arguments,
    scenario: &Scenario,
    title: &str,
    cancel: &AtomicBool,
) -> Result<RunOutput, Failure> {
    let bar = terminal::progress(100, title);
    let progress = |reached: Instant, end: Instant| {
        bar.set_position((reached.as_secs_f64() / end.as_secs_f64().max(1e-9) * 100.0) as u64);
    };
    let options = RunOptions {
        trace: if arguments.summary_only {
            TraceLevel::Summary
        } else {
            TraceLevel::Full
        },
        packets: arguments.packets,
        progress: Some(&progress),
        cancel: Some(cancel),
        tap: None,
        registry: quinn::registry(),
    };
    let output = simulate(scenario, &options);
    bar.finish_and_clear();
    output.map_err(|error| match error {
        RunError::Cancelled(_) => Failure::Interrupted,
        error => Failure::Failed(error.to_string()),
    })
}
