//! Rules × controllers × transports: each rule of controllers that a scenario sets on top of its
//! preset changes the run, or `lint` says that the controller does not follow it.

use std::collections::BTreeSet;
use weir_lab::lint::lint;
use weir_lab::run::{RunOptions, run};
use weir_lab::scenario::{Scenario, parse};
use weir_proto::cc::window::{REGISTRY, Rules};

/// Paths and applications on which one rule or another matters: losses at random, a short queue, a
/// pause, a delay that grows for a second, a queue that marks, and an application that sends
/// little.
const PATHS: [(&str, &str); 6] = [
    (
        "rate = \"10Mbit\"\ndelay = \"10ms\"\nqueue = { kind = \"droptail\", limit = 30 }\n\
         loss = { kind = \"random\", rate = 0.01 }",
        "kind = \"bulk\"",
    ),
    (
        "rate = \"20Mbit\"\ndelay = \"20ms\"\nqueue = { kind = \"droptail\", limit = 20 }",
        "kind = \"bulk\"",
    ),
    (
        "rate = \"20Mbit\"\ndelay = \"25ms\"\nqueue = { kind = \"droptail\", limit = 400 }",
        "kind = \"on_off\", on = \"1s\", off = \"2s\", rate = \"15Mbit\", packet = 1200",
    ),
    (
        "rate = \"20Mbit\"\ndelay = \"20ms\"\nqueue = { kind = \"droptail\", limit = 300 }\n\
         change = [{ at = \"3s\", delay = \"400ms\" }, { at = \"4s\", delay = \"20ms\" }]\n\
         netem = { jitter = \"3ms\", reorder = 0.002 }",
        "kind = \"bulk\"",
    ),
    (
        "rate = \"10Mbit\"\ndelay = \"2ms\"\nqueue = { kind = \"step\", limit = 200, \
         threshold = \"2ms\" }",
        "kind = \"bulk\"",
    ),
    (
        "rate = \"2Mbit\"\ndelay = \"10ms\"\nqueue = { kind = \"droptail\", limit = 8 }",
        "kind = \"cbr\", rate = \"1900kbit\", packet = 1200",
    ),
];

/// NewReno counts the octets that are acknowledged.
const ACCURATE: &str = ", increase = \"accurate\"";

fn scenario(path: &str, app: &str, transport: &str, overrides: &str) -> Scenario {
    let text = format!(
        r#"
[run]
duration = "12s"
[[link]]
name = "path"
between = ["server", "client"]
{path}
[[flow]]
name = "flow"
from = "server"
to = "client"
transport = {{ {transport}, overrides = {{ {} }} }}
app = {{ {app} }}
"#,
        overrides.trim_start_matches(", ")
    );
    parse(&text, "rules.toml").expect("a scenario")
}

/// What a run shows of its flow.
fn result(scenario: &Scenario) -> String {
    let output = run(scenario, &RunOptions::default()).expect("a run");
    format!("{:?}", output.summary.flows["flow"])
}

/// Another value of a rule than that of the transports' default presets.
fn other_value(kind: &str, rule: &str) -> Option<&'static str> {
    Some(match (kind, rule) {
        ("quic", "recovery_boundary") => "\"before\"",
        ("quic", "increase") => "\"byte-counting\"",
        ("quic", "recovery_probe" | "rtt_independence") | ("tcp", "undo_spurious" | "hystart") => {
            "false"
        }
        (
            "quic",
            "count_acked_in_recovery" | "flush_on_empty_flight" | "undo_spurious" | "hystart",
        )
        | (_, "hystart_plus_plus" | "search") => "true",
        (_, "slow_start_exit_percent") => "90",
        ("quic", "pacing") => "\"off\"",
        ("tcp", "pacing") => "\"linux\"",
        (_, "rate_limited_growth") => "\"flight\"",
        _ => return None,
    })
}

#[test]
fn each_rule_changes_the_run_or_is_a_finding_of_lint() {
    let mut cells = 0;
    let mut wrong = Vec::new();
    for kind in ["quic", "tcp"] {
        for entry in REGISTRY {
            let transport = format!("kind = \"{kind}\", controller = \"{}\"", entry.name);
            let results = |overrides: &str| -> Vec<_> {
                let each = PATHS.iter();
                each.map(|(path, app)| result(&scenario(path, app, &transport, overrides)))
                    .collect()
            };
            let plain = results("");
            for rule in Rules::OF_CONTROLLERS {
                let Some(value) = other_value(kind, rule) else {
                    continue;
                };
                // The count of acknowledged octets serves this increase of NewReno alone.
                let counts = rule == "count_acked_in_recovery" || rule == "flush_on_empty_flight";
                let base = if counts { ACCURATE } else { "" };
                let overrides = format!("{rule} = {value}{base}");
                let found = lint(&scenario(PATHS[0].0, PATHS[0].1, &transport, &overrides));
                let is_found = found.iter().any(|finding| {
                    finding.rule == "unused" && finding.path.ends_with(&format!("overrides.{rule}"))
                });
                let changes = if counts {
                    results(&overrides) != results(ACCURATE)
                } else {
                    results(&overrides) != plain
                };
                cells += 1;
                if changes == is_found {
                    wrong.push(format!("{kind} {} {rule}: changes {changes}", entry.name));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "of {cells}");
    assert_eq!(cells, REGISTRY.len() * (13 + 7));
}

#[test]
fn the_rules_of_an_entry_are_keys_each_once() {
    let known = BTreeSet::from(Rules::OF_CONTROLLERS);
    for entry in REGISTRY {
        let own: BTreeSet<_> = entry.rules.iter().copied().collect();
        assert_eq!(own.len(), entry.rules.len(), "{}", entry.name);
        assert!(own.is_subset(&known), "{}", entry.name);
    }
}
