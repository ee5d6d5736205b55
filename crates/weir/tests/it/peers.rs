//! Peers of `weir serve` and `weir send` that send false messages, or are not admitted.

use crate::common::{self, Running, parse, run, serve, text, weir};
use std::io::Read as _;
use std::net::{SocketAddr, UdpSocket};
use std::process::Stdio;
use std::time::Duration;
use weir_wire::test_protocol::{Answer, Message, ReceptionStats, Report, TestConfig};

const TRANSPORTS: [&str; 4] = ["dccp", "udp", "quic", "rtp"];

/// The time limit for a test with a silent peer.
const LIMIT: Duration = Duration::from_secs(20);

fn send(port: &str, words: &[&str]) -> common::Outcome {
    let fixed = ["send", "127.0.0.1", "-p", port, "-t", "0.3", "--json"];
    run(&mut weir(&[&fixed, words].concat()))
}

#[test]
fn a_secret_opens_a_server_to_those_who_have_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let [ours, other] = ["ours", "other"].map(|name| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("{name}: longer than sixteen bytes\n")).expect("written");
        path
    });
    for transport in TRANSPORTS {
        let over = ["--transport", transport];
        let guarded = ["-B", "127.0.0.1", "--secret", text(&ours)];
        let (_server, port) = serve(&[&over[..], &guarded].concat());
        for (words, refusal) in [
            (vec![], Some("expects a secret")),
            (vec!["--secret", text(&other)], Some("has another secret")),
            (vec!["--secret", text(&ours)], None),
            (vec!["--secret", text(&ours), "-R"], None),
        ] {
            let (status, stdout, stderr) = send(&port, &[&over[..], &words].concat());
            let expected = i32::from(refusal.is_some());
            assert_eq!(
                status,
                Some(expected),
                "{transport} {words:?} {stdout}{stderr}"
            );
            assert!(
                stdout.contains(refusal.unwrap_or("bytes_sent")),
                "{transport} {stdout}"
            );
        }
    }
}

#[test]
fn a_server_refuses_more_than_its_rate_and_its_time() {
    for transport in TRANSPORTS {
        let over = ["--transport", transport];
        let bounds = ["-B", "127.0.0.1", "--max-rate", "2mbit", "--max-time", "1s"];
        let (_server, port) = serve(&[&over[..], &bounds].concat());
        for (words, refusal) in [
            (["-b", "3mbit", "-R"], "at most 2000000 bit/s"),
            (["-t", "2", "-R"], "at most 1 s"),
        ] {
            let fixed = ["send", "127.0.0.1", "-p", &port, "--json"];
            let words = [&fixed[..], &over, &words].concat();
            let (status, stdout, stderr) = run(&mut weir(&words));
            assert_eq!(status, Some(1), "{transport} {stdout}{stderr}");
            assert!(stdout.contains(refusal), "{transport} {stdout}");
        }
    }
}

#[test]
fn a_pinned_certificate_is_the_only_one_that_is_taken() {
    let over = ["--transport", "quic"];
    let (mut server, port) = serve(&[&over[..], &["-B", "127.0.0.1"]].concat());
    let line = server.line();
    let pin = line.split(' ').nth(2).expect("a fingerprint").to_owned();
    let wrong = "00".repeat(32);
    for (pin, status, word) in [
        (&pin, 0, "bytes_sent"),
        (&wrong, 1, "expected the certificate"),
    ] {
        let found = send(&port, &[&over[..], &["-b", "1mbit", "--pin", pin]].concat());
        assert_eq!(found.0, Some(status), "{found:?}");
        assert!(found.1.contains(word), "{found:?}");
    }
}

/// A client implemented in the test, whose request a server with these options has accepted.
fn accepted(port: &str, config: TestConfig) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(LIMIT)).expect("set");
    socket
        .connect(format!("127.0.0.1:{port}"))
        .expect("connected");
    let mut answer = None;
    loop {
        say(&socket, &Message::Request(config, answer), None);
        let mut octets = [0; 2048];
        let count = socket.recv(&mut octets).expect("an answer");
        match Message::read(&octets[..count]) {
            Some((_, Message::Challenge(token))) => answer = Some(Answer::from(token)),
            Some((_, Message::Alive)) => return socket,
            other => panic!("{other:?}"),
        }
    }
}

