//! The command `weir` as a library, for programs that contain it: the command's own `main`, and the
//! Python package, which uses it as its entry point.
//!
//! Each command is a file of `commands`. Data goes to stdout, status lines to stderr; a closed pipe
//! is not an error; `exit` has the exit statuses.
#![forbid(unsafe_code)]

mod arguments;
mod build;
mod capture;
mod commands;
#[cfg(target_os = "linux")]
mod emulation;
mod exit;
mod files;
mod foreign;
#[cfg(target_os = "linux")]
mod forwarded_signals;
mod interrupt;
mod kernel_module;
#[cfg(target_os = "linux")]
mod kernel_testbed;
mod limits;
mod live_view;
mod measure;
mod mistaken;
#[cfg(target_os = "linux")]
mod port_delays;
mod progress;
mod terminal;
#[cfg(target_os = "linux")]
mod testbed;
mod text_table;
mod whole_writes;

pub use foreign::registry;

use std::ffi::OsString;
use weir_lab::fault::{caught, silence_caught_panics};

/// Runs the command with these arguments, the first of which is the program's name or path, and
/// returns its exit status.
pub fn run_command(words: Vec<OsString>) -> u8 {
    silence_caught_panics();
    if words.len() <= 1 {
        return match terminal::print(commands::WELCOME) {
            Ok(()) => 0,
            Err(error) => exit::Failure::from(error).report(false),
        };
    }
    let (cli, json) = match commands::Cli::read(&words) {
        Ok(read) => read,
        Err(error) => return exit::unparsed(&error, &words),
    };
    interrupt::listen(move || {
        exit::Failure::Interrupted.report(json);
    });
    if let Err(error) = files::report_size_limit().and_then(|()| limits::report_abort()) {
        terminal::notice(&format!("weir: {error}"));
    }
    match caught(|| commands::run(cli)).unwrap_or_else(|fault| Err(fault.into())) {
        Ok(()) => 0,
        Err(failure) => failure.report(json),
    }
}
