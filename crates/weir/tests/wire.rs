//! `weir serve` and `weir send` over loopback, bounded to two seconds and to a free port.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn weir(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(words);
    command
}

/// A server for one connection at a port that the system chose.
fn serve(address: &str) -> (Server, String) {
    serve_over("dccp", &["--one-off", "-B", address])
}

/// A server for this transport at a port that the system chose.
fn serve_over(transport: &str, words: &[&str]) -> (Server, String) {
    let always = ["serve", "-p", "0", "--transport", transport];
    let server = weir(&[&always, words].concat())
        .stderr(Stdio::piped())
        .spawn();
    let mut server = Server(server.expect("it starts"));
    let mut line = String::new();
    let said = server.0.stderr.take().expect("piped");
    BufReader::new(said).read_line(&mut line).expect("a line");
    let port = line.trim().rsplit(':').next().expect("an address");
    (server, port.to_owned())
}

fn send(host: &str, port: &str, words: &[&str]) -> serde_json::Value {
    let output = weir(&["send", host, "-p", port, "-t", "1", "--json"])
        .args(words)
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn a_constant_rate_arrives_both_ways_over_ipv4_and_ipv6() {
    for (host, reverse) in [
        ("127.0.0.1", false),
        ("127.0.0.1", true),
        ("::1", false),
        ("::1", true),
    ] {
        if std::net::UdpSocket::bind((host, 0)).is_err() {
            eprintln!("skipped: this machine has no {host}");
            continue;
        }
        let (_server, port) = serve(host);
        let words = ["-b", "200kbit", "-l", "250", "-R"];
        let words = &words[..if reverse { 5 } else { 4 }];
        let document = send(host, &port, words);
        // 200 kbit/s in datagrams of 2000 bits are a hundred in a second.
        let bytes = document["end"]["sum"]["bytes"].as_f64().expect("bytes");
        assert!(
            (80.0..=101.0).contains(&(bytes / 250.0)),
            "{host} {reverse}: {document:#}"
        );
    }
}

#[test]
fn an_unknown_profile_is_refused_before_anything_is_sent() {
    for words in [
        &["serve", "-B", "127.0.0.1", "-p", "0", "--profile", "best"][..],
        &["send", "127.0.0.1", "-p", "9", "--profile", "best"],
    ] {
        let output = weir(words).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_ne!(output.status.code(), Some(0));
        assert!(said.contains("best"), "{said}");
    }
}

/// The one stream of a test whose result both ends know.
fn stream(document: &serde_json::Value) -> &serde_json::Value {
    let streams = document["end"]["streams"].as_array().expect("streams");
    assert_eq!(streams.len(), 1, "{document:#}");
    &streams[0]
}

#[test]
fn udp_keeps_its_rate_and_counts_what_came_both_ways() {
    for (host, reverse) in [
        ("127.0.0.1", false),
        ("127.0.0.1", true),
        ("::1", false),
        ("::1", true),
    ] {
        if std::net::UdpSocket::bind((host, 0)).is_err() {
            eprintln!("skipped: this machine has no {host}");
            continue;
        }
        let (_server, port) = serve_over("udp", &["--one-off", "-B", host]);
        let words = ["--transport", "udp", "-b", "1mbit", "-l", "125", "-R"];
        let words = &words[..if reverse { 7 } else { 6 }];
        let document = send(host, &port, words);
        let stream = stream(&document);
        let count = |key: &str| stream[key].as_u64().expect("a number");
        // Of a thousand in a second a machine with other things to do may give up a few.
        assert!((500..=1001).contains(&count("packets")), "{stream:#}");
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
fn quic_delivers_a_rate_and_as_much_as_it_can_both_ways() {
    for (rate, reverse, controller) in [
        (true, false, "cubic"),
        (true, true, "newreno"),
        (false, false, "quinn-newreno"),
        (false, true, "tfrc"),
    ] {
        let server = ["--one-off", "-B", "127.0.0.1", "--controller", controller];
        let (_server, port) = serve_over("quic", &server);
        let mut words = vec!["--transport", "quic", "--controller", controller];
        if rate {
            words.extend(["-b", "1mbit", "-l", "1250"]);
        }
        if reverse {
            words.push("-R");
        }
        let document = send("127.0.0.1", &port, &words);
        let stream = stream(&document);
        let bytes = stream["bytes"].as_u64().expect("a number");
        if rate {
            // A hundred writes in a second, of which a busy machine may be late with some.
            assert!((50_000..=126_250).contains(&bytes), "{stream:#}");
            assert_eq!(bytes % 1250, 0, "{stream:#}");
        } else {
            assert!(bytes > 300_000, "{stream:#}");
        }
        assert_eq!(stream["sender"], !reverse);
        assert!(stream["smoothed_rtt_s"].as_f64() > Some(0.0), "{stream:#}");
    }
}

#[test]
fn fifty_tests_run_at_once_where_few_files_may_be_open() {
    if !cfg!(unix) {
        eprintln!("skipped: only Unix has such a limit");
        return;
    }
    for transport in ["dccp", "udp", "quic"] {
        let (_server, port) = serve_over(transport, &["-B", "127.0.0.1"]);
        let script = "ulimit -S -n 64 && exec \"$0\" \"$@\"";
        let words = [
            "-b", "100kbit", "-l", "500", "-P", "50", "-i", "0", "--json",
        ];
        let output = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_weir")])
            .args(["send", "127.0.0.1", "-p", &port, "-t", "1"])
            .args(["--transport", transport])
            .args(words)
            .output();
        let output = output.expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{transport}: {said}");
        let document: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("one JSON document");
        let streams = document["end"]["streams"].as_array().expect("streams");
        assert_eq!(streams.len(), 50);
        for stream in streams {
            assert!(stream["bytes"].as_u64() > Some(5000), "{stream:#}");
        }
    }
}

#[test]
fn a_port_where_nobody_listens_is_said_at_once() {
    // It was free a moment ago.
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = socket.local_addr().expect("a port").port().to_string();
    drop(socket);
    for transport in ["dccp", "udp", "quic"] {
        let words = ["send", "127.0.0.1", "-p", &port, "--transport", transport];
        let output = weir(&words).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{transport}: {said}");
        assert!(said.contains("nobody listens at"), "{transport}: {said}");
    }
}

#[test]
fn what_a_transport_does_not_have_is_refused() {
    for words in [
        &["send", "127.0.0.1", "--transport", "udp", "--ccid", "2"][..],
        &["serve", "--transport", "udp", "--profile", "rfc5348"],
        &["serve", "--transport", "udp", "--raw"],
        &["send", "127.0.0.1", "--transport", "udp", "-l", "10"],
        &["send", "127.0.0.1", "--controller", "cubic"],
        &["serve", "--transport", "quic", "--controller", "best"],
    ] {
        let output = weir(words).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("expected"), "{words:?}: {said}");
    }
}

/// Has this process the right to open a raw socket?
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
        let _ = writeln!(std::io::stderr(), "SKIPPED: CAP_NET_RAW is missing");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("raw.pcapng");
    let file = file.to_str().expect("text");
    // Nobody else on this host may have the port.
    let port = (10_000 + std::process::id() % 20_000).to_string();
    let words = [
        "serve",
        "--raw",
        "--one-off",
        "-B",
        "127.0.0.1",
        "-p",
        &port,
    ];
    let server = weir(&words).stderr(Stdio::piped()).spawn();
    let mut server = Server(server.expect("it starts"));
    let mut line = String::new();
    let said = server.0.stderr.take().expect("piped");
    BufReader::new(said).read_line(&mut line).expect("a line");
    let place = format!("listening at 127.0.0.1, protocol 33, DCCP port {port}\n");
    assert_eq!(line, place);
    let words = ["--raw", "-b", "200kbit", "-l", "250", "--pcap", file];
    let document = send("127.0.0.1", &port, &words);
    let bytes = document["end"]["sum"]["bytes"].as_f64().expect("bytes");
    assert!((80.0..=101.0).contains(&(bytes / 250.0)), "{document:#}");
    let decoded = weir(&["decode", file]).output().expect("it starts");
    let decoded = String::from_utf8(decoded.stdout).expect("text");
    let data = decoded.lines().filter(|line| line.contains("Data"));
    assert!(data.count() >= 80, "{decoded}");
    assert!(!decoded.contains(":6511"), "{decoded}");
}

#[cfg(target_os = "linux")]
#[test]
fn without_the_capability_a_raw_socket_is_refused_with_status_4_and_the_way_without() {
    use std::os::unix::process::CommandExt;
    for words in [&["serve", "--raw"][..], &["send", "--raw", "127.0.0.1"]] {
        let mut command = weir(words);
        if may_use_raw_sockets() {
            // Nobody has no capabilities, but may not reach the program where it is.
            command.uid(65_534).gid(65_534);
        }
        let Ok(output) = command.output() else {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: nobody cannot start the program"
            );
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(
            said.contains("CAP_NET_RAW") && said.contains("leave --raw out"),
            "{said}"
        );
    }
}
