//! The seeds of a fuzz target, replayed without libFuzzer.

use std::path::Path;

/// Checks each seed, each of its prefixes, and each seed with one octet changed by each mask;
/// returns the number of seeds.
#[allow(clippy::disallowed_methods, reason = "the seeds are files")]
pub fn replay(target: &str, masks: &[u8], check: fn(&[u8])) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).expect("a seed corpus") {
        let mut bytes = std::fs::read(entry.expect("an entry").path()).expect("a seed");
        for length in 0..=bytes.len() {
            check(&bytes[..length]);
        }
        for index in 0..bytes.len() {
            for mask in masks {
                bytes[index] ^= mask;
                check(&bytes);
                bytes[index] ^= mask;
            }
        }
        seeds += 1;
    }
    seeds
}
