//! What holds a sender back: planted bounds, each in every transport in which it can occur, have at
//! least 95 % of the time in `bound_share`.

mod common;

use common::{json, outcome};
use serde_json::Value;
use std::path::Path;

/// The transports, by their words in a scenario.
const TCP: &str = r#"kind = "tcp""#;
const QUIC: &str = r#"kind = "quic""#;
const QUINN: &str = r#"kind = "quinn""#;
const CCID_2: &str = r#"kind = "dccp", ccid = 2"#;
const CCID_3: &str = r#"kind = "dccp", ccid = 3"#;
const CCID_4: &str = r#"kind = "dccp", ccid = 4"#;
const UDP: &str = r#"kind = "udp""#;
const ALL: [&str; 7] = [TCP, QUIC, QUINN, CCID_2, CCID_3, CCID_4, UDP];
const WINDOWS: [&str; 4] = [TCP, QUIC, QUINN, CCID_2];

const BULK: &str = r#"kind = "bulk", packet = 1000"#;
const NARROW: &str = r#"rate = "10Mbit", delay = "20ms""#;
const WIDE: &str = r#"rate = "100Mbit", delay = "20ms""#;
/// Nothing arrives for four seconds.
const BLACKOUT: &str = r#"rate = "10Mbit", delay = "20ms", queue = { kind = "droptail", limit = 50 }, change = [
    { at = "8s", loss = { kind = "random", rate = 1.0 } },
    { at = "12s", loss = { kind = "random", rate = 0.0 } },
]"#;

/// A planted bound.
struct Plant<'a> {
    bound: &'a str,
    transport: String,
    app: &'a str,
    link: &'a str,
    run: &'a str,
}

impl<'a> Plant<'a> {
    fn new(bound: &'a str, transport: &str, app: &'a str, link: &'a str) -> Self {
        Self {
            bound,
            transport: transport.to_owned(),
            app,
            link,
            run: r#"duration = "20s""#,
        }
    }

    fn scenario(&self) -> String {
        let Self {
            transport,
            app,
            link,
            run,
            ..
        } = self;
        let link = link.replace('\n', " ");
        format!(
            "run = {{ {run} }}\n\
             link = [{{ name = \"wire\", between = [\"a\", \"b\"], {link} }}]\n\
             flow = [{{ name = \"f\", from = \"a\", to = \"b\", transport = {{ {transport} }}, \
             app = {{ {app} }} }}]\n"
        )
    }

    /// The folder and the summary of its flow.
    fn run(&self, folder: &Path) -> (String, Value) {
        std::fs::write(folder.join("plant.toml"), self.scenario()).expect("written");
        let document = json(&outcome(folder, &["run", "plant.toml", "--json"]));
        let run = &document["runs"][0];
        let path = run["folder"].as_str().expect("a folder").to_owned();
        (path, run["summary"]["flows"]["f"].clone())
    }
}

/// Each of nine bounds, by transport.
fn planted() -> Vec<Plant<'static>> {
    let few = r#"kind = "cbr", packet = 200, rate = "64kbit""#;
    let finished = r#"kind = "cbr", packet = 200, rate = "640kbit", count = 40"#;
    let lossy = r#"rate = "10Mbit", delay = "20ms", loss = { kind = "random", rate = 0.01 }"#;
    let mut planted = Vec::new();
    for transport in ALL {
        planted.push(Plant::new("application", transport, few, NARROW));
        planted.push(Plant::new("nothing", transport, finished, NARROW));
    }
    for transport in WINDOWS {
        planted.push(Plant::new("window", transport, BULK, lossy));
        planted.push(Plant::new("window", transport, BULK, BLACKOUT));
        // The queue is deep enough that BBR, which has left Startup and does not look for the least
        // round-trip time meanwhile, never meets its window.
        let paced = r#"controller = "bbr", bbr = { probe_rtt_interval = "60s" }"#;
        planted.push(Plant {
            run: r#"duration = "20s", warmup = "3s""#,
            ..Plant::new("pacer", &format!("{transport}, {paced}"), BULK, NARROW)
        });
    }
    for transport in [CCID_3, CCID_4] {
        planted.push(Plant::new("rate", transport, BULK, lossy));
    }
    for credit in [
        r#"kind = "tcp", receive_buffer = 65536"#,
        r#"kind = "quic", initial_max_stream_data = 65536"#,
        r#"kind = "quic", initial_max_data = 65536"#,
        r#"kind = "quinn", stream_window = 65536"#,
    ] {
        planted.push(Plant::new("receiver_credit", credit, BULK, WIDE));
    }
    for buffer in [
        r#"kind = "tcp", send_buffer = 2920"#,
        r#"kind = "quinn", send_window = 2400"#,
    ] {
        planted.push(Plant::new("send_buffer", buffer, BULK, WIDE));
    }
    // In slow start the window doubles in each round trip and so stays ahead of the pacer.
    let far = r#"rate = "10Gbit", delay = "50ms", queue = { kind = "droptail", limit = 100000 }"#;
    let open = r#"kind = "quinn", stream_window = 100000000, send_window = 100000000"#;
    planted.push(Plant {
        run: r#"duration = "1.2s", warmup = "600ms""#,
        ..Plant::new("pacer", open, BULK, far)
    });
    planted
}

