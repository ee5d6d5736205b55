//! The pictures that show all flows of a run at once: rates, delays, throughput over delay, and
//! distributions.

use super::axis::{Axis, Scale};
use super::drawing::NamedPlot;
use super::plot::{ErrorBar, Plot, PlotLayer, Shape};
use super::series::{
    OF_GROUPS, counted, distribution, layers, of_intervals, of_rows, rtt_samples, time_axis,
};
use super::subjects::{Counted, PlotData, Subject};

/// The pictures for which the run has tables.
pub(super) fn overview(data: &PlotData, subjects: &[Subject]) -> Vec<NamedPlot> {
    let pictures = [
        rates(data, subjects),
        delays(data, subjects),
        windows(data, subjects),
        throughput_and_delay(data, subjects),
        completion_times(data, subjects),
        delay_distribution(data, subjects),
    ];
    pictures.into_iter().flatten().collect()
}

/// The series of each flow of a subject.
type Series = Vec<Vec<(f64, f64)>>;

/// The series of a subject's flows from one kind of table.
fn series_of(subject: &Subject, series: impl Fn(&str) -> Option<Vec<(f64, f64)>>) -> Series {
    let flows = subject.flows.iter();
    flows.filter_map(|flow| series(flow)).collect()
}

/// A picture over time with a curve or band for each subject; `None` without a series. The first
/// argument holds its file name and its caption.
fn over_time(
    (name, caption): (&str, &str),
    title: &str,
    y: Axis,
    curves: &[(&Subject, Series)],
) -> Option<NamedPlot> {
    let mut plot = Plot::new(title, time_axis(), y);
    let layers = curves
        .iter()
        .map(|(subject, series)| layers(subject, series));
    plot.layers = layers.flatten().collect();
    // Areas are drawn below all curves.
    plot.layers
        .sort_by_key(|layer| !matches!(layer.shape, Shape::Ribbon(_)));
    let mut caption = caption.to_owned();
    if curves.iter().any(|(subject, _)| subject.is_group()) {
        caption = format!("{caption} {OF_GROUPS}");
    }
    (!plot.layers.is_empty()).then(|| NamedPlot::new(name, &caption, plot))
}

fn curves(
    subjects: &[Subject],
    series: impl Fn(&str) -> Option<Vec<(f64, f64)>>,
) -> Vec<(&Subject, Series)> {
    let of = |subject| (subject, series_of(subject, &series));
    let curves = subjects.iter().map(of);
    curves.filter(|(_, series)| !series.is_empty()).collect()
}

/// Goodput of all flows; without interval tables the rates that their controllers allow.
fn rates(data: &PlotData, subjects: &[Subject]) -> Option<NamedPlot> {
    let goodput = |flow: &str| of_intervals(data, flow, "goodput_bps");
    let goodputs = curves(subjects, goodput);
    if !goodputs.is_empty() {
        let axis = Axis::linear("goodput, bit/s", "bit/s");
        let caption = "Data delivered to the application for the first time. What waits behind a \
                       lost packet is delivered with it, at more than the link's rate.";
        let words = ("goodput", caption);
        return over_time(words, "Goodput of all flows", axis, &goodputs);
    }
    let allowed = |flow: &str| {
        if let Some(rates) = of_rows(data, flow, "allowed_rate_bps") {
            return Some(rates);
        }
        let windows = of_rows(data, flow, "cwnd_bytes")?.into_iter();
        let rates = windows.zip(of_rows(data, flow, "smoothed_rtt_s")?);
        Some(
            rates
                .map(|((at, bytes), (_, rtt))| (at, bytes * 8.0 / rtt))
                .collect(),
        )
    };
    let allowed = curves(subjects, allowed);
    let values = allowed
        .iter()
        .flat_map(|(_, series)| series.iter().flatten());
    let axis = Axis::linear("allowed rate, bit/s", "bit/s").by_range(values.map(|p| p.1));
    let caption = "X of rate controllers, cwnd divided by the round-trip time of windows.";
    let title = "What the controllers of all flows allow";
    over_time(("allowed-rates", caption), title, axis, &allowed)
}

