//! Rules × controllers × transports: each controller rule that a scenario overrides in its preset
//! either changes the run, or `lint` reports that the controller does not follow it.

use std::collections::BTreeSet;
use weir_lab::lint::lint;
use weir_lab::replication::in_order;
use weir_lab::run::{RunOptions, run};
use weir_lab::scenario::{Scenario, parse};
use weir_proto::cc::window::{ControllerEntry, REGISTRY, Rules};

/// Paths and applications on which at least one rule has an effect: a long queue, random losses, a
/// short queue, a pause, a delay that grows for a second, a queue that marks, and an application
/// that sends little.
const PATHS: [(&str, &str); 7] = [
    (
        "rate = \"20Mbit\"\ndelay = \"20ms\"\nqueue = { kind = \"droptail\", limit = 300 }",
        "kind = \"bulk\"",
    ),
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

/// NewReno with an increase by acknowledged octets.
const ACCURATE: &str = ", increase = \"accurate\"";

/// Rules of transports.
const OF_TRANSPORTS: [&str; 4] = [
    "send_gate",
    "pto_probes",
    "losses_before_acks",
    "ack_first_at_once",
];

fn scenario(path: &str, app: &str, transport: &str, overrides: &str) -> Scenario {
    let text = format!(
        r#"
[run]
duration = "7s"
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

/// The summary of the run's flow.
fn result(scenario: &Scenario) -> String {
    let options = RunOptions {
        registry: weir::registry(),
        ..RunOptions::default()
    };
    let output = run(scenario, &options).expect("a run");
    format!("{:?}", output.summary.flows["flow"])
}

/// What an earlier connection has learnt of the paths.
const RESUME: &str = "{ kind = \"resume\", saved_cwnd = \"400kB\", saved_rtt = \"30ms\" }";

/// A value of a rule that differs from that of the transport's default preset.
fn other_value(kind: &str, rule: &str) -> Option<&'static str> {
    if kind == "tcp" {
        return Some(match rule {
            "undo_spurious" | "hystart" | "cubic_initial_growth" | "whole_packets" => "false",
            "cubic_alpha" => "\"rfc9438\"",
            "hystart_plus_plus" | "search" | "rapid_start" => "true",
            "slow_start_exit_percent" => "90",
            "pacing" => "\"linux\"",
            "rate_limited_growth" => "\"flight\"",
            "careful_resume" => RESUME,
            _ => return None,
        });
    }
    Some(match (kind, rule) {
        (_, "recovery_boundary") => "\"before\"",
        (_, "increase") => "\"byte-counting\"",
        (_, "recovery_probe" | "rtt_independence") => "false",
        (_, "slow_start_exit_percent") => "90",
        (_, "cubic_alpha") => "\"constant\"",
        // QUIC paces by default, and quinn's preset leaves pacing to quinn.
        ("quic", "pacing") => "\"off\"",
        ("quinn", "pacing") => "\"rfc9002\"",
        (_, "rate_limited_growth") => "\"flight\"",
        (_, "careful_resume") => RESUME,
        _ if Rules::OF_CONTROLLERS.contains(&rule) => "true",
        // Rules that only quinn's transport follows do not concern controllers of QUIC.
        ("quic", _) => return None,
        (_, "send_gate") => "\"any-room\"",
        (_, "pto_probes") => "1",
        (_, "losses_before_acks") => "false",
        (_, "ack_first_at_once") => "true",
        _ => return None,
    })
}

/// The number of tested rules of this controller over this transport, and those that neither change
/// the run nor are reported, or both.
fn cells(kind: &str, entry: &ControllerEntry) -> (usize, Vec<String>) {
    let (mut cells, mut wrong) = (0, Vec::new());
    let transport = format!("kind = \"{kind}\", controller = \"{}\"", entry.name);
    let with = |at: usize, overrides: &str| {
        let (path, app) = PATHS[at];
        scenario(path, app, &transport, overrides)
    };
    let plain: Vec<_> = (0..PATHS.len()).map(|at| result(&with(at, ""))).collect();
    for rule in Rules::OF_CONTROLLERS.into_iter().chain(OF_TRANSPORTS) {
        let Some(value) = other_value(kind, rule) else {
            continue;
        };
        // The count of acknowledged octets affects only this increase of NewReno.
        // CUBIC is in congestion avoidance before its first loss where slow start ends by delay.
        let base = match rule {
            "count_acked_in_recovery" | "flush_on_empty_flight" => ACCURATE,
            "cubic_initial_growth" => ", hystart = true",
            _ => "",
        };
        let overrides = format!("{rule} = {value}{base}");
        let is_found = lint(&with(0, &overrides)).iter().any(|finding| {
            finding.rule == "unused" && finding.path.ends_with(&format!("overrides.{rule}"))
        });
        let changes = (0..PATHS.len()).any(|at| {
            let changed = result(&with(at, &overrides));
            if base.is_empty() {
                changed != plain[at]
            } else {
                changed != result(&with(at, base))
            }
        });
        cells += 1;
        if changes == is_found {
            wrong.push(format!("{kind} {} {rule}: changes {changes}", entry.name));
        }
    }
    (cells, wrong)
}

#[test]
fn each_rule_changes_the_run_or_is_a_finding_of_lint() {
    let kinds = ["quic", "quinn", "tcp"];
    let jobs: Vec<_> = (kinds.into_iter())
        .flat_map(|kind| REGISTRY.iter().map(move |entry| (kind, entry)))
        .collect();
    let tried = in_order(&jobs, |(kind, entry)| cells(kind, entry));
    let wrong: Vec<_> = tried.iter().flat_map(|(_, wrong)| wrong).collect();
    assert_eq!(wrong, Vec::<&String>::new());
    let cells: usize = tried.iter().map(|(cells, _)| cells).sum();
    assert_eq!(cells, REGISTRY.len() * (18 + 22 + 12));
}

#[test]
fn the_rules_of_an_entry_are_keys_each_once() {
    let known = BTreeSet::from(Rules::OF_CONTROLLERS);
    for entry in REGISTRY {
        let rules = entry.rules.concat();
        let own: BTreeSet<_> = rules.iter().copied().collect();
        assert_eq!(own.len(), rules.len(), "{}", entry.name);
        assert!(own.is_subset(&known), "{}", entry.name);
    }
}
