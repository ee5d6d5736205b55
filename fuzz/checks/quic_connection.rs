//! Arbitrary bytes as a QUIC packet: no input panics, a decoded packet survives the codec, and both
//! a new and an open connection remain usable.

use super::victim::Victim;
use weir_proto::packet::Body;
use weir_proto::quic::wire::HeaderFormat;
use weir_proto::quic::{Config, Connection, Packet};

pub fn check(bytes: &[u8]) {
    let config = Config::default();
    let formats = [
        config.header,
        HeaderFormat {
            connection_id_len: 0,
            tag_len: 0,
            ..config.header
        },
    ];
    for format in formats {
        let Ok(packet) = Packet::decode(bytes, &format, |_| 0) else {
            continue;
        };
        let mut again = Vec::new();
        packet.encode(&format, &mut again);
        // Packet numbers are truncated: decoding needs the expected one.
        let decoded = Packet::decode(&again, &format, |_| packet.number);
        assert_eq!(decoded.as_ref(), Ok(&packet));
        let pair = || {
            let client = Connection::client(config.clone());
            (client, Connection::server(config.clone()))
        };
        for mut victim in Victim::all(pair) {
            victim.handle(Body::Quic(packet.clone()), packet.len(&format));
        }
    }
}
