//! TCP over simulated paths, compared with theory and its RFCs.

use crate::common::{self, at};
use weir_net::app::{Bulk, BulkConfig};
use weir_net::loss::RandomLossConfig;
use weir_net::queue::RedConfig;
use weir_net::{
    DropTailConfig, HostTiming, LinkConfig, LossConfig, Network, QueueConfig, QueueLimit, Side,
    simulate,
};
use weir_proto::cc::window::{Rules, WindowConfig, named};
use weir_proto::endpoint::{CloseReason, Endpoint};
use weir_proto::packet::FlowId;
use weir_proto::tcp::{Config, Connection, EcnMode};
use weir_proto::time::Duration;
use weir_proto::units::Probability;

const SECOND: u64 = 1_000_000_000;
const MSS: u32 = 1460;

struct Path {
    rate: u64,
    one_way: Duration,
    queue: QueueConfig,
    loss: LossConfig,
}

impl Path {
    fn droptail(rate: u64, millis: u64, packets: u64) -> Self {
        Self {
            rate,
            one_way: Duration::from_millis(millis),
            queue: QueueConfig::DropTail(DropTailConfig {
                limit: QueueLimit::Packets(packets),
            }),
            loss: LossConfig::None,
        }
    }
}

/// One bulk flow over the path.
fn bulk_network(
    path: Path,
    controller: &str,
    config: Config,
    total: Option<u64>,
) -> (Network, FlowId) {
    let mut network = Network::new(1);
    let server = network.add_host("server", HostTiming::default());
    let client = network.add_host("client", HostTiming::default());
    let link = |name: &str, from, to| LinkConfig {
        rate: Some(path.rate),
        mtu: Some(1500),
        ..common::wire(name, from, to, None, path.one_way)
    };
    let data = LinkConfig {
        queue: path.queue,
        loss: path.loss.clone(),
        ..link("data", server, client)
    };
    for link in [data, link("acks", client, server)] {
        network.add_link(link).expect("a valid link");
    }
    let window = WindowConfig {
        max_datagram_size: u64::from(MSS),
        initial_window: None,
        rules: Rules::default(),
        ..WindowConfig::default()
    };
    let make = || named(controller, &window).expect("a known controller");
    let near = Config {
        local: server,
        remote: client,
        initial_sequence: u32::MAX - 5000,
        ..config
    };
    let far = Config {
        local: client,
        remote: server,
        initial_sequence: 7,
        ..config
    };
    let app = Bulk::new(BulkConfig {
        packet: 10 * MSS,
        total,
    });
    let ends: [Box<dyn Endpoint + Send>; 2] = [
        Box::new(Connection::client(near, make())),
        Box::new(Connection::server(far, make())),
    ];
    let flow = common::flow("bulk", (server, client), ends, Box::new(app));
    let id = network.add_flow(flow).expect("a valid flow");
    (network, id)
}

/// Bits of payload delivered per second after the first `warmup` seconds.
fn goodput(network: &mut Network, flow: FlowId, warmup: u64, seconds: u64) -> f64 {
    simulate(network, at(warmup * SECOND), &mut ()).expect("not stuck");
    let before = network.statistics(flow, Side::Receiver).payload_received;
    simulate(network, at((warmup + seconds) * SECOND), &mut ()).expect("not stuck");
    let after = network.statistics(flow, Side::Receiver).payload_received;
    (after - before) as f64 * 8.0 / seconds as f64
}

#[test]
fn fills_a_bottleneck_with_a_queue_of_one_bandwidth_delay_product() {
    // 10 Mbit/s, 40 ms: 33 packets. The payload is 1460/1500 of a packet.
    for controller in ["newreno", "cubic"] {
        for sack in [true, false] {
            let config = Config {
                sack,
                ..Config::default()
            };
            let path = Path::droptail(10_000_000, 20, 33);
            let (mut network, flow) = bulk_network(path, controller, config, None);
            let share = goodput(&mut network, flow, 5, 60) / (10e6 * 1460.0 / 1500.0);
            println!("{controller} sack {sack}: {share:.4}");
            // RFC 6582 repairs one packet per round-trip time, so the link may fall idle.
            let least = if sack { 0.99 } else { 0.95 };
            // Data that waited for a missing segment at the end of the warm-up may be delivered
            // after it.
            assert!(
                share > least && share <= 1.01,
                "{controller}, sack {sack}: {share}"
            );
        }
    }
}

