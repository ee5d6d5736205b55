//! A planted scenario of a kind as a picture, and the remedies that are offered for it.

use super::of_kind;
use super::score::{FRESH, run_of};
use weir_lab::diagnosis::{Explanation, Finding, Trace, explain, with_findings};
use weir_lab::report::{PlotData, PlotSelection, pictures_of};

/// Seeds that are tried until the kind is found.
const SEEDS: u64 = 10;
/// The size of the picture, in pixels.
const SIZE: (f64, f64) = (720.0, 400.0);
/// The time that is shown beside the finding, as a share of its length on each side.
const MARGIN: f64 = 0.25;

/// A planted scenario in which the kind is found.
pub(super) struct Sample {
    /// The picture that shows it best.
    pub(super) svg: String,
    /// The remedies, in words.
    pub(super) remedies: Vec<String>,
}

impl Sample {
    /// The first of some seeds in which the kind is found; `None` for a kind that is not planted.
    pub(super) fn of(kind: &str) -> Option<Self> {
        (FRESH..FRESH + SEEDS).find_map(|seed| {
            let case = of_kind(kind, seed)?;
            let output = run_of(&case.scenario);
            let explanation = explain(&Trace::of_run(&output));
            let mut findings = explanation.findings.iter();
            let finding = findings.find(|finding| finding.kind == kind)?.clone();
            let remedies = finding.remedies.iter().map(|remedy| remedy.text.clone());
            let remedies = remedies.collect();
            let svg = drawn(&PlotData::of_run(output), explanation, &finding)?;
            Some(Self { svg, remedies })
        })
    }
}

/// The most telling picture of a flow or a link around a finding.
fn drawn(data: &PlotData, explanation: Explanation, finding: &Finding) -> Option<String> {
    let [from, to] = finding.span_s;
    let margin = (MARGIN * (to - from)).max(0.05);
    let is_flow = explanation
        .held
        .iter()
        .any(|held| held.flow == finding.subject);
    let selection = PlotSelection {
        flows: is_flow
            .then(|| finding.subject.clone())
            .into_iter()
            .collect(),
        from_s: Some((from - margin).max(0.0)),
        to_s: Some(to + margin),
        size: Some(SIZE),
        ..PlotSelection::default()
    };
    let one = Explanation {
        findings: vec![finding.clone()],
        ..explanation
    };
    let pictures = with_findings(pictures_of(data, &selection).ok()?, &one);
    let ending = |ending: &str| {
        let mut figures = pictures.figures();
        figures.find(|figure| figure.name.ends_with(ending))
    };
    let endings: &[&str] = match finding.kind {
        "standing_queue"
        | "late_notification"
        | "cut_off_by_delay"
        | "double_punishment"
        | "oscillation_reduction_holds_queue" => &["-rtt", "-queue"],
        "underused_link" | "incast" | "rtt_bias" | "unfairness" => &["goodput", "-window"],
        _ => &["-window", "-rate", "goodput", "-queue"],
    };
    let figure = endings.iter().find_map(|name| ending(name));
    let figure = figure.or_else(|| pictures.figures().find(|f| f.drawing.plot().is_some()))?;
    Some(figure.drawing.svg())
}
