//! `weir explain RUN|SCENARIO|TRACE`: what held each sender, what went wrong, and what should help.

use super::runs::read_scenario;
use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::files::write_with;
use crate::interrupt::interrupt_flag;
use crate::quinn;
use crate::terminal;
use clap::Args;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use weir_lab::diagnosis::{
    Explanation, Trace, Trial, explain, explanation_html, explanation_json, explanation_text,
    trials_text, try_remedies,
};
use weir_lab::report::RunPictures;
use weir_lab::report::page::pictures_page;
use weir_lab::run::{
    RunError, RunOptions, RunOutput, Summary, TraceLevel, is_measured, run as simulate,
};
use weir_lab::scenario::{Scenario, overrides};
use weir_lab::trace::RunFolder;
use weir_lab::trace::import::{self, Imported};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a run; a scenario (.toml), which is run first; or a trace of another program:
    /// qlog, a capture of TCP or DCCP, samples of ss, logs of tcp_probe, JSON of iperf3
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Of a scenario: change a value first, such as link.bottleneck.queue.limit=20
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Try the remedies: run without the cause, with the same seeds, and compare
    #[arg(long = "try")]
    try_remedies: bool,
    /// Write a page with the explanation
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    output: JsonOutput,
}

/// Prints the explanation.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (explanation, trials) = if arguments.run.is_dir() {
        of_folder(arguments)?
    } else if is_foreign(&arguments.run) {
        of_import(arguments)?
    } else {
        let scenario = scenario(&arguments.run, &arguments.set)?;
        let output = simulated(&scenario, None)?;
        let explanation = explain(&Trace::of_run(&output));
        let trials = trials(arguments, &scenario, &output.summary, &explanation);
        (explanation, trials)
    };
    if let Some(file) = &arguments.html {
        let title = format!("Why {}", arguments.run.display());
        let head = explanation_html(&explanation);
        let page = pictures_page(&title, &head, &RunPictures::default());
        write_with(file, |mut out| Ok(out.write_all(page.as_bytes())?))?;
    }
    let text = match (arguments.output.json, &trials) {
        (true, _) => explanation_json(&explanation, trials.as_deref()),
        (false, None) => explanation_text(&explanation),
        (false, Some(trials)) => explanation_text(&explanation) + &trials_text(trials),
    };
    Ok(terminal::print(&text)?)
}

/// What the remedies did, if they are to be tried.
fn trials(
    arguments: &Arguments,
    scenario: &Scenario,
    summary: &Summary,
    explanation: &Explanation,
) -> Option<Vec<Trial>> {
    let runner = |scenario: &Scenario, most: u64| simulate_within(scenario, Some(most));
    let events = summary.run.events;
    arguments
        .try_remedies
        .then(|| try_remedies(scenario, events, explanation, &runner))
}

/// True for a file that is no scenario.
fn is_foreign(path: &Path) -> bool {
    let is_stdin = path == Path::new("-");
    !is_stdin && path.extension().is_none_or(|extension| extension != "toml")
}

fn of_import(arguments: &Arguments) -> Result<(Explanation, Option<Vec<Trial>>), Failure> {
    if arguments.try_remedies || !arguments.set.is_empty() {
        let message =
            "--try and --set are of what can be run, and this is a trace of another program";
        return Err(Failure::Usage(message.to_owned()));
    }
    let imported = read_import(&arguments.run)?;
    terminal::status(&format!("{}: {}", arguments.run.display(), imported.format));
    for remark in &imported.remarks {
        terminal::status(&format!("  {remark}"));
    }
    Ok((explain(&Trace::of_import(&imported)), None))
}

/// A trace of another program.
pub fn read_import(path: &Path) -> Result<Imported, Failure> {
    import::read(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}

fn of_folder(arguments: &Arguments) -> Result<(Explanation, Option<Vec<Trial>>), Failure> {
    if !arguments.set.is_empty() {
        let message = "--set is of a scenario, and this is the folder of a run".to_owned();
        return Err(Failure::Usage(message));
    }
    let folder = RunFolder::open(&arguments.run)?;
    let explanation = explain(&Trace::of_folder(&folder)?);
    if arguments.try_remedies && is_measured(folder.summary()) {
        let message = "a measured run cannot be repeated, so that --try is of simulated runs";
        return Err(Failure::Usage(message.to_owned()));
    }
    let trials = trials(arguments, folder.scenario(), folder.summary(), &explanation);
    Ok((explanation, trials))
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
fn simulated(scenario: &Scenario, most: Option<u64>) -> Result<RunOutput, Failure> {
    simulate_within(scenario, most).map_err(|error| Failure::Failed(error.to_string()))
}

/// The run of a scenario with its whole trace, of at most so many events.
pub fn simulate_within(scenario: &Scenario, most: Option<u64>) -> Result<RunOutput, RunError> {
    let cancel = interrupt_flag();
    let options = RunOptions {
        trace: TraceLevel::Full,
        max_events: most,
        cancel: Some(&cancel),
        registry: quinn::registry(),
        ..RunOptions::default()
    };
    simulate(scenario, &options)
}
