//! Bounds on senders: bounds caused on purpose, each in every transport in which it can occur, have
//! at least 95 % of the time in `bound_share`.

mod pacers;

use crate::common::{json, outcome};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use weir_proto::event::SndLim;

/// The transports in the notation of a scenario.
const TCP: &str = r#"kind = "tcp""#;
const QUIC: &str = r#"kind = "quic""#;
const QUINN: &str = r#"kind = "quinn""#;
const CCID_2: &str = r#"kind = "dccp", ccid = 2"#;
const CCID_3: &str = r#"kind = "dccp", ccid = 3"#;
const CCID_4: &str = r#"kind = "dccp", ccid = 4"#;
const UDP: &str = r#"kind = "udp""#;
const RTP: &str = r#"kind = "rtp""#;
const ALL: [&str; 8] = [TCP, QUIC, QUINN, CCID_2, CCID_3, CCID_4, UDP, RTP];
const WINDOWS: [&str; 4] = [TCP, QUIC, QUINN, CCID_2];

const BULK: &str = r#"kind = "bulk", packet = 1000"#;
/// The target, which opens the connection, requests responses from the sender.
const REQUEST: &str = r#"kind = "request", response = { kind = "constant", bytes = 10000 }"#;
const NARROW: &str = r#"rate = "10Mbit", delay = "20ms""#;
const WIDE: &str = r#"rate = "100Mbit", delay = "20ms""#;
/// A path on which the equation allows less than a packet in ten milliseconds: with 400 ms and 5 %,
/// 1460 · √(3/(2·0.05)) / 0.4 s are 20 kB/s, without timeouts.
const FAR_AND_LOSSY: &str =
    r#"rate = "10Mbit", delay = "200ms", loss = { kind = "random", rate = 0.05 }"#;
/// No packet arrives for four seconds.
const BLACKOUT: &str = r#"rate = "10Mbit", delay = "20ms", queue = { kind = "droptail", limit = 50 }, change = [
    { at = "8s", loss = { kind = "random", rate = 1.0 } },
    { at = "12s", loss = { kind = "random", rate = 0.0 } },
]"#;

/// A bound with settings that cause it.
struct Plant<'a> {
    bound: &'a str,
    transport: String,
    app: &'a str,
    link: &'a str,
    run: &'a str,
    /// The arrivals of transfers over separate connections; empty for one connection.
    arrivals: &'a str,
}

impl<'a> Plant<'a> {
    fn new(bound: &'a str, transport: &str, app: &'a str, link: &'a str) -> Self {
        Self {
            bound,
            transport: transport.to_owned(),
            app,
            link,
            run: r#"duration = "20s""#,
            arrivals: "",
        }
    }

    /// Transfers that write all their data as soon as possible.
    fn transfers(bound: &'a str, transport: &str, arrivals: &'a str, link: &'a str) -> Self {
        Self {
            arrivals,
            ..Self::new(bound, transport, BULK, link)
        }
    }

    fn scenario(&self) -> String {
        let Self {
            transport,
            app,
            link,
            run,
            arrivals,
            ..
        } = self;
        let link = link.replace('\n', " ");
        let arrivals = match *arrivals {
            "" => String::new(),
            arrivals => format!(", arrivals = {{ {arrivals} }}"),
        };
        format!(
            "run = {{ {run} }}\n\
             link = [{{ name = \"wire\", between = [\"a\", \"b\"], {link} }}]\n\
             flow = [{{ name = \"f\", from = \"a\", to = \"b\", transport = {{ {transport} }}, \
             app = {{ {app} }}{arrivals} }}]\n"
        )
    }

    /// The run folder, and the summary of its flow.
    fn run(&self, folder: &Path) -> (String, Value) {
        self.run_with(folder, &["run", "plant.toml", "--json"])
    }

    /// The same with a table of packets.
    fn traced(&self, folder: &Path) -> (String, Value) {
        self.run_with(folder, &["run", "plant.toml", "--packets", "--json"])
    }

