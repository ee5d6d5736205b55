//! Exports to qlog have the structure of their schema and the contents of the run's tables.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use weir_lab::run::{RunOptions, RunOutput, TraceLevel, run};
use weir_lab::scenario;
use weir_lab::trace::{Format, export};

const SCENARIO: &str = r#"
[run]
duration = "5s"
seed = 2

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "4Mbit"
delay = "20ms"
queue = { kind = "droptail", limit = "30000b" }

[[flow]]
name = "quic"
from = "server"
to = "client"
transport = { kind = "quic", controller = "cubic" }

[[flow]]
name = "tfrc"
from = "client"
to = "server"
transport = { kind = "dccp", ccid = 3 }
"#;

/// The run whose export is tested, with the rows of packets or without.
pub(crate) fn output(packets: bool) -> RunOutput {
    let scenario = scenario::parse(SCENARIO, "test.toml").unwrap();
    let options = RunOptions {
        trace: TraceLevel::Full,
        packets,
        ..RunOptions::default()
    };
    run(&scenario, &options).unwrap()
}

/// The documents of an export by their file names.
fn documents(run: &RunOutput, format: &str) -> BTreeMap<String, Value> {
    let files = export(run, Format::named(format).unwrap()).unwrap();
    let parsed = files.into_iter().map(|file| {
        let document = serde_json::from_slice(&file.content).unwrap();
        (file.path, document)
    });
    parsed.collect()
}

fn is_one_of(value: &Value, words: &[&str]) -> bool {
    value.as_str().is_some_and(|word| words.contains(&word))
}

/// The frames of a packet are one ACK frame, with pairs of numbers from the highest on, or not
/// known.
fn check_frames(frames: &Value) {
    let Some(frames) = frames.as_array() else {
        assert!(frames.is_null(), "{frames}");
        return;
    };
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0]["frame_type"], "ack");
    let ranges = frames[0]["acked_ranges"].as_array().unwrap();
    let mut below = u64::MAX;
    for range in ranges {
        let [first, last] = [0, 1].map(|end| range[end].as_u64().unwrap());
        assert!(first <= last && last < below, "{ranges:?}");
        below = first;
    }
    assert!(!ranges.is_empty());
}

/// The permitted data of an event, from draft-ietf-quic-qlog-quic-events-13; without their
/// namespace, the names of events are the same in both schemas.
fn check_data(name: &str, data: &Value) {
    let only = |names: &[&str]| {
        let keys = data.as_object().unwrap().keys();
        for key in keys {
            assert!(names.contains(&key.as_str()), "{name}: {key}");
        }
    };
    match name {
        "recovery_metrics_updated" | "metrics_updated" => {
            assert!(!data.as_object().unwrap().is_empty(), "at least one metric");
            only(&[
                "latest_rtt",
                "smoothed_rtt",
                "congestion_window",
                "bytes_in_flight",
                "ssthresh",
                "pacing_rate",
            ]);
            for (metric, value) in data.as_object().unwrap() {
                let is_time = metric.ends_with("_rtt");
                assert!(
                    is_time && value.is_f64() || value.is_u64(),
                    "{metric}: {value}"
                );
            }
        }
        "congestion_state_updated" => {
            // The controller's rule is ours.
            only(&["limit", "old", "new", "trigger"]);
            assert!(data["new"].is_string(), "{data}");
            let trigger = &data["trigger"];
            assert!(
                trigger.is_null() || is_one_of(trigger, &["persistent_congestion", "ecn"]),
                "{data}"
            );
        }
        "packet_sent" | "packet_received" => {
            only(&["frames", "header", "raw"]);
            check_frames(&data["frames"]);
            assert!(data["raw"]["length"].is_u64(), "{data}");
        }
        "packet_lost" => {
            only(&["header", "trigger"]);
            let triggers = ["reordering_threshold", "time_threshold", "pto_expired"];
            assert!(is_one_of(&data["trigger"], &triggers), "{data}");
        }
        _ => panic!("no event has the name {name}"),
    }
    if name.starts_with("packet") {
        let header = &data["header"];
        assert!(
            is_one_of(&header["packet_type"], &["initial", "1RTT", "unknown"]),
            "{header}"
        );
        assert!(header["packet_number"].is_u64(), "{header}");
    }
}

