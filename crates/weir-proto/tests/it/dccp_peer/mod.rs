//! One end of a DCCP connection against a peer whose packets a test builds.

mod cookie;
mod property;
mod script;
mod table;
mod unconfirmed;

use weir_proto::dccp::wire::{self, PacketType, SeqNum, Subheader};
use weir_proto::dccp::{Config, Connection};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, HostId, IpHeader, Packet};
use weir_proto::time::Instant;

/// Adds the IP header to a packet of the peer.
fn envelope(body: wire::Packet) -> Packet {
    Packet {
        id: body.seq.get(),
        ip: IpHeader {
            source: HostId(1),
            destination: HostId(0),
            ecn: weir_proto::packet::Ecn::NotEct,
            ttl: IpHeader::DEFAULT_TTL,
            ..IpHeader::default()
        },
        ..Packet::new(IpHeader::V4_OCTETS + body.wire_len(), Body::Dccp(body))
    }
}

/// A packet of this type with the fields of its header.
fn packet_of(kind: PacketType, seq: SeqNum, ack: SeqNum) -> wire::Packet {
    let subheader = match kind {
        PacketType::Request | PacketType::Listen => Subheader::Service(0),
        PacketType::Response => Subheader::AckService(ack, 0),
        PacketType::Data => Subheader::None,
        PacketType::Reset => Subheader::Reset(ack, 1, [0; 3]),
        _ => Subheader::Ack(ack),
    };
    wire::Packet {
        kind,
        subheader,
        ..wire::Packet::new_ack(seq, ack)
    }
}

/// Takes all packets that the end sends now.
fn drain(end: &mut Connection, now: Instant) -> Vec<wire::Packet> {
    let mut sent = Vec::new();
    while let Some(packet) = end.poll_transmit(now) {
        end.transmitted(now, packet.id);
        let Body::Dccp(body) = packet.body else {
            panic!("not a DCCP packet")
        };
        sent.push(body);
        assert!(sent.len() < 10_000, "it sends without end");
    }
    sent
}

fn config() -> Config {
    Config {
        local: HostId(0),
        remote: HostId(1),
        sequence_window: 100,
        ..Config::default()
    }
}
