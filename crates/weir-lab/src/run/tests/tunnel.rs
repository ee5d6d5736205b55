//! Tunnels: flows whose packets an outer connection carries.

use crate::fixture::run_text;
use crate::run::*;
use crate::scenario;

/// A stream of datagrams of 1000 octets at 100 a second from `server` over `proxy` to `client`,
/// with a tunnel over the link between `proxy` and `client`.
fn through(tunnel: &str, link: &str, flow: &str) -> String {
    format!(
        r#"
[run]
duration = "10s"

[[link]]
name = "lan"
between = ["server", "proxy"]
rate = "1Gbit"

[[link]]
name = "wire"
between = ["proxy", "client"]
rate = "10Mbit"
delay = "10ms"
{link}

[[tunnel]]
name = "vpn"
between = ["proxy", "client"]
{tunnel}

[[flow]]
name = "inner"
from = "server"
to = "client"
{flow}
"#
    )
}

const CONSTANT: &str = r#"transport = { kind = "udp" }
app = { kind = "cbr", packet = 1000, rate = "800kbit" }
stop = "9s""#;

const DATAGRAMS: &str = r#"mode = "datagram"
transport = { kind = "quic", controller = "cubic" }"#;

const STREAM: &str = r#"mode = "stream"
transport = { kind = "quic", controller = "cubic", send_queue_limit = "20kB" }"#;

const TCP: &str = r#"mode = "stream"
transport = { kind = "tcp", controller = "cubic", send_buffer = "100kB" }"#;

const BULK: &str = r#"transport = { kind = "tcp", controller = "cubic" }"#;

fn summary(text: &str) -> Summary {
    run_text(text, &RunOptions::default()).summary
}

