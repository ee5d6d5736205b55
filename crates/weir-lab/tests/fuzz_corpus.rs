//! The seeds of the fuzz targets of files, replayed without libFuzzer: each as it is, each
//! prefix, and each with one bit of one octet changed.

#[cfg(feature = "files")]
#[path = "../../../fuzz/checks/capture.rs"]
mod capture;
#[path = "../../../fuzz/checks/link_words.rs"]
mod link_words;
#[cfg(feature = "files")]
#[path = "../../../fuzz/checks/parquet.rs"]
mod parquet;
#[path = "../../../fuzz/checks/published.rs"]
mod published;
#[path = "../../../fuzz/checks/rate_trace.rs"]
mod rate_trace;
#[path = "../../../fuzz/checks/scenario.rs"]
mod scenario;

use std::path::Path;

/// The number of seeds replayed.
fn replay(target: &str, check: fn(&[u8])) -> usize {
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
            bytes[index] ^= 0x04;
            check(&bytes);
            bytes[index] ^= 0x04;
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

#[test]
fn seeds_of_link_words_and_their_prefixes_hold() {
    assert!(replay("link_words", link_words::check) >= 5);
}

#[test]
fn seeds_of_rate_traces_and_their_prefixes_hold() {
    assert!(replay("rate_trace", rate_trace::check) >= 5);
}

#[test]
fn seeds_of_published_files_and_their_prefixes_hold() {
    assert!(replay("published", published::check) >= 3);
}

#[cfg(feature = "files")]
#[test]
fn seeds_of_parquet_files_and_their_prefixes_hold() {
    assert!(replay("parquet", parquet::check) >= 2);
}
