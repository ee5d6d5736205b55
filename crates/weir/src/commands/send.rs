//! `weir send HOST`: measures a path to a server.

use crate::exit::Failure;
use crate::measure::{self, ClientOptions};
use crate::terminal;

/// Runs the tests and prints their result.
pub fn run(options: &ClientOptions) -> Result<(), Failure> {
    let result = measure::send(options)?;
    if options.test.output.json {
        terminal::print(&format!("{result:#}\n"))?;
    }
    Ok(())
}
