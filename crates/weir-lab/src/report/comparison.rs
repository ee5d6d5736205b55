//! Pictures of several runs: each combination of settings is a curve or a mark, and its seeds give
//! the spread.

use super::axis::Axis;
use super::drawing::NamedPlot;
use super::overview::{OF_PACKETS, crowded, delay_of, distributions};
use super::page::{Page, escaped};
use super::panels::Panels;
use super::plot::{ErrorBar, Plot, PlotLayer, Shape};
use super::run_pictures::{RunPictures, Section};
use super::selection::{PlotError, PlotSelection};
use super::series::{counted, ended, layers, of_intervals, of_rows};
use super::subjects::{PlotData, Subject, subjects_of};
use crate::replication::Sample;
use crate::scenario::Flow;
use crate::theory::format_digits;
use std::collections::{BTreeMap, BTreeSet};

/// The points of a flow of a run: seconds and values.
type SeriesOf = fn(&PlotData, &str) -> Option<Vec<(f64, f64)>>;

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
    /// The index of the case, and what was set in it.
    case: usize,
    set: String,
    /// The flow or group, without what was set.
    of: String,
    runs: &'a [&'a PlotData],
}

/// The most curves of a picture.
const MOST_CURVES: usize = 14;
/// The most plots one below the other; the curves of more cases are in one plot.
const MOST_PANELS: usize = 8;

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
    let title = Title::of(runs, &cases);
    let ends = runs.iter().map(PlotData::end_s);
    let end = ends.fold(0.0, f64::max);
    let mut figures: Vec<NamedPlot> = Vec::new();
    figures.extend(throughput_and_delay(&members));
    let over_time = OVER_TIME.iter();
    let over_time =
        over_time.filter_map(|curve| over_time_of(curve, &members, &title, selection, end));
    figures.extend(over_time);
    figures.extend(completion_times(&members));
    figures.extend(delays(&members));
    for figure in &mut figures {
        if let super::Drawing::Plot(plot) = &mut figure.drawing {
            plot.title = title.with(&plot.title);
            selection.apply(plot, end);
        }
    }
    if figures.is_empty() {
        let message = "the runs have no flow with a round-trip time or traces to compare";
        return Err(PlotError::Nothing(message.to_owned()));
    }
    pictures.head = table(&members, &title);
    pictures.sections.push(Section {
        title: title.with(&format!("{} runs", runs.len())),
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
    let count_distinct = |paths: &[&String]| {
        let of_run = |run| paths.iter().map(|path| BTreeMap::get(run, *path)).collect();
        let distinct: BTreeSet<Vec<_>> = settings.iter().map(of_run).collect();
        distinct.len()
    };
    let distinct = count_distinct(&differing);
    for path in differing.clone().into_iter().rev() {
        let mut others = differing.clone();
        others.retain(|other| *other != path);
        if count_distinct(&others) == distinct {
            differing = others;
        }
    }
    let shown = |path: &String| of_both_directions(path, of);
    differing
        .into_iter()
        .map(|path| (path.as_str(), shown(path)))
        .collect()
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
        .flat_map(|subject| cases.iter().enumerate().map(move |case| (subject, case)));
    let members = pairs.enumerate().map(|(number, (subject, (place, case)))| {
        let own = case.words(Some(subject));
        let alone = subjects.len() == 1 && !own.is_empty();
        let set = case.words(alone.then_some(subject));
        let name = (!alone).then(|| subject.label.clone());
        let words = name.into_iter().chain([own]);
        let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        Member {
            of: subject.label.clone(),
            subject: Subject {
                label: words.join(", "),
                flows: subject.flows.clone(),
                number,
            },
            case: place,
            set,
            runs: &case.runs,
        }
    });
    members.collect()
}

impl Case<'_> {
    /// What was set, as short as it is clear: of each path the end that no other has; a single word
    /// stands alone. A setting of a flow that is not `own` has the flow's name.
    fn words(&self, own: Option<&Subject>) -> String {
        let paths: Vec<&str> = self.settings.iter().map(|one| one.path.as_str()).collect();
        let words = self.settings.iter().map(|setting| {
            let Setting { path, value } = setting;
            let end = ending(path, &paths);
            let of_flow = path
                .strip_prefix("flow.")
                .and_then(|path| path.split('.').next());
            let other = of_flow.filter(|_| own.is_none_or(|own| !self.is_own(setting, own)));
            let is_alone = paths.len() == 1 && value.starts_with(|c: char| c.is_ascii_alphabetic());
            match (other, is_alone) {
                (None, true) => value.clone(),
                (None, false) => format!("{end}={value}"),
                (Some(flow), true) => format!("{flow}={value}"),
                (Some(flow), false) if end.starts_with(&format!("{flow}.")) => {
                    format!("{end}={value}")
                }
                (Some(flow), false) => format!("{flow}.{end}={value}"),
            }
        });
        words.collect::<Vec<_>>().join(", ")
    }

    /// True if the setting is that of the subject's own flow.
    fn is_own(&self, setting: &Setting, subject: &Subject) -> bool {
        let mut parts = setting.path.splitn(3, '.');
        let (Some("flow"), Some(name)) = (parts.next(), parts.next()) else {
            return false;
        };
        self.runs.iter().any(|run| {
            let mut flows = run.output.scenario.flows.iter();
            let flow = flows.find(|flow| flow.name == name);
            flow.is_some_and(|flow| flow.names().any(|name| subject.flows.contains(&name)))
        })
    }
}

