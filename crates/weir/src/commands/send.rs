//! `weir send HOST`: measures a path to a server.

use crate::exit::Failure;
use crate::measure::{self, ClientOptions};

/// Runs the tests and prints their result.
pub fn run(options: &ClientOptions) -> Result<(), Failure> {
    let measured = measure::send(options)?;
    options.test.output.print(&measured.result)?;
    measured.written
}
