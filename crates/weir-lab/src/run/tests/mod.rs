//! Whole runs of scenarios.

mod audio;
mod ccid2;
mod chance;
mod copa;
mod equation;
mod group;
mod l4s;
mod link;
mod live;
mod loss_event;
mod media;
mod numbers;
mod path;
mod simulation;
mod tunnel;

use crate::fixture::{run_text, stream_over, traced};
use crate::run::*;
use crate::scenario;
use std::sync::Mutex;

/// The published lossy link: 100 Gbit/s, 1 ms each way, one of 51 packets lost.
const LOSSY: &str = r#"
[run]
duration = "11s"
warmup = "2s"

[[link]]
name = "wire"
between = ["client", "server"]
rate = "100Gbit"
delay = "1ms"
mtu = 1280

[[flow]]
name = "stream"
from = "client"
to = "server"
transport = { kind = "quic", rules = "inet-2025", ack_every = 1, initial_max_data = "4294967295b", initial_max_stream_data = "4294967295b" }
app = { kind = "bulk", packet = 15000 }
loss = { kind = "periodic", rate = 0.02 }
"#;

/// QUIC with a window that the application never fills: one segment each 10 ms.
const TRICKLE: &str = r#"
[run]
duration = "3s"
warmup = "1s"

[[link]]
name = "wire"
between = ["a", "b"]
rate = "1Mbit"
delay = "10ms"

[[flow]]
name = "stream"
from = "a"
to = "b"
transport = { kind = "quic", ack_every = 1 }
app = { kind = "cbr", packet = 1000, rate = "100kbit" }
"#;

fn full() -> RunOptions<'static> {
    RunOptions {
        packets: true,
        ..traced()
    }
}

#[test]
fn the_lossy_link_gives_fifty_packets_in_seven_round_trips() {
    let output = run_text(LOSSY, &RunOptions::default());
    let flow = &output.summary.flows["stream"];
    let expected = 50.0 * 1252.0 * 8.0 / 14e-3;
    let off = flow.throughput_bps / expected - 1.0;
    assert!(
        off.abs() < 1e-3,
        "{} bit/s, {off:.2e} off",
        flow.throughput_bps
    );
    let rtt = flow.rtt_s.unwrap();
    assert!((rtt.p50 - 2e-3).abs() < 1e-6, "{rtt:?}");
}

#[test]
fn a_run_that_can_be_computed_by_hand_gives_these_numbers() {
    let output = run_text(TRICKLE, &full());
    let flow = &output.summary.flows["stream"];
    // 100 kbit/s of payload, one write of 1000 octets each 80 ms: 25 in two seconds.
    assert_eq!(flow.goodput_bps, 100_000.0);
    assert_eq!(flow.packets_received, 25);
    assert_eq!(flow.packets_lost, 0);
    // 26 octets of header and tag, 2 of STREAM frame, 2 of offset, and 4 from offset 16384 on:
    // writes 12 to 16 arrive in the measured time with 1030 octets, writes 17 to 36 with 1032.
    assert_eq!(
        flow.throughput_bps,
        f64::from(5 * 1030 + 20 * 1032) * 8.0 / 2.0
    );
    // On the link each packet has 28 more octets, at 1 Mbit/s.
    let busy = f64::from(5 * 1058 + 20 * 1060) * 8.0 / 1e6 / 2.0;
    let wire = &output.summary.links["wire"];
    assert!((wire.utilisation - busy).abs() < 1e-9, "{wire:?} {busy}");
    assert_eq!((wire.drops, wire.marks), (0, 0));
    assert_eq!(wire.queue_bytes.mean, 0.0);
    // 20 ms of propagation, 1058 or 1060 octets in one direction, an ACK of 31 + 28 octets in the
    // other.
    let rtt = flow.rtt_s.unwrap();
    let of = |octets: u32| 0.020 + f64::from(octets + 59) * 8.0 / 1e6;
    assert!((rtt.min - of(1058)).abs() < 1e-9, "{rtt:?}");
    assert!((rtt.p50 - of(1060)).abs() < 1e-9, "{rtt:?}");
}

