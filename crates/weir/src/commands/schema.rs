//! `weir schema`: the JSON Schema of the scenario, for editors and other programs.

use crate::exit::Failure;
use crate::terminal;
use clap::Args;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Accepted for symmetry; the schema is JSON in any case
    #[arg(long)]
    json: bool,
}

/// Prints the schema.
pub fn run(_: &Arguments) -> Result<(), Failure> {
    Ok(terminal::print(&format!(
        "{:#}\n",
        weir_lab::scenario::schema()
    ))?)
}
