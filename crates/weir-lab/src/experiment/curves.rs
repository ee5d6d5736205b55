//! The curves of a series plot: their names, colours, points and ends.

use super::plot_plan::{PlotKind, PlotPlan};
use crate::report::{Axis, Colour, Plot, PlotLayer, Scale, Shape};
use crate::run::columns::plot_label;
use crate::table::Table;
use std::collections::BTreeMap;

/// How many colours curves have.
const COLOURS: usize = 6;

/// The colour of the curve with this number.
pub(super) fn curve_colour(number: usize) -> Colour {
    Colour([1, 0, 2, 3, 4, 6][number % COLOURS])
}

/// The name of the curve of a column of a run: its label, the column, or both.
pub(super) fn curve_name(plan: &PlotPlan, place: usize, column: &str) -> String {
    let short = plot_label(column).map_or(column, |plot| plot.short);
    let given = plan.labels.get(place);
    let run = plan.runs.get(place);
    let label = given
        .cloned()
        .or_else(|| run.map(|run| run.replace('-', " ")));
    let label = label.unwrap_or_default();
    match (plan.of.len(), plan.runs.len()) {
        (1, 1) if given.is_some() => label,
        (_, 1) => short.to_owned(),
        (1, _) => label,
        _ => format!("{label}: {short}"),
    }
}

/// The colours of the curves of an experiment's series: a name has one colour in all its plots.
/// Plots of one run, whose curves are columns, have colours of their own.
#[derive(Debug)]
pub(super) struct CurveColours(BTreeMap<(bool, String), usize>);

/// Whether the curves of a plot are columns of one run, and not runs.
fn shows_columns(plan: &PlotPlan) -> bool {
    plan.runs.len() == 1
}

impl CurveColours {
    /// Colours in the order in which the plots name their curves. A new name takes a colour that
    /// no other has, or else one that is free in its plot.
    pub(super) fn of(plans: &[PlotPlan]) -> Self {
        let mut known: BTreeMap<(bool, String), usize> = BTreeMap::new();
        for plan in plans.iter().filter(|plan| plan.kind == PlotKind::Series) {
            let columns = shows_columns(plan);
            let runs = 0..plan.runs.len();
            let pairs = runs.flat_map(|place| plan.of.iter().map(move |column| (place, column)));
            let names: Vec<(bool, String)> = pairs
                .map(|(place, column)| (columns, curve_name(plan, place, column)))
                .collect();
            for name in &names {
                if known.contains_key(name) {
                    continue;
                }
                let beside =
                    |number: &usize| !names.iter().any(|other| known.get(other) == Some(number));
                let new = |number: &usize| {
                    let alike = known.iter().filter(|(known, _)| known.0 == columns);
                    !alike.into_iter().any(|(_, used)| used == number)
                };
                let free = (0..COLOURS).find(new).or_else(|| (0..COLOURS).find(beside));
                let number = free.unwrap_or(known.len());
                known.insert(name.clone(), number);
            }
        }
        Self(known)
    }

    /// The colour of the curve of this name in a plot.
    pub(super) fn colour(&self, plan: &PlotPlan, name: &str) -> Colour {
        let key = (shows_columns(plan), name.to_owned());
        curve_colour(self.0.get(&key).copied().unwrap_or(0))
    }
}

/// The layer of a curve. It is dashed where it mostly lies on one before it, which it would hide.
pub(super) fn curve(plot: &Plot, name: &str, colour: Colour, points: Vec<(f64, f64)>) -> PlotLayer {
    let hides = plot.layers.iter().any(|layer| match &layer.shape {
        Shape::Step(before) => is_mostly_in(&points, before),
        _ => false,
    });
    let layer = PlotLayer::new(name, colour, Shape::Step(points));
    if hides { layer.dashed() } else { layer }
}

/// True if at least half of the points are among the others; both are in the order of time.
fn is_mostly_in(points: &[(f64, f64)], others: &[(f64, f64)]) -> bool {
    let among = |point: &&(f64, f64)| {
        let from = others.partition_point(|other| other.0 < point.0);
        let same_time = others[from..].iter().take_while(|other| other.0 == point.0);
        same_time.into_iter().any(|other| other.1 == point.1)
    };
    !points.is_empty() && 2 * points.iter().filter(among).count() >= points.len()
}

/// Times and values of a column, in the unit of its axis, within the time range of the plot. A
/// value that holds beyond the end of the range is drawn up to it.
pub(super) fn column_points(
    table: &Table,
    column: &str,
    plan: &PlotPlan,
) -> Option<Vec<(f64, f64)>> {
    let times = table.numbers("time_s")?;
    let values = table.as_numbers(column)?;
    let from = plan.from_s.unwrap_or(f64::NEG_INFINITY);
    let until = plan.until_s.unwrap_or(f64::INFINITY);
    let factor = plot_label(column).map_or(1.0, |plot| plot.factor);
    let rows = times.iter().zip(values.iter());
    let shown = rows.filter(|(at, value)| (from..=until).contains(*at) && !value.is_nan());
    let mut points: Vec<(f64, f64)> = shown.map(|(at, value)| (*at, value * factor)).collect();
    let goes_on = times.last().is_some_and(|last| *last > until);
    if let Some(&(_, held)) = points.last().filter(|_| goes_on) {
        points.push((until, held));
    }
    Some(points)
}

/// The axis of these columns.
pub(super) fn series_axis(columns: &[String], log: bool) -> Option<Axis> {
    let first = plot_label(columns.first()?)?;
    let label = match columns {
        [_] => first.axis.to_owned(),
        _ if first.unit == "bit/s" => "rate, bit/s".to_owned(),
        _ => format!("time, {}", first.unit),
    };
    Some(if log {
        Axis::log(&label, first.unit)
    } else {
        Axis::linear(&label, first.unit)
    })
}

