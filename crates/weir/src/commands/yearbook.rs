//! `weir yearbook`: every controller over every transport, evaluated and tested, as one page.

use crate::arguments::JsonOutput;
use crate::build;
use crate::exit::Failure;
use crate::files::check_folder;
use crate::foreign;
use crate::kernel_module::{KernelModules, KernelTree};
use crate::terminal;
use crate::text_table::text_table;
use clap::Args;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use time::format_description::well_known::Iso8601;
use time::{Date, OffsetDateTime};
use weir_lab::candidate::Candidate;
use weir_lab::evaluation::Size;
use weir_lab::yearbook::{Imprint, Options, YearbookError, all_controllers, make_yearbook};

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The controllers, each with its transport and settings of it [default: all]; kernel:FILE is
    /// a congestion control module of Linux, over TCP
    #[arg(long, short, value_name = "TRANSPORT:CONTROLLER,…")]
    controller: Vec<String>,
    /// How much of the evaluation is run
    #[arg(long, default_value = "quick", value_parser = PossibleValuesParser::new(Size::NAMES))]
    size: String,
    /// Only these chapters of the evaluation
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    chapter: Vec<String>,
    /// Seeds of each case of the evaluation
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(2..=1000))]
    seeds: u32,
    /// Without the cases of BBR's draft
    #[arg(long)]
    without_cases: bool,
    /// The date on the page [default: today, UTC]
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = date)]
    date: Option<Date>,
    /// Where the pages go
    #[arg(long, short, default_value = "yearbook")]
    out: PathBuf,
    #[command(flatten)]
    kernel_tree: KernelTree,
    #[command(flatten)]
    output: JsonOutput,
}

fn date(text: &str) -> Result<Date, String> {
    let date = Date::parse(text, &Iso8601::DATE);
    date.map_err(|_| "expected a date such as 2026-11-29".to_owned())
}

/// Makes the yearbook.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let registry = foreign::registry();
    let mut modules = KernelModules::new(&arguments.kernel_tree);
    let names = if arguments.controller.is_empty() {
        all_controllers(foreign::STACKS)
    } else {
        modules.candidates(&arguments.controller)?
    };
    let candidates = names.iter().map(|name| Candidate::parse(name));
    let candidates = candidates.collect::<Result<Vec<_>, _>>();
    let candidates = candidates.map_err(|error| Failure::Usage(error.to_string()))?;
    check_folder(&arguments.out)?;
    let bar = terminal::progress(candidates.len() as u64, "evaluating");
    let progress = |name: &str, done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
        bar.set_message(name.to_owned());
    };
    let options = Options {
        registry,
        size: Size::named(&arguments.size).unwrap_or_default(),
        chapters: &arguments.chapter,
        seeds: arguments.seeds,
        cases: !arguments.without_cases,
        cancel: Some(modules.cancel()),
        progress: &progress,
    };
    let imprint = Imprint {
        date: (arguments.date)
            .unwrap_or_else(|| OffsetDateTime::now_utc().date())
            .to_string(),
        version: build::VERSION.to_owned(),
        commit: build::commit(),
    };
    let made = make_yearbook(&candidates, imprint, &arguments.out, &options);
    bar.finish_and_clear();
    modules.check()?;
    let (yearbook, page) = made.map_err(failure)?;
    if arguments.output.json {
        terminal::print(&yearbook.json())?;
    } else {
        terminal::print(&text_table(&yearbook.rows(), "<"))?;
    }
    terminal::status(&format!("page: {}", page.display()));
    Ok(())
}

fn failure(error: YearbookError) -> Failure {
    match error {
        YearbookError::Evaluation(error) => super::evaluate::failure(error),
        other => Failure::Failed(other.to_string()),
    }
}
