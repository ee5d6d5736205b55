//! Captures written by the command, as read by Wireshark and by our own reader.

use crate::common::{self, fields, folder_with, only_run, outcome, parse};
use std::path::Path;

/// CCID 2 and 3 over a link that drops and marks packets.
const SCENARIO: &str = r#"
[run]
duration = "3s"

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "2Mbit"
delay = "5ms"
queue = { kind = "red", limit = "30000b", min = "5000b", max = "15000b", ecn = true }

[[flow]]
name = "tfrc"
from = "server"
to = "client"
transport = { kind = "dccp", ccid = 3, profile = "rfc5348" }
app = { kind = "bulk", packet = 1400 }
start = "1ms"

[[flow]]
name = "tcp-like"
from = "server"
to = "client"
start = "1ms"
transport = { kind = "dccp", ccid = 2, ecn = true }
app = { kind = "bulk", packet = 1400 }
"#;

const OTHERS: &str = r#"
[[flow]]
name = "tcp"
from = "server"
to = "client"
transport = { kind = "tcp" }
app = { kind = "bulk", packet = 1400 }

[[flow]]
name = "quic"
from = "server"
to = "client"
transport = { kind = "quic" }
app = { kind = "bulk", packet = 1200 }

[[flow]]
name = "udp"
from = "server"
to = "client"
transport = { kind = "udp" }
app = { kind = "cbr", packet = 200, rate = "64kbit" }
"#;

/// A folder with a run of the scenario, and the run's path.
fn run_of(scenario: &str) -> (tempfile::TempDir, String) {
    let folder = folder_with(scenario);
    let ran = outcome(folder.path(), &["run", "path.toml"]);
    assert_eq!(ran.0, Some(0), "{ran:?}");
    let run = only_run(folder.path());
    (folder, run)
}

/// Exports the run; returns the path of the file.
fn exported(folder: &Path, run: &str, words: &[&str]) -> std::path::PathBuf {
    let words = [&["export", run, "--format", "pcapng"], words].concat();
    let (status, stdout, stderr) = outcome(folder, &words);
    assert_eq!(status, Some(0), "{stderr}");
    folder.join(stdout.trim_end())
}

/// The values that tshark reads for these fields of each packet, with all checksums checked.
fn tshark(file: &Path, names: &[&str]) -> Option<Vec<Vec<String>>> {
    let checked =
        ["ip", "tcp", "udp", "dccp"].map(|protocol| format!("{protocol}.check_checksum:TRUE"));
    let checked = checked.iter().flat_map(|option| ["-o", option]);
    let arguments: Vec<_> = checked.chain(fields(names)).collect();
    let rows = common::tshark(file, &arguments)?;
    let row = |line: &String| line.split('\t').map(str::to_owned).collect();
    Some(rows.iter().map(row).collect())
}

/// The number of rows, and the number of those with this value in this field.
fn share(rows: &[Vec<String>], field: usize, value: &str) -> (usize, usize) {
    let with = rows.iter().filter(|row| row[field] == value);
    (rows.len(), with.count())
}

#[test]
fn wireshark_reads_every_packet_of_both_ccids_and_finds_nothing_wrong() {
    let (folder, run) = run_of(SCENARIO);
    let file = exported(folder.path(), &run, &[]);
    let names = [
        "_ws.col.Protocol",
        "dccp.checksum.status",
        "ip.checksum.status",
        "_ws.malformed",
        "frame.interface_name",
        "ip.dsfield.ecn",
        "ip.src",
    ];
    let Some(rows) = tshark(&file, &names) else {
        return;
    };
    let all = rows.len();
    assert!(all > 500, "{all}");
    for (field, value) in [(0, "DCCP"), (1, "1"), (2, "1"), (3, "")] {
        assert_eq!(share(&rows, field, value), (all, all), "{}", names[field]);
    }
    let (_, at_server) = share(&rows, 4, "server");
    let (_, at_client) = share(&rows, 4, "client");
    assert_eq!(at_server + at_client, all);
    assert!(at_server > at_client, "the queue has dropped something");
    let marked = rows.iter().filter(|row| row[5] == "3");
    let marked: Vec<_> = marked
        .map(|row| (row[4].as_str(), row[6].as_str()))
        .collect();
    assert!(!marked.is_empty(), "the queue has marked something");
    assert!(
        marked.iter().all(|at| *at == ("client", "10.0.0.1")),
        "{marked:?}"
    );
}