/// The shortest end of a path that none of the others has.
fn ending<'a>(path: &'a str, all: &[&str]) -> &'a str {
    let mut starts: Vec<usize> = path.match_indices('.').map(|(at, _)| at + 1).collect();
    starts.reverse();
    let ends = starts.into_iter().map(|start| &path[start..]);
    let is_alone = |end: &&str| {
        let others = all.iter().filter(|other| **other != path);
        let dotted = format!(".{end}");
        others
            .into_iter()
            .all(|other| !other.ends_with(&dotted) && other != end)
    };
    ends.chain([path]).find(is_alone).unwrap_or(path)
}

/// What the titles of pictures say: the scenario, and the setting in which the runs differ.
struct Title(String);

impl Title {
    fn of(runs: &[PlotData], cases: &[Case<'_>]) -> Self {
        let names: BTreeSet<&str> = runs.iter().map(|run| run.name.as_str()).collect();
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let name = match names.as_slice() {
            [only] => (*only).to_owned(),
            _ => String::new(),
        };
        let paths = cases.first().map_or(&[][..], |case| &case.settings);
        let paths: Vec<&str> = paths.iter().map(|setting| setting.path.as_str()).collect();
        let paths = match paths.as_slice() {
            [] => String::new(),
            paths => format!("by {}", paths.join(" and ")),
        };
        let parts = [name, paths].into_iter().filter(|part| !part.is_empty());
        Self(parts.collect::<Vec<_>>().join(", "))
    }

    fn with(&self, title: &str) -> String {
        if self.0.is_empty() {
            title.to_owned()
        } else {
            format!("{title} ({})", self.0)
        }
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
            plot = plot.with("", colour, crowded(runs.clone(), Shape::Scatter));
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

/// A quantity over time.
struct OverTime {
    /// The file's name.
    name: &'static str,
    title: &'static str,
    label: &'static str,
    unit: &'static str,
    series: SeriesOf,
}

const OVER_TIME: [OverTime; 3] = [
    OverTime {
        name: "goodput",
        title: "Goodput over time",
        label: "goodput, bit/s",
        unit: "bit/s",
        series: |run, flow| of_intervals(run, flow, "goodput_bps"),
    },
    OverTime {
        name: "delay",
        title: "One-way delay over time",
        label: "delay, s",
        unit: "s",
        series: |run, flow| of_intervals(run, flow, "one_way_delay_s"),
    },
    OverTime {
        name: "windows",
        title: "Congestion window over time",
        label: "window, bytes",
        unit: "bytes",
        series: |run, flow| of_rows(run, flow, "cwnd_bytes"),
    },
];

/// A quantity over time: a plot for each case, one below the other, with a curve for each flow.
/// Over several seeds a curve is their median, with the range from the 10th to the 90th percentile.
fn over_time_of(
    quantity: &OverTime,
    members: &[Member<'_>],
    title: &Title,
    selection: &PlotSelection,
    end_s: f64,
) -> Option<NamedPlot> {
    let axis = || Axis::linear(quantity.label, quantity.unit);
    let cases = members.iter().map(|member| member.case);
    let cases: BTreeSet<usize> = cases.collect();
    let apart = (2..=MOST_PANELS).contains(&cases.len());
    let mut plots: Vec<(usize, Plot)> = Vec::new();
    for member in members {
        let case = if apart { member.case } else { 0 };
        let mut subject = member.subject.clone();
        if apart {
            subject.label.clone_from(&member.of);
        }
        let layers = layers(&subject, &series_of(member, quantity.series));
        if layers.is_empty() {
            continue;
        }
        let place = plots.iter().position(|(other, _)| *other == case);
        let place = place.unwrap_or_else(|| {
            let title = if apart { &*member.set } else { quantity.title };
            plots.push((case, Plot::new(title, Axis::time(), axis())));
            plots.len() - 1
        });
        plots[place].1.layers.extend(layers);
    }
    plots.sort_by_key(|(case, _)| *case);
    let mut plots: Vec<Plot> = plots.into_iter().map(|(_, plot)| plot).collect();
    for plot in &mut plots {
        plot.layers
            .sort_by_key(|layer| !matches!(layer.shape, Shape::Ribbon(_)));
    }
    let caption = "Over several seeds, and over the flows of a group, the median of those that are \
                   open at the time, and the area from the 10th to the 90th percentile.";
    match plots.len() {
        0 => None,
        1 => Some(NamedPlot::new(quantity.name, caption, plots.remove(0))),
        _ => {
            for plot in &mut plots {
                selection.apply(plot, end_s);
            }
            let panels = Panels::new(&title.with(quantity.title), plots);
            let caption = format!("All plots have the same axes. {caption}");
            Some(NamedPlot::new(quantity.name, &caption, panels))
        }
    }
}

/// The series of a member's flows in each of its runs.
fn series_of(member: &Member<'_>, series: SeriesOf) -> Vec<Vec<(f64, f64)>> {
    let runs = member.runs.iter().flat_map(|run| {
        let end_s = run.end_s();
        let flows = member.subject.flows.iter();
        flows.filter_map(move |flow| {
            // One run may be shorter than another.
            Some(ended(series(run, flow)?, run.life(flow).end_s.min(end_s)))
        })
    });
    runs.collect()
}

/// A column of the table of values: its heading, the path in the summary, and the unit.
type Value = (&'static str, &'static str, &'static str);

const VALUES: [Value; 8] = [
    ("goodput", "goodput_bps", "bit/s"),
    ("one-way delay p50", "one_way_delay_s/p50", "s"),
    ("p95", "one_way_delay_s/p95", "s"),
    ("round trip p50", "rtt_s/p50", "s"),
    ("p95", "rtt_s/p95", "s"),
    ("packets lost", "packets_lost", ""),
    ("completed in", "completion_time_s", "s"),
    ("frame delay p95", "video/frame_delay_s/p95", "s"),
];

/// The means of each member over its runs, with half of their 95 % intervals.
fn table(members: &[Member<'_>], title: &Title) -> String {
    let of = |member: &Member<'_>, path: &str| -> Sample {
        let runs = member.runs.iter().filter_map(|run| {
            let flows = member.subject.flows.iter();
            let values = flows.filter_map(|flow| run.measure(flow, path));
            values.collect::<Sample>().mean()
        });
        runs.collect()
    };
    let known: Vec<&Value> = VALUES
        .iter()
        .filter(|value| members.iter().any(|member| of(member, value.1).n() > 0))
        .collect();
    let mut headings = vec!["", "#runs"];
    let named: Vec<String> = known.iter().map(|value| format!("#{}", value.0)).collect();
    headings.extend(named.iter().map(String::as_str));
    let mut page = Page::new();
    page.text("h2", "", &title.with("Values"));
    let rows = members.iter().map(|member| {
        let cells = known.iter().map(|(_, path, unit)| {
            let sample = of(member, path);
            let mean = sample.mean().map(|mean| format_digits(mean, unit, 4));
            let half = sample.interval_95().filter(|half| half.high > half.low);
            let half = half.map(|i| (i.high - i.low) / 2.0);
            let half =
                half.map(|half| format!("<small>± {}</small>", format_digits(half, unit, 2)));
            format!(
                "<td class=\"n\">{}{}</td>",
                mean.unwrap_or_else(|| "–".to_owned()),
                half.unwrap_or_default()
            )
        });
        format!(
            "<tr><td>{}</td><td class=\"n\">{}</td>{}</tr>\n",
            escaped(&member.subject.label),
            member.runs.len(),
            cells.collect::<String>()
        )
    });
    page.table(&headings, rows);
    page.into_body()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_setting_tells_what_later_ones_tell() {
        let run = |[ack_every, controller, kind]: [&str; 3]| -> Settings {
            let settings = [
                ("ack_every", ack_every),
                ("controller", controller),
                ("kind", kind),
            ];
            let owned = settings.map(|(path, value)| (path.to_owned(), value.to_owned()));
            owned.into_iter().collect()
        };
        let runs = [
            ["2", "cubic", "quic"],
            ["receiver", "cubic", "quinn"],
            ["2", "cubic", "tcp"],
            ["receiver", "quinn-cubic", "quinn"],
        ]
        .map(run);
        let paths = |runs: &[Settings]| -> Vec<String> {
            telling(runs).into_iter().map(|(_, shown)| shown).collect()
        };
        assert_eq!(paths(&runs), ["controller", "kind"]);
        assert_eq!(paths(&runs[..2]), ["ack_every"]);
        assert!(paths(&runs[..1]).is_empty());
    }
}
