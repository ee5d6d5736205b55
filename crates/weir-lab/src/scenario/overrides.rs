//! Values from the command line: `--set flow.stream.app.rate=64kbit,1Mbit --seeds 1..20`.
//!
//! A path refers to a key: `run.duration`, `link.NAME.delay`, `flow.NAME.transport.tfrc.…`; with
//! `*` in place of a name it refers to each of them. In lists without names a number, counted from
//! 0, takes the place of the name: `wifi.NAME.interference.1.on`. The value is written as in the
//! file, or without quotes (`5ms` for `"5ms"`). Several values, separated by commas, and several
//! seeds span a grid of runs.

use super::document::{Document, Source, value_of};
use super::error::{ScenarioError, suggestion};
use super::files::Files;
use super::{Scenario, scenario_of};
use toml::de::DeTable;
use weir_proto::settings::{KeyValue, Place, Raw, Spanned, Table, shortened};

/// The name that matches all names.
const ALL: &str = "*";
/// The maximum number of runs of a grid.
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

/// Reads and checks a scenario with some values replaced; later overrides take precedence.
///
/// # Errors
/// As [`parse`](super::parse); an invalid override is shown as `--set PATH=VALUE`.
pub fn parse_with(
    text: &str,
    file_name: &str,
    overrides: &[Override],
) -> Result<Scenario, ScenarioError> {
    parse_with_files(text, file_name, overrides, &Files::Disk)
}

/// Like [`parse_with`], with the files that the scenario refers to.
///
/// # Errors
/// As of [`parse_with`].
pub fn parse_with_files(
    text: &str,
    file_name: &str,
    overrides: &[Override],
    files: &Files,
) -> Result<Scenario, ScenarioError> {
    let document = Document {
        files: files.clone(),
        ..Document::parse(text, file_name)?
    };
    scenario_with(document, overrides)
}

/// Like [`parse_with`], for a parsed file.
pub(crate) fn scenario_with(
    document: Document,
    overrides: &[Override],
) -> Result<Scenario, ScenarioError> {
    scenario_of(&applied(document, overrides)?)
}

/// The document with some values replaced.
pub(super) fn applied(
    mut document: Document,
    overrides: &[Override],
) -> Result<Document, ScenarioError> {
    for value in overrides {
        apply(&mut document, value)?;
    }
    Ok(document)
}

