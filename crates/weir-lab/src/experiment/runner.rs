//! Runs the scenarios that an experiment plans.

use super::published::{RunPlan, Testbed};
use super::run_data::RunData;
use crate::diagnosis::{Trace, explain};
use crate::replication::Fingerprint;
use crate::run::columns;
use crate::run::{RunOptions, RunOutput, TraceLevel, TransportRegistry, run};
use crate::scenario::overrides::parse_set;
use crate::scenario::{Flow, Scenario, parse_with};
use std::sync::atomic::AtomicBool;

/// Runs a scenario in real time with these endpoints, or reports why it cannot.
pub type TestbedRunner<'a> = dyn Fn(&Scenario, Testbed) -> Result<RunOutput, String> + Sync + 'a;

/// Transports and a testbed that this crate does not implement.
#[derive(Clone, Copy, Default)]
pub struct Backends<'a> {
    /// Transports implemented by other crates.
    pub registry: TransportRegistry<'a>,
    /// Real sockets, for runs in real time.
    pub testbed: Option<&'a TestbedRunner<'a>>,
    /// Set by another thread to end runs early.
    pub cancel: Option<&'a AtomicBool>,
}

/// Reads and checks a scenario with some values replaced.
///
/// # Errors
/// If the scenario is invalid.
pub(super) fn parse_scenario(file: &str, text: &str, set: &[String]) -> Result<Scenario, String> {
    let mut overrides = Vec::new();
    for argument in set {
        overrides.extend(parse_set(argument).map_err(|error| error.to_string())?);
    }
    let scenario = parse_with(text, file, &overrides).map_err(|error| error.to_string())?;
    if scenario.flows.is_empty() {
        return Err("it has no flow to measure".to_owned());
    }
    Ok(scenario)
}

/// Runs a scenario with the seed `scenario.run.seed` and keeps as much of its trace as `trace`
/// selects, with an explanation if a plot shows it.
///
/// # Errors
/// If the run fails.
pub(super) fn run_once(
    scenario: &Scenario,
    plan: &RunPlan,
    trace: TraceLevel,
    is_drawn: bool,
    backends: Backends<'_>,
) -> Result<RunData, String> {
    let name = scenario.flows.iter().flat_map(Flow::names).next();
    let name = name.unwrap_or_default();
    let options = RunOptions {
        trace,
        traced_flow: Some(&name),
        registry: backends.registry,
        cancel: backends.cancel,
        ..RunOptions::default()
    };
    let output = match (plan.testbed, backends.testbed) {
        (None, _) => run(scenario, &options).map_err(|error| error.to_string())?,
        (Some(endpoints), Some(testbed)) => testbed(scenario, endpoints)?,
        (Some(_), None) => return Err("it needs a testbed".to_owned()),
    };
    let fingerprint = Fingerprint::of(&output);
    let summary = output.summary.flows.get(&name);
    let summary = summary.ok_or_else(|| format!("run \"{}\" has no flow", plan.name))?;
    let mut data = RunData {
        throughput_bps: summary.throughput_bps,
        packets_sent: summary.packets_sent,
        packets_lost: summary.packets_lost,
        fingerprint: Some(fingerprint),
        explanation: is_drawn.then(|| explain(&Trace::of_run(&output))),
        summary: serde_json::to_value(&output.summary).map_err(|error| error.to_string())?,
        ..RunData::default()
    };
    if let Some(trace) = output.flows.into_iter().find(|flow| flow.name == name) {
        data.state = trace.table.rows_with("event", columns::CONTROLLER_ROW);
        data.log = trace.writes.unwrap_or_default();
        data.gaps = trace.gaps.unwrap_or_default();
    }
    Ok(data)
}
