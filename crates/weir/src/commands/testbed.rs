//! `weir testbed SCENARIO`: runs the scenario's endpoints on real sockets, with its hosts as
//! network namespaces and its token buckets in the kernel; the rest of its links is simulated in
//! real time. With `--kernel-tcp` the endpoints are the kernel's TCP and all links are simulated.
//! Writes the same folder as `weir run`.

use super::replicates::{FinishedRun, RunInProgress};
use super::runs::{RunArguments, RunResults};
use crate::exit::Failure;
use crate::interrupt::interrupt_flag;
use crate::live_view::LiveView;
use crate::progress::CommandProgress;
use crate::terminal;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use weir_lab::lint::Purpose;
use weir_lab::run::{LiveObserver, RunOutput};
use weir_lab::scenario::Scenario;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    runs: RunArguments,
    /// Write what the hosts send and receive as pcapng, each host an interface; one run only
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// TCP flows have the kernel's own TCP with the controller of this name (reno for newreno)
    #[arg(long, conflicts_with = "pcap")]
    kernel_tcp: bool,
}

/// Runs the scenario once, or once for each combination of values, one after the other.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runs = arguments.runs.plan(None)?;
    if arguments.pcap.is_some() && runs.len() > 1 {
        let message = "--pcap takes one run, and these values make several";
        return Err(Failure::Usage(message.to_owned()));
    }
    // Checked before the run takes its time.
    std::fs::create_dir_all(&arguments.runs.out).map_err(|error| {
        let folder = arguments.runs.out.display();
        Failure::Failed(format!("cannot create \"{folder}\": {error}"))
    })?;
    let stop = interrupt_flag();
    let mut results = RunResults::new(&arguments.runs, &runs, Purpose::RealTime);
    let RunArguments { scenario, out, .. } = &arguments.runs;
    let progress = Arc::new(CommandProgress::new("testbed", scenario, out));
    for (number, run) in runs.iter().enumerate() {
        let seconds = run.scenario.run.duration.as_secs_f64();
        let count = runs.len();
        terminal::status(&format!("run {}/{count}: {seconds} s", number + 1));
        let view = LiveView::new();
        let (shown, told) = (view.observer(), Arc::clone(&progress));
        let live: LiveObserver = Arc::new(move |state| {
            shown(state);
            told.show(state);
        });
        let output = one(&run.scenario, arguments, &live, &stop);
        view.finish();
        let output = output?;
        // An interrupted run must not replace a complete one.
        let interrupted = stop.load(Ordering::Relaxed);
        let ending = if interrupted { "-interrupted" } else { "" };
        let name = format!("{}-testbed{ending}", run.folder);
        let out = &arguments.runs.out;
        results.add(
            number,
            FinishedRun::write(
                RunInProgress::begin(out, run, &name)?,
                &run.overrides,
                output,
                None,
            )?,
        )?;
        if interrupted {
            break;
        }
    }
    results.finish()?;
    if stop.load(Ordering::Relaxed) {
        // The results are on stdout already.
        Err(Failure::WithResult(Box::new(Failure::Interrupted)))
    } else {
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
fn one(
    _: &Scenario,
    _: &Arguments,
    _: &LiveObserver,
    _: &AtomicBool,
) -> Result<RunOutput, Failure> {
    let message = "network namespaces need Linux; `weir run` simulates the same scenario";
    Err(Failure::Unavailable(message.to_owned()))
}

#[cfg(target_os = "linux")]
fn one(
    scenario: &Scenario,
    arguments: &Arguments,
    live: &LiveObserver,
    stop: &AtomicBool,
) -> Result<RunOutput, Failure> {
    if arguments.kernel_tcp {
        return crate::kernel_testbed::run(scenario, Some(live), stop);
    }
    crate::testbed::run(scenario, arguments.pcap.as_deref(), Some(live), stop)
}
