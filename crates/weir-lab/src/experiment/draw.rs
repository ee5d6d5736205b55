//! Draws the plots that `published.toml` asks for from the runs.

use super::curves::{
    CurveColours, column_points, curve, curve_colour, curve_name, data_end, note_zero, series_axis,
    thinned,
};
use super::plot_plan::{PlotKind, PlotPlan};
use super::published::{Published, unit_scale};
use super::row_result::RowResult;
use super::run_data::{Runs, Runset};
use crate::diagnosis::{Explanation, add_findings};
use crate::report::{
    Axis, Colour, NamedPlot, Plot, PlotLayer, SawtoothOverlay, Shape, packet_interval,
    packets_per_second, rate_by_limit, round_trip_time, window_sawtooth,
};
use crate::run::columns::plot_label;
use crate::table::Table;
use crate::theory::mathis::Sawtooth;
use crate::theory::significant;
use weir_proto::units::{Rate, parse_duration, parse_size};

/// The plots in the order of the file. A plot whose run was not traced is left out.
pub(super) fn plots(
    experiment: &str,
    published: &Published,
    rows: &[RowResult],
    runs: &Runs,
) -> Vec<NamedPlot> {
    let drawing = Drawing {
        published,
        rows,
        runs,
        colours: CurveColours::of(&published.plots),
    };
    published
        .plots
        .iter()
        .filter_map(|plan| {
            let name = format!("{experiment}-{}", plan.name);
            Some(NamedPlot::new(&name, &plan.caption, drawing.plot(plan)?))
        })
        .collect()
}

struct Drawing<'a> {
    published: &'a Published,
    rows: &'a [RowResult],
    runs: &'a Runs,
    colours: CurveColours,
}

