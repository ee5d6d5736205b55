//! Series of points from tables, and the medians and percentiles of several series.

use super::axis::Axis;
use super::plot::{Plot, PlotLayer, Shape};
use super::subjects::{Counted, Life, PlotData, Subject};
use crate::run::columns::CONTROLLER_ROW;
use crate::table::Table;
use weir_proto::event::Limit;

/// Times and values of a column; `None` if it has no numeric value.
pub(super) fn points(table: &Table, name: &str) -> Option<Vec<(f64, f64)>> {
    let times = table.numbers("time_s")?.iter().copied();
    let values = table.as_numbers(name)?;
    let points: Vec<(f64, f64)> = times.zip(values.iter().copied()).collect();
    let mut values = points.iter().map(|point| point.1);
    values.any(f64::is_finite).then_some(points)
}

/// The samples of the round-trip time: the rows caused by feedback. In rows caused by a timer or by
/// a change of the bound, the value is that of an earlier sample.
pub(super) fn rtt_samples(table: &Table) -> Option<Vec<(f64, f64)>> {
    let mut points = points(table, "rtt_s")?;
    if let Some(events) = table.words("event") {
        for (point, event) in points.iter_mut().zip(events) {
            if &**event != CONTROLLER_ROW {
                point.1 = f64::NAN;
            }
        }
    }
    if let Some(limits) = table.words("limit") {
        let timers = [Limit::NofeedbackHalving.name(), Limit::MinimumRate.name()];
        for (point, limit) in points.iter_mut().zip(limits) {
            if timers.contains(&&**limit) {
                point.1 = f64::NAN;
            }
        }
    }
    points.retain(|point| point.1.is_finite());
    Some(points)
}

/// A column of a flow's intervals, while the flow is open.
pub(super) fn of_intervals(data: &PlotData, flow: &str, name: &str) -> Option<Vec<(f64, f64)>> {
    interval_steps(data.intervals.get(flow)?, name, data.life(flow))
}

/// A column of the rows of a flow's controller, until the flow ends.
pub(super) fn of_rows(data: &PlotData, flow: &str, name: &str) -> Option<Vec<(f64, f64)>> {
    row_steps(data.state(flow)?, name, data.life(flow))
}

/// Step curve of interval values, shifted from the interval's end to its start: the intervals in
/// which the flow is open, the last one until the flow ends.
fn interval_steps(table: &Table, name: &str, life: Life) -> Option<Vec<(f64, f64)>> {
    let mut points = points(table, name)?;
    let first = points.first()?.0;
    let length = points.get(1).map_or(first, |next| next.0 - first);
    for point in &mut points {
        point.0 = (point.0 - length).max(0.0);
    }
    points.retain(|point| point.0 + length > life.start_s && point.0 < life.end_s);
    if let Some(begin) = points.first_mut() {
        begin.0 = begin.0.max(life.start_s);
    }
    let last = *points.last()?;
    points.push((last.0 + length, last.1));
    Some(ended(points, life.end_s))
}

/// Ends a step curve at this time, if it is finite, with a point whose value is NaN.
pub(super) fn ended(mut steps: Vec<(f64, f64)>, end_s: f64) -> Vec<(f64, f64)> {
    if end_s.is_finite() {
        steps.retain(|point| point.0 < end_s);
        let last = steps.last().map(|point| point.1);
        steps.extend(last.map(|value| (end_s, value)));
        steps.push((end_s, f64::NAN));
    }
    steps
}

/// Step curve of a column of controller rows, until the flow ends.
fn row_steps(table: &Table, name: &str, life: Life) -> Option<Vec<(f64, f64)>> {
    Some(ended(points(table, name)?, life.end_s))
}

/// Ends the step curves of a flow's picture at the end of the flow, and its strips then or at the
/// end of the run, because the last bound holds beyond the last row.
pub(super) fn end_steps(plot: &mut Plot, life: Life, run_s: f64) {
    for strip in &mut plot.strips {
        if let Some(last) = strip.spans.last_mut() {
            last.1 = last.1.max(life.end_s.min(run_s));
        }
    }
    for layer in &mut plot.layers {
        if let Shape::Step(points) | Shape::Area(points) = &mut layer.shape {
            *points = ended(std::mem::take(points), life.end_s);
        }
    }
}

/// The axis of virtual time.
pub(super) fn time_axis() -> Axis {
    Axis::time()
}

/// The percentile of sorted values by nearest rank.
pub(super) fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = libm::ceil(share * sorted.len() as f64).max(1.0) as usize;
    sorted.get(rank - 1).or(sorted.last()).copied()
}

/// Each value with a count of one.
pub(super) fn counted(values: impl Iterator<Item = f64>) -> Counted {
    values.map(|value| (value, 1.0)).collect()
}

