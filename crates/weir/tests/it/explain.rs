//! `weir explain` of scenarios, runs and traces of other programs, and what it refuses.

use crate::common::{folder_with, json, only_run, outcome};
use serde_json::Value;

/// One Reno flow fills a buffer of half a second.
const BLOATED: &str = r#"
[run]
duration = "20s"

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "5Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = 200 }

[[flow]]
name = "file"
from = "server"
to = "client"
transport = { kind = "tcp", controller = "newreno" }
"#;

fn kinds(document: &Value) -> Vec<&str> {
    let findings = document["findings"].as_array().into_iter().flatten();
    findings
        .filter_map(|finding| finding["kind"].as_str())
        .collect()
}

#[test]
fn a_run_has_the_explanation_of_its_scenario_and_remedies_are_proved() {
    let folder = folder_with(BLOATED);
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
fn flows_in_one_queue_have_one_finding_at_the_flow_that_fills_it() {
    let flow = BLOATED.find("[[flow]]").expect("a flow");
    let second = BLOATED[flow..]
        .replace("\"file\"", "\"call\"")
        .replace("newreno", "bbr");
    let first = &BLOATED[flow..];
    // BBR stands first in the file, and Reno fills the queue.
    let both = format!("{}{second}{first}", &BLOATED[..flow]);
    let folder = folder_with(&both);
    let explained = json(&outcome(folder.path(), &["explain", "path.toml", "--json"]));
    let queues: Vec<&Value> = explained["findings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|finding| finding["kind"] == "standing_queue")
        .collect();
    let [finding] = queues.as_slice() else {
        panic!("{explained:#}");
    };
    assert_eq!(finding["subject"], "file");
    assert_eq!(finding["also"], serde_json::json!(["call"]));
}

#[test]
fn the_page_has_the_pictures_with_the_findings_below() {
    let folder = folder_with(BLOATED);
    let path = folder.path();
    outcome(path, &["run", "path.toml"]);
    let run = only_run(path);
    for of in ["path.toml", run.as_str()] {
        let made = outcome(path, &["explain", of, "--html", "why.html"]);
        assert_eq!(made.0, Some(0), "{}", made.2);
        let page = std::fs::read_to_string(path.join("why.html")).expect("a page");
        assert!(page.contains("class=\"episode\""), "{of}");
        assert!(page.contains("id=\"goodput\""), "{of}");
    }
}

/// Of a run and of its capture at the sender, the first finding; and the capture's explanation.
fn first_of_run_and_capture(scenario: &str) -> ([String; 2], Value) {
    let folder = folder_with(scenario);
    let path = folder.path();
    outcome(path, &["run", "path.toml", "--packets"]);
    let run = only_run(path);
    let export = [
        "export", &run, "--format", "pcapng", "--host", "server", "--out", "x.pcapng",
    ];
    outcome(path, &export);
    let explained = [run.as_str(), "x.pcapng"];
    let explained = explained.map(|of| json(&outcome(path, &["explain", of, "--json"])));
    let plotted = outcome(path, &["plot", "x.pcapng", "--out", "plots"]);
    assert_eq!(plotted.0, Some(0), "{}", plotted.2);
    assert!(path.join("plots/index.html").is_file());
    assert!(
        !path.join("plots/network.svg").exists(),
        "the trace shows no network"
    );
    let first = explained.each_ref().map(|document| {
        let first = kinds(document).first().copied();
        first.unwrap_or("nothing").to_owned()
    });
    let [_, capture] = explained;
    (first, capture)
}

#[test]
fn a_capture_of_a_run_has_the_same_first_finding() {
    let (first, _) = first_of_run_and_capture(BLOATED);
    assert_eq!(first, ["standing_queue", "standing_queue"]);
    let small = BLOATED
        .replace(
            "controller = \"newreno\"",
            "controller = \"newreno\", receive_buffer = \"8000b\"",
        )
        .replace("\"10ms\"", "\"40ms\"");
    let (first, capture) = first_of_run_and_capture(&small);
    assert_eq!(first, ["receiver_limited", "receiver_limited"]);
    let unknown = capture["unknown"].to_string();
    assert!(unknown.contains("cwnd_bytes"), "{unknown}");
    // A capture has nothing that `--set` could change.
    assert_eq!(
        capture["findings"][0]["remedies"][0]["set"],
        serde_json::json!([])
    );
}

#[test]
fn what_cannot_be_read_or_tried_is_said() {
    let folder = folder_with(BLOATED);
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
