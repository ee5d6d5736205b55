//! The files that `weir serve` and `weir send` keep of a test: captures, complete even after
//! Ctrl-C.

use crate::common::{self, DCCP_IN_UDP, Outcome, Running, fields, json, parse, run, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use weir_lab::trace::capture::{Capture, CaptureError};

/// A server at a free port of loopback.
fn serve(arguments: &[&str]) -> (Running, String) {
    common::serve(&[&["-B", "127.0.0.1"], arguments].concat())
}

fn send(port: &str, arguments: &[&str]) -> Running {
    Running::weir(&[&["send", "127.0.0.1", "-p", port], arguments].concat())
}

fn weir(arguments: &[&str]) -> Outcome {
    run(&mut common::weir(arguments))
}

/// The UDP ports of each datagram; fails on a damaged file or a truncated datagram.
fn datagrams(path: &Path) -> Vec<[u16; 2]> {
    let mut capture = Capture::open(path).expect("a capture");
    let mut ports = Vec::new();
    let frame = |capture: &mut Capture| -> Result<Option<Vec<u8>>, CaptureError> {
        Ok(capture.next_frame()?.map(|frame| frame.bytes.to_vec()))
    };
    while let Some(octets) = frame(&mut capture).expect("a whole file") {
        assert_eq!((octets[0], octets[9]), (0x45, 17), "IPv4 and UDP");
        let port = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        ports.push([port(20), port(22)]);
    }
    ports
}

/// The values that tshark reads for these fields of each packet, with DCCP at this UDP port.
fn tshark(file: &Path, port: &str, names: &[&str]) -> Option<Vec<String>> {
    let port = format!("lua_script1:{port}");
    let words = ["-X", &port, "-o", "udp.check_checksum:TRUE"];
    let words = [&DCCP_IN_UDP[..], &words, &fields(names)].concat();
    common::tshark(file, &words)
}

#[test]
fn both_ends_capture_the_same_datagrams_and_wireshark_reads_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let files: [PathBuf; 2] = ["server", "client"].map(|name| folder.path().join(name));
    let (server, port) = serve(&["--pcap", text(&files[0]), "--ecn"]);
    let words = [
        "-t",
        "1",
        "-b",
        "400kbit",
        "--ecn",
        "--pcap",
        text(&files[1]),
    ];
    let (status, stderr) = send(&port, &words).end();
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stderr.contains(" packets"), "{stderr}");
    let (status, stderr) = server.interrupt();
    assert_eq!(status, Some(130), "{stderr}");
    let [at_server, at_client] = files.each_ref().map(|file| datagrams(file));
    let number: u16 = port.parse().expect("a port");
    let to_server = |ports: &[[u16; 2]]| ports.iter().filter(|to| to[1] == number).count();
    assert!(to_server(&at_client) > 30, "{}", at_client.len());
    // Packets that arrived after the client had ended are in one capture only.
    assert_eq!(to_server(&at_server), to_server(&at_client));
    for file in &files {
        let (status, rows, stderr) = weir(&["decode", text(file), "--port", &port]);
        assert_eq!(status, Some(0), "{stderr}");
        assert_eq!(rows.lines().count(), datagrams(file).len(), "{stderr}");
        assert!(
            stderr.ends_with("0 with a wrong checksum, 0 malformed\n"),
            "{stderr}"
        );
    }
    let fields = [
        "_ws.col.Protocol",
        "udp.checksum.status",
        "ip.dsfield.ecn",
        "_ws.malformed",
    ];
    for file in &files {
        let Some(rows) = tshark(file, &port, &fields) else {
            return;
        };
        let marked = rows.iter().filter(|row| *row == "DCCP\t1\t2\t").count();
        let plain = rows.iter().filter(|row| *row == "DCCP\t1\t0\t").count();
        assert_eq!(marked + plain, rows.len(), "{rows:?}");
        assert!(marked > 20, "{marked}");
    }
}

