//! Text to stdout. A closed pipe is not an error.

use std::io::Write;

/// Writes a line; a failure to write is ignored.
pub fn line(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
