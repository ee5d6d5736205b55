//! The folder of a run: it is read as it was written, the same run gives the same bytes, and no
//! folder is ever incomplete.
#![cfg(feature = "files")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use weir_lab::run::run;
use weir_lab::run::{
    FlowSummary, FlowTrace, LinkTrace, RUN_FORMAT, RunOptions, RunOutput, Summary,
};
use weir_lab::scenario;
use weir_lab::table::{Column, Table, Values};
use weir_lab::trace::{CaptureOptions, FolderError, FolderWriter, RunFolder, Written, capture_run};

const SCENARIO: &str = r#"
[run]
duration = "1s"

[[link]]
name = "wire"
between = ["a", "b"]
rate = "1Mbit"

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
    summary.run.format = RUN_FORMAT;
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
        flows: vec![FlowTrace::new("stream".to_owned(), table.clone())],
        links: vec![LinkTrace {
            name: "wire.backward".to_owned(),
            table: table.clone(),
        }],
        transfers: Vec::new(),
        delays: None,
        packets: Some(table),
        stages: None,
    }
}

/// Writes a run and opens its folder.
fn written(output: &RunOutput, path: &Path) -> RunFolder {
    FolderWriter::write(output, "", path).unwrap();
    RunFolder::open(path).unwrap()
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
    written(&output, &path);
    let folder = RunFolder::open(&path).unwrap();
    assert_eq!(folder.summary(), &output.summary);
    assert_eq!(folder.load().unwrap(), output);
    let names: Vec<String> = files(&path).into_keys().collect();
    assert_eq!(
        names,
        [
            "BLAKE3SUMS",
            "flows.parquet",
            "links.parquet",
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
    let folder = written(&output, &place.path().join("run"));
    let table = folder.table("flows/stream").unwrap().unwrap();
    let numbers = table.numbers("cwnd_bytes").unwrap();
    assert!(numbers[1].is_nan());
    assert_eq!((numbers[0], numbers[2]), (1.0, 3.0));
    assert_eq!(folder.table("writes/stream").unwrap(), None);
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let place = tempfile::tempdir().unwrap();
    let (first, second) = (place.path().join("1"), place.path().join("2"));
    written(&output(), &first);
    written(&output(), &second);
    assert!(files(&first) == files(&second));
    let summary = String::from_utf8(files(&first)["summary.json"].clone()).unwrap();
    assert!(!summary.contains("wall"), "{summary}");
}

#[test]
fn a_run_takes_the_place_of_its_repetition_and_of_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let mut output = output();
    written(&output, &path);
    fs::create_dir(path.join("plots")).unwrap();
    fs::write(path.join("plots/flow.svg"), "a plot").unwrap();
    fs::write(path.join("notes.txt"), "a note").unwrap();
    // A table of format 2, which had a file for each.
    fs::create_dir(path.join("flows")).unwrap();
    fs::write(path.join("flows/stream.parquet"), "rows").unwrap();
    output.packets = None;
    output.summary.run.duration_s = 7.0;
    written(&output, &path);
    assert!(!path.join("packets.parquet").exists());
    assert!(!path.join("flows").exists());
    assert_eq!(fs::read(path.join("plots/flow.svg")).unwrap(), b"a plot");
    assert_eq!(fs::read(path.join("notes.txt")).unwrap(), b"a note");
    let other = place.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("letter.txt"), "dear").unwrap();
    for occupied in [&other, &other.join("letter.txt")] {
        let error = FolderWriter::write(&output, "", occupied).unwrap_err();
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
fn a_full_trace_is_never_replaced_by_less() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    let full = output();
    written(&full, &path);
    let before = files(&path);
    let summary_only = |duration_s: f64, build: &str| {
        let mut less = output();
        (less.flows, less.links, less.packets) = (Vec::new(), Vec::new(), None);
        less.summary.run.duration_s = duration_s;
        less.summary.run.build = build.to_owned();
        less
    };
    let of_full = full.summary.run.duration_s;
    for (less, expected) in [
        (summary_only(of_full, "another"), Written::KeptFuller),
        (summary_only(2.0, "another"), Written::KeptOther),
    ] {
        assert_eq!(FolderWriter::write(&less, "", &path).unwrap(), expected);
        assert!(files(&path) == before);
    }
    let mut no_packets = output();
    no_packets.packets = None;
    let kept = FolderWriter::write(&no_packets, "", &path).unwrap();
    assert_eq!(kept, Written::KeptFuller);
    assert_eq!(FolderWriter::write(&full, "", &path).unwrap(), Written::New);
    assert!(files(&path) == before);
}

#[test]
fn every_flipped_bit_is_an_error_that_names_a_file() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    written(&output(), &path);
    let mut tried = 0;
    for (name, content) in files(&path) {
        // About a hundred positions in each file, each with a different bit.
        let step = (content.len() / 100).max(1);
        for at in (0..content.len()).step_by(step) {
            let mut damaged = content.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(path.join(&name), &damaged).unwrap();
            let read = RunFolder::open(&path).and_then(|folder| folder.load());
            let error = read.expect_err(&format!("{name}: octet {at}")).to_string();
            assert!(error.contains(&path.display().to_string()), "{error}");
            tried += 1;
        }
        fs::write(path.join(&name), &content[..content.len() / 2]).unwrap();
        let read = RunFolder::open(&path).and_then(|folder| folder.load());
        assert!(read.is_err(), "half of {name}");
        fs::write(path.join(&name), &content).unwrap();
    }
    assert!(tried > 600, "{tried}");
    RunFolder::open(&path).unwrap().load().unwrap();
    fs::remove_file(path.join("packets.parquet")).unwrap();
    let read = RunFolder::open(&path).unwrap().load();
    assert!(read.is_err(), "a table that was written is missing");
}

