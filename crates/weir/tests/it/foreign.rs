//! The QUIC implementations of others in the laboratory, as run by the command.

use crate::common::{json, outcome};
use serde_json::Value;
use std::path::Path;
use weir_lab::scenario::ForeignStack;
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

/// The settings of a run of a stack with one of its controllers.
fn of(stack: ForeignStack, controller: &str) -> String {
    let kind = stack.name();
    format!("flow.stream.transport={{ kind = \"{kind}\", controller = \"{controller}\" }}")
}

/// The folder and the summary of one run of the scenario with this setting.
fn run(folder: &Path, set: &str) -> (String, Value) {
    run_with(folder, &[set])
}

/// The same with several settings.
fn run_with(folder: &Path, sets: &[&str]) -> (String, Value) {
    std::fs::write(folder.join("path.toml"), SCENARIO).expect("written");
    let mut words = vec!["run", "path.toml", "--json"];
    words.extend(sets.iter().flat_map(|set| ["--set", set]));
    let document = json(&outcome(folder, &words));
    let run = &document["runs"][0];
    let folder = run["folder"].as_str().expect("a folder").to_owned();
    (folder, run["summary"].clone())
}

#[test]
fn each_stack_runs_under_each_controller_and_the_same_seed_gives_the_same_summary() {
    for stack in ForeignStack::ALL {
        let own = ["newreno", "cubic"].map(|name| format!("{}-{name}", stack.name()));
        let names = weir_proto::cc::window::names().map(str::to_owned);
        for controller in names.chain(own) {
            let [first, second] = [(); 2].map(|()| {
                let folder = tempfile::tempdir().expect("a folder");
                run(folder.path(), &of(stack, &controller)).1
            });
            let flow = &first["flows"]["stream"];
            let goodput = flow["goodput_bps"].as_f64().expect("a number");
            let name = format!("{} {controller}", stack.name());
            assert!((4e6..10e6).contains(&goodput), "{name}: {flow}");
            assert!(flow["packets_lost"].as_u64() > Some(0), "{name}");
            assert_eq!(first, second, "{name}");
        }
    }
}

#[test]
fn a_clean_link_is_full_under_each_stack() {
    for stack in ForeignStack::ALL {
        let own = format!("{}-cubic", stack.name());
        for controller in ["cubic", "bbr", &own] {
            let folder = tempfile::tempdir().expect("a folder");
            let sets = [&of(stack, controller), "flow.stream.loss.rate=0.0"];
            let (_, summary) = run_with(folder.path(), &sets);
            let goodput = summary["flows"]["stream"]["goodput_bps"].as_f64();
            // Of 1500 octets 28 are headers of IP and UDP, 28 of a packet with its tag (RFC 9000
            // §17.3.1: 1, an identifier of 8, a number of at most 3; §5.3 of RFC 9001: 16) and
            // about 8 of the stream's frame: 95.7 %. BBR's drain and ProbeRTT cost it 3 % in four
            // seconds.
            let least = if controller == "bbr" { 9.0e6 } else { 9.4e6 };
            let name = stack.name();
            assert!(
                goodput.is_some_and(|bps| (least..9.66e6).contains(&bps)),
                "{name} {controller}: {goodput:?}"
            );
        }
    }
}

/// What a stack says of marks.
struct Marks {
    /// Packets that the queue marked, that arrived with a mark in all, and by the intervals of the
    /// trace.
    counts: [u64; 3],
    lost: u64,
    /// Windows of the trace, each with what it was before.
    windows: Vec<[f64; 2]>,
}

/// A transfer that ends, through a queue that marks.
fn marked(stack: ForeignStack, controller: &str, ecn: bool) -> Marks {
    let folder = tempfile::tempdir().expect("a folder");
    let transport = format!(
        "flow.stream.transport={{ kind = \"{}\", controller = \"{controller}\", ecn = {ecn} }}",
        stack.name()
    );
    let sets = [
        transport.as_str(),
        "flow.stream.loss.rate=0.0",
        "flow.stream.app.total=3MB",
        "run.warmup=0s",
        "link.bottleneck.queue={ kind = \"codel\", ecn = true }",
    ];
    let (path, summary) = run_with(folder.path(), &sets);
    let run = RunFolder::open(&folder.path().join(path)).expect("a run");
    let arrivals = run.table("intervals/stream").expect("a table").expect("it");
    let in_intervals = arrivals.as_numbers("marks").expect("numbers");
    let sender = run.table("flows/stream").expect("a table").expect("it");
    let windows = sender.as_numbers("cwnd_bytes").expect("numbers");
    let windows: Vec<f64> = windows.iter().copied().filter(|w| w.is_finite()).collect();
    let flow = &summary["flows"]["stream"];
    let number = |value: &Value| value.as_u64().expect("a number");
    Marks {
        counts: [
            number(&summary["links"]["bottleneck"]["marks"]),
            number(&flow["marks"]),
            in_intervals.iter().sum::<f64>() as u64,
        ],
        lost: number(&flow["packets_lost"]),
        windows: windows.windows(2).map(|two| [two[0], two[1]]).collect(),
    }
}

#[test]
fn marks_of_a_queue_are_counted_and_halve_the_window_without_a_loss() {
    for stack in ForeignStack::ALL {
        let own = format!("{}-newreno", stack.name());
        for controller in ["newreno", &own] {
            let marks = marked(stack, controller, true);
            let name = format!("{} {controller}", stack.name());
            let [queue, summary, trace] = marks.counts;
            assert!(queue > 3, "{name}: {queue}");
            assert_eq!([summary, trace], [queue; 2], "{name}");
            assert_eq!(marks.lost, 0, "{name}");
            // RFC 9002 §7.3.2: half of the window, at each step down; the acknowledgement that
            // brings the mark may have let it grow by a few packets before.
            let down = marks
                .windows
                .iter()
                .filter(|[before, after]| after < before);
            let halves = down.clone().filter(|[before, after]| {
                (before - 2.0..before + 4.0 * 1472.0).contains(&(after * 2.0))
            });
            assert!(down.clone().count() >= 2, "{name}");
            assert_eq!(halves.count(), down.count(), "{name}");

            let unmarked = marked(stack, controller, false);
            assert_eq!(unmarked.counts, [0; 3], "{name}");
            assert!(unmarked.lost > 3, "{name}: the queue drops");
        }
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
fn a_connection_that_is_given_up_says_how_it_ended() {
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
