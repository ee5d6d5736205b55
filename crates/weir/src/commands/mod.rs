//! The command line: a file for each command.

mod bench;
mod compare;
mod completions;
mod decode;
mod emulate;
mod export;
mod lint;
mod plot;
mod replicates;
mod reproduce;
mod run;
mod runs;
mod schema;
mod send;
mod serve;
mod summary_table;
mod testbed;
mod theory;

use crate::build;
use crate::exit::Failure;
use crate::measure::{ClientOptions, ServerOptions};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// The congestion-control laboratory: simulate, explain, reproduce.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version = build::VERSION,
    propagate_version = true,
    infer_long_args = false
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Reproduce published experiments and compare number by number
    Reproduce(reproduce::Arguments),
    /// Run a scenario in the simulator
    Run(run::Arguments),
    /// Compare two runs, or the runs of two sweeps
    Compare(compare::Arguments),
    /// Find what is valid in a scenario and probably not meant
    Lint(lint::Arguments),
    /// Draw the traces of a run
    Plot(plot::Arguments),
    /// Convert the traces of a run for other tools
    Export(export::Arguments),
    Decode(decode::Arguments),
    /// Evaluate a law: TFRC, Mathis, PFTK, CUBIC …
    Theory(theory::Arguments),
    /// Print the JSON Schema of the scenario
    Schema(schema::Arguments),
    /// Wait for tests of `weir send`, over DCCP in UDP (RFC 6773) or another transport
    Serve(ServerOptions),
    /// Measure a path to a `weir serve`, over DCCP in UDP (RFC 6773) or another transport
    Send(ClientOptions),
    /// Run a scenario on real sockets and kernels, in network namespaces
    Testbed(testbed::Arguments),
    /// Put a link of the simulator between real programs
    Emulate(emulate::Arguments),
    /// Measure the simulator's speed
    Bench(bench::Arguments),
    /// Print completions for a shell
    Completions(completions::Arguments),
}

impl Cli {
    /// Reads the arguments of the process; also whether stdout must hold one JSON document and
    /// nothing else.
    pub fn read() -> Result<(Self, bool), clap::Error> {
        let matches = Self::command().try_get_matches()?;
        let json = matches.subcommand().is_some_and(|(_, arguments)| {
            matches!(arguments.try_get_one::<bool>("json"), Ok(Some(true)))
        });
        Ok((Self::from_arg_matches(&matches)?, json))
    }
}

/// Runs the command.
pub fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::Plot(arguments) => plot::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Decode(arguments) => decode::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Theory(arguments) => theory::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Send(arguments) => send::run(&arguments),
        Command::Testbed(arguments) => testbed::run(&arguments),
        Command::Emulate(arguments) => emulate::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
    }
}
