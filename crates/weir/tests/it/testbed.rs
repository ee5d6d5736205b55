//! `weir testbed` and `weir emulate` with real kernels and real programs.
#![cfg(target_os = "linux")]

use crate::common::{
    DCCP_IN_UDP, Running, fields, parse, run, runs_below, skipped, text, tshark, undisturbed, weir,
};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The user "nobody".
const NOBODY: u32 = 65_534;

const BUCKET: &str = r#"
[run]
duration = "14s"
warmup = "4s"

[[link]]
name = "wire"
between = ["sender", "receiver"]
rate = "100Mbit"
delay = "10ms"
forward = { shaper = { kind = "tbf", rate = "1000kbit", burst = "10000b", limit = "30000b" } }

[[flow]]
name = "stream"
from = "sender"
to = "receiver"
app = { kind = "bulk", packet = 1424 }
transport = { kind = "dccp", ccid = 3, profile = "linux-2008" }
"#;

/// Three hosts in a row: a plain link, and one that drops and delays packets.
const ROW: &str = r#"
[run]
duration = "4s"

[[link]]
name = "near"
between = ["left", "middle"]

[[link]]
name = "far"
between = ["middle", "right"]
rate = "5Mbit"
delay = "10ms"

[[flow]]
name = "tcp"
from = "left"
to = "right"
transport = { kind = "tcp" }
app = { kind = "bulk" }

[[flow]]
name = "udp"
from = "right"
to = "left"
transport = { kind = "udp" }
app = { kind = "cbr", packet = 400, rate = "160kbit" }
loss = { kind = "periodic", rate = 0.1 }
"#;

/// A folder with this scenario, and the scenario's path.
fn folder_with(scenario: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("scenario.toml");
    std::fs::write(&file, scenario).expect("the folder can be written");
    (folder, file)
}

/// The JSON document of a command; `None`, with a note, if a privilege is missing.
fn document(command: &mut Command) -> Option<serde_json::Value> {
    let (status, stdout, stderr) = run(command);
    if status == Some(4) {
        skipped(stdout.trim());
        return None;
    }
    assert_eq!(status, Some(0), "{stdout}{stderr}");
    Some(parse(&stdout))
}

/// The summary of a scenario run by this command.
fn summary(name: &str, scenario: &str, out: &Path) -> Option<serde_json::Value> {
    let file = out.join("scenario.toml");
    std::fs::write(&file, scenario).expect("the folder can be written");
    let [file, out] = [&file, out].map(text);
    // The result of a flow over a token bucket depends on its oscillation: the mean of a damped one
    // is stable after seconds.
    let damped = "flow.stream.transport.tfrc.oscillation=full";
    let mut words = vec![name, file, "--out", out, "--json"];
    if scenario.contains("tbf") {
        words.extend(["--set", damped]);
    }
    let document = document(&mut weir(&words))?;
    let folder = document["runs"][0]["folder"].as_str().expect("a folder");
    assert!(Path::new(folder).join("flows.parquet").exists() || !scenario.contains("tbf"));
    Some(document["runs"][0]["summary"].clone())
}

#[test]
fn a_kernels_bucket_does_to_a_flow_what_the_simulated_one_does() {
    let number = |summary: &serde_json::Value, pointer: &str| {
        let number = summary.pointer(pointer).and_then(serde_json::Value::as_f64);
        number.unwrap_or_else(|| panic!("{pointer} of {summary}"))
    };
    let simulated = tempfile::tempdir().expect("a folder");
    let simulated = summary("run", BUCKET, simulated.path()).expect("simulating needs no right");
    let rtt = "/flows/stream/rtt_s/mean";
    let measure = || {
        let out = tempfile::tempdir().expect("a folder");
        summary("testbed", BUCKET, out.path())
    };
    undisturbed(measure, |real| {
        let Some(real) = real else { return true };
        let ratio = number(real, rtt) / number(&simulated, rtt);
        let delay = "/flows/stream/one_way_delay_s/mean";
        let delays = number(real, delay) / number(&simulated, delay);
        // The kernel's bucket does not say how long a packet waits in it.
        assert!(real["flows"]["stream"]["queueing_delay_s"].is_null());
        number(real, "/flows/stream/throughput_bps") > 0.9e6
            && (0.85..1.15).contains(&ratio)
            && (0.85..1.15).contains(&delays)
            // The utilisation is counted by the kernel's token bucket.
            && number(real, "/links/wire/utilisation") > 0.9
    });
}

