//! All pictures of a run in their order of importance, and notes on what is omitted.

use super::columns::{NO_TRACES, of_columns};
use super::drawing::{Drawing, NamedPlot};
use super::flow_plots::plots_of_flow;
use super::media_plots::plots_of_media;
use super::overview::overview;
use super::queues::{by_load, queue};
use super::selection::{PlotError, PlotSelection, selects};
use super::series::end_steps;
use super::subjects::{Life, PlotData, Subject, subjects};
use super::topology::Topology;
use crate::scenario::Flow;

/// Some pictures under a heading.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// The pictures.
    pub figures: Vec<NamedPlot>,
}

/// The pictures of a run, and notes on what is not drawn, with the options that draw it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunPictures {
    /// A table above the pictures, as HTML.
    pub head: String,
    /// The pictures by section.
    pub sections: Vec<Section>,
    /// A sentence for each omission.
    pub left_out: Vec<String>,
}

/// The number of flows drawn in detail by default.
const DETAILED_FLOWS: usize = 4;
/// The number of link directions whose queues are drawn by default.
const DETAILED_LINKS: usize = 3;
/// The maximum number of flows or links drawn in detail.
const MOST_DETAILED: usize = 24;

impl RunPictures {
    /// All pictures, in order.
    pub fn figures(&self) -> impl Iterator<Item = &NamedPlot> {
        self.sections.iter().flat_map(|section| &section.figures)
    }

    fn push(&mut self, title: &str, figures: Vec<NamedPlot>) {
        if !figures.is_empty() {
            let title = title.to_owned();
            self.sections.push(Section { title, figures });
        }
    }
}

/// The pictures of a run: the network, all flows together, the bottleneck's queue, then single
/// flows and other links.
///
/// # Errors
/// If the selection names something that the run does not have, or there is nothing to draw.
pub fn pictures_of(data: &PlotData, selection: &PlotSelection) -> Result<RunPictures, PlotError> {
    check(data, selection)?;
    let mut pictures = RunPictures::default();
    let (subjects, missing) = subjects(data, selection);
    if !missing.is_empty() {
        let message = format!("{} flows in the pictures of all flows", missing.len());
        pictures.left_out.push(message);
    }
    if selection.columns.is_empty() {
        let mut first: Vec<NamedPlot> = Vec::new();
        if !selection.is_chosen() {
            let network = network(data, &mut pictures.left_out);
            first.extend(network.map(|network| {
                let caption = "Rates, delays and queues as the scenario has them. The bottleneck \
                               is thick: the link that was used most, of those whose queue was \
                               full, dropped or marked if there are any.";
                NamedPlot::new("network", caption, network)
            }));
        }
        if selection.links.is_empty() || !selection.flows.is_empty() {
            first.extend(overview(data, &subjects));
            pictures.left_out.extend(arrivals(data, selection));
        }
        let (bottleneck, others) = queues(data, selection, &mut pictures.left_out);
        // The queue follows the delays, because it explains them.
        let place = first.iter().position(|figure| figure.name == "delay");
        let place = place.map_or(first.len(), |place| place + 1);
        first.splice(place..place, bottleneck);
        pictures.push("The whole run", first);
        flows(data, selection, &subjects, &mut pictures);
        pictures.push("Queues of other links", others);
    } else {
        pictures.push("Columns", of_columns(data, selection, &subjects)?);
    }
    finish(&mut pictures, data, selection);
    if pictures.sections.is_empty() {
        return Err(PlotError::Nothing(NO_TRACES.to_owned()));
    }
    Ok(pictures)
}

/// The network, as far as a picture can show it.
fn network(data: &PlotData, left_out: &mut Vec<String>) -> Option<Topology> {
    let network = Topology::of(data)?;
    let (nodes, missing) = network.nodes();
    if missing > 0 {
        left_out.push(format!(
            "{missing} of the {nodes} different hosts and media of the network, those farthest \
             from the bottleneck."
        ));
    }
    Some(network)
}

/// A note on arriving transfers: each has its own connection, for which there are no tables over
/// time.
fn arrivals(data: &PlotData, selection: &PlotSelection) -> Option<String> {
    let transfers = data.output.summary.transfers.iter();
    let transfers = transfers.filter(|(name, _)| selects(&selection.flows, name));
    let transfers = transfers.map(|(name, of)| format!("{} of {name}", of.transfers));
    let transfers: Vec<String> = transfers.collect();
    (!transfers.is_empty()).then(|| {
        format!(
            "Rates, delays and windows over time of transfers that arrive, which have no traces: \
             {}. Their completion times are drawn.",
            transfers.join(", ")
        )
    })
}

fn check(data: &PlotData, selection: &PlotSelection) -> Result<(), PlotError> {
    let flows: Vec<String> = data
        .output
        .scenario
        .flows
        .iter()
        .flat_map(Flow::names)
        .collect();
    let flows: Vec<&str> = flows.iter().map(String::as_str).collect();
    PlotSelection::check("flow", &selection.flows, &flows)?;
    let links: Vec<String> = data.output.scenario.trace_names().collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    PlotSelection::check("link", &selection.links, &links)?;
    let (from, to) = (selection.from_s.unwrap_or(0.0), selection.to_s);
    let end = data.end_s();
    if from >= to.unwrap_or(f64::INFINITY).min(end) {
        return Err(PlotError::Nothing(format!(
            "nothing lies between --from and --to: the traces go from 0 to {end} s"
        )));
    }
    Ok(())
}

/// Cuts each picture to the selected time range, and ends each time axis at the end of the run's
/// data.
fn finish(pictures: &mut RunPictures, data: &PlotData, selection: &PlotSelection) {
    let end = data.end_s();
    for section in &mut pictures.sections {
        for figure in &mut section.figures {
            match &mut figure.drawing {
                Drawing::Plot(plot) => selection.apply(plot, end),
                Drawing::Topology(topology) => topology.size = selection.size,
                // Several runs are drawn so, and their selection is applied to each plot.
                Drawing::Panels(_) => {}
            }
        }
    }
}

