//! Video over RTP with NADA from a scenario.

use crate::fixture::{run_text, traced};
use crate::run::*;
use crate::scenario;

const CALL: &str = r#"
[run]
duration = "40s"

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "1Mbit"
delay = "50ms"
queue = { kind = "droptail", limit = "37500b" }

[[flow]]
name = "call"
from = "server"
to = "client"
transport = { kind = "rtp", controller = "nada" }
app = { kind = "video" }
"#;

fn run_with(text: &str) -> RunOutput {
    let options = RunOptions {
        packets: true,
        ..traced()
    };
    run_text(text, &options)
}

#[test]
fn nada_fills_the_link_without_a_queue_and_names_its_rules() {
    let output = run_with(&CALL.replace("[run]", "[run]\nwarmup = \"12s\""));
    let call = &output.summary.flows["call"];
    // In equilibrium the signal is XREF · RMAX / r_ref, about 15 ms of queue (RFC 8698 §4.3).
    assert!(
        (0.90e6..0.97e6).contains(&call.goodput_bps),
        "{}",
        call.goodput_bps
    );
    let queue = call.queueing_delay_s.expect("packets waited");
    assert!((0.005..0.025).contains(&queue.p50), "{}", queue.p50);
    assert_eq!(call.packets_lost, 0);
    let video = call.video.expect("it is video");
    assert_eq!(
        (video.complete, video.lost, video.freezes),
        (video.frames, 0, 0)
    );
    let delay = video.frame_delay_s.expect("frames arrived");
    assert!((0.06..0.11).contains(&delay.p50), "{}", delay.p50);

    let flow = &output.flows[0];
    let limits = flow.table.words("limit").expect("a column");
    for limit in [
        "minimum_media_rate",
        "accelerated_ramp_up",
        "gradual_update",
    ] {
        assert!(limits.iter().any(|word| &**word == limit), "{limit}");
    }
    assert!(call.bound_share["rate"] > 0.5 && call.bound_share["application"] > 0.01);
    let frames = flow.frames.as_ref().expect("frames are kept");
    // 40 s at 30 frames per second; the one that would be captured at the end is not.
    assert_eq!(frames.rows(), 1200);
    let target = flow.table.numbers("target_rate_bps").expect("a column");
    assert!(target.iter().any(|rate| *rate > 0.8e6));
}

#[test]
fn a_run_in_octets_is_the_same_run() {
    let plain = run_with(CALL);
    let coded = run_with(&CALL.replace("[run]", "[run]\ncodec = true"));
    assert_eq!(plain.summary.flows, coded.summary.flows);
    assert!(plain.flows == coded.flows && plain.packets == coded.packets);
}

#[test]
fn marks_keep_the_queue_short_and_lose_nothing() {
    let marking = CALL
        .replace(
            "kind = \"droptail\", limit = \"37500b\"",
            "kind = \"fq_codel\", ecn = true",
        )
        .replace(
            "controller = \"nada\"",
            "controller = \"nada\", ecn = \"ect0\"",
        );
    let output = run_with(&marking);
    let call = &output.summary.flows["call"];
    assert_eq!(call.packets_lost, 0);
    let ratio = output.flows[0]
        .table
        .numbers("marking_ratio")
        .expect("a column");
    let marked = ratio.iter().any(|ratio| *ratio > 0.0);
    assert_eq!(marked, call.marks > 0);
    assert!(call.goodput_bps > 0.7e6, "{}", call.goodput_bps);
}

#[test]
fn a_pause_sends_nothing_and_goes_on_at_the_rate_before_it() {
    let paused = CALL.replace(
        "kind = \"video\"",
        "kind = \"video\", pause = [{ at = \"20s\", until = \"30s\" }]",
    );
    let output = run_with(&paused);
    let call = &output.summary.flows["call"];
    let video = call.video.expect("it is video");
    // 30 of 40 s at 30 frames per second, without those of the last 200 ms.
    assert_eq!((video.frames, video.complete), (895, 895));
    assert_eq!((video.freezes, call.packets_lost), (0, 0));
    assert!(
        call.bound_share["application"] > 0.25,
        "{:?}",
        call.bound_share
    );
    let table = &output.flows[0].table;
    let [times, target] = ["time_s", "target_rate_bps"].map(|name| {
        let column = table.numbers(name).expect("a column");
        column.to_vec()
    });
    let rows = times.iter().zip(&target);
    // The last report follows the last packets; afterwards no feedback is expected, so none is
    // missing.
    let silent = rows
        .clone()
        .filter(|(time, _)| (20.3..30.0).contains(*time));
    assert_eq!(silent.count(), 0);
    let last = |until: f64| {
        let mut before = rows.clone().filter(|(time, _)| **time < until);
        *before.next_back().expect("a row").1
    };
    let (before, after) = (last(30.0), last(30.5));
    assert!((after / before - 1.0).abs() < 0.15, "{before} {after}");
}

#[test]
fn video_takes_no_stream() {
    for transport in ["tcp", "quic"] {
        let text = CALL.replace(
            "kind = \"rtp\", controller = \"nada\"",
            &format!("kind = \"{transport}\""),
        );
        let error = scenario::parse(&text, "call.toml").expect_err("a stream has no packets");
        assert!(error.to_string().contains("datagrams"), "{error}");
    }
    let udp = CALL.replace("kind = \"rtp\", controller = \"nada\"", "kind = \"udp\"");
    let video = run_with(&udp).summary.flows["call"]
        .video
        .expect("it is video");
    // Without feedback the encoder stays at 1 Mbit/s of payload, more than the link rate.
    assert!(video.lost > 20, "{video:?}");
}

#[test]
fn gcc_and_scream_fill_the_link_and_name_their_rules() {
    let with = |controller: &str| {
        let text = CALL.replace(
            "\"nada\"",
            &format!("\"{controller}\", feedback_interval = \"40ms\""),
        );
        run_with(&text.replace("[run]", "[run]\nwarmup = \"20s\""))
    };
    for (controller, rules) in [
        (
            "gcc",
            [
                "multiplicative_increase",
                "delay_reduction",
                "delay_hold",
                "additive_increase",
            ]
            .as_slice(),
        ),
        (
            "scream",
            ["minimum_media_rate", "additive_increase", "delay_reduction"].as_slice(),
        ),
    ] {
        let output = with(controller);
        let call = &output.summary.flows["call"];
        assert!(
            (0.6e6..0.97e6).contains(&call.goodput_bps),
            "{controller}: {}",
            call.goodput_bps
        );
        let limits = output.flows[0].table.words("limit").expect("a column");
        for rule in rules {
            assert!(
                limits.iter().any(|word| &**word == *rule),
                "{controller}: {rule}"
            );
        }
    }
}