/// A path on which any TCP without a loss at its start fills the queue.
const KERNEL: &str = r#"
[run]
duration = "4s"
warmup = "1s"

[[link]]
name = "wire"
between = ["sender", "receiver"]
rate = "5Mbit"
delay = "10ms"
forward = { queue = { kind = "droptail", limit = 20 } }

[[flow]]
name = "stream"
from = "sender"
to = "receiver"
transport = { kind = "tcp", controller = "newreno" }
app = { kind = "bulk" }
"#;

#[test]
fn the_kernels_tcp_does_to_a_path_what_the_simulators_does() {
    let number = |summary: &serde_json::Value, pointer: &str| {
        let number = summary.pointer(pointer).and_then(serde_json::Value::as_f64);
        number.unwrap_or_else(|| panic!("{pointer} of {summary}"))
    };
    let out = tempfile::tempdir().expect("a folder");
    let simulated = summary("run", KERNEL, out.path()).expect("simulating needs no right");
    let measure = || {
        let (out, file) = folder_with(KERNEL);
        let [file, out] = [file.as_path(), out.path()].map(text);
        let words = ["testbed", file, "--kernel-tcp", "--out", out, "--json"];
        Some(document(&mut weir(&words))?["runs"][0]["summary"].clone())
    };
    undisturbed(measure, |real| {
        let Some(real) = real else { return true };
        let build = real["run"]["build"].as_str().expect("a build");
        assert!(build.contains("TCP of Linux "), "{build}");
        let near = |pointer: &str| {
            let ratio = number(real, pointer) / number(&simulated, pointer);
            (0.9..1.1).contains(&ratio)
        };
        // 5 Mbit/s of which 1460 of 1500 octets are payload.
        number(real, "/flows/stream/goodput_bps") < 4.9e6
            && near("/flows/stream/goodput_bps")
            && near("/flows/stream/rtt_s/mean")
            && near("/flows/stream/one_way_delay_s/p50")
            && near("/flows/stream/queueing_delay_s/p50")
            && number(real, "/flows/stream/retransmissions/packets") > 0.0
    });
}

#[test]
fn flows_that_the_kernel_cannot_carry_are_refused_with_the_reason() {
    for (from, to, why) in [
        ("newreno", "copa", "expected newreno, cubic or bbr1"),
        (
            "kind = \"tcp\", controller = \"newreno\"",
            "kind = \"dccp\"",
            "is not TCP",
        ),
        ("\"bulk\"", "\"bulk\", total = 1000", "endless"),
        ("app =", "stop = \"2s\"\napp =", "more than transport"),
    ] {
        let (_out, file) = folder_with(&KERNEL.replace(from, to));
        let words = ["testbed", text(&file), "--kernel-tcp"];
        let (status, _, stderr) = run(&mut weir(&words));
        assert_eq!(status, Some(2), "{stderr}");
        assert!(stderr.contains(why), "{stderr}");
    }
}

#[test]
fn a_capture_of_a_testbed_has_every_host_and_no_malformed_packet() {
    let (out, file) = folder_with(&BUCKET.replace("14s", "2s").replace("4s", "500ms"));
    let capture = out.path().join("hosts.pcapng");
    let runs = out.path().join("runs");
    let [file, pcap, runs] = [&file, &capture, &runs].map(|path| text(path));
    let words = ["testbed", file, "--pcap", pcap, "--out", runs, "--json"];
    if document(&mut weir(&words)).is_none() {
        return;
    }
    let names = fields(&["frame.interface_name", "_ws.col.Protocol"]);
    let Some(lines) = tshark(&capture, &[&DCCP_IN_UDP[..], &names].concat()) else {
        return;
    };
    let of = |line: &str| lines.iter().filter(|other| *other == line).count();
    let (sent, received) = (of("sender\tDCCP"), of("receiver\tDCCP"));
    assert_eq!(sent + received, lines.len(), "{:?}", lines.first());
    assert!(sent >= received && received > 20, "{sent} and {received}");
    let malformed = [&DCCP_IN_UDP[..], &["-Y", "_ws.malformed"]].concat();
    let malformed = tshark(&capture, &malformed);
    assert_eq!(malformed, Some(Vec::new()));
}

