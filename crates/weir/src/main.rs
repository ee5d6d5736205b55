//! The command `weir`: simulate a scenario, look at what happened, compare it with theory and
//! with published experiments.
//!
//! Each command is a file of [`commands`]. Data goes to stdout, status lines to stderr; a closed pipe
//! is quiet; [`exit`] has the exit statuses.
#![forbid(unsafe_code)]

mod arguments;
mod capture;
mod commands;
mod exit;
mod interrupt;
mod measure;
mod quinn;
mod terminal;
#[cfg(target_os = "linux")]
mod testbed;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match commands::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::unparsed(&error),
    };
    let json = cli.command.wants_json();
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}
