//! `weir explain` of scenarios, runs and traces of other programs, and what it refuses.

use crate::common::{SCENARIO, folder_with, json, only_run, outcome};
use serde_json::Value;

/// One Reno flow fills a buffer of half a second.
fn bloated() -> String {
    SCENARIO
        .replace("3s", "20s")
        .replace("1Mbit", "5Mbit")
        .replace("30000b", "300000b")
        .replace(
            "kind = \"dccp\", ccid = 3, profile = \"rfc5348\"",
            "kind = \"tcp\", controller = \"newreno\"",
        )
        .replace(", packet = 1400", "")
}

fn kinds(document: &Value) -> Vec<&str> {
    let findings = document["findings"].as_array().into_iter().flatten();
    findings
        .filter_map(|finding| finding["kind"].as_str())
        .collect()
}

#[test]
fn a_run_has_the_explanation_of_its_scenario_and_remedies_are_proved() {
    let folder = folder_with(&bloated());
    let path = folder.path();
    let of_scenario = json(&outcome(path, &["explain", "path.toml", "--json"]));
    assert_eq!(of_scenario["version"], 1);
    assert_eq!(kinds(&of_scenario).first(), Some(&"standing_queue"));
    outcome(path, &["run", "path.toml"]);
    let run = only_run(path);
    let of_run = json(&outcome(path, &["explain", &run, "--json"]));
    assert_eq!(of_scenario, of_run);
    let tried = json(&outcome(path, &["explain", &run, "--try", "--json"]));
    let trials = tried["trials"].as_array().cloned().unwrap_or_default();
    let codel = trials
        .iter()
        .find(|trial| trial["remedy"]["text"] == "CoDel in the queue");
    let codel = codel.expect("a trial of CoDel");
    assert_eq!(codel["gone"], serde_json::json!([1, 1]), "{codel}");
    let [before, after] = ["before", "after"].map(|key| codel["delay"][key].as_f64().unwrap());
    assert!(after < before / 5.0, "{before} {after}");
    let text = outcome(path, &["explain", &run, "--try"]).1;
    assert!(text.contains("What held each sender"), "{text}");
    assert!(
        text.contains("the finding is gone in 1 of 1 runs"),
        "{text}"
    );
}

#[test]
fn an_exported_capture_names_what_its_columns_show() {
    let scenario = bloated().replace(
        "controller = \"newreno\"",
        "controller = \"newreno\", receive_buffer = \"8000b\"",
    );
    let folder = folder_with(&scenario.replace("\"5ms\"", "\"40ms\""));
    let path = folder.path();
    outcome(path, &["run", "path.toml", "--packets"]);
    let run = only_run(path);
    outcome(
        path,
        &[
            "export", &run, "--format", "pcapng", "--host", "server", "--out", "x.pcapng",
        ],
    );
    let of_run = json(&outcome(path, &["explain", &run, "--json"]));
    let of_capture = json(&outcome(path, &["explain", "x.pcapng", "--json"]));
    assert_eq!(kinds(&of_run).first(), Some(&"receiver_limited"));
    assert_eq!(kinds(&of_capture).first(), Some(&"receiver_limited"));
    let unknown = of_capture["unknown"].to_string();
    assert!(unknown.contains("cwnd_bytes"), "{unknown}");
    let plotted = outcome(path, &["plot", "x.pcapng", "--out", "plots"]);
    assert_eq!(plotted.0, Some(0), "{}", plotted.2);
    assert!(path.join("plots/index.html").is_file());
}

#[test]
fn what_cannot_be_read_or_tried_is_said() {
    let folder = folder_with(&bloated());
    let path = folder.path();
    std::fs::write(path.join("letter.txt"), "Dear reader,\n").unwrap();
    for (arguments, said) in [
        (vec!["explain", "letter.txt"], "is no trace that is read"),
        (vec!["explain", "none.qlog"], "none.qlog"),
        (
            vec!["explain", "letter.txt", "--try"],
            "trace of another program",
        ),
        (
            vec!["explain", "path.toml", "--set", "link.bottleneck.rate=fast"],
            "rate",
        ),
    ] {
        let refused = outcome(path, &arguments);
        assert_eq!(refused.0, Some(2), "{arguments:?}: {}", refused.2);
        assert!(refused.2.contains(said), "{arguments:?}: {}", refused.2);
    }
}
