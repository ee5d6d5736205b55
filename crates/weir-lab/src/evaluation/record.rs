//! A run of a case again, with its trace.

use super::{EvaluationError, Suite, cast, is_of};
use crate::candidate::Candidate;
use crate::run::{RunOptions, RunOutput, TraceLevel, TransportRegistry, run};
use crate::scenario::Flow;

/// The run of a case with seed 1, with the traces of the flows that have the controller. The case
/// is the one of this number in the chapter of this name, of those that the controller can be
/// evaluated with; `None` if there is none.
///
/// # Errors
/// A case that cannot be used, or a run that fails.
pub(crate) fn record(
    suite: &Suite,
    subject: &Candidate,
    place: (&str, usize),
    registry: TransportRegistry<'_>,
) -> Result<Option<RunOutput>, EvaluationError> {
    let suite = suite.of(subject);
    let mut chapters = suite.chapters.iter();
    let chapter = chapters.find(|chapter| chapter.id == place.0);
    let Some(case) = chapter.and_then(|chapter| chapter.cases.get(place.1)) else {
        return Ok(None);
    };
    let mut scenario = Suite::scenario(case)?;
    cast(
        &mut scenario,
        case,
        subject,
        &subject.standard(&case.rival)?,
    );
    scenario.run.seed = 1;
    let options = RunOptions {
        trace: TraceLevel::Full,
        registry,
        ..RunOptions::default()
    };
    let failed = |error: crate::run::RunError| EvaluationError::Run {
        case: case.words.clone(),
        candidate: subject.name.clone(),
        message: error.to_string(),
    };
    let mut output = run(&scenario, &options).map_err(failed)?;
    let subjects = output.scenario.flows.iter();
    let subjects = subjects.filter(|flow| case.subject.iter().any(|name| is_of(flow, name)));
    let names: Vec<String> = subjects.flat_map(Flow::names).collect();
    output.flows.retain(|flow| names.contains(&flow.name));
    Ok(Some(output))
}
