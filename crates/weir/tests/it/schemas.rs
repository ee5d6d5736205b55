//! `weir schema NAME`: a document of each command is valid by its schema, and a damaged one is not.

use crate::common::{SCENARIO, case_head, folder_with, outcome, parse};
use serde_json::Value;
use std::path::Path;

/// An experiment with one quick run.
const QUICK: &str = r#"
[document]
title = "Quick"
source = "none"
about = "A run of seconds."

[[run]]
name = "short"
scenario = "path.toml"
about = "As it is."

[[row]]
id = "loss"
place = "check"
text = "packets lost"
kind = "check"
expected = 0
within = 50
unit = "%"
measure = { take = "loss_rate", run = "short" }
"#;

/// Checks the document that a command prints, and that the schema asks for each of these keys.
fn valid(here: &Path, schema: &str, words: &str, needed: &[&str]) -> Value {
    let listed: Vec<&str> = words.split(' ').collect();
    let (status, text, err) = outcome(here, &listed);
    assert!(
        [Some(0), Some(2), Some(3)].contains(&status),
        "{words}: {err}"
    );
    let document = parse(&text);
    let (_, text, _) = outcome(here, &["schema", schema]);
    let validator = jsonschema::validator_for(&parse(&text)).expect("a schema");
    let errors = validator.iter_errors(&document);
    let errors: Vec<String> = errors
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{words}: {errors:#?}");
    assert_eq!(document["version"], 1, "{words}");
    for pointer in ["/version"].iter().chain(needed) {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let mut damaged = document.clone();
        let parent = damaged.pointer_mut(parent).and_then(Value::as_object_mut);
        let removed = parent.and_then(|parent| parent.remove(key));
        assert!(removed.is_some(), "{words}: there is no {pointer}");
        assert!(!validator.is_valid(&damaged), "{words} without {pointer}");
        let mut damaged = document.clone();
        if let Some(value) = damaged.pointer_mut(pointer) {
            *value = serde_json::json!({ "what": ["no document has"] });
        }
        assert!(
            !validator.is_valid(&damaged),
            "{words} with another {pointer}"
        );
    }
    document
}

#[test]
fn runs_and_what_is_said_of_them_have_a_schema() {
    let loss = "loss = \"1%\"\n";
    let folder = folder_with(&format!(
        "expect = [\"flow.stream.goodput_bps > 1kbit\"]\n{SCENARIO}{loss}"
    ));
    let here = folder.path();
    let needed = [
        "/runs/0/summary/flows/stream/goodput_bps",
        "/runs/0/expectations/0/holds",
        "/replicated/0/measures",
        "/findings",
    ];
    valid(here, "run", "run path.toml --seeds 1..2 --json", &needed);
    let long = "run path.toml --json --out alone/results --set run.duration=20s";
    let document = valid(here, "run", long, &["/runs/0/folder"]);
    let run = document["runs"][0]["folder"].as_str().expect("a folder");
    let needed = ["/a/commits", "/effects/0/verdict", "/pairs"];
    valid(here, "compare", "compare results results --json", &needed);
    let explain = format!("explain {run} --json");
    valid(here, "explanation", &explain, &["/held"]);
    let tcp = SCENARIO.replace(
        "kind = \"dccp\", ccid = 3, profile = \"rfc5348\"",
        "kind = \"tcp\", controller = \"reno\"",
    );
    std::fs::write(here.join("tcp.toml"), tcp).expect("written");
    let long = "run tcp.toml --json --out alone/results --set run.duration=20s";
    let document = valid(here, "run", long, &["/version"]);
    let of_tcp = document["runs"][0]["folder"].as_str().expect("a folder");
    let fit = format!("fit {of_tcp} --out fit.toml --json");
    valid(here, "fit", &fit, &["/parameters", "/relative"]);
    let plot = format!("plot {run} --format svg --json");
    valid(here, "files", &plot, &["/files"]);
}

#[test]
fn other_documents_have_a_schema() {
    let folder = folder_with(SCENARIO);
    let here = folder.path();
    valid(here, "lint", "lint path.toml --json", &["/findings"]);
    valid(here, "lint", "lint --rules --json", &["/rules/0/name"]);
    let theory = "theory tfrc --s 1400 --rtt 400ms --p 0.002 --json";
    valid(here, "theory", theory, &["/results"]);
    valid(here, "theory", "theory --json", &["/laws/0/law"]);
    valid(here, "new", "new --json", &["/gallery/0/question"]);
    valid(here, "new", "new incast --json", &["/file"]);
    let needed = ["/error/message", "/error/status"];
    valid(here, "error", "run nowhere.toml --json", &needed);
    let wrong = SCENARIO.replace("rate = \"1Mbit\"", "rate = 1");
    std::fs::write(here.join("wrong.toml"), wrong).expect("written");
    let document = valid(here, "error", "run wrong.toml --json", &needed);
    assert_eq!(document["error"]["line"], 8);
    let plan = "scenario = \"path.toml\"\nseeds = 1\n\
                [[parameter]]\npath = \"run.duration\"\nvalues = [\"1s\", \"2s\"]\n";
    std::fs::write(here.join("plan.toml"), plan).expect("written");
    valid(
        here,
        "sweep",
        "sweep plan.toml --json",
        &["/runs", "/errors"],
    );
}

#[test]
fn results_of_experiments_suites_and_evaluations_have_a_schema() {
    let folder = folder_with(SCENARIO);
    let here = folder.path();
    std::fs::write(here.join("published.toml"), QUICK).expect("written");
    let needed = [
        "/experiments/0/rows/0/verdict",
        "/experiments/0/tally/checks",
    ];
    valid(here, "reproduce", "reproduce . --json", &needed);
    let transport = "transport = { kind = \"dccp\", ccid = 3, profile = \"rfc5348\" }\n";
    let case = format!("{}{SCENARIO}", case_head("1Mbit", "10ms")).replace(transport, "");
    std::fs::create_dir(here.join("cases")).expect("a folder");
    std::fs::write(here.join("cases/1-one.toml"), case).expect("written");
    let suite = "suite cases --controller tcp:cubic --json";
    valid(here, "suite", suite, &["/results/0/checks/0/verdict"]);
    let evaluate = "evaluate quic:cubic --beside newreno --chapter reordering --seeds 2 --json";
    let needed = [
        "/candidates",
        "/chapters/0/title",
        "/chapters/0/cases/0/results",
    ];
    valid(here, "evaluate", evaluate, &needed);
    let yearbook = "yearbook --controller quic:newreno --chapter reordering --seeds 2 \
                    --without-cases --date 2026-11-29 --json";
    let needed = [
        "/imprint/date",
        "/entries/1/cells/0/chapter",
        "/entries/1/faults",
    ];
    valid(here, "yearbook", yearbook, &needed);
    let report = std::fs::read_to_string(here.join("reports/result.json"));
    assert!(report.is_ok_and(|text| text.contains("\"version\": 1")));
}
