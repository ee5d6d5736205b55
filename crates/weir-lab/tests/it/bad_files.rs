//! Every file in `bad-scenarios/`, `bad-plans/`, `bad-published/`, `bad-cases/` and
//! `bad-evaluations/` has one error; the text file beside it has the expected message.
//! `WEIR_BLESS=1` rewrites the text files: read them before you commit them.

use std::fmt::{Display, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use weir_lab::evaluation;
use weir_lab::experiment::Published;
use weir_lab::scenario::{self, ScenarioError};
use weir_lab::suite::{self, SuiteError};
use weir_lab::sweep::Plan;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

fn of_scenario(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    let error = scenario::parse(&text, &path.display().to_string()).err()?;
    Some(with_line(&text, &error))
}

fn of_case(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    match suite::Case::parse("case", &path.display().to_string(), &text).err()? {
        SuiteError::Invalid(error) => Some(with_line(&text, &error)),
        other => panic!("{}: {other}", path.display()),
    }
}

fn of_evaluation(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    let error = evaluation::Suite::parse(&path.display().to_string(), &text).err()?;
    Some(with_line(&text, &error))
}

/// The error: the place and the message, help, and the line with a marker.
fn with_line(text: &str, error: &ScenarioError) -> String {
    let mut told = format!(
        "{}:{}:{}: {}\n",
        error.file, error.line, error.column, error.message
    );
    if let Some(help) = &error.help {
        let _ = writeln!(told, "help: {help}");
    }
    let line = text.lines().nth(error.line - 1).unwrap_or("");
    let shown: String = line.chars().take(100).collect();
    let mark = text[error.span.clone()]
        .chars()
        .take(100 - error.column.min(99));
    let width = mark.take_while(|c| *c != '\n').count().max(1);
    let _ = writeln!(told, "  {shown}");
    let (before, mark) = (" ".repeat(error.column - 1), "^".repeat(width));
    let _ = write!(told, "  {before}{mark}");
    told
}

/// The error of the plan or of the scenario of its first run.
fn of_plan(path: &Path) -> Option<String> {
    let plan = match Plan::load(path) {
        Ok(plan) => plan,
        Err(error) => return Some(line(error)),
    };
    let first = plan.item(0)?;
    plan.scenario(&first).err().map(line)
}

fn of_published(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).unwrap();
    let error = Published::parse(&path.display().to_string(), &text).err();
    error.map(line)
}

/// The message, which contains its place.
fn line(error: impl Display) -> String {
    let told = error.to_string();
    assert_eq!(told.lines().count(), 1, "{told}");
    told
}

/// Checks the messages of all files in a folder, of which there are at least `least`.
fn check(name: &str, least: usize, error_of: fn(&Path) -> Option<String>) {
    let folder = folder(name);
    let entries = fs::read_dir(&folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    assert!(files.len() >= least, "{} files", files.len());
    let bless = std::env::var_os("WEIR_BLESS").is_some();
    let mut differences = String::new();
    for path in files {
        let error = error_of(&path).unwrap_or_else(|| panic!("{}: accepted", path.display()));
        // The path of the repository differs between machines.
        let told = error.replace(&format!("{}/", folder.display()), "") + "\n";
        let beside = path.with_extension("txt");
        if bless {
            fs::write(&beside, &told).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if told != expected {
            let _ = writeln!(differences, "expected:\n{expected}told:\n{told}");
        }
    }
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn bad_scenarios_get_good_messages() {
    check("bad-scenarios", 80, of_scenario);
}

#[test]
fn bad_plans_get_good_messages() {
    check("bad-plans", 50, of_plan);
}

#[test]
fn bad_published_files_get_good_messages() {
    check("bad-published", 50, of_published);
}

#[test]
fn bad_cases_get_good_messages() {
    check("bad-cases", 20, of_case);
}

#[test]
fn bad_evaluations_get_good_messages() {
    check("bad-evaluations", 10, of_evaluation);
}