/// The queue of the bottleneck, or the first of the selected links; and those of the others.
fn queues(
    data: &PlotData,
    selection: &PlotSelection,
    left_out: &mut Vec<String>,
) -> (Vec<NamedPlot>, Vec<NamedPlot>) {
    if selection.links.is_empty() && !selection.flows.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let most = if selection.links.is_empty() {
        DETAILED_LINKS
    } else {
        MOST_DETAILED
    };
    let mut drawn = Vec::new();
    let mut idle = 0;
    let mut more: Vec<&str> = Vec::new();
    for link in by_load(data) {
        if !selects(&selection.links, &link.name) {
            continue;
        }
        if drawn.len() == most {
            let waited = super::series::points(&link.table, "queue_bytes")
                .is_some_and(|points| points.iter().any(|point| point.1 > 0.0));
            if waited {
                more.push(&link.name);
            } else {
                idle += 1;
            }
            continue;
        }
        match queue(data, link) {
            Some((plot, caption)) => {
                drawn.push(NamedPlot::new(
                    &format!("{}-queue", link.name),
                    &caption,
                    plot,
                ));
            }
            None => idle += 1,
        }
    }
    if !more.is_empty() {
        left_out.push(format!(
            "The queues of {} more links, with --link NAME (or --link '*'): {}.",
            more.len(),
            listed(&more)
        ));
    }
    if idle > 0 {
        let what = if idle == 1 { "direction" } else { "directions" };
        left_out.push(format!(
            "The queues of {idle} {what} of links, in which no packet ever waited."
        ));
    }
    let others = drawn.split_off(drawn.len().min(1));
    (drawn, others)
}

/// The selected flows with traces in drawing order, and how many of them are drawn in detail.
fn in_order<'a>(
    data: &PlotData,
    selection: &PlotSelection,
    subjects: &'a [Subject],
) -> (Vec<(&'a Subject, &'a str)>, usize) {
    if selection.flows.is_empty() && !selection.links.is_empty() {
        return (Vec::new(), 0);
    }
    let most = if selection.flows.is_empty() {
        DETAILED_FLOWS
    } else {
        MOST_DETAILED
    };
    // The first flow of each group precedes the other flows, because scenarios usually compare
    // groups.
    let firsts = subjects.iter().filter_map(|subject| {
        let first = subject.flows.first();
        first.map(|flow| (subject, flow.as_str()))
    });
    let others = subjects.iter().flat_map(|subject| {
        let others = subject.flows.iter().skip(1);
        others.map(move |flow| (subject, flow.as_str()))
    });
    let all = firsts.chain(others);
    let all = all.filter(|(_, flow)| data.state(flow).is_some());
    (all.collect(), most)
}

/// The flows that are drawn in detail.
#[cfg(feature = "files")]
pub(super) fn detailed(
    data: &PlotData,
    selection: &PlotSelection,
    subjects: &[Subject],
) -> Vec<String> {
    let (all, most) = in_order(data, selection, subjects);
    let flows = all.iter().take(most).map(|(_, flow)| (*flow).to_owned());
    flows.collect()
}

/// A section for each flow that is drawn in detail.
fn flows(
    data: &PlotData,
    selection: &PlotSelection,
    subjects: &[Subject],
    pictures: &mut RunPictures,
) {
    let (all, most) = in_order(data, selection, subjects);
    let mut more: Vec<&str> = Vec::new();
    for (number, (subject, flow)) in all.iter().enumerate() {
        let Some(table) = data.state(flow).filter(|_| number < most) else {
            more.push(flow);
            continue;
        };
        let mut plots = plots_of_flow(flow, table, subject.colour());
        plots.extend(plots_of_media(
            flow,
            table,
            data.frames(flow),
            subject.colour(),
        ));
        if all.len() > 2 && selection.flows.is_empty() {
            // The inverse of the rate and the last round trips are drawn only for selected flows.
            let detail = |name: &str| {
                ["-interval", "-packets", "-sawtooth"]
                    .iter()
                    .any(|ending| name.ends_with(ending))
            };
            plots.retain(|plot| !detail(&plot.name));
        }
        let life = data.life(flow);
        let end_s = end_of_flow(data, selection, life);
        for plot in &mut plots {
            if let Drawing::Plot(plot) = &mut plot.drawing {
                end_steps(plot, life, data.end_s());
                selection.apply(plot, end_s);
            }
        }
        pictures.push(&format!("Flow {flow}"), plots);
    }
    if all.len() > 2 && selection.flows.is_empty() {
        pictures.left_out.push(
            "Packet intervals and the last round trips of each flow, with --flow NAME.".to_owned(),
        );
    }
    if !more.is_empty() {
        pictures.left_out.push(format!(
            "The window or rate and the round-trip time of {} more flows, with --flow NAME: {}.",
            more.len(),
            listed(&more)
        ));
    }
}

/// The end of the time axes of a flow's own pictures: the end of the flow, unless the selected time
/// range begins after it or has an end.
fn end_of_flow(data: &PlotData, selection: &PlotSelection, life: Life) -> f64 {
    let (run, flow) = (data.end_s(), life.end_s.min(data.end_s()));
    let is_over = selection.from_s.is_some_and(|from| from >= flow);
    if is_over || selection.to_s.is_some() {
        run
    } else {
        flow
    }
}

/// The first names, with an ellipsis if there are more.
fn listed(names: &[&str]) -> String {
    let mut text = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 8 {
        text.push_str(", …");
    }
    text
}