    fn run_with(&self, folder: &Path, words: &[&str]) -> (String, Value) {
        std::fs::write(folder.join("plant.toml"), self.scenario()).expect("written");
        let document = json(&outcome(folder, words));
        let run = &document["runs"][0];
        let path = run["folder"].as_str().expect("a folder").to_owned();
        let part = if self.arrivals.is_empty() {
            "flows"
        } else {
            "transfers"
        };
        (path, run["summary"][part]["f"].clone())
    }
}

/// Each bound in each transport in which it can occur, some caused in several ways.
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
        // The queue is so deep that BBR, after Startup and without ProbeRTT, is never limited by
        // its window.
        let paced = r#"controller = "bbr", bbr = { probe_rtt_interval = "60s" }"#;
        planted.push(Plant {
            run: r#"duration = "20s", warmup = "3s""#,
            ..Plant::new("pacer", &format!("{transport}, {paced}"), BULK, NARROW)
        });
    }
    planted.push(Plant::new("rate", CCID_3, BULK, lossy));
    planted.push(Plant::new("minimum_interval", CCID_4, BULK, lossy));
    planted.push(Plant {
        run: r#"duration = "60s", warmup = "20s""#,
        ..Plant::new("rate", CCID_4, BULK, FAR_AND_LOSSY)
    });
    // A rate above 1.5 Mbit/s, NADA's maximum.
    let much = r#"kind = "cbr", packet = 1000, rate = "4Mbit""#;
    planted.push(Plant::new("rate", RTP, much, NARROW));
    // Only the client's first packet arrives, and the server may send three times its octets: it
    // does so at once, or, with the lean QUIC whose handshake is one packet, with two probe
    // timeouts after 1 and 3 s.
    let unheard = r#"rate = "10Mbit", delay = "20ms", backward = { loss = { kind = "trace", drops = [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    ] } }"#;
    for transport in [QUIC, QUINN] {
        planted.push(Plant {
            run: r#"duration = "20s", warmup = "4s""#,
            ..Plant::new("anti_amplification", transport, REQUEST, unheard)
        });
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
    // In slow start the window doubles in each round trip and so stays above the octets that the
    // pacer releases.
    let far = r#"rate = "10Gbit", delay = "50ms", queue = { kind = "droptail", limit = 100000 }"#;
    let open = r#"kind = "quinn", stream_window = 100000000, send_window = 100000000"#;
    planted.push(Plant {
        run: r#"duration = "1.2s", warmup = "600ms""#,
        ..Plant::new("pacer", open, BULK, far)
    });
    planted
}

/// The same for transfers over separate connections. They write all their data at once and from the
/// connecting side, so that neither the application nor anti-amplification limits them.
fn planted_transfers() -> Vec<Plant<'static>> {
    let lossy = r#"rate = "10Mbit", delay = "20ms", loss = { kind = "random", rate = 0.01 }"#;
    let short = r#"kind = "poisson", per_second = 5, size = { kind = "constant", bytes = 1000 }"#;
    let medium = r#"kind = "list", transfers = [[0, 300000], [1, 300000], [9, 300000]]"#;
    let large = r#"kind = "list", transfers = [[0, 2000000], [1, 2000000], [9, 2000000]]"#;
    let larger = r#"kind = "list", transfers = [[0, 9000000], [1, 9000000], [9, 9000000]]"#;
    let endless = r#"kind = "list", transfers = [[0, 100000000]]"#;
    let mut planted = Vec::new();
    for transport in [TCP, QUIC, QUINN, CCID_2, CCID_3, CCID_4] {
        planted.push(Plant::transfers("nothing", transport, short, NARROW));
    }
    for transport in WINDOWS {
        // The preset of QUIC paces.
        let unpaced = match transport {
            QUIC => format!(r#"{transport}, overrides = {{ pacing = "off" }}"#),
            _ => transport.to_owned(),
        };
        planted.push(Plant::transfers("window", &unpaced, large, lossy));
        let paced = r#"controller = "bbr", bbr = { probe_rtt_interval = "60s" }"#;
        let paced = format!("{transport}, {paced}");
        planted.push(Plant {
            run: r#"duration = "20s", warmup = "3s""#,
            ..Plant::transfers("pacer", &paced, endless, NARROW)
        });
    }
    planted.push(Plant::transfers("rate", CCID_3, large, lossy));
    planted.push(Plant::transfers("minimum_interval", CCID_4, large, lossy));
    for credit in [
        r#"kind = "tcp", receive_buffer = 65536"#,
        r#"kind = "quic", initial_max_stream_data = 65536"#,
        r#"kind = "quic", initial_max_data = 65536"#,
        r#"kind = "quinn", stream_window = 65536"#,
    ] {
        planted.push(Plant::transfers("receiver_credit", credit, larger, WIDE));
    }
    for buffer in [
        r#"kind = "tcp", send_buffer = 2920"#,
        r#"kind = "quinn", send_window = 2400"#,
    ] {
        planted.push(Plant::transfers("send_buffer", buffer, medium, WIDE));
    }
    planted
}

