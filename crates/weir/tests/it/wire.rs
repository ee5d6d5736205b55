//! `weir serve` and `weir send` over loopback, limited to two seconds, at a free port.

use crate::common::{self, Running, json, parse, run, serve, skipped, undisturbed, weir};
use serde_json::Value;
use std::io::Read as _;
use std::net::UdpSocket;
use std::process::{Command, Stdio};

/// The result of a one-second test with this server.
fn send(host: &str, port: &str, arguments: &[&str]) -> Value {
    let always = ["send", host, "-p", port, "-t", "1", "--json"];
    json(&run(weir(&always).args(arguments)))
}

/// Both directions at the loopback addresses of this machine.
fn directions() -> Vec<(&'static str, bool)> {
    let mut directions = Vec::new();
    for host in ["127.0.0.1", "::1"] {
        if UdpSocket::bind((host, 0)).is_err() {
            skipped(&format!("this machine has no {host}"));
            continue;
        }
        directions.extend([(host, false), (host, true)]);
    }
    directions
}

#[test]
fn a_constant_rate_arrives_both_ways_over_ipv4_and_ipv6() {
    for (host, reverse) in directions() {
        let words = ["-b", "200kbit", "-l", "250", "-R"];
        let words = &words[..if reverse { 5 } else { 4 }];
        let measure = || {
            let (_server, port) = serve(&["--one-off", "-B", host]);
            let document = send(host, &port, words);
            let bytes = document["end"]["sum"]["bytes"].as_f64().expect("bytes");
            // 200 kbit/s in datagrams of 2000 bits are at most a hundred datagrams in a second.
            assert!(bytes / 250.0 <= 101.0, "{host} {reverse}: {document:#}");
            bytes / 250.0
        };
        undisturbed(measure, |&datagrams| datagrams >= 80.0);
    }
}

#[test]
fn an_unknown_profile_is_refused_before_anything_is_sent() {
    for words in [
        &["serve", "-B", "127.0.0.1", "-p", "0", "--profile", "best"][..],
        &["send", "127.0.0.1", "-p", "9", "--profile", "best"],
    ] {
        let (status, _, stderr) = run(&mut weir(words));
        assert_ne!(status, Some(0));
        assert!(stderr.contains("best"), "{stderr}");
    }
}

#[test]
fn a_server_takes_the_ccid_of_the_client_unless_it_is_told_one() {
    let folder = tempfile::tempdir().expect("a folder");
    for (asked, reverse) in [("2", false), ("3", true), ("4", false), ("4", true)] {
        let trace = folder.path().join(format!("{asked}-{reverse}"));
        let (_server, port) = serve(&["-B", "127.0.0.1", "--one-off"]);
        let words = [
            "-b",
            "400k",
            "--ccid",
            asked,
            "--trace",
            common::text(&trace),
            "-R",
        ];
        let words = &words[..if reverse { 7 } else { 6 }];
        let document = send("127.0.0.1", &port, words);
        assert!(
            document["end"]["sum"]["bytes"].as_f64() > Some(0.0),
            "{document:#}"
        );
        let scenario = std::fs::read_to_string(trace.join("scenario.toml")).expect("text");
        assert!(scenario.contains(&format!("ccid = {asked}")), "{scenario}");
    }
    let (_server, port) = serve(&["-B", "127.0.0.1", "--ccid", "3"]);
    let (status, _, stderr) = run(&mut weir(&[
        "send",
        "127.0.0.1",
        "-p",
        &port,
        "--ccid",
        "4",
    ]));
    assert_eq!(status, Some(1), "{stderr}");
    assert!(
        stderr.contains("takes CCID 4") && stderr.contains("agrees on CCID 2"),
        "{stderr}"
    );
}