#[test]
fn wireshark_reads_tcp_udp_and_the_headers_of_quic() {
    let (folder, run) = run_of(&(SCENARIO.to_owned() + OTHERS));
    let file = exported(folder.path(), &run, &["--host", "client"]);
    let names = [
        "_ws.col.Protocol",
        "_ws.malformed",
        "tcp.checksum.status",
        "udp.checksum.status",
        "tcp.stream",
        "tcp.options.mss_val",
    ];
    let Some(rows) = tshark(&file, &names) else {
        return;
    };
    assert_eq!(share(&rows, 1, "").1, rows.len());
    for (protocol, checksum) in [("TCP", 2), ("QUIC", 3), ("UDP", 3)] {
        let rows: Vec<_> = rows
            .iter()
            .filter(|row| row[0] == protocol)
            .cloned()
            .collect();
        assert!(rows.len() > 20, "{protocol}");
        assert_eq!(share(&rows, checksum, "1").1, rows.len(), "{protocol}");
    }
    let (_, streams) = share(&rows, 4, "0");
    assert_eq!(streams, share(&rows, 0, "TCP").1);
    assert_eq!(share(&rows, 5, "1460").1, 2, "SYN and SYN+ACK");
}

#[test]
fn our_own_reader_counts_the_packets_that_the_summary_counts() {
    let (folder, run) = run_of(SCENARIO);
    let path = folder.path();
    let file = exported(path, &run, &["--host", "server", "--out", "near.pcapng"]);
    let name = file.display().to_string();
    let (status, stdout, stderr) = outcome(path, &["decode", &name]);
    assert_eq!(status, Some(0), "{stderr}");
    let whole = "0 with a wrong checksum, 0 malformed";
    assert!(stderr.trim_end().ends_with(whole), "{stderr}");
    let summary = std::fs::read_to_string(path.join(&run).join("summary.json")).expect("a summary");
    let summary = parse(&summary);
    for (port, flow) in [(49_152, "tfrc"), (49_153, "tcp-like")] {
        let sent = format!(" 10.0.0.1:{port} > 10.0.0.2:5001 ");
        let seen = stdout.lines().filter(|line| line.contains(&sent)).count();
        let counted = summary["flows"][flow]["packets_sent"].as_u64();
        assert_eq!(counted, Some(seen as u64), "{flow}");
    }
}

#[test]
fn a_capture_of_the_same_run_has_the_same_octets_and_its_beginning_is_known() {
    let (folder, run) = run_of(SCENARIO);
    let read = |file: &Path| std::fs::read(file).expect("a file");
    let first = read(&exported(folder.path(), &run, &["--snaplen", "64"]));
    let again = read(&exported(folder.path(), &run, &["--snaplen", "64"]));
    assert!(first == again);
    #[rustfmt::skip]
    let expected = [
        0x0a, 0x0d, 0x0d, 0x0a, 48, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 4, 0, 10, 0,
    ];
    assert_eq!(first[..28], expected);
    // Block and interface of raw IP, at most 64 octets, with the name of the first host.
    let interface = [
        1, 0, 0, 0, 56, 0, 0, 0, 101, 0, 0, 0, 64, 0, 0, 0, 2, 0, 6, 0, b's', b'e', b'r', b'v',
        b'e', b'r', 0, 0,
    ];
    assert_eq!(first[48..48 + interface.len()], interface);
    let (whole, _, _) = outcome(folder.path(), &["export", &run, "--format", "pcapng"]);
    assert_eq!(whole, Some(0));
    let whole = read(&folder.path().join(&run).join("pcapng/packets.pcapng"));
    assert!(
        whole.len() > 3 * first.len(),
        "{} {}",
        whole.len(),
        first.len()
    );
}