/// The empirical distribution function as a step curve.
pub(super) fn distribution(mut values: Counted) -> Vec<(f64, f64)> {
    values.retain(|(value, _)| value.is_finite());
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = values.iter().map(|(_, count)| count).sum();
    let mut steps: Vec<(f64, f64)> = Vec::new();
    steps.extend(values.first().map(|first| (first.0, 0.0)));
    let mut seen = 0.0;
    for (value, count) in values {
        seen += count;
        let share = seen / all;
        match steps.last_mut() {
            Some(last) if last.0 == value && last.1 > 0.0 => last.1 = share,
            _ => steps.push((value, share)),
        }
    }
    steps
}

/// The number of times at which a group's percentiles are computed.
const GRID: usize = 240;

/// The caption of pictures with groups.
pub(super) const OF_GROUPS: &str = "A group has the median of its flows that are open at the time, \
                                    and the area from their 10th to their 90th percentile.";

/// The layers of a subject: a step curve for one flow; for a group the median and the area between
/// the 10th and the 90th percentile of its flows that are open at the time.
pub(super) fn layers(subject: &Subject, series: &[Vec<(f64, f64)>]) -> Vec<PlotLayer> {
    let colour = subject.colour();
    let curve = |shape| PlotLayer::new(&subject.label, colour, shape).curve(subject.number);
    match series {
        [] => Vec::new(),
        [one] => vec![curve(Shape::Step(one.clone()))],
        many => {
            let bands = percentiles(many);
            let low_high = bands.iter().map(|(x, [low, _, high])| (*x, *low, *high));
            let of = if some_end_first(many) {
                " of those open"
            } else {
                ""
            };
            let name = format!("{}: p10 to p90{of}", subject.label);
            let ribbon = Shape::Ribbon(held(low_high));
            let median = bands.iter().map(|(x, [_, median, _])| (*x, *median));
            let mut line = curve(Shape::Step(median.collect()));
            line.name = format!("{}: median{of}", subject.label);
            vec![PlotLayer::new(&name, colour, ribbon), line]
        }
    }
}

/// The area between two step curves.
fn held(points: impl Iterator<Item = (f64, f64, f64)>) -> Vec<(f64, f64, f64)> {
    let mut held: Vec<(f64, f64, f64)> = Vec::new();
    for (x, low, high) in points {
        if let Some(&(_, low, high)) = held.last() {
            held.push((x, low, high));
        }
        held.push((x, low, high));
    }
    held
}

/// True if some series end before others, so that the percentiles are those of a smaller group.
fn some_end_first(series: &[Vec<(f64, f64)>]) -> bool {
    let lasts = || series.iter().filter_map(|points| points.last());
    let end = lasts().map(|last| last.0).fold(f64::NEG_INFINITY, f64::max);
    lasts().any(|last| last.1.is_nan() && last.0 < end)
}

/// The 10th, 50th and 90th percentiles of the series that have a value, on a grid of times; NaN
/// where no series has a value, such as after the end of the last.
fn percentiles(series: &[Vec<(f64, f64)>]) -> Vec<(f64, [f64; 3])> {
    let firsts = series.iter().filter_map(|points| Some(points.first()?.0));
    let lasts = series.iter().filter_map(|points| Some(points.last()?.0));
    let from = firsts.fold(f64::INFINITY, f64::min);
    let to = lasts.fold(f64::NEG_INFINITY, f64::max);
    if to <= from {
        return Vec::new();
    }
    let at = |place: usize| {
        let share = place as f64 / GRID as f64;
        // This form gives exactly `to` at the end.
        from * (1.0 - share) + to * share
    };
    (0..=GRID)
        .map(|place| {
            let time = at(place);
            let values = series.iter().filter_map(|points| value_at(points, time));
            let mut values: Vec<f64> = values.collect();
            values.sort_by(f64::total_cmp);
            let of = |share| percentile(&values, share).unwrap_or(f64::NAN);
            (time, [of(0.1), of(0.5), of(0.9)])
        })
        .collect()
}

