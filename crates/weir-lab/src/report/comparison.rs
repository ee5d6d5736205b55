//! Pictures of several runs: each combination of settings is a curve or a mark, its seeds are the
//! spread.

use super::axis::Axis;
use super::drawing::NamedPlot;
use super::overview::delay_of;
use super::plot::{ErrorBar, Plot, PlotLayer, Shape};
use super::run_pictures::{RunPictures, Section};
use super::selection::{PlotError, PlotSelection, selects};
use super::series::{distribution, layers, of_intervals};
use super::subjects::{PlotData, Subject, colour_of};
use crate::replication::Sample;
use std::collections::{BTreeMap, BTreeSet};

/// The runs that differ in their seed only.
struct Case<'a> {
    /// The settings in which it differs from the other cases.
    label: String,
    runs: Vec<&'a PlotData>,
}

/// The flows of one name over the runs of one case.
struct Member<'a> {
    subject: Subject,
    flow: &'a str,
    runs: &'a [&'a PlotData],
}

/// The most curves of a picture.
const MOST_CURVES: usize = 14;

/// Goodput over delay with intervals of the means over seeds, goodput over time with its spread,
/// and distributions.
///
/// # Errors
/// A flow that no run has, or nothing to compare.
pub fn comparison(runs: &[PlotData], selection: &PlotSelection) -> Result<RunPictures, PlotError> {
    let cases = cases(runs);
    let names: BTreeSet<&str> = runs
        .iter()
        .flat_map(|run| run.output.summary.flows.keys().map(String::as_str))
        .collect();
    let known: Vec<&str> = names.iter().copied().collect();
    PlotSelection::check("flow", &selection.flows, &known)?;
    let mut names: Vec<&str> = known
        .into_iter()
        .filter(|name| selects(&selection.flows, name))
        .collect();
    names.sort_by(|a, b| crate::natural_order(a, b));
    let members = members(&cases, &names);
    let mut pictures = RunPictures::default();
    let all = cases.len() * names.len();
    if all > members.len() {
        pictures.left_out.push(format!(
            "{} of {all} combinations of flow and settings; --flow NAME chooses others.",
            all - members.len()
        ));
    }
    let drawn = [
        throughput_and_delay(&members),
        goodput(&members),
        completion_times(&members),
    ];
    let mut figures: Vec<NamedPlot> = drawn.into_iter().flatten().collect();
    let ends = runs.iter().map(PlotData::end_s);
    let end = ends.fold(0.0, f64::max);
    for figure in &mut figures {
        if let super::Drawing::Plot(plot) = &mut figure.drawing {
            selection.apply(plot, end);
        }
    }
    if figures.is_empty() {
        let message = "the runs have no flow with a round-trip time or traces to compare";
        return Err(PlotError::Nothing(message.to_owned()));
    }
    pictures.sections.push(Section {
        title: format!("{} runs, {} kinds of settings", runs.len(), cases.len()),
        figures,
    });
    Ok(pictures)
}

/// A setting's path and value.
type Settings = BTreeMap<String, String>;

/// The runs by their settings without the seed, in the order of their first run.
fn cases(runs: &[PlotData]) -> Vec<Case<'_>> {
    let settings: Vec<Settings> = runs.iter().map(settings_of).collect();
    let keys: BTreeSet<&String> = settings.iter().flat_map(BTreeMap::keys).collect();
    let differing: Vec<&String> = keys
        .into_iter()
        .filter(|key| {
            settings
                .iter()
                .any(|other| other.get(*key) != settings[0].get(*key))
        })
        .collect();
    let mut cases: Vec<Case<'_>> = Vec::new();
    for (run, settings) in runs.iter().zip(&settings) {
        let values = differing.iter().map(|key| {
            let value = settings.get(*key).map_or("not set", String::as_str);
            format!("{}={value}", short(key))
        });
        let values: Vec<String> = values.take(3).collect();
        let label = values.join(", ");
        match cases.iter_mut().find(|case| case.label == label) {
            Some(case) => case.runs.push(run),
            None => cases.push(Case {
                label,
                runs: vec![run],
            }),
        }
    }
    cases
}

/// The last two parts of a setting's path.
fn short(key: &str) -> &str {
    let mut dots = key.rmatch_indices('.').map(|(place, _)| place + 1);
    let start = dots.nth(1).unwrap_or(0);
    &key[start..]
}

/// The settings of a run, flat, without its seed.
fn settings_of(run: &PlotData) -> Settings {
    let mut settings = Settings::new();
    let text = run.output.scenario.resolved_toml();
    if let Ok(table) = text.parse::<toml::Table>() {
        flatten("", &toml::Value::Table(table), &mut settings);
    }
    settings.remove("run.seed");
    settings
}

fn flatten(path: &str, value: &toml::Value, settings: &mut Settings) {
    let below = |key: &str| match path {
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    };
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                flatten(&below(key), value, settings);
            }
        }
        toml::Value::Array(items) if items.iter().all(toml::Value::is_table) => {
            for (number, item) in items.iter().enumerate() {
                let name = item.get("name").and_then(toml::Value::as_str);
                let name = name.map_or_else(|| number.to_string(), str::to_owned);
                flatten(&below(&name), item, settings);
            }
        }
        toml::Value::String(text) => {
            settings.insert(path.to_owned(), text.clone());
        }
        other => {
            settings.insert(path.to_owned(), other.to_string());
        }
    }
}