#[test]
fn throughput_under_random_loss_is_that_of_mathis() {
    // MSS/RTT sqrt(3/(2p)) is an upper estimate for byte counting without timeouts; recovery
    // costs about a tenth at these windows.
    for p in [0.001, 0.01] {
        let mut path = Path::droptail(1_000_000_000, 25, 10_000);
        path.loss = LossConfig::Random(RandomLossConfig {
            rate: Probability::new(p).expect("in [0, 1]"),
        });
        let (mut network, flow) = bulk_network(path, "newreno", Config::default(), None);
        let measured = goodput(&mut network, flow, 10, 300);
        let mathis = f64::from(MSS) * 8.0 / 0.05 * (1.5 / p).sqrt();
        println!("p {p}: {:.3} of Mathis", measured / mathis);
        assert!(
            (0.8..1.1).contains(&(measured / mathis)),
            "{measured} {mathis}"
        );
    }
}

#[test]
fn delivers_every_octet_once_and_closes_in_good_order() {
    for sack in [true, false] {
        let mut path = Path::droptail(5_000_000, 10, 10);
        path.loss = LossConfig::Random(RandomLossConfig {
            rate: Probability::new(0.05).expect("in [0, 1]"),
        });
        let total = 3_000_001;
        let config = Config {
            sack,
            ..Config::default()
        };
        let (mut network, flow) = bulk_network(path, "newreno", config, Some(total));
        simulate(&mut network, at(600 * SECOND), &mut ()).expect("not stuck");
        assert_eq!(
            network.statistics(flow, Side::Receiver).payload_received,
            total
        );
        for side in [Side::Sender, Side::Receiver] {
            let closed = network.app_report(flow, side).statistics.closed;
            assert_eq!(closed, Some(CloseReason::Finished), "{side:?}, sack {sack}");
        }
    }
}

#[test]
fn a_marked_flow_loses_nothing_and_still_slows_down() {
    for ecn in [EcnMode::Classic, EcnMode::Accurate] {
        slows_down_by_marks(ecn);
    }
}

fn slows_down_by_marks(ecn: EcnMode) {
    let mut path = Path::droptail(10_000_000, 20, 0);
    path.queue = QueueConfig::Red(RedConfig {
        limit: 400_000,
        min: 15_000,
        max: 60_000,
        probability: 0.1,
        weight: 0.02,
        packet_time: Duration::from_micros(1200),
        gentle: true,
        harddrop: true,
        ecn: true,
    });
    let config = Config {
        ecn,
        ..Config::default()
    };
    let (mut network, flow) = bulk_network(path, "newreno", config, None);
    let share = goodput(&mut network, flow, 10, 60) / (10e6 * 1460.0 / 1500.0);
    let link = network.link_ids().next().expect("the data link");
    let counters = network.link_counters(link);
    println!(
        "{ecn:?}: share {share:.4}, marks {}",
        counters.packets_marked
    );
    assert!(share > 0.9, "{share}");
    assert_eq!(counters.packets_dropped(), 0);
    assert!(counters.packets_marked > 20);
    let statistics = network.statistics(flow, Side::Sender);
    assert!(statistics.loss_events > 20 && statistics.packets_lost == 0);
}

#[test]
fn gives_up_without_an_answer() {
    let mut path = Path::droptail(10_000_000, 20, 33);
    path.loss = LossConfig::Random(RandomLossConfig {
        rate: Probability::new(1.0).expect("in [0, 1]"),
    });
    let (mut network, flow) = bulk_network(path, "newreno", Config::default(), None);
    simulate(&mut network, at(3_600 * SECOND), &mut ()).expect("not stuck");
    let closed = network.app_report(flow, Side::Sender).statistics.closed;
    assert_eq!(closed, Some(CloseReason::TimedOut));
}

/// RED as in its paper, in octets of full packets.
fn red(limit: u64, (min, max): (u64, u64)) -> QueueConfig {
    let packets = |number| number * 1500;
    QueueConfig::Red(RedConfig {
        limit: packets(limit),
        min: packets(min),
        max: packets(max),
        probability: 0.1,
        weight: 0.002,
        packet_time: Duration::from_micros(800),
        gentle: true,
        harddrop: true,
        ecn: false,
    })
}

#[test]
fn a_flow_of_many_timeouts_slows_down_at_each() {
    // A burst in slow start meets RED, whose mean lags: retransmissions are lost again, and the
    // timer expires for one segment after another. Each timeout must halve ssthresh; otherwise the
    // flow never leaves recovery and keeps the queue overfull.
    let path = Path {
        queue: red(250, (5, 15)),
        ..Path::droptail(15_000_000, 35, 0)
    };
    let (mut network, flow) = bulk_network(path, "newreno", Config::default(), None);
    let rate = goodput(&mut network, flow, 10, 60);
    let statistics = network.statistics(flow, Side::Sender);
    let lost = statistics.packets_lost as f64 / statistics.packets_sent as f64;
    println!("{rate} {lost}");
    assert!(lost < 0.02 && rate > 6e6, "{rate} {statistics:?}");
}
