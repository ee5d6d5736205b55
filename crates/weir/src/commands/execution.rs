//! Executes a planned run in the simulator and writes its folder: the same for `weir run` and for
//! the runs that the page of `weir lab` asks for.

use super::planned_run::PlannedRun;
use super::replicates::{FinishedRun, RunInProgress};
use crate::exit::Failure;
use crate::foreign;
use crate::limits::Watchdog;
use crate::terminal;
use std::path::Path;
use weir_lab::run::{
    LiveObserver, ProcessWatch, RunError, RunOptions, TraceLevel, TransportRegistry,
    run as simulate,
};
use weir_proto::time::Instant;

/// How runs are executed.
pub struct Execution<'a> {
    /// The folder of all results.
    pub out: &'a Path,
    pub trace: TraceLevel,
    pub packets: bool,
    pub max_events: Option<u64>,
    /// Called with the virtual time reached and the end.
    pub progress: &'a (dyn Fn(Instant, Instant) + Sync),
    pub live: Option<&'a LiveObserver>,
    pub watchdog: &'a Watchdog,
}

impl Execution<'_> {
    /// Executes one run and writes it.
    pub fn execute(&self, run: &PlannedRun) -> Result<FinishedRun, Failure> {
        let name = &run.folder;
        let folder = RunInProgress::begin(self.out, run, name)?;
        let mut folder = folder.within(self.watchdog);
        let sink = folder.sink();
        let options = RunOptions {
            scenario_hash: Some(&run.hash),
            trace: self.trace,
            packets: self.packets,
            progress: Some(self.progress),
            max_events: self.max_events,
            cancel: Some(self.watchdog.cancel()),
            registry: TransportRegistry {
                process: ProcessWatch::Caller,
                ..foreign::registry()
            },
            sink: Some(&sink),
            live: self.live,
            ..RunOptions::default()
        };
        let started = std::time::Instant::now();
        let output = match simulate(&run.scenario, &options) {
            Ok(output) => output,
            Err(RunError::Cancelled(at)) => return Err(self.watchdog.failure(at)),
            Err(error) => {
                let why = folder.abandon().map(Failure::from);
                return Err(why.unwrap_or_else(|| Failure::Failed(error.to_string())));
            }
        };
        terminal::detail(|| {
            let (events, wall_s) = (output.summary.run.events, started.elapsed().as_secs_f64());
            let per_second = events as f64 / wall_s.max(1e-9);
            format!("{name}: {events} events in {wall_s:.3} s, {per_second:.0} a second")
        });
        FinishedRun::write(folder, &run.overrides, output, Some(self.watchdog))
    }
}
