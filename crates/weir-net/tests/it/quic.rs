//! Complete runs with QUIC endpoints.

use crate::common::{self, Recorder, at};
use weir_net::app::{Bulk, BulkConfig};
use weir_net::bench::{Bench, Counts, FlowEndpoints, ROUND_TRIP, Topology, warm_up};
use weir_net::loss::PeriodicLossConfig;
use weir_net::{FlowConfig, HostTiming, LossConfig, Network, Side, simulate};
use weir_proto::endpoint::CloseReason;
use weir_proto::event::EventMask;
use weir_proto::quic;
use weir_proto::time::Duration;

fn ends() -> FlowEndpoints {
    FlowEndpoints {
        sender: Box::new(quic::Connection::client(quic::Config::default())),
        receiver: Box::new(quic::Connection::server(quic::Config::default())),
    }
}

fn bench(flows: u32) -> Counts {
    let mut bench = Bench::new(Topology::OneLink, flows, 15_000, |_| ends()).unwrap();
    bench.run(warm_up(flows)).unwrap();
    bench.run(Duration::from_secs(20)).unwrap()
}

#[test]
fn new_reno_fills_a_bottleneck_with_a_queue_of_one_bandwidth_delay_product() {
    for flows in [1, 4] {
        let counts = bench(flows);
        assert!(counts.utilisation > 0.95, "{flows} flows: {counts:?}");
        // An acknowledgement for every other packet.
        let share = counts.packets as f64 / counts.data_packets as f64;
        assert!((1.45..1.6).contains(&share), "{flows} flows: {counts:?}");
        // About one event for each packet and link: no target is called in vain.
        let events = counts.events as f64 / counts.packets as f64;
        assert!(events < 1.2, "{flows} flows: {counts:?}");
        assert_eq!(counts, bench(flows), "the same run twice");
    }
}

/// Ten megabytes over a lossy wire of 100 Mbit/s.
fn transfer(mask: EventMask) -> (Network, Recorder) {
    let mut network = Network::new(5);
    let server = network.add_host("server", HostTiming::default());
    let client = network.add_host("client", HostTiming::default());
    let rate = Some(100_000_000);
    for (name, from, to) in [("there", server, client), ("back", client, server)] {
        let link = common::wire(name, from, to, rate, ROUND_TRIP / 2);
        network.add_link(link).unwrap();
    }
    let FlowEndpoints { sender, receiver } = ends();
    let app = Bulk::new(BulkConfig {
        packet: 15_000,
        total: Some(10_000_000),
    });
    let config = FlowConfig {
        loss: LossConfig::Periodic(PeriodicLossConfig { every: 50 }),
        ..common::flow(
            "transfer",
            (server, client),
            [sender, receiver],
            Box::new(app),
        )
    };
    network.add_flow(config).unwrap();
    network.set_mask(mask);
    let mut recorder = Recorder::default();
    simulate(&mut network, at(60_000_000_000), &mut recorder).unwrap();
    (network, recorder)
}

#[test]
fn a_lossy_transfer_arrives_whole_and_ends_in_good_order() {
    let (network, _) = transfer(EventMask::NONE);
    let flow = network.flow_ids().next().unwrap();
    let sink = network.app_report(flow, Side::Receiver).statistics;
    assert_eq!(sink.bytes_read, 10_000_000);
    assert_eq!(sink.closed, Some(CloseReason::Finished));
    assert!(network.app_done(flow, Side::Sender));
    let counters = network.flow_counters(flow);
    let lost = counters.sender.packets_lost_at_socket;
    assert_eq!(lost, counters.sender.packets_sent / 51, "one of 51 is lost");
    assert_eq!(network.packets_in_network(), 0);
    assert_eq!(
        counters.receiver.packets_delivered + lost,
        counters.sender.packets_sent
    );
}

#[test]
fn watching_a_transfer_does_not_change_it() {
    let (unwatched, nothing) = transfer(EventMask::NONE);
    let (watched, seen) = transfer(EventMask::ALL);
    assert!(nothing.0.is_empty() && seen.0.len() > 10_000);
    let flow = watched.flow_ids().next().unwrap();
    assert_eq!(watched.flow_counters(flow), unwatched.flow_counters(flow));
    for side in [Side::Sender, Side::Receiver] {
        assert_eq!(
            watched.app_report(flow, side).statistics,
            unwatched.app_report(flow, side).statistics
        );
    }
}
