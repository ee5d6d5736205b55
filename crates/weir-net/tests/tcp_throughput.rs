//! TCP's throughput over random loss, against the laws of Mathis and of Padhye et al. (PFTK).

mod common;

use common::at;
use weir_net::app::{Bulk, BulkConfig, Sink};
use weir_net::loss::RandomLossConfig;
use weir_net::{
    FlowConfig, HostTiming, LinkConfig, LossConfig, Network, Side, simulate,
};
use weir_proto::cc::window::{Rules as WindowRules, WindowConfig, named};
use weir_proto::packet::FlowId;
use weir_proto::tcp::{Config, Connection};
use weir_proto::time::{Duration, Instant};
use weir_proto::units::Probability;
use weir_proto::endpoint::Statistics;

const SECOND: u64 = 1_000_000_000;
const SEGMENT: u32 = 960;

/// What one flow did in a second, and in the whole run.
struct Outcome {
    packets_per_second: f64,
    sent: Statistics,
    dropped: u64,
}

fn window(config: &Config, controller: &str) -> Box<dyn weir_proto::cc::WindowController + Send + Sync> {
    let window = WindowConfig {
        max_datagram_size: u64::from(SEGMENT),
        initial_window: Some(config.rules.initial_window(SEGMENT)),
        rules: WindowRules {
            recovery_probe: false,
            undo_spurious: config.rules.undo_spurious,
            hystart: config.rules.hystart,
            ..WindowRules::default()
        },
        ..WindowConfig::default()
    };
    named(controller, &window).expect("a known controller")
}

/// A bulk flow over 1 Gbit/s with random loss towards the receiver.
fn run(rules: &str, controller: &str, rtt_ms: u64, p: f64, seconds: u64, seed: u64) -> Outcome {
    let config = Config::named(rules).expect("a preset");
    let mut network = Network::new(seed);
    let server = network.add_host("server", HostTiming::default());
    let client = network.add_host("client", HostTiming::default());
    let link = |name: &str, from, to| LinkConfig {
        rate: Some(1_000_000_000),
        mtu: Some(1500),
        ..common::wire(name, from, to, None, Duration::from_micros(rtt_ms * 500))
    };
    let data = LinkConfig {
        loss: LossConfig::Random(RandomLossConfig {
            rate: Probability::new(p).expect("in [0, 1]"),
        }),
        ..link("data", server, client)
    };
    for link in [data, link("acks", client, server)] {
        network.add_link(link).expect("a valid link");
    }
    let end = |local, remote, initial_sequence| Config {
        local,
        remote,
        initial_sequence,
        segment_size: SEGMENT,
        receive_buffer: 1 << 30,
        send_buffer: 1 << 30,
        ..config
    };
    let flow = FlowConfig {
        name: "bulk".to_owned(),
        source: server,
        target: client,
        sender: Box::new(Connection::client(end(server, client, 1), window(&config, controller))),
        receiver: Box::new(Connection::server(end(client, server, 2), window(&config, controller))),
        app: Box::new(Bulk::new(BulkConfig {
            packet: SEGMENT,
            total: None,
        })),
        sink: Box::new(Sink::new()),
        loss: LossConfig::None,
        connects: Side::Sender,
        start: Instant::ZERO,
        stop: None,
    };
    let id: FlowId = network.add_flow(flow).expect("a valid flow");
    simulate(&mut network, at(10 * SECOND), &mut ()).expect("not stuck");
    let before = network.statistics(id, Side::Receiver).payload_received;
    simulate(&mut network, at((10 + seconds) * SECOND), &mut ()).expect("not stuck");
    let after = network.statistics(id, Side::Receiver).payload_received;
    let data = network.link_ids().next().expect("the data link");
    Outcome {
        packets_per_second: (after - before) as f64 / f64::from(SEGMENT) / seconds as f64,
        sent: network.statistics(id, Side::Sender),
        dropped: network.link_counters(data).packets_dropped(),
    }
}

/// Mathis et al. 1997: sqrt(3/2) / (R sqrt(p)), in packets per second.
fn mathis(rtt: f64, p: f64) -> f64 {
    (1.5 / p).sqrt() / rtt
}

/// Padhye et al. 1998, eq. 30 with b = 1, in packets per second.
fn pftk(rtt: f64, rto: f64, p: f64) -> f64 {
    let timeouts = (3.0 * (3.0 * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (rtt * (2.0 * p / 3.0).sqrt() + rto * timeouts)
}

#[test]
#[ignore]
fn table() {
    for controller in ["newreno"] {
        for rules in ["ns2-sack1", "rfc", "linux"] {
            for rtt in [10, 100] {
                for p in [0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2] {
                    let law = mathis(rtt as f64 / 1e3, p);
                    let seconds = ((30_000.0 / law) as u64).clamp(300, 3000);
                    let mut mean = 0.0;
                    let mut timeouts = 0;
                    let (mut lost, mut dropped) = (0, 0);
                    for seed in 1..=3 {
                        let outcome = run(rules, controller, rtt, p, seconds, seed);
                        mean += outcome.packets_per_second / 3.0;
                        timeouts += outcome.sent.timeouts;
                        lost += outcome.sent.packets_lost;
                        dropped += outcome.dropped;
                    }
                    let floor = if rules == "rfc" { 1.0 } else { 0.2 };
                    let r = rtt as f64 / 1e3;
                    let rto = if rules == "linux" { r + floor } else { r.max(floor) };
                    println!("{controller:8} {rules:10} rtt {rtt:4} p {p:6} pps {mean:8.1} mathis {law:8.1} ratio {:.3} pftk {:.3} timeouts/min {:.2} lost/dropped {:.3}",
                        mean / law, mean / pftk(r, rto, p), timeouts as f64 * 20.0 / seconds as f64, lost as f64 / dropped as f64);
                }
            }
        }
    }
}
