//! Flows that cross a shared medium and a wire behind it.

use crate::common::{self, at};
use weir_net::app::{Bulk, BulkConfig};
use weir_net::wifi::{ChannelConfig, MediumConfig, Standard, StationConfig};
use weir_net::{
    DropTailConfig, FlowConfig, HostTiming, LinkConfig, LossConfig, MediumId, Network, QueueConfig,
    QueueLimit, Side, simulate,
};
use weir_proto::cc::window::{WindowConfig, named};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{FlowId, HostId};
use weir_proto::tcp::{Config, Connection};
use weir_proto::time::Duration;

const SECOND: u64 = 1_000_000_000;

struct Cell {
    network: Network,
    medium: MediumId,
    access_point: HostId,
    flows: Vec<FlowId>,
}

fn bulk(n: u32, (source, target): (HostId, HostId)) -> FlowConfig {
    let window = WindowConfig {
        max_datagram_size: 1460,
        ..WindowConfig::default()
    };
    let make = || named("newreno", &window).expect("a known controller");
    let end = |local, remote| Config {
        flow: FlowId(n),
        local,
        remote,
        ..Config::default()
    };
    let app = Bulk::new(BulkConfig {
        packet: 14_600,
        total: None,
    });
    let ends: [Box<dyn Endpoint + Send>; 2] = [
        Box::new(Connection::client(end(source, target), make())),
        Box::new(Connection::server(end(target, source), make())),
    ];
    common::flow(&n.to_string(), (source, target), ends, Box::new(app))
}

/// A server behind an access point, and stations that download from it.
fn cell(stations: u32, snr_db: f64, queue_limit: u64) -> Cell {
    let mut network = Network::new(1);
    let server = network.add_host("server", HostTiming::default());
    let access_point = network.add_host("access point", HostTiming::default());
    let laptops: Vec<_> = (0..stations)
        .map(|n| network.add_host(&n.to_string(), HostTiming::default()))
        .collect();
    for (from, to) in [(server, access_point), (access_point, server)] {
        let link = LinkConfig {
            name: format!("{from:?}"),
            from,
            to,
            rate: Some(100_000_000),
            delay: Duration::from_millis(1),
            mtu: Some(1500),
            queue: QueueConfig::default(),
            shaper: None,
            loss: LossConfig::None,
            ..LinkConfig::default()
        };
        network.add_link(link).expect("a valid link");
    }
    let station = StationConfig {
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: QueueLimit::Packets(queue_limit),
        }),
        ..StationConfig::default()
    };
    let medium = network
        .add_medium(MediumConfig {
            name: "cell".to_owned(),
            phy: Standard::G.into(),
            stations: [&[access_point], laptops.as_slice()]
                .concat()
                .iter()
                .map(|&host| (host, station.clone()))
                .collect(),
            channel: ChannelConfig::with_snr_db(snr_db),
        })
        .expect("a valid medium");
    let flows = laptops
        .iter()
        .enumerate()
        .map(|(n, &laptop)| {
            let flow = bulk(n as u32, (server, laptop));
            network.add_flow(flow).expect("a valid flow")
        })
        .collect();
    Cell {
        network,
        medium,
        access_point,
        flows,
    }
}

fn goodput_mbps(cell: &mut Cell, seconds: u64) -> Vec<f64> {
    simulate(&mut cell.network, at(seconds * SECOND), &mut ()).expect("not stuck");
    let delivered = |&flow: &FlowId| {
        cell.network
            .statistics(flow, Side::Receiver)
            .payload_received
    };
    cell.flows
        .iter()
        .map(|flow| delivered(flow) as f64 * 8e-6 / seconds as f64)
        .collect()
}

#[test]
fn a_download_over_a_good_link_gets_about_half_of_54_mbit_s() {
    // A data frame with DIFS, mean backoff and acknowledgement takes 394 us; every other packet
    // also causes an acknowledgement of TCP, which takes 163 us: 1460 octets in 475 us are 24.6
    // Mbit/s, a little more where the two contend.
    let mut cell = cell(1, 40.0, 100);
    let goodput = goodput_mbps(&mut cell, 20)[0];
    println!("{goodput:.2} Mbit/s");
    assert!((23.0..27.0).contains(&goodput), "{goodput}");
}

#[test]
fn rates_adapt_to_a_poor_link() {
    let mut good = cell(1, 40.0, 100);
    let mut poor = cell(1, 12.0, 100);
    let (good, slow) = (
        goodput_mbps(&mut good, 20)[0],
        goodput_mbps(&mut poor, 20)[0],
    );
    println!("{good:.2} {slow:.2}");
    assert!((6.0..14.0).contains(&slow), "{slow}");
    let counters = poor
        .network
        .station_counters(poor.medium, poor.access_point);
    let counters = counters.expect("the access point has a station");
    assert!(counters.failures > 100 && counters.frames > counters.link.packets_delivered);
}

#[test]
fn packets_are_conserved_across_the_medium() {
    let mut cell = cell(3, 20.0, 20);
    for step in 1..50 {
        simulate(&mut cell.network, at(step * 77_777_777), &mut ()).expect("not stuck");
        for host in [0, 1, 2, 3, 4].map(HostId) {
            if let Some(c) = cell.network.station_counters(cell.medium, host) {
                let c = c.link;
                let inside = c.packets_queued + c.packets_in_flight;
                let gone = c.packets_delivered + c.packets_dropped();
                assert_eq!(c.packets_in, gone + inside, "{host:?} {c:?}");
                let inside = c.bytes_queued + c.bytes_in_flight;
                assert_eq!(c.bytes_in, c.bytes_delivered + c.bytes_dropped + inside);
            }
        }
        let inside = cell.network.packets_in_medium(cell.medium);
        let links: Vec<_> = cell.network.link_ids().collect();
        let wires: u64 = links
            .into_iter()
            .map(|id| cell.network.link_counters(id))
            .map(|c| c.packets_queued + c.packets_in_flight)
            .sum();
        let (mut sent, mut gone) = (0, 0);
        for &flow in &cell.flows {
            let c = cell.network.flow_counters(flow);
            sent += c.sender.packets_sent + c.receiver.packets_sent;
            gone += c.sender.packets_delivered + c.receiver.packets_delivered + c.packets_dropped;
        }
        assert_eq!(sent, gone + inside + wires);
    }
}
