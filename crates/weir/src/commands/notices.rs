//! `weir notices`: the licences of the program's parts.

use crate::exit::Failure;
use crate::terminal;

/// Written by `cargo xtask notices`; `test.sh` checks that it is current.
const NOTICES: &str = include_str!("../../THIRD-PARTY-NOTICES");

/// Prints the licences.
pub fn run() -> Result<(), Failure> {
    Ok(terminal::print(NOTICES)?)
}