fn members<'a>(cases: &'a [Case<'a>], names: &[&'a str]) -> Vec<Member<'a>> {
    let mut members = Vec::new();
    for case in cases {
        for name in names {
            let mut words = vec![];
            if !case.label.is_empty() {
                words.push(case.label.as_str());
            }
            if names.len() > 1 || words.is_empty() {
                words.insert(0, name);
            }
            let subject = Subject {
                label: words.join(", "),
                flows: Vec::new(),
                number: members.len(),
            };
            if members.len() < MOST_CURVES {
                members.push(Member {
                    subject,
                    flow: name,
                    runs: &case.runs,
                });
            }
        }
    }
    members
}

/// A mark at the means, with their 95 % intervals over the seeds; every run a dot.
fn throughput_and_delay(members: &[Member<'_>]) -> Option<NamedPlot> {
    let (paths, label) = members
        .iter()
        .find_map(|member| delay_of(member.runs.first()?))?;
    let mut plot = Plot::new(
        "Goodput over delay: up and to the left is better",
        Axis::linear(&format!("median {label}"), "s"),
        Axis::linear("goodput, bit/s", "bit/s").from_zero(),
    );
    for member in members {
        let runs = member.runs.iter().filter_map(|run| {
            let delay = run.measure(member.flow, paths[0])?;
            Some((delay, run.measure(member.flow, "goodput_bps")?))
        });
        let runs: Vec<(f64, f64)> = runs.collect();
        let delays: Sample = runs.iter().map(|run| run.0).collect();
        let rates: Sample = runs.iter().map(|run| run.1).collect();
        let (Some(delay), Some(rate)) = (delays.mean(), rates.mean()) else {
            continue;
        };
        let colour = member.subject.colour();
        if runs.len() > 1 {
            plot = plot.with("", colour, Shape::Scatter(runs.clone()));
            if let (Some(x), Some(y)) = (delays.interval_95(), rates.interval_95()) {
                let bar = ErrorBar {
                    at: (delay, rate),
                    x: (x.low, x.high),
                    y: (y.low, y.high),
                };
                plot = plot.with("", colour, Shape::Errors(vec![bar]));
            }
        }
        let name = format!("{}, n = {}", member.subject.label, runs.len());
        let mark = PlotLayer::new(&name, colour, Shape::Marks(vec![(delay, rate)]));
        plot.layers.push(mark.curve(member.subject.number));
    }
    if plot.layers.is_empty() {
        return None;
    }
    let caption = "Marks are means over the seeds, bars their 95 % intervals, dots the single \
                   runs; n is the number of runs.";
    Some(NamedPlot::new("goodput-over-delay", caption, plot))
}

/// Goodput over time: the median of the seeds and from the 10th to the 90th percentile.
fn goodput(members: &[Member<'_>]) -> Option<NamedPlot> {
    let axis = Axis::linear("goodput, bit/s", "bit/s");
    let mut plot = Plot::new("Goodput over time", Axis::time(), axis);
    for member in members {
        let runs = member.runs.iter();
        let series = runs.filter_map(|run| of_intervals(run, member.flow, "goodput_bps"));
        plot.layers
            .extend(layers(&member.subject, &series.collect::<Vec<_>>()));
    }
    plot.layers
        .sort_by_key(|layer| !matches!(layer.shape, Shape::Ribbon(_)));
    let caption = "Over several seeds the median, and the area from the 10th to the 90th \
                   percentile.";
    (!plot.layers.is_empty()).then(|| NamedPlot::new("goodput", caption, plot))
}

/// The share of finite transfers that were complete after so long, all seeds together.
fn completion_times(members: &[Member<'_>]) -> Option<NamedPlot> {
    let y = Axis::linear("share that is at most this", "").within(0.0, 1.0);
    let x = Axis::linear("completion time, s", "s");
    let mut plot = Plot::new("Completion time of transfers and requests", x, y);
    for member in members {
        let times = member.runs.iter().flat_map(|run| {
            let table = run.transfers.get(member.flow);
            let column = table.and_then(|table| table.as_numbers("completion_time_s"));
            let time = || run.measure(member.flow, "completion_time_s");
            let single = || time().into_iter().collect();
            column.map_or_else(single, |times| times.to_vec())
        });
        let times: Vec<f64> = times.filter(|time| time.is_finite()).collect();
        if times.len() < 2 {
            continue;
        }
        let name = format!("{}, n = {}", member.subject.label, times.len());
        let colour = colour_of(member.subject.number);
        let steps = Shape::Step(distribution(times));
        let layer = PlotLayer::new(&name, colour, steps);
        plot.layers.push(layer.curve(member.subject.number));
    }
    let caption = "The share of transfers whose last octet reached the receiving application so \
                   long after their start; all seeds together.";
    (!plot.layers.is_empty()).then(|| NamedPlot::new("completion-time", caption, plot))
}
