//! `weir suite NAME --controller LIST`: test cases for congestion controllers.

use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::files::check_folder;
use crate::foreign;
use crate::interrupt::writing;
use crate::kernel_module::{KernelModules, KernelTree};
use crate::mistaken;
use crate::terminal;
use crate::text_table::text_table;
use clap::Args;

use std::path::PathBuf;
use weir_lab::candidate::Candidate;
use weir_lab::suite::{CaseResult, Suite, SuiteError, SuiteResult, run_suite};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A suite by name (bbr), or a folder with cases
    name: String,
    /// Controllers under test, each with its transport: quic, tcp, quinn or noq; kernel:FILE is
    /// a congestion control module of Linux, over TCP
    #[arg(
        long,
        short,
        default_value = "quic:bbr",
        value_name = "TRANSPORT:CONTROLLER,…"
    )]
    controller: Vec<String>,
    /// Settings of the transport, such as bbr.beta=0.5, for every controller under test
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Only cases whose name has this part, such as 05 or startup
    #[arg(long, value_name = "PART")]
    case: Option<String>,
    /// Rates of the path, such as 5Mbit,500Mbit; without it each case has its own
    #[arg(long, value_delimiter = ',', value_name = "RATE")]
    rate: Vec<String>,
    /// Round-trip times of the path without a queue, such as 10ms,100ms
    #[arg(long, value_delimiter = ',', value_name = "TIME")]
    rtt: Vec<String>,
    /// Where the page, the plots and the results go
    #[arg(long, short, default_value = "reports/suite")]
    out: PathBuf,
    #[command(flatten)]
    kernel_tree: KernelTree,
    #[command(flatten)]
    output: JsonOutput,
}

/// Runs the suite and writes its page.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let usage = |error: SuiteError| match error {
        SuiteError::Invalid(error) => Failure::Scenario(error),
        other => Failure::Usage(other.to_string()),
    };
    let folder = PathBuf::from(&arguments.name);
    if let Some(why) = mistaken::for_a_suite(&arguments.name) {
        return Err(Failure::Usage(format!("{}: {why}", arguments.name)));
    }
    let mut suite = if folder.is_dir() {
        Suite::from_folder(&folder).map_err(usage)?
    } else {
        Suite::embedded(&arguments.name).map_err(usage)?
    };
    if let Some(part) = &arguments.case {
        suite.cases.retain(|case| case.name.contains(part));
        if suite.cases.is_empty() {
            let message = format!("no case of \"{}\" has \"{part}\" in its name", suite.name);
            return Err(Failure::Usage(message));
        }
    }
    if !arguments.rate.is_empty() || !arguments.rtt.is_empty() {
        suite = suite
            .on_paths(&arguments.rate, &arguments.rtt)
            .map_err(usage)?;
    }
    let mut modules = KernelModules::new(&arguments.kernel_tree);
    let candidates = candidates(arguments, &mut modules)?;
    check_folder(&arguments.out)?;
    let total = suite.cases.len() * candidates.len();
    let bar = terminal::progress(total as u64, "running");
    let result = run_suite(&suite, &candidates, foreign::registry(), &|done| {
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    modules.check()?;
    let result = result.map_err(usage)?;
    let writing = writing();
    let page = result
        .write(&arguments.out)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    drop(writing);
    if arguments.output.json {
        terminal::print(&result.json())?;
    } else {
        terminal::print(&table(&result))?;
    }
    terminal::status(&format!("page: {}", page.display()));
    if result.holds() {
        return Ok(());
    }
    Err(Failure::ExpectationFailed("some cases failed".to_owned()))
}

/// The controllers under test, each with the settings of `--set`.
fn candidates(
    arguments: &Arguments,
    modules: &mut KernelModules,
) -> Result<Vec<Candidate>, Failure> {
    let controllers = modules.candidates(&arguments.controller)?;
    let controllers = controllers.iter().map(|controller| {
        let mut words = vec![controller.as_str()];
        words.extend(arguments.set.iter().map(String::as_str));
        Candidate::parse(&words.join(","))
    });
    let controllers = controllers.collect::<Result<_, _>>();
    controllers.map_err(|error| Failure::Usage(error.to_string()))
}

/// A line for each case and controller.
fn table(result: &SuiteResult) -> String {
    let row = |one: &CaseResult| {
        let words = one.verdict.words().to_owned();
        vec![
            one.case.clone(),
            one.controller.clone(),
            words,
            one.why.clone(),
        ]
    };
    text_table(&result.results.iter().map(row).collect::<Vec<_>>(), "<")
}
