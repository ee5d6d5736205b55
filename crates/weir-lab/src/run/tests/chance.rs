//! Values drawn from the seed, and packets counted in a summary.

use crate::fixture::{run_text, stream_over, traced};
use crate::run::*;
use crate::scenario::parse;

/// Two TCP flows with random starts, access delays and propagation delays, and jitter at a host.
const DRAWN: &str = r#"
[run]
duration = "3s"

[[host]]
name = "a"
jitter = "0s..0.5ms"

[[link]]
name = "wire"
between = ["a", "b"]
rate = "100Mbit"
delay = "10ms..20ms"
backward = { delay = "30ms..40ms" }

[[flow]]
name = "tcp"
count = 2
from = "a"
to = "b"
transport = { kind = "tcp" }
app = { kind = "bulk", packet = 1000, total = 20000 }
start = "0s..1s"
stagger = "100ms"
access_delay = "5ms..6ms"
"#;

fn drawn_with(text: &str, seed: u64) -> RunOutput {
    let mut scenario = parse(text, "drawn.toml").unwrap_or_else(|error| panic!("{error}"));
    scenario.run.seed = seed;
    let options = RunOptions {
        packets: true,
        ..traced()
    };
    run(&scenario, &options).unwrap()
}

#[test]
fn what_is_drawn_is_in_the_summary_and_in_force() {
    let output = drawn_with(DRAWN, 1);
    let drawn = &output.summary.drawn;
    let names: Vec<&str> = drawn.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "flow.tcp-1.access_delay_s",
            "flow.tcp-1.start_s",
            "flow.tcp-2.access_delay_s",
            "flow.tcp-2.start_s",
            "link.wire.backward.delay_s",
            "link.wire.delay_s"
        ]
    );
    assert!((0.0..=1.0).contains(&drawn["flow.tcp-1.start_s"]));
    assert!((0.1..=1.1).contains(&drawn["flow.tcp-2.start_s"]));
    // Both directions draw the same position in their ranges.
    let there_and_back = drawn["link.wire.backward.delay_s"] - drawn["link.wire.delay_s"];
    assert!((there_and_back - 0.020).abs() < 1e-9, "{drawn:?}");
    for name in ["tcp-1", "tcp-2"] {
        let access = drawn[&format!("flow.{name}.access_delay_s")];
        assert!((0.005..=0.006).contains(&access));
        // Propagation in both directions, over the wire and the access link.
        let path = drawn["link.wire.delay_s"] + drawn["link.wire.backward.delay_s"] + 2.0 * access;
        let rtt = output.summary.flows[name].rtt_s.unwrap();
        // Further delay: at most twice half a millisecond of jitter, and the transmission of some
        // segments of 1500 octets in 0.12 ms each.
        let more = rtt.min - path;
        assert!((0.0..0.002).contains(&more), "{name}: {more}");
    }
}

#[test]
fn seeds_draw_other_values_and_a_flow_more_changes_none() {
    let of = |text: &str, seed| drawn_with(text, seed).summary.drawn;
    let (first, again, other) = (of(DRAWN, 1), of(DRAWN, 1), of(DRAWN, 2));
    assert_eq!(first, again);
    assert!(first.iter().all(|(key, value)| other[key] != *value));
    let more = of(&DRAWN.replace("count = 2", "count = 3"), 1);
    assert!(first.iter().all(|(key, value)| more[key] == *value));
}

#[test]
fn a_resolved_scenario_draws_the_same() {
    let first = drawn_with(DRAWN, 3);
    let resolved = first.scenario.resolved_toml();
    assert!(resolved.contains("start = \"0s..1s\""), "{resolved}");
    assert!(resolved.contains("jitter = \"0s..500us\""), "{resolved}");
    let second = drawn_with(&resolved, 3);
    assert!(first == second);
}

