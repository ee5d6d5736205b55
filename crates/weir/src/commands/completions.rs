//! `weir completions SHELL`.

use super::Cli;
use crate::exit::Failure;
use crate::terminal;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// bash, elvish, fish, powershell or zsh
    shell: Shell,
}

/// Prints the completion script.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "weir", &mut script);
    Ok(terminal::print(&String::from_utf8_lossy(&script))?)
}
