//! A path from a trace: the scenario whose run would look as the trace does.
//!
//! From the acknowledgements of one flow, with what had arrived by each and its round trip, follow
//! the rate while packets waited, the round trip without waiting, what waited where packets were
//! lost, the losses elsewhere, the acknowledgements that are missing, and what the application
//! wrote: a file for each. What a trace leaves open, such as whether a queue was CoDel's, runs
//! decide: of a few paths the one whose run is nearest to the trace. The error of that run is part
//! of the result.
//!
//! Of a run's folder only what the flow's two ends knew is read, not its links.
//!
//! Does not model: several bottlenecks, cross traffic (which looks like a lower rate), jitter,
//! reordering, policers, 802.11.

mod application;
mod delay;
mod error;
mod figures;
mod file;
mod level;
mod loss;
mod observed;
mod parameter;
mod path;
mod queue;
mod rate;
mod transport;
mod way_back;

pub use figures::{Differences, Figures};
pub use file::HEAD;
pub use parameter::Parameter;

use crate::diagnosis::{Runner, Trace};
use crate::run::RunError;
use crate::scenario::{Flow, Scenario, ScenarioError};
use crate::table::Table;
use crate::trace::import::{Imported, Vantage};
use error::{Trial, Tried};
use observed::Observed;
use path::Path;
use schemars::JsonSchema;
use serde::Serialize;
use weir_proto::settings::Raw;

/// A flow of a trace, and what is known of it beside the tables.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The trace.
    pub trace: &'a Trace<'a>,
    /// The flow's name in it.
    pub flow: &'a str,
    /// `tcp`, `quic`, `dccp` or another.
    pub transport: String,
    /// The congestion controller, if it is known.
    pub controller: Option<String>,
    /// Where it was traced.
    pub vantage: Vantage,
    /// The flow of the scenario, of a run.
    pub declared: Option<&'a Flow>,
}

/// A fitted path.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Fit {
    /// The scenario as a file, with a comment for each parameter; it begins with [`HEAD`].
    #[serde(skip)]
    pub toml: String,
    /// The scenario.
    #[serde(skip)]
    pub scenario: Scenario,
    /// The name of its flow.
    pub flow: String,
    /// Its parameters, and how each was found.
    pub parameters: Vec<Parameter>,
    /// A sentence for each thing that the trace does not tell, or that is unusual.
    pub remarks: Vec<String>,
    /// The trace against runs of the scenario.
    pub differences: Differences,
}

