//! The options of iperf3 in `weir serve` and `weir send`, over loopback and limited to a few
//! seconds.

use crate::common::{json, run, serve, weir};
use serde_json::Value;
use std::net::UdpSocket;

const HERE: &str = "127.0.0.1";

/// The result of a test with a separate server and these options.
fn send(server: &[&str], words: &[&str]) -> Value {
    let (_server, port) = serve(&[server, &["-B", HERE]].concat());
    let always = ["send", HERE, "-p", &port, "-t", "5", "-J"];
    json(&run(weir(&always).args(words)))
}

#[test]
fn a_size_ends_the_test_when_all_of_it_is_sent() {
    for (transport, words) in [
        ("quic", &["-n", "100K", "-l", "1000"][..]),
        ("quic", &["-k", "103", "-l", "1000", "-b", "8M"]),
        ("dccp", &["-n", "100K", "-l", "1000"]),
        ("dccp", &["-k", "103", "-l", "1000", "-b", "8M/20"]),
        ("udp", &["-k", "103", "-l", "1000", "-b", "8M/20"]),
    ] {
        let transport = ["--transport", transport];
        let words = [&transport[..], words].concat();
        let document = send(&transport, &words);
        // 102,400 octets are 103 writes of 1000.
        let sent = &document["end"]["sum_sent"]["bytes"];
        assert_eq!(sent.as_f64(), Some(103_000.0), "{words:?}: {document:#}");
    }
}

#[test]
fn both_ends_send_at_once() {
    let words = ["-u", "--bidir", "-b", "400k", "-l", "500", "-k", "50"];
    let end = &send(&["-u"], &words)["end"];
    for sum in ["sum_sent", "sum_received_bidir_reverse"] {
        let bytes = end[sum]["bytes"].as_f64().expect("bytes");
        assert!((1.0..=25_000.0).contains(&bytes), "{sum}: {end:#}");
    }
    let back: Vec<_> = (end["streams"].as_array().expect("streams").iter())
        .map(|stream| stream["reverse"] == true)
        .collect();
    assert_eq!(back, [false, true]);
}

#[test]
fn the_client_sends_from_the_port_that_it_is_told() {
    // A port that was free a moment ago.
    let socket = UdpSocket::bind((HERE, 0)).expect("a socket");
    let port = socket.local_addr().expect("an address").port().to_string();
    drop(socket);
    for transport in ["dccp", "udp", "quic"] {
        let (mut server, server_port) = serve(&["--transport", transport, "-1", "-B", HERE]);
        let always = ["send", HERE, "-p", &server_port, "--transport", transport];
        let words = ["--cport", &port, "-b", "400k", "-k", "20", "-l", "500"];
        let (status, _, stderr) = run(weir(&always).args(words));
        assert_eq!(status, Some(0), "{transport}: {stderr}");
        let (_, heard) = server.end();
        let from = format!("from {HERE}:{port}");
        assert!(heard.contains(&from), "{transport}: {heard}");
    }
}

#[test]
fn a_log_file_has_what_the_terminal_would_have() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log.txt");
    let (_server, port) = serve(&["-u", "-B", HERE]);
    let always = [
        "send", HERE, "-p", &port, "-u", "-V", "-b", "400k", "-k", "20",
    ];
    let words = ["--logfile", log.to_str().expect("a path"), "-J"];
    let (status, stdout, stderr) = run(weir(&always).args(words));
    assert_eq!(
        (status, stdout.as_str(), stderr.as_str()),
        (Some(0), "", "")
    );
    let text = std::fs::read_to_string(&log).expect("the log");
    for part in ["connecting to", "asking for", "\"sum_sent\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_omitted_time_is_in_no_sum() {
    // 200 datagrams or writes in total.
    const ALL_BYTES: f64 = 100_000.0;
    for transport in ["udp", "quic", "dccp"] {
        let (_server, port) = serve(&["--transport", transport, "-B", HERE]);
        let always = ["send", HERE, "-p", &port, "--transport", transport, "-J"];
        let words = [
            "-O", "1", "-t", "1", "-i", "0.25", "-b", "400k", "-l", "500",
        ];
        let document = json(&run(weir(&always).args(words)));
        let stream = &document["end"]["streams"][0];
        let intervals = stream["intervals"].as_array().expect("intervals");
        let (omitted, kept): (Vec<_>, Vec<_>) =
            (intervals.iter()).partition(|interval| interval["omitted"] == true);
        assert!(!omitted.is_empty() && !kept.is_empty(), "{document:#}");
        assert_eq!(kept[0]["start"], 0.0, "{document:#}");
        let bytes = |value: &Value| value["bytes"].as_f64().expect("bytes");
        let before: f64 = omitted.into_iter().map(bytes).sum();
        let after = bytes(&document["end"]["sum"]);
        assert!(before > 0.0 && after > 0.0, "{transport}: {document:#}");
        assert!(before + after <= ALL_BYTES, "{transport}: {document:#}");
        if transport == "udp" {
            assert_eq!(stream["packets"].as_f64(), Some(after / 500.0));
        }
    }
}
