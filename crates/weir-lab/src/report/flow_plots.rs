//! The plots of a flow's trace: the allowed rate coloured by what bound it, round-trip time,
//! packet interval and packets per second; or the window as a sawtooth.

use super::axis::Axis;
use super::plot::{Colour, Plot, PlotLayer, Shape};
use super::svg::stairs;
use crate::run::RunOutput;
use crate::run::columns::CONTROLLER_ROW;
use crate::table::Table;
use crate::theory::mathis::Sawtooth;
use weir_proto::event::Limit;

/// Round-trip times that a zoomed sawtooth shows.
pub const WINDOW_ROUNDS: f64 = 32.0;

/// A plot with the name of its file and a sentence below it.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPlot {
    /// The file's name without its ending.
    pub name: String,
    /// The sentence below the plot.
    pub caption: String,
    /// The plot.
    pub plot: Plot,
}

/// Flows and directions of links that [`plots_of`] draws.
pub const MAX_PLOTTED: usize = 24;

/// The plots that a run's trace holds, of its first [`MAX_PLOTTED`] flows and directions of links.
pub fn plots_of(run: &RunOutput) -> Vec<NamedPlot> {
    let flows = run.flows.iter().take(MAX_PLOTTED);
    let mut plots: Vec<NamedPlot> = flows
        .flat_map(|flow| plots_of_flow(&flow.name, &flow.table))
        .collect();
    for link in run.links.iter().take(MAX_PLOTTED) {
        if let Some(plot) = queue(&link.table, &format!("{}: queue", link.name)) {
            plots.push(NamedPlot {
                name: format!("{}-queue", link.name),
                caption: "What waits for its transmission.".to_owned(),
                plot,
            });
        }
    }
    plots
}

/// The plots that a flow's trace holds: those of a rate controller or of a window controller.
pub fn plots_of_flow(flow: &str, table: &Table) -> Vec<NamedPlot> {
    type Draw = fn(&Table, &str) -> Option<Plot>;
    let zoomed: Draw = |table, title| window_sawtooth(table, last_rounds(table), None, title);
    let plots: [(&str, &str, &str, Draw); 7] = [
        (
            "rate",
            "allowed rate and what bound it",
            "Each piece of the allowed rate has the colour of the rule that bound it.",
            rate_by_limit,
        ),
        (
            "loss",
            "loss event rate",
            "The loss event rate that the receiver reported.",
            loss_event_rate,
        ),
        (
            "rtt",
            "round-trip time",
            "Samples as dots, the smoothed round-trip time as a line.",
            round_trip_time,
        ),
        (
            "interval",
            "time between two packets",
            "The time between two packets that the sender allows itself.",
            packet_interval,
        ),
        (
            "packets",
            "allowed packets per second",
            "The inverse of the interval.",
            packets_per_second,
        ),
        (
            "window",
            "congestion window",
            "The whole run.",
            window_overview,
        ),
        (
            "sawtooth",
            "window, last round trips",
            "The last round trips of the run.",
            zoomed,
        ),
    ];
    let drawn = plots
        .into_iter()
        .filter_map(|(name, title, caption, draw)| {
            Some(NamedPlot {
                name: format!("{flow}-{name}"),
                caption: caption.to_owned(),
                plot: draw(table, &format!("{flow}: {title}"))?,
            })
        });
    drawn.collect()
}

/// Times and values of a column, if any of them is a number.
fn points(table: &Table, name: &str) -> Option<Vec<(f64, f64)>> {
    let times = table.numbers("time_s")?.iter().copied();
    let values = table.as_numbers(name)?;
    let points: Vec<(f64, f64)> = times.zip(values.iter().copied()).collect();
    let mut values = points.iter().map(|point| point.1);
    values.any(f64::is_finite).then_some(points)
}

fn time_axis() -> Axis {
    Axis::linear("time, s", "s")
}

/// The limit's name in words.
fn words(limit: &str) -> String {
    match limit {
        "twice_receive_rate" => "2·X_recv".to_owned(),
        "initial_window" => "W_init/RTT".to_owned(),
        "one_packet_per_rtt" => "s/RTT".to_owned(),
        "nofeedback_halving" => "halved: no feedback".to_owned(),
        "minimum_rate" => "minimum: s/64 s".to_owned(),
        "slow_start" => "doubled: slow start".to_owned(),
        other => other.replace('_', " "),
    }
}

