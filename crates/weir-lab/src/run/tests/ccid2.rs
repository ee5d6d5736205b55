//! CCID 2 with each window controller of the registry.

use crate::fixture::{run_text, stream_over};
use crate::run::*;
use weir_proto::cc::window;

/// The summary of a bulk flow of CCID 2 over 8 Mbit/s with a round-trip time of 40 ms.
fn bulk(transport: &str, link: &str) -> FlowSummary {
    let text = stream_over(
        "duration = \"25s\"\nwarmup = \"5s\"",
        &format!("rate = \"8Mbit\"\ndelay = \"20ms\"\n{link}"),
        &format!(
            "transport = {{ kind = \"dccp\", ccid = 2, {transport} }}\n\
             app = {{ kind = \"bulk\", packet = 1000 }}"
        ),
    );
    let mut output = run_text(&text, &RunOptions::default());
    output.summary.flows.remove("stream").unwrap()
}

#[test]
fn each_controller_fills_a_link_and_slows_down_when_a_tenth_is_lost() {
    // A packet of 1000 octets has 36 octets of headers.
    let link_bps = 8e6 * 1000.0 / 1036.0;
    for name in std::iter::once("rfc4341").chain(window::names()) {
        let controller = format!("controller = \"{name}\"");
        // A queue of 1.5 bandwidth-delay products.
        let clean = bulk(&controller, "queue = { kind = \"droptail\", limit = 60 }");
        let share = clean.goodput_bps / link_bps;
        assert!((0.85..=1.0).contains(&share), "{name}: {share}");
        let lost = clean.packets_lost as f64 / clean.packets_sent as f64;
        assert!(lost < 0.02, "{name}: {lost}");
        let lossy = "loss = { kind = \"random\", rate = 0.1 }";
        let lossy = bulk(&controller, lossy);
        let share = lossy.goodput_bps / link_bps;
        // Copa ignores losses, which only reduce its delivered data (NSDI 2018 §2.2). So does the
        // model of BBRv1, whose window alone answers to them.
        let most = if ["copa", "bbr1"].contains(&name) {
            0.8
        } else {
            0.6
        };
        assert!((0.005..most).contains(&share), "{name}: {share}");
        assert!(lossy.loss_event_rate > 0.0, "{name}");
    }
}

#[test]
fn controllers_that_pace_and_those_that_answer_to_marks_keep_the_queue_short() {
    // The queue holds ninety packets: 93 ms.
    let deep = "queue = { kind = \"droptail\", limit = 90 }";
    let p95 = |summary: &FlowSummary| summary.queueing_delay_s.unwrap().p95;
    let window = p95(&bulk("controller = \"newreno\"", deep));
    let paced = p95(&bulk("controller = \"bbr\"", deep));
    assert!(paced < window / 2.0, "{paced} of {window}");
    let marks = "queue = { kind = \"step\", limit = 250, threshold = 5 }";
    for controller in ["dctcp", "prague"] {
        let flow = bulk(&format!("controller = \"{controller}\""), marks);
        assert_eq!(flow.packets_lost, 0, "{controller}");
        assert!(p95(&flow) < 0.015, "{controller}: {}", p95(&flow));
        assert!(flow.goodput_bps > 7e6, "{controller}: {}", flow.goodput_bps);
    }
}
