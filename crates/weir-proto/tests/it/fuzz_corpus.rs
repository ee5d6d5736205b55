//! The seeds of the fuzz targets of protocols without libFuzzer: each seed, each of its prefixes,
//! and each seed with one octet changed.

#[path = "../../../../fuzz/checks/dccp_codec.rs"]
mod dccp_codec;
#[path = "../../../../fuzz/checks/dccp_connection.rs"]
mod dccp_connection;
#[path = "../../../../fuzz/checks/quic_connection.rs"]
mod quic_connection;
#[path = "../../../../fuzz/checks/replay.rs"]
mod replay;
#[path = "../../../../fuzz/checks/rtp_codec.rs"]
mod rtp_codec;
#[path = "../../../../fuzz/checks/tcp_connection.rs"]
mod tcp_connection;
#[path = "../../../../fuzz/checks/victim.rs"]
mod victim;

use replay::replay;

/// The masks that change an octet of a seed.
const MASKS: &[u8] = &[0x01, 0x10, 0x80, 0xff];

#[test]
fn seeds_of_the_dccp_codec_and_their_neighbours_hold() {
    assert!(replay("dccp_codec", MASKS, dccp_codec::check) >= 20);
}

#[test]
fn seeds_of_dccp_connections_and_their_neighbours_hold() {
    assert!(replay("dccp_connection", MASKS, dccp_connection::check) >= 4);
}

#[test]
fn seeds_of_quic_connections_and_their_neighbours_hold() {
    assert!(replay("quic_connection", MASKS, quic_connection::check) >= 6);
}

#[test]
fn seeds_of_tcp_connections_and_their_neighbours_hold() {
    assert!(replay("tcp_connection", MASKS, tcp_connection::check) >= 4);
}

#[test]
fn seeds_of_the_rtp_codec_and_their_neighbours_hold() {
    assert!(replay("rtp_codec", MASKS, rtp_codec::check) >= 8);
}