#[test]
fn a_planted_bound_has_the_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut wrong = Vec::new();
    for plant in planted() {
        let (_, flow) = plant.run(folder.path());
        let shares = &flow["bound_share"];
        let share = shares[plant.bound].as_f64().unwrap_or(0.0);
        let all = shares.as_object().expect("shares").values();
        let sum: f64 = all.filter_map(Value::as_f64).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{shares}");
        if share < 0.95 {
            wrong.push(format!("{} of {}: {shares}", plant.bound, plant.transport));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Rows of a table of the run as words by column.
fn rows(folder: &Path, run: &str, table: &str) -> Vec<Vec<String>> {
    let export = outcome(folder, &["export", run, "--format", "csv"]);
    assert_eq!(export.0, Some(0), "{}", export.2);
    let path = folder.join(run).join("csv").join(table);
    let text = std::fs::read_to_string(path).expect("a table");
    let line = |line: &str| line.split(',').map(str::to_owned).collect();
    text.lines().map(line).collect()
}

/// Column `name` of the rows for which `keep`, given the row as a lookup by column.
fn column(
    rows: &[Vec<String>],
    name: &str,
    keep: impl Fn(&dyn Fn(&str) -> String) -> bool,
) -> Vec<String> {
    let head = &rows[0];
    let value = |row: &Vec<String>, name: &str| {
        let place = head.iter().position(|column| column == name);
        row[place.expect("the column")].clone()
    };
    let kept = rows
        .iter()
        .skip(1)
        .filter(|row| keep(&|name| value(row, name)));
    kept.map(|row| value(row, name)).collect()
}

#[test]
fn a_blackout_shows_each_timeout_at_its_time() {
    for transport in [TCP, QUIC, CCID_2, CCID_3] {
        let folder = tempfile::tempdir().expect("a folder");
        let bound = if transport == CCID_3 {
            "rate"
        } else {
            "window"
        };
        let plant = Plant::new(bound, transport, BULK, BLACKOUT);
        let (run, flow) = plant.run(folder.path());
        let flows = rows(folder.path(), &run, "flows/f.csv");
        let events = rows(folder.path(), &run, "events/f.csv");
        let in_blackout = |time: &str| {
            let time: f64 = time.parse().expect("a time");
            (8.0..12.5).contains(&time)
        };
        let of_flow = column(&flows, "time_s", |row| row("event") == "timeout");
        let times = column(&events, "time_s", |row| row("event") == "timeout");
        assert_eq!(of_flow, times, "{transport}");
        let dark: Vec<_> = times.iter().filter(|time| in_blackout(time)).collect();
        assert!(dark.len() >= 3, "{transport}: {times:?}");
        let backoff = column(&events, "backoff", |row| {
            row("event") == "timeout" && in_blackout(&row("time_s"))
        });
        assert!(
            backoff.starts_with(&["0", "1", "2"].map(str::to_owned)),
            "{transport}: {backoff:?}"
        );
        let timeouts = flow["retransmissions"]["timeouts"].as_u64();
        assert_eq!(timeouts, Some(times.len() as u64), "{transport}");
        if transport == TCP {
            let limits = column(&flows, "limit", |row| in_blackout(&row("time_s")));
            assert!(limits.contains(&"timeout".to_owned()), "{limits:?}");
            assert!(!limits.contains(&"persistent_congestion".to_owned()));
        }
    }
}

#[test]
fn a_handshake_in_a_blackout_shows_its_timeouts() {
    let dark = r#"rate = "10Mbit", delay = "20ms", loss = { kind = "random", rate = 1.0 }, change = [
        { at = "4s", loss = { kind = "none" } },
    ]"#;
    // RFC 6298 §2.1 and RFC 4340 §8.1.1: after one second. RFC 9002 §6.2.2: after 999 ms, three
    // times its initial round-trip time. Each doubles.
    for (transport, first) in [(TCP, 1.0), (QUIC, 0.999), (CCID_2, 1.0), (CCID_3, 1.0)] {
        let folder = tempfile::tempdir().expect("a folder");
        let plant = Plant::new("nothing", transport, r#"kind = "bulk", total = 5000"#, dark);
        let (run, flow) = plant.run(folder.path());
        let expected = [1.0, 3.0, 7.0].map(|times| times * first);
        for table in ["flows/f.csv", "events/f.csv"] {
            let rows = rows(folder.path(), &run, table);
            let times = column(&rows, "time_s", |row| row("event") == "timeout");
            let times = times.iter().map(|time| time.parse().expect("a time"));
            let times: Vec<f64> = times.collect();
            assert_eq!(times.len(), 3, "{transport}: {times:?}");
            let close = |(time, expected): (&f64, &f64)| (time - expected).abs() < 1e-6;
            assert!(
                times.iter().zip(&expected).all(close),
                "{transport}: {times:?}"
            );
        }
        let backoff = column(
            &rows(folder.path(), &run, "events/f.csv"),
            "backoff",
            |row| row("event") == "timeout",
        );
        assert_eq!(backoff, ["0", "1", "2"], "{transport}");
        assert_eq!(flow["retransmissions"]["timeouts"], 3, "{transport}");
    }
}

#[test]
fn a_row_for_each_packet_that_the_summary_counts() {
    let app = r#"kind = "cbr", packet = 1000, rate = "2Mbit", count = 500"#;
    let lossy = r#"rate = "10Mbit", delay = "20ms", loss = { kind = "random", rate = 0.02 },
        netem = { duplicate = 0.02 }"#;
    let rtp = r#"kind = "rtp", controller = "none""#;
    for transport in [TCP, QUIC, CCID_2, CCID_3, CCID_4, UDP, rtp] {
        let folder = tempfile::tempdir().expect("a folder");
        let plant = Plant::new("application", transport, app, lossy);
        std::fs::write(folder.path().join("plant.toml"), plant.scenario()).expect("written");
        let words = ["run", "plant.toml", "--packets", "--json"];
        let document = json(&outcome(folder.path(), &words));
        let run = &document["runs"][0];
        let path = run["folder"].as_str().expect("a folder");
        let rows = rows(folder.path(), path, "packets.csv");
        for (place, event, count) in [
            ("sender", "sent", "packets_sent"),
            ("receiver", "received", "packets_received"),
        ] {
            let found = column(&rows, "event", |row| {
                row("place") == place && row("event") == event
            });
            let counted = run["summary"]["flows"]["f"][count].as_u64();
            assert_eq!(counted, Some(found.len() as u64), "{transport}: {count}");
        }
        // Receivers detect the losses of TFRC and UDP. What a timeout of TCP presumes lost is not
        // counted.
        let finder = if [CCID_3, CCID_4, UDP].contains(&transport) {
            "receiver"
        } else {
            "sender"
        };
        let presumed =
            |row: &dyn Fn(&str) -> String| transport == TCP && row("reason") == "timeout";
        let lost = column(&rows, "number", |row| {
            row("place") == finder && row("event") == "lost" && !presumed(row)
        });
        let counted = run["summary"]["flows"]["f"]["packets_lost"].as_u64();
        assert_eq!(counted, Some(lost.len() as u64), "{transport}: lost");
        assert!(!lost.is_empty(), "{transport}");
        let dropped = column(&rows, "number", |row| row("event") == "dropped");
        assert!(lost.iter().all(|n| dropped.contains(n)), "{transport}");
    }
}
