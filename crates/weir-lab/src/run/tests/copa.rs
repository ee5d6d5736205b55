//! Copa in a whole network.

use crate::fixture::{run_text, stream_over, traced};
use crate::run::*;

/// The summary of Copa over 20 Mbit/s with a round-trip time of 40 ms and a FIFO of 500 packets,
/// beside these other flows.
fn copa(transport: &str, duration: &str, others: &str) -> RunOutput {
    let text = stream_over(
        &format!("duration = \"{duration}\"\nwarmup = \"10s\""),
        r#"rate = "20Mbit"
delay = "20ms"
queue = { kind = "droptail", limit = 500 }"#,
        &format!("transport = {{ {transport} }}\n{others}"),
    );
    run_text(&text, &traced())
}

#[test]
fn alone_it_fills_the_link_with_a_queue_of_a_few_packets() {
    // NSDI 2018 §2.1: the queue oscillates around 1/delta = 2 packets. A packet takes 0.6 ms.
    for transport in [
        r#"kind = "quic", controller = "copa""#,
        r#"kind = "tcp", controller = "copa""#,
        r#"kind = "dccp", ccid = 2, controller = "copa""#,
    ] {
        let output = copa(transport, "40s", "app = { kind = \"bulk\", packet = 1200 }");
        let flow = &output.summary.flows["stream"];
        assert!(
            flow.throughput_bps > 0.93 * 20e6,
            "{transport}: {}",
            flow.throughput_bps
        );
        assert_eq!(flow.packets_lost, 0, "{transport}");
        let queueing = flow.queueing_delay_s.expect("packets arrived");
        assert!(queueing.mean < 0.006, "{transport}: {queueing:?}");
    }
}

#[test]
fn beside_cubic_it_competes_and_is_not_starved_unless_it_may_not() {
    let cubic = r#"
[[flow]]
name = "cubic"
from = "server"
to = "client"
transport = { kind = "tcp", controller = "cubic" }
"#;
    let share = |switching: bool| {
        let copa_transport = format!(
            r#"kind = "tcp", controller = "copa", copa = {{ mode_switching = {switching} }}"#
        );
        let output = copa(&copa_transport, "60s", cubic);
        let [copa, cubic] = ["stream", "cubic"].map(|name| output.summary.flows[name].goodput_bps);
        copa / (copa + cubic)
    };
    let (competing, yielding) = (share(true), share(false));
    // 1/delta grows by a packet for each round trip of 300 ms, like Reno's window; CUBIC grows
    // faster.
    assert!(competing > 0.1, "{competing}");
    // Two packets in a full queue of 500.
    assert!(yielding < 0.03, "{yielding}");
}