#[test]
fn a_capture_is_whole_after_an_interrupt() {
    let folder = tempfile::tempdir().expect("a folder");
    let files: [PathBuf; 2] = ["server", "client"].map(|name| folder.path().join(name));
    let (server, port) = serve(&["--pcap", text(&files[0]), "--snaplen", "60"]);
    let words = [
        "-t",
        "60",
        "-b",
        "400kbit",
        "-i",
        "200ms",
        "--pcap",
        text(&files[1]),
    ];
    let mut client = send(&port, &words);
    assert!(client.line().starts_with("connecting"));
    assert!(client.line().contains("0.00-0.20"));
    let (status, stderr) = client.interrupt();
    assert_eq!(status, Some(130), "{stderr}");
    let (status, stderr) = server.interrupt();
    assert_eq!(status, Some(130), "{stderr}");
    for file in &files {
        assert!(datagrams(file).len() > 10);
    }
}

fn summary(folder: &Path) -> Value {
    parse(&std::fs::read_to_string(folder.join("summary.json")).expect("a summary"))
}

/// Reads the lines of a test until this text, which must be in one of the first lines.
fn read_until(running: &mut Running, text: &str) {
    let lines: Vec<_> = (0..8)
        .map(|_| running.line())
        .take_while(|line| !line.contains(text))
        .collect();
    assert!(lines.len() < 8, "{lines:?}");
}

#[test]
fn a_measured_test_is_a_run_that_can_be_drawn_and_exported() {
    let place = tempfile::tempdir().expect("a folder");
    let [at_server, at_client] = ["server", "client"].map(|name| place.path().join(name));
    for ccid in ["2", "3"] {
        let (server, port) = serve(&["--trace", text(&at_server), "--ccid", ccid]);
        let words = ["-t", "1", "-b", "400kbit", "-P", "2", "--ccid", ccid];
        let words = [&words[..], &["--trace", text(&at_client), "-l", "1000"]].concat();
        let (status, stderr) = send(&port, &words).end();
        assert_eq!(status, Some(0), "{stderr}");
        let (status, stderr) = server.interrupt();
        assert_eq!(status, Some(130), "{stderr}");
        for flow in ["stream-1", "stream-2"] {
            let measured = &summary(&at_client)["flows"][flow];
            let goodput = measured["goodput_bps"].as_f64().expect("a rate");
            assert!((20_000.0..600_000.0).contains(&goodput), "{measured}");
            assert!(
                measured["rtt_s"]["min"]
                    .as_f64()
                    .is_some_and(|rtt| rtt > 0.0)
            );
            assert!(
                measured["rate_bps"]["mean"]
                    .as_f64()
                    .is_some_and(|rate| rate > 0.0)
            );
        }
        let scenario = std::fs::read_to_string(at_client.join("scenario.toml")).expect("text");
        assert!(scenario.starts_with("# measured on the wire"), "{scenario}");
        assert!(scenario.contains(&format!("ccid = {ccid}")), "{scenario}");
        let (status, drawn, stderr) = weir(&["plot", text(&at_client)]);
        assert_eq!(status, Some(0), "{stderr}");
        assert!(
            drawn.contains("stream-2") && drawn.contains("index.html"),
            "{drawn}"
        );
        let (status, _, stderr) = weir(&["export", text(&at_client), "--format", "csv"]);
        assert_eq!(status, Some(0), "{stderr}");
        let (status, _, stderr) = weir(&["export", text(&at_client), "--format", "pcapng"]);
        assert_eq!(status, Some(2), "{stderr}");
        assert!(stderr.contains("measured on the wire"), "{stderr}");
    }
    // Four connections to two servers: no folder was overwritten.
    let folders = ["1", "2", "3", "4"].map(|name| at_server.join(name));
    for folder in folders {
        let got = &summary(&folder)["flows"];
        let (_, got) = got
            .as_object()
            .and_then(|flows| flows.iter().next())
            .expect("a flow");
        assert!(
            got["packets_received"]
                .as_u64()
                .is_some_and(|count| count > 20),
            "{got}"
        );
    }
}