#[test]
fn the_codec_changes_nothing() {
    let tbf = r#"forward = { shaper = { kind = "tbf", rate = "1000kbit", burst = "10000b", limit = "30000b" } }"#;
    let dccp = narrow(tbf, r#"{ kind = "dccp", ccid = 3 }"#);
    let tcp = narrow(tbf, r#"{ kind = "tcp" }"#);
    for text in [LOSSY, TRICKLE, &dccp, &tcp] {
        let text = text.replace("\"11s\"", "\"3s\"");
        let plain = run_text(&text, &full());
        let codec = text.replace("[run]", "[run]\ncodec = true");
        let coded = run_text(&codec, &full());
        assert!(plain.flows == coded.flows, "traces of flows differ");
        assert!(plain.links == coded.links, "traces of links differ");
        assert!(plain.packets == coded.packets, "packets differ");
        assert_eq!(plain.summary.flows, coded.summary.flows);
    }
}

#[test]
fn a_resolved_scenario_runs_to_the_same_result() {
    let first = run_text(TRICKLE, &full());
    let second = run_text(&first.scenario.resolved_toml(), &full());
    assert!(first == second);
}

#[test]
fn what_is_traced_changes_no_number_of_the_summary() {
    let text = LOSSY
        .replace("\"11s\"", "\"3s\"")
        .replace("100Gbit", "20Mbit");
    let full = run_text(&text, &full());
    let mut summary = run_text(&text, &RunOptions::default()).summary;
    let fewer = RunOptions {
        trace: TraceLevel::Counters,
        ..RunOptions::default()
    };
    let counters = run_text(&text, &fewer);
    assert!(counters.flows.is_empty() && counters.packets.is_none());
    // Tracing a queue adds events.
    summary.run.events = full.summary.run.events;
    assert_eq!(full.summary, summary);
    let flow = summary.flows.get_mut("stream").unwrap();
    assert_eq!(flow.bound_share["window"], 1.0);
    assert_eq!(flow.bound_share.values().sum::<f64>(), 1.0);
    (flow.rtt_s, flow.rate_bps, flow.bound_share) = (None, None, [].into());
    flow.startup_s = None;
    (flow.one_way_delay_s, flow.queueing_delay_s) = (None, None);
    (flow.jitter_s, flow.latency_under_load) = (None, None);
    assert_eq!(&counters.summary.flows["stream"], flow);
    assert_eq!(counters.summary.links, summary.links);
}

#[test]
fn the_columns_are_those_of_the_folder() {
    let output = run_text(TRICKLE, &full());
    let names = |table: &Table| {
        let names = table.columns.iter().map(|column| column.name.clone());
        names.collect::<Vec<String>>().join(" ")
    };
    assert_eq!(
        names(&output.flows[0].table),
        "time_s allowed_rate_bps equation_rate_bps receive_rate_bps loss_event_rate rtt_s \
         smoothed_rtt_s receiver_rtt_s ipi_s cwnd_bytes bytes_in_flight partial_bytes_acked ssthresh_bytes \
         pacing_rate_bps segment_bytes state limit bound rate_limited_by receive_window_bytes min_rtt_s delivered_bytes \
         delivery_rate_bps event \
         target_rate_bps queue_delay_s congestion_signal_s marking_ratio buffered_bytes \
         max_bw_bps bw_shortterm_bps inflight_shortterm_bytes inflight_longterm_bytes \
         extra_acked_bytes full_bw_count"
    );
    assert_eq!(output.flows[0].writes, None);
    let links: Vec<&str> = output.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(links, ["wire", "wire.backward"]);
    let times = output.flows[0].table.numbers("time_s").unwrap();
    assert!(times.len() > 30 && times.is_sorted());
    for table in [&output.flows[0].table, &output.links[0].table] {
        assert!(table.columns.iter().all(|c| c.values.len() == table.rows()));
    }
}

#[test]
fn many_flows_get_names_and_summaries_of_their_own() {
    let text = TRICKLE.replace("name = \"stream\"", "name = \"stream\"\ncount = 3");
    let output = run_text(&text, &RunOptions::default());
    let names: Vec<&String> = output.summary.flows.keys().collect();
    assert_eq!(names, ["stream-1", "stream-2", "stream-3"]);
}

#[test]
fn a_run_can_be_watched_and_cancelled() {
    let scenario = scenario::parse(TRICKLE, "test.toml").unwrap();
    let seen = Mutex::new(Vec::new());
    let progress = |at: Instant, end: Instant| {
        if let Ok(mut seen) = seen.lock() {
            seen.push((at.as_secs_f64(), end.as_secs_f64()));
        }
    };
    let options = RunOptions {
        progress: Some(&progress),
        ..RunOptions::default()
    };
    run(&scenario, &options).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!((50..=110).contains(&seen.len()), "{}", seen.len());
    assert_eq!(seen.last(), Some(&(3.0, 3.0)));
    let cancel = AtomicBool::new(true);
    let options = RunOptions {
        cancel: Some(&cancel),
        ..RunOptions::default()
    };
    let error = run(&scenario, &options).unwrap_err();
    assert!(matches!(error, RunError::Cancelled(_)), "{error}");
}

#[test]
fn a_run_that_is_cancelled_at_its_end_is_not_summed_up() {
    let scenario = scenario::parse(LOSSY, "test.toml").unwrap();
    let cancel = AtomicBool::new(false);
    let progress =
        |at: Instant, end: Instant| cancel.store(at == end, std::sync::atomic::Ordering::Relaxed);
    let options = RunOptions {
        progress: Some(&progress),
        cancel: Some(&cancel),
        ..RunOptions::default()
    };
    let error = run(&scenario, &options).unwrap_err();
    assert!(matches!(error, RunError::Cancelled(_)), "{error}");
}

#[test]
fn another_seed_gives_another_random_run() {
    let text = LOSSY
        .replace("\"periodic\"", "\"random\"")
        .replace("\"11s\"", "\"4s\"");
    let throughput = |seed: u64| {
        let text = text.replace("[run]", &format!("[run]\nseed = {seed}"));
        let summary = run_text(&text, &RunOptions::default()).summary;
        summary.flows["stream"].throughput_bps
    };
    assert_eq!(throughput(1), throughput(1));
    assert_ne!(throughput(1), throughput(2));
}

#[test]
fn a_slow_handshake_lengthens_the_first_round_trip_only() {
    let text = TRICKLE.replace("warmup = \"1s\"", "");
    let slow = "[[host]]\nname = \"b\"\nhandshake_delay = \"50ms\"\n\n[[link]]";
    let plain = run_text(&text, &RunOptions::default());
    let slowed = run_text(&text.replace("[[link]]", slow), &RunOptions::default());
    let rtt = |output: &RunOutput| output.summary.flows["stream"].rtt_s.unwrap();
    assert!(
        (rtt(&slowed).max - rtt(&plain).min) > 0.050,
        "{:?}",
        rtt(&slowed)
    );
    assert!((rtt(&slowed).p50 - rtt(&plain).p50).abs() < 1e-9);
}

/// A flow over 1 Mbit/s with this queue or shaper and transport.
fn narrow(link: &str, transport: &str) -> String {
    let backward = "backward = { queue = { kind = \"droptail\" } }";
    stream_over(
        "duration = \"60s\"\nwarmup = \"20s\"",
        &format!("rate = \"100Mbit\"\ndelay = \"10ms\"\n{backward}\n{link}"),
        &format!("transport = {transport}\napp = {{ kind = \"bulk\", packet = 1400 }}"),
    )
}

#[test]
fn every_transport_fills_a_token_bucket() {
    let tbf = r#"forward = { shaper = { kind = "tbf", rate = "1000kbit", burst = "10000b", limit = "30000b" } }"#;
    for transport in [
        r#"{ kind = "dccp", ccid = 3, profile = "linux-mainline" }"#,
        r#"{ kind = "dccp", ccid = 3, profile = "rfc5348" }"#,
        r#"{ kind = "dccp", ccid = 2 }"#,
        r#"{ kind = "quic", controller = "cubic" }"#,
        r#"{ kind = "tcp" }"#,
        r#"{ kind = "tcp", controller = "cubic" }"#,
    ] {
        let output = run_text(&narrow(tbf, transport), &RunOptions::default());
        let flow = &output.summary.flows["stream"];
        let rate = flow.throughput_bps;
        assert!((0.85e6..1e6).contains(&rate), "{transport}: {rate}");
        let rtt = flow.rtt_s.as_ref().map_or(0.0, |rtt| rtt.max);
        // The bucket's queue holds 240 ms.
        assert!((0.1..0.3).contains(&rtt), "{transport}: {rtt}");
    }
}

#[test]
fn codel_keeps_the_queue_short_where_droptail_fills_it() {
    let transport = r#"{ kind = "tcp" }"#;
    let mean_rtt = |queue: &str| {
        let link = format!(r#"forward = {{ rate = "2Mbit", queue = {{ {queue} }} }}"#);
        let output = run_text(&narrow(&link, transport), &RunOptions::default());
        let flow = &output.summary.flows["stream"];
        assert!(
            flow.throughput_bps > 1.7e6,
            "{queue}: {}",
            flow.throughput_bps
        );
        flow.rtt_s.as_ref().map_or(0.0, |rtt| rtt.mean)
    };
    let droptail = mean_rtt(r#"kind = "droptail", limit = 100"#);
    for queue in [
        r#"kind = "codel""#,
        r#"kind = "fq_codel""#,
        r#"kind = "pie""#,
        r#"kind = "dualpi2""#,
        r#"kind = "red", limit = "150000b", min = "7500b", max = "22500b", probability = 0.1"#,
    ] {
        let active = mean_rtt(queue);
        assert!(
            active < droptail / 2.0,
            "{queue}: {active} against {droptail}"
        );
    }
}

/// A server behind an access point, and a laptop that downloads over the air.
const CAFE: &str = r#"
[run]
duration = "20s"
warmup = "2s"

[[link]]
name = "wire"
between = ["server", "ap"]
rate = "100Mbit"
delay = "100us"

[[wifi]]
name = "air"
standard = "g"

[[wifi.station]]
host = "ap"
queue = { kind = "droptail", limit = 100 }

[[wifi.station]]
host = "laptop"

[[wifi.move]]
host = "laptop"
at = "1s"
x = 3.0

[[wifi.signal]]
at = "10s"
snr = 12.0

[[wifi.interference]]
from = "15s"
until = "16s"
on = "5ms"
off = "10ms"

[[flow]]
name = "stream"
from = "server"
to = "laptop"
transport = { kind = "tcp" }
"#;

/// The thresholds of 802.11g are 18 dB for 36 Mbit/s and 8 dB for 12 Mbit/s.
#[test]
fn a_station_has_the_rate_of_its_frames_and_a_wire_has_none() {
    let output = run_text(CAFE, &full());
    let table = |name: &str| {
        let link = output.links.iter().find(|link| link.name == name);
        &link.expect("a link").table
    };
    let wire = table("wire").numbers("frame_rate_bps").expect("a column");
    assert!(wire.iter().all(|rate| rate.is_nan()));
    let (times, rates) = ["time_s", "frame_rate_bps"]
        .map(|column| table("air.ap").numbers(column).expect("a column"))
        .into();
    let of_standard = [6e6, 9e6, 12e6, 18e6, 24e6, 36e6, 48e6, 54e6];
    let sent = rates.iter().filter(|rate| !rate.is_nan());
    assert!(sent.clone().count() > 1000);
    assert!(sent.clone().all(|rate| of_standard.contains(rate)));
    let median = |from: f64, to: f64| {
        let within = times.iter().zip(rates);
        let within = within.filter(|(time, _)| (from..to).contains(*time));
        let mut rates: Vec<f64> = within.map(|(_, rate)| *rate).collect();
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    assert!(median(2.0, 10.0) >= 36e6);
    assert!(median(11.0, 15.0) <= 18e6);
}

#[test]
fn a_flow_crosses_the_air_and_each_station_has_its_trace() {
    let output = run_text(CAFE, &full());
    let air = &output.summary.links["air.ap"];
    let frames = air.frames.expect("the access point has sent frames");
    assert!(frames.failed > 0 && frames.collided > 0, "{frames:?}");
    assert!((0.5..1.0).contains(&air.utilisation), "{air:?}");
    assert!(output.summary.links["air.laptop"].frames.is_some());
    assert!(
        output
            .links
            .iter()
            .any(|link| link.name == "air.ap" && link.table.rows() > 1000)
    );
    // 12 dB allow about 10 Mbit/s; the first ten seconds have 24 dB.
    let rate = output.summary.flows["stream"].goodput_bps;
    assert!((10e6..20e6).contains(&rate), "{rate}");
    let resolved = output.scenario.resolved_toml();
    assert_eq!(
        scenario::parse(&resolved, "resolved.toml").unwrap(),
        output.scenario
    );
    assert_eq!(run_text(&resolved, &full()), output);
}

#[test]
fn watching_the_air_changes_nothing() {
    let quiet = RunOptions {
        trace: TraceLevel::Counters,
        ..RunOptions::default()
    };
    let (quiet, watched) = (run_text(CAFE, &quiet), run_text(CAFE, &full()));
    assert_eq!(quiet.summary.links, watched.summary.links);
}

/// Fifty small packets a second over a link that loses every tenth.
const TALK: &str = r#"
[run]
duration = "60s"
warmup = "10s"

[[link]]
name = "wire"
between = ["a", "b"]
rate = "100Mbit"
delay = "40ms"
forward = { loss = { kind = "random", rate = 0.1 } }

[[flow]]
name = "talk"
from = "a"
to = "b"
transport = { kind = "dccp", ccid = 4 }
app = { kind = "cbr", packet = 160, rate = "64kbit", when_blocked = "skip" }
"#;

#[test]
fn ccid_4_carries_a_voice_where_ccid_3_cannot() {
    let received = |text: &str| {
        let output = run_text(text, &RunOptions::default());
        output.summary.flows["talk"].goodput_bps
    };
    // At p = 10 % and 80 ms the equation gives 28 kbit/s with packets of 160 bytes, and 212 kbit/s
    // with large packets minus headers.
    let small = received(TALK);
    assert!((55e3..60e3).contains(&small), "{small}");
    let plain = received(&TALK.replace("ccid = 4", "ccid = 3"));
    assert!((15e3..42e3).contains(&plain), "{plain}");
    let encoded = TALK.replace("[[link]]", "codec = true\n[[link]]");
    assert_eq!(received(&encoded), small);
}

#[test]
fn ccid_4_keeps_ten_milliseconds_between_packets() {
    let fast = TALK
        .replace("64kbit", "1Mbit")
        .replace("rate = 0.1", "rate = 0.0");
    let output = run_text(&fast, &RunOptions::default());
    let rate = output.summary.flows["talk"].goodput_bps;
    assert!(
        (120e3..=128.1e3).contains(&rate),
        "100 packets of 160 bytes: {rate}"
    );
}

/// The lossy link with a transport registered by the caller.
fn quinn_text() -> String {
    let (head, rest) = LOSSY.split_once("transport = ").expect("a transport");
    let (_, tail) = rest.split_once('\n').expect("an end");
    let quinn = "{ kind = \"quinn\", controller = \"quinn-cubic\", max_datagram_size = \"1220b\" }";
    format!("{head}transport = {quinn}\n{tail}").replace("\"11s\"", "\"4s\"")
}

#[test]
fn without_quinn_a_flow_of_it_says_so() {
    let scenario = scenario::parse(&quinn_text(), "test.toml").unwrap();
    let error = run(&scenario, &RunOptions::default()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("this build has no quinn"), "{text}");
}

#[test]
fn a_transport_made_elsewhere_gets_its_settings_the_path_and_a_seed() {
    use weir_proto::quic::{Config, Connection};
    let asked = Mutex::new(Vec::new());
    let factory = |flow: &ForeignFlow<'_>| -> Result<EndpointPair, String> {
        let settings = flow.transport.controller;
        let mut asked = asked.lock().map_err(|error| error.to_string())?;
        asked.push((settings, flow.datagram_size, flow.seed));
        let config = Config::default();
        Ok([
            Box::new(Connection::client(config.clone())),
            Box::new(Connection::server(config)),
        ])
    };
    let options = RunOptions {
        registry: TransportRegistry {
            foreign: Some(&factory),
            ..TransportRegistry::default()
        },
        ..RunOptions::default()
    };
    let summary = run_text(&quinn_text(), &options).summary;
    assert!(summary.flows["stream"].goodput_bps > 1e6);
    let whole_path = quinn_text().replace(", max_datagram_size = \"1220b\"", "");
    run_text(&whole_path, &options);
    let seeded = quinn_text().replace("[run]", "[run]\nseed = 2");
    run_text(&seeded, &options);
    let asked = asked.into_inner().unwrap();
    let (sizes, seeds): (Vec<_>, Vec<_>) = asked.iter().map(|ask| (ask.1, ask.2)).unzip();
    assert_eq!(sizes, [1220, 1252, 1220]);
    assert!(asked.iter().all(|ask| ask.0 == "quinn-cubic"));
    assert_eq!(seeds[0], seeds[1]);
    assert_ne!(seeds[0], seeds[2]);
}

/// A flow between two hosts over a path without any delay.
fn without_time(transport: &str, app: &str) -> String {
    format!(
        "[run]\nduration = \"1s\"\n[[link]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\n\
         [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = {{ {transport} }}\n\
         app = {{ {app} }}\n"
    )
}

#[test]
fn a_flow_over_a_path_that_takes_no_time_ends_with_a_word_for_every_transport() {
    let endless = "kind = \"bulk\", packet = 1000";
    let quinn = "kind = \"quinn\"";
    for transport in [
        "kind = \"dccp\", ccid = 2",
        "kind = \"dccp\", ccid = 3",
        "kind = \"dccp\", ccid = 3, profile = \"linux-2008\"",
        "kind = \"dccp\", ccid = 4",
        "kind = \"tcp\"",
        "kind = \"quic\"",
        quinn,
    ] {
        let refused = scenario::parse(&without_time(transport, endless), "test.toml");
        let words = refused.expect_err(transport).to_string();
        assert!(words.contains("and back takes time"), "{words}");
        // A finite flow completes.
        let finite = without_time(transport, "kind = \"bulk\", packet = 1000, total = 20000");
        let finite = scenario::parse(&finite, "test.toml").expect("valid");
        if transport != quinn {
            let output = run(&finite, &RunOptions::default()).expect("it ends");
            let received = output.summary.flows["f"].packets_received;
            assert!(received > 0, "{transport}: {received}");
        }
    }
    // With a delay of a nanosecond time advances, but TFRC's rate is not bounded.
    let text = without_time("kind = \"dccp\", ccid = 3", endless);
    let text = text.replace("\n[[flow]]", "\ndelay = \"1ns\"\n[[flow]]");
    let scenario = scenario::parse(&text, "test.toml").expect("valid");
    match run(&scenario, &RunOptions::default()) {
        Err(RunError::Stuck(words)) => assert!(words.contains("million"), "{words}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_ends_at_its_limit_of_events_and_not_before() {
    let scenario = scenario::parse(LOSSY, "test.toml").unwrap();
    let whole = run(&scenario, &RunOptions::default()).unwrap();
    let events = whole.summary.run.events;
    let limited = |most| {
        let options = RunOptions {
            max_events: Some(most),
            ..RunOptions::default()
        };
        run(&scenario, &options)
    };
    assert_eq!(limited(events), Ok(whole));
    for most in [1, events / 2, events - 1] {
        match limited(most) {
            Err(RunError::TooManyEvents { limit, .. }) => assert_eq!(limit, most),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_happens_at_the_end_of_the_warm_up_counts_and_at_the_end_of_the_run_does_not() {
    // A datagram each 100 ms from time zero on, over a link without delay: in a run of 1 s the ten
    // from 0 to 900 ms count, after a warm-up of 500 ms the five from then on.
    let sent = |warmup: &str| {
        let text = without_time(
            "kind = \"udp\"",
            "kind = \"cbr\", packet = 100, rate = \"8kbit\"",
        );
        let text = text.replace("\"1s\"", &format!("\"1s\"\nwarmup = \"{warmup}\""));
        let output = run_text(&text, &RunOptions::default());
        let flow = &output.summary.flows["f"];
        (flow.packets_sent, flow.packets_received)
    };
    assert_eq!(sent("0s"), (10, 10));
    assert_eq!(sent("500ms"), (5, 5));
    assert_eq!(sent("499999us"), (5, 5));
    assert_eq!(sent("501ms"), (4, 4));
}

/// A clock that advances by a second each time that it is read.
fn hasty_clock() -> std::time::Duration {
    static READ: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let read = READ.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    std::time::Duration::from_secs(read)
}

#[test]
fn max_time_and_max_memory_hold_or_are_refused() {
    let outcome = |limit: &str, process: ProcessWatch| {
        let text = LOSSY.replace("[run]", &format!("[run]\n{limit}"));
        let scenario = scenario::parse(&text, "test.toml").unwrap();
        let options = RunOptions {
            registry: TransportRegistry {
                process,
                ..TransportRegistry::default()
            },
            ..RunOptions::default()
        };
        run(&scenario, &options).map_err(|error| error.to_string())
    };
    let watched = ProcessWatch::Run {
        clock: hasty_clock,
        memory: || Some(5 << 20),
    };
    let (time, memory) = ("max_time = \"2s\"", "max_memory = \"4MiB\"");
    let ended = outcome(time, watched).unwrap_err();
    assert!(ended.contains("more than 2s (max_time)"), "{ended}");
    let ended = outcome(memory, watched).unwrap_err();
    assert!(ended.contains("more than 4 MiB (max_memory)"), "{ended}");
    for limit in [time, memory] {
        let refused = outcome(limit, ProcessWatch::None).unwrap_err();
        assert!(
            refused.contains("max_time and max_memory of [run]"),
            "{refused}"
        );
        assert!(outcome(limit, ProcessWatch::Caller).is_ok());
    }
    let roomy = "max_time = \"1000h\"\nmax_memory = \"5MiB\"";
    assert!(outcome(roomy, watched).is_ok());
}
