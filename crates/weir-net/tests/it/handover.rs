//! A QUIC client that changes its address: its packets take other links, both ways.

use crate::common::{self, at, millis};
use weir_net::app::{Bulk, BulkConfig};
use weir_net::{Handover, HostTiming, LinkId, Network, Side, simulate};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{FlowId, HostId};
use weir_proto::quic;

const SECOND: u64 = 1_000_000_000;

struct TwoWays {
    network: Network,
    flow: FlowId,
    phone: [HostId; 2],
    server: HostId,
    /// Up and down, over Wi-Fi and over LTE.
    links: [[LinkId; 2]; 2],
}

/// An upload from a phone that has two interfaces; `side` is the phone's end.
fn two_ways(side: Side) -> TwoWays {
    let mut network = Network::new(3);
    let [wifi, lte, server] =
        ["wifi", "lte", "server"].map(|name| network.add_host(name, HostTiming::default()));
    let links = [(wifi, 10), (lte, 30)].map(|(phone, delay)| {
        [("up", phone, server), ("down", server, phone)].map(|(name, from, to)| {
            let link = common::wire(name, from, to, Some(10_000_000), millis(delay));
            network.add_link(link).unwrap()
        })
    });
    let config = quic::Config::default;
    let client = Box::new(quic::Connection::client(config())) as Box<dyn Endpoint + Send>;
    let peer = Box::new(quic::Connection::server(config())) as Box<dyn Endpoint + Send>;
    let app = Box::new(Bulk::new(BulkConfig {
        packet: 15_000,
        total: None,
    }));
    let mut flow = if side == Side::Sender {
        common::flow("upload", (wifi, server), [client, peer], app)
    } else {
        common::flow("download", (server, wifi), [peer, client], app)
    };
    flow.connects = side;
    let flow = network.add_flow(flow).unwrap();
    TwoWays {
        network,
        flow,
        phone: [wifi, lte],
        server,
        links,
    }
}

impl TwoWays {
    /// Packets that have entered each link.
    fn packets(&mut self) -> [[u64; 2]; 2] {
        let count = |network: &mut Network, id| network.link_counters(id).packets_in;
        self.links
            .map(|pair| pair.map(|id| count(&mut self.network, id)))
    }

    fn run_to(&mut self, seconds: u64) -> [[u64; 2]; 2] {
        simulate(&mut self.network, at(seconds * SECOND), &mut ()).unwrap();
        self.packets()
    }
}

#[test]
fn both_directions_take_the_links_of_the_new_address() {
    for side in [Side::Sender, Side::Receiver] {
        let mut run = two_ways(side);
        let to = Some(run.phone[1]);
        let handover = Handover {
            at: at(2 * SECOND + 1),
            to,
        };
        run.network.add_handover(run.flow, side, handover).unwrap();
        let [wifi, lte] = run.run_to(2);
        assert!(
            wifi.iter().all(|&packets| packets > 500),
            "{side:?} {wifi:?}"
        );
        assert_eq!(lte, [0, 0]);
        let settled = run.run_to(3)[0];
        let [wifi, lte] = run.run_to(6);
        assert_eq!(wifi, settled, "nothing takes the old way any more");
        assert!(lte.iter().all(|&packets| packets > 500), "{side:?} {lte:?}");
        let counters = run.network.flow_counters(run.flow);
        assert_eq!(counters.packets_unreachable, 0, "{side:?}");
    }
}

#[test]
fn another_port_takes_the_same_way() {
    let mut run = two_ways(Side::Sender);
    let handover = Handover {
        at: at(2 * SECOND),
        to: None,
    };
    let added = run.network.add_handover(run.flow, Side::Sender, handover);
    added.unwrap();
    let before = run.run_to(2)[0];
    let [wifi, lte] = run.run_to(4);
    assert!(wifi[0] > before[0] + 1000, "{wifi:?}");
    assert_eq!(lte, [0, 0]);
}

#[test]
fn a_handover_to_nowhere_or_to_the_peer_is_an_error() {
    let mut run = two_ways(Side::Sender);
    for (to, wrong) in [
        (HostId(9), "the host of its handover does not exist"),
        (run.server, "its handover leads to the peer's host"),
    ] {
        let handover = Handover {
            at: at(SECOND),
            to: Some(to),
        };
        let added = run.network.add_handover(run.flow, Side::Sender, handover);
        let error = added.unwrap_err().to_string();
        assert!(error.contains(wrong), "{error}");
    }
}
