//! `max_time` and `max_memory` of a scenario: what a run may take of the clock and of the process's
//! memory. This crate reads neither; its caller does.

use crate::run::RunError;
use crate::scenario;
use std::time::Duration;
use weir_proto::time::Instant;

/// Reads the memory that the process holds in octets; `None` if that is not known.
type MemoryReading = fn() -> Option<u64>;

/// What looks at the clock and at the memory of the process.
#[derive(Clone, Copy, Debug, Default)]
pub enum ProcessWatch {
    /// Nothing does: a scenario with `max_time` or `max_memory` is refused.
    #[default]
    None,
    /// The run, with what its caller provides.
    Run {
        /// The time of the clock since an instant that stays the same.
        clock: fn() -> Duration,
        /// The memory that the process holds in octets; `None` if that is not known.
        memory: MemoryReading,
    },
    /// The caller, which cancels its runs.
    Caller,
}

/// Says that a run took more time of the clock than this.
pub fn over_time(limit: Duration) -> String {
    format!("it took more than {limit:?} (max_time)")
}

/// Says that the process held more octets than this.
pub fn over_memory(limit: u64) -> String {
    match limit >> 20 {
        0 => format!("it held more than {limit} bytes (max_memory)"),
        mebibytes => format!("it held more than {mebibytes} MiB (max_memory)"),
    }
}

/// What a run may take, and has taken.
#[derive(Clone, Debug)]
pub(in crate::run) struct ProcessLimits {
    /// The time, and how the clock is read.
    time: Option<(Duration, fn() -> Duration)>,
    /// The memory, and how it is read.
    memory: Option<(u64, MemoryReading)>,
    /// Time that simulating has taken so far.
    spent: Duration,
    /// What the clock showed when it was last read.
    shown: Duration,
}

impl ProcessLimits {
    /// Those of the scenario.
    ///
    /// # Errors
    /// If no one watches them.
    pub(in crate::run) fn new(run: &scenario::Run, watch: ProcessWatch) -> Result<Self, RunError> {
        let most = run
            .max_time
            .map(|most| Duration::from_nanos(most.as_nanos()));
        let (time, memory) = match watch {
            ProcessWatch::Run { clock, memory } => (
                most.map(|most| (most, clock)),
                run.max_memory.map(|most| (most, memory)),
            ),
            ProcessWatch::None if most.is_some() || run.max_memory.is_some() => {
                return Err(RunError::Build(
                    "max_time and max_memory of [run] need a program that reads the clock and \
                     its memory, and this one does not; leave them out, or bound the run by \
                     max_events"
                        .to_owned(),
                ));
            }
            ProcessWatch::None | ProcessWatch::Caller => (None, None),
        };
        Ok(Self {
            time,
            memory,
            spent: Duration::ZERO,
            shown: Duration::ZERO,
        })
    }

    /// Counts time from now on.
    pub(in crate::run) fn begin(&mut self) {
        if let Some((_, clock)) = self.time {
            self.shown = clock();
        }
    }

    /// Looks at what was taken by now; the run has come to `at`.
    ///
    /// # Errors
    /// [`RunError::Ended`].
    pub(in crate::run) fn check(&mut self, at: Instant) -> Result<(), RunError> {
        if let Some((most, clock)) = self.time {
            let now = clock();
            self.spent += now.saturating_sub(self.shown);
            self.shown = now;
            if self.spent > most {
                let why = over_time(most);
                return Err(RunError::Ended { at, why });
            }
        }
        match self.memory {
            Some((most, memory)) if memory().is_some_and(|held| held > most) => {
                let why = over_memory(most);
                Err(RunError::Ended { at, why })
            }
            _ => Ok(()),
        }
    }
}
