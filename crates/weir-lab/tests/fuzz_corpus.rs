//! The seeds of the fuzz targets `scenario` and `capture`, replayed without libFuzzer: each as it
//! is, and each prefix.

#[path = "../../../fuzz/checks/scenario.rs"]
mod scenario;

#[cfg(feature = "files")]
#[path = "../../../fuzz/checks/capture.rs"]
mod capture;

use std::path::Path;

/// The number of seeds replayed.
fn replay(target: &str, check: fn(&[u8])) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let mut seeds = 0;
    for entry in std::fs::read_dir(&folder).expect("a seed corpus") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a seed");
        for length in 0..=bytes.len() {
            check(&bytes[..length]);
        }
        seeds += 1;
    }
    seeds
}

#[test]
fn seeds_of_scenarios_and_their_prefixes_hold() {
    assert!(replay("scenario", scenario::check) >= 5);
    let small = include_str!("../../../fuzz/corpus/scenario/small.toml");
    weir_lab::scenario::parse(small, "small.toml").expect("a valid scenario");
}

#[cfg(feature = "files")]
#[test]
fn seeds_of_captures_and_their_prefixes_hold() {
    assert!(replay("capture", capture::check) >= 5);
}
