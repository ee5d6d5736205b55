//! Recovery of senders of CCID 3 and 4 after an outage, on paths and with durations that the
//! experiment `outage`, which covers every transport and controller, does not have.

use weir_lab::run::{RunOptions, run};
use weir_lab::scenario::parse;

/// The time in seconds until a sender had 80 % of its goodput again; `None` if it did not recover
/// within 100 s.
fn recovery(path: &str, dead_s: u32, transport: &str, app: &str, seed: u32) -> Option<f64> {
    let (back, end) = (10 + dead_s, 110 + dead_s);
    let text = format!(
        r#"
[run]
duration = "{end}s"
seed = {seed}
[[host]]
name = "client"
jitter = "0ms..2ms"
[[link]]
name = "path"
between = ["server", "client"]
{path}
[[link.change]]
at = "10s"
loss = {{ kind = "random", rate = 1.0 }}
[[link.change]]
at = "{back}s"
loss = {{ kind = "none" }}
[[flow]]
name = "flow"
from = "server"
to = "client"
transport = {{ kind = "dccp", {transport} }}
app = {{ {app} }}
"#
    );
    let scenario = parse(&text, "outage.toml").expect("a scenario");
    let output = run(&scenario, &RunOptions::default()).expect("a run");
    output.summary.flows["flow"].recovery_s
}

/// Every profile, with a path at whose rate packets are close, and one at which they are far apart:
/// the window counter advances by one or by five with each.
#[test]
fn a_bulk_flow_gets_up_again_with_every_profile() {
    let paths = [
        "rate = \"5Mbit\"\ndelay = \"15ms\"\nqueue = { kind = \"droptail\", limit = 50 }",
        "rate = \"300kbit\"\ndelay = \"40ms\"\nqueue = { kind = \"droptail\", limit = 10 }",
    ];
    for path in paths {
        for ccid in [3, 4] {
            for profile in ["rfc5348", "rfc3448", "linux-mainline", "linux-2008"] {
                let transport = format!("ccid = {ccid}, profile = \"{profile}\"");
                for (dead, seed) in [(5, 1), (12, 2), (20, 3), (20, 4), (20, 5), (45, 6)] {
                    let recovered = recovery(path, dead, &transport, "kind = \"bulk\"", seed);
                    assert!(
                        recovered.is_some_and(|time| time < 20.0 + 4.0 * f64::from(dead)),
                        "{transport}, {dead} s dead, seed {seed}, {path}: {recovered:?}"
                    );
                }
            }
        }
    }
}

/// A stream below the path's rate has no losses except the outage: received packets must reduce p.
#[test]
fn a_stream_without_other_losses_gets_up_again() {
    let path = "rate = \"20Mbit\"\ndelay = \"15ms\"\nqueue = { kind = \"droptail\", limit = 200 }";
    for (ccid, profiles) in [
        (3, &["rfc5348", "rfc3448"][..]),
        (4, &["rfc5348", "linux-mainline"]),
    ] {
        // CCID 4 leaves ten milliseconds between packets (RFC 5622 §6).
        let packet = if ccid == 3 { 1000 } else { 1400 };
        let app = format!("kind = \"cbr\", packet = {packet}, rate = \"1Mbit\"");
        for profile in profiles {
            let transport = format!("ccid = {ccid}, profile = \"{profile}\"");
            for (dead, seed) in [(3, 1), (20, 2), (20, 3), (20, 4)] {
                let recovered = recovery(path, dead, &transport, &app, seed);
                assert!(
                    recovered.is_some_and(|time| time < 20.0 + 4.0 * f64::from(dead)),
                    "{transport}, {dead} s dead, seed {seed}: {recovered:?}"
                );
            }
        }
    }
}