#[test]
fn a_run_that_is_not_the_one_of_its_summary_is_not_exported() {
    let (folder, run) = run_of(SCENARIO);
    let path = folder.path().join(&run);
    let words = ["export", &run, "--format", "pcapng", "--out", "out.pcapng"];
    let change = |file: &str, from: &str, to: &str| {
        let text = std::fs::read_to_string(path.join(file)).expect("text");
        assert!(text.contains(from), "{text}");
        std::fs::write(path.join(file), text.replace(from, to)).expect("written");
    };
    let whole = std::fs::read(path.join("summary.json")).expect("a summary");
    change("summary.json", "\"packets_lost\": ", "\"packets_lost\": 1");
    let (status, _, stderr) = outcome(folder.path(), &words);
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("was changed after the run"), "{stderr}");
    std::fs::write(path.join("summary.json"), whole).expect("written");
    change("scenario.toml", "ecn = true", "ecn = false");
    let (status, _, stderr) = outcome(folder.path(), &words);
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("was changed after the run"), "{stderr}");
    let left = std::fs::read_dir(folder.path()).expect("a folder");
    let left: Vec<_> = left.map(|file| file.expect("a file").file_name()).collect();
    assert_eq!(left.len(), 2, "the scenario and the results: {left:?}");
}

#[test]
fn hosts_are_known_ones_and_of_captures_only() {
    let (folder, run) = run_of(SCENARIO);
    for (format, host, why) in [
        ("pcapng", "nobody", "expected one of client, server"),
        ("csv", "client", "are of the format pcapng"),
    ] {
        let words = ["export", &run, "--format", format, "--host", host];
        let (status, _, stderr) = outcome(folder.path(), &words);
        assert_eq!(status, Some(2), "{stderr}");
        assert!(stderr.contains(why), "{stderr}");
    }
}

#[test]
fn damage_is_a_wrong_checksum_and_times_are_those_of_the_wire() {
    let scenario = r#"
[run]
duration = "1s"

[[host]]
name = "server"
transmit_delay = "30us"
receive_delay = "400us"

[[host]]
name = "client"
transmit_delay = "70us"
receive_delay = "900us"

[[link]]
name = "wire"
between = ["server", "client"]
delay = "5ms"
forward = { netem = { corrupt = 0.2 } }

[[flow]]
name = "stream"
from = "server"
to = "client"
transport = { kind = "dccp", ccid = 3, profile = "rfc5348" }
app = { kind = "bulk", packet = 1400 }
"#;
    let (folder, run) = run_of(scenario);
    let file = exported(folder.path(), &run, &[]);
    let name = file.display().to_string();
    let (status, stdout, _) = outcome(folder.path(), &["decode", &name]);
    assert_eq!(status, Some(0));
    let rows: Vec<Vec<&str>> = stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let nanos = |row: &[&str]| -> u64 {
        let (seconds, part) = row[1].split_once('.').expect("a time");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        number(seconds) * 1_000_000_000 + number(part)
    };
    // The Request is captured after the sending host's stack delay and before the receiving host's;
    // the Response after both delays of the client.
    let opening: Vec<_> = rows.iter().take(4).map(|row| nanos(row)).collect();
    assert_eq!(opening, [30_000, 5_030_000, 6_000_000, 11_000_000]);
    assert!(
        rows.is_sorted_by_key(|row| nanos(row)),
        "in the order of time"
    );
    let damaged = stdout.matches("checksum bad").count();
    let part = damaged as f64 / rows.len() as f64;
    assert!((0.01..0.2).contains(&part), "{damaged} of {}", rows.len());
}
