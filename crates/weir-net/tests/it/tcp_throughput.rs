//! TCP's throughput, timeouts and declared losses compared with theory and with the drops of links.
//!
//! Random loss: the throughput never rises with the loss rate; NewReno stays below the law of
//! Mathis et al. in its form for random loss and within a band of that of Padhye et al. (PFTK),
//! CUBIC within a band of PFTK or of its own law, whichever is greater. Other paths would show
//! spurious timeouts: a satellite path, a deep queue behind a slow link and a fast path.

use crate::common::{self, at};
use weir_net::app::{Bulk, BulkConfig};
use weir_net::loss::RandomLossConfig;
use weir_net::{
    DropTailConfig, FlowConfig, HostTiming, LinkConfig, LossConfig, Network, QueueConfig,
    QueueLimit, Side, simulate,
};
use weir_proto::cc::window::{
    BoxedController, RecoveryBoundary, Rules as WindowRules, WindowConfig, named,
};
use weir_proto::endpoint::{Endpoint, Statistics};
use weir_proto::packet::FlowId;
use weir_proto::tcp::{Config, Connection};
use weir_proto::time::{Duration, Instant};
use weir_proto::units::Probability;

const SECOND: u64 = 1_000_000_000;
const SEGMENT: u32 = 960;

/// The rules and the controller of a flow.
#[derive(Clone, Copy, Debug)]
struct Sender {
    rules: &'static str,
    controller: &'static str,
}

const LINUX: Sender = Sender {
    rules: "linux",
    controller: "newreno",
};

/// A path in both directions; loss and queue apply towards the receiver.
#[derive(Clone, Copy, Debug)]
struct Path {
    rate: u64,
    rtt_ms: u64,
    loss: f64,
    queue: u64,
}

impl Path {
    /// 1 Gbit/s with random loss.
    fn lossy(rtt_ms: u64, loss: f64) -> Self {
        Self {
            rate: 1_000_000_000,
            rtt_ms,
            loss,
            queue: 10_000,
        }
    }
}

/// Bulk flows over one path.
struct World {
    network: Network,
    flows: Vec<FlowId>,
}

impl Sender {
    fn config(self) -> Config {
        Config::named(self.rules).expect("a preset")
    }

    fn window(self) -> BoxedController {
        let rules = self.config().rules;
        let window = WindowConfig {
            max_datagram_size: u64::from(SEGMENT),
            initial_window: Some(rules.initial_window(SEGMENT)),
            rules: WindowRules {
                recovery_probe: false,
                recovery_boundary: RecoveryBoundary::Before,
                controller: rules.controller,
                ..WindowRules::default()
            },
            ..WindowConfig::default()
        };
        named(self.controller, &window).expect("a known controller")
    }
}

