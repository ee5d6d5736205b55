//! A scenario split into flows and links gives the results of the whole.

use crate::run::{FlowSummary, RunOptions, RunOutput, Scope, Simulation, run};
use crate::scenario::{Scenario, parse};
use std::collections::BTreeMap;
use weir_proto::packet::{HostId, Packet};
use weir_proto::time::Instant;

const MIX: &str = r#"
[run]
duration = "20s"
warmup = "2s"
seed = 3

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "8Mbit"
delay = "15ms"
queue = { kind = "droptail", limit = "90kB" }
loss = { kind = "random", rate = 0.002 }

[[flow]]
name = "tfrc"
from = "server"
to = "client"
transport = { kind = "dccp", ccid = 3, profile = "rfc5348" }
app = { kind = "bulk", packet = 1300 }

[[flow]]
name = "quic"
from = "server"
to = "client"
transport = { kind = "quic", controller = "cubic" }
app = { kind = "bulk", packet = 1300 }
loss = { kind = "periodic", rate = 0.01 }
start = "1s"

[[flow]]
name = "tcp"
from = "client"
to = "server"
transport = { kind = "tcp" }
app = { kind = "bulk" }

[[flow]]
name = "udp"
from = "server"
to = "client"
transport = { kind = "udp" }
app = { kind = "cbr", packet = 500, rate = "300kbit" }
"#;

fn scenario(text: &str) -> Scenario {
    parse(text, "test.toml").expect("the scenario is in order")
}

/// The packet with the addresses of the other part.
fn moved(mut packet: Packet, place: impl Fn(HostId) -> HostId) -> Packet {
    packet.ip.source = place(packet.ip.source);
    packet.ip.destination = place(packet.ip.destination);
    packet
}

/// Runs both parts in step; a packet that leaves one part enters the other at once.
fn in_parts(scenario: &Scenario) -> [RunOutput; 2] {
    let options = RunOptions::default();
    let mut flows = Simulation::new(scenario, &options, Scope::Flows).expect("flows are built");
    let mut links = Simulation::new(scenario, &options, Scope::Links).expect("links are built");
    let [segment] = links.segments() else {
        panic!("there is one link");
    };
    let ports: Vec<_> = segment.ends.iter().map(|end| end.port).collect();
    let hosts: Vec<_> = segment
        .ends
        .iter()
        .map(|end| HostId(end.host as u32))
        .collect();
    let swap = |from: &[HostId], to: &[HostId], host: HostId| {
        let at = from.iter().position(|&other| other == host);
        to[at.expect("the host is an end")]
    };
    let mut now = Instant::ZERO;
    while now <= flows.end() {
        flows.advance(&options, now).expect("flows go on");
        links.advance(&options, now).expect("links go on");
        // A packet may cause an immediate response.
        loop {
            let mut quiet = true;
            while let Some((_, packet)) = flows.poll_port() {
                quiet = false;
                let packet = moved(packet, |host| swap(&hosts, &ports, host));
                links.inject(packet).expect("links take packets");
            }
            // A link without delay delivers immediately.
            links.advance(&options, now).expect("links go on");
            while let Some((_, packet)) = links.poll_port() {
                quiet = false;
                let packet = moved(packet, |host| swap(&ports, &hosts, host));
                flows.inject(packet).expect("flows take packets");
            }
            if quiet {
                break;
            }
        }
        let due = [flows.next_event(), links.next_event()];
        now = due
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(Instant::FAR_FUTURE);
    }
    for part in [&mut flows, &mut links] {
        let end = part.end();
        part.advance(&options, end).expect("the end is reached");
    }
    [flows.finish(), links.finish()]
}

#[test]
fn octets_over_links_apart_give_the_run_of_the_whole() {
    let mix = scenario(MIX);
    for flow in &mix.flows {
        let mut scenario = mix.clone();
        scenario.flows = vec![flow.clone()];
        let [flows, links] = in_parts(&scenario);
        let whole = run(&scenario, &RunOptions::default()).expect("it runs");
        assert_eq!(links.summary.links, whole.summary.links, "{}", flow.name);
        // A packet that arrives exactly at a sampling time may be counted before or after it.
        let apart = |output: &RunOutput| FlowSummary {
            goodput_cov: BTreeMap::new(),
            // The part without the links does not know their delays.
            latency_under_load: None,
            ..output.summary.flows[&flow.name].clone()
        };
        assert_eq!(apart(&flows), apart(&whole));
        assert!(apart(&flows).throughput_bps > 100_000.0);
    }
}

#[test]
fn a_run_that_ends_early_counts_the_time_that_it_had() {
    let scenario = scenario(MIX);
    let options = RunOptions::default();
    let mut live = Simulation::new(&scenario, &options, Scope::Whole).expect("it is built");
    let half = Instant::from_nanos(live.end().as_nanos() / 2);
    live.advance(&options, half).expect("it goes on");
    let summary = live.finish().summary;
    assert_eq!(summary.run.duration_s, 10.0);
    let udp = summary.flows["udp"].throughput_bps;
    assert!((udp / 300_000.0 - 1.0).abs() < 0.02, "{udp}");
}

#[test]
fn a_kernel_takes_the_shaper_of_a_link_that_does_not_change() {
    let text = MIX
        .replace("rate = \"8Mbit\"\ndelay = \"15ms\"\n", "")
        .replace("queue = { kind = \"droptail\", limit = \"90kB\" }\n", "")
        .replace(
            "loss = { kind = \"random\", rate = 0.002 }",
            "forward.shaper = { kind = \"tbf\", rate = \"1Mbit\", burst = 10000, limit = 30000 }",
        );
    let options = RunOptions::default();
    let parts = Simulation::new(&scenario(&text), &options, Scope::Links).expect("it is built");
    let [segment] = parts.segments() else {
        panic!("there is one link");
    };
    assert!(segment.plain);
    let limits: Vec<_> = segment
        .ends
        .iter()
        .map(|end| end.shaper.map(|shaper| shaper.limit))
        .collect();
    assert_eq!(limits, [Some(30_000), None]);
}

#[test]
fn audio_over_udp_is_heard_in_octets_too() {
    let scenario = scenario(
        r#"
[run]
duration = "10s"

[[link]]
name = "link"
between = ["server", "client"]
rate = "8Mbit"
delay = "15ms"

[[flow]]
name = "music"
from = "server"
to = "client"
transport = { kind = "udp" }
app = { kind = "audio" }
"#,
    );
    let options = RunOptions::default();
    let whole = run(&scenario, &options).expect("it runs").summary;
    let [flows, _] = in_parts(&scenario);
    let audio = |flow: &FlowSummary| flow.audio.expect("it is music");
    let (whole, parts) = (&whole.flows["music"], &flows.summary.flows["music"]);
    assert!(audio(parts).units > 300 && parts.packets_lost == 0);
    assert_eq!(audio(whole).on_time, audio(parts).on_time);
}
