//! `weir serve` and `weir send` over loopback, bounded to two seconds and to a free port.

use std::io::{BufRead, BufReader};
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
    let words = ["serve", "--one-off", "-B", address, "-p", "0"];
    let server = weir(&words).stderr(Stdio::piped()).spawn();
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