#[test]
fn another_format_is_named_with_the_way_out() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("run");
    written(&output(), &path);
    let summary = fs::read_to_string(path.join("summary.json")).unwrap();
    let line = format!("\"format\": {RUN_FORMAT},");
    for (other, said) in [
        ("", ["is in format 1", "scenario.toml\" again"]),
        (
            "\"format\": 2,",
            ["is in format 2", "scenario.toml\" again"],
        ),
        (
            "\"format\": 99,",
            ["is in format 99", "use a later version"],
        ),
    ] {
        assert!(summary.contains(&line), "{summary}");
        fs::write(path.join("summary.json"), summary.replace(&line, other)).unwrap();
        let error = RunFolder::open(&path).unwrap_err().to_string();
        for words in said {
            assert!(error.contains(words), "{error}");
        }
    }
}

#[test]
fn what_is_no_run_is_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    let error = RunFolder::open(place.path()).unwrap_err().to_string();
    assert!(error.contains("it has no scenario.toml"), "{error}");
    let path = place.path().join("run");
    let folder = written(&output(), &path);
    fs::write(path.join("flows.parquet"), "no columns").unwrap();
    let error = folder.table("flows/stream").unwrap_err().to_string();
    assert!(error.contains("flows.parquet"), "{error}");
    fs::write(path.join("summary.json"), "{").unwrap();
    let error = RunFolder::open(&path).unwrap_err().to_string();
    assert!(error.contains("summary.json"), "{error}");
}

#[test]
fn a_capture_of_another_result_is_refused() {
    let scenario = scenario::parse(SCENARIO, "test.toml").unwrap();
    let summary = run(&scenario, &RunOptions::default()).unwrap().summary;
    let capture = |summary: &Summary| {
        capture_run(
            &scenario,
            summary,
            &CaptureOptions::default(),
            std::io::sink(),
        )
    };
    assert!(capture(&summary).unwrap() > 0);
    let mut other = summary.clone();
    other.run.commit = Some("another".to_owned());
    assert!(capture(&other).is_ok(), "the same result of another commit");
    other
        .flows
        .values_mut()
        .for_each(|flow| flow.packets_lost += 1);
    let error = capture(&other).unwrap_err().to_string();
    assert!(error.contains("came to another result"), "{error}");
}

#[test]
fn a_capture_does_not_change_the_run_that_it_is_of() {
    // The application is polled whenever its endpoint has events, with and without a capture. If a
    // capture caused more polls, this audio application would write at other times.
    let text = r#"
        [run]
        duration = "5s"
        [[link]]
        name = "wire"
        between = ["a", "b"]
        rate = "705826bit"
        [[flow]]
        name = "bulk"
        from = "a"
        to = "b"
        transport = { kind = "tcp", rules = "ns2-sack1", controller = "tfrc", ecn = "accurate" }
        [[flow]]
        name = "audio"
        from = "a"
        to = "b"
        transport = { kind = "dccp", ccid = 3, profile = "linux-2008" }
        stop = "2500ms"
        app = { kind = "audio", format = "mp3", playout = "0s" }
    "#;
    let scenario = scenario::parse(text, "test.toml").unwrap();
    let summary = run(&scenario, &RunOptions::default()).unwrap().summary;
    let options = CaptureOptions::default();
    let captured = capture_run(&scenario, &summary, &options, std::io::sink());
    assert!(captured.unwrap() > 0);
}
