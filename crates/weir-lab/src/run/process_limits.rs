//! `max_time` and `max_memory` of a scenario: limits on the wall-clock time of a run and on the
//! memory of the process. This crate reads neither; its caller does.

use crate::run::RunError;
use crate::scenario;
use std::time::Duration;
use weir_proto::time::Instant;

/// Reads the memory of the process in octets; `None` if it is unknown.
type MemoryReading = fn() -> Option<u64>;

/// The component that checks the limits of time and memory.
#[derive(Clone, Copy, Debug, Default)]
pub enum ProcessWatch {
    /// None: a scenario with `max_time` or `max_memory` is rejected.
    #[default]
    None,
    /// The run, with functions of its caller.
    Run {
        /// The time since a fixed instant.
        clock: fn() -> Duration,
        /// The memory of the process in octets; `None` if it is unknown.
        memory: MemoryReading,
    },
    /// The caller, which cancels the run when a limit is exceeded.
    Caller,
}

/// The error text for a run that took longer than this.
pub fn over_time(limit: Duration) -> String {
    format!("it took more than {limit:?} (max_time)")
}

/// The error text for a process that used more octets than this.
pub fn over_memory(limit: u64) -> String {
    match limit >> 20 {
        0 => format!("it held more than {limit} bytes (max_memory)"),
        mebibytes => format!("it held more than {mebibytes} MiB (max_memory)"),
    }
}

/// The limits of a run, and the time used.
#[derive(Clone, Debug)]
pub(in crate::run) struct ProcessLimits {
    /// The limit of time, and the clock.
    time: Option<(Duration, fn() -> Duration)>,
    /// The limit of memory, and the function that reads it.
    memory: Option<(u64, MemoryReading)>,
    /// Time used for simulation so far.
    spent: Duration,
    /// The last reading of the clock.
    shown: Duration,
}

impl ProcessLimits {
    /// The limits of the scenario.
    ///
    /// # Errors
    /// If the scenario has limits that no component checks.
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

    /// Starts counting time.
    pub(in crate::run) fn begin(&mut self) {
        if let Some((_, clock)) = self.time {
            self.shown = clock();
        }
    }

    /// Checks the limits; `at` is the virtual time reached.
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