/// The value of a step curve at a time.
fn value_at(points: &[(f64, f64)], time: f64) -> Option<f64> {
    let after = points.partition_point(|point| point.0 <= time);
    let value = points.get(after.checked_sub(1)?)?.1;
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Values};

    #[test]
    fn a_distribution_rises_from_zero_to_one_at_its_values() {
        let values = counted([2.0, 1.0, 2.0, f64::NAN, 4.0].into_iter());
        let expected = [(1.0, 0.0), (1.0, 0.25), (2.0, 0.75), (4.0, 1.0)];
        assert_eq!(distribution(values), expected);
        let values = vec![(4.0, 1.0), (1.0, 1.0), (2.0, 2.0)];
        assert_eq!(distribution(values), expected);
        assert!(distribution(vec![]).is_empty());
    }

    /// Eleven constant series 0 to 10: the percentiles by nearest rank are 1, 5 and 9.
    #[test]
    fn a_group_has_its_median_between_its_percentiles() {
        let series: Vec<Vec<(f64, f64)>> = (0..11)
            .map(|i| vec![(0.0, f64::from(i)), (1.0, f64::from(i))])
            .collect();
        let bands = percentiles(&series);
        assert_eq!(bands.len(), GRID + 1);
        assert!(bands.iter().all(|band| band.1 == [1.0, 5.0, 9.0]));
    }

    /// Three flows of a group end at 1, 2 and 4 s; a fourth, without a value from 6 s on, is open
    /// from 5 to 8 s.
    #[test]
    fn a_group_has_a_value_only_while_one_of_its_flows_is_open() {
        let flow = |end: f64| vec![(0.0, end), (end, end), (end, f64::NAN)];
        let late = vec![(5.0, 9.0), (6.0, f64::NAN), (7.0, 9.0), (8.0, f64::NAN)];
        let bands = percentiles(&[flow(1.0), flow(2.0), flow(4.0), late]);
        let median = |time: f64| {
            let at = bands.iter().find(|band| band.0 >= time);
            at.map_or(f64::NAN, |band| band.1[1])
        };
        // Of the values 1, 2 and 4 all are open at first, then two (the lower by nearest rank),
        // then one.
        assert_eq!([0.5, 1.5, 3.0].map(median), [2.0, 2.0, 4.0]);
        assert!([4.5, 6.5, 8.0].iter().all(|time| median(*time).is_nan()));
        assert_eq!([5.5, 7.5].map(median), [9.0, 9.0]);
        let last = bands.last().expect("a grid");
        assert!(last.0 == 8.0 && last.1[1].is_nan(), "{last:?}");
    }

    /// A flow without further rows that is still open, such as one that waits for a timer, keeps
    /// its value.
    #[test]
    fn a_flow_that_has_not_ended_keeps_its_last_value() {
        let bands = percentiles(&[vec![(0.0, 3.0)], vec![(0.0, 1.0), (4.0, 1.0)]]);
        assert!(bands.iter().all(|band| band.1 == [1.0, 1.0, 3.0]));
    }

    #[test]
    fn the_curve_of_a_group_whose_flows_end_says_whose_median_it_is() {
        let subject = Subject {
            label: "web (2 flows)".to_owned(),
            flows: vec!["web-1".to_owned(), "web-2".to_owned()],
            number: 0,
        };
        let names = |series: [Vec<(f64, f64)>; 2]| -> Vec<String> {
            let layers = layers(&subject, &series).into_iter();
            layers.map(|layer| layer.name).collect()
        };
        let open = vec![(0.0, 1.0), (4.0, 1.0)];
        let closed = ended(open.clone(), 2.0);
        let of_all = ["web (2 flows): p10 to p90", "web (2 flows): median"];
        assert_eq!(names([open.clone(), open.clone()]), of_all);
        let of_open = of_all.map(|name| format!("{name} of those open"));
        assert_eq!(names([open, closed]), of_open);
    }

    /// Intervals of a second; the flow is open from 1.5 s to 3.5 s.
    #[test]
    fn steps_begin_and_end_with_their_flow() {
        let life = Life {
            start_s: 1.5,
            end_s: 3.5,
        };
        let times = (1..=5).map(f64::from).collect::<Vec<_>>();
        let column = |name: &str, values| Column {
            name: name.to_owned(),
            values: Values::F64(values),
        };
        let goodput = vec![0.0, 7.0, 8.0, 9.0, 0.0];
        let table = Table {
            columns: vec![column("time_s", times), column("goodput_bps", goodput)],
        };
        let mut steps = interval_steps(&table, "goodput_bps", life).expect("a column");
        assert!(
            steps
                .pop()
                .is_some_and(|end| end.0 == 3.5 && end.1.is_nan())
        );
        assert_eq!(steps, [(1.5, 7.0), (2.0, 8.0), (3.0, 9.0), (3.5, 9.0)]);
        let mut rows = row_steps(&table, "goodput_bps", life).expect("a column");
        assert!(rows.pop().is_some_and(|end| end.0 == 3.5 && end.1.is_nan()));
        assert_eq!(rows, [(1.0, 0.0), (2.0, 7.0), (3.0, 8.0), (3.5, 8.0)]);
        let always = Life {
            start_s: 0.0,
            end_s: f64::INFINITY,
        };
        let steps = interval_steps(&table, "goodput_bps", always).expect("a column");
        let all = [
            (0.0, 0.0),
            (1.0, 7.0),
            (2.0, 8.0),
            (3.0, 9.0),
            (4.0, 0.0),
            (5.0, 0.0),
        ];
        assert_eq!(steps, all);
    }

    #[test]
    fn the_area_of_a_group_holds_as_its_median_does() {
        let area = held([(0.0, 1.0, 4.0), (2.0, 2.0, 3.0)].into_iter());
        assert_eq!(area, [(0.0, 1.0, 4.0), (2.0, 1.0, 4.0), (2.0, 2.0, 3.0)]);
    }
}