impl World {
    fn new(sender: Sender, path: Path, flows: u64, seed: u64) -> Self {
        let mut network = Network::new(seed);
        let server = network.add_host("server", HostTiming::default());
        let client = network.add_host("client", HostTiming::default());
        let link = |name: &str, from, to| LinkConfig {
            rate: Some(path.rate),
            mtu: Some(1500),
            queue: QueueConfig::DropTail(DropTailConfig {
                limit: QueueLimit::Packets(path.queue),
            }),
            ..common::wire(
                name,
                from,
                to,
                None,
                Duration::from_micros(path.rtt_ms * 500),
            )
        };
        let data = LinkConfig {
            loss: LossConfig::Random(RandomLossConfig {
                rate: Probability::new(path.loss).expect("in [0, 1]"),
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
            ..sender.config()
        };
        let flow = |n: u64| {
            let app = Bulk::new(BulkConfig {
                packet: SEGMENT,
                total: None,
            });
            let ends: [Box<dyn Endpoint + Send>; 2] = [
                Box::new(Connection::client(end(server, client, 1), sender.window())),
                Box::new(Connection::server(end(client, server, 2), sender.window())),
            ];
            FlowConfig {
                start: Instant::ZERO + Duration::from_millis(137 * n),
                ..common::flow(&format!("bulk{n}"), (server, client), ends, Box::new(app))
            }
        };
        let flows = (0..flows).map(|n| network.add_flow(flow(n)).expect("a valid flow"));
        Self {
            flows: flows.collect::<Vec<_>>(),
            network,
        }
    }

    fn run(&mut self, seconds: u64) {
        simulate(&mut self.network, at(seconds * SECOND), &mut ()).expect("not stuck");
    }

    fn delivered(&self, flow: usize) -> u64 {
        let statistics = self.network.statistics(self.flows[flow], Side::Receiver);
        statistics.payload_received / u64::from(SEGMENT)
    }

    fn sent(&self, flow: usize) -> Statistics {
        self.network.statistics(self.flows[flow], Side::Sender)
    }

    fn dropped(&mut self) -> u64 {
        let data = self.network.link_ids().next().expect("the data link");
        self.network.link_counters(data).packets_dropped()
    }
}

/// Packets delivered per second, over `seconds` and three seeds.
fn throughput(sender: Sender, path: Path, seconds: u64) -> f64 {
    let total: u64 = (1..=3)
        .map(|seed| {
            let mut world = World::new(sender, path, 1, seed);
            // The window after the first slow start takes many round trips to reach its steady
            // state.
            let warmup = 10 + path.rtt_ms / 10;
            world.run(warmup);
            let before = world.delivered(0);
            world.run(warmup + seconds);
            world.delivered(0) - before
        })
        .sum();
    total as f64 / 3.0 / seconds as f64
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

/// The law of Mathis et al. for random instead of periodic losses: 1.31 / (R sqrt(p)), where the
/// periodic sawtooth has sqrt(3/2) = 1.22 (Mathis et al. 1997, §2.1).
fn mathis_random(rtt: f64, p: f64) -> f64 {
    1.31 / (rtt * p.sqrt())
}

/// CUBIC's own law with C = 0.4 and beta = 0.7, in packets per second: an average window of
/// 1.054 (R/p)^(3/4) (RFC 9438 §5.1).
fn cubic_law(rtt: f64, p: f64) -> f64 {
    1.054 * libm::pow(rtt / p, 0.75) / rtt
}

const LOSS: [f64; 8] = [0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2];

fn seconds_for(rtt: f64, p: f64) -> u64 {
    // Hundreds of loss events, so that the mean is accurate to a few per cent.
    ((150.0 / (p * mathis(rtt, p))) as u64).clamp(300, 3000)
}

fn never_rises_and_keeps_the_laws(sender: Sender, rto: fn(f64) -> f64, band: [(f64, f64); 4]) {
    for (rtt_ms, (least, most)) in [10, 50, 100, 600].into_iter().zip(band) {
        let rtt = rtt_ms as f64 / 1e3;
        let mut last = f64::INFINITY;
        for p in LOSS {
            let rate = throughput(sender, Path::lossy(rtt_ms, p), seconds_for(rtt, p));
            let is_cubic = sender.controller == "cubic";
            let own = if is_cubic { cubic_law(rtt, p) } else { 0.0 };
            let of_law = rate / pftk(rtt, rto(rtt), p).max(own);
            let of_mathis = rate / mathis(rtt, p);
            println!(
                "{sender:?} RTT {rtt_ms} ms p {p}: {rate:.1} packets/s, {of_mathis:.3} of Mathis, \
                 {of_law:.3} of PFTK or CUBIC's law"
            );
            assert!(rate < last, "{rtt_ms} ms, {p}: rises to {rate} from {last}");
            last = rate;
            assert!(
                (least..most).contains(&of_law),
                "{rtt_ms} ms, {p}: {of_law}"
            );
            if !is_cubic {
                assert!(rate < mathis_random(rtt, p), "{rtt_ms} ms, {p}: {rate}");
                assert!(
                    p < 0.003 || of_mathis < 1.02,
                    "{rtt_ms} ms, {p}: {of_mathis}"
                );
            }
        }
    }
}

/// PFTK does not model SACK or RACK, so it is too low where its timeouts are expensive: at short
/// round-trip times.
#[test]
fn linux_newreno_never_gets_faster_with_more_loss() {
    let band = [(0.9, 6.0), (0.9, 3.0), (0.9, 2.5), (0.9, 1.7)];
    never_rises_and_keeps_the_laws(LINUX, |rtt| rtt + 0.2, band);
}

#[test]
fn linux_cubic_never_gets_faster_with_more_loss() {
    let cubic = Sender {
        controller: "cubic",
        ..LINUX
    };
    // At 600 ms CUBIC's law holds up to a loss rate of 15 %, where its window of a few packets
    // leads to timeouts. Reductions to whole packets cost up to 15 %: 12.9 packets leave 8.
    let band = [(0.9, 6.0), (0.9, 3.0), (0.8, 2.5), (0.6, 1.3)];
    never_rises_and_keeps_the_laws(cubic, |rtt| rtt + 0.2, band);
}

#[test]
fn rfc_newreno_never_gets_faster_with_more_loss() {
    let rfc = Sender {
        rules: "rfc",
        ..LINUX
    };
    let band = [(0.9, 6.0), (0.9, 4.0), (0.9, 2.5), (0.8, 1.7)];
    never_rises_and_keeps_the_laws(rfc, |rtt| rtt.max(1.0), band);
}

#[test]
fn sack1_stays_near_ns_2() {
    // ns-2.35, Agent/TCP/Sack1, 1 Gbit/s, 10 ms, packets of 1000 octets, in packets per second:
    // means of 20 seeds of 600 s (scripts/peer-ns2-loss.sh).
    let sack1 = Sender {
        rules: "ns2-sack1",
        ..LINUX
    };
    let table = [
        (0.01, 1153.4),
        (0.06, 271.9),
        (0.1, 118.0),
        (0.15, 43.8),
        (0.2, 14.6),
    ];
    for (p, ns2) in table {
        let rate = throughput(sack1, Path::lossy(10, p), 600);
        println!("p {p}: {rate:.1} packets/s, ns-2 {ns2}");
        // A single seed here: at 20 %, where timeouts dominate, results vary by a third.
        assert!((0.65..1.35).contains(&(rate / ns2)), "{p}: {rate}");
    }
}

#[test]
fn a_satellite_path_declares_lost_what_is_lost() {
    for rules in ["linux", "rfc"] {
        for controller in ["newreno", "cubic"] {
            let (minutes, mut timeouts, mut lost, mut dropped) = (30, 0, 0, 0);
            for seed in 1..=3 {
                let sender = Sender { rules, controller };
                let mut world = World::new(sender, Path::lossy(600, 0.01), 1, seed);
                world.run(60 * minutes);
                timeouts += world.sent(0).timeouts;
                lost += world.sent(0).packets_lost;
                dropped += world.dropped();
            }
            let per_minute = timeouts as f64 / 3.0 / minutes as f64;
            let share = lost as f64 / dropped as f64;
            println!("{rules} {controller}: {per_minute:.2} timeouts/min, {share:.3} of drops");
            assert!(per_minute <= 2.0, "{rules} {controller}: {per_minute}");
            assert!((0.8..1.2).contains(&share), "{rules} {controller}: {share}");
        }
    }
}

#[test]
fn no_flow_starves_behind_a_deep_queue() {
    // 2 Mbit/s, 100 packets: up to 400 ms of queue.
    for controller in ["newreno", "cubic"] {
        let path = Path {
            rate: 2_000_000,
            rtt_ms: 40,
            loss: 0.0,
            queue: 100,
        };
        let sender = Sender {
            controller,
            ..LINUX
        };
        let mut world = World::new(sender, path, 4, 1);
        world.run(120);
        let timeouts: u64 = (0..4).map(|flow| world.sent(flow).timeouts).sum();
        let shares: Vec<u64> = (0..4).map(|flow| world.delivered(flow)).collect();
        println!("{controller}: {timeouts} timeouts, packets {shares:?}");
        assert!(timeouts <= 4, "{controller}: {timeouts}");
        let total: u64 = shares.iter().sum();
        assert!(shares.iter().all(|share| share * 10 > total), "{shares:?}");
    }
}

#[test]
fn one_flow_fills_a_gigabit_in_a_second() {
    for controller in ["newreno", "cubic"] {
        let path = Path {
            queue: 1000,
            ..Path::lossy(10, 0.0)
        };
        let sender = Sender {
            controller,
            ..LINUX
        };
        let mut world = World::new(sender, path, 1, 1);
        world.run(1);
        let before = world.delivered(0);
        world.run(2);
        let rate = (world.delivered(0) - before) as f64 * 1000.0 * 8.0;
        println!(
            "{controller}: {:.1} Mbit/s in the second second",
            rate / 1e6
        );
        assert!(rate > 0.9e9, "{controller}: {rate}");
        assert_eq!(world.sent(0).timeouts, 0, "{controller}");
    }
}
