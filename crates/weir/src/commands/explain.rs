//! `weir explain RUN|SCENARIO|FILE`: what held each sender, what went wrong, and what should help.

use super::runs::read_scenario;
use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::interrupt::interrupt_flag;
use crate::quinn;
use crate::terminal;
use clap::Args;
use std::path::{Path, PathBuf};
use weir_lab::diagnosis::{Explanation, Trace, explain, explanation_json, explanation_text};
use weir_lab::run::{RunOptions, RunOutput, TraceLevel, run as simulate};
use weir_lab::scenario::{Scenario, overrides};
use weir_lab::trace::RunFolder;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a run, or a scenario, which is run first
    run: PathBuf,
    /// Of a scenario: change a value first, such as link.bottleneck.queue.limit=20
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    output: JsonOutput,
}

/// Prints the explanation.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let explanation = if arguments.run.is_dir() {
        of_folder(arguments)?
    } else {
        let scenario = scenario(&arguments.run, &arguments.set)?;
        explain(&Trace::of_run(&simulated(&scenario)?))
    };
    let text = if arguments.output.json {
        explanation_json(&explanation)
    } else {
        explanation_text(&explanation)
    };
    Ok(terminal::print(&text)?)
}

fn of_folder(arguments: &Arguments) -> Result<Explanation, Failure> {
    if !arguments.set.is_empty() {
        let message = "--set is of a scenario, and this is the folder of a run".to_owned();
        return Err(Failure::Usage(message));
    }
    let folder = RunFolder::open(&arguments.run)?;
    Ok(explain(&Trace::of_folder(&folder)?))
}

fn scenario(path: &Path, set: &[String]) -> Result<Scenario, Failure> {
    let text = read_scenario(path)?;
    let mut changes = Vec::new();
    for set in set {
        changes.extend(overrides::parse_set(set)?);
    }
    let name = path.display().to_string();
    Ok(overrides::parse_with(&text, &name, &changes)?)
}

/// The run of a scenario, with its whole trace.
fn simulated(scenario: &Scenario) -> Result<RunOutput, Failure> {
    let cancel = interrupt_flag();
    let options = RunOptions {
        trace: TraceLevel::Full,
        cancel: Some(&cancel),
        registry: quinn::registry(),
        ..RunOptions::default()
    };
    simulate(scenario, &options).map_err(|error| Failure::Failed(error.to_string()))
}