#[test]
fn without_ranges_nothing_is_drawn() {
    let fixed = DRAWN
        .replace("0s..1s", "0s")
        .replace("5ms..6ms", "5ms")
        .replace("10ms..20ms", "10ms")
        .replace("30ms..40ms", "30ms")
        .replace("jitter = \"0s..0.5ms\"", "");
    let output = drawn_with(&fixed, 1);
    assert!(output.summary.drawn.is_empty());
    assert_eq!(output.flows, drawn_with(&fixed, 2).flows);
    // With jitter alone, runs of different seeds differ.
    let jitter = fixed.replace("name = \"a\"\n", "name = \"a\"\njitter = \"0s..0.5ms\"\n");
    assert_ne!(drawn_with(&jitter, 1).flows, drawn_with(&jitter, 2).flows);
}

/// One flow over a link with an unlimited rate, on which many events happen at time zero.
fn at_once(transport: &str, app: &str) -> FlowSummary {
    let text = stream_over(
        "duration = \"2s\"",
        "delay = \"1ms\"\nloss = { kind = \"random\", rate = 0.02 }",
        &format!("transport = {{ {transport} }}\napp = {{ {app} }}"),
    );
    run_text(&text, &RunOptions::default()).summary.flows["stream"].clone()
}

#[test]
fn no_transport_receives_or_loses_more_than_it_sends() {
    let little = "kind = \"cbr\", packet = 1000, rate = \"4Mbit\"";
    let short = "kind = \"bulk\", packet = 1000, total = 100000";
    for (transport, app) in [
        ("kind = \"udp\"", little),
        ("kind = \"dccp\", ccid = 2", little),
        ("kind = \"dccp\", ccid = 3", little),
        ("kind = \"dccp\", ccid = 4", little),
        ("kind = \"tcp\"", short),
        ("kind = \"quic\"", short),
    ] {
        let flow = at_once(transport, app);
        let (sent, received) = (flow.packets_sent, flow.packets_received);
        assert!(received > 0, "{transport}: {flow:?}");
        assert!(sent >= received, "{transport}: {flow:?}");
        assert!(flow.packets_lost <= sent, "{transport}: {flow:?}");
    }
    // UDP detects a loss by a gap in the numbers, and the link causes no reordering.
    let flow = at_once("kind = \"udp\"", little);
    assert!(
        flow.packets_sent >= flow.packets_received + flow.packets_lost,
        "{flow:?}"
    );
}

#[test]
fn what_is_sent_at_time_zero_counts() {
    // A datagram of 1000 octets each 2 ms, the first at time zero. A datagram sent at 2 s, the end
    // of the run, is not part of the run.
    let every = "kind = \"cbr\", packet = 1000, rate = \"4Mbit\"";
    assert_eq!(at_once("kind = \"udp\"", every).packets_sent, 1000);
}

#[test]
fn the_utilisation_of_a_link_is_that_of_its_token_bucket() {
    let of = |link: &str, rate: &str| {
        let cbr = format!("{{ kind = \"cbr\", packet = 972, rate = \"{rate}\" }}");
        let text = stream_over(
            "duration = \"20s\"\nwarmup = \"10s\"",
            &format!("delay = \"1ms\"\nforward = {{ {link} }}"),
            &format!("transport = {{ kind = \"udp\" }}\napp = {cbr}"),
        );
        run_text(&text, &RunOptions::default()).summary.links["wire"].utilisation
    };
    let shaper =
        "shaper = { kind = \"tbf\", rate = \"1Mbit\", burst = \"5000b\", limit = \"20000b\" }";
    let wire = format!("rate = \"100Mbit\", {shaper}");
    let policer = "rate = \"100Mbit\", \
                   policer = { kind = \"police\", rate = \"1Mbit\", burst = \"5000b\" }";
    for link in [shaper, wire.as_str(), policer] {
        // 972 octets of payload in packets of 1000: 486 kbit/s of payload are 500 kbit/s there.
        let half = of(link, "486kbit");
        assert!((half - 0.5).abs() < 1e-3, "{link}: {half}");
        let full = of(link, "2Mbit");
        assert!((full - 1.0).abs() < 1e-9, "{link}: {full}");
    }
    // The wire is slower than its token bucket.
    let slow = of(&format!("rate = \"500kbit\", {shaper}"), "486kbit");
    assert!((slow - 1.0).abs() < 1e-3, "{slow}");
}