#[test]
fn a_planted_bound_has_the_time() {
    check(planted());
    check(planted_transfers());
}

/// Checks that each bound has at least 95 % of the time, and that all shares add up to 100 %.
fn check(planted: Vec<Plant<'_>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut wrong = Vec::new();
    for plant in planted {
        let (_, flow) = plant.run(folder.path());
        let shares = &flow["bound_share"];
        let share = shares[plant.bound].as_f64().unwrap_or(0.0);
        let all = shares.as_object().expect("shares").values();
        let sum: f64 = all.filter_map(Value::as_f64).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{shares}");
        if share < 0.95 {
            let Plant {
                bound,
                transport,
                arrivals,
                ..
            } = &plant;
            wrong.push(format!("{bound} of {transport} {arrivals}: {shares}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The columns of the documentation's table of bounds, by the start of a transport's text.
const COLUMNS: [(&str, &str); 8] = [
    (TCP, "TCP"),
    (QUIC, "QUIC"),
    (QUINN, "quinn"),
    (CCID_2, "CCID 2"),
    (CCID_3, "CCID 3, 4"),
    (CCID_4, "CCID 3, 4"),
    (UDP, "UDP"),
    (RTP, "RTP"),
];

/// The pairs of bound and transport in the documentation's table.
fn documented() -> BTreeSet<(String, String)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models.md");
    let text = std::fs::read_to_string(path).expect("the documentation");
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().replace('`', "")).collect()
    };
    let mut lines = text
        .lines()
        .skip_while(|line| !line.starts_with("| `bound` |"));
    let head = cells(lines.next().expect("the table of bounds"));
    let mut pairs = BTreeSet::new();
    for row in lines.skip(1).take_while(|line| line.starts_with('|')) {
        let row = cells(row);
        let said = row.iter().zip(&head).filter(|(cell, _)| *cell == "•");
        pairs.extend(said.map(|(_, transport)| (row[0].clone(), transport.clone())));
    }
    pairs
}

#[test]
fn each_bound_is_planted_in_each_transport_of_the_documentation() {
    let of = |plant: &Plant<'_>| {
        let columns = COLUMNS.iter();
        let mut columns = columns.filter(|(words, _)| plant.transport.starts_with(words));
        let (_, column) = columns.next().expect("a transport");
        (plant.bound.to_owned(), (*column).to_owned())
    };
    let planted: BTreeSet<_> = planted().iter().map(of).collect();
    assert_eq!(planted, documented());
    let bounds: BTreeSet<&str> = planted.iter().map(|(bound, _)| bound.as_str()).collect();
    let all: BTreeSet<&str> = SndLim::ALL.iter().map(|bound| bound.name()).collect();
    assert_eq!(bounds, all);
}

#[test]
fn a_change_of_bound_shows_the_octets_in_flight_of_its_time() {
    // Bursts of 30 Mbit/s, a second apart, over a path of 40 ms. Until the first acknowledgement,
    // 40 ms after the handshake of 40 ms, all sent packets of a burst are in flight.
    let bursts = r#"kind = "on_off", packet = 1400, rate = "30Mbit", on = "300ms", off = "700ms",
        lengths = "constant""#
        .replace('\n', " ");
    let link = r#"rate = "200Mbit", delay = "20ms""#;
    // The receiver's credit ends each burst, or the window, which was reduced after the idle time.
    // The second value is the octets of headers that are not counted in flight.
    for (transport, header) in [
        (r#"kind = "tcp", receive_buffer = 60000"#, 20.0),
        (r#"kind = "quic", initial_max_stream_data = 60000"#, 0.0),
        (r#"kind = "quinn", stream_window = 60000"#, 0.0),
        (r#"kind = "dccp", ccid = 2, controller = "newreno""#, 0.0),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let plant = Plant {
            run: r#"duration = "3s""#,
            ..Plant::new("window", transport, &bursts, link)
        };
        let (run, _) = plant.traced(folder.path());
        let flows = rows(folder.path(), &run, "flows/f.csv");
        let packets = rows(folder.path(), &run, "packets.csv");
        let number = |word: &String| word.parse::<f64>().expect("a number");
        let of_bound = |name: &str| {
            let values = column(&flows, name, |row| {
                let time = number(&row("time_s"));
                row("event") == "bound" && time > 1.0 && time % 1.0 < 0.08
            });
            values.iter().map(number).collect::<Vec<_>>()
        };
        let (times, in_flight) = (of_bound("time_s"), of_bound("bytes_in_flight"));
        assert!(times.len() >= 2, "{transport}");
        for (time, in_flight) in times.into_iter().zip(in_flight) {
            let sent = column(&packets, "size_bytes", |row| {
                let at = number(&row("time_s"));
                let data = row("event") == "sent" && row("content") == "data";
                data && row("place") == "sender" && (time.floor()..=time).contains(&at)
            });
            let sent: f64 = sent.iter().map(|size| number(size) - header).sum();
            // CCID 2 counts packets, which are here 3 % smaller than the size that it assumes.
            let close = (in_flight - sent).abs() <= 0.05 * sent;
            assert!(close, "{transport}: {in_flight} of {sent} at {time} s");
        }
    }
}

/// Rows of a table of the run as text, by column.
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
    for transport in [TCP, QUIC, QUINN, CCID_2, CCID_3] {
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
    // RFC 6298 §2.1 and RFC 4340 §8.1.1: the first timeout is after one second. RFC 9002 §6.2.2:
    // after 999 ms, three times its initial round-trip time. Each further one doubles.
    for (transport, first) in [
        (TCP, 1.0),
        (QUIC, 0.999),
        (QUINN, 0.999),
        (CCID_2, 1.0),
        (CCID_3, 1.0),
    ] {
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
        let (run, flow) = plant.traced(folder.path());
        let rows = rows(folder.path(), &run, "packets.csv");
        for (place, event, count) in [
            ("sender", "sent", "packets_sent"),
            ("receiver", "received", "packets_received"),
        ] {
            let found = column(&rows, "event", |row| {
                row("place") == place && row("event") == event
            });
            let counted = flow[count].as_u64();
            assert_eq!(counted, Some(found.len() as u64), "{transport}: {count}");
        }
        // Receivers detect the losses of TFRC and UDP. Packets that TCP's timeout presumes lost are
        // not counted.
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
        let counted = flow["packets_lost"].as_u64();
        assert_eq!(counted, Some(lost.len() as u64), "{transport}: lost");
        assert!(!lost.is_empty(), "{transport}");
        let dropped = column(&rows, "number", |row| row("event") == "dropped");
        assert!(lost.iter().all(|n| dropped.contains(n)), "{transport}");
    }
}
