//! Links of scenarios: impairments, rate traces, schedules of changes.

use crate::fixture::{run_text, stream_over, traced};
use crate::run::*;
use crate::scenario;

/// A flow at a constant rate over this link.
fn world(link: &str, transport: &str) -> RunOutput {
    let flow = format!(
        r#"transport = {{ {transport} }}
app = {{ kind = "cbr", packet = 1000, rate = "800kbit", when_blocked = "skip" }}"#
    );
    run_over("duration = \"20s\"\nwarmup = \"1s\"", link, &flow)
}

/// A flow over this link; its resolved scenario must give the same run.
fn run_over(run_keys: &str, link: &str, flow: &str) -> RunOutput {
    let link = format!("delay = \"20ms\"\n{link}");
    let output = run_text(&stream_over(run_keys, &link, flow), &traced());
    let scenario = &output.scenario;
    let resolved = scenario::parse(&scenario.resolved_toml(), "resolved.toml").unwrap();
    assert_eq!(resolved, *scenario);
    assert_eq!(run(&resolved, &traced()).unwrap(), output);
    output
}

const UDP: &str = r#"kind = "udp""#;

#[test]
fn rows_of_a_link_that_damages_packets_are_in_order() {
    let link = r#"rate = "1Mbit"
netem = { corrupt = 1.0 }"#;
    let flow = r#"transport = { kind = "udp" }
app = { kind = "cbr", packet = 100, rate = "900kbit" }"#;
    let output = run_over(r#"duration = "5s""#, link, flow);
    let wire = &output.links[0].table;
    let drops = wire.as_numbers("drops").unwrap();
    assert!(drops.last().unwrap() > &100.0);
    let times = wire.as_numbers("time_s").unwrap();
    assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
}

#[test]
fn a_drop_at_the_end_of_the_run_belongs_to_neither_its_rows_nor_its_summary() {
    // A packet of 128 octets each 2 ms, back to back from the first on. A packet with damage in its
    // 28 octets of headers is dropped when its transmission begins.
    let link = r#"rate = "512kbit"
netem = { corrupt = 1.0 }"#;
    let flow = r#"transport = { kind = "udp" }
app = { kind = "cbr", packet = 100, rate = "2Mbit" }"#;
    for millis in (500..540).step_by(2) {
        let output = run_over(&format!("duration = \"{millis}ms\""), link, flow);
        let rows = output.links[0].table.as_numbers("drops").unwrap();
        let dropped = output.summary.links["wire"].drops;
        assert_eq!(rows.last(), Some(&(dropped as f64)), "{millis} ms");
    }
}

#[test]
fn netem_duplicates_damages_and_reorders() {
    let link = r#"rate = "10Mbit"
netem = { jitter = "5ms", distribution = "normal", duplicate = 0.1, corrupt = 0.1, reorder = 0.05 }"#;
    let output = world(link, UDP);
    let wire = &output.summary.links["wire"];
    let impaired = wire.impaired.expect("impairments");
    // 100 packets a second for 19 s.
    assert!((140..240).contains(&impaired.duplicated), "{impaired:?}");
    assert!((140..240).contains(&impaired.damaged), "{impaired:?}");
    assert!((60..140).contains(&impaired.reordered), "{impaired:?}");
    let plain = world(r#"rate = "10Mbit""#, UDP);
    assert_eq!(plain.summary.links["wire"].impaired, None);
}

#[test]
fn damaged_datagrams_come_through_only_without_a_full_checksum() {
    let link = "netem = { corrupt = 0.5 }";
    let received =
        |transport: &str| world(link, transport).summary.flows["stream"].packets_received;
    let (full, headers) = (
        received(UDP),
        received(r#"kind = "udp", checksum = "headers""#),
    );
    assert!((850..1050).contains(&full), "{full}");
    // 28 of 1028 octets are headers.
    assert!((1820..1900).contains(&headers), "{headers}");
}

#[test]
fn a_rate_follows_its_trace() {
    // 1504 octets in 20 ms are 601.6 kbit/s.
    let output = world("rate_trace = [20]", r#"kind = "tcp""#);
    let wire = &output.summary.links["wire"];
    assert!(wire.queue_bytes.max > 0);
    let rate = output.summary.flows["stream"].throughput_bps;
    assert!((0.55e6..0.6016e6).contains(&rate), "{rate}");
}

#[test]
fn a_schedule_changes_the_path() {
    let link = r#"rate = "10Mbit"

[[link.change]]
at = "10s"
delay = "50ms"
rate = "400kbit"

[[link.change]]
at = "15s"
loss = { kind = "random", rate = 1.0 }
"#;
    let output = world(link, r#"kind = "dccp", ccid = 3"#);
    let rtt = output.flows[0].table.numbers("rtt_s").unwrap();
    let times = output.flows[0].table.numbers("time_s").unwrap();
    let during = |from: f64, until: f64| -> Vec<f64> {
        let rows = times.iter().zip(rtt);
        let inside = rows.filter(|(at, _)| (from..until).contains(*at));
        inside.map(|(_, rtt)| *rtt).collect()
    };
    assert!(
        during(2.0, 10.0)
            .iter()
            .all(|rtt| (0.04..0.05).contains(rtt))
    );
    assert!(during(10.3, 15.0).iter().all(|rtt| *rtt > 0.1));
    let received = output.summary.flows["stream"].packets_received;
    assert!((950..1300).contains(&received), "{received}");
}

#[test]
fn partial_coverage_lets_damaged_payload_through_and_full_coverage_does_not() {
    let link = "forward = { netem = { corrupt = 0.2 } }";
    let dccp = |coverage: u8| {
        let transport = format!(r#"kind = "dccp", ccid = 3, checksum_coverage = {coverage}"#);
        world(link, &transport).summary.flows["stream"].clone()
    };
    let (full, headers, half) = (dccp(0), dccp(1), dccp(15));
    // A fifth of the packets is damaged; 36 of about 1040 octets are headers.
    let share = |flow: &FlowSummary| flow.packets_lost as f64 / flow.packets_sent as f64;
    assert!((0.15..0.25).contains(&share(&full)), "{full:?}");
    assert!(share(&headers) < 0.02, "{headers:?}");
    // With CsCov 15, 56 more octets are covered.
    assert!(
        share(&half) > share(&headers) && share(&half) < 0.04,
        "{half:?}"
    );
}

#[test]
fn a_data_checksum_drops_damaged_payload_and_tells_the_sender_that_it_was_no_congestion() {
    let link = "forward = { netem = { corrupt = 0.2 } }";
    let dccp = |check: bool| {
        let transport =
            format!(r#"kind = "dccp", ccid = 3, checksum_coverage = 1, data_checksum = {check}"#);
        world(link, &transport).summary.flows["stream"].clone()
    };
    let (plain, checked) = (dccp(false), dccp(true));
    let share = |flow: &FlowSummary| flow.packets_lost as f64 / flow.packets_sent as f64;
    assert!(share(&checked) < 0.02, "{checked:?}");
    // A fifth of the data is damaged and not delivered.
    let kept = checked.goodput_bps / plain.goodput_bps;
    assert!((0.75..0.87).contains(&kept), "{kept}");
}

#[test]
fn an_honest_receiver_is_never_accused_of_hiding_marks() {
    // Marks, losses, duplicates and reordering. ECT(1) is treated as ECT(0), so the run is the same
    // unless a correct nonce echo is judged incorrect.
    let link = r#"
queue = { kind = "codel", ecn = true }
rate = "700kbit"
forward = { loss = { kind = "random", rate = 0.01 }, netem = { duplicate = 0.01, reorder = 0.02, jitter = "1ms" } }"#;
    for (ccid, profile) in [(2, ""), (3, r#", profile = "rfc5348""#), (4, "")] {
        let received = |nonces: bool| {
            let transport = format!(
                r#"kind = "dccp", ccid = {ccid}, ecn = true, ecn_nonces = {nonces}{profile}"#
            );
            let output = world(link, &transport);
            assert!(
                output.summary.links["wire"].marks > 20,
                "{:?}",
                output.summary
            );
            output.summary.flows
        };
        assert_eq!(received(true), received(false), "ccid {ccid}");
    }
}

#[test]
fn a_latency_stands_for_what_passes_in_it_and_the_burst() {
    // 400 kbit/s for 200 ms are 10,000 octets, plus 5000 of burst.
    let shaper = |limit: &str| {
        let link = format!(
            r#"forward = {{ shaper = {{ kind = "tbf", rate = "400kbit", burst = "5000b", {limit} }} }}"#
        );
        world(&link, r#"kind = "tcp""#).summary
    };
    let (latency, limit) = (
        shaper(r#"latency = "200ms""#),
        shaper(r#"limit = "15000b""#),
    );
    assert_eq!(latency.links, limit.links);
    assert!(limit.links["wire"].queue_bytes.max > 13_000);
}

#[test]
fn what_a_warm_up_missed_and_came_late_is_no_loss() {
    let at = |warmup: u64| {
        let text = format!(
            "[run]\nduration = \"1s\"\nwarmup = \"{warmup}ms\"\n\
             [[link]]\nname = \"l\"\nbetween = [\"s\", \"c\"]\ndelay = \"15ms\"\n\
             netem = {{ jitter = \"12ms\" }}\n\
             [[flow]]\nname = \"f\"\nfrom = \"s\"\nto = \"c\"\ntransport = {{ kind = \"udp\" }}\n\
             app = {{ kind = \"cbr\", packet = 500, rate = \"4Mbit\" }}\n"
        );
        let scenario = scenario::parse(&text, "test.toml").expect("it is in order");
        let run = run(&scenario, &RunOptions::default()).expect("it runs");
        run.summary.flows["f"].packets_lost
    };
    // Packets in flight at the end of the warm-up are not lost; only those at the end of the run
    // may count as lost.
    assert!((500..540).all(|warmup| at(warmup) < 30));
}

#[test]
fn a_time_leaves_one_row_of_a_queue_and_of_a_window_behind() {
    // Packets arrive in bursts, and each acknowledgement covers two packets and releases two.
    let link = r#"rate = "10Mbit"
queue = { kind = "droptail", limit = 12 }"#;
    let flow = r#"transport = { kind = "quic" }"#;
    let output = run_over(r#"duration = "5s""#, link, flow);
    let queue = &output.links[0].table;
    let increase = |times: &[f64]| times.windows(2).all(|pair| pair[0] < pair[1]);
    let times = queue.numbers("time_s").unwrap();
    assert!(times.len() > 1000 && increase(times));
    let largest = |name: &str| {
        let counts = queue.as_numbers(name).unwrap();
        counts.iter().copied().fold(0.0, f64::max)
    };
    let wire = &output.summary.links["wire"];
    assert!(wire.drops > 0);
    assert_eq!(largest("drops"), wire.drops as f64);
    assert_eq!(largest("queue_packets"), 12.0);
    // The sender has two rows at the same time only if an acknowledgement detects losses.
    let sender = output.flows[0].table.clone();
    let sender = sender.rows_with("event", "controller");
    let times = sender.numbers("time_s").unwrap();
    let repeated = times.windows(2).filter(|pair| pair[0] == pair[1]).count();
    let lost = output.summary.flows["stream"].packets_lost;
    assert!(
        times.len() > 1000 && repeated as u64 <= lost,
        "{repeated} of {}, {lost} lost",
        times.len()
    );
}
