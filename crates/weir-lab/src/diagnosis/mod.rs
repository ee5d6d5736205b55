//! Explains a trace: what held each sender, what went wrong, the rows that prove it, and what
//! should have helped.
//!
//! A [`Trace`] is a run, a run's folder or another program's trace. [`explain`] gives it to every
//! detector ([`pathology`], a file for each group of kinds) and sorts their findings by cause. Each
//! number in a sentence is an [`Evidence`]: a [`Statistic`] of a column over named rows, so that it
//! can be computed again. A detector whose columns are missing says so in
//! [`Explanation::unknown`]; it never guesses.
//!
//! Detectors read the trace and the scenario, and judge nothing by a name of a flow, host or link.

mod bands;
mod bounds;
mod causes;
mod counterfactual;
mod finding;
mod html;
mod losses;
mod pathology;
mod statistic;
mod text;
mod trace;
mod view;

pub(crate) use bands::add_findings;
pub use bands::with_findings;
pub use bounds::{Held, HeldShare};
pub use counterfactual::{Change, Runner, Trial, try_remedies};
pub use finding::{Evidence, Finding, Pathology, Remedy, RemedyPlace, Statement};
pub use html::explanation_html;
pub use statistic::Statistic;
pub use text::{explanation_text, trials_text};
pub use trace::{Trace, TracedFlow};

use schemars::JsonSchema;
use serde::Serialize;
use view::View;

/// The explanation of a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The version of this form.
    pub version: u32,
    /// For each flow what held its sender, and the rules behind.
    pub held: Vec<Held>,
    /// What went wrong; causes before what they cause.
    pub findings: Vec<Finding>,
    /// What could not be examined.
    pub unknown: Vec<Unknown>,
}

/// A column that is missing, and what could not be looked for without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unknown {
    /// The column.
    pub column: &'static str,
    /// The flows whose traces lack it.
    pub flows: Vec<String>,
    /// The kinds of pathologies that need it.
    pub kinds: Vec<&'static str>,
}

/// The version of [`Explanation`] in JSON.
pub const EXPLANATION_VERSION: u32 = 1;

/// Explains a trace.
pub fn explain(trace: &Trace<'_>) -> Explanation {
    let view = View::of(trace);
    let found = pathology::DETECTORS.iter();
    let found = found.flat_map(|detector| (detector.examine)(&view));
    let mut found: Vec<Finding> = found.collect();
    if trace.scenario.is_none() {
        // There is nothing to set.
        let remedies = found.iter_mut().flat_map(|finding| &mut finding.remedies);
        remedies.for_each(|remedy| remedy.set.clear());
    }
    Explanation {
        version: EXPLANATION_VERSION,
        held: bounds::held(&view),
        findings: causes::in_order(causes::by_entry(&view, found)),
        unknown: unknown(&view),
    }
}

/// The kinds of pathologies that are known.
pub fn pathologies() -> impl Iterator<Item = &'static Pathology> {
    pathology::DETECTORS.iter().map(|detector| detector.about)
}

/// An explanation in JSON, with what the remedies did if they were tried.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "Weir explanation")]
struct Document<'a> {
    #[serde(flatten)]
    explanation: &'a Explanation,
    /// What the remedies did.
    #[serde(skip_serializing_if = "Option::is_none")]
    trials: Option<&'a [Trial]>,
}

/// The JSON Schema (draft 2020-12) of [`explanation_json`].
pub fn explanation_schema() -> serde_json::Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
    let schema = settings
        .into_generator()
        .into_root_schema_for::<Document<'_>>();
    schema.to_value()
}

/// The explanation as one JSON document, with what the remedies did if they were tried.
pub fn explanation_json(explanation: &Explanation, trials: Option<&[Trial]>) -> String {
    let document = Document {
        explanation,
        trials,
    };
    crate::json::document(&document)
}

/// What is missing for detectors that apply to a flow.
fn unknown(view: &View<'_>) -> Vec<Unknown> {
    let mut unknown: Vec<Unknown> = Vec::new();
    for detector in pathology::DETECTORS {
        for column in detector.about.needs {
            let lack = view.flows.iter().filter(|flow| (detector.applies)(flow));
            let lack = lack.filter(|flow| !flow.has(column));
            let flows: Vec<String> = lack.map(|flow| flow.name.to_owned()).collect();
            if flows.is_empty() {
                continue;
            }
            let same = |one: &&mut Unknown| one.column == *column && one.flows == flows;
            match unknown.iter_mut().find(same) {
                Some(one) => one.kinds.push(detector.about.kind),
                None => unknown.push(Unknown {
                    column,
                    flows,
                    kinds: vec![detector.about.kind],
                }),
            }
        }
    }
    unknown
}
