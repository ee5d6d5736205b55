//! Values from the command line: `--set flow.stream.app.rate=64kbit,1Mbit --seeds 1..20`.
//!
//! A path names what it means: `run.duration`, `link.NAME.delay`, `flow.NAME.transport.tfrc.…`.
//! The value is written as in the file, or bare (`5ms` for `"5ms"`). Several values, separated
//! by commas, and several seeds span a grid of runs.

use super::document::{Document, Entry, Node, Place, Source, Table, Value};
use super::error::{ScenarioError, suggestion};
use super::reader::shortened;
use super::{Scenario, scenario_of};
use toml::de::DeTable;

/// The most runs of a grid.
const MAX_RUNS: usize = 100_000;

/// One value for one path: `run.duration=10s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// Names separated by dots.
    pub path: String,
    /// The value as text.
    pub value: String,
}

impl Override {
    /// The argument in the form of the command line.
    pub fn text(&self) -> String {
        format!("{}={}", self.path, self.value)
    }
}

/// Reads and checks a scenario with some values replaced. Later ones win.
///
/// # Errors
/// As [`parse`](super::parse); a wrong override is shown as `--set PATH=VALUE`.
pub fn parse_with(
    text: &str,
    file_name: &str,
    overrides: &[Override],
) -> Result<Scenario, ScenarioError> {
    let mut document = Document::parse(text, file_name)?;
    for value in overrides {
        apply(&mut document, value)?;
    }
    scenario_of(&document)
}

/// Splits `PATH=VALUE[,VALUE…]` into one override a value.
///
/// # Errors
/// If there is no `=`, or the path or a value is empty.
pub fn parse_set(argument: &str) -> Result<Vec<Override>, ScenarioError> {
    let source = set_source(argument);
    let document = Document {
        sources: vec![source],
        root: Table::default(),
    };
    let fail = |at: usize, message: &str| {
        let place = Place {
            source: 0,
            span: at..argument.len(),
        };
        let help = "write PATH=VALUE, such as flow.stream.start=1s, or PATH=VALUE,VALUE".to_owned();
        document.error(&place, message.to_owned(), Some(help))
    };
    let Some((path, values)) = argument.split_once('=') else {
        return Err(fail(0, "there is no \"=\" in it"));
    };
    let path = path.trim();
    if path.is_empty() || path.split('.').any(|step| step.trim().is_empty()) {
        return Err(fail(0, "a name of the path is empty"));
    }
    let mut overrides = Vec::new();
    for value in split_values(values) {
        if value.trim().is_empty() {
            return Err(fail(path.len() + 1, "a value is empty"));
        }
        overrides.push(Override {
            path: path.to_owned(),
            value: value.trim().to_owned(),
        });
    }
    Ok(overrides)
}