impl Drawing<'_> {
    fn plot(&self, plan: &PlotPlan) -> Option<Plot> {
        let title = plan.title.as_str();
        let state = || self.state(plan.runs.first()?);
        let mut plot = match plan.kind {
            PlotKind::Sweep => return Some(self.sweep(plan)),
            PlotKind::Distribution => return self.distribution(plan),
            PlotKind::Variants => return self.variants(plan),
            PlotKind::Rate => rate_by_limit(state()?, title)?,
            PlotKind::Rtt => round_trip_time(state()?, title)?,
            PlotKind::Interval => packet_interval(state()?, title)?,
            PlotKind::PacketRate => packets_per_second(state()?, title)?,
            PlotKind::Sawtooth => {
                let span = (plan.from_s?, plan.until_s?);
                window_sawtooth(state()?, span, self.overlay(plan), title)?
            }
            PlotKind::Overlay => self.several(plan)?,
            PlotKind::Series => self.series(plan)?,
        };
        plot.title.push_str(&self.which_of_many(plan));
        let explained = self.explanation(plan);
        let points = self.points(plan);
        if let Some(until) = plan.until_s {
            let shown = points.iter().map(|point| point.0);
            let end = shown.chain(data_end(&plot)).fold(0.0, f64::max);
            let end = if end > 0.0 { until.min(end) } else { until };
            plot.x = plot.x.within(plan.from_s.unwrap_or(0.0), end);
        }
        plot.layers.extend(self.level(plan));
        if !points.is_empty() {
            plot = plot.with("published", Colour(7), Shape::Published(points));
        }
        if let Some(explanation) = explained {
            add_findings(&mut plot, explanation, None);
        }
        Some(plot)
    }

    /// What went wrong in the run of a plot that shows a single one.
    fn explanation(&self, plan: &PlotPlan) -> Option<&Explanation> {
        let [name] = plan.runs.as_slice() else {
            return None;
        };
        self.runs.get(name)?.trace()?.explanation.as_ref()
    }

    /// The note that a trace is one of many; empty if there is only one run.
    fn which_of_many(&self, plan: &PlotPlan) -> String {
        let runs = plan.runs.iter().filter_map(|name| self.runs.get(name));
        let different = runs.map(|runs| runs.replicates().counting().count()).max();
        match different {
            Some(count) if count > 1 => format!(", first of {count} seeds"),
            _ => String::new(),
        }
    }

    fn state(&self, run: &str) -> Option<&Table> {
        let table = &self.runs.get(run)?.trace()?.state;
        (table.rows() > 0).then_some(table)
    }

    fn row(&self, id: &str) -> Option<&RowResult> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// The published value of a row in base units, or else the expected one.
    fn published(&self, id: &str) -> Option<f64> {
        let row = self.row(id)?;
        Some(row.published.or(row.expected)? * unit_scale(&row.unit)?)
    }

    fn points(&self, plan: &PlotPlan) -> Vec<(f64, f64, String)> {
        plan.points
            .iter()
            .filter_map(|[time, value]| {
                let words = self.row(value)?.target_text();
                Some((self.published(time)?, self.published(value)?, words))
            })
            .collect()
    }

    fn level(&self, plan: &PlotPlan) -> Option<PlotLayer> {
        let id = plan.level.as_deref()?;
        let row = self.row(id)?;
        let whose = if row.published.is_some() {
            "published"
        } else {
            "expected"
        };
        let words = format!("{whose}: {}", row.target_text());
        let level = Shape::Level(self.published(id)?);
        Some(PlotLayer::new(&words, Colour(7), level))
    }

    /// The sawtooth of the law of the plan's theory row.
    fn overlay(&self, plan: &PlotPlan) -> Option<SawtoothOverlay> {
        let row = self.published.row(plan.theory.as_deref()?)?;
        let measure = row.measure.as_ref()?;
        let argument = |name: &str| measure.arguments.get(name).map(String::as_str);
        let line = |name: &str| measure.law_line(name).ok().flatten();
        Some(SawtoothOverlay {
            tooth: Sawtooth {
                window_packets: line("window_packets")?,
                cycle_rtts: line("cycle_rtts")?,
                rate: Rate::from_bps(line("throughput_bps")?),
            },
            idle_rtts: line("idle_rtts").unwrap_or(0.0),
            packet_bytes: {
                let text = argument("mss")?;
                let bytes = text.parse().ok().or_else(|| parse_size(text).ok())?;
                bytes as f64
            },
            rtt_s: parse_duration(argument("rtt")?).ok()?.as_secs_f64(),
        })
    }

    /// A histogram of a row's values in single runs, with the published value and the central 95 %
    /// of the runs.
    fn distribution(&self, plan: &PlotPlan) -> Option<Plot> {
        let row = self.row(plan.level.as_deref()?)?;
        let band = row.seeds?;
        let low = row.values.iter().copied().reduce(f64::min)?;
        let high = row.values.iter().copied().reduce(f64::max)?;
        let width = bin_width(high - low, row.values.len());
        let first = libm::floor(low / width) as i64;
        let last = libm::floor(high / width) as i64;
        let bars: Vec<(f64, f64, f64)> = (first..=last.min(first + 500))
            .map(|bin| {
                let (left, right) = (bin as f64 * width, (bin + 1) as f64 * width);
                let inside = |value: &&f64| **value >= left && **value < right;
                (left, right, row.values.iter().filter(inside).count() as f64)
            })
            .collect();
        let upright = |what: &str, value: f64, colour| {
            let words = format!("{what} {} {}", significant(value, 4), row.unit);
            PlotLayer::new(words.trim_end(), colour, Shape::Upright(value))
        };
        let mut plot = Plot::new(
            &plan.title,
            Axis::linear(&plan.x_label, &row.unit),
            Axis::linear("runs", "runs"),
        );
        let [low_end, high_end] = band.band_95;
        let ends = (significant(low_end, 4), significant(high_end, 4));
        let band_name = format!("95 % of runs: {} to {}", ends.0, ends.1);
        plot = plot.with(&band_name, Colour(7), Shape::Band(low_end, high_end));
        let seeds_name = format!("{} seeds", row.values.len());
        plot = plot.with(&seeds_name, Colour(0), Shape::Bars(bars));
        plot.layers.push(upright("mean", row.measured?, Colour(2)));
        if let Some(published) = row.published {
            plot.layers
                .push(upright("published", published, Colour(1)).dashed());
        }
        Some(plot)
    }

    /// Columns of several runs in one plot.
    fn series(&self, plan: &PlotPlan) -> Option<Plot> {
        let y = series_axis(&plan.of, plan.log)?;
        let mut plot = Plot::new(&plan.title, Axis::time(), y);
        let heard = plan.of.iter().any(|column| column == "silence_s");
        for (place, run) in plan.runs.iter().enumerate() {
            let Some(data) = self.runs.get(run).and_then(Runset::trace) else {
                continue;
            };
            if heard {
                let number = plot.layers.len();
                let points = Shape::Line(silence(&data.gaps, plan.until_s)?);
                let name = curve_name(plan, place, "silence_s");
                let layer = PlotLayer::new(&name, curve_colour(number), points);
                let layer = if number < 6 { layer } else { layer.dashed() };
                plot.layers.push(layer);
                continue;
            }
            for column in &plan.of {
                if let Some(points) = column_points(&data.state, column, plan) {
                    let name = curve_name(plan, place, column);
                    let colour = self.colours.colour(plan, &name);
                    let layer = curve(&plot, &name, colour, thinned(points));
                    plot.layers.push(layer);
                }
            }
        }
        note_zero(&mut plot);
        if let Some(top) = plan.y_until {
            let factor = plot_label(plan.of.first()?)?.factor;
            plot.y = plot.y.within(0.0, top * factor);
        }
        (!plot.layers.is_empty()).then_some(plot)
    }

    /// The 95 % intervals of the rows' means, at the x values of the plot.
    fn intervals(&self, plan: &PlotPlan, rows: &[String]) -> Vec<(f64, f64, f64)> {
        let interval = |(x, id): (&f64, &String)| {
            let [low, high] = self.row(id)?.seeds?.interval_95;
            Some((*x, low, high))
        };
        plan.x.iter().zip(rows).filter_map(interval).collect()
    }

    /// The meaning of a curve's error bars; empty if no row has several runs.
    fn sample_size(&self, rows: &[String]) -> String {
        let rows = rows.iter().filter_map(|id| self.row(id));
        let measured = rows.filter(|row| row.measured.is_some());
        let runs: Vec<usize> = measured
            .map(|row| row.seeds.map_or(1, |band| band.runs))
            .collect();
        let least = runs.iter().copied().min().unwrap_or(1);
        let most = runs.iter().copied().max().unwrap_or(1);
        if most == 1 {
            String::new()
        } else if least == most {
            format!(", mean and 95 % interval, n = {least}")
        } else {
            format!(", mean and 95 % interval, n = {least} to {most}")
        }
    }

    /// Measured values of rows over the parameter in which their runs differ.
    fn sweep(&self, plan: &PlotPlan) -> Plot {
        let x = Axis::log(&plan.x_label, "").marked(&plan.x);
        let mut plot = Plot::new(&plan.title, x, Axis::linear(&plan.y_label, ""));
        let ends = (plan.x.first().copied(), plan.x.last().copied());
        if let (Some(first), Some(last)) = ends {
            plot.x = plot.x.within(first * 0.9, last * 1.1);
        }
        for (number, curve) in plan.curves.iter().enumerate() {
            let value = |id: &String| self.row(id).and_then(|row| row.measured);
            let measured = plan.x.iter().zip(&curve.rows);
            let points: Vec<(f64, f64)> = measured
                .filter_map(|(x, id)| Some((*x, value(id)?)))
                .collect();
            let colour = curve_colour(number);
            let label = format!("{}{}", curve.label, self.sample_size(&curve.rows));
            plot = plot
                .with(&label, colour, Shape::Line(points.clone()))
                .with("", colour, Shape::Scatter(points))
                .with("", colour, Shape::Spread(self.intervals(plan, &curve.rows)));
        }
        plot.layers.extend(self.level(plan));
        plot
    }

    /// A point for each variant, by two rows; those that count stand out.
    fn variants(&self, plan: &PlotPlan) -> Option<Plot> {
        let [x, y] = plan.points.first()?;
        let (x, y) = (self.row(x)?, self.row(y)?);
        let axis = |row: &RowResult| {
            let label = format!("{}, {}", row.text, row.unit);
            if plan.log {
                Axis::log(&label, &row.unit)
            } else {
                Axis::linear(&label, &row.unit)
            }
        };
        let points = |counts: bool| -> Vec<(f64, f64)> {
            let both = x.variants.iter().zip(&y.variants);
            let both = both.filter(|(x, _)| x.counts == counts);
            both.filter_map(|(x, y)| Some((x.measured?, y.measured?)))
                .collect()
        };
        let mut plot = Plot::new(&plan.title, axis(x), axis(y));
        for (counts, words, colour) in [
            (false, "left out", Colour(7)),
            (true, "that count", Colour(1)),
        ] {
            let points = points(counts);
            let number = points.len();
            if number > 0 {
                let name = format!("{number} variants {words}");
                plot = plot.with(&name, colour, Shape::Scatter(points));
            }
        }
        plot.layers.extend(self.level(plan));
        Some(plot)
    }

    /// The allowed rates of several runs in one plot.
    fn several(&self, plan: &PlotPlan) -> Option<Plot> {
        let mut plot = Plot::new(
            &plan.title,
            Axis::linear("time, s", "s"),
            Axis::log("allowed rate X, bit/s", "bit/s"),
        );
        plot.height = 440.0;
        for (number, name) in plan.runs.iter().enumerate() {
            let Some(table) = self.state(name) else {
                continue;
            };
            let columns = (table.numbers("time_s"), table.numbers("allowed_rate_bps"));
            let (Some(times), Some(rates)) = columns else {
                continue;
            };
            let points = times.iter().copied().zip(rates.iter().copied());
            let steps = Shape::Step(points.collect());
            plot = plot.with(&name.replace('-', " "), curve_colour(number), steps);
        }
        (!plot.layers.is_empty()).then_some(plot)
    }
}

/// The cumulative length of the gaps in the audio over time; it grows during each gap.
fn silence(gaps: &Table, until: Option<f64>) -> Option<Vec<(f64, f64)>> {
    let column = |name| gaps.numbers(name);
    let (begun, length, sum) = (column("time_s")?, column("gap_s")?, column("silence_s")?);
    let mut points = vec![(0.0, 0.0)];
    for ((at, length), sum) in begun.iter().zip(length).zip(sum) {
        points.push((*at, sum - length));
        points.push((at + length, *sum));
    }
    if let (Some(until), Some(&(at, sum))) = (until, points.last()) {
        points.push((until.max(at), sum));
    }
    Some(points)
}

/// A round bin width that gives about √(2n) bins for n values.
fn bin_width(range: f64, values: usize) -> f64 {
    let raw = range / (2.0 * values as f64).sqrt();
    if raw <= 0.0 {
        return 0.1;
    }
    let power = libm::pow(10.0, libm::floor(libm::log10(raw)));
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power >= raw);
    factor.unwrap_or(10.0) * power
}
