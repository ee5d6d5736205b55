//! Arbitrary bytes as a TCP segment: no input panics, a decoded segment survives the codec, and
//! both a new and an open connection remain usable.

use super::victim::Victim;
use weir_proto::cc::window::{WindowConfig, named};
use weir_proto::packet::Body;
use weir_proto::tcp::{Config, Connection, EcnMode, Packet};

pub fn check(bytes: &[u8]) {
    let Some(packet) = Packet::decode(bytes) else {
        return;
    };
    assert_eq!(Packet::decode(&packet.encode()).as_ref(), Some(&packet));
    for ecn in [EcnMode::Off, EcnMode::Accurate] {
        check_connections(&packet, ecn);
    }
}

fn check_connections(packet: &Packet, ecn: EcnMode) {
    let config = Config {
        ecn,
        ..Config::default()
    };
    let window = WindowConfig {
        max_datagram_size: u64::from(config.segment_size),
        ..WindowConfig::default()
    };
    let controller = || named("newreno", &window).expect("a known controller");
    let pair = || {
        let client = Connection::client(config, controller());
        (client, Connection::server(config, controller()))
    };
    for mut victim in Victim::all(pair) {
        // Numbers near those that the connection expects, so that not all segments are rejected.
        let mut near = packet.clone();
        if let Some(Body::Tcp(received)) = &victim.received {
            near.seq = near.seq.wrapping_add(received.seq);
            near.ack = near.ack.wrapping_add(received.ack);
        }
        victim.handle(Body::Tcp(packet.clone()), packet.wire_len() as u32);
        victim.handle(Body::Tcp(near), packet.wire_len() as u32);
    }
}
