//! The pictures of one flow's trace: the allowed rate coloured by the rule that limited it,
//! round-trip time, packet interval and packets per second; or the window.

use super::axis::Axis;
use super::drawing::NamedPlot;
use super::plot::{Colour, Plot, PlotLayer, Shape};
use super::rules;
use super::series::{points, rtt_samples, time_axis};
use super::window_plots::{last_rounds, window_overview, window_sawtooth};
use crate::table::Table;

/// The pictures that a flow's trace allows: those of a rate controller or of a window controller,
/// with the flow's own curves in its colour.
pub fn plots_of_flow(flow: &str, table: &Table, colour: Colour) -> Vec<NamedPlot> {
    let title = |words: &str| format!("{flow}: {words}");
    let of_colour = |plot: Option<Plot>| {
        let mut plot = plot?;
        for layer in &mut plot.layers {
            if layer.colour == MAIN {
                layer.colour = colour;
            }
        }
        Some(plot)
    };
    let window = window_overview(table, &title("congestion window"), colour);
    let (window, of_window) = window.unzip();
    let plots = [
        (
            "rate",
            "Each piece of the allowed rate has the colour of the rule that bound it.",
            rate_by_limit(table, &title("allowed rate and the rule that bound it")),
        ),
        ("window", of_window.as_deref().unwrap_or_default(), window),
        (
            "rtt",
            "Samples as dots, the smoothed round-trip time as a line.",
            of_colour(round_trip_time(table, &title("round-trip time"))),
        ),
        (
            "loss",
            "The loss event rate that the receiver reported.",
            of_colour(loss_event_rate(table, &title("loss event rate"))),
        ),
        (
            "interval",
            "The time between two packets that the sender allows itself.",
            of_colour(packet_interval(table, &title("time between two packets"))),
        ),
        (
            "packets",
            "The inverse of the interval.",
            of_colour(packets_per_second(
                table,
                &title("allowed packets per second"),
            )),
        ),
        (
            "sawtooth",
            "The last round trips of the run.",
            of_colour(window_sawtooth(
                table,
                last_rounds(table),
                None,
                &title("window, last round trips"),
            )),
        ),
    ];
    let drawn = plots.into_iter().filter_map(|(name, caption, plot)| {
        Some(NamedPlot::new(&format!("{flow}-{name}"), caption, plot?))
    });
    drawn.collect()
}

/// The colour of a plot's main curve, replaced by the flow's colour.
const MAIN: Colour = Colour(0);
const BESIDE: Colour = Colour::BESIDE;

/// A plot of one column over time, logarithmic if its values span decades.
fn one_column(title: &str, y: Axis, points: Vec<(f64, f64)>) -> Plot {
    let y = y.by_range(points.iter().map(|point| point.1));
    Plot::new(title, time_axis(), y).with("", MAIN, Shape::Step(points))
}

/// X coloured by the rule that limited it; X_calc and X_recv beside it.
pub fn rate_by_limit(table: &Table, title: &str) -> Option<Plot> {
    let rate = points(table, "allowed_rate_bps")?;
    let (categories, numbers) = rules::categories(table.words("limit")?);
    let values = rate.iter().map(|point| point.1);
    let axis = Axis::linear("allowed rate X, bit/s", "bit/s").by_range(values);
    let mut plot = Plot::new(title, time_axis(), axis);
    if let Some(points) = points(table, "receive_rate_bps") {
        let layer = PlotLayer::new("X_recv", BESIDE, Shape::Step(points));
        plot.layers.push(PlotLayer { dash: 2, ..layer });
    }
    plot.height = 400.0;
    let rows = rate.iter().zip(&numbers);
    let rows = rows.map(|((x, y), number)| (*x, *y, *number)).collect();
    let steps = Shape::StepByCategory {
        points: rows,
        categories,
    };
    plot = plot.with("", MAIN, steps);
    // X_calc often equals X: it is drawn dashed above X, so that both are visible.
    if let Some(points) = points(table, "equation_rate_bps") {
        let layer = PlotLayer::new("X_calc", BESIDE, Shape::Step(points)).dashed();
        plot.layers.push(layer);
    }
    Some(plot)
}

fn loss_event_rate(table: &Table, title: &str) -> Option<Plot> {
    let points = points(table, "loss_event_rate")?;
    let mut rates = points.iter().map(|point| point.1);
    if rates.all(|rate| rate == 0.0 || rate.is_nan()) {
        return None;
    }
    let axis = Axis::linear("loss event rate p", "");
    Some(one_column(title, axis, points))
}

/// Smoothed round-trip time as a line, samples as dots.
pub fn round_trip_time(table: &Table, title: &str) -> Option<Plot> {
    let smoothed = points(table, "smoothed_rtt_s")?;
    let positive = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        points.into_iter().filter(|point| point.1 > 0.0).collect()
    };
    let axis = Axis::linear("round-trip time, s", "s");
    let mut plot = Plot::new(title, time_axis(), axis);
    if let Some(samples) = rtt_samples(table) {
        plot = plot.with("sample", BESIDE, Shape::Scatter(positive(samples)));
    }
    Some(plot.with("smoothed", MAIN, Shape::Step(positive(smoothed))))
}

/// The packet interval t_ipi.
pub fn packet_interval(table: &Table, title: &str) -> Option<Plot> {
    let axis = Axis::linear("time between two packets t_ipi, s", "s");
    Some(one_column(title, axis, points(table, "ipi_s")?))
}

/// 1/t_ipi. There is no point where t_ipi was truncated to zero.
pub fn packets_per_second(table: &Table, title: &str) -> Option<Plot> {
    let intervals = points(table, "ipi_s")?.into_iter();
    let rates = intervals.map(|(time, interval)| (time, 1.0 / interval));
    let axis = Axis::linear("allowed packets per second", "packets/s");
    Some(one_column(title, axis, rates.collect()))
}
