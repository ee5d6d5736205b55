//! Pictures of single columns of the tables, as `--columns` asks for them.

use super::axis::Axis;
use super::drawing::NamedPlot;
use super::plot::{Plot, PlotLayer, Shape};
use super::selection::{PlotError, PlotSelection, selects};
use super::series::{layers, of_intervals, of_rows, points, time_axis};
use super::subjects::{PlotData, Subject, colour_of};
use crate::run::columns::{FLOW, LINK};
use crate::table::Values;
use std::collections::BTreeSet;

/// Why a run that kept its summary only has no pictures of what happened when.
pub(super) const NO_TRACES: &str =
    "the run holds no traces to draw, only its summary: run it again without --summary-only";

/// A picture for each column: of all flows that have it, of links if it is one of theirs.
pub(super) fn of_columns(
    data: &PlotData,
    selection: &PlotSelection,
    subjects: &[Subject],
) -> Result<Vec<NamedPlot>, PlotError> {
    let known = known(data);
    if known.is_empty() {
        return Err(PlotError::Nothing(NO_TRACES.to_owned()));
    }
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    PlotSelection::check("column", &selection.columns, &known)?;
    let mut figures = Vec::new();
    for column in &selection.columns {
        let plot = of_flows(data, subjects, column).or_else(|| of_links(data, selection, column));
        let Some(plot) = plot else {
            let message = format!("column {column} has no value in this run");
            return Err(PlotError::Nothing(message));
        };
        figures.push(NamedPlot::new(column, doc(column), plot));
    }
    Ok(figures)
}

/// The columns of numbers that the run's tables have.
fn known(data: &PlotData) -> BTreeSet<String> {
    let flows = data.output.flows.iter().map(|flow| &flow.table);
    let links = data.output.links.iter().map(|link| &link.table);
    let tables = flows.chain(links).chain(data.intervals.values());
    let columns = tables.flat_map(|table| &table.columns);
    columns
        .filter(|column| !matches!(column.values, Values::Text(_)) && column.name != "time_s")
        .map(|column| column.name.clone())
        .collect()
}

fn of_flows(data: &PlotData, subjects: &[Subject], column: &str) -> Option<Plot> {
    let of_flow = |flow: &str| {
        let rows = of_rows(data, flow, column);
        rows.or_else(|| of_intervals(data, flow, column))
    };
    let mut plot = Plot::new(&title(column), time_axis(), axis(column));
    for subject in subjects {
        let flows = subject.flows.iter();
        let series = flows.filter_map(|flow| of_flow(flow));
        let series: Vec<_> = series.collect();
        plot.layers.extend(layers(subject, &series));
    }
    (!plot.layers.is_empty()).then_some(plot)
}

fn of_links(data: &PlotData, selection: &PlotSelection, column: &str) -> Option<Plot> {
    let mut plot = Plot::new(&title(column), time_axis(), axis(column));
    for (number, link) in super::queues::by_load(data).into_iter().enumerate() {
        let shown = selects(&selection.links, &link.name) && plot.layers.len() < 7;
        let points = points(&link.table, column).filter(|_| shown);
        if let Some(points) = points {
            let layer = PlotLayer::new(&link.name, colour_of(number), Shape::Step(points));
            plot.layers.push(layer.curve(number));
        }
    }
    (!plot.layers.is_empty()).then_some(plot)
}

/// The column's name without its unit.
fn title(column: &str) -> String {
    let without = |text: &str| {
        let ending = ["_bps", "_bytes", "_s"]
            .iter()
            .find(|ending| text.ends_with(**ending));
        let end = ending.map_or(text.len(), |ending| text.len() - ending.len());
        text[..end].to_owned()
    };
    without(column).replace('_', " ")
}

/// The axis of a column, its unit by the column's declaration or the ending of its name.
fn axis(column: &str) -> Axis {
    let flow = FLOW
        .iter()
        .find(|spec| spec.name == column)
        .map(|spec| spec.unit);
    let link = LINK
        .iter()
        .find(|spec| spec.name == column)
        .map(|spec| spec.unit);
    let unit = flow.or(link).unwrap_or(match column {
        name if name.ends_with("_bps") => "bit/s",
        name if name.ends_with("_bytes") => "bytes",
        name if name.ends_with("_s") => "s",
        _ => "",
    });
    let label = match unit {
        "" => title(column),
        unit => format!("{}, {unit}", title(column)),
    };
    Axis::linear(&label, unit)
}

fn doc(column: &str) -> &'static str {
    let flow = FLOW
        .iter()
        .find(|spec| spec.name == column)
        .map(|spec| spec.doc);
    let link = LINK
        .iter()
        .find(|spec| spec.name == column)
        .map(|spec| spec.doc);
    flow.or(link).unwrap_or("")
}
