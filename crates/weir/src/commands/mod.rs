//! The command line: a file for each command.

mod bloat;
mod compare;
mod completions;
mod decode;
mod emulate;
mod evaluate;
mod examples;
mod execution;
mod expectations;
mod explain;
mod export;
mod fit;
mod lab;
mod lint;
mod man;
mod new;
mod notices;
mod planned_run;
mod plot;
mod replicates;
mod reproduce;
mod reproduction_table;
mod run;
mod run_name;
mod runs;
mod schema;
mod send;
mod serve;
mod sparkline;
mod suite;
mod summary_table;
mod sweep;
mod testbed;
mod theory;
mod yearbook;

pub use examples::WELCOME;

use crate::build;
use crate::exit::Failure;
use crate::measure::{BloatArguments, ClientOptions, ServerOptions};
use crate::terminal::{self, Verbosity};
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;

/// The congestion-control laboratory: simulate, explain, reproduce.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version = build::VERSION,
    propagate_version = true,
    infer_long_args = false,
    after_help = examples::WEIR
)]
pub struct Cli {
    /// Only errors, warnings and results on stderr
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Details on stderr too
    #[arg(long, short, global = true)]
    pub verbose: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a commented scenario to begin with, or list the gallery
    #[command(after_help = examples::NEW)]
    New(new::Arguments),
    /// Reproduce published experiments and compare number by number
    #[command(after_help = examples::REPRODUCE)]
    Reproduce(reproduce::Arguments),
    /// Evaluate a congestion controller as RFC 9743 asks, beside CUBIC and Reno
    #[command(after_help = examples::EVALUATE)]
    Evaluate(evaluate::Arguments),
    /// Run test cases for congestion controllers, such as those of BBR's draft
    #[command(after_help = examples::SUITE)]
    Suite(suite::Arguments),
    /// Evaluate every controller over every transport, as one dated page
    #[command(after_help = examples::YEARBOOK)]
    Yearbook(yearbook::Arguments),
    /// Run a scenario in the simulator
    #[command(after_help = examples::RUN)]
    Run(run::Arguments),
    /// Make many runs of a scenario by a plan, resumable, as one Parquet dataset
    #[command(after_help = examples::SWEEP)]
    Sweep(sweep::Arguments),
    /// Compare two runs, or the runs of two sweeps
    Compare(compare::Arguments),
    /// Say what held each sender of a run, what went wrong, and what should help
    #[command(after_help = examples::EXPLAIN)]
    Explain(explain::Arguments),
    /// Find the path that a trace shows, as a scenario
    #[command(after_help = examples::FIT)]
    Fit(fit::Arguments),
    /// Find what is valid in a scenario and probably not meant
    Lint(lint::Arguments),
    /// Draw the traces of a run
    #[command(after_help = examples::PLOT)]
    Plot(plot::Arguments),
    /// Convert the traces of a run for other tools
    #[command(after_help = examples::EXPORT)]
    Export(export::Arguments),
    #[command(after_help = examples::DECODE)]
    Decode(decode::Arguments),
    /// Evaluate a law: TFRC, Mathis, PFTK, CUBIC …
    #[command(after_help = examples::THEORY)]
    Theory(theory::Arguments),
    /// Print the JSON Schema of the scenario, or of what a command prints with --json
    #[command(after_help = examples::SCHEMA)]
    Schema(schema::Arguments),
    /// Wait for tests of `weir send`, over DCCP in UDP (RFC 6773) or another transport
    #[command(after_help = examples::SERVE, disable_version_flag = true)]
    Serve(ServerOptions),
    /// Measure a path to a `weir serve`, over DCCP in UDP (RFC 6773) or another transport
    #[command(after_help = examples::SEND, disable_version_flag = true)]
    Send(ClientOptions),
    /// Grade the delay that a loaded path adds, to a `weir serve --transport quic`
    #[command(after_help = examples::BLOAT)]
    Bloat(BloatArguments),
    /// Run a scenario on real sockets and kernels, in network namespaces
    #[command(after_help = examples::TESTBED)]
    Testbed(testbed::Arguments),
    /// Open the laboratory's page in a browser, with the runs of a folder
    #[command(after_help = examples::LAB)]
    Lab(lab::Arguments),
    /// Put a link of the simulator between real programs
    #[command(after_help = examples::EMULATE)]
    Emulate(emulate::Arguments),
    /// Print completions for a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(completions::Arguments),
    /// Print the manual page, or write those of all commands
    #[command(after_help = examples::MAN)]
    Man(man::Arguments),
    /// Print the licences of what this program contains
    #[command(after_help = examples::NOTICES)]
    Notices,
}

impl Cli {
    /// Parses the words of the command; also returns whether stdout must contain a single JSON
    /// document.
    pub fn read(words: &[OsString]) -> Result<(Self, bool), clap::Error> {
        let matches = Self::command().try_get_matches_from(words);
        let matches = matches.map_err(with_suggestion)?;
        let json = matches.subcommand().is_some_and(|(_, arguments)| {
            matches!(arguments.try_get_one::<bool>("json"), Ok(Some(true)))
        });
        let cli = Self::from_arg_matches(&matches)?;
        terminal::set_verbosity(match (cli.quiet, cli.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        });
        Ok((cli, json))
    }
}

/// Adds a suggestion for an unknown command if the parser has none: the parser's similarity measure
/// fails for short words with two transposed letters.
fn with_suggestion(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return error;
    }
    let cli = Cli::command();
    let names = cli.get_subcommands().map(clap::Command::get_name);
    let distances = names.map(|name| (strsim::damerau_levenshtein(word, name), name));
    let nearest = distances.min().filter(|(distance, _)| *distance <= 1);
    if let Some((_, name)) = nearest {
        let names = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, names);
    }
    error
}

/// Runs the command.
pub fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::New(arguments) => new::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments),
        Command::Suite(arguments) => suite::run(&arguments),
        Command::Yearbook(arguments) => yearbook::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::Plot(arguments) => plot::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Decode(arguments) => decode::run(&arguments),
        Command::Theory(arguments) => theory::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Send(arguments) => send::run(&arguments),
        Command::Bloat(arguments) => bloat::run(&arguments),
        Command::Testbed(arguments) => testbed::run(&arguments),
        Command::Emulate(arguments) => emulate::run(&arguments),
        Command::Lab(arguments) => lab::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
        Command::Notices => notices::run(),
    }
}