/// Why a trace gives no path.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// No flow has this name.
    #[error("the trace has no flow \"{0}\" with a table")]
    NoFlow(String),
    /// It has no flow at all.
    #[error("the trace has no flow")]
    Empty,
    /// It is too short.
    #[error(
        "the trace has {0} acknowledgements with a round trip and new data, expected at least \
         {least}; a path needs a transfer of some seconds, traced beside its sender",
        least = observed::LEAST_SAMPLES
    )]
    TooShort(usize),
    /// All round trips are one value.
    #[error(
        "the trace has no round trips but that of the handshake, as a capture beside the receiver \
         without TCP timestamps; capture beside the sender"
    )]
    NoRoundTrips,
    /// The transport is none that runs.
    #[error("the flow's transport is {0}, expected tcp, quic or dccp: others do not show a path")]
    Transport(String),
    /// The controller is not known.
    #[error("there is no controller \"{0}\"; {known}", known = transport::known(.0))]
    Controller(String),
    /// What was found is no scenario.
    #[error("the fitted path is no scenario: {0}")]
    Scenario(#[from] ScenarioError),
    /// The fitted path cannot be run.
    #[error("the fitted path cannot be run: {0}")]
    Run(#[from] RunError),
}

impl<'a> Subject<'a> {
    /// A flow of another program's trace; without a name the one with most data.
    ///
    /// # Errors
    /// If there is no such flow.
    pub fn of_import(
        imported: &'a Imported,
        trace: &'a Trace<'a>,
        name: Option<&str>,
    ) -> Result<Self, FitError> {
        let octets = |index: &usize| imported.flows[*index].delivered_bytes.unwrap_or(0.0);
        let mut all = 0..imported.flows.len();
        let index = match name {
            Some(name) => all.find(|index| imported.flows[*index].trace.name == name),
            None => all.reduce(|a, b| if octets(&b) > octets(&a) { b } else { a }),
        };
        let missing = || name.map_or(FitError::Empty, |name| FitError::NoFlow(name.to_owned()));
        let flow = index.and_then(|index| imported.flows.get(index));
        let flow = flow.ok_or_else(missing)?;
        Ok(Self {
            trace,
            flow: &flow.trace.name,
            transport: flow.transport.to_owned(),
            controller: flow
                .controller
                .clone()
                .filter(|name| transport::is_known(name)),
            vantage: flow.vantage,
            declared: None,
        })
    }

    /// A flow of a run; without a name the one that delivered most.
    ///
    /// # Errors
    /// If there is no such flow.
    pub fn of_run(trace: &'a Trace<'a>, name: Option<&str>) -> Result<Self, FitError> {
        let goodput = |name: &str| {
            let flow = trace.summary.and_then(|summary| summary.flows.get(name));
            flow.map_or(0.0, |flow| flow.goodput_bps)
        };
        let mut flows = trace.flows.iter();
        let flow = match name {
            Some(name) => flows.find(|flow| flow.name == name),
            None => flows.reduce(|a, b| {
                if goodput(&b.name) > goodput(&a.name) {
                    b
                } else {
                    a
                }
            }),
        };
        let missing = || name.map_or(FitError::Empty, |name| FitError::NoFlow(name.to_owned()));
        let flow = flow.ok_or_else(missing)?;
        let declared = trace.scenario.and_then(|scenario| {
            let mut flows = scenario.flows.iter();
            flows.find(|declared| declared.is_named(&flow.name))
        });
        Ok(Self {
            trace,
            flow: &flow.name,
            transport: flow.transport.clone(),
            controller: None,
            vantage: Vantage::Sender,
            declared,
        })
    }

    /// A table of the flow.
    fn table(&self, kind: &str) -> Option<&'a Table> {
        let path = format!("{kind}/{}", self.flow);
        self.trace.tables.get(&path).map(AsRef::as_ref)
    }
}

/// Fits a path to a flow. `runner` runs scenarios with their whole trace.
///
/// # Errors
/// If the trace does not show a path, or the path that was found cannot be run.
pub fn fit(subject: &Subject<'_>, runner: &Runner<'_>) -> Result<Fit, FitError> {
    let observed = Observed::of(subject)?;
    let path = Path::of(&observed, subject);
    let mut paths = vec![path];
    paths.extend(paths[0].alternatives(&observed));
    let trial = Trial {
        subject,
        observed: &observed,
        runner,
    };
    let mut best: Option<Tried> = None;
    for (transport, parameter) in transport::candidates(subject)? {
        let tried = nearest(&trial, &paths, &transport, &parameter)?;
        let distance = tried.distance_without_chance();
        let is_better = best
            .as_ref()
            .is_none_or(|best| distance < transport::CLEARLY * best.distance_without_chance());
        if is_better {
            best = Some(tried);
        }
        if distance < error::NEAR {
            break;
        }
    }
    let best = best.ok_or_else(|| FitError::Transport(subject.transport.clone()))?;
    Ok(best.finish(subject))
}

/// Of some paths the one whose run is nearest to the trace, with this transport.
fn nearest(
    trial: &Trial<'_>,
    paths: &[Path],
    transport: &Raw,
    parameter: &Parameter,
) -> Result<Tried, FitError> {
    let with_transport = |path: &Path| {
        let mut path = path.clone();
        path.transport = transport.clone();
        path.parameters.push(parameter.clone());
        trial.with_limit_as_run(path)
    };
    let missing = || FitError::Transport(trial.subject.transport.clone());
    let (first, others) = paths.split_first().ok_or_else(missing)?;
    let mut best = with_transport(first)?;
    for path in others {
        if best.distance() < error::NEAR {
            break;
        }
        best = best.or_better(with_transport(path)?, error::BETTER);
    }
    Ok(best)
}