#[test]
fn a_single_rule_of_tfrc_counts_on_a_real_path_and_a_wrong_one_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("trace");
    let (_server, port) = serve(&["-B", "127.0.0.1", "--set", "tfrc.loss_report=every-event"]);
    let rule = ["--set", "tfrc.oscillation=off"];
    let words = ["-b", "400k", "--trace", common::text(&trace)];
    let document = send("127.0.0.1", &port, &[&rule[..], &words].concat());
    assert_eq!(document["start"]["set"]["tfrc.oscillation"], "off");
    let scenario = std::fs::read_to_string(trace.join("scenario.toml")).expect("text");
    assert!(scenario.contains("oscillation = \"off\""), "{scenario}");
    // No other override is written: the rule is that of the profile.
    assert!(scenario.contains("profile = \"rfc5348\""), "{scenario}");
    for (rule, hint) in [
        ("tfrc.oscilation=off", "oscillation"),
        ("tfrc.oscillation=of", "off"),
        ("oscillation=off", "tfrc.RULE=VALUE"),
        ("tfrc.oscillation=off,full", "several values"),
        ("ccid=2", "tfrc"),
        ("tfrc.oscillation", "PATH=VALUE"),
    ] {
        for command in [&["serve", "-p", "0"][..], &["send", "127.0.0.1"]] {
            let (status, _, stderr) = run(weir(command).args(["--set", rule]));
            assert_eq!(status, Some(2), "{rule}: {stderr}");
            assert!(stderr.contains(hint), "{rule}: {stderr}");
        }
    }
}

/// The single stream of a test whose result both ends know.
fn stream(document: &Value) -> &Value {
    let streams = document["end"]["streams"].as_array().expect("streams");
    assert_eq!(streams.len(), 1, "{document:#}");
    &streams[0]
}

#[test]
fn udp_keeps_its_rate_and_counts_what_came_both_ways() {
    for (host, reverse) in directions() {
        let words = ["--transport", "udp", "-b", "1mbit", "-l", "125", "-R"];
        let words = &words[..if reverse { 7 } else { 6 }];
        let measure = || {
            let (_server, port) = serve(&["--transport", "udp", "--one-off", "-B", host]);
            send(host, &port, words)
        };
        // Of a thousand packets in a second, a busy machine may skip some.
        let packets = |document: &Value| stream(document)["packets"].as_u64();
        let document = undisturbed(measure, |document| packets(document) >= Some(500));
        assert!(packets(&document) <= Some(1001), "{document:#}");
        let stream = stream(&document);
        let count = |key: &str| stream[key].as_u64().expect("a number");
        assert_eq!(
            count("packets_received") + count("packets_lost"),
            count("packets")
        );
        assert_eq!(count("bytes_received"), 125 * count("packets_received"));
        assert_eq!(count("duplicates"), 0);
        assert_eq!(stream["complete"], true, "{stream:#}");
        assert_eq!(stream["sender"], !reverse);
    }
}

#[test]
fn rtp_carries_a_video_and_both_ends_count_its_frames() {
    for (host, reverse) in directions() {
        let words = ["--transport", "rtp", "-b", "1mbit", "-R"];
        let words = &words[..if reverse { 5 } else { 4 }];
        let measure = || {
            let over = ["--transport", "rtp", "--one-off", "--json", "-B", host];
            let mut command = weir(&["serve", "-p", "0"]);
            let mut server = Running::start(command.args(over).stdout(Stdio::piped()));
            let line = server.line();
            let port = line.rsplit(':').next().expect("a port").to_owned();
            let client = send(host, &port, words);
            let mut text = String::new();
            let pipe = server.child.stdout.as_mut().expect("piped");
            pipe.read_to_string(&mut text).expect("text");
            [stream(&client).clone(), parse(&text)]
        };
        // Thirty frames a second, without those of the last 200 ms. A busy machine captures some
        // frames late, and may wake the receiver late.
        let frames = |ends: &[Value; 2]| ends[0]["video"]["complete"].as_u64();
        let ends = undisturbed(measure, |ends| frames(ends) >= Some(15));
        assert!(frames(&ends) <= Some(31), "{ends:#?}");
        // The receiver's statistics are in the results of both ends.
        for key in [
            "video",
            "packets",
            "packets_received",
            "packets_lost",
            "bytes_received",
        ] {
            assert_eq!(ends[0][key], ends[1][key], "{key}");
        }
        let sender = &ends[usize::from(reverse)];
        assert_eq!(
            (&sender["sender"], &ends[0]["sender"]),
            (&true.into(), &(!reverse).into())
        );
        // RMIN and the option's RMAX, in bit/s; the rate begins at RMIN.
        let rate = sender["target_bits_per_second"].as_f64();
        assert!(rate >= Some(142_500.0) && rate <= Some(1e6), "{sender:#}");
        for key in ["min", "p50", "p95", "p99", "max"] {
            assert!(sender["rtt_s"][key].as_f64() > Some(0.0), "{sender:#}");
        }
        let delay = &ends[0]["video"]["frame_delay_s"];
        assert!(delay["p50"].as_f64() <= delay["p99"].as_f64(), "{delay}");
        for end in &ends {
            assert_eq!(end["complete"], true, "{end:#}");
        }
    }
}

