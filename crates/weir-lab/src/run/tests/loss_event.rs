//! Loss events and packets are counted over the same time, so that their ratio is at most one.

use crate::fixture::{run_text, stream_over};
use crate::run::*;
use weir_proto::rng::Rng;

const TRANSPORTS: [&str; 12] = [
    "kind = \"tcp\"",
    "kind = \"tcp\", controller = \"newreno\", ecn = true",
    "kind = \"tcp\", rules = \"rfc\"",
    "kind = \"tcp\", controller = \"bbr\"",
    "kind = \"quic\"",
    "kind = \"quic\", controller = \"prague\"",
    "kind = \"quic\", controller = \"newreno\", initial_max_stream_data = 53",
    "kind = \"dccp\", ccid = 2",
    "kind = \"dccp\", ccid = 2, controller = \"cubic\"",
    "kind = \"dccp\"",
    "kind = \"dccp\", ccid = 4",
    "kind = \"rtp\"",
];

/// A flow with many losses that sends little or nothing after the warm-up.
fn random_text(transport: &str, rng: &mut Rng) -> String {
    let warmup = 200 + rng.below(2500);
    let rest = rng.below(600);
    let run = format!(
        "duration = \"{}ms\"\nwarmup = \"{warmup}ms\"\nseed = {}",
        warmup + rest + 500,
        rng.below(1 << 40)
    );
    let link = format!(
        "rate = \"{}kbit\"\ndelay = \"{}ms\"\nqueue = {{ kind = \"droptail\", limit = {} }}\n\
         loss = {{ kind = \"random\", rate = {} }}",
        200 + rng.below(5000),
        1 + rng.below(300),
        1 + rng.below(20),
        0.4 * rng.uniform()
    );
    let app = if transport.contains("rtp") || rng.chance(0.3) {
        "{ kind = \"cbr\", packet = 500, rate = \"300kbit\" }"
    } else {
        "{ kind = \"bulk\" }"
    };
    let stop = warmup.saturating_sub(150) + rng.below(500);
    let flow = format!("transport = {{ {transport} }}\napp = {app}\nstop = \"{stop}ms\"");
    stream_over(&run, &link, &flow)
}

#[test]
fn the_loss_event_rate_of_every_transport_lies_between_zero_and_one() {
    let mut events = 0;
    for transport in TRANSPORTS {
        for number in 0..25 {
            let mut rng = Rng::stream(number, transport);
            let text = random_text(transport, &mut rng);
            let summary = run_text(&text, &RunOptions::default()).summary;
            let flow = &summary.flows["stream"];
            let p = flow.loss_event_rate;
            assert!((0.0..=1.0).contains(&p), "{p} of {flow:?}\n{text}");
            events += u64::from(p > 0.0);
        }
    }
    assert!(events > 40, "{events}");
}

#[test]
fn losses_of_what_was_sent_in_the_warm_up_are_no_events_after_it() {
    // Every third packet is lost, and nothing is written from 0.99 s on, so losses detected after 1
    // s are of earlier packets. TCP and QUIC retransmit them and may lose them again.
    for transport in [
        "kind = \"rtp\"",
        "kind = \"dccp\"",
        "kind = \"quic\"",
        "kind = \"tcp\"",
    ] {
        let text = stream_over(
            "duration = \"1500ms\"\nwarmup = \"1s\"",
            "rate = \"4Mbit\"\ndelay = \"100ms\"\n\
             forward = { loss = { kind = \"periodic\", rate = 0.5 } }",
            &format!(
                "transport = {{ {transport} }}\nstop = \"990ms\"\n\
                 app = {{ kind = \"cbr\", packet = 500, rate = \"400kbit\" }}"
            ),
        );
        let flow = &run_text(&text, &RunOptions::default()).summary.flows["stream"];
        assert!(flow.packets_lost > 0, "{transport}: {flow:?}");
        assert!(flow.loss_event_rate <= 1.0, "{transport}: {flow:?}");
        if matches!(transport, "kind = \"rtp\"" | "kind = \"dccp\"") {
            assert_eq!(flow.loss_event_rate, 0.0, "{transport}: {flow:?}");
        }
    }
}
