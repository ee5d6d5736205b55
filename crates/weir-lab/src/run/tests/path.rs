//! Effects of modern network paths: policers, thinned and bundled acknowledgements, handovers.

use crate::fixture::{run_text, stream_over, traced};
use crate::run::*;
use crate::scenario;

/// A flow of this transport and application over a link of 10 Mbit/s and 20 ms each way.
fn over(link: &str, transport: &str, app: &str) -> RunOutput {
    let text = stream_over(
        "duration = \"20s\"\nwarmup = \"2s\"",
        &format!("rate = \"10Mbit\"\ndelay = \"20ms\"\n{link}"),
        &format!("transport = {{ {transport} }}\napp = {{ {app} }}"),
    );
    let output = run_text(&text, &traced());
    let scenario = &output.scenario;
    let resolved = scenario::parse(&scenario.resolved_toml(), "resolved.toml").unwrap();
    assert_eq!(resolved, *scenario);
    output
}

const BULK: &str = r#"kind = "bulk""#;
const TCP: &str = r#"kind = "tcp""#;

#[test]
fn a_policer_drops_what_exceeds_its_rate_and_keeps_no_queue() {
    let link = r#"forward = { policer = { kind = "police", rate = "1Mbit", burst = "15000b" } }"#;
    let cbr = r#"kind = "cbr", packet = 1222, rate = "2Mbit""#;
    let output = over(link, r#"kind = "udp""#, cbr);
    let flow = &output.summary.flows["stream"];
    let wire = &output.summary.links["wire"];
    // Packets of 1250 octets, 100 a second from the policer's 125,000 octets.
    assert!((1795..=1805).contains(&flow.packets_received), "{flow:?}");
    let share = wire.drops as f64 / (wire.drops + flow.packets_received) as f64;
    // 2 Mbit/s of payload are 2.0458 Mbit/s of packets.
    assert!((share - (1.0 - 1.0 / 2.0458)).abs() < 0.01, "{share}");
    assert_eq!(wire.queue_bytes.max, 0);
    let adaptive = over(link, TCP, BULK).summary.flows["stream"].clone();
    assert!((0.5e6..1e6).contains(&adaptive.throughput_bps));
    assert!(adaptive.packets_lost > 10, "the policer is its only signal");
}

#[test]
fn a_policer_drops_the_rest_of_a_burst_that_segmentation_offload_makes() {
    // The sender's interface sends the packets of 10 ms at once, like segmentation offload. 15
    // Mbit/s are 15.6 packets of 1200 octets and 28 of headers; the refilled bucket accepts 10,000
    // octets, which are 8 packets.
    let lost = |netem: &str| {
        let text = format!(
            r#"
[run]
duration = "20s"
warmup = "2s"
[[link]]
name = "interface"
between = ["source", "gate"]
rate = "1Gbit"
forward = {{ {netem} }}
[[link]]
name = "policed"
between = ["gate", "sink"]
rate = "100Mbit"
forward = {{ policer = {{ kind = "police", rate = "20Mbit", burst = "10000b" }} }}
[[flow]]
name = "stream"
from = "source"
to = "sink"
transport = {{ kind = "udp" }}
app = {{ kind = "cbr", packet = 1200, rate = "15Mbit" }}
"#
        );
        let output = run_text(&text, &traced());
        let flow = &output.summary.flows["stream"];
        flow.packets_lost as f64 / flow.packets_sent as f64
    };
    assert_eq!(lost(""), 0.0);
    let share = lost(r#"netem = { slot = "10ms" }"#);
    assert!((share - (1.0 - 8.0 / 15.625)).abs() < 0.02, "{share}");
    let few = lost(r#"netem = { slot = "10ms", slot_packets = 8 }"#);
    assert_eq!(few, 0.0);
}

#[test]
fn thinned_acknowledgements_are_fewer_and_slow_a_transfer_little() {
    let thin = |n: u32| {
        let link = format!(r#"backward = {{ ack_thinning = {{ kind = "every", n = {n} }} }}"#);
        over(&link, TCP, BULK).summary
    };
    let all = thin(1);
    assert_eq!(all.links["wire.backward"].drops, 0);
    let goodput = |summary: &Summary| summary.flows["stream"].goodput_bps;
    for n in [2, 8] {
        let some = thin(n);
        // Of n acknowledgements n - 1 are dropped, except those after a gap.
        let received = some.flows["stream"].packets_received as f64;
        let dropped = some.links["wire.backward"].drops as f64;
        let acks = received / 2.0;
        let share = dropped / acks;
        let expected = 1.0 - 1.0 / f64::from(n);
        assert!(
            (0.8 * expected..1.3 * expected).contains(&share),
            "{n}: {share}"
        );
        assert!(goodput(&some) > 0.9 * goodput(&all), "{n}");
    }
}

#[test]
fn acknowledgements_in_slots_arrive_together() {
    let link = r#"backward = { netem = { slot = "30ms" } }"#;
    let rtts = |link: &str| {
        let app = r#"kind = "cbr", packet = 1000, rate = "800kbit""#;
        let output = over(link, TCP, app);
        let flow = output.summary.flows["stream"].clone();
        assert!(flow.goodput_bps > 0.79e6, "{link}");
        flow.rtt_s.expect("round trips are measured")
    };
    let (alone, slotted) = (rtts(""), rtts(link));
    // The first acknowledgement of a slot waits for 30 ms, the last one hardly at all.
    assert!(alone.p99 < 0.046, "{alone:?}");
    assert!(slotted.p99 > alone.p99 + 0.02, "{slotted:?}");
}

#[test]
fn a_handover_changes_rate_and_delay_and_keeps_the_connection() {
    let handover = r#"
queue = { kind = "droptail", limit = 60 }
[[link.change]]
at = "8s"
loss = { kind = "random", rate = 1.0 }

[[link.change]]
at = "8100ms"
rate = "4Mbit"
delay = "60ms"
loss = { kind = "none" }

[[link.change]]
at = "14s"
rate = "20Mbit"
delay = "5ms"
"#;
    for transport in [
        TCP,
        r#"kind = "quic", controller = "cubic""#,
        r#"kind = "dccp", ccid = 3"#,
    ] {
        let output = over(handover, transport, BULK);
        let flow = &output.summary.flows["stream"];
        assert_eq!(flow.ended, None, "{transport}");
        let table = &output.flows[0].table;
        let (times, rtt) = (
            table.numbers("time_s").unwrap(),
            table.numbers("rtt_s").unwrap(),
        );
        let least = |from: f64, until: f64| {
            let rows = times.iter().zip(rtt);
            let inside = rows.filter(|(at, rtt)| (from..until).contains(*at) && rtt.is_finite());
            inside.map(|(_, rtt)| *rtt).fold(f64::INFINITY, f64::min)
        };
        assert!(least(2.0, 8.0) >= 0.04, "{transport}");
        assert!(least(9.5, 14.0) >= 0.12, "{transport}");
        assert!(
            least(15.0, 20.0) < 0.12,
            "{transport}: {}",
            least(15.0, 20.0)
        );
        // 10 Mbit/s for 6 s, 4 Mbit/s for 6 s and more after that: at least the middle part.
        assert!(
            flow.goodput_bps > 3.5e6,
            "{transport}: {}",
            flow.goodput_bps
        );
    }
}

const OUTAGE: &str = "[[link.outage]]\nat = \"5s\"\nduration = \"2s\"\n";

#[test]
fn an_outage_takes_everything_both_ways_and_the_summary_counts_it() {
    let cbr = r#"kind = "cbr", packet = 1222, rate = "1Mbit""#;
    let output = over(OUTAGE, r#"kind = "udp""#, cbr);
    let wire = &output.summary.links["wire"];
    // 1 Mbit/s of payload are 102.3 packets a second, for two seconds.
    assert!((204..=206).contains(&wire.wire_losses), "{wire:?}");
    assert_eq!((wire.drops, wire.queue_drops), (wire.wire_losses, 0));
    let acks = over(OUTAGE, TCP, BULK).summary.links["wire.backward"];
    assert!(acks.wire_losses > 0 && acks.wire_losses == acks.drops);
}

#[test]
fn drawn_outages_differ_by_seed_and_strike_both_directions_at_once() {
    let outage = "[[link.outage]]\nat = \"1s..4s\"\nduration = \"100ms..900ms\"\n\
                  every = \"2s..4s\"\n";
    let calls = |seed: u64| {
        let text = stream_over(
            &format!("duration = \"20s\"\nseed = {seed}"),
            &format!("delay = \"1ms\"\n{outage}"),
            "transport = { kind = \"udp\" }\napp = { kind = \"cbr\", packet = 100, rate = \"800kbit\" }",
        );
        let back = text.split("[[flow]]").nth(1).expect("a flow");
        let back = back.replace("stream", "back").replace("from =", "FROM =");
        let back = back.replace("to =", "from =").replace("FROM =", "to =");
        let summary = run_text(&format!("{text}\n[[flow]]{back}"), &traced()).summary;
        [&summary.links["wire"], &summary.links["wire.backward"]].map(|wire| wire.wire_losses)
    };
    let lost: Vec<_> = (1..=4).map(calls).collect();
    for [there, back] in &lost {
        // 1000 packets a second in each direction, at the same times.
        assert!(there.abs_diff(*back) <= 20 && *there > 1000, "{lost:?}");
    }
    let mut different = lost.clone();
    different.dedup();
    assert_eq!(different.len(), 4, "{lost:?}");
}

#[test]
fn packets_of_a_slow_class_come_late_and_none_disappears() {
    let rtt = |link: &str| {
        let cbr = r#"kind = "cbr", packet = 1000, rate = "800kbit""#;
        let flow = over(link, TCP, cbr).summary.flows["stream"].clone();
        assert!(flow.goodput_bps > 0.79e6, "{link}");
        flow.rtt_s.expect("round trips are measured").p50
    };
    let plain = rtt("");
    // Data packets are large and get the delay; acknowledgements are small and get it if the class
    // includes them.
    for (class, millis) in [
        ("larger_than = 500", 30.0),
        ("up_to = 500", 30.0),
        ("larger_than = 0", 60.0),
        ("ecn = \"ect\"", 0.0),
    ] {
        let slow = rtt(&format!(
            "[[link.class_delay]]\ndelay = \"30ms\"\n{class}\n"
        ));
        assert!(
            (1e3 * (slow - plain) - millis).abs() < 1.0,
            "{class}: {slow} {plain}"
        );
    }
}

#[test]
fn quic_and_tcp_get_on_where_the_path_spoils_ecn() {
    let goodput = |transport: &str, faults: &str| {
        let output = over(&format!("ecn_faults = {{ {faults} }}"), transport, BULK);
        output.summary.flows["stream"].goodput_bps
    };
    for transport in [
        r#"kind = "tcp", ecn = "accurate""#,
        r#"kind = "quic", controller = "newreno", ecn = true"#,
        r#"kind = "quic", controller = "prague""#,
        r#"kind = "dccp", ccid = 3, ecn = true"#,
    ] {
        for faults in ["bleach = 1.0", "bleach = 0.3"] {
            assert!(goodput(transport, faults) > 9.5e6, "{transport} {faults}");
        }
    }
    // QUIC waits for probe timeouts of the handshake, then continues without ECN.
    let quic = r#"kind = "quic", controller = "newreno", ecn = true"#;
    assert!(goodput(quic, "black_hole = 1.0") > 7e6);
    // Only TCP's retransmissions pass, because they are not ECN-capable (RFC 3168 §6.1.5).
    let tcp = r#"kind = "tcp", ecn = true"#;
    assert!((1e3..1e6).contains(&goodput(tcp, "black_hole = 1.0")));
}

#[test]
fn every_controller_counts_its_loss_events() {
    // One packet of about 100 is lost; losses in the same flight are one event.
    let lossy = "loss = { kind = \"random\", rate = 0.01 }";
    for name in weir_proto::cc::window::names() {
        for kind in ["quic", "tcp"] {
            let transport = format!("kind = \"{kind}\", controller = \"{name}\"");
            let flow = over(lossy, &transport, BULK).summary.flows["stream"].clone();
            let lost = flow.packets_lost as f64 / flow.packets_sent as f64;
            let events = flow.loss_event_rate;
            assert!(
                (0.2 * lost..=lost).contains(&events),
                "{kind} {name}: {events} of {lost}"
            );
        }
    }
}
