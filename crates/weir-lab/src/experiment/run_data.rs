//! What measures need of a run: the flow's trace in two views, and a few totals.

use super::published::RunPlan;
use crate::run::{RunOptions, RunOutput, TraceLevel, TransportRegistry, run};
use crate::scenario::{self, overrides::parse_set};
use crate::trace::{Table, Values};
use std::borrow::Cow;

/// Runs a scenario on real sockets in real time, or says why it cannot.
pub type TestbedRunner<'a> = dyn Fn(&scenario::Scenario) -> Result<RunOutput, String> + Sync + 'a;

/// What runs may need beyond this crate.
#[derive(Clone, Copy, Default)]
pub struct Backends<'a> {
    /// Transports that are made elsewhere.
    pub registry: TransportRegistry<'a>,
    /// Real sockets, for runs that want them.
    pub testbed: Option<&'a TestbedRunner<'a>>,
}

/// One run, or one seed of it. The flow is the scenario's first.
#[derive(Clone, Debug, Default)]
pub(super) struct RunData {
    /// A row at each change of the controller; empty if the run was not traced.
    pub state: Table,
    /// A line at each write of the application with the state before it; rate controllers only.
    pub log: Table,
    /// The gaps that a listener heard; empty without one.
    pub gaps: Table,
    /// Throughput in the run's window: octets of packets that arrived, as the transport counts
    /// them.
    pub throughput_bps: f64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets that were found to be lost.
    pub packets_lost: u64,
    /// The whole summary, to be asked by JSON pointers.
    pub summary: serde_json::Value,
}

impl RunData {
    /// Without the log of writes, which may be long, unless somebody reads it.
    pub fn with_log_if(mut self, read: bool) -> Self {
        if !read {
            self.log = Table::default();
        }
        self
    }
}

/// A column of numbers; counts become numbers.
pub(super) fn numbers<'a>(table: &'a Table, name: &str) -> Option<Cow<'a, [f64]>> {
    match table.column(name)? {
        Values::F64(values) => Some(Cow::Borrowed(values)),
        Values::U64(values) => Some(values.iter().map(|value| *value as f64).collect()),
        Values::Text(_) => None,
    }
}

/// A scenario that has been read and checked.
#[derive(Clone, Debug)]
pub(super) struct Scenario(scenario::Scenario);

impl Scenario {
    /// Reads and checks a scenario with some values replaced.
    ///
    /// # Errors
    /// What is wrong with it, with its place.
    pub fn parse(file: &str, text: &str, set: &[String]) -> Result<Self, String> {
        let mut overrides = Vec::new();
        for argument in set {
            overrides.extend(parse_set(argument).map_err(|error| error.to_string())?);
        }
        let scenario =
            scenario::parse_with(text, file, &overrides).map_err(|error| error.to_string())?;
        if scenario.flows.is_empty() {
            return Err("it has no flow to measure".to_owned());
        }
        Ok(Self(scenario))
    }

    /// Runs it: with its own seed and a full trace, or with another seed and counters only.
    ///
    /// # Errors
    /// Why the run gave no result.
    pub fn observe(
        &self,
        plan: &RunPlan,
        seed: Option<u32>,
        backends: Backends<'_>,
    ) -> Result<RunData, String> {
        let mut scenario = self.0.clone();
        let mut options = RunOptions {
            trace: TraceLevel::Full,
            registry: backends.registry,
            ..RunOptions::default()
        };
        if let Some(seed) = seed {
            scenario.run.seed = u64::from(seed);
            options.trace = TraceLevel::Counters;
        }
        let output = match (plan.testbed, backends.testbed) {
            (false, _) => run(&scenario, &options).map_err(|error| error.to_string())?,
            (true, Some(testbed)) => testbed(&scenario)?,
            (true, None) => return Err("it needs a testbed".to_owned()),
        };
        let name = scenario.flows.iter().flat_map(scenario::Flow::names).next();
        let name = name.unwrap_or_default();
        let summary = output.summary.flows.get(&name);
        let summary = summary.ok_or_else(|| format!("run \"{}\" has no flow", plan.name))?;
        let trace = output.flows.into_iter().find(|flow| flow.name == name);
        let (state, log, gaps) = trace.map_or_else(Default::default, |flow| {
            let (writes, gaps) = (flow.writes, flow.gaps);
            (
                flow.table,
                writes.unwrap_or_default(),
                gaps.unwrap_or_default(),
            )
        });
        Ok(RunData {
            state,
            log,
            gaps,
            throughput_bps: summary.throughput_bps,
            packets_sent: summary.packets_sent,
            packets_lost: summary.packets_lost,
            summary: serde_json::to_value(&output.summary).map_err(|error| error.to_string())?,
        })
    }
}