/// Checks every event of a document; returns the number of events by name at each end.
fn check_traces(document: &Value, namespaces: &[&str]) -> BTreeMap<(String, String), usize> {
    let mut counts = BTreeMap::new();
    for trace in document["traces"].as_array().expect("traces") {
        let end = &trace["vantage_point"]["type"];
        assert!(is_one_of(end, &["client", "server"]), "{end}");
        let mut last = 0.0;
        for event in trace["events"].as_array().expect("events") {
            let time = event["time"].as_f64().expect("a time");
            assert!(time >= last, "{time} after {last}");
            last = time;
            let name = event["name"].as_str().expect("a name");
            let (namespace, name) = name.split_once(':').expect("a namespace");
            assert!(namespaces.contains(&namespace), "{namespace}:{name}");
            check_data(name, &event["data"]);
            let key = (end.as_str().unwrap().to_owned(), name.to_owned());
            *counts.entry(key).or_default() += 1;
        }
        assert!(last <= 5000.0, "milliseconds: {last}");
    }
    counts
}

#[test]
fn the_current_draft_has_its_fields_and_the_events_of_the_tables() {
    let run = output(true);
    let documents = documents(&run, "qlog");
    assert_eq!(documents.len(), 2);
    for (flow, document) in [
        ("quic", &documents["quic.qlog"]),
        ("tfrc", &documents["tfrc.qlog"]),
    ] {
        assert_eq!(
            document["file_schema"],
            "urn:ietf:params:qlog:file:contained"
        );
        assert_eq!(document["serialization_format"], "application/qlog+json");
        for trace in document["traces"].as_array().unwrap() {
            let schemas = &trace["event_schemas"];
            assert_eq!(schemas[0], "urn:ietf:params:qlog:events:quic-13");
            let common = &trace["common_fields"];
            assert_eq!(common["time_format"], "relative_to_epoch");
            // The epoch of a monotonic clock is unspecified.
            assert_eq!(common["reference_time"]["clock_type"], "monotonic");
            assert_eq!(common["reference_time"]["epoch"], "unknown");
        }
        let counts = check_traces(document, &["quic"]);
        let packets = run.packets.as_ref().unwrap();
        let rows = |place: &str, event: &str| {
            let columns = ["place", "name", "event"].map(|name| packets.words(name).unwrap());
            let row = |row: &usize| {
                let [of, name, kind] = columns.map(|column| &*column[*row]);
                (of, name, kind) == (place, flow, event)
            };
            (0..packets.rows()).filter(row).count()
        };
        for (end, place) in [("client", "sender"), ("server", "receiver")] {
            for event in ["sent", "received", "lost"] {
                let key = (end.to_owned(), format!("packet_{event}"));
                let found = counts.get(&key).copied().unwrap_or_default();
                assert_eq!(found, rows(place, event), "{flow}: {event} at the {place}");
            }
        }
        assert!(rows("sender", "sent") > 500);
        let metrics = ("client".to_owned(), "recovery_metrics_updated".to_owned());
        assert!(counts[&metrics] > 20, "{flow}");
    }
    let quic = documents["quic.qlog"]["traces"][0]["events"]
        .as_array()
        .unwrap();
    let mut windows = quic
        .iter()
        .filter_map(|event| event["data"]["congestion_window"].as_f64());
    let table = run.flows.iter().find(|flow| flow.name == "quic").unwrap();
    let last = table.table.numbers("cwnd_bytes").unwrap().last().copied();
    assert_eq!(windows.next_back(), last);
}

