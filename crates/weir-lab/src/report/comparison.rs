//! Pictures of several runs: each combination of settings is a curve or a mark, and its seeds give
//! the spread.

use super::axis::Axis;
use super::drawing::NamedPlot;
use super::overview::{OF_PACKETS, delay_of, distributions};
use super::plot::{ErrorBar, Plot, PlotLayer, Shape};
use super::run_pictures::{RunPictures, Section};
use super::selection::{PlotError, PlotSelection};
use super::series::{counted, ended, layers, of_intervals};
use super::subjects::{PlotData, Subject, subjects_of};
use crate::replication::Sample;
use crate::scenario::Flow;
use std::collections::{BTreeMap, BTreeSet};

/// The runs that differ only in their seed.
struct Case<'a> {
    /// The settings that distinguish it from the other cases.
    settings: Vec<Setting>,
    runs: Vec<&'a PlotData>,
}

/// A setting in which runs differ.
#[derive(Clone, PartialEq, Eq)]
struct Setting {
    /// Its path: `flow.NAME.transport.controller`.
    path: String,
    value: String,
}

/// A flow or a group over the runs of one case.
struct Member<'a> {
    subject: Subject,
    runs: &'a [&'a PlotData],
}

/// The most curves of a picture.
const MOST_CURVES: usize = 14;

/// Goodput over delay with confidence intervals of the means over seeds, goodput over time with its
/// spread, and distributions.
///
/// # Errors
/// If the selection names a flow that no run has, or there is nothing to compare.
pub fn comparison(runs: &[PlotData], selection: &PlotSelection) -> Result<RunPictures, PlotError> {
    let scenarios = || runs.iter().map(|run| &run.output.scenario);
    let flows = scenarios().flat_map(|scenario| scenario.flows.iter().flat_map(Flow::names));
    let names: BTreeSet<String> = flows.collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_by(|a, b| crate::natural_order(a, b));
    PlotSelection::check("flow", &selection.flows, &names)?;
    let cases = cases(runs);
    let most = MOST_CURVES / cases.len().max(1);
    let (subjects, missing) = subjects_of(scenarios(), selection, most);
    let mut members = members(&cases, &subjects);
    let all = members.len() + missing.len() * cases.len();
    members.truncate(MOST_CURVES);
    let mut pictures = RunPictures::default();
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
        delays(&members),
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
    let paths = telling(&settings);
    let mut cases: Vec<Case<'_>> = Vec::new();
    for (run, settings) in runs.iter().zip(&settings) {
        let of_run = paths.iter().map(|(path, shown)| Setting {
            path: shown.clone(),
            value: settings
                .get(*path)
                .map_or("not set", String::as_str)
                .to_owned(),
        });
        let of_run: Vec<Setting> = of_run.collect();
        match cases.iter_mut().find(|case| case.settings == of_run) {
            Some(case) => case.runs.push(run),
            None => cases.push(Case {
                settings: of_run,
                runs: vec![run],
            }),
        }
    }
    cases
}

/// A minimal list of settings that distinguish the runs, each with the path to show. Settings that
/// all runs have are preferred to those that only some have, such as a controller's constants.
fn telling(settings: &[Settings]) -> Vec<(&str, String)> {
    let all: BTreeSet<&String> = settings.iter().flat_map(BTreeMap::keys).collect();
    let of = |path: &str| -> Vec<Option<&String>> {
        settings.iter().map(|of_run| of_run.get(path)).collect()
    };
    let mut differing: Vec<&String> = all.into_iter().collect();
    differing.retain(|path| of(path).windows(2).any(|pair| pair[0] != pair[1]));
    differing.sort_by_key(|path| of(path).contains(&None));
    let mut telling = Vec::new();
    let mut kinds = vec![Vec::new(); settings.len()];
    for path in differing {
        let before = kinds.iter().collect::<BTreeSet<_>>().len();
        let mut finer = kinds.clone();
        for (kind, value) in finer.iter_mut().zip(of(path)) {
            kind.push(value);
        }
        if finer.iter().collect::<BTreeSet<_>>().len() > before {
            kinds = finer;
            telling.push((path.as_str(), of_both_directions(path, of)));
        }
    }
    telling
}

/// The path without the direction if the setting is the same in both directions of its link.
fn of_both_directions<'a>(path: &str, of: impl Fn(&str) -> Vec<Option<&'a String>>) -> String {
    for (this, other) in [(".forward.", ".backward."), (".backward.", ".forward.")] {
        if path.contains(this) && of(path) == of(&path.replacen(this, other, 1)) {
            return path.replacen(this, ".", 1);
        }
    }
    path.to_owned()
}

