//! Rows streamed to files during a run: the tables equal those in memory; and the rows kept of a
//! trace that is too long.
#![cfg(feature = "files")]

use std::path::Path;
use weir_lab::run::{RunOptions, RunOutput, TraceLevel, run};
use weir_lab::scenario::{Scenario, parse};
use weir_lab::table::Table;
use weir_lab::trace::{FolderError, FolderWriter, RunFolder};

const SCENARIO: &str = r#"
[run]
duration = "20s"
seed = 3

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "8Mbit"
delay = "15ms"
queue = { kind = "droptail", limit = "90kB" }
loss = { kind = "random", rate = 0.002 }

[[flow]]
name = "tfrc"
from = "server"
to = "client"
transport = { kind = "dccp", ccid = 3, profile = "rfc5348" }
app = { kind = "bulk", packet = 1300 }

[[flow]]
name = "quic"
from = "server"
to = "client"
transport = { kind = "quic", controller = "cubic" }
app = { kind = "bulk", packet = 1300 }

[[flow]]
name = "music"
from = "server"
to = "client"
transport = { kind = "dccp", ccid = 3 }
app = { kind = "audio" }
"#;

fn scenario() -> Scenario {
    parse(SCENARIO, "test.toml").unwrap()
}

const FULL: RunOptions<'_> = RunOptions {
    scenario_hash: None,
    trace: TraceLevel::Full,
    traced_flow: None,
    packets: true,
    stages: None,
    progress: None,
    cancel: None,
    tap: None,
    registry: weir_lab::run::TransportRegistry {
        foreign: None,
        process: weir_lab::run::ProcessWatch::None,
    },
    sink: None,
    max_rows: None,
    live: None,
    max_events: None,
};

/// Runs a scenario with its rows streamed to this folder, and reads the folder.
fn streamed(options: &RunOptions<'_>, path: &Path) -> RunOutput {
    let scenario = scenario();
    let mut writer = FolderWriter::create(&scenario, path, path.parent().unwrap()).unwrap();
    let sink = writer.sink();
    let options = RunOptions {
        sink: Some(&sink),
        ..*options
    };
    let output = run(&scenario, &options).unwrap();
    writer.finish(&output, "").unwrap();
    RunFolder::open(path).unwrap().load().unwrap()
}

#[test]
fn rows_that_are_streamed_are_those_in_memory() {
    let place = tempfile::tempdir().unwrap();
    let whole = run(&scenario(), &FULL).unwrap();
    let read = streamed(&FULL, &place.path().join("run"));
    let paths = |output: &RunOutput| -> Vec<String> {
        output.tables().into_iter().map(|(path, _)| path).collect()
    };
    assert_eq!(paths(&read), paths(&whole));
    assert!(paths(&read).len() >= 9, "{:?}", paths(&read));
    for ((path, found), (_, expected)) in read.tables().into_iter().zip(whole.tables()) {
        assert!(found == expected, "{path}");
    }
    assert_eq!(read.summary.flows, whole.summary.flows);
    assert_eq!(read.summary.run.trace_thinned_from_s, None);
    // There are enough packets for several batches.
    assert!(whole.packets.unwrap().rows() > 20_000);
}

#[test]
fn the_same_run_is_streamed_to_the_same_bytes_and_fingerprint() {
    let place = tempfile::tempdir().unwrap();
    let scenario = scenario();
    let write = |name: &str, stream: bool| {
        let path = place.path().join(name);
        let mut writer = FolderWriter::create(&scenario, &path, place.path()).unwrap();
        let sink = stream.then(|| writer.sink());
        let options = RunOptions {
            sink: sink.as_ref(),
            ..FULL
        };
        let output = run(&scenario, &options).unwrap();
        let (_, fingerprint) = writer.finish(&output, "").unwrap();
        let sums = std::fs::read_to_string(path.join("BLAKE3SUMS")).unwrap();
        (fingerprint, sums)
    };
    let first = write("first", true);
    assert_eq!(write("second", true), first);
}

