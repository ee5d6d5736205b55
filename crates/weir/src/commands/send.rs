//! `weir send HOST`: measures a path to a server.

use crate::exit::Failure;
use crate::measure::{self, ClientOptions};

/// Runs the tests and prints their result, including that of a failed or interrupted test.
pub fn run(options: &ClientOptions) -> Result<(), Failure> {
    let options = options.translated()?;
    measure::send(&options)?.print(options.test.output)
}
