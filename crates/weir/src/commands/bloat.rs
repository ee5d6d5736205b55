//! `weir bloat HOST`: the round trip on an idle and on a loaded path, with one grade.

use crate::exit::Failure;
use crate::measure::{self, BloatArguments};

/// Measures the path to the host.
pub fn run(arguments: &BloatArguments) -> Result<(), Failure> {
    measure::bloat(arguments)
}