#[test]
fn hosts_in_the_middle_forward_and_all_transports_pass() {
    let measure = || {
        let out = tempfile::tempdir().expect("a folder");
        summary("testbed", ROW, out.path())
    };
    undisturbed(measure, |real| {
        let Some(real) = real else { return true };
        let flow = |name: &str| real["flows"][name].clone();
        let tcp = flow("tcp")["throughput_bps"].as_f64().expect("a rate");
        let [sent, received, lost] = ["packets_sent", "packets_received", "packets_lost"]
            .map(|key| flow("udp")[key].as_u64().expect("a count"));
        // Fifty packets a second; one of eleven is dropped at the sender's socket.
        (3.5e6..5.1e6).contains(&tcp)
            && (190..=202).contains(&sent)
            && lost.abs_diff(sent / 11) <= 2
            && received + lost <= sent
    });
}

#[test]
fn nothing_is_left_of_a_testbed_that_is_killed() {
    let (out, file) = folder_with(BUCKET);
    let links = || {
        let listed = Command::new("ip").args(["-o", "link"]).output();
        let text = String::from_utf8(listed.expect("ip lists").stdout).expect("text");
        let name = |line: &str| line.split(": ").nth(1).map(str::to_owned);
        text.lines().filter_map(name).collect::<BTreeSet<_>>()
    };
    let before = links();
    let mut running = Running::weir(&["testbed", text(&file), "--out", text(out.path())]);
    running.line();
    // The testbed is being built or running; the result is the same in both cases.
    std::thread::sleep(Duration::from_millis(300));
    running.child.kill().expect("it can be killed");
    let (status, _) = running.end();
    if status == Some(4) {
        return skipped("a testbed needs root");
    }
    // Other tests create devices too, which are also removed.
    let began = Instant::now();
    while !links().is_subset(&before) {
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "a device is left"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let entries = std::fs::read_dir(out.path()).expect("the folder is there");
    // The file of its progress lies in a folder that the next command removes.
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let left = names.filter(|name| !name.to_string_lossy().starts_with(".weir-partial"));
    assert_eq!(left.count(), 1, "half a run is left");
}

#[test]
fn a_run_cut_short_does_not_take_the_place_of_a_whole_one() {
    let (out, file) = folder_with(BUCKET);
    let results = out.path().join("results");
    let mut command = weir(&["testbed", text(&file), "--out", text(&results)]);
    let mut running = Running::start(command.stdout(Stdio::null()));
    running.line();
    let (status, _) = running.interrupt();
    if status == Some(4) {
        return skipped("no namespaces");
    }
    assert_eq!(status, Some(130));
    let runs = runs_below(&results);
    let [run] = runs.as_slice() else {
        panic!("{runs:?}");
    };
    assert!(text(run).ends_with("-interrupted"), "{run:?}");
}

#[test]
fn without_the_right_the_message_names_the_way_without() {
    let (out, file) = folder_with(BUCKET);
    let mut command = weir(&["testbed", text(&file), "--json"]);
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(out.path(), open).expect("it is ours");
    }
    match command.output() {
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stdout);
            assert_eq!(output.status.code(), Some(4), "{stderr}");
            assert!(
                stderr.contains("root") && stderr.contains("weir emulate"),
                "{stderr}"
            );
        }
        Err(error) => skipped(&format!("this folder is closed to others: {error}")),
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named_before_the_run() {
    let (_out, file) = folder_with(BUCKET);
    let inside = file.join("results");
    let words = ["testbed", text(&file), "--out", text(&inside)];
    let (status, _, stderr) = run(&mut weir(&words));
    assert_eq!(status, Some(1), "{stderr}");
    assert!(
        stderr.contains("results") && !stderr.contains("run 1/1"),
        "{stderr}"
    );
}