/// One-way delay of all flows; without a table of intervals their round-trip times.
fn delays(data: &PlotData, subjects: &[Subject]) -> Option<NamedPlot> {
    let one_way = |flow: &str| of_intervals(data, flow, "one_way_delay_s");
    let one_way = curves(subjects, one_way);
    if !one_way.is_empty() {
        let axis = Axis::linear("one-way delay, s", "s");
        let caption = "From the sender's handover to the receiver: means of the intervals.";
        let title = "One-way delay of all flows";
        return over_time(("delay", caption), title, axis, &one_way);
    }
    let smoothed = |flow: &str| of_rows(data, flow, "smoothed_rtt_s");
    let smoothed = curves(subjects, smoothed);
    let axis = Axis::linear("round-trip time, s", "s");
    let caption = "The smoothed round-trip time of each sender.";
    let title = "Round-trip time of all flows";
    over_time(("delay", caption), title, axis, &smoothed)
}

/// The windows of all flows in one picture, if there are several.
fn windows(data: &PlotData, subjects: &[Subject]) -> Option<NamedPlot> {
    let windows = |flow: &str| of_rows(data, flow, "cwnd_bytes");
    let windows = curves(subjects, windows);
    let flows = windows.iter().map(|(_, series)| series.len());
    if flows.sum::<usize>() < 2 {
        return None;
    }
    let axis = Axis::linear("congestion window, bytes", "bytes");
    let caption = "Each flow's window by itself, with what held it back, comes below.";
    let title = "Congestion windows of all flows";
    over_time(("windows", caption), title, axis, &windows)
}

/// The delays that pictures show: paths in the summary of the median, the minimum and the 95th
/// percentile, and a label.
const DELAYS: [([&str; 3], &str); 2] = [
    (
        [
            "one_way_delay_s/p50",
            "one_way_delay_s/min",
            "one_way_delay_s/p95",
        ],
        "one-way delay, s",
    ),
    (
        ["rtt_s/p50", "rtt_s/min", "rtt_s/p95"],
        "round-trip time, s",
    ),
];