#[test]
fn quic_delivers_a_rate_and_as_much_as_it_can_both_ways() {
    for (rate, reverse, controller) in [
        (true, false, "cubic"),
        (true, true, "newreno"),
        (false, false, "quinn-newreno"),
        (false, true, "tfrc"),
    ] {
        let mut words = vec!["--transport", "quic", "--controller", controller];
        let server = ["--one-off", "-B", "127.0.0.1"];
        let server = [&words, &server[..]].concat();
        if rate {
            words.extend(["-b", "1mbit", "-l", "1250"]);
        }
        if reverse {
            words.push("-R");
        }
        let measure = || {
            let (_server, port) = serve(&server);
            send("127.0.0.1", &port, &words)
        };
        // A hundred writes in a second, of which a busy machine delays some.
        let least = if rate { 50_000 } else { 300_000 };
        let bytes = |document: &Value| stream(document)["bytes"].as_u64().expect("a number");
        let document = undisturbed(measure, |document| bytes(document) >= least);
        let bytes = bytes(&document);
        let stream = stream(&document);
        if rate {
            // One at the start, and at most a hundred a second, even if the end is detected late. A
            // receiver's time begins late where a busy machine delays the first.
            let seconds = stream["seconds"].as_f64().expect("a time");
            let late = if reverse { 0.1 } else { 0.0 };
            let most = 1250.0 * (100.0 * (seconds + late) + 1.0);
            assert!(bytes as f64 <= most && bytes % 1250 == 0, "{stream:#}");
        }
        assert_eq!(stream["sender"], !reverse);
        assert!(stream["smoothed_rtt_s"].as_f64() > Some(0.0), "{stream:#}");
    }
}

#[test]
fn fifty_tests_run_at_once_where_few_files_may_be_open() {
    if !cfg!(unix) {
        return skipped("only Unix has such a limit");
    }
    for transport in ["dccp", "udp", "quic", "rtp"] {
        let (_server, port) = serve(&["--transport", transport, "-B", "127.0.0.1"]);
        let script = "ulimit -S -n 64 && exec \"$0\" \"$@\"";
        let words = [
            "-b", "100kbit", "-l", "500", "-P", "50", "-i", "0", "--json",
        ];
        let mut command = Command::new("sh");
        command
            .args(["-c", script, env!("CARGO_BIN_EXE_weir")])
            .args(["send", "127.0.0.1", "-p", &port, "-t", "1"])
            .args(["--transport", transport])
            .args(words);
        let document = json(&run(&mut command));
        let streams = document["end"]["streams"].as_array().expect("streams");
        assert_eq!(streams.len(), 50);
        for stream in streams {
            assert!(stream["bytes"].as_u64() > Some(0), "{stream:#}");
        }
    }
}

#[test]
fn a_refused_connection_is_said_at_once() {
    // The port was free a moment ago.
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = socket.local_addr().expect("a port").port().to_string();
    drop(socket);
    for transport in ["dccp", "udp", "quic", "rtp"] {
        let words = ["send", "127.0.0.1", "-p", &port, "--transport", transport];
        let (status, _, stderr) = run(&mut weir(&words));
        assert_eq!(status, Some(1), "{transport}: {stderr}");
        assert!(
            stderr.contains("connection refused: no process listens at"),
            "{transport}: {stderr}"
        );
    }
}

