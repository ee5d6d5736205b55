//! The command `weir`: simulates a scenario, analyses what happened, and compares it with theory
//! and published experiments.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    weir::run_command(std::env::args_os().collect()).into()
}
