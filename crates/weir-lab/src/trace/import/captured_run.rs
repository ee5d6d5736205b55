//! A run of a scenario and its capture, for tests.

use crate::run::{RunOptions, RunOutput, TraceLevel, run};
use crate::trace::{CaptureOptions, capture_run};
use tempfile::NamedTempFile;

/// Runs a scenario and captures it at a host, or at all, with the first `snap_octets` of each
/// frame; zero for all.
pub(super) fn captured_run(
    text: &str,
    host: Option<&str>,
    snap_octets: u32,
) -> (RunOutput, NamedTempFile) {
    let scenario = crate::scenario::parse(text, "test.toml").unwrap();
    let options = RunOptions {
        trace: TraceLevel::Full,
        packets: true,
        ..RunOptions::default()
    };
    let run = run(&scenario, &options).unwrap();
    let file = NamedTempFile::new().unwrap();
    let options = CaptureOptions {
        host,
        snap_octets,
        ..CaptureOptions::default()
    };
    capture_run(&scenario, &run.summary, &options, file.reopen().unwrap()).unwrap();
    (run, file)
}
