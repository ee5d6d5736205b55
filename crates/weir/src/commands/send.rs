//! `weir send HOST`: measures a path to a server.

use crate::exit::Failure;
use crate::measure::{self, ClientOptions};

/// Runs the tests and prints their result, also that of a test that failed or was interrupted.
pub fn run(options: &ClientOptions) -> Result<(), Failure> {
    let options = options.translated()?;
    measure::send(&options)?.print(options.test.output)
}
