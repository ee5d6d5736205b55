//! Words to stdout; a reader who has seen enough and closed the pipe is no failure.

use std::io::Write;

/// Writes a line. There is nobody to tell if that fails.
pub fn line(text: impl std::fmt::Display) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}