#[test]
fn what_a_transport_does_not_have_is_refused() {
    for words in [
        &["send", "127.0.0.1", "--transport", "udp", "--ccid", "2"][..],
        &["serve", "--transport", "udp", "--profile", "rfc5348"],
        &["serve", "--transport", "udp", "--raw"],
        &["send", "127.0.0.1", "--transport", "udp", "-l", "10"],
        &["send", "127.0.0.1", "--transport", "rtp", "-l", "10"],
        &["serve", "--transport", "rtp", "--controller", "cubic"],
        &["send", "127.0.0.1", "--controller", "cubic"],
        &["send", "127.0.0.1", "--ccid", "3", "--controller", "cubic"],
        &["send", "127.0.0.1", "--ccid", "2", "--controller", "best"],
        &["serve", "--transport", "quic", "--controller", "best"],
        &[
            "send",
            "127.0.0.1",
            "--ccid",
            "2",
            "--set",
            "tfrc.oscillation=off",
        ],
    ] {
        let (status, _, stderr) = run(&mut weir(words));
        assert_eq!(status, Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains("expected"), "{words:?}: {stderr}");
    }
}

/// True if this process may open a raw socket.
#[cfg(target_os = "linux")]
fn may_use_raw_sockets() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let set = u64::from_str_radix(line.expect("capabilities").trim(), 16);
    // CAP_NET_RAW.
    set.expect("a number") >> 13 & 1 == 1
}

#[cfg(target_os = "linux")]
#[test]
fn over_ip_itself_a_test_runs_and_its_capture_is_dccp_without_udp() {
    if !may_use_raw_sockets() {
        return skipped("CAP_NET_RAW is missing");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("raw.pcapng");
    let file = common::text(&file);
    // The port must differ from those of other tests on this host.
    let port = (10_000 + std::process::id() % 20_000).to_string();
    let arguments = ["--raw", "--one-off", "-B", "127.0.0.1", "-p", &port];
    let mut server = Running::weir(&[&["serve"], &arguments[..]].concat());
    let place = format!("listening at 127.0.0.1, protocol 33, DCCP port {port}");
    assert_eq!(server.line(), place);
    // The kernel would deliver all packets to both sockets.
    for address in ["127.0.0.1", "::"] {
        let (status, _, stderr) = run(&mut weir(&["serve", "--raw", "-B", address, "-p", &port]));
        assert_eq!(status, Some(1), "{stderr}");
        let clear = format!("DCCP port {port} over IP at {address} is in use");
        assert!(stderr.contains(&clear), "{stderr}");
    }
    let words = ["--raw", "-b", "200kbit", "-l", "250", "--pcap", file];
    let document = send("127.0.0.1", &port, &words);
    let bytes = document["end"]["sum"]["bytes"].as_f64().expect("bytes");
    // At most a hundred datagrams in a second, fewer on a busy machine; the capture has as many.
    assert!((1.0..=101.0).contains(&(bytes / 250.0)), "{document:#}");
    let (_, decoded, _) = run(&mut weir(&["decode", file]));
    let data = decoded.lines().filter(|line| line.contains("Data"));
    assert!(data.count() as f64 >= bytes / 250.0, "{decoded}");
    assert!(!decoded.contains(":6511"), "{decoded}");
}

#[cfg(target_os = "linux")]
#[test]
fn without_the_capability_a_raw_socket_is_refused_with_status_4_and_the_way_without() {
    use std::os::unix::process::CommandExt;
    for words in [&["serve", "--raw"][..], &["send", "--raw", "127.0.0.1"]] {
        let mut command = weir(words);
        if may_use_raw_sockets() {
            // The user `nobody` has no capabilities, but may be unable to access the program at its
            // path.
            command.uid(65_534).gid(65_534);
        }
        let Ok(output) = command.output() else {
            return skipped("the user nobody cannot start the program");
        };
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{stderr}");
        assert!(
            stderr.contains("CAP_NET_RAW") && stderr.contains("leave --raw out"),
            "{stderr}"
        );
    }
}
