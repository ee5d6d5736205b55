//! `weir serve`: waits for tests of `weir send`.

use crate::exit::Failure;
use crate::measure::{self, ServerOptions};

/// Serves until Ctrl-C, or one test.
pub fn run(options: &ServerOptions) -> Result<(), Failure> {
    measure::serve(&options.translated()?)
}
