//! The command `weir`: simulate a scenario, look at what happened, compare it with theory and
//! with published experiments.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    weir::run_command(std::env::args_os().collect()).into()
}
