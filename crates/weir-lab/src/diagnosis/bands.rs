//! Findings as bars below the pictures of a run, each over the time in which it is seen.

use super::{Explanation, Finding};
use crate::report::{Drawing, Episode, NamedPlot, Plot, RunPictures};

/// Bars below one picture at most; the list of findings has all.
const BARS: usize = 4;

/// Adds to each picture over time the findings that it can show: to those of one flow the findings
/// of that flow and of links, to the others all.
pub fn with_findings(mut pictures: RunPictures, explanation: &Explanation) -> RunPictures {
    for section in &mut pictures.sections {
        let flow = section.title.strip_prefix("Flow ");
        for figure in &mut section.figures {
            let NamedPlot { drawing, .. } = figure;
            if let Drawing::Plot(plot) = drawing {
                add_findings(plot, explanation, flow);
            }
        }
    }
    pictures
}

/// Adds findings to a plot over time: those of this flow and of links, or all.
pub(crate) fn add_findings(plot: &mut Plot, explanation: &Explanation, flow: Option<&str>) {
    if !plot.is_over_time() {
        return;
    }
    let is_flow = |name: &str| explanation.held.iter().any(|held| held.flow == name);
    let concerns = |finding: &&Finding| {
        let Some(flow) = flow else {
            return true;
        };
        let mut names = std::iter::once(&finding.subject).chain(&finding.also);
        names.any(|name| name == flow || !is_flow(name))
    };
    let (from, to) = plot.shown();
    let findings = explanation.findings.iter().filter(concerns);
    let seen = findings.filter(|finding| finding.span_s[0] < to && finding.span_s[1] > from);
    let bars = seen.take(BARS).map(|finding| Episode {
        name: match flow {
            Some(flow) if finding.subject == flow => finding.title.to_owned(),
            _ => format!("{}: {}", finding.subject, finding.title),
        },
        span: (finding.span_s[0], finding.span_s[1]),
    });
    plot.episodes = bars.collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Held, Statement};
    use crate::report::{Axis, Colour, Section, Shape};

    fn finding(subject: &str, title: &'static str, span_s: [f64; 2]) -> Finding {
        Finding {
            kind: "kind",
            title,
            subject: subject.to_owned(),
            also: Vec::new(),
            severity: 0.5,
            symptom: Statement {
                text: String::new(),
                evidence: Vec::new(),
            },
            chain: Vec::new(),
            span_s,
            remedies: Vec::new(),
            citation: "",
            caused_by: None,
        }
    }

    fn bars(section: &str, axis: Axis) -> Vec<String> {
        let held = ["a", "b"].map(|flow| Held {
            flow: flow.to_owned(),
            shares: Vec::new(),
        });
        let explanation = Explanation {
            held: held.to_vec(),
            findings: vec![
                finding("a", "late", [1.0, 2.0]),
                finding("b", "lossy", [3.0, 4.0]),
                finding("bottleneck", "full", [0.0, 9.0]),
                finding("a", "after the end", [11.0, 12.0]),
            ],
            ..Explanation::default()
        };
        let line = Shape::Line(vec![(0.0, 1.0), (10.0, 2.0)]);
        let plot = Plot::new("", axis, Axis::linear("rate, bit/s", "bit/s"));
        let figures = vec![NamedPlot::new("p", "", plot.with("", Colour(0), line))];
        let pictures = RunPictures {
            sections: vec![Section {
                title: section.to_owned(),
                figures,
            }],
            ..RunPictures::default()
        };
        let drawn = with_findings(pictures, &explanation);
        let plots = drawn.figures().filter_map(|figure| figure.drawing.plot());
        let episodes = plots.flat_map(|plot| &plot.episodes);
        episodes.map(|episode| episode.name.clone()).collect()
    }

    #[test]
    fn a_picture_has_the_findings_of_its_flow_and_of_links_in_its_time() {
        assert_eq!(bars("Flow a", Axis::time()), ["late", "bottleneck: full"]);
        assert_eq!(
            bars("The whole run", Axis::time()),
            ["a: late", "b: lossy", "bottleneck: full"]
        );
    }

    #[test]
    fn a_picture_that_is_not_over_time_has_none() {
        assert!(bars("Flow a", Axis::linear("delay, s", "s")).is_empty());
    }
}
