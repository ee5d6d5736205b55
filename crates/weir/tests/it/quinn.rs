//! quinn in the laboratory, as run by the command.

use crate::common::{json, outcome};
use serde_json::Value;
use std::path::Path;
use weir_lab::trace::RunFolder;

const SCENARIO: &str = r#"
[run]
duration = "5s"
warmup = "1s"

[[link]]
name = "bottleneck"
between = ["client", "server"]
rate = "10Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "50000b" }

[[flow]]
name = "stream"
from = "client"
to = "server"
transport = { kind = "quinn", controller = "newreno" }
app = { kind = "bulk", packet = 15000 }
loss = { kind = "random", rate = 0.002 }
"#;

/// The folder and the summary of one run of the scenario with this setting.
fn run(folder: &Path, set: &str) -> (String, Value) {
    std::fs::write(folder.join("path.toml"), SCENARIO).expect("written");
    let words = ["run", "path.toml", "--json", "--set", set];
    let document = json(&outcome(folder, &words));
    let run = &document["runs"][0];
    let folder = run["folder"].as_str().expect("a folder").to_owned();
    (folder, run["summary"].clone())
}

#[test]
fn quinn_runs_under_each_controller_and_the_same_seed_gives_the_same_summary() {
    for controller in weir_proto::cc::window::names().chain(["quinn-newreno", "quinn-cubic"]) {
        let [first, second] = [(); 2].map(|()| {
            let folder = tempfile::tempdir().expect("a folder");
            let set = format!("flow.stream.transport.controller={controller}");
            run(folder.path(), &set).1
        });
        let flow = &first["flows"]["stream"];
        let goodput = flow["goodput_bps"].as_f64().expect("a number");
        assert!((4e6..10e6).contains(&goodput), "{controller}: {flow}");
        assert!(flow["packets_lost"].as_u64() > Some(0), "{controller}");
        assert_eq!(first, second, "{controller}");
    }
}

#[test]
fn another_seed_gives_another_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = ["run.seed=1", "run.seed=2"].map(|set| run(folder.path(), set).1);
    assert_ne!(first["flows"], second["flows"]);
}

#[test]
fn checking_the_codec_changes_nothing_for_octets() {
    let folder = tempfile::tempdir().expect("a folder");
    let [off, on] = ["run.codec=false", "run.codec=true"].map(|set| run(folder.path(), set).1);
    assert_eq!(off["flows"], on["flows"]);
}

#[test]
fn each_loss_of_the_summary_is_a_row_without_a_number() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("path.toml"), SCENARIO).expect("written");
    let whole = "run.warmup=0s";
    let words = ["run", "path.toml", "--json", "--packets", "--set", whole];
    let document = json(&outcome(folder.path(), &words));
    let run = &document["runs"][0];
    let path = folder
        .path()
        .join(run["folder"].as_str().expect("a folder"));
    let packets = RunFolder::open(&path).expect("a run").table("packets");
    let packets = packets.expect("a table").expect("they were asked for");
    let [places, events] = ["place", "event"].map(|name| packets.words(name).expect("words"));
    let numbers = packets.as_numbers("number").expect("numbers");
    let rows = 0..packets.rows();
    let lost = rows.filter(|&row| (&*places[row], &*events[row]) == ("sender", "lost"));
    let lost: Vec<_> = lost.collect();
    let counted = run["summary"]["flows"]["stream"]["packets_lost"].as_u64();
    assert!(counted > Some(10), "{counted:?}");
    assert_eq!(Some(lost.len() as u64), counted);
    assert!(lost.iter().all(|&row| numbers[row].is_nan()));
}

#[test]
fn a_run_has_a_trace_of_the_window_and_a_capture_of_its_datagrams() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, _) = run(folder.path(), "flow.stream.transport.controller=cubic");
    let export = |format: &str| {
        let words = ["export", &path, "--format", format];
        let (status, stdout, stderr) = outcome(folder.path(), &words);
        assert_eq!(status, Some(0), "{format}: {stderr}");
        stdout
    };
    let capture = export("pcapng");
    let size = std::fs::metadata(folder.path().join(capture.trim_end())).expect("a file");
    assert!(size.len() > 4_000_000, "{}", size.len());
    export("csv");
    let table = folder.path().join(&path).join("csv/flows/stream.csv");
    let table = std::fs::read_to_string(&table).expect("a table");
    for column in [
        "cwnd_bytes",
        "bytes_in_flight",
        "smoothed_rtt_s",
        "ssthresh_bytes",
    ] {
        assert!(
            table
                .lines()
                .next()
                .is_some_and(|head| head.contains(column))
        );
    }
    assert!(table.contains("recovery") && table.contains("congestion_avoidance"));
    assert!(table.lines().count() > 2000, "{}", table.lines().count());
}

#[test]
fn a_connection_that_quinn_gives_up_says_how_it_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, summary) = run(folder.path(), "flow.stream.loss.rate=1.0");
    let flow = &summary["flows"]["stream"];
    assert_eq!(
        flow.get("ended"),
        None,
        "five seconds are too short to give up"
    );
    let set = "flow.stream.transport.idle_timeout=2s";
    let scenario = SCENARIO.replace("rate = 0.002", "rate = 1.0");
    std::fs::write(folder.path().join("deaf.toml"), scenario).expect("written");
    let words = ["run", "deaf.toml", "--set", set];
    let (_, stdout, _) = outcome(folder.path(), &words);
    assert!(
        stdout.contains("ended\nstream") && stdout.contains("timed out\n"),
        "{stdout}"
    );
}

#[test]
fn large_datagrams_fill_a_path_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = SCENARIO
        .replace("delay = \"10ms\"", "delay = \"10ms\"\nmtu = 9000")
        .replace("rate = 0.002", "rate = 0.0")
        .replace("\"newreno\"", "\"tfrc\"");
    std::fs::write(folder.path().join("jumbo.toml"), scenario).expect("written");
    let document = json(&outcome(folder.path(), &["run", "jumbo.toml", "--json"]));
    let goodput = &document["runs"][0]["summary"]["flows"]["stream"]["goodput_bps"];
    assert!(goodput.as_f64() > Some(7e6), "{goodput}");
}
