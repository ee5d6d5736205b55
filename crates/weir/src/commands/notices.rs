//! `weir notices`: the licences of what is in the command.

use crate::exit::Failure;
use crate::terminal;

/// Written by `cargo xtask notices`, which `test.sh` compares.
const NOTICES: &str = include_str!("../../THIRD-PARTY-NOTICES");

/// Prints them.
pub fn run() -> Result<(), Failure> {
    Ok(terminal::print(NOTICES)?)
}