/// The limits that occur, in the order of their codes; their colours are fixed, so that a limit
/// has the same colour in every plot.
fn categories(limits: &[std::sync::Arc<str>]) -> (Vec<(String, Colour)>, Vec<usize>) {
    let colour = |limit: Limit| match limit {
        Limit::OnePacketPerRtt | Limit::CongestionAvoidance => Colour(0),
        Limit::NofeedbackHalving | Limit::Recovery => Colour(1),
        Limit::InitialWindow => Colour(2),
        Limit::Equation => Colour(8),
        Limit::SlowStart => Colour(3),
        Limit::TwiceReceiveRate | Limit::ApplicationLimited => Colour(4),
        Limit::MinimumRate | Limit::Timeout | Limit::PersistentCongestion => Colour(5),
        Limit::OscillationReduction | Limit::FlowControl => Colour(6),
        Limit::DataLimited => Colour(9),
        Limit::None | Limit::MinimumWindow | Limit::Pacing => Colour(7),
    };
    let seen: Vec<Limit> = Limit::ALL
        .into_iter()
        .filter(|limit| limits.iter().any(|name| &**name == limit.name()))
        .collect();
    let named = seen
        .iter()
        .map(|limit| (words(limit.name()), colour(*limit)))
        .collect();
    let numbers = limits
        .iter()
        .map(|name| {
            let place = seen.iter().position(|limit| limit.name() == &**name);
            place.unwrap_or(usize::MAX)
        })
        .collect();
    (named, numbers)
}

/// Colours by their use: the column of the plot, what is shown beside it, and theory.
const MAIN: Colour = Colour(0);
const BESIDE: Colour = Colour(7);
const THEORY: Colour = Colour(1);

/// A plot of one column over time.
fn one_column(title: &str, y: Axis, points: Vec<(f64, f64)>) -> Plot {
    Plot::new(title, time_axis(), y).with("", MAIN, Shape::Step(points))
}

/// X on a logarithmic axis, coloured by the limit that bound it; X_calc and X_recv beside it.
pub fn rate_by_limit(table: &Table, title: &str) -> Option<Plot> {
    let rate = points(table, "allowed_rate_bps")?;
    let (categories, numbers) = categories(table.words("limit")?);
    let axis = Axis::log("allowed rate X, bit/s", "bit/s");
    let mut plot = Plot::new(title, time_axis(), axis);
    if let Some(points) = points(table, "receive_rate_bps") {
        plot = plot.with("X_recv", BESIDE, Shape::Step(points));
    }
    if let Some(points) = points(table, "equation_rate_bps") {
        let steps = Shape::Line(stairs(&points));
        let layer = PlotLayer::new("X_calc", BESIDE, steps).dashed();
        plot.layers.push(layer);
    }
    plot.height = 440.0;
    let points = rate.iter().zip(&numbers);
    let points = points.map(|((x, y), number)| (*x, *y, *number)).collect();
    let steps = Shape::StepByCategory { points, categories };
    Some(plot.with("", MAIN, steps))
}

fn loss_event_rate(table: &Table, title: &str) -> Option<Plot> {
    let points = points(table, "loss_event_rate")?;
    let mut rates = points.iter().map(|point| point.1);
    if rates.all(|rate| rate == 0.0 || rate.is_nan()) {
        return None;
    }
    Some(one_column(
        title,
        Axis::log("loss event rate p", ""),
        points,
    ))
}

/// Smoothed round-trip time as a line, samples as dots.
pub fn round_trip_time(table: &Table, title: &str) -> Option<Plot> {
    let smoothed = points(table, "smoothed_rtt_s")?;
    let positive = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        points.into_iter().filter(|point| point.1 > 0.0).collect()
    };
    let axis = Axis::linear("round-trip time, s", "s");
    let mut plot = Plot::new(title, time_axis(), axis);
    if let Some(points) = points(table, "rtt_s") {
        let samples = positive(of_feedback(table, points));
        plot = plot.with("sample", BESIDE, Shape::Scatter(samples));
    }
    Some(plot.with("smoothed", MAIN, Shape::Step(positive(smoothed))))
}

/// The points of rows that feedback caused. Where a timer changed the rate, or only the bound has
/// changed, the sample is old.
fn of_feedback(table: &Table, mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if let Some(events) = table.words("event") {
        let repeats = events.iter().map(|event| &**event != CONTROLLER_ROW);
        for (point, _) in points
            .iter_mut()
            .zip(repeats)
            .filter(|(_, repeats)| *repeats)
        {
            point.1 = f64::NAN;
        }
    }
    let Some(limits) = table.words("limit") else {
        return points;
    };
    let timers = [Limit::NofeedbackHalving.name(), Limit::MinimumRate.name()];
    let rows = points.into_iter().zip(limits);
    rows.filter(|(_, limit)| !timers.contains(&&***limit))
        .map(|(point, _)| point)
        .collect()
}

/// t_ipi on a logarithmic axis.
pub fn packet_interval(table: &Table, title: &str) -> Option<Plot> {
    let axis = Axis::log("time between two packets t_ipi, s", "s");
    Some(one_column(title, axis, points(table, "ipi_s")?))
}

