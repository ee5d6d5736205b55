//! Pictures of a window controller: the window with the bounds that limited the sender, and its
//! last round trips as a sawtooth.

use super::axis::{Axis, with_unit};
use super::plot::{Colour, Plot, PlotLayer, Shape};
use super::rules;
use super::series::{points, time_axis};
use crate::table::Table;
use crate::theory::mathis::Sawtooth;
use std::fmt::Write as _;

/// The number of round-trip times in a zoomed sawtooth.
pub const WINDOW_ROUNDS: f64 = 32.0;

const THEORY: Colour = Colour(1);

/// Series drawn beside the window: column, name and line pattern.
const BESIDE_CWND: [(&str, &str, usize); 4] = [
    ("bytes_in_flight", "bytes in flight", 0),
    ("ssthresh_bytes", "ssthresh", 1),
    ("receive_window_bytes", "receive window", 3),
    ("partial_bytes_acked", "partial bytes acked", 2),
];

/// A series above this multiple of cwnd and of the bytes in flight, such as the window of a
/// receiver without a limit, is not drawn, because it would make these curves flat; the caption
/// mentions it.
const OUT_OF_SIGHT: f64 = 2.0;

/// Congestion window, bytes in flight and threshold over the whole run, with the sender's bounds in
/// a strip below; and the caption.
pub(super) fn window_overview(
    table: &Table,
    title: &str,
    colour: Colour,
) -> Option<(Plot, String)> {
    let cwnd = points(table, "cwnd_bytes")?;
    let axis = Axis::linear("window, bytes", "bytes");
    let mut plot = Plot::new(title, time_axis(), axis);
    let highest = |points: &[(f64, f64)]| points.iter().map(|p| p.1).fold(0.0, f64::max);
    let mut in_sight = highest(&cwnd) * OUT_OF_SIGHT;
    let mut caption = "The window of the whole run, and below it what held the sender: in each \
                       column of pixels its share of the time."
        .to_owned();
    for (column, name, dash) in BESIDE_CWND {
        // Partial bytes acknowledged towards the next increase are shown only with the last round
        // trips.
        let shown = column != "partial_bytes_acked";
        let points = points(table, column).filter(|points| shown && is_used(points));
        let Some(points) = points else {
            continue;
        };
        let highest = highest(&points);
        if column == "bytes_in_flight" {
            // Bytes in flight are always drawn, even if they are far above a reduced window.
            in_sight = in_sight.max(highest * OUT_OF_SIGHT);
        }
        if highest > in_sight {
            let highest = with_unit(highest, "bytes", 4);
            let _ = write!(caption, " Not drawn: {name}, up to {highest}.");
        } else {
            plot.layers.push(beside(column, name, dash, points));
        }
    }
    plot.strips = rules::strip(table).into_iter().collect();
    Some((plot.with("cwnd", colour, Shape::Step(cwnd)), caption))
}

/// A series beside the window. The bytes in flight mostly equal the window and are drawn as an
/// area, so that the line of the window does not hide them.
fn beside(column: &str, name: &str, dash: usize, points: Vec<(f64, f64)>) -> PlotLayer {
    let shape = if column == "bytes_in_flight" {
        Shape::Area(points)
    } else {
        Shape::Step(points)
    };
    let layer = PlotLayer::new(name, Colour::BESIDE, shape);
    PlotLayer { dash, ..layer }
}

/// False for a column that is always zero, such as CUBIC's octets acknowledged towards an increase.
fn is_used(points: &[(f64, f64)]) -> bool {
    points.iter().any(|point| point.1 > 0.0)
}

