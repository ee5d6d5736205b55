//! The command `weir`: simulate a scenario, look at what happened, compare it with theory and
//! with published experiments.
//!
//! Each command is a file of [`commands`]. Data goes to stdout, status lines to stderr; a closed
//! pipe is quiet; [`exit`] has the exit statuses.
#![forbid(unsafe_code)]

mod arguments;
mod benchmark;
mod build;
mod capture;
mod commands;
#[cfg(target_os = "linux")]
mod emulation;
mod exit;
mod files;
mod interrupt;
mod limits;
mod measure;
mod quinn;
mod terminal;
#[cfg(target_os = "linux")]
mod testbed;
mod whole_writes;

use std::process::ExitCode;

fn main() -> ExitCode {
    let (cli, json) = match commands::Cli::read() {
        Ok(read) => read,
        Err(error) => return exit::unparsed(&error),
    };
    if let Err(error) = files::report_size_limit() {
        terminal::notice(&format!("weir: {error}"));
    }
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    }
}
