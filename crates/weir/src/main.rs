//! The command `weir`: simulate a scenario, look at what happened, compare it with theory and
//! with published experiments.
//!
//! Each verb is a file of [`verbs`]. Data goes to stdout, talk to stderr; a closed pipe is quiet;
//! [`exit`] has the statuses.
#![forbid(unsafe_code)]

mod exit;
mod quinn;
mod terminal;
#[cfg(target_os = "linux")]
mod testbed;
mod verbs;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match verbs::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::unparsed(&error),
    };
    let json = cli.verb.wants_json();
    match verbs::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}