/// Says on a logarithmic axis that zero, which some curve has, is not shown.
pub(super) fn note_zero(plot: &mut Plot) {
    let is_zero = |layer: &PlotLayer| match &layer.shape {
        Shape::Step(points) => points.iter().any(|point| point.1 <= 0.0),
        _ => false,
    };
    if plot.y.scale != Scale::Log || !plot.layers.iter().any(is_zero) {
        return;
    }
    let unit = format!(", {}", plot.y.unit);
    let (quantity, unit) = match plot.y.label.strip_suffix(&unit) {
        Some(quantity) if !plot.y.unit.is_empty() => (quantity, unit.as_str()),
        _ => (plot.y.label.as_str(), ""),
    };
    plot.y.label = format!("{quantity} (log scale; zero is not shown){unit}");
}

/// The time at which the last curve of a plot ends.
pub(super) fn data_end(plot: &Plot) -> Option<f64> {
    let end = |layer: &PlotLayer| match &layer.shape {
        Shape::Step(points) | Shape::Line(points) => points.last().map(|point| point.0),
        Shape::StepByCategory { points, .. } => points.last().map(|point| point.0),
        _ => None,
    };
    plot.layers.iter().filter_map(end).reduce(f64::max)
}

/// The most points of a series in a page; longer series are thinned to the extremes of each bin.
const DRAWN_POINTS: usize = 4000;

/// A long series thinned to the first, smallest, largest and last point of each bin, which looks
/// the same when it is drawn.
pub(super) fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= DRAWN_POINTS {
        return points;
    }
    let bin = points.len().div_ceil(DRAWN_POINTS / 4);
    let mut kept = Vec::with_capacity(DRAWN_POINTS);
    for chunk in points.chunks(bin) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let mut of_bin: Vec<(f64, f64)> = [
            chunk.first(),
            chunk.iter().min_by(by_value),
            chunk.iter().max_by(by_value),
            chunk.last(),
        ]
        .into_iter()
        .flatten()
        .copied()
        .collect();
        of_bin.sort_by(|a, b| a.0.total_cmp(&b.0));
        kept.extend(of_bin);
    }
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Values};

    fn plan(runs: &[&str], labels: &[&str], rest: &str) -> PlotPlan {
        let text = format!(
            "name = 'n'\nkind = 'series'\ntitle = 't'\ncaption = 'c'\nruns = {runs:?}\n\
             labels = {labels:?}\n{rest}"
        );
        toml::from_str(&text).unwrap()
    }

    const RTT: &str = "of = ['rtt_s']\n";

    #[test]
    fn a_name_has_one_colour_in_all_plots_and_none_that_another_has_beside_it() {
        let plans = [
            plan(&["a", "b"], &["off", "full"], RTT),
            plan(&["b", "a"], &["full", "off"], RTT),
            plan(&["c", "a"], &["exempt", "off"], RTT),
            plan(&["a"], &[], "of = ['allowed_rate_bps', 'receive_rate_bps']"),
        ];
        let colours = CurveColours::of(&plans);
        let of = |plan: usize, name| colours.colour(&plans[plan], name);
        for plan in [0, 1] {
            let pair = (of(plan, "off"), of(plan, "full"));
            assert_eq!(pair, (curve_colour(0), curve_colour(1)));
        }
        assert_eq!(of(2, "exempt"), curve_colour(2));
        let columns = (of(3, "X"), of(3, "X_recv"));
        assert_eq!(columns, (curve_colour(0), curve_colour(1)));
    }

    #[test]
    fn a_value_is_held_to_the_end_of_the_range_unless_the_run_ends_before() {
        let column = |name: &str, values: [f64; 3]| Column {
            name: name.to_owned(),
            values: Values::F64(values.to_vec()),
        };
        let table = Table {
            columns: vec![
                column("time_s", [0.0, 1.0, 3.0]),
                column("rtt_s", [0.5, 0.25, 0.125]),
            ],
        };
        let points = |until: f64| {
            let plan = plan(&["a"], &[], &format!("{RTT}until_s = {until:?}"));
            column_points(&table, "rtt_s", &plan).unwrap()
        };
        let factor = plot_label("rtt_s").unwrap().factor;
        assert_eq!(points(2.0).last(), Some(&(2.0, 0.25 * factor)));
        assert_eq!(points(9.0).last(), Some(&(3.0, 0.125 * factor)));
    }

    #[test]
    fn a_curve_that_hides_another_is_dashed_and_a_log_axis_says_that_zero_is_missing() {
        let axis = Axis::log("loss event rate p, %", "%");
        let mut plot = Plot::new("t", Axis::time(), axis);
        let off = vec![(0.0, 0.0), (1.0, 2.0), (2.0, 3.0)];
        let exempt = vec![(0.0, 0.0), (1.0, 2.0), (2.0, 9.0)];
        let full = vec![(0.0, 1.0), (1.0, 5.0), (2.0, 3.0)];
        for (points, dash) in [(off, 0), (exempt, 1), (full, 0)] {
            let layer = curve(&plot, "a", Colour(0), points);
            assert_eq!(layer.dash, dash);
            plot.layers.push(layer);
        }
        assert_eq!(data_end(&plot), Some(2.0));
        note_zero(&mut plot);
        let label = "loss event rate p (log scale; zero is not shown), %";
        assert_eq!(plot.y.label, label);
    }
}
