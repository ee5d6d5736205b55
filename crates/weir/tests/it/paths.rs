//! `weir send` over paths that drop large packets or lose their far end: missing data is never
//! reported as a success.

use crate::common::{Running, parse, run, serve, skipped, text, weir};
use serde_json::Value;
use std::io::Read as _;
use std::net::UdpSocket;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A relay on loopback to a server that drops longer datagrams; it ends when dropped.
struct Relay {
    port: String,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    fn start(server: &str, longest: usize) -> Self {
        let bind = || UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let (near, far) = (bind(), bind());
        far.connect(format!("127.0.0.1:{server}")).expect("a route");
        for socket in [&near, &far] {
            let wait = Some(Duration::from_millis(1));
            socket.set_read_timeout(wait).expect("a timeout");
        }
        let stop = Arc::new(AtomicBool::new(false));
        let port = near.local_addr().expect("an address").port().to_string();
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (mut octets, mut client) = (vec![0; 65_536], None);
            while !stopped.load(Ordering::Relaxed) {
                while let Ok((length, from)) = near.recv_from(&mut octets) {
                    client = Some(from);
                    if length <= longest {
                        let _ = far.send(&octets[..length]);
                    }
                }
                while let Ok(length) = far.recv(&mut octets) {
                    if let Some(client) = client.filter(|_| length <= longest) {
                        let _ = near.send_to(&octets[..length], client);
                    }
                }
            }
        });
        Self {
            port,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn a_path_that_loses_all_large_packets_is_a_failure_that_says_what_arrived() {
    for transport in ["dccp", "udp", "rtp"] {
        let over = ["--transport", transport];
        let (_server, port) = serve(&[&over[..], &["-B", "127.0.0.1"]].concat());
        let relay = Relay::start(&port, 600);
        let words = [
            "send",
            "127.0.0.1",
            "-p",
            &relay.port,
            "-t",
            "1",
            "-b",
            "200k",
        ];
        let words = [&words[..], &over, &["--json"]].concat();
        // Datagrams that fit arrive, and those that do not fit are lost.
        let (status, _, stderr) = run(weir(&words).args(["-l", "400"]));
        assert_eq!(status, Some(0), "{transport}: {stderr}");
        let (status, stdout, stderr) = run(weir(&words).args(["-l", "1200"]));
        assert_eq!(status, Some(1), "{transport}: {stderr}");
        assert!(stderr.contains("nothing of what was sent"), "{stderr}");
        let document = parse(&stdout);
        let end = &document["end"];
        assert!(
            end["sum_sent"]["bytes"].as_f64() > Some(0.0),
            "{document:#}"
        );
        assert_eq!(end["sum_received"]["bytes"].as_f64(), Some(0.0));
        assert_eq!(document["error"]["status"], 1, "{document:#}");
    }
}

#[test]
fn both_ends_agree_on_what_was_sent_and_what_arrived() {
    for (transport, reverse) in [
        ("dccp", false),
        ("dccp", true),
        ("udp", false),
        ("udp", true),
        ("quic", false),
        ("quic", true),
        ("rtp", false),
        ("rtp", true),
    ] {
        let over = ["--transport", transport, "-B", "127.0.0.1"];
        let mut command = weir(&["serve", "-p", "0", "--one-off", "--json"]);
        let mut server = Running::start(command.args(over).stdout(Stdio::piped()));
        let line = server.line();
        let port = line.rsplit(':').next().expect("a port").to_owned();
        let mut words = vec!["send", "127.0.0.1", "-p", &port, "-t", "1", "--json"];
        words.extend(["--transport", transport, "-b", "400k", "-l", "500"]);
        words.extend(reverse.then_some("-R"));
        let (status, stdout, stderr) = run(&mut weir(&words));
        assert_eq!(status, Some(0), "{transport}: {stderr}");
        let client = parse(&stdout);
        let client = &client["end"]["streams"][0];
        let mut stdout = String::new();
        let pipe = server.child.stdout.as_mut().expect("piped");
        pipe.read_to_string(&mut stdout).expect("text");
        assert_eq!(server.end().0, Some(0));
        let server = parse(&stdout);
        for key in ["bytes_sent", "bytes_received"] {
            // The receiver of a stream does not know how much was sent.
            let known = |end: &Value| !end[key].is_null();
            assert!(known(client) || known(&server), "{transport} {key}");
            if known(client) && known(&server) {
                assert_eq!(client[key], server[key], "{transport} {reverse} {key}");
            }
        }
        for end in [client, &server] {
            assert!(end["bytes_received"].as_f64() > Some(1000.0), "{end:#}");
            assert_eq!(end["complete"], true, "{transport} {reverse}: {end:#}");
        }
    }
}

#[test]
fn an_interrupted_test_prints_one_document_with_what_it_measured() {
    let (_server, port) = serve(&["-B", "127.0.0.1"]);
    let words = ["send", "127.0.0.1", "-p", &port, "-t", "60", "-b", "400k"];
    let mut command = weir(&words);
    command
        .args(["-i", "200ms", "--json"])
        .stdout(Stdio::piped());
    let mut client = Running::start(&mut command);
    assert!(client.line().starts_with("connecting"));
    assert!(client.line().contains("0.00-0.20"));
    client.signal("-INT");
    let mut stdout = String::new();
    let pipe = client.child.stdout.as_mut().expect("piped");
    pipe.read_to_string(&mut stdout).expect("text");
    assert_eq!(client.end().0, Some(130));
    let document = parse(&stdout);
    assert!(document["end"]["sum"]["bytes"].as_f64() > Some(0.0));
    assert_eq!(document["error"]["status"], 130, "{document:#}");
}

#[test]
fn a_trace_that_cannot_be_kept_does_not_take_the_result_with_it() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("file");
    let folder = file.join("trace");
    let (_server, port) = serve(&["-B", "127.0.0.1"]);
    let words = ["send", "127.0.0.1", "-p", &port, "-t", "1", "-b", "400k"];
    let mut command = weir(&words);
    command.args(["-i", "200ms", "--json", "--trace", text(&folder)]);
    let mut client = Running::start(command.stdout(Stdio::piped()));
    assert!(client.line().starts_with("connecting"));
    // The folder was free before the test, and cannot be created after it.
    std::fs::write(&file, "a file").expect("written");
    let mut stdout = String::new();
    let pipe = client.child.stdout.as_mut().expect("piped");
    pipe.read_to_string(&mut stdout).expect("text");
    let (status, stderr) = client.end();
    assert_eq!(status, Some(1), "{stderr}");
    let document = parse(&stdout);
    assert!(document["end"]["sum"]["bytes"].as_f64() > Some(0.0));
    assert_eq!(document["error"]["status"], 1, "{document:#}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_device_of_a_program_drops_before_its_link_is_stated() {
    let (_server, port) = serve(&["--transport", "udp", "-B", "0.0.0.0"]);
    // Bursts of segmented sends through a queue of one packet.
    let script = format!(
        "dev=$(ip -o route get $WEIR_HOST | sed 's/.* dev \\([^ ]*\\).*/\\1/')
         ip link set $dev txqueuelen 1
         \"$0\" -q send $WEIR_HOST -p {port} --transport udp -b 500m -l 100 -t 1; true"
    );
    let program = env!("CARGO_BIN_EXE_weir");
    let words = ["emulate", "--link", "", "--", "sh", "-c", &script, program];
    let (status, _, stderr) = run(&mut weir(&words));
    if status == Some(4) {
        return skipped(stderr.trim());
    }
    assert_eq!(status, Some(0), "{stderr}");
    let line = stderr
        .lines()
        .find(|line| line.contains("the device of sh dropped"));
    let line = line.unwrap_or_else(|| panic!("{stderr}"));
    let numbers = line.split_whitespace().filter_map(|word| word.parse().ok());
    let numbers: Vec<u64> = numbers.collect();
    assert!(numbers[0] > 0 && numbers[0] < numbers[1], "{line}");
}

#[test]
fn a_test_over_a_slow_path_ends_with_its_time_and_not_with_its_queue() {
    for (words, expected) in [
        // The queues of the sender hold 180 kB, which are 14 s of the link.
        (&["--transport", "dccp"][..], 1.9..5.0),
        // With a rate that is too high, the rest has a second to arrive and is counted.
        (&["--transport", "quic", "-b", "1m", "-l", "1000"], 2.9..4.5),
    ] {
        let (_server, port) = serve(&["-B", "127.0.0.1", words[0], words[1]]);
        let to = format!("127.0.0.1:{port}");
        let link = "rate 100kbit delay 10ms limit 5";
        let mut relay = Running::weir(&["emulate", "--time", "60", "--link", link, "--to", &to]);
        let line = relay.line();
        let port = line.split(' ').nth(2).and_then(|at| at.rsplit(':').next());
        let port = port.expect("relay at ADDRESS:PORT to …");
        let send = ["send", "127.0.0.1", "-p", port, "-t", "2", "--json"];
        let (status, stdout, stderr) = run(&mut weir(&[&send[..], words].concat()));
        assert_eq!(status, Some(0), "{stdout}{stderr}");
        let stream = &parse(&stdout)["end"]["streams"][0];
        let seconds = stream["seconds"].as_f64().expect("a time");
        assert!(expected.contains(&seconds), "{words:?} {seconds}: {stderr}");
        assert_eq!(stream["complete"], true, "{stderr}");
    }
}

#[test]
fn quic_on_a_path_that_loses_its_first_datagrams_names_their_size() {
    let (_server, port) = serve(&["-B", "127.0.0.1", "--transport", "quic"]);
    let relay = Relay::start(&port, 1100);
    let send = [
        "send",
        "127.0.0.1",
        "-p",
        &relay.port,
        "--transport",
        "quic",
    ];
    let (status, _, stderr) = run(&mut weir(&send));
    assert_eq!(status, Some(1), "{stderr}");
    for words in ["does not answer", "1200 bytes", "RFC 9000 §14"] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
}