#[test]
fn an_interrupted_test_leaves_a_whole_folder_at_the_end_that_sends() {
    let place = tempfile::tempdir().expect("a folder");
    let [at_server, at_client] = ["server", "client"].map(|name| place.path().join(name));
    let (server, port) = serve(&["--trace", text(&at_server)]);
    let words = [
        "-R",
        "-t",
        "60",
        "-b",
        "400kbit",
        "-i",
        "200ms",
        "--trace",
        text(&at_client),
    ];
    let mut client = send(&port, &words);
    assert!(client.line().starts_with("connecting"));
    assert!(client.line().contains("0.00-0.20"));
    // The server is interrupted first: its test then ends by itself.
    let (status, stderr) = server.interrupt();
    assert_eq!(status, Some(130), "{stderr}");
    let (status, stderr) = client.end();
    assert_eq!(status, Some(0), "{stderr}");
    let measured = &summary(&at_server.join("1"))["flows"]["stream-1"];
    assert!(
        measured["rate_bps"]["mean"].as_f64().is_some(),
        "{measured}"
    );
    let (status, _, stderr) = weir(&["plot", text(&at_server.join("1"))]);
    assert_eq!(status, Some(0), "{stderr}");
    let got = &summary(&at_client)["flows"]["stream-1"];
    assert!(
        got["packets_received"]
            .as_u64()
            .is_some_and(|count| count > 5),
        "{got}"
    );
    assert!(got["rate_bps"].is_null(), "{got}");
}

#[test]
fn a_server_that_dies_is_missed_and_what_was_measured_is_kept() {
    for transport in ["dccp", "udp", "quic", "rtp"] {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("trace");
        let over = ["--transport", transport];
        let (server, port) = serve(&over);
        let words = ["-t", "60", "-i", "300ms", "-b", "1mbit"];
        let mut client = send(
            &port,
            &[&over[..], &words, &["--trace", text(&folder)]].concat(),
        );
        read_until(&mut client, "0.90-1.20");
        drop(server);
        let (status, stderr) = client.end();
        assert_eq!(status, Some(1), "{transport}: {stderr}");
        assert!(stderr.contains("does not answer"), "{transport}: {stderr}");
        let sent = &summary(&folder)["flows"]["stream-1"]["packets_sent"];
        assert!(sent.as_u64() > Some(10), "{transport}: {sent}");
    }
}

#[test]
fn interval_lines_and_the_sum_count_the_same_octets() {
    let (_server, port) = serve(&[]);
    let words = [
        "-t", "1", "-b", "80kbit", "-l", "100", "-i", "500ms", "--json",
    ];
    let words = [&["send", "127.0.0.1", "-p", &port], &words[..]].concat();
    let outcome = weir(&words);
    // `[ 1] 0.00-0.50 s 5.00 kB 80.00 kbit/s`: the octets in the line with this time range.
    let octets = |span: &str| -> f64 {
        let line = outcome.2.lines().find(|line| line.contains(span));
        let line = line.unwrap_or_else(|| panic!("{span} in {outcome:?}"));
        let mut words = line.split(" s ").nth(1).expect("a span").split_whitespace();
        let number: f64 = words
            .next()
            .and_then(|word| word.parse().ok())
            .expect("octets");
        let scale = if words.next() == Some("kB") {
            1000.0
        } else {
            1.0
        };
        number * scale
    };
    let document = json(&outcome);
    let sum = document["end"]["sum"]["bytes"].as_f64().expect("octets");
    let intervals = &document["end"]["streams"][0]["intervals"];
    assert_eq!(intervals[0]["bytes"].as_f64(), Some(octets("0.00-0.50")));
    // Complete datagrams of 100 octets, without headers and without the request.
    for octets in [octets("0.00-0.50"), sum] {
        assert!(octets > 0.0 && octets % 100.0 == 0.0, "{outcome:?}");
    }
}

