//! Every scenario of the repository gives the same summary and the same explanation in WebAssembly
//! as on this machine, byte for byte; what one refuses the other refuses alike.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use weir_lab::scenario::parse;
use weir_wasm::LiveRun;

/// Events of a run above which it takes too long for a test.
const MOST_EVENTS: f64 = 1.5e6;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The files with this ending below a folder, sorted.
fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The texts of the files that a scenario may refer to: those beside it.
fn files_beside(scenario: &Path) -> BTreeMap<String, String> {
    let folder = scenario.parent().expect("a folder");
    let files = fs::read_dir(folder).expect("a folder").flatten();
    let files = files.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_data = !name.ends_with(".toml") && !name.ends_with(".md");
        let text = fs::read_to_string(entry.path()).ok().filter(|_| is_data)?;
        Some((name, text))
    });
    files.collect()
}

/// Every scenario of examples, experiments and suites that is short enough, with its options.
fn scenarios() -> Vec<(String, String, Value)> {
    let root = repository();
    let mut scenarios = Vec::new();
    for folder in ["examples", "experiments", "suites"] {
        for path in files_below(&root.join(folder), "toml") {
            let text = fs::read_to_string(&path).expect("a file");
            // Other files are experiments, suites and cases.
            let Ok(scenario) = parse(&text, &path.display().to_string()) else {
                continue;
            };
            let name = path
                .strip_prefix(&root)
                .expect("a path")
                .display()
                .to_string();
            let events = scenario
                .estimate()
                .map_or(f64::INFINITY, |all| all.events as f64);
            if events > MOST_EVENTS {
                println!("left out: {name} has about {events:.0} events");
                continue;
            }
            let options = json!({ "files": files_beside(&path), "maxRows": 200_000 });
            scenarios.push((name, text, options));
        }
    }
    scenarios
}

/// The summary and the explanation, or the error.
fn native(toml: &str, options: &Value) -> Value {
    let run = || {
        let mut live = LiveRun::new(toml, &options.to_string())?;
        live.advance(u32::MAX)?;
        live.finish()
    };
    match run() {
        Ok(run) => json!({ "summary": run.summary_json(), "explanation": run.explanation_json() }),
        Err(error) => json!({ "error": error }),
    }
}

/// What node gives for these lines; `None` if it or the module is missing.
fn in_webassembly(lines: &[Value]) -> Option<Vec<Value>> {
    let package = std::env::var_os("WEIR_WASM").map(PathBuf::from);
    let package = package.unwrap_or_else(|| repository().join("web/src/engine/pkg"));
    if !package.join("weir_wasm_bg.wasm").is_file() {
        println!("skipped: scripts/wasm.sh has not built the module");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/run.mjs");
    let node = Command::new("node")
        .arg(script)
        .arg(&package)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut node) = node else {
        println!("skipped: node is not installed");
        return None;
    };
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut input = node.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = node.wait_with_output().expect("node");
    writer.join().expect("a thread").expect("node reads");
    assert!(output.status.success(), "node ended with {}", output.status);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let answers = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    Some(answers.collect())
}

/// The first line of a part that differs.
fn first_difference(answer: &Value, expected: &Value) -> String {
    for part in ["error", "summary", "explanation"] {
        let lines = |of: &Value| {
            let text = of[part].as_str().unwrap_or_default().to_owned();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        let (ours, theirs) = (lines(answer), lines(expected));
        let at = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        if let Some(at) = at {
            let (ours, theirs) = (&ours[at], &theirs[at]);
            return format!("{part}, line {at}: {ours} in place of {theirs}");
        }
        if ours.len() != theirs.len() {
            let (ours, theirs) = (ours.len(), theirs.len());
            return format!("{part} has {ours} lines in place of {theirs}");
        }
    }
    String::new()
}

#[test]
fn every_scenario_gives_the_same_bytes_in_webassembly() {
    let scenarios = scenarios();
    assert!(scenarios.len() > 40, "{} scenarios", scenarios.len());
    // Any numbers of pieces, which must not change a run.
    let lines = scenarios.iter().zip(1..).map(|((_, toml, options), pieces)| {
        json!({ "toml": toml, "options": options, "pieces": pieces })
    });
    let Some(answers) = in_webassembly(&lines.collect::<Vec<_>>()) else {
        return;
    };
    assert_eq!(answers.len(), scenarios.len());
    let mut different = Vec::new();
    let mut refused = 0;
    for ((name, toml, options), answer) in scenarios.iter().zip(&answers) {
        let expected = native(toml, options);
        refused += usize::from(expected.get("error").is_some());
        if *answer != expected {
            different.push(format!("{name}: {}", first_difference(answer, &expected)));
        }
    }
    println!(
        "{} scenarios, {refused} of them refused alike",
        scenarios.len()
    );
    assert!(different.is_empty(), "different: {different:?}");
}
