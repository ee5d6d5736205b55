//! Output: data to stdout, status lines to stderr, progress bars to terminals only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The amount of output on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Errors, warnings and results.
    Quiet,
    /// Status messages as well.
    Normal,
    /// Details as well.
    Verbose,
}

/// The verbosity as a number. It is a setting of the process, like its standard streams.
static VERBOSITY: AtomicU8 = AtomicU8::new(Verbosity::Normal as u8);

/// Sets the verbosity from now on.
pub fn set_verbosity(verbosity: Verbosity) {
    VERBOSITY.store(verbosity as u8, Ordering::Relaxed);
}

/// Whether details are asked for.
pub fn is_verbose() -> bool {
    says(Verbosity::Verbose)
}

fn says(least: Verbosity) -> bool {
    VERBOSITY.load(Ordering::Relaxed) >= least as u8
}

/// The file that replaces the terminal, if there is one; like the verbosity a setting of the
/// process.
static LOG: OnceLock<Mutex<File>> = OnceLock::new();

/// From now on appends output for stdout and stderr to this file.
///
/// # Errors
/// The system's error.
pub fn log_to(path: &Path) -> std::io::Result<()> {
    let file = File::options().create(true).append(true).open(path)?;
    // If a file is already set, it is kept.
    let _ = LOG.set(Mutex::new(file));
    Ok(())
}

/// Writes to the log, if there is one.
fn logged(text: &str) -> Option<std::io::Result<()>> {
    let file = LOG.get()?.lock();
    let mut file = file.unwrap_or_else(PoisonError::into_inner);
    Some(file.write_all(text.as_bytes()))
}

/// True if a terminal shows stdout.
pub fn is_shown() -> bool {
    LOG.get().is_none() && std::io::stdout().is_terminal()
}

/// The columns of the terminal that shows stdout; `None` if none does.
pub fn width() -> Option<usize> {
    let width = terminal_size::terminal_size_of(std::io::stdout()).filter(|_| is_shown());
    width.map(|(terminal_size::Width(columns), _)| usize::from(columns))
}

/// Writes data to stdout.
///
/// # Errors
/// The system's error, with its kind and a description of the output.
pub fn print(text: &str) -> std::io::Result<()> {
    let written = logged(text).unwrap_or_else(|| {
        let mut out = anstream::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    });
    written.map_err(|error| {
        let message = format!("cannot write to standard output: {error}");
        std::io::Error::new(error.kind(), message)
    })
}

/// Writes a line to stderr at any verbosity: an error, a warning, a result. Failures are ignored,
/// because they cannot be reported anywhere else.
pub fn notice(text: &str) {
    if logged(&format!("{text}\n")).is_none() {
        let _ = writeln!(anstream::stderr().lock(), "{text}");
    }
}

/// Writes a status line to stderr, unless the command is quiet.
pub fn status(text: &str) {
    if says(Verbosity::Normal) {
        notice(text);
    }
}

/// Writes a line of details to stderr, if the command is verbose.
pub fn detail(text: impl FnOnce() -> String) {
    if says(Verbosity::Verbose) {
        notice(&text());
    }
}

/// A progress bar over `total` steps on stderr; invisible if stderr is not a terminal or the
/// command is quiet.
pub fn progress(total: u64, what: &str) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() && says(Verbosity::Normal) {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let style = ProgressStyle::with_template("{msg} {bar:40} {pos}/{len} {elapsed}, {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(what.to_owned());
    bar
}