#[test]
fn every_packet_passes_each_kind_of_tunnel_with_its_overhead() {
    let over = |transport: &str| format!("mode = \"datagram\"\ntransport = {{ {transport} }}");
    let tunnels = [
        DATAGRAMS.to_owned(),
        STREAM.to_owned(),
        TCP.to_owned(),
        over(r#"kind = "udp""#),
        over(r#"kind = "dccp", ccid = 2"#),
    ];
    for tunnel in tunnels {
        let summary = summary(&through(&tunnel, "", CONSTANT));
        let inner = &summary.flows["inner"];
        assert_eq!(inner.packets_received, 900, "{tunnel}");
        assert_eq!(summary.links["vpn"].drops, 0, "{tunnel}");
        // 1000 octets with 28 of headers and two of the tunnel, 900 times in 10 s.
        let goodput = summary.flows["vpn"].goodput_bps;
        assert!(
            (goodput - 900.0 * 1030.0 * 0.8).abs() < 1.0,
            "{tunnel}: {goodput}"
        );
        let delay = inner.one_way_delay_s.expect("packets arrived");
        assert!((0.0108..0.06).contains(&delay.mean), "{tunnel}: {delay:?}");
    }
}

#[test]
fn a_loss_takes_a_packet_from_datagrams_and_time_from_a_stream() {
    let link = r#"forward = { loss = { kind = "random", rate = 0.02 } }"#;
    let lossy = |tunnel: &str| summary(&through(tunnel, link, CONSTANT));
    let datagrams = lossy(DATAGRAMS);
    let (inner, outer) = (&datagrams.flows["inner"], &datagrams.links["vpn"]);
    assert_eq!(inner.packets_received + outer.wire_losses, 900);
    assert!((5..50).contains(&outer.wire_losses), "{outer:?}");
    let quick = inner.one_way_delay_s.expect("packets arrived");
    // 10 ms of propagation and 0.9 ms of transmission.
    assert!(quick.p95 < 0.012, "{quick:?}");
    for tunnel in [STREAM, TCP] {
        let stream = lossy(tunnel);
        assert_eq!(stream.flows["inner"].packets_received, 900, "{tunnel}");
        assert_eq!(stream.links["vpn"].drops, 0);
        let slow = stream.flows["inner"].one_way_delay_s;
        let slow = slow.expect("packets arrived");
        // What follows a lost packet waits for more than a round trip.
        assert!(slow.max > 0.03, "{tunnel}: {slow:?}");
    }
}

#[test]
fn the_queue_of_a_tunnel_holds_what_the_outer_window_does_not_take() {
    let flood = r#"transport = { kind = "udp" }
app = { kind = "cbr", packet = 1000, rate = "20Mbit" }"#;
    let queue = r#"queue = { kind = "droptail", limit = 20 }"#;
    for tunnel in [DATAGRAMS, STREAM] {
        let summary = summary(&through(&format!("{tunnel}\n{queue}"), queue, flood));
        let (vpn, wire) = (&summary.links["vpn"], &summary.links["wire"]);
        // About half of 2500 packets a second do not pass the wire. The queue of the tunnel drops
        // them, which is full at all times, and the wire only those that end a growth of the
        // window.
        assert!(vpn.queue_drops > 10_000, "{tunnel}: {vpn:?}");
        assert!(
            wire.queue_drops < vpn.queue_drops / 10,
            "{tunnel}: {wire:?}"
        );
        assert_eq!(vpn.queue_bytes.max, 20 * 1028, "{tunnel}");
        assert!(vpn.queue_bytes.mean > 15.0 * 1028.0, "{tunnel}: {vpn:?}");
        assert!(wire.utilisation > 0.9, "{tunnel}: {wire:?}");
        let bounds = &summary.flows["vpn"].bound_share;
        assert!(bounds["application"] < 0.1, "{tunnel}: {bounds:?}");
    }
}

#[test]
fn a_tunnel_of_datagrams_gives_its_flows_what_fits() {
    // 1500 octets less 28 of IP and UDP, 29 of header and tag, one of the frame, two of the tunnel.
    let text = through(DATAGRAMS, "", BULK).replace("packet = 1000", "packet = 1412");
    let sizes = |text: &str| {
        let scenario = scenario::parse(text, "tunnel").expect("it is valid");
        let options = RunOptions {
            trace: TraceLevel::Full,
            packets: true,
            ..RunOptions::default()
        };
        let output = run(&scenario, &options).expect("it runs");
        let links = output.summary.links["vpn"];
        (
            links.drops - links.queue_drops,
            output.summary.flows["inner"].packets_sent,
        )
    };
    let (dropped, sent) = sizes(&text);
    assert!(sent > 1000);
    assert_eq!(dropped, 0, "TCP sends segments that fit");
    let udp = |packet: u32| {
        let flow = format!(
            "transport = {{ kind = \"udp\" }}\n\
             app = {{ kind = \"cbr\", packet = {packet}, rate = \"100kbit\" }}"
        );
        scenario::parse(&through(DATAGRAMS, "", &flow), "tunnel")
    };
    assert!(udp(1440 - 28).is_ok());
    let error = udp(1440 - 27).expect_err("it does not fit");
    assert!(error.message.contains("1440"), "{}", error.message);
}

#[test]
fn a_mark_of_the_outer_packet_reaches_the_inner_one() {
    let link = r#"queue = { kind = "codel", ecn = true }"#;
    let tunnel = r#"mode = "datagram"
transport = { kind = "quic", controller = "cubic", ecn = true }
queue = { kind = "droptail", limit = 1000 }"#;
    let bulk = |ecn: bool| {
        format!("transport = {{ kind = \"tcp\", controller = \"cubic\", ecn = {ecn} }}")
    };
    let capable = summary(&through(tunnel, link, &bulk(true)));
    assert!(capable.links["wire"].marks > 0);
    assert!(capable.links["vpn"].marks > 0, "{:?}", capable.links["vpn"]);
    let plain = summary(&through(tunnel, link, &bulk(false)));
    assert_eq!(
        plain.links["vpn"].marks, 0,
        "its packets are not ECN-capable"
    );
}

#[test]
fn the_codec_changes_nothing_in_a_tunnel() {
    for tunnel in [DATAGRAMS, STREAM, TCP] {
        let link = r#"forward = { loss = { kind = "random", rate = 0.01 } }"#;
        let text = through(tunnel, link, BULK);
        let coded = text.replace("duration", "codec = true\nduration");
        let (plain, coded) = (summary(&text), summary(&coded));
        assert_eq!(plain.flows, coded.flows, "{tunnel}");
        assert_eq!(plain.links, coded.links, "{tunnel}");
    }
}

#[test]
fn a_flow_beside_the_tunnel_does_not_use_it() {
    let text = through(DATAGRAMS, "", CONSTANT).replace("from = \"server\"", "from = \"lan\"");
    let text = text.replace("[\"server\", \"proxy\"]", "[\"lan\", \"client\"]");
    let summary = summary(&text);
    assert_eq!(summary.flows["inner"].packets_received, 900);
    assert_eq!(summary.flows["vpn"].goodput_bps, 0.0);
}

#[test]
fn a_tunnel_needs_the_whole_scenario() {
    let scenario = scenario::parse(&through(DATAGRAMS, "", BULK), "tunnel").expect("it is valid");
    let options = RunOptions::default();
    let error = Simulation::new(&scenario, &options, Scope::Flows).err();
    assert!(matches!(error, Some(RunError::Build(why)) if why.contains("tunnel")));
}