#[test]
fn a_link_without_room_for_the_header_of_udp_is_refused() {
    let (_out, file) = folder_with(&ROW.replace("delay =", "mtu = 65535\ndelay ="));
    let (status, _, stderr) = run(&mut weir(&["testbed", text(&file)]));
    assert_eq!(status, Some(2), "{stderr}");
    assert!(stderr.contains("65527"), "{stderr}");
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

/// A relay with these arguments, and its address.
fn relay(arguments: &[&str]) -> (Running, String) {
    let mut relay = Running::weir(&[&["emulate", "--time", "20"], arguments].concat());
    let line = relay.line();
    let words: Vec<_> = line.split(' ').collect();
    assert_eq!(words.first(), Some(&"relay"), "{line}");
    (relay, words[2].to_owned())
}

/// A relay over this link to a server.
fn relay_to(server: &UdpSocket, link: &str) -> (Running, String) {
    let to = server.local_addr().expect("it is bound").to_string();
    relay(&["--link", link, "--to", &to])
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("loopback is there");
    let net = Some(Duration::from_secs(10));
    socket.set_read_timeout(net).expect("a timeout can be set");
    socket
}

#[test]
fn a_relay_delays_both_ways_and_tells_clients_apart() {
    let server = socket();
    let (_relay, at) = relay_to(&server, "delay 20ms");
    let clients = [socket(), socket()];
    let began = Instant::now();
    let mut buffer = [0; 100];
    for (number, client) in clients.iter().enumerate() {
        client.send_to(&[number as u8; 10], &at).expect("it sends");
    }
    for _ in &clients {
        let (len, from) = server.recv_from(&mut buffer).expect("it comes");
        server.send_to(&buffer[..len], from).expect("it sends");
    }
    for (number, client) in clients.iter().enumerate() {
        let (len, _) = client.recv_from(&mut buffer).expect("the answer comes");
        assert_eq!(&buffer[..len], [number as u8; 10]);
    }
    // A lower bound, which also holds on a busy machine.
    assert!(began.elapsed() >= Duration::from_millis(40));
}

#[test]
fn a_relay_takes_names_and_passes_empty_datagrams() {
    let server = socket();
    let port = server.local_addr().expect("it is bound").port();
    let to = format!("localhost:{port}");
    let (_relay, at) = relay(&["--link", "", "--to", &to]);
    let client = socket();
    let mut buffer = [0; 100];
    for datagram in [&b""[..], b"something", b""] {
        client.send_to(datagram, &at).expect("it sends");
        let (len, from) = server.recv_from(&mut buffer).expect("it comes");
        assert_eq!(&buffer[..len], datagram);
        server.send_to(&buffer[..len], from).expect("it sends");
        let (len, _) = client.recv_from(&mut buffer).expect("the answer comes");
        assert_eq!(&buffer[..len], datagram);
    }
}

#[test]
fn a_relay_loses_what_its_link_loses() {
    let server = socket();
    let (_relay, at) = relay_to(&server, "loss 50% limit 5000");
    let client = socket();
    let reader = server.try_clone().expect("it can be shared");
    // The relay may have to wait for the processor, so only a long silence is taken as the end.
    let silence = Some(Duration::from_secs(5));
    reader
        .set_read_timeout(silence)
        .expect("a timeout can be set");
    let count = std::thread::spawn(move || {
        let mut received = 0;
        while reader.recv(&mut [0; 100]).is_ok() {
            received += 1;
        }
        received
    });
    for number in 0..1000_u32 {
        client
            .send_to(&number.to_be_bytes(), &at)
            .expect("it sends");
        if number % 20 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let received: u32 = count.join().expect("it counts");
    // Six standard deviations of a binomial distribution with n = 1000 and p = 1/2.
    assert!((405..=595).contains(&received), "{received} of 1000");
}

#[test]
fn a_program_meets_the_link_in_a_namespace_of_its_own() {
    let script = "test \"$(ls /sys/class/net | wc -l)\" -ge 1 && \
                  ip -o addr show | grep -c 'inet 100.64' && \
                  ip route get $WEIR_HOST | grep -c weir && \
                  ! ip -6 addr show | grep fe80 && exit 7";
    let words = ["emulate", "--link", "delay 5ms", "--", "sh", "-c", script];
    let (status, stdout, stderr) = run(&mut weir(&words));
    if status == Some(4) {
        return skipped(stderr.trim());
    }
    assert_eq!(stdout, "1\n1\n", "{stderr}");
    assert_eq!(status, Some(7), "the program's status: {stderr}");
}

/// The exit status of a program in a namespace behind a link; `None` without the necessary
/// privilege.
fn behind(link: &str, program: &[&str]) -> Option<i32> {
    let words = [&["emulate", "--link", link, "--"][..], program].concat();
    let (status, _, stderr) = run(&mut weir(&words));
    if status == Some(4) {
        skipped(stderr.trim());
        return None;
    }
    status
}

#[test]
fn the_last_packets_of_a_program_arrive() {
    let server = UdpSocket::bind("0.0.0.0:0").expect("a port is free");
    let net = Some(Duration::from_secs(10));
    server.set_read_timeout(net).expect("a timeout can be set");
    let port = server.local_addr().expect("it is bound").port();
    let send = format!("echo goodbye > /dev/udp/$WEIR_HOST/{port}");
    if behind("delay 300ms", &["bash", "-c", &send]) == Some(0) {
        let mut buffer = [0; 100];
        let (len, _) = server.recv_from(&mut buffer).expect("it comes");
        assert_eq!(&buffer[..len], b"goodbye\n");
    }
}

#[test]
fn the_delay_of_a_programs_packets_is_told_at_its_end() {
    let send = "for n in 1 2 3; do echo $n > /dev/udp/$WEIR_HOST/9; done";
    let words = ["emulate", "--link", "delay 40ms", "--", "bash", "-c", send];
    let measure = || run(&mut weir(&words));
    undisturbed(measure, |(status, _, stderr)| {
        if *status == Some(4) {
            skipped(stderr.trim());
            return true;
        }
        let told = "near to far: one-way delay 40.";
        stderr
            .lines()
            .any(|line| line.starts_with(told) && line.ends_with("of 3 packets"))
    });
}

#[test]
fn a_program_that_a_signal_ended_has_the_status_of_shells() {
    if let Some(status) = behind("", &["sh", "-c", "kill -KILL $$"]) {
        assert_eq!(status, 137);
    }
}

#[test]
fn a_program_is_told_to_end_when_weir_is() {
    let script = "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done";
    let mut command = weir(&["emulate", "--link", "", "--", "sh", "-c", script]);
    let mut running = Running::start(command.stdout(Stdio::piped()));
    let mut line = String::new();
    let stdout = running.child.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    if line.is_empty() {
        return skipped("no namespace");
    }
    running.signal("-TERM");
    assert_eq!(running.end().0, Some(9));
}

#[test]
fn a_signal_that_comes_while_a_program_starts_is_forwarded() {
    let script = "trap 'exit 9' TERM; kill -TERM $PPID; while :; do sleep 0.1; done";
    let mut running = Running::weir(&["emulate", "--link", "", "--", "sh", "-c", script]);
    let (status, _) = running.end();
    if status == Some(4) {
        return skipped("no namespace");
    }
    assert_eq!(status, Some(9));
}

#[test]
fn a_relay_goes_through_the_network_of_a_scenario() {
    let (_out, file) = folder_with(ROW);
    let server = socket();
    let to = server.local_addr().expect("it is bound").to_string();
    let (_relay, at) = relay(&["--scenario", text(&file), "--to", &to]);
    let client = socket();
    let began = Instant::now();
    client.send_to(b"over two links", &at).expect("it sends");
    let mut buffer = [0; 100];
    let (len, from) = server.recv_from(&mut buffer).expect("it comes");
    server.send_to(&buffer[..len], from).expect("it sends");
    let (len, _) = client.recv_from(&mut buffer).expect("the answer comes");
    assert_eq!(&buffer[..len], b"over two links");
    assert!(began.elapsed() >= Duration::from_millis(20));
}

#[test]
fn words_that_are_no_link_are_named() {
    let words = [
        "emulate",
        "--link",
        "rate 1mbit wings 3",
        "--to",
        "127.0.0.1:9",
    ];
    let (status, _, stderr) = run(&mut weir(&words));
    assert_eq!(status, Some(2), "{stderr}");
    assert!(stderr.contains("\"wings\""), "{stderr}");
}
