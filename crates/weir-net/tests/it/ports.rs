//! A network that is split into two at its ports yields the same run as the whole network.

use crate::common::{self, at, millis, wire};
use weir_net::app::{Cbr, CbrConfig, OverflowPolicy};
use weir_net::loss::RandomLossConfig;
use weir_net::{
    DropTailConfig, FlowCounters, HostTiming, LinkConfig, LossConfig, NetemConfig, Network,
    QueueConfig, QueueLimit, inject, simulate,
};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, FlowId, HostId, IpHeader, Packet, Payload};
use weir_proto::time::{Duration, Instant};
use weir_proto::udp;
use weir_proto::units::Probability;

const SECONDS: u64 = 1_000_000_000;

fn hosts(network: &mut Network) -> [HostId; 2] {
    ["a", "b"].map(|name| network.add_host(name, HostTiming::default()))
}

/// A link that drops, delays and reorders.
fn rough_link(network: &mut Network, [from, to]: [HostId; 2]) {
    let link = LinkConfig {
        rate: Some(1_000_000),
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: QueueLimit::Packets(5),
        }),
        loss: LossConfig::Random(RandomLossConfig {
            rate: Probability::new(0.05).unwrap(),
        }),
        netem: NetemConfig {
            jitter: millis(20),
            ..NetemConfig::default()
        },
        ..wire("rough", from, to, None, millis(30))
    };
    network.add_link(link).unwrap();
}

fn stream(network: &mut Network, [source, target]: [HostId; 2]) -> FlowId {
    let config = udp::Config {
        mtu: 1500,
        checksum: udp::Checksum::Full,
    };
    let source_app = Cbr::new(CbrConfig {
        packet: 1000,
        rate: 1_200_000,
        offset: Duration::ZERO,
        count: None,
        when_blocked: OverflowPolicy::Skip,
    });
    network
        .add_flow(common::flow(
            "stream",
            (source, target),
            [(); 2].map(|()| Box::new(udp::Socket::new(config)) as Box<dyn Endpoint + Send>),
            Box::new(source_app),
        ))
        .unwrap()
}

fn whole(until: Instant) -> FlowCounters {
    let mut network = Network::new(7);
    let ends = hosts(&mut network);
    rough_link(&mut network, ends);
    let flow = stream(&mut network, ends);
    simulate(&mut network, until, &mut ()).unwrap();
    network.flow_counters(flow)
}

/// The ends in one network, the link in another; packets are passed between them as they leave.
fn in_two(until: Instant) -> (FlowCounters, u64) {
    let (mut ends, mut middle) = (Network::new(7), Network::new(7));
    let pair = hosts(&mut ends);
    let flow = stream(&mut ends, pair);
    let between = hosts(&mut middle);
    rough_link(&mut middle, between);
    for host in pair {
        ends.add_port(host).unwrap();
        middle.add_port(host).unwrap();
    }
    let mut now = Instant::ZERO;
    while now <= until {
        simulate(&mut ends, now, &mut ()).unwrap();
        while let Some((host, packet)) = ends.poll_port() {
            assert_eq!(host, packet.ip.source);
            simulate(&mut middle, now, &mut ()).unwrap();
            inject(&mut middle, packet, &mut ()).unwrap();
        }
        simulate(&mut middle, now, &mut ()).unwrap();
        while let Some((host, packet)) = middle.poll_port() {
            assert_eq!(host, packet.ip.destination);
            inject(&mut ends, packet, &mut ()).unwrap();
        }
        let due = [ends.next_event(), middle.next_event()];
        now = due
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(Instant::FAR_FUTURE);
    }
    let link = middle.link_ids().next().unwrap();
    let dropped = middle.link_counters(link).packets_dropped();
    (ends.flow_counters(flow), dropped)
}

#[test]
fn a_network_cut_at_its_ports_gives_the_same_run() {
    let until = at(20 * SECONDS);
    let whole = whole(until);
    let (cut, dropped) = in_two(until);
    assert!(whole.packets_dropped > 100, "{whole:?}");
    assert_eq!(dropped, whole.packets_dropped);
    let packets_dropped = whole.packets_dropped;
    assert_eq!(
        FlowCounters {
            packets_dropped,
            ..cut
        },
        whole
    );
}

#[test]
fn a_packet_without_a_route_is_dropped_and_changes_no_counter() {
    let mut network = Network::new(1);
    let [a, b] = hosts(&mut network);
    network.add_port(a).unwrap();
    network.add_port(b).unwrap();
    let packet = Packet {
        flow: FlowId(3),
        ip: IpHeader {
            source: a,
            destination: b,
            ..IpHeader::default()
        },
        ..Packet::new(100, Body::Other(Payload::of_len(72)))
    };
    inject(&mut network, packet, &mut ()).unwrap();
    assert_eq!(network.poll_port(), None);
    assert_eq!(network.packets_in_network(), 0);
    assert!(network.add_port(HostId(9)).is_err());
}
