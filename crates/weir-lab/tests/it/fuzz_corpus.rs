//! The seeds of the fuzz targets for files, replayed without libFuzzer: each unchanged, each
//! prefix, and each with one bit of one octet flipped.

#[cfg(feature = "files")]
#[path = "../../../../fuzz/checks/capture.rs"]
mod capture;
#[cfg(feature = "files")]
#[path = "../../../../fuzz/checks/capture_import.rs"]
mod capture_import;
#[path = "../../../../fuzz/checks/link_words.rs"]
mod link_words;
#[cfg(feature = "files")]
#[path = "../../../../fuzz/checks/parquet.rs"]
mod parquet;
#[path = "../../../../fuzz/checks/published.rs"]
mod published;
#[cfg(feature = "files")]
#[path = "../../../../fuzz/checks/qlog_import.rs"]
mod qlog_import;
#[path = "../../../../fuzz/checks/rate_trace.rs"]
mod rate_trace;
#[path = "../../../../fuzz/checks/replay.rs"]
mod replay;
#[path = "../../../../fuzz/checks/scenario.rs"]
mod scenario;

use replay::replay;

/// The bits that are flipped in an octet.
const MASKS: &[u8] = &[0x04];

#[test]
fn seeds_of_scenarios_and_their_prefixes_hold() {
    assert!(replay("scenario", MASKS, scenario::check) >= 5);
    let small = include_str!("../../../../fuzz/corpus/scenario/small.toml");
    weir_lab::scenario::parse(small, "small.toml").expect("a valid scenario");
}

#[cfg(feature = "files")]
#[test]
fn seeds_of_captures_and_their_prefixes_hold() {
    assert!(replay("capture", MASKS, capture::check) >= 5);
}

#[cfg(feature = "files")]
#[test]
fn seeds_of_imported_captures_and_logs_and_their_prefixes_hold() {
    assert!(replay("capture_import", MASKS, capture_import::check) >= 6);
}

#[test]
fn seeds_of_link_words_and_their_prefixes_hold() {
    assert!(replay("link_words", MASKS, link_words::check) >= 5);
}

#[test]
fn seeds_of_rate_traces_and_their_prefixes_hold() {
    assert!(replay("rate_trace", MASKS, rate_trace::check) >= 5);
}

#[test]
fn seeds_of_published_files_and_their_prefixes_hold() {
    assert!(replay("published", MASKS, published::check) >= 3);
}

#[cfg(feature = "files")]
#[test]
fn seeds_of_parquet_files_and_their_prefixes_hold() {
    assert!(replay("parquet", MASKS, parquet::check) >= 2);
}

#[cfg(feature = "files")]
#[test]
fn seeds_of_qlog_and_their_prefixes_hold() {
    assert!(replay("qlog_import", MASKS, qlog_import::check) >= 4);
}
