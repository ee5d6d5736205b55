//! Pictures of single columns of the tables, as `--columns` asks for them.

use super::axis::Axis;
use super::drawing::NamedPlot;
use super::plot::{Plot, PlotLayer, Shape};
use super::selection::{PlotError, PlotSelection, selects};
use super::series::{layers, of_intervals, of_rows, points, time_axis};
use super::subjects::{PlotData, Subject, colour_of};
use crate::run::columns::{FLOW, INTERVAL, LINK};
use crate::table::ColumnSpec;
use std::slice;

/// The reason why a run that kept only its summary has no pictures over time.
pub(super) const NO_TRACES: &str =
    "the run holds no traces to draw, only its summary: run it again without --summary-only";

/// A picture for each column: of all flows, or of all links, whose tables have it.
pub(super) fn of_columns(
    data: &PlotData,
    selection: &PlotSelection,
    subjects: &[Subject],
) -> Result<Vec<NamedPlot>, PlotError> {
    if data.columns.is_empty() {
        return Err(PlotError::Nothing(NO_TRACES.to_owned()));
    }
    let known: Vec<&str> = data.columns.iter().map(String::as_str).collect();
    PlotSelection::check("column", &selection.columns, &known)?;
    let mut figures: Vec<NamedPlot> = Vec::new();
    for pattern in &selection.columns {
        let chosen = known
            .iter()
            .filter(|name| selects(slice::from_ref(pattern), name));
        for column in chosen {
            if figures.iter().any(|figure| figure.name == **column) {
                continue;
            }
            let plot = of_flows(data, subjects, column);
            let plot = plot.or_else(|| of_links(data, selection, column));
            figures.extend(plot.map(|plot| NamedPlot::new(column, doc(column), plot)));
        }
        let of_pattern = |figure: &&NamedPlot| selects(slice::from_ref(pattern), &figure.name);
        if figures.iter().find(of_pattern).is_none() {
            let message = format!("column {pattern} has no value in this run");
            return Err(PlotError::Nothing(message));
        }
    }
    Ok(figures)
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

/// The unit and the documentation of a column from its declaration.
fn declared(column: &str) -> Option<(&'static str, &'static str)> {
    fn of<Row>(columns: &[ColumnSpec<Row>], name: &str) -> Option<(&'static str, &'static str)> {
        let column = columns.iter().find(|column| column.name == name)?;
        Some((column.unit, column.doc))
    }
    let flow = of(FLOW, column).or_else(|| of(INTERVAL, column));
    flow.or_else(|| of(LINK, column))
}

/// The axis of a column, with the declared unit.
fn axis(column: &str) -> Axis {
    let unit = declared(column).map_or("", |(unit, _)| unit);
    let label = match unit {
        "" => title(column),
        unit => format!("{}, {unit}", title(column)),
    };
    Axis::linear(&label, unit)
}

/// The sentence below the picture of a column.
fn doc(column: &str) -> &'static str {
    declared(column).map_or("", |(_, doc)| doc)
}
