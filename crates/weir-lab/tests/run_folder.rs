//! The folder of a run: it reads back as it was written, the same run gives the same bytes, and no
//! folder is ever incomplete.
#![cfg(feature = "files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use weir_lab::run::{FlowSummary, FlowTrace, LinkTrace, RunOutput, Summary};
use weir_lab::scenario;
use weir_lab::table::{Column, Table, Values};
use weir_lab::trace::{FolderError, RunFolder};

const SCENARIO: &str = r#"
[run]
duration = "1s"

[[link]]
name = "wire"
between = ["a", "b"]

[[flow]]
name = "stream"
from = "a"
to = "b"
transport = { kind = "dccp" }
"#;

fn output() -> RunOutput {
    let column = |name: &str, values| Column {
        name: name.to_owned(),
        values,
    };
    let numbers: Vec<f64> = (0..5000).map(|n| f64::from(n) * 0.1).collect();
    let gaps = numbers
        .iter()
        .map(|&n| if n < 3.0 { f64::INFINITY } else { n });
    let words = numbers
        .iter()
        .map(|&n| if n < 9.0 { "slow_start" } else { "" }.into());
    let table = Table {
        columns: vec![
            column("time_s", Values::F64(numbers.clone())),
            column("rtt_s", Values::F64(gaps.collect())),
            column(
                "drops",
                Values::U64((0..5000).map(|n| n * (1 << 40)).collect()),
            ),
            column("state", Values::Text(words.collect())),
        ],
    };
    let mut summary = Summary::default();
    summary.run.seed = 7;
    summary.run.duration_s = 0.1 + 0.2;
    let flow = FlowSummary {
        throughput_bps: 1e7 / 3.0,
        ..FlowSummary::default()
    };
    summary.flows.insert("stream".to_owned(), flow);
    RunOutput {
        scenario: scenario::parse(SCENARIO, "test.toml").unwrap(),
        summary,
        flows: vec![FlowTrace {
            name: "stream".to_owned(),
            table: table.clone(),
            writes: None,
            gaps: None,
        }],
        links: vec![LinkTrace {
            name: "wire.backward".to_owned(),
            table: table.clone(),
        }],
        packets: Some(table),
    }
}

/// Every file below a folder with its content.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn what_is_written_comes_back() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("deep/run");
    let output = output();
    RunFolder::write(&output, &path).unwrap();
    let folder = RunFolder::open(&path).unwrap();
    assert_eq!(folder.summary(), &output.summary);
    assert_eq!(folder.load().unwrap(), output);
    let names: Vec<String> = files(&path).into_keys().collect();
    assert_eq!(
        names,
        [
            "flows/stream.parquet",
            "links/wire.backward.parquet",
            "packets.parquet",
            "scenario.toml",
            "summary.json"
        ]
    );
}

#[test]
fn missing_numbers_come_back_as_missing() {
    let place = tempfile::tempdir().unwrap();
    let mut output = output();
    output.flows[0].table = Table {
        columns: vec![Column {
            name: "cwnd_bytes".to_owned(),
            values: Values::F64(vec![1.0, f64::NAN, 3.0]),
        }],
    };
    let folder = RunFolder::write(&output, &place.path().join("run")).unwrap();
    let table = folder.table("flows/stream").unwrap().unwrap();
    let numbers = table.numbers("cwnd_bytes").unwrap();
    assert!(numbers[1].is_nan());
    assert_eq!((numbers[0], numbers[2]), (1.0, 3.0));
    assert_eq!(folder.table("writes/stream").unwrap(), None);
}

#[test]
fn the_same_run_gives_the_same_bytes_whatever_the_wall_clock_says() {
    let place = tempfile::tempdir().unwrap();
    let (first, second) = (place.path().join("1"), place.path().join("2"));
    let mut output = output();
    RunFolder::write(&output, &first).unwrap();
    output.summary.run.wall_s = Some(1.25);
    RunFolder::write(&output, &second).unwrap();
    assert!(files(&first) == files(&second));
    let summary = String::from_utf8(files(&first)["summary.json"].clone()).unwrap();
    assert!(!summary.contains("wall"), "{summary}");
}

#[test]
fn a_run_is_replaced_whole_and_nothing_else_is_touched() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut output = output();
    RunFolder::write(&output, &path).unwrap();
    output.packets = None;
    RunFolder::write(&output, &path).unwrap();
    assert!(!path.join("packets.parquet").exists());
    let other = place.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("letter.txt"), "dear").unwrap();
    for occupied in [&other, &other.join("letter.txt")] {
        let error = RunFolder::write(&output, occupied).unwrap_err();
        assert!(matches!(error, FolderError::Occupied(_)), "{error}");
    }
    assert_eq!(fs::read(other.join("letter.txt")).unwrap(), b"dear");
    let mut left: Vec<_> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["other", "run"], "no partial folder stays behind");
}

#[test]
fn what_is_no_run_is_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let error = RunFolder::open(place.path()).unwrap_err().to_string();
    assert!(error.contains("it has no scenario.toml"), "{error}");
    let path = place.path().join("run");
    let folder = RunFolder::write(&output(), &path).unwrap();
    fs::write(path.join("flows/stream.parquet"), "no columns").unwrap();
    let error = folder.table("flows/stream").unwrap_err().to_string();
    assert!(error.contains("flows/stream.parquet"), "{error}");
    fs::write(path.join("summary.json"), "{").unwrap();
    let error = RunFolder::open(&path).unwrap_err().to_string();
    assert!(error.contains("summary.json"), "{error}");
}