#[test]
fn an_interrupt_at_either_end_ends_a_test_with_what_came() {
    for (transport, at_server) in [
        ("dccp", false),
        ("dccp", true),
        ("udp", false),
        ("udp", true),
        ("quic", false),
        ("quic", true),
        ("rtp", false),
        ("rtp", true),
    ] {
        let place = tempfile::tempdir().expect("a folder");
        let [folder, capture] = ["trace", "capture"].map(|name| place.path().join(name));
        let over = ["--transport", transport];
        let (server, port) = serve(&over);
        let words = ["-t", "60", "-i", "200ms", "-b", "1mbit", "-l", "1250"];
        let kept = ["--trace", text(&folder), "--pcap", text(&capture)];
        let mut client = send(&port, &[&over[..], &words, &kept].concat());
        read_until(&mut client, "0.00-0.20");
        if at_server {
            let (status, stderr) = server.interrupt();
            assert_eq!(status, Some(130), "{stderr}");
            let (status, stderr) = client.end();
            assert_eq!(status, Some(0), "{transport}: {stderr}");
        } else {
            let (status, stderr) = client.interrupt();
            assert_eq!(status, Some(130), "{stderr}");
            let (status, stderr) = server.interrupt();
            assert_eq!(status, Some(130), "{stderr}");
            assert!(stderr.contains("0.00-"), "{stderr}");
        }
        let measured = &summary(&folder)["flows"]["stream-1"];
        assert!(
            measured["packets_received"].as_u64() > Some(5),
            "{measured}"
        );
        // NADA starts at 150 kbit/s.
        let least = if transport == "rtp" { 1e4 } else { 1e5 };
        assert!(measured["goodput_bps"].as_f64() > Some(least), "{measured}");
        // A hundred rows a second, for less than half of its time.
        assert!(measured["packets_sent"].as_u64() < Some(3000), "{measured}");
        assert!(datagrams(&capture).len() > 10);
        if transport == "quic" {
            assert!(measured["rtt_s"]["min"].as_f64() > Some(0.0), "{measured}");
            let (status, drawn, stderr) = weir(&["plot", text(&folder)]);
            assert_eq!(status, Some(0), "{stderr}");
            assert!(drawn.contains("stream-1-window"), "{drawn}");
        }
        if transport == "rtp" {
            let (status, drawn, stderr) = weir(&["plot", text(&folder)]);
            assert_eq!(status, Some(0), "{stderr}");
            assert!(drawn.contains("stream-1"), "{drawn}");
        }
    }
}

#[test]
fn a_capture_that_cannot_be_written_is_said_before_anything_is_sent() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("no folder").join("file");
    let (status, stderr) = Running::weir(&["serve", "-p", "0", "--pcap", text(&file)]).end();
    assert_eq!(status, Some(2), "{stderr}");
    assert!(stderr.contains("cannot write the capture"), "{stderr}");
}

#[test]
fn a_probe_shows_the_controller_while_the_test_runs() {
    let controllers = [
        ("dccp", "rate_bps"),
        ("quic", "cwnd_bytes"),
        ("rtp", "rate_bps"),
    ];
    for (transport, filled) in controllers {
        let place = tempfile::tempdir().expect("a folder");
        let file = place.path().join("probe.csv");
        let over = ["--transport", transport];
        let (_server, port) = serve(&over);
        let words = ["-t", "600", "-b", "400k", "--probe", text(&file)];
        let client = send(&port, &[&over[..], &words].concat());
        // The test runs for ten minutes, and its first row is written long before its end.
        let rows = loop {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            let rows: Vec<String> = whole.lines().map(str::to_owned).collect();
            if rows.len() > 2 {
                break rows;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        let column = |row: &str, name: &str| {
            let at = rows[0].split(',').position(|column| column == name);
            let cell = row.split(',').nth(at.expect("a column"));
            cell.expect("a cell").to_owned()
        };
        assert_eq!(column(&rows[1], "flow"), "stream-1");
        assert!(
            column(&rows[1], filled).parse::<f64>().ok() > Some(0.0),
            "{rows:?}"
        );
        drop(client);
    }
    let (status, _, stderr) = weir(&["send", "127.0.0.1", "--probe", "-", "--json"]);
    assert_eq!(status, Some(2), "{stderr}");
}

#[test]
fn a_run_shows_itself_while_it_goes_on_and_is_the_same_run() {
    let place = common::folder_with(common::SCENARIO);
    let alone = common::outcome(place.path(), &["run", "path.toml", "--out", "alone"]);
    let live = ["run", "path.toml", "--live", "--out", "live"];
    let (status, stdout, stderr) = common::outcome(place.path(), &live);
    assert_eq!(status, Some(0), "{stderr}");
    assert_eq!(stdout.replace("live/", "alone/"), alone.1);
    let line = stderr.lines().rfind(|line| line.contains("stream: "));
    let line = line.unwrap_or_else(|| panic!("{stderr}"));
    for expected in [
        " s  stream: ",
        "bit/s ",
        " ms lost ",
        "bottleneck: queue ",
        " dropped ",
    ] {
        assert!(line.contains(expected), "{expected}: {line}");
    }
    let quiet = [&["-q"], &live[..]].concat();
    assert_eq!(common::outcome(place.path(), &quiet).2, "");
    let several = [&live[..], &["--set", "run.seed=1,2"]].concat();
    let (status, _, stderr) = common::outcome(place.path(), &several);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("--live shows one run"), "{stderr}");
}