/// The settings of a run as a flat map, without its seed.
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
            let name = if path.ends_with(".station") {
                "host"
            } else {
                "name"
            };
            for (number, item) in items.iter().enumerate() {
                let name = item.get(name).and_then(toml::Value::as_str);
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

/// Each flow or group in each case; the cases of one flow are adjacent.
fn members<'a>(cases: &'a [Case<'a>], subjects: &[Subject]) -> Vec<Member<'a>> {
    let pairs = subjects
        .iter()
        .flat_map(|subject| cases.iter().map(move |case| (subject, case)));
    let members = pairs.enumerate().map(|(number, (subject, case))| {
        let settings = case.settings.iter();
        let mut words: Vec<String> = settings
            .map(|setting| words_of(setting, case, subject))
            .collect();
        if subjects.len() > 1 || words.is_empty() {
            words.insert(0, subject.label.clone());
        }
        let subject = Subject {
            label: words.join(", "),
            flows: subject.flows.clone(),
            number,
        };
        Member {
            subject,
            runs: &case.runs,
        }
    });
    members.collect()
}

/// The label of a setting: `transport.controller=cubic` for the curve's own flow, preceded by the
/// name of another flow or of a link.
fn words_of(setting: &Setting, case: &Case<'_>, subject: &Subject) -> String {
    let Setting { path, value } = setting;
    let mut parts = path.splitn(3, '.');
    let (Some(kind), Some(name), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return format!("{path}={value}");
    };
    let mut runs = case.runs.iter();
    let is_own = kind == "flow"
        && runs.any(|run| {
            let mut flows = run.output.scenario.flows.iter();
            let flow = flows.find(|flow| flow.name == name);
            flow.is_some_and(|flow| flow.names().any(|name| subject.flows.contains(&name)))
        });
    if is_own {
        format!("{rest}={value}")
    } else {
        format!("{name}.{rest}={value}")
    }
}

/// A mark at the means, with their 95 % confidence intervals over the seeds; each run is a dot.
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
            let mean = |path: &str| {
                let flows = member.subject.flows.iter();
                let values = flows.filter_map(|flow| run.measure(flow, path));
                values.collect::<Sample>().mean()
            };
            Some((mean(paths[0])?, mean("goodput_bps")?))
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
                   runs, in which a group has the mean of its flows; n is the number of runs.";
    Some(NamedPlot::new("goodput-over-delay", caption, plot))
}

/// Goodput over time: the median of the seeds, with the range from the 10th to the 90th percentile.
fn goodput(members: &[Member<'_>]) -> Option<NamedPlot> {
    let axis = Axis::linear("goodput, bit/s", "bit/s");
    let mut plot = Plot::new("Goodput over time", Axis::time(), axis);
    for member in members {
        let series = member.runs.iter().flat_map(|run| {
            let end_s = run.end_s();
            let flows = member.subject.flows.iter();
            flows.filter_map(move |flow| {
                let steps = of_intervals(run, flow, "goodput_bps")?;
                // One run may be shorter than another.
                Some(ended(steps, run.life(flow).end_s.min(end_s)))
            })
        });
        plot.layers
            .extend(layers(&member.subject, &series.collect::<Vec<_>>()));
    }
    plot.layers
        .sort_by_key(|layer| !matches!(layer.shape, Shape::Ribbon(_)));
    let caption = "Over several seeds, and over the flows of a group, the median of those that are \
                   open at the time, and the area from the 10th to the 90th percentile.";
    (!plot.layers.is_empty()).then(|| NamedPlot::new("goodput", caption, plot))
}

/// The distribution function of the completion times of finite transfers, over all seeds.
fn completion_times(members: &[Member<'_>]) -> Option<NamedPlot> {
    let values = members.iter().map(|member| {
        let times = member.runs.iter().flat_map(|run| {
            let flows = member.subject.flows.iter();
            flows.flat_map(move |flow| run.completion_times(flow))
        });
        (&member.subject, counted(times))
    });
    let plot = distributions(
        "Completion time of transfers and requests",
        Axis::linear("completion time, s", "s"),
        values.collect(),
    )?;
    let caption = "The share of transfers whose last octet reached the receiving application so \
                   long after their start; all seeds together.";
    Some(NamedPlot::new("completion-time", caption, plot))
}

/// The distribution function of packet delays, over all seeds.
fn delays(members: &[Member<'_>]) -> Option<NamedPlot> {
    let values = members.iter().map(|member| {
        let delays = member.runs.iter().flat_map(|run| {
            let flows = member.subject.flows.iter();
            flows.filter_map(|flow| run.delays.get(flow)).flatten()
        });
        (&member.subject, delays.copied().collect())
    });
    let caption = format!("{} All seeds together.", OF_PACKETS.caption);
    OF_PACKETS.picture(values.collect(), &caption)
}
