//! Limits of commands that simulate: wall-clock time, events, memory.

use crate::arguments;
use crate::exit::Failure;
use clap::Args;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;
use std::time::{Duration, Instant};
use weir_lab::fault::CaughtThread;
use weir_lab::run::{ProcessWatch, over_memory, over_time};
use weir_lab::scenario::Run;
use weir_proto::time;
use weir_proto::units;

/// The period at which time and memory are checked.
const PERIOD: Duration = Duration::from_millis(20);

/// Makes a process that runs out of memory end with the status of a failed run instead of SIGABRT,
/// after the standard library has printed its message.
///
/// A failed allocation aborts the process: stable Rust has neither a custom handler nor a panic for
/// it, and a custom allocator needs `unsafe`.
pub fn report_abort() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGABRT;
        let always = Arc::new(AtomicBool::new(true));
        signal_hook::flag::register_conditional_shutdown(SIGABRT, 1, always)?;
    }
    Ok(())
}

/// The bounds of a command.
#[derive(Clone, Copy, Debug, Default, Args)]
#[expect(
    clippy::struct_field_names,
    reason = "they are the names of the options"
)]
pub struct LimitArguments {
    /// End with an error after this much time of the clock: 10min, or seconds
    #[arg(long, value_name = "TIME", value_parser = arguments::time)]
    max_time: Option<Duration>,
    /// End a run with an error after this many events
    #[arg(long, value_name = "EVENTS", value_parser = events)]
    pub max_events: Option<u64>,
    /// End with an error when the process holds more memory than this, such as 4GB [default: 80 %
    /// of the machine's]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_memory: Option<u64>,
}

/// Parses a number of events.
fn events(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|&number| number > 0);
    number.ok_or_else(|| "expected a whole number of events from 1 on, such as 1000000".to_owned())
}

/// Parses a number of bytes, with or without a unit, which must be enough for the program to start.
fn size(text: &str) -> Result<u64, String> {
    const LEAST: u64 = 1 << 20;
    let bytes = match text.parse() {
        Ok(bytes) => bytes,
        Err(_) => units::parse_size(text).map_err(|error| error.to_string())?,
    };
    if bytes < LEAST {
        return Err(format!(
            "{bytes} bytes are less than the program itself holds; expected at least 1MiB, such as 4GB"
        ));
    }
    Ok(bytes)
}

/// Watches the time and memory of the process, and Ctrl-C, during runs.
pub struct Watchdog(Arc<State>);

struct State {
    cancel: AtomicBool,
    reason: OnceLock<String>,
}

impl LimitArguments {
    /// Adds the limits of a command's scenarios where the command has none: the minimum of their
    /// times and of their memory. Limits of events apply to each run.
    pub fn or_of<'a>(self, runs: impl Iterator<Item = &'a Run> + Clone) -> Self {
        let times = runs.clone().filter_map(|run| run.max_time);
        let time = times
            .min()
            .map(|time| Duration::from_nanos(time.as_nanos()));
        Self {
            max_time: self.max_time.or(time),
            max_memory: self
                .max_memory
                .or(runs.filter_map(|run| run.max_memory).min()),
            ..self
        }
    }

    /// Starts watching, until the watchdog is dropped.
    pub fn watch(self, interrupted: Arc<AtomicBool>) -> Result<Watchdog, Failure> {
        let state = Arc::new(State {
            cancel: AtomicBool::new(false),
            reason: OnceLock::new(),
        });
        let (watched, begin) = (Arc::downgrade(&state), Instant::now());
        let most = self.max_memory.or_else(default_memory);
        let watch = move || {
            while let Some(state) = Weak::upgrade(&watched) {
                if let Some(reason) = self.exceeded(begin.elapsed(), most) {
                    let _ = state.reason.set(reason);
                    state.cancel.store(true, Ordering::Relaxed);
                }
                if interrupted.load(Ordering::Relaxed) {
                    state.cancel.store(true, Ordering::Relaxed);
                }
                drop(state);
                thread::sleep(PERIOD);
            }
        };
        CaughtThread::start(watch)?;
        Ok(Watchdog(state))
    }

    /// The exceeded limit in words.
    fn exceeded(self, elapsed: Duration, most: Option<u64>) -> Option<String> {
        if let Some(limit) = self.max_time.filter(|&limit| elapsed > limit) {
            return Some(over_time(limit));
        }
        let limit = most.filter(|&most| resident_bytes().is_some_and(|held| held > most))?;
        Some(over_memory(limit))
    }
}

impl Watchdog {
    /// Set when the runs must end.
    pub fn cancel(&self) -> &AtomicBool {
        &self.0.cancel
    }

    /// A function that returns true once the runs must end.
    pub fn cancelled(&self) -> impl Fn() -> bool + Send + Sync + use<> {
        let state = Arc::clone(&self.0);
        move || state.cancel.load(Ordering::Relaxed)
    }

    /// The reason why runs ended; `there` describes what is kept.
    pub fn ended(&self, there: &str) -> Failure {
        match self.0.reason.get() {
            None => Failure::Interrupted,
            Some(reason) => Failure::Failed(format!("ended: {reason}; {there}")),
        }
    }

    /// The reason for a run that reached this virtual time.
    pub fn failure(&self, at: time::Instant) -> Failure {
        match self.0.reason.get() {
            None => Failure::Interrupted,
            Some(reason) => Failure::Failed(format!(
                "the run was ended at {at} s of virtual time: {reason}; nothing of it is written, \
                 what was there before is kept"
            )),
        }
    }
}

/// The clock and memory readings for limits in scenarios, which apply to each run.
pub const WATCHED: ProcessWatch = ProcessWatch::Run {
    clock,
    memory: resident_bytes,
};

/// The time since the first call.
fn clock() -> Duration {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed()
}

/// The resident set of this process.
pub fn resident_bytes() -> Option<u64> {
    /// The page size of Linux on all supported machines.
    const PAGE: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE)
}

/// 80 % of the machine's memory.
fn default_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024 / 10 * 8)
}
