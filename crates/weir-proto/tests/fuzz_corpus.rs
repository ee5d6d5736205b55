//! The seeds of the fuzz targets of protocols without libFuzzer: each seed, each of its prefixes,
//! and each seed with one octet changed.

#[path = "../../../fuzz/checks/dccp_codec.rs"]
mod dccp_codec;
#[path = "../../../fuzz/checks/dccp_connection.rs"]
mod dccp_connection;
#[path = "../../../fuzz/checks/quic_connection.rs"]
mod quic_connection;
#[path = "../../../fuzz/checks/rtp_codec.rs"]
mod rtp_codec;
#[path = "../../../fuzz/checks/tcp_connection.rs"]
mod tcp_connection;
#[path = "../../../fuzz/checks/victim.rs"]
mod victim;

use std::path::Path;

/// The number of seeds replayed.
#[expect(clippy::disallowed_methods, reason = "the seeds are files")]
fn replay(target: &str, check: fn(&[u8])) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).expect("a seed corpus") {
        let mut bytes = std::fs::read(entry.expect("an entry").path()).expect("a seed");
        check(&bytes);
        for length in 0..bytes.len() {
            check(&bytes[..length]);
        }
        for index in 0..bytes.len() {
            for mask in [0x01, 0x10, 0x80, 0xff] {
                bytes[index] ^= mask;
                check(&bytes);
                bytes[index] ^= mask;
            }
        }
        seeds += 1;
    }
    seeds
}

#[test]
fn seeds_of_the_dccp_codec_and_their_neighbours_hold() {
    assert!(replay("dccp_codec", dccp_codec::check) >= 20);
}

#[test]
fn seeds_of_dccp_connections_and_their_neighbours_hold() {
    assert!(replay("dccp_connection", dccp_connection::check) >= 4);
}

#[test]
fn seeds_of_quic_connections_and_their_neighbours_hold() {
    assert!(replay("quic_connection", quic_connection::check) >= 6);
}

#[test]
fn seeds_of_tcp_connections_and_their_neighbours_hold() {
    assert!(replay("tcp_connection", tcp_connection::check) >= 4);
}

#[test]
fn seeds_of_the_rtp_codec_and_their_neighbours_hold() {
    assert!(replay("rtp_codec", rtp_codec::check) >= 8);
}
