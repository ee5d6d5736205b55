//! Arbitrary bytes as DCCP packets with options, especially those of feature negotiation: no packet
//! makes either end of a connection panic, send without end, or keep a timer that does not advance.
//!
//! The first octet chooses the CCID. The rest are packets: their type, the number of octets of
//! their options, and the options.

use super::victim::Victim;
use weir_proto::cc::tfrc::Profile;
use weir_proto::dccp::wire::{Options, Packet, PacketType, SeqNum, Subheader};
use weir_proto::dccp::{Ccid, Config, Connection};
use weir_proto::packet::{Body, Payload};

pub fn check(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    let ccid = || match choice % 3 {
        0 => Ccid::TcpLike,
        1 => Ccid::Tfrc(Box::new(Profile::rfc5348())),
        _ => Ccid::Tfrc(Box::new(Profile::linux_2008())),
    };
    let pair = || {
        let config = Config {
            send_ccid: ccid(),
            receive_ccid: ccid(),
            ..Config::default()
        };
        let client = Connection::client(config.clone());
        (client, Connection::server(config))
    };
    for mut victim in Victim::all(pair) {
        let mut rest = bytes;
        let mut number = 1;
        while let [kind, len, after @ ..] = rest {
            let (options, after) = after.split_at(after.len().min(usize::from(*len)));
            let packet = packet(&victim, usize::from(*kind), number, options);
            let size = 20 + packet.wire_len();
            victim.handle(Body::Dccp(packet), size);
            number += 1;
            rest = after;
        }
    }
}

/// A packet with the sequence numbers that the victim expects.
fn packet(victim: &Victim, kind: usize, number: u64, options: &[u8]) -> Packet {
    let seq = |body: &Option<Body>| match body {
        Some(Body::Dccp(packet)) => packet.seq.get(),
        _ => 0,
    };
    let ack = SeqNum::new(seq(&victim.sent));
    let kind = PacketType::ALL[kind % usize::from(PacketType::Listen.number())];
    let subheader = match kind {
        PacketType::Data => Subheader::None,
        PacketType::Request => Subheader::Service(0),
        PacketType::Response => Subheader::AckService(ack, 0),
        PacketType::Reset => Subheader::Reset(ack, 1, [0; 3]),
        _ => Subheader::Ack(ack),
    };
    let len = if kind.carries_data() { 100 } else { 0 };
    let seq = SeqNum::new(seq(&victim.received).wrapping_add(number));
    Packet {
        subheader,
        kind,
        options: Options::from_wire(options),
        ..Packet::data(seq, Payload::of_len(len))
    }
}