/// RFC 9000 §12.3: a packet number is used once in its space. The QUIC handshake is one Initial
/// packet of the client, its acknowledgement by the server, and the client's.
#[test]
fn each_packet_of_quic_has_its_type_and_its_number_once() {
    let run = output(true);
    for (format, sent) in [
        ("qlog", "quic:packet_sent"),
        ("qlog-0.3", "transport:packet_sent"),
    ] {
        let document = &documents(&run, format)["quic.qlog"];
        for trace in document["traces"].as_array().unwrap() {
            let events = trace["events"].as_array().unwrap().iter();
            let headers = events.filter(|event| event["name"] == sent);
            let headers = headers.map(|event| &event["data"]["header"]);
            let numbered = headers.map(|header| {
                let packet_type = header["packet_type"].as_str().unwrap();
                (packet_type, header["packet_number"].as_u64().unwrap())
            });
            let numbered: Vec<(&str, u64)> = numbered.collect();
            assert_eq!(numbered[0], ("initial", 0), "{format}");
            assert!(numbered.contains(&("1RTT", 0)), "{format}");
            let distinct: BTreeSet<_> = numbered.iter().collect();
            assert_eq!(distinct.len(), numbered.len(), "{format}");
        }
    }
}

/// RFC 9000 §13.2.3 and §19.3.1: an ACK frame lists what its sender has received, and no other
/// packet.
#[test]
fn acknowledgements_report_exactly_the_packets_that_arrived_before_them() {
    let run = output(true);
    let document = &documents(&run, "qlog")["quic.qlog"];
    let mut reported = 0;
    for trace in document["traces"].as_array().unwrap() {
        let mut arrived: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for event in trace["events"].as_array().unwrap() {
            let header = &event["data"]["header"];
            let packet_type = header["packet_type"].as_str().unwrap_or_default();
            let space = arrived.entry(packet_type).or_default();
            if event["name"] == "quic:packet_received" {
                space.insert(header["packet_number"].as_u64().unwrap());
            }
            let frames = event["data"]["frames"].as_array();
            let Some(frames) = frames.filter(|_| event["name"] == "quic:packet_sent") else {
                continue;
            };
            let ranges = frames[0]["acked_ranges"].as_array().unwrap().iter();
            let ends = ranges.map(|range| [0, 1].map(|end| range[end].as_u64().unwrap()));
            let listed: BTreeSet<u64> = ends.flat_map(|[first, last]| first..=last).collect();
            let newest: BTreeSet<u64> = match listed.first() {
                // 32 ranges are the most that a frame has by default, and leave the oldest out.
                Some(least) if frames[0]["acked_ranges"].as_array().map(Vec::len) == Some(32) => {
                    space.range(least..).copied().collect()
                }
                _ => space.clone(),
            };
            assert_eq!(listed, newest, "{event}");
            reported += 1;
        }
    }
    assert!(reported > 100, "{reported}");
}

#[test]
fn the_earlier_version_has_the_names_that_qvis_reads() {
    let documents = documents(&output(true), "qlog-0.3");
    for document in documents.values() {
        assert_eq!(document["qlog_version"], "0.3");
        assert_eq!(document["qlog_format"], "JSON");
        for trace in document["traces"].as_array().unwrap() {
            assert_eq!(trace["common_fields"]["time_format"], "relative");
            assert_eq!(trace["common_fields"]["reference_time"], 0);
        }
        check_traces(document, &["recovery", "transport"]);
    }
}

#[test]
fn without_packets_there_is_the_controller_of_the_sender() {
    for (_, document) in documents(&output(false), "qlog") {
        let traces = document["traces"].as_array().unwrap();
        assert_eq!(traces.len(), 1);
        assert_eq!(traces[0]["vantage_point"]["type"], "client");
        let counts = check_traces(&document, &["quic"]);
        assert!(counts.keys().all(|(_, name)| !name.starts_with("packet")));
    }
}

#[test]
fn a_run_of_transfers_alone_has_no_file_and_says_so() {
    let end =
        "transport = { kind = \"tcp\" }\narrivals = { kind = \"list\", transfers = [[0, 1000]] }\n";
    let (head, _) = SCENARIO.split_once("transport").unwrap();
    let scenario = scenario::parse(&format!("{head}{end}"), "test.toml").unwrap();
    let options = RunOptions {
        trace: TraceLevel::Full,
        ..RunOptions::default()
    };
    let transfers = run(&scenario, &options).unwrap();
    for format in ["qlog", "qlog-0.3"] {
        let error = export(&transfers, Format::named(format).unwrap()).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("has no flow with a trace"), "{said}");
    }
}
