//! The seeds of the fuzz target `dccp_codec` without libFuzzer: each seed, each of its prefixes,
//! and each seed with one octet changed.

#[path = "../../../fuzz/checks/dccp_codec.rs"]
mod dccp_codec;

use std::path::Path;

#[test]
#[expect(clippy::disallowed_methods, reason = "the seeds are files")]
fn seeds_of_the_codec_and_their_neighbours_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/dccp_codec");
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).expect("a seed corpus") {
        let mut bytes = std::fs::read(entry.expect("an entry").path()).expect("a seed");
        dccp_codec::check(&bytes);
        for length in 0..bytes.len() {
            dccp_codec::check(&bytes[..length]);
        }
        for index in 0..bytes.len() {
            for mask in [0x01, 0x10, 0x80, 0xff] {
                bytes[index] ^= mask;
                dccp_codec::check(&bytes);
                bytes[index] ^= mask;
            }
        }
        seeds += 1;
    }
    assert!(seeds >= 20, "only {seeds} seeds");
}