/// Splits `PATH=VALUE[,VALUE…]` into one override for each value.
///
/// # Errors
/// If there is no `=`, or the path or a value is empty.
pub fn parse_set(argument: &str) -> Result<Vec<Override>, ScenarioError> {
    let source = set_source(argument);
    let document = Document {
        sources: vec![source],
        ..Document::default()
    };
    let fail = |at: usize, message: &str| {
        let place = place_in(0, at, argument.len());
        let help = "write PATH=VALUE, such as flow.stream.start=1s, or PATH=VALUE,VALUE".to_owned();
        document.error(place, message.to_owned(), Some(help))
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

/// Splits at the commas outside of quotes and brackets.
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

/// The seeds of `a..b`, including both, or of a single number.
///
/// # Errors
/// If it is neither, if b is below a, or if there are too many.
pub fn parse_seeds(argument: &str) -> Result<Vec<u64>, ScenarioError> {
    let document = Document {
        sources: vec![Source {
            name: format!("--seeds {}", shortened(argument)),
            text: argument.to_owned(),
        }],
        ..Document::default()
    };
    let fail = |message: String| {
        let place = place_in(0, 0, argument.len());
        let help = "write A..B with whole numbers, such as 1..20, or one number".to_owned();
        document.error(place, message, Some(help))
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

/// Every combination of the values of all axes and all seeds; the last axis varies fastest. Without
/// seeds the seed of the file is used.
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
                ..Document::default()
            };
            let message = format!("the combinations make more than {MAX_RUNS} runs");
            let help = Some("give fewer values or seeds".to_owned());
            return Err(document.error(Place::default(), message, help));
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

const fn place_in(source: usize, start: usize, end: usize) -> Place {
    Place { source, start, end }
}

/// The maximum number of names in a path: twice that of any key, and a limit on nested tables.
const MAX_STEPS: usize = 16;

/// Puts one override into the document.
fn apply(document: &mut Document, value: &Override) -> Result<(), ScenarioError> {
    let source = document.sources.len();
    document.sources.push(set_source(&value.text()));
    let spanned = parse_value(value, source);
    let steps: Vec<&str> = value.path.split('.').map(str::trim).collect();
    if let ["host", name, _, ..] = steps.as_slice() {
        add_host(&mut document.root, name, spanned.place);
    }
    set(&mut document.root, &steps, spanned).map_err(|wrong| {
        let before = value.path.split('.').take(wrong.step);
        let start = before.map(|step| step.len() + 1).sum();
        let length = steps.get(wrong.step).map_or(0, |step| step.len());
        let place = place_in(source, start, start + length);
        document.error(place, wrong.message, Some(wrong.help))
    })
}

/// The value as TOML, or as text if it lacks the quotes of TOML.
fn parse_value(value: &Override, source: usize) -> Spanned {
    const KEY: &str = "v=";
    // Spaces replace the path, so that places are those in the argument.
    let start = value.path.len() + 1;
    let spaces = " ".repeat(start.saturating_sub(KEY.len()));
    let line = format!("{spaces}{KEY}{}", value.value);
    let parsed = DeTable::parse(&line).ok();
    let table = parsed.as_ref().map(toml::Spanned::get_ref);
    let only = table.filter(|table| table.len() == 1);
    if let Some((_, value)) = only.and_then(|table| table.iter().next()) {
        return value_of(value, source);
    }
    Spanned {
        place: place_in(source, start, start + value.value.len()),
        raw: Raw::Text(value.value.clone()),
    }
}

/// Adds an entry for a host that is only named by links, so that the override has a place. It is
/// checked like any other host.
fn add_host(root: &mut Table, name: &str, place: Place) {
    let spanned = |raw| Spanned { place, raw };
    let entry = |key: &str, raw| KeyValue {
        key: key.to_owned(),
        place,
        value: spanned(raw),
    };
    if root.get("host").is_none() {
        root.entries.push(entry("host", Raw::Array(Vec::new())));
    }
    let Some(hosts) = root
        .get_mut("host")
        .and_then(|entry| list_of(&mut entry.value))
    else {
        return;
    };
    if !hosts.iter().any(|host| is_called(host, "name", name)) {
        let name = entry("name", Raw::Text(name.to_owned()));
        let entries = vec![name];
        hosts.push(spanned(Raw::Table(Table { entries })));
    }
}

const fn list_of(value: &mut Spanned) -> Option<&mut Vec<Spanned>> {
    match &mut value.raw {
        Raw::Array(list) => Some(list),
        _ => None,
    }
}

/// True for a table whose key has this text.
fn is_called(value: &Spanned, key: &str, text: &str) -> bool {
    called(value, key) == Some(text)
}

/// The text of a key of a table.
fn called<'a>(value: &'a Spanned, key: &str) -> Option<&'a str> {
    match &value.raw {
        Raw::Table(table) => table.get(key)?.value.raw.as_text(),
        _ => None,
    }
}

/// The step of a path that is wrong, and the error.
struct WrongStep {
    step: usize,
    message: String,
    help: String,
}

impl WrongStep {
    fn new(step: usize, message: String, help: String) -> Self {
        Self {
            step,
            message,
            help,
        }
    }
}

/// Sets the value at a path; elements of lists are found by their `name`.
fn set(root: &mut Table, steps: &[&str], value: Spanned) -> Result<(), WrongStep> {
    let Some((&first, rest)) = steps.split_first() else {
        return Ok(());
    };
    if steps.len() > MAX_STEPS {
        let message = format!("the path has more than {MAX_STEPS} names");
        let help = "`weir schema` prints the keys of a scenario".to_owned();
        return Err(WrongStep::new(0, message, help));
    }
    let listed = matches!(
        root.get(first).map(|entry| &entry.value.raw),
        Some(Raw::Array(elements)) if elements.iter().all(is_table)
    );
    if !listed && !["host", "link", "wifi", "tunnel", "flow"].contains(&first) {
        return set_in_table(root, steps, value, 0);
    }
    let Some((&name, rest)) = rest.split_first() else {
        let help = format!("name one of them: {first}.NAME.KEY");
        return Err(WrongStep::new(0, format!("\"{first}\" is a list"), help));
    };
    if rest.is_empty() {
        let help = format!("write {first}.{name}.KEY=VALUE");
        let message = format!("the path ends at the {first} \"{name}\"");
        return Err(WrongStep::new(1, message, help));
    }
    let mut nothing = Vec::new();
    let elements = root
        .get_mut(first)
        .and_then(|entry| list_of(&mut entry.value));
    let elements = elements.unwrap_or(&mut nothing);
    if name == ALL && !elements.is_empty() {
        return elements
            .iter_mut()
            .try_for_each(|element| match &mut element.raw {
                Raw::Table(table) => set_in_table(table, rest, value.clone(), 2),
                _ => Ok(()),
            });
    }
    let named = elements
        .iter_mut()
        .find(|element| is_called(element, "name", name));
    if let Some(Raw::Table(table)) = named.map(|element| &mut element.raw) {
        return set_in_table(table, rest, value, 2);
    }
    let names: Vec<&str> = elements
        .iter()
        .filter_map(|element| called(element, "name"))
        .collect();
    let message = format!("the scenario has no {first} \"{}\"", shortened(name));
    let help = suggestion(name, &format!("{first}s"), &names);
    Err(WrongStep::new(1, message, help))
}

/// Sets the value below a table and adds missing tables; `done` is the number of earlier steps.
fn set_in_table(
    table: &mut Table,
    steps: &[&str],
    value: Spanned,
    done: usize,
) -> Result<(), WrongStep> {
    let Some((&key, rest)) = steps.split_first() else {
        return Ok(());
    };
    let place = value.place;
    let entry = table.get_or_insert(key, place);
    if rest.is_empty() {
        (entry.place, entry.value) = (place, value);
        return Ok(());
    }
    if entry.value.raw.as_text().is_some_and(is_word) {
        // A word alone stands for the table of that kind.
        entry.value.raw = Raw::Table(Table::of_kind(entry.value.clone()));
    }
    match &mut entry.value.raw {
        Raw::Table(inner) => set_in_table(inner, rest, value, done + 1),
        Raw::Array(elements) if elements.iter().all(is_table) => {
            set_in_element(elements, key, rest, value, done + 1)
        }
        other => {
            let message = format!("\"{key}\" is {} and has no keys", other.in_words());
            let help = format!("write {key} as the last name of the path");
            Err(WrongStep::new(done, message, help))
        }
    }
}

/// True for a word, and not for a quantity or a name of a file.
fn is_word(text: &str) -> bool {
    let mut letters = text.chars();
    let first = letters.next();
    let is_letter = |letter: char| letter.is_ascii_lowercase();
    first.is_some_and(is_letter)
        && letters.all(|letter| is_letter(letter) || letter.is_ascii_digit() || letter == '_')
}

const fn is_table(element: &Spanned) -> bool {
    matches!(element.raw, Raw::Table(_))
}

/// Sets the value in an element of a list below a table: that of this `host` or `name`, or with
/// this number, counted from 0.
fn set_in_element(
    elements: &mut [Spanned],
    key: &str,
    steps: &[&str],
    value: Spanned,
    done: usize,
) -> Result<(), WrongStep> {
    let Some((&which, rest)) = steps.split_first() else {
        return Ok(());
    };
    let named =
        |element: &Spanned| is_called(element, "host", which) || is_called(element, "name", which);
    let place = elements.iter().position(named);
    let place = place.or_else(|| which.parse().ok());
    let count = elements.len();
    let Some(element) = place.and_then(|place| elements.get_mut(place)) else {
        let message = format!("{key} has no element \"{}\"", shortened(which));
        let mut names: Vec<String> = elements
            .iter()
            .filter_map(|element| called(element, "host").or_else(|| called(element, "name")))
            .map(str::to_owned)
            .collect();
        if count > 0 {
            names.push(format!("a number from 0 to {}", count - 1));
        }
        let help = format!("write {}", names.join(", "));
        return Err(WrongStep::new(done, message, help));
    };
    match &mut element.raw {
        Raw::Table(table) if !rest.is_empty() => set_in_table(table, rest, value, done + 1),
        _ => {
            *element = value;
            Ok(())
        }
    }
}