/// The first of these delays that this run's summaries have.
pub(super) fn delay_of(data: &PlotData) -> Option<([&'static str; 3], &'static str)> {
    let summary = &data.output.summary;
    let mut flows = summary.flows.keys().chain(summary.transfers.keys());
    let first = flows.find(|flow| {
        let mut paths = DELAYS.iter();
        paths.any(|(paths, _)| data.measure(flow, paths[0]).is_some())
    })?;
    let mut delays = DELAYS.into_iter();
    delays.find(|(paths, _)| data.measure(first, paths[0]).is_some())
}

/// Goodput over delay, a mark for each flow: up and to the left is better.
fn throughput_and_delay(data: &PlotData, subjects: &[Subject]) -> Option<NamedPlot> {
    let (paths, label) = delay_of(data)?;
    let mut plot = Plot::new(
        "Goodput over delay: up and to the left is better",
        Axis::linear(label, "s"),
        Axis::linear("goodput, bit/s", "bit/s").from_zero(),
    );
    for subject in subjects {
        let bars: Vec<ErrorBar> = subject
            .flows
            .iter()
            .filter_map(|flow| {
                let delay = |path: &str| data.measure(flow, path);
                let at = (delay(paths[0])?, data.measure(flow, "goodput_bps")?);
                let x = (delay(paths[1])?, delay(paths[2])?);
                let y = (at.1, at.1);
                Some(ErrorBar { at, x, y })
            })
            .collect();
        let marks: Vec<(f64, f64)> = bars.iter().map(|bar| bar.at).collect();
        if marks.is_empty() {
            continue;
        }
        let colour = subject.colour();
        if !subject.is_group() {
            plot = plot.with("", colour, Shape::Errors(bars));
        }
        let marks = crowded(marks, Shape::Marks);
        let marks = PlotLayer::new(&subject.label, colour, marks);
        plot.layers.push(marks.curve(subject.number));
    }
    if plot.layers.is_empty() {
        return None;
    }
    let caption = "Over the whole run after the warm-up: the mark stands at the median of the \
                   delay, the bar goes from the least to the 95th percentile.";
    Some(NamedPlot::new("goodput-over-delay", caption, plot))
}

/// More points than this hide each other: they are drawn as a density.
const MOST_MARKS: usize = 400;

/// Points in this shape, or as a density if there are too many.
pub(super) fn crowded(points: Vec<(f64, f64)>, shape: fn(Vec<(f64, f64)>) -> Shape) -> Shape {
    if points.len() > MOST_MARKS {
        Shape::Density(points)
    } else {
        shape(points)
    }
}

/// The distribution function of the completion times of finite transfers.
fn completion_times(data: &PlotData, subjects: &[Subject]) -> Option<NamedPlot> {
    let values = subjects.iter().map(|subject| {
        let flows = subject.flows.iter();
        let times = flows.flat_map(|flow| data.completion_times(flow));
        (subject, counted(times))
    });
    let plot = distributions(
        "Completion time of transfers and requests",
        Axis::linear("completion time, s", "s"),
        values.collect(),
    )?;
    let caption = "The share of transfers, or of requests, whose last octet, or that of the \
                   response, reached the receiving application so long after their start.";
    Some(NamedPlot::new("completion-time", caption, plot))
}

/// The delays of a flow.
type DelaysOf<'a> = &'a dyn Fn(&String) -> Counted;

/// The distribution of delays: of packets, or of interval means if those are missing, or of
/// round-trip time samples.
fn delay_distribution(data: &PlotData, subjects: &[Subject]) -> Option<NamedPlot> {
    let of_packets = |flow: &String| data.delays.get(flow).cloned().unwrap_or_default();
    let of_intervals = |flow: &String| {
        let table = data.intervals.get(flow);
        let column = table.and_then(|table| table.as_numbers("one_way_delay_s"));
        counted(column.iter().flat_map(|column| column.iter().copied()))
    };
    let samples = |flow: &String| {
        let samples = data.state(flow).and_then(rtt_samples).unwrap_or_default();
        counted(samples.into_iter().map(|sample| sample.1))
    };
    let kinds: [(&DelayWords, DelaysOf<'_>); 3] = [
        (&OF_PACKETS, &of_packets),
        (&OF_INTERVAL_MEANS, &of_intervals),
        (&OF_RTT_SAMPLES, &samples),
    ];
    let mut kinds = kinds.into_iter();
    let (words, values) = kinds.find(|(_, values)| {
        let mut flows = subjects.iter().flat_map(|subject| &subject.flows);
        flows.any(|flow| values(flow).iter().any(|value| value.0.is_finite()))
    })?;
    let values = subjects.iter().map(|subject| {
        let flows = subject.flows.iter();
        (subject, flows.flat_map(values).collect())
    });
    words.picture(values.collect(), words.caption)
}

/// The title, label and caption of a distribution of delays.
pub(super) struct DelayWords {
    title: &'static str,
    label: &'static str,
    pub(super) caption: &'static str,
}

/// For delays of packets.
pub(super) const OF_PACKETS: DelayWords = DelayWords {
    title: "Distribution of the one-way delay",
    label: "one-way delay, s",
    caption: "The share of packets that took at most this, from the end of the warm-up on: \
              within 0.2 % of the delay, and 0.1 % of the packets of a flow (more in a run of over \
              1000 flows).",
};
const OF_INTERVAL_MEANS: DelayWords = DelayWords {
    title: "Distribution of the one-way delay: means of intervals, not packets",
    label: "one-way delay, s",
    caption: "The share of intervals in which the mean delay was at most this.",
};
const OF_RTT_SAMPLES: DelayWords = DelayWords {
    title: "Distribution of the round-trip time",
    label: "round-trip time, s",
    caption: "The share of the sender's samples that were at most this.",
};

impl DelayWords {
    /// The picture of these delays for each subject, if one subject has at least two values.
    pub(super) fn picture(
        &self,
        values: Vec<(&Subject, Counted)>,
        caption: &str,
    ) -> Option<NamedPlot> {
        let axis = Axis::linear(self.label, "s");
        let plot = distributions(self.title, axis, values)?;
        Some(NamedPlot::new("delay-distribution", caption, plot))
    }
}

/// Empirical distribution functions; `None` if every subject has fewer than two values.
pub(super) fn distributions(
    title: &str,
    x: Axis,
    values: Vec<(&Subject, Counted)>,
) -> Option<Plot> {
    let all = values.iter().flat_map(|(_, values)| values);
    let mut x = x.by_range(all.map(|value| value.0));
    x.tight = x.scale == Scale::Log;
    let y = Axis::linear("share that is at most this", "").within(0.0, 1.0);
    let mut plot = Plot::new(title, x, y);
    for (subject, values) in values {
        let finite = values.iter().filter(|value| value.0.is_finite());
        let count: f64 = finite.map(|value| value.1).sum();
        if count < 2.0 {
            continue;
        }
        let name = format!("{}, n = {count}", subject.label);
        let steps = Shape::Step(distribution(values));
        let layer = PlotLayer::new(&name, subject.colour(), steps);
        plot.layers.push(layer.curve(subject.number));
    }
    (!plot.layers.is_empty()).then_some(plot)
}