/// 1/t_ipi on a logarithmic axis. Where t_ipi has been truncated to zero there is no point.
pub fn packets_per_second(table: &Table, title: &str) -> Option<Plot> {
    let intervals = points(table, "ipi_s")?.into_iter();
    let rates = intervals.map(|(time, interval)| (time, 1.0 / interval));
    let axis = Axis::log("allowed packets per second", "packets/s");
    Some(one_column(title, axis, rates.collect()))
}

fn window_overview(table: &Table, title: &str) -> Option<Plot> {
    let cwnd = points(table, "cwnd_bytes")?;
    let axis = Axis::linear("window, bytes", "bytes");
    let mut plot = Plot::new(title, time_axis(), axis);
    if let Some(points) = points(table, "ssthresh_bytes") {
        plot = plot.with("ssthresh", BESIDE, Shape::Step(points));
    }
    Some(plot.with("cwnd", MAIN, Shape::Step(cwnd)))
}

/// The length of a link's queue; `None` if no packet ever waited.
fn queue(table: &Table, title: &str) -> Option<Plot> {
    let points = points(table, "queue_bytes")?;
    if points.iter().all(|point| point.1 == 0.0) {
        return None;
    }
    Some(one_column(
        title,
        Axis::linear("queue, bytes", "bytes"),
        points,
    ))
}

/// The last [`WINDOW_ROUNDS`] round-trip times of the trace.
fn last_rounds(table: &Table) -> (f64, f64) {
    let last = |name| {
        table
            .numbers(name)
            .and_then(|values| values.last().copied())
    };
    let end = last("time_s").unwrap_or(0.0);
    let rtt = last("smoothed_rtt_s")
        .filter(|rtt| *rtt > 0.0)
        .unwrap_or(0.01);
    ((end - WINDOW_ROUNDS * rtt).max(0.0), end)
}

/// A theoretical sawtooth to lay over a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SawtoothOverlay {
    /// The sawtooth.
    pub tooth: Sawtooth,
    /// b: round trips in which the window does not grow.
    pub idle_rtts: f64,
    /// Octets of a packet.
    pub packet_bytes: f64,
    /// Round-trip time in seconds.
    pub rtt_s: f64,
}

/// cwnd, bytes in flight and partial bytes acknowledged between two times, with a theoretical
/// sawtooth that starts at the first reduction shown and then runs free.
pub fn window_sawtooth(
    table: &Table,
    (from, to): (f64, f64),
    overlay: Option<SawtoothOverlay>,
    title: &str,
) -> Option<Plot> {
    let times = table.numbers("time_s")?;
    let start = times.partition_point(|time| *time < from).saturating_sub(1);
    let end = times.partition_point(|time| *time <= to);
    let piece = |name: &str| -> Option<Vec<(f64, f64)>> {
        Some(points(table, name)?.get(start..end)?.to_vec())
    };
    let cwnd = piece("cwnd_bytes")?;
    let mut plot = Plot::new(
        title,
        time_axis().within(from, to),
        Axis::linear("bytes", "bytes"),
    );
    plot.height = 420.0;
    for (name, column, colour) in [
        ("partialBytesAcked", "partial_bytes_acked", 2),
        ("bytes in flight", "bytes_in_flight", 7),
    ] {
        if let Some(points) = piece(column) {
            plot = plot.with(name, Colour(colour), Shape::Step(points));
        }
    }
    let reduction = cwnd
        .windows(2)
        .find(|pair| pair[1].1 < pair[0].1)
        .map(|pair| pair[1].0);
    if let (Some(overlay), Some(reduction)) = (overlay, reduction) {
        let teeth = Shape::Line(teeth(overlay, reduction, to));
        let layer = PlotLayer::new("theory: cwnd with b idle round trips", THEORY, teeth);
        plot.layers.push(layer.dashed());
    }
    Some(plot.with("cwnd", MAIN, Shape::Step(cwnd)))
}

/// The corners of the sawtooth from a reduction on: low for b − 1 round trips (recovery), up by a
/// packet a round trip, high for one (the loss is found).
fn teeth(overlay: SawtoothOverlay, reduction: f64, end: f64) -> Vec<(f64, f64)> {
    let SawtoothOverlay {
        tooth,
        idle_rtts,
        packet_bytes,
        rtt_s,
    } = overlay;
    let high = tooth.window_packets * packet_bytes;
    let cycle = tooth.cycle_rtts * rtt_s;
    if cycle <= 0.0 || !cycle.is_finite() {
        return Vec::new();
    }
    let mut corners = Vec::new();
    let mut start = reduction;
    while start < end && corners.len() < 10_000 {
        corners.extend([
            (start, high / 2.0),
            (start + (idle_rtts - 1.0) * rtt_s, high / 2.0),
            (start + cycle - rtt_s, high),
            (start + cycle, high),
        ]);
        start += cycle;
    }
    corners
}
