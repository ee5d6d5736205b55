//! The command line: a file for each command.

mod bench;
mod completions;
mod decode;
mod emulate;
mod export;
mod plot;
mod reproduce;
mod run;
mod schema;
mod send;
mod serve;
mod testbed;
mod theory;

use crate::exit::Failure;
use crate::measure::{ClientOptions, ServerOptions};
use crate::terminal;
use clap::{Parser, Subcommand};

/// The congestion-control laboratory: simulate, explain, reproduce.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version,
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
    /// Draw the traces of a run
    Plot(plot::Arguments),
    /// Convert the traces of a run for other tools
    Export(export::Arguments),
    Decode(decode::DecodeArgs),
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
    Bench(bench::BenchArgs),
    /// Print completions for a shell
    Completions(completions::Arguments),
}

impl Command {
    /// True if stdout must hold one JSON document and nothing else.
    pub const fn wants_json(&self) -> bool {
        match self {
            Self::Reproduce(arguments) => arguments.json,
            Self::Run(arguments) => arguments.json,
            Self::Plot(arguments) => arguments.json,
            Self::Export(arguments) => arguments.json,
            Self::Theory(arguments) => arguments.json,
            Self::Serve(options) => options.test.output.json,
            Self::Send(options) => options.test.output.json,
            Self::Testbed(arguments) => arguments.json,
            Self::Schema(_) => true,
            // A line a packet, which an error document would break.
            Self::Decode(_) | Self::Completions(_) | Self::Emulate(_) => false,
            Self::Bench(arguments) => arguments.json,
        }
    }
}

/// Does it.
pub fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::Plot(arguments) => plot::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Decode(arguments) => decode_captures(&arguments),
        Command::Bench(arguments) => {
            bench::run(&arguments, &mut anstream::stdout()).map_err(Failure::Failed)
        }
        Command::Theory(arguments) => theory::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Send(arguments) => send::run(&arguments),
        Command::Testbed(arguments) => testbed::run(&arguments),
        Command::Emulate(arguments) => emulate::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Completions(arguments) => completions::run(&arguments),
    }
}

fn decode_captures(arguments: &decode::DecodeArgs) -> Result<(), Failure> {
    let result = decode::run(arguments, &mut anstream::stdout().lock());
    let listing = result.map_err(|error| match error.exit_code() {
        None => Failure::ClosedPipe,
        Some(2) => Failure::Usage(error.to_string()),
        Some(_) => Failure::Failed(error.to_string()),
    })?;
    terminal::status(&listing.to_string());
    Ok(())
}
