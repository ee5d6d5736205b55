//! The verbs, a file each, and the words of the command line.

mod bench;
mod completions;
mod decode;
mod emulate;
mod export;
pub mod live_capture;
mod live_trace;
mod plot;
mod quic;
mod quic_socket;
mod quic_test;
mod reproduce;
mod run;
mod schema;
mod send;
mod serve;
mod testbed;
mod theory;
mod udp;
mod wire;

use crate::exit::Failure;
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
    pub verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
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
    Serve(serve::Arguments),
    Send(send::Arguments),
    /// Run a scenario on real sockets and kernels, in network namespaces
    Testbed(testbed::Arguments),
    /// Put a link of the simulator between real programs
    Emulate(emulate::Arguments),
    /// Measure the simulator's speed
    Bench(bench::BenchArgs),
    /// Print completions for a shell
    Completions(completions::Arguments),
}

impl Verb {
    /// True if stdout must hold one JSON document and nothing else.
    pub const fn wants_json(&self) -> bool {
        match self {
            Self::Reproduce(arguments) => arguments.json,
            Self::Run(arguments) => arguments.json,
            Self::Plot(arguments) => arguments.json,
            Self::Export(arguments) => arguments.json,
            Self::Theory(arguments) => arguments.json,
            Self::Serve(arguments) => arguments.shared.json,
            Self::Send(arguments) => arguments.shared.json,
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
    match cli.verb {
        Verb::Reproduce(arguments) => reproduce::run(&arguments),
        Verb::Run(arguments) => run::run(&arguments),
        Verb::Plot(arguments) => plot::run(&arguments),
        Verb::Export(arguments) => export::run(&arguments),
        Verb::Decode(arguments) => decode_captures(&arguments),
        Verb::Bench(arguments) => {
            bench::run(&arguments, &mut anstream::stdout()).map_err(Failure::Failed)
        }
        Verb::Theory(arguments) => theory::run(&arguments),
        Verb::Serve(arguments) => serve::run(&arguments),
        Verb::Send(arguments) => send::run(&arguments),
        Verb::Testbed(arguments) => testbed::run(&arguments),
        Verb::Emulate(arguments) => emulate::run(&arguments),
        Verb::Schema(arguments) => schema::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments),
    }
}

fn decode_captures(arguments: &decode::DecodeArgs) -> Result<(), Failure> {
    let result = decode::run(arguments, &mut anstream::stdout().lock());
    let listing = result.map_err(|error| match error.exit_code() {
        None => Failure::ClosedPipe,
        Some(2) => Failure::Usage(error.to_string()),
        Some(_) => Failure::Failed(error.to_string()),
    })?;
    terminal::say(&listing.to_string());
    Ok(())
}
