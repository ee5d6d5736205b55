//! `weir evaluate CONTROLLER`: the evaluation that RFC 9743 describes, compared with CUBIC and
//! Reno.

use crate::arguments::JsonOutput;
use crate::exit::Failure;
use crate::files::check_folder;
use crate::interrupt::writing;
use crate::quinn;
use crate::terminal;
use clap::Args;
use std::path::PathBuf;
use weir_lab::candidate::Candidate;
use weir_lab::evaluation::{EvaluationError, Options, Suite, evaluate};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The controller as TRANSPORT:NAME, with settings of the transport behind it
    controller: String,
    /// Only these chapters of the suite
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    chapter: Vec<String>,
    /// Seeds of each case
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=1000))]
    seeds: u32,
    /// Where the page and the figures go
    #[arg(long, short, default_value = "evaluation")]
    out: PathBuf,
    #[command(flatten)]
    output: JsonOutput,
}

/// Runs the suite and writes the page.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let suite = Suite::rfc9743().and_then(|suite| suite.only(&arguments.chapter));
    let suite = suite.map_err(failure)?;
    let subject = Candidate::parse(&arguments.controller);
    let subject = subject.map_err(|error| Failure::Usage(error.to_string()))?;
    check_folder(&arguments.out)?;
    let bar = terminal::progress(0, "running");
    let progress = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let options = Options {
        registry: quinn::registry(),
        seeds: arguments.seeds,
        progress: Some(&progress),
    };
    let result = evaluate(&suite, &subject, &options);
    bar.finish_and_clear();
    let evaluation = result.map_err(failure)?;
    let writing = writing();
    let page = evaluation.write(&arguments.out).map_err(failure)?;
    drop(writing);
    let text = if arguments.output.json {
        evaluation.json()
    } else {
        evaluation.text()
    };
    terminal::print(&text)?;
    terminal::status(&format!("page: {}", page.display()));
    Ok(())
}

fn failure(error: EvaluationError) -> Failure {
    let message = error.to_string();
    match error {
        EvaluationError::Invalid(error) => Failure::Scenario(error),
        EvaluationError::Candidate(_) | EvaluationError::Chapter(_) => Failure::Usage(message),
        _ => Failure::Failed(message),
    }
}