/// Splits at the commas that are outside quotes and brackets.
fn split_values(values: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth, mut quoted) = (0, 0_i32, false);
    for (at, c) in values.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            ',' if !quoted && depth <= 0 => {
                parts.push(&values[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&values[start..]);
    parts
}

/// The seeds of `a..b`, both included, or of a single number.
///
/// # Errors
/// If it is neither, if b is below a, or if there are too many.
pub fn parse_seeds(argument: &str) -> Result<Vec<u64>, ScenarioError> {
    let document = Document {
        sources: vec![Source {
            name: format!("--seeds {}", shortened(argument)),
            text: argument.to_owned(),
        }],
        root: Table::default(),
    };
    let fail = |message: String| {
        let place = Place {
            source: 0,
            span: 0..argument.len(),
        };
        let help = "write A..B with whole numbers, such as 1..20, or one number".to_owned();
        document.error(&place, message, Some(help))
    };
    let number = |text: &str| {
        let number = text.trim().parse::<u64>().ok();
        number
            .filter(|&n| i64::try_from(n).is_ok())
            .ok_or_else(|| fail(format!("\"{}\" is not a seed", shortened(text))))
    };
    let (first, last) = match argument.split_once("..") {
        Some((first, last)) => (number(first)?, number(last.trim_start_matches('='))?),
        None => (number(argument)?, number(argument)?),
    };
    if last < first {
        return Err(fail(format!("{last} comes before {first}")));
    }
    if last - first >= MAX_RUNS as u64 {
        return Err(fail(format!("expected at most {MAX_RUNS} seeds")));
    }
    Ok((first..=last).collect())
}

/// Every combination of the values of every axis with every seed; the last axis varies fastest.
/// Without seeds the file's seed stays.
///
/// # Errors
/// If there are more than 100,000 combinations.
pub fn grid(axes: &[Vec<Override>], seeds: &[u64]) -> Result<Vec<Vec<Override>>, ScenarioError> {
    let seed = |number: &u64| Override {
        path: "run.seed".to_owned(),
        value: number.to_string(),
    };
    let seeds: Vec<Override> = seeds.iter().map(seed).collect();
    let mut runs: Vec<Vec<Override>> = vec![Vec::new()];
    for axis in axes.iter().chain((!seeds.is_empty()).then_some(&seeds)) {
        if runs.len().saturating_mul(axis.len()) > MAX_RUNS {
            let document = Document {
                sources: vec![set_source("")],
                root: Table::default(),
            };
            let message = format!("the combinations make more than {MAX_RUNS} runs");
            let help = Some("give fewer values or seeds".to_owned());
            return Err(document.error(&Place::default(), message, help));
        }
        runs = runs
            .iter()
            .flat_map(|run| {
                axis.iter().map(move |value| {
                    let mut run = run.clone();
                    run.push(value.clone());
                    run
                })
            })
            .collect();
    }
    Ok(runs)
}

fn set_source(argument: &str) -> Source {
    Source {
        name: format!("--set {}", shortened(argument)),
        text: argument.to_owned(),
    }
}

/// Puts one value into the document.
fn apply(document: &mut Document, value: &Override) -> Result<(), ScenarioError> {
    let source = document.sources.len();
    let text = value.text();
    document.sources.push(set_source(&text));
    let start = value.path.len() + 1;
    let whole = Place {
        source,
        span: start..text.len(),
    };
    let mut node = parse_value(&value.value, &whole);
    shift(&mut node, start);
    let steps: Vec<&str> = value.path.split('.').map(str::trim).collect();
    let mut root = std::mem::take(&mut document.root);
    if let ["host", name, _, ..] = steps.as_slice() {
        add_host(&mut root, name, &node.place);
    }
    let result = set(&mut root, &steps, node);
    document.root = root;
    result.map_err(|(step, message, help)| {
        let before: usize = value.path.split('.').take(step).map(|s| s.len() + 1).sum();
        let length = steps.get(step).map_or(0, |s| s.len());
        let place = Place {
            source,
            span: before..before + length,
        };
        document.error(&place, message, Some(help))
    })
}

/// The value as TOML, or as a bare text where TOML would want quotes. Spans start at 0.
fn parse_value(text: &str, place: &Place) -> Node {
    const PREFIX: &str = "v=";
    let line = format!("{PREFIX}{text}");
    let parsed = DeTable::parse(&line).ok();
    let parsed = parsed.as_ref().map(toml::Spanned::get_ref);
    if let Some((_, value)) = parsed
        .filter(|t| t.len() == 1)
        .and_then(|t| t.iter().next())
    {
        let mut node = super::document::node_of(value, place.source);
        shift_back(&mut node, PREFIX.len());
        return node;
    }
    Node {
        place: Place {
            source: place.source,
            span: 0..text.len(),
        },
        value: Value::Text(text.to_owned()),
    }
}

fn move_spans(node: &mut Node, by: &dyn Fn(usize) -> usize) {
    let moved = |place: &mut Place| place.span = by(place.span.start)..by(place.span.end);
    moved(&mut node.place);
    match &mut node.value {
        Value::Array(nodes) => nodes.iter_mut().for_each(|node| move_spans(node, by)),
        Value::Table(table) => {
            for entry in &mut table.entries {
                moved(&mut entry.place);
                move_spans(&mut entry.node, by);
            }
        }
        _ => {}
    }
}

fn shift(node: &mut Node, by: usize) {
    move_spans(node, &|at| at + by);
}

fn shift_back(node: &mut Node, by: usize) {
    move_spans(node, &|at| at.saturating_sub(by));
}

/// Hosts that only links name have no entry in the file: makes one, to be checked like any other.
fn add_host(root: &mut Table, name: &str, place: &Place) {
    let node = |value| Node {
        place: place.clone(),
        value,
    };
    let entry = |key: &str, value| Entry {
        key: key.to_owned(),
        place: place.clone(),
        node: node(value),
    };
    if root.get("host").is_none() {
        root.entries.push(entry("host", Value::Array(Vec::new())));
    }
    let hosts = root.entries.iter_mut().find(|entry| entry.key == "host");
    let Some(Value::Array(hosts)) = hosts.map(|entry| &mut entry.node.value) else {
        return;
    };
    let known = hosts.iter().any(|host| match &host.value {
        Value::Table(table) => table
            .get("name")
            .is_some_and(|entry| matches!(&entry.node.value, Value::Text(text) if text == name)),
        _ => false,
    });
    if !known {
        let name = entry("name", Value::Text(name.to_owned()));
        let entries = vec![name];
        hosts.push(node(Value::Table(Table { entries })));
    }
}

/// Which step of a path is wrong, the message and the help.
type PathError = (usize, String, String);

/// Sets the value at a path; lists are entered by the `name` of their elements.
fn set(root: &mut Table, steps: &[&str], node: Node) -> Result<(), PathError> {
    let Some((&first, rest)) = steps.split_first() else {
        return Ok(());
    };
    let listed = matches!(
        root.get(first).map(|entry| &entry.node.value),
        Some(Value::Array(nodes)) if nodes.iter().all(|n| matches!(n.value, Value::Table(_)))
    );
    let known_list = ["host", "link", "wifi", "flow"].contains(&first);
    if !listed && !known_list {
        return set_in_table(root, steps, node, 0);
    }
    let elements = root
        .entries
        .iter_mut()
        .find(|entry| entry.key == first)
        .and_then(|entry| match &mut entry.node.value {
            Value::Array(nodes) => Some(nodes),
            _ => None,
        });
    let Some((&name, rest)) = rest.split_first() else {
        let help = format!("name one of them: {first}.NAME.KEY");
        return Err((0, format!("\"{first}\" is a list"), help));
    };
    if rest.is_empty() {
        let help = format!("write {first}.{name}.KEY=VALUE");
        return Err((1, format!("the path ends at the {first} \"{name}\""), help));
    }
    let mut names = Vec::new();
    for element in elements.into_iter().flatten() {
        let Value::Table(table) = &mut element.value else {
            continue;
        };
        let Some(Value::Text(own)) = table.get("name").map(|entry| entry.node.value.clone()) else {
            continue;
        };
        if own == name {
            return set_in_table(table, rest, node, 2);
        }
        names.push(own);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let message = format!("the scenario has no {first} \"{}\"", shortened(name));
    Err((1, message, suggestion(name, &format!("{first}s"), &names)))
}

/// Sets the value below a table, making the tables on the way; `done` steps lie behind.
fn set_in_table(
    table: &mut Table,
    steps: &[&str],
    node: Node,
    done: usize,
) -> Result<(), PathError> {
    let Some((&key, rest)) = steps.split_first() else {
        return Ok(());
    };
    let place = node.place.clone();
    let known = table.entries.iter().position(|entry| entry.key == key);
    let index = known.unwrap_or(table.entries.len());
    if known.is_none() {
        table.entries.push(Entry {
            key: key.to_owned(),
            place: place.clone(),
            node: Node {
                place: place.clone(),
                value: Value::Table(Table::default()),
            },
        });
    }
    let entry = &mut table.entries[index];
    if rest.is_empty() {
        entry.place = place;
        entry.node = node;
        return Ok(());
    }
    match &mut entry.node.value {
        Value::Table(inner) => set_in_table(inner, rest, node, done + 1),
        Value::Array(stations) if key == "station" && rest.len() > 1 => {
            let named = |node: &Node| match &node.value {
                Value::Table(table) => table.get("host").is_some_and(
                    |host| matches!(&host.node.value, Value::Text(text) if text == rest[0]),
                ),
                _ => false,
            };
            let station = stations.iter_mut().find(|node| named(node));
            let Some(Value::Table(station)) = station.map(|node| &mut node.value) else {
                let message = format!("there is no station at \"{}\"", shortened(rest[0]));
                let help = "name the host of a [[wifi.station]]".to_owned();
                return Err((done + 1, message, help));
            };
            set_in_table(station, &rest[1..], node, done + 2)
        }
        other => {
            let found = other.describe();
            let message = format!("\"{key}\" is {found} and has no keys");
            Err((
                done,
                message,
                format!("write {key} as the last name of the path"),
            ))
        }
    }
}