/// The last [`WINDOW_ROUNDS`] round-trip times of the trace.
pub(super) fn last_rounds(table: &Table) -> (f64, f64) {
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
/// sawtooth that starts anew at each reduction, so that each cycle is compared by itself.
pub fn window_sawtooth(
    table: &Table,
    (from, to): (f64, f64),
    overlay: Option<SawtoothOverlay>,
    title: &str,
) -> Option<Plot> {
    let times = table.numbers("time_s")?;
    let start = times.partition_point(|time| *time < from).saturating_sub(1);
    let end = times.partition_point(|time| *time <= to);
    let goes_on = end < times.len();
    let piece = |name: &str| -> Option<Vec<(f64, f64)>> {
        let mut piece = points(table, name)?.get(start..end)?.to_vec();
        // What holds beyond the end is drawn up to it.
        let held = piece.last().filter(|_| goes_on).map(|last| (to, last.1));
        piece.extend(held);
        Some(piece)
    };
    let cwnd = piece("cwnd_bytes")?;
    let mut plot = Plot::new(
        title,
        time_axis().within(from, to),
        Axis::linear("window, bytes", "bytes"),
    );
    plot.height = 380.0;
    for (column, name, dash) in BESIDE_CWND {
        let wanted = matches!(column, "bytes_in_flight" | "partial_bytes_acked");
        if let Some(points) = piece(column).filter(|points| wanted && is_used(points)) {
            plot.layers.push(beside(column, name, dash, points));
        }
    }
    let reductions = cwnd.windows(2).filter(|pair| pair[1].1 < pair[0].1);
    let reductions: Vec<f64> = reductions.map(|pair| pair[1].0).collect();
    if let Some(overlay) = overlay.filter(|_| !reductions.is_empty()) {
        let ends = reductions.iter().skip(1).copied().chain([to]);
        let cycles = reductions.iter().copied().zip(ends);
        let teeth = cycles.flat_map(|(start, end)| teeth(overlay, start, end));
        let name = if overlay.idle_rtts > 0.0 {
            "theory: cwnd with b idle round trips"
        } else {
            "theory: cwnd without idle round trips"
        };
        let layer = PlotLayer::new(name, THEORY, Shape::Line(teeth.collect()));
        plot.layers.push(layer.dashed());
    }
    Some(plot.with("cwnd", Colour(0), Shape::Step(cwnd)))
}

/// The corners of the sawtooth from a reduction to the next: low for b − 1 round trips (recovery),
/// then an increase by a packet each round trip, then high for one (until the loss is detected).
/// A tooth that the next reduction comes before is cut off there.
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
    let detected = idle_rtts.min(1.0) * rtt_s;
    let mut corners = Vec::new();
    let mut start = reduction;
    while start < end && corners.len() < 10_000 {
        corners.extend([
            (start, high / 2.0),
            (start + idle_rtts * rtt_s - detected, high / 2.0),
            (start + cycle - detected, high),
            (start + cycle, high),
        ]);
        start += cycle;
    }
    cut(corners, end)
}

/// The part of a line up to a time, with its value there.
fn cut(mut corners: Vec<(f64, f64)>, end: f64) -> Vec<(f64, f64)> {
    let kept = corners.partition_point(|corner| corner.0 <= end);
    let after = corners.get(kept).copied();
    corners.truncate(kept);
    if let (Some(&(from, low)), Some((to, high))) = (corners.last(), after)
        && from < end
    {
        corners.push((end, low + (high - low) * (end - from) / (to - from)));
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Values};

    #[test]
    fn what_is_in_flight_is_drawn_and_what_is_out_of_sight_is_said() {
        let column = |name: &str, values: [f64; 2]| Column {
            name: name.to_owned(),
            values: Values::F64(values.to_vec()),
        };
        let table = Table {
            columns: vec![
                column("time_s", [0.0, 1.0]),
                column("cwnd_bytes", [14_500.0, 2_900.0]),
                column("bytes_in_flight", [0.0, 40_000.0]),
                column("ssthresh_bytes", [60_000.0, 7_000.0]),
                column("receive_window_bytes", [6.25e6, 6.25e6]),
            ],
        };
        let (plot, caption) = window_overview(&table, "window", Colour(0)).expect("a window");
        let names: Vec<&str> = plot.layers.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(names, ["bytes in flight", "ssthresh", "cwnd"]);
        assert!(caption.ends_with("Not drawn: receive window, up to 6.25 MB."));
    }

    #[test]
    fn the_theory_starts_anew_at_each_reduction() {
        let column = |name: &str, values: [f64; 5]| Column {
            name: name.to_owned(),
            values: Values::F64(values.to_vec()),
        };
        // Two cycles of 10 and 4 round trips; the theory's is 7, so the second tooth is cut off.
        let table = Table {
            columns: vec![
                column("time_s", [0.0, 1.0, 10.0, 11.0, 15.0]),
                column("cwnd_bytes", [10.0, 5.0, 10.0, 5.0, 2.0]),
            ],
        };
        let overlay = SawtoothOverlay {
            tooth: Sawtooth {
                window_packets: 10.0,
                cycle_rtts: 7.0,
                rate: weir_proto::units::Rate::from_bps(0.0),
            },
            idle_rtts: 2.0,
            packet_bytes: 1.0,
            rtt_s: 1.0,
        };
        let plot = window_sawtooth(&table, (0.0, 16.0), Some(overlay), "t").expect("a plot");
        let theory = plot.layers.iter().find(|layer| layer.dash == 1);
        let Some(Shape::Line(corners)) = theory.map(|layer| &layer.shape) else {
            panic!("no theory");
        };
        let expected = [
            // Low for one round trip, 5 packets in five, high for one; a second tooth from 8 s.
            [(1.0, 5.0), (2.0, 5.0), (7.0, 10.0), (8.0, 10.0)].as_slice(),
            // Cut at 11 s: 5 + (11 − 9)·1.
            &[(8.0, 5.0), (9.0, 5.0), (11.0, 7.0)],
            // From 11 s: cut at 15 s, 5 + (15 − 12)·1; then a tooth to the end of the plot.
            &[
                (11.0, 5.0),
                (12.0, 5.0),
                (15.0, 8.0),
                (15.0, 5.0),
                (16.0, 5.0),
            ],
        ];
        assert_eq!(corners, &expected.concat());
    }
}