fn say(socket: &UdpSocket, message: &Message, to: Option<(SocketAddr, u64)>) {
    let mut octets = Vec::new();
    message.write(to.map_or(7, |(_, id)| id), &mut octets);
    match to {
        Some((to, _)) => socket.send_to(&octets, to).expect("sent"),
        None => socket.send(&octets).expect("sent"),
    };
}

#[test]
fn a_number_beyond_the_test_ends_it_with_a_result_at_the_server() {
    let config = TestConfig {
        length: 1400,
        rate_bps: Some(1e6),
        duration: Duration::from_secs(1),
        ..TestConfig::default()
    };
    let data = Message::Data {
        number: u64::MAX,
        sent_at: 0,
    };
    for lie in [data, Message::End { sent: u64::MAX }] {
        let mut command = weir(&["serve", "-p", "0", "-B", "127.0.0.1", "--transport", "udp"]);
        let words = ["--one-off", "--json"];
        let mut server = Running::start(command.args(words).stdout(Stdio::piped()));
        let line = server.line();
        let port = line.rsplit(':').next().expect("a port").to_owned();
        let socket = accepted(&port, config);
        say(&socket, &lie, None);
        let mut stdout = String::new();
        let pipe = server.child.stdout.as_mut().expect("piped");
        pipe.read_to_string(&mut stdout).expect("text");
        let (status, stderr) = server.end();
        assert_eq!(status, Some(1), "{stdout}{stderr}");
        let document = parse(&stdout);
        let error = document["error"]["message"].as_str().expect("an error");
        assert!(error.contains("claims what cannot be true"), "{error}");
        assert_eq!(document["complete"], false);
    }
}

/// The output of `send` over UDP when a server responds to the Request with these messages.
fn told(messages: &[Message]) -> common::Outcome {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(LIMIT)).expect("set");
    let port = socket.local_addr().expect("an address").port().to_string();
    let mut command = weir(&["send", "127.0.0.1", "-p", &port, "--json", "-t", "5"]);
    let words = ["--transport", "udp"];
    let client = command.args(words).stdout(Stdio::piped());
    let mut client = Running::start(client);
    let mut octets = [0; 2048];
    let (mut told, mut ended) = (false, false);
    while !ended {
        let (count, from) = socket.recv_from(&mut octets).expect("a message");
        let Some((id, message)) = Message::read(&octets[..count]) else {
            continue;
        };
        ended = matches!(message, Message::End { .. });
        if !told || ended {
            for message in messages {
                say(&socket, message, Some((from, id)));
            }
        }
        told = true;
        ended |= client.child.try_wait().expect("a state").is_some();
        ended |= matches!(messages.last(), Some(Message::Report(_)));
    }
    let mut stdout = String::new();
    let pipe = client.child.stdout.as_mut().expect("piped");
    pipe.read_to_string(&mut stdout).expect("text");
    let (status, stderr) = client.end();
    (status, stdout, stderr)
}

#[test]
fn a_report_of_more_than_was_sent_and_a_stop_at_the_start_are_errors() {
    let report = Message::Report(Report {
        stats: ReceptionStats {
            received: 1,
            octets: 1 << 60,
            expected: 1,
            ..ReceptionStats::default()
        },
        ..Report::default()
    });
    let (status, stdout, stderr) = told(&[Message::Alive, report]);
    assert_eq!(status, Some(1), "{stdout}{stderr}");
    let document = parse(&stdout);
    assert!(stdout.contains("claims what cannot be true"), "{stdout}");
    // There is no result if the claim comes with the response to the Request.
    let received = document["end"]["sum_received"]["bytes"].as_f64();
    assert!(received.unwrap_or_default() < 1.0, "{stdout}");
    let nothing = Message::Report(Report {
        last: true,
        ..Report::default()
    });
    let (status, stdout, stderr) = told(&[Message::Alive, Message::Stop, nothing]);
    assert_eq!(status, Some(1), "{stdout}{stderr}");
}
