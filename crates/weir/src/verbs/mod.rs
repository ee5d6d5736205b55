//! The verbs, a file each, and the words of the command line.

mod completions;
mod decode;
mod export;
mod plot;
mod reproduce;
mod run;
mod schema;
mod theory;

use crate::exit::Failure;
use clap::{Parser, Subcommand};

/// The congestion-control laboratory: simulate, explain, reproduce.
#[derive(Debug, Parser)]
#[command(name = "weir", version, propagate_version = true, infer_long_args = false)]
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
    /// Print the DCCP packets of a capture (pcap or pcapng, also gzipped)
    Decode(decode::Arguments),
    /// Evaluate a law: TFRC, Mathis, PFTK, CUBIC …
    Theory(theory::Arguments),
    /// Print the JSON Schema of the scenario
    Schema(schema::Arguments),
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
            Self::Schema(_) => true,
            // A line a packet, which an error document would break.
            Self::Decode(_) | Self::Completions(_) => false,
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
        Verb::Decode(arguments) => decode::run(&arguments),
        Verb::Theory(arguments) => theory::run(&arguments),
        Verb::Schema(arguments) => schema::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments),
    }
}
