//! `weir explain RUN|SCENARIO|TRACE`: what held each sender, what went wrong, and what should help.

use super::plot::{explained, plot_data, read_import};
use super::runs::read_scenario;
use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::files::write_with;
use crate::foreign;
use crate::interrupt::interrupt_flag;
use crate::terminal;
use clap::Args;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use weir_lab::diagnosis::{
    Explanation, Trace, Trial, explain, explanation_html, explanation_json, explanation_text,
    trials_text, try_remedies,
};
use weir_lab::report::page::pictures_page;
use weir_lab::report::{PlotData, PlotSelection, RunPictures};
use weir_lab::run::{
    RunError, RunOptions, RunOutput, Summary, TraceLevel, is_measured, run as simulate,
};
use weir_lab::scenario::{Scenario, overrides};
use weir_lab::trace::RunFolder;
use weir_lab::trace::import::Imported;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder of a run; a scenario (.toml), which is run first; or a trace of another program:
    /// qlog, a capture of TCP or DCCP, samples of ss, logs of tcp_probe, results of iperf3
    #[arg(value_name = "RUN")]
    run: PathBuf,
    /// Of a scenario: change a value first, such as link.bottleneck.queue.limit=20
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Try the remedies: run without the cause, with the same seeds, and compare
    #[arg(long = "try")]
    try_remedies: bool,
    /// Write a page with the explanation and the pictures of the run
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    output: JsonOutput,
}

/// What is explained.
enum Subject {
    /// The folder of a run.
    Folder(Box<RunFolder>),
    /// A trace of another program.
    Foreign(Imported),
    /// The run of a scenario.
    Run(Box<RunOutput>),
}

/// Prints the explanation.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let subject = subject(arguments)?;
    let explanation = match &subject {
        Subject::Folder(folder) => explain(&Trace::of_folder(folder)?),
        Subject::Foreign(imported) => explain(&Trace::of_import(imported)),
        Subject::Run(output) => explain(&Trace::of_run(output)),
    };
    let trials = match &subject {
        Subject::Folder(folder) => {
            trials(arguments, folder.scenario(), folder.summary(), &explanation)
        }
        Subject::Run(output) => trials(arguments, &output.scenario, &output.summary, &explanation),
        Subject::Foreign(_) => None,
    };
    if let Some(file) = &arguments.html {
        let page = page(&arguments.run, subject, &explanation)?;
        write_with(file, |mut out| Ok(out.write_all(page.as_bytes())?))?;
    }
    let text = match (arguments.output.json, &trials) {
        (true, _) => explanation_json(&explanation, trials.as_deref()),
        (false, None) => explanation_text(&explanation),
        (false, Some(trials)) => explanation_text(&explanation) + &trials_text(trials),
    };
    Ok(terminal::print(&text)?)
}

/// Reads or runs what is to be explained.
fn subject(arguments: &Arguments) -> Result<Subject, Failure> {
    if arguments.run.is_dir() {
        return Ok(Subject::Folder(Box::new(folder(arguments)?)));
    }
    if is_foreign(&arguments.run) {
        return Ok(Subject::Foreign(foreign(arguments)?));
    }
    let scenario = scenario(&arguments.run, &arguments.set)?;
    Ok(Subject::Run(Box::new(simulated(&scenario, None)?)))
}

/// The explanation with the pictures of the run.
fn page(path: &Path, subject: Subject, explanation: &Explanation) -> Result<String, Failure> {
    let selection = PlotSelection::default();
    let is_foreign = matches!(subject, Subject::Foreign(_));
    let data = match subject {
        Subject::Folder(folder) => PlotData::read(&folder, &selection)?,
        Subject::Foreign(imported) => plot_data(imported)?,
        Subject::Run(output) => PlotData::of_run(*output),
    };
    let title = format!("Why {}", path.display());
    let explained = explained(&data, &selection, explanation, is_foreign);
    // An explanation without pictures is better than none.
    let (head, pictures) =
        explained.unwrap_or_else(|_| (explanation_html(explanation), RunPictures::default()));
    Ok(pictures_page(&title, &head, &pictures))
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

fn foreign(arguments: &Arguments) -> Result<Imported, Failure> {
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
    Ok(imported)
}

fn folder(arguments: &Arguments) -> Result<RunFolder, Failure> {
    if !arguments.set.is_empty() {
        let message = "--set is of a scenario, and this is the folder of a run".to_owned();
        return Err(Failure::Usage(message));
    }
    let folder = RunFolder::open(&arguments.run)?;
    if arguments.try_remedies && is_measured(folder.summary()) {
        let message = "a measured run cannot be repeated, so that --try is of simulated runs";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(folder)
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
        registry: foreign::registry(),
        ..RunOptions::default()
    };
    simulate(scenario, &options)
}
