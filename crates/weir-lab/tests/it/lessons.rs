//! The lessons of `web/lessons/`: what each says of a run is so, and every number of its text is
//! either measured here or one that its scenario sets.

use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use weir_lab::lint::lint;
use weir_lab::run::{RunOptions, RunOutput, judge, run};
use weir_lab::scenario::overrides::{Override, parse_set, parse_with};
use weir_lab::theory::evaluate;

/// The words that stand behind a number as its unit.
const UNITS: [&str; 22] = [
    "%", "Gbit/s", "Mbit/s", "kbit/s", "bit/s", "s", "ms", "µs", "ns", "kB", "MB", "bytes",
    "octets", "packets", "times", "m", "km", "dB", "million", "round", "frames", "flows",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    title: String,
    about: String,
    reading: Vec<Reading>,
    given: Vec<String>,
    check: Vec<Check>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reading {
    title: String,
    url: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    says: Vec<String>,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    expect: Vec<String>,
    column: Option<ColumnCheck>,
    theory: Option<TheoryCheck>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnCheck {
    table: String,
    name: String,
    take: Take,
    above: Option<f64>,
    #[serde(default)]
    from_s: f64,
    between: [f64; 2],
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Take {
    Min,
    Max,
    Last,
    TimeOfMax,
    LastTimeAbove,
    PeriodOfDrops,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TheoryCheck {
    law: String,
    parameters: Vec<String>,
    result: String,
    between: [f64; 2],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    scenario: String,
    plots: Vec<String>,
    #[serde(default)]
    flows: Vec<String>,
    slider: Vec<Slider>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Slider {
    key: String,
    label: String,
    #[serde(default)]
    choices: Vec<String>,
    min: Option<f64>,
    max: Option<f64>,
    step: Option<f64>,
    scale: Option<String>,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    shows: String,
}

/// A lesson: its front matter, its text without the fenced blocks, and those.
struct Lesson {
    name: String,
    about: FrontMatter,
    text: String,
    figures: Vec<Figure>,
    questions: Vec<String>,
    scenario: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/lessons")
}

fn lesson(path: &Path) -> Lesson {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let page = fs::read_to_string(path).unwrap();
    let page = page.strip_prefix("+++\n").expect("front matter");
    let (front, body) = page
        .split_once("\n+++\n")
        .expect("an end of the front matter");
    let about = toml::from_str(front).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    let (mut text, mut figures, mut questions) = (String::new(), Vec::new(), Vec::new());
    for (number, part) in format!("\n{body}").split("\n```").enumerate() {
        match part.split_once('\n') {
            Some(("figure", figure)) if number % 2 == 1 => {
                let figure = toml::from_str(figure);
                figures.push(figure.unwrap_or_else(|wrong| panic!("{name}: {wrong}")));
            }
            Some(("question", question)) if number % 2 == 1 => questions.push(question.to_owned()),
            _ if number % 2 == 1 => panic!("{name}: an unknown block: {part}"),
            _ => text.push_str(part),
        }
    }
    let scenario = fs::read_to_string(path.with_extension("toml")).unwrap();
    Lesson {
        name,
        about,
        text,
        figures,
        questions,
        scenario,
    }
}

fn lessons() -> Vec<Lesson> {
    let files = fs::read_dir(folder()).unwrap();
    let mut paths: Vec<_> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .filter(|path| path.file_stem().is_some_and(|name| name != "README"))
        .collect();
    paths.sort();
    paths.iter().map(|path| lesson(path)).collect()
}

fn overrides(set: &[String]) -> Vec<Override> {
    let values = set.iter().map(|text| parse_set(text).unwrap());
    values.flatten().collect()
}

fn run_of(lesson: &Lesson, check: &Check) -> RunOutput {
    let expectations: Vec<String> = check.expect.iter().map(|one| format!("{one:?}")).collect();
    let text = format!(
        "expect = [{}]\n{}",
        expectations.join(", "),
        lesson.scenario
    );
    let scenario = parse_with(&text, &lesson.name, &overrides(&check.set));
    let scenario = scenario.unwrap_or_else(|wrong| panic!("{}: {wrong}", lesson.name));
    run(&scenario, &RunOptions::default()).unwrap()
}

/// The value that a check takes from a column of a trace.
fn taken(output: RunOutput, check: &ColumnCheck) -> f64 {
    let tables = output.into_tables();
    let table = tables.iter().find(|(name, _)| *name == check.table);
    let (_, table) = table.unwrap_or_else(|| panic!("no table {}", check.table));
    let times = table.numbers("time_s").expect("times");
    let values = table.numbers(&check.name).expect("a column of numbers");
    let rows: Vec<(f64, f64)> = times
        .iter()
        .zip(values)
        .map(|(time, value)| (*time, *value))
        .filter(|(time, value)| *time >= check.from_s && value.is_finite())
        .collect();
    let all = || rows.iter().map(|(_, value)| *value);
    match check.take {
        Take::Min => all().fold(f64::INFINITY, f64::min),
        Take::Max => all().fold(f64::NEG_INFINITY, f64::max),
        Take::Last => all().next_back().expect("a row"),
        Take::TimeOfMax => {
            let max = all().fold(f64::NEG_INFINITY, f64::max);
            let last = rows.iter().rfind(|(_, value)| *value >= max);
            last.expect("a row").0
        }
        Take::LastTimeAbove => {
            let bound = check.above.expect("`above`");
            let last = rows.iter().rfind(|(_, value)| *value > bound);
            last.expect("a row above").0
        }
        Take::PeriodOfDrops => {
            let drops: Vec<f64> = rows
                .windows(2)
                .filter(|two| two[1].1 < 0.75 * two[0].1)
                .map(|two| two[1].0)
                .collect();
            let [first, .., last] = drops[..] else {
                panic!("{} drops", drops.len());
            };
            (last - first) / (drops.len() - 1) as f64
        }
    }
}

fn theory_of(check: &TheoryCheck) -> f64 {
    let pairs = check.parameters.iter().map(|pair| pair.split_once('='));
    let pairs: Option<Vec<(&str, &str)>> = pairs.collect();
    let lines = evaluate(&check.law, &pairs.expect("NAME=VALUE")).unwrap();
    let line = lines.iter().find(|line| line.name == check.result);
    line.expect("a result of this name").value
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// The text in one line, so that a phrase may cross the end of one.
fn in_one_line(text: &str) -> String {
    words(text).join(" ")
}

#[test]
fn what_they_say_of_runs_is_so() {
    for lesson in lessons() {
        let said = in_one_line(&format!("{} {}", lesson.text, lesson.questions.join(" ")));
        for check in &lesson.about.check {
            let place = format!("{}: {:?} with {:?}", lesson.name, check.says, check.set);
            for phrase in &check.says {
                assert!(said.contains(phrase.as_str()), "{place}: not in the text");
            }
            let (value, [low, high]) = if let Some(theory) = &check.theory {
                (theory_of(theory), theory.between)
            } else if let Some(column) = &check.column {
                (taken(run_of(&lesson, check), column), column.between)
            } else {
                let output = run_of(&lesson, check);
                let judged = judge(&output.scenario, &output.summary);
                assert!(!judged.is_empty(), "{place} checks nothing");
                for judgement in judged {
                    assert!(judgement.holds(), "{place}: {judgement:?}");
                }
                continue;
            };
            assert!((low..=high).contains(&value), "{place}: {value}");
        }
    }
}

/// Numbers of the text that have a unit or a decimal point.
fn quantities(text: &str) -> Vec<String> {
    let trimmed = |word: &str| {
        let marks = |c: char| "(),;:.*".contains(c);
        word.trim_matches(marks).to_owned()
    };
    let words: Vec<String> = words(text).into_iter().map(trimmed).collect();
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| is_number(word)) {
        match words
            .get(at + 1)
            .filter(|next| UNITS.contains(&next.as_str()))
        {
            Some(unit) => found.push(format!("{word} {unit}")),
            None if word.contains('.') => found.push(word.clone()),
            None => {}
        }
    }
    found
}

#[test]
fn every_number_of_their_text_is_measured_or_given() {
    for lesson in lessons() {
        let checks = lesson.about.check.iter().flat_map(|check| &check.says);
        let known: Vec<&String> = checks.chain(&lesson.about.given).collect();
        // Equations stand in indented lines, and links name sections.
        let is_prose = |line: &&str| !line.starts_with("    ");
        let prose: Vec<&str> = lesson.text.lines().filter(is_prose).collect();
        let text = format!("{}\n{}", prose.join("\n"), lesson.questions.join("\n"));
        for quantity in quantities(&text) {
            let is_known = known.iter().any(|known| known.contains(&quantity));
            assert!(is_known, "{}: {quantity} is not checked", lesson.name);
        }
        for given in &lesson.about.given {
            let said = in_one_line(&text);
            assert!(
                said.contains(given.as_str()),
                "{}: {given} is unused",
                lesson.name
            );
        }
    }
}

#[test]
fn they_have_their_form() {
    let all = lessons();
    assert_eq!(all.len(), 8);
    for lesson in all {
        let name = &lesson.name;
        assert!(!lesson.about.title.is_empty() && lesson.about.about.ends_with('.'));
        assert!(lesson.about.reading.len() >= 2, "{name}");
        for reading in &lesson.about.reading {
            let is_link =
                reading.url.starts_with("https://") || { folder().join(&reading.url).is_file() };
            assert!(
                is_link && !reading.title.is_empty(),
                "{name}: {}",
                reading.url
            );
        }
        let count = words(&lesson.text).len();
        assert!((250..=420).contains(&count), "{name} has {count} words");
        assert_eq!(lesson.questions.len(), 2, "{name}");
        for question in &lesson.questions {
            let (asked, answer) = question.split_once("\nanswer:\n").expect("an answer");
            assert!(
                asked.trim().ends_with('?') && words(answer).len() > 15,
                "{name}"
            );
        }
        assert_eq!(lesson.figures.len(), 1, "{name}");
    }
}

#[test]
fn their_figures_can_be_drawn_and_their_sliders_moved() {
    let known = [
        "window",
        "rate",
        "goodput",
        "round_trip",
        "queue",
        "one_way_delay",
    ];
    for lesson in lessons() {
        let name = &lesson.name;
        for figure in &lesson.figures {
            assert_eq!(figure.scenario, format!("{name}.toml"));
            assert!(
                figure
                    .plots
                    .iter()
                    .all(|plot| known.contains(&plot.as_str()))
            );
            assert!(!figure.plots.is_empty() && !figure.slider.is_empty());
            for flow in &figure.flows {
                assert!(lesson.scenario.contains(&format!("name = \"{flow}\"")));
            }
            for slider in &figure.slider {
                assert!(!slider.label.is_empty());
                let number = |bound: Option<f64>| format!("{}{}", bound.unwrap(), slider.unit);
                let values = if slider.choices.is_empty() {
                    assert!(slider.step.is_some() || slider.scale.as_deref() == Some("log"));
                    assert!(slider.unit.is_empty() || slider.shows.is_empty(), "{name}");
                    vec![number(slider.min), number(slider.max)]
                } else {
                    slider.choices.clone()
                };
                for value in values {
                    let set = [format!("{}={value}", slider.key)];
                    let scenario = parse_with(&lesson.scenario, name, &overrides(&set));
                    let scenario = scenario.unwrap_or_else(|wrong| panic!("{set:?}: {wrong}"));
                    assert!(scenario.run.duration.as_secs_f64() <= 60.0);
                }
            }
        }
    }
}

#[test]
fn their_scenarios_are_short_and_mean_what_they_say() {
    for lesson in lessons() {
        let name = &lesson.name;
        assert!(
            lesson.scenario.starts_with("# "),
            "{name} begins with its question"
        );
        let lines = lesson.scenario.lines();
        let lines = lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        assert!(lines.count() <= 30, "{name} is long");
        let scenario = parse_with(&lesson.scenario, name, &[]).unwrap();
        // What is left are remarks on short runs and small queues, which the lessons are about.
        for finding in lint(&scenario) {
            let is_meant = ["seeds", "duration", "queue"].contains(&finding.rule);
            assert!(is_meant, "{name}: {} {}", finding.rule, finding.message);
        }
    }
}