#[test]
fn a_run_that_is_no_longer_wanted_is_not_written() {
    let place = tempfile::tempdir().unwrap();
    let scenario = scenario();
    // With streamed tables, with tables in memory, and without tables.
    for (stream, trace) in [
        (true, TraceLevel::Full),
        (false, TraceLevel::Full),
        (false, TraceLevel::Summary),
    ] {
        let path = place.path().join("run");
        let writer = FolderWriter::create(&scenario, &path, place.path()).unwrap();
        let mut writer = writer.cancelled_by(|| true);
        let sink = stream.then(|| writer.sink());
        let options = RunOptions {
            sink: sink.as_ref(),
            trace,
            packets: trace == TraceLevel::Full,
            ..FULL
        };
        match run(&scenario, &options) {
            Ok(output) => {
                let error = writer.finish(&output, "").unwrap_err();
                assert!(matches!(error, FolderError::Cancelled), "{error}");
            }
            Err(error) => {
                assert!(stream, "{error}");
                let error = writer.abandon().unwrap();
                assert!(matches!(error, FolderError::Cancelled), "{error}");
            }
        }
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_run_without_a_trace_streams_no_empty_tables() {
    let place = tempfile::tempdir().unwrap();
    let options = RunOptions {
        trace: TraceLevel::Summary,
        packets: false,
        ..FULL
    };
    let read = streamed(&options, &place.path().join("run"));
    assert_eq!(read.tables().len(), 0);
}

/// The times at which words of these columns differ from the row before.
fn changes(table: &Table, columns: &[&str]) -> Vec<(f64, Vec<String>)> {
    let times = table.numbers("time_s").unwrap();
    let mut last = Vec::new();
    let mut changes = Vec::new();
    for (row, time) in times.iter().enumerate() {
        let words = columns
            .iter()
            .map(|name| table.words(name).unwrap()[row].to_string());
        let words: Vec<String> = words.collect();
        if words != last {
            changes.push((*time, words.clone()));
        }
        last = words;
    }
    changes
}

#[test]
fn a_trace_that_is_too_long_keeps_changes_and_extremes() {
    let place = tempfile::tempdir().unwrap();
    let traced = RunOptions {
        packets: false,
        ..FULL
    };
    let whole = run(&scenario(), &traced).unwrap();
    let rows = |output: &RunOutput| -> usize {
        output.tables().iter().map(|(_, table)| table.rows()).sum()
    };
    let limited = RunOptions {
        max_rows: Some(20_000),
        ..traced
    };
    let in_memory = run(&scenario(), &limited).unwrap();
    let thin = streamed(&limited, &place.path().join("run"));
    for ((path, found), (_, expected)) in thin.tables().into_iter().zip(in_memory.tables()) {
        assert!(found == expected, "{path}");
    }
    let from = thin.summary.run.trace_thinned_from_s.expect("it says so");
    assert!(from > 1.0 && from < 19.0, "{from}");
    assert!(
        rows(&thin) < rows(&whole) * 3 / 4,
        "{} of {}",
        rows(&thin),
        rows(&whole)
    );
    for (found, expected) in thin.flows.iter().zip(&whole.flows) {
        let (found, expected) = (&found.table, &expected.table);
        let words = ["state", "limit"];
        assert_eq!(changes(found, &words), changes(expected, &words));
        for column in ["cwnd_bytes", "rtt_s", "allowed_rate_bps"] {
            let extreme = |table: &Table, sign: f64| {
                let values = table.numbers(column).unwrap().iter();
                values.map(|value| value * sign).fold(f64::MIN, f64::max)
            };
            for sign in [1.0, -1.0] {
                assert_eq!(extreme(found, sign), extreme(expected, sign), "{column}");
            }
        }
    }
    for (found, expected) in thin.links.iter().zip(&whole.links) {
        let most = |table: &Table| {
            table
                .as_numbers("queue_bytes")
                .unwrap()
                .iter()
                .fold(0.0, |a: f64, b| a.max(*b))
        };
        assert_eq!(most(&found.table), most(&expected.table), "{}", found.name);
    }
}

/// The number of rows of the table of packets, and the rows of lost, dropped and marked ones.
fn packets(output: &RunOutput) -> (usize, Vec<(f64, String)>) {
    let table = output.packets.as_ref().expect("packets are recorded");
    let events = table.words("event").unwrap();
    let rows = table.numbers("time_s").unwrap().iter().zip(events);
    let kept = rows.filter(|(_, event)| !["sent", "received"].contains(&&***event));
    (
        table.rows(),
        kept.map(|(at, event)| (*at, event.to_string())).collect(),
    )
}

#[test]
fn a_long_table_of_packets_loses_packets_and_no_loss() {
    let place = tempfile::tempdir().unwrap();
    let whole = RunOptions {
        trace: TraceLevel::Summary,
        ..FULL
    };
    let limited = RunOptions {
        max_rows: Some(1000),
        ..whole
    };
    let whole = run(&scenario(), &whole).unwrap();
    let thin = run(&scenario(), &limited).unwrap();
    assert_eq!(whole.summary.run.packets_left_out_from_s, None);
    let from = thin
        .summary
        .run
        .packets_left_out_from_s
        .expect("it says so");
    assert!(from > 0.0 && from < 19.0, "{from}");
    let ((all, lost), (some, still_lost)) = (packets(&whole), packets(&thin));
    assert!(
        some > 1000 && some < 4000 && some < all / 4,
        "{some} of {all}"
    );
    assert!(!lost.is_empty());
    assert_eq!(still_lost, lost);
    let read = streamed(&limited, &place.path().join("run"));
    assert!(read.packets == thin.packets, "a file holds the same rows");
}
