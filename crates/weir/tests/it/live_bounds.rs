//! Bounds on senders with real sockets: bounds caused by a relay with a simulated link, or by the
//! rate of the test, have at least 95 % of the time in `bound_share`.

use crate::common::{self, Running, serve, text, undisturbed};
use serde_json::Value;
use std::thread;

/// The application has more data than the link can carry, and occasional losses prevent a queue.
const LOSSY: &str = "rate 1mbit delay 20ms loss 1%";
/// A link without losses.
const QUIET: &str = "delay 5ms";
/// A rate far below the capacity of the path.
const FEW: [&str; 4] = ["-b", "64kbit", "-l", "200"];

/// A bound with settings that cause it.
#[derive(Clone, Copy, Debug)]
struct Plant {
    bound: &'static str,
    transport: &'static [&'static str],
    link: &'static str,
    client: &'static [&'static str],
}

const PLANTS: [Plant; 7] = [
    Plant {
        bound: "application",
        transport: &["--ccid", "2"],
        link: QUIET,
        client: &FEW,
    },
    Plant {
        bound: "application",
        transport: &["--ccid", "3"],
        link: QUIET,
        client: &FEW,
    },
    Plant {
        bound: "application",
        transport: &["--transport", "quic"],
        link: QUIET,
        client: &FEW,
    },
    Plant {
        bound: "rate",
        transport: &["--ccid", "3"],
        link: LOSSY,
        client: &[],
    },
    Plant {
        // The equation allows less than a packet in 10 ms, which would otherwise be the bound.
        bound: "rate",
        transport: &["--ccid", "4"],
        link: "rate 500kbit delay 40ms loss 4%",
        client: &[],
    },
    Plant {
        bound: "window",
        transport: &["--ccid", "2"],
        link: LOSSY,
        client: &[],
    },
    Plant {
        bound: "window",
        transport: &["--transport", "quic"],
        link: LOSSY,
        client: &[],
    },
];

impl Plant {
    /// The share of each bound in a test of some seconds.
    fn measure(&self) -> Value {
        let folder = tempfile::tempdir().expect("a folder");
        let trace = folder.path().join("test");
        let (_server, port) = serve(&[&["-B", "127.0.0.1"], self.transport].concat());
        let to = format!("127.0.0.1:{port}");
        let words = ["emulate", "--time", "60", "--link", self.link, "--to", &to];
        let mut relay = Running::weir(&words);
        let line = relay.line();
        let port = line.split(' ').nth(2).and_then(|at| at.rsplit(':').next());
        let port = port.expect("relay at ADDRESS:PORT to …");
        let words = [
            "send",
            "127.0.0.1",
            "-p",
            port,
            "-t",
            "10",
            "--trace",
            text(&trace),
        ];
        let mut client = Running::weir(&[&words[..], self.transport, self.client].concat());
        let (status, stderr) = client.end();
        assert_eq!(status, Some(0), "{self:?}: {stderr}");
        let summary = std::fs::read_to_string(trace.join("summary.json")).expect("a summary");
        let summary = common::parse(&summary);
        let flows = summary["flows"].as_object().expect("flows");
        let flow = flows.values().next().expect("a flow");
        flow["bound_share"].clone()
    }
}

#[test]
fn a_bound_that_is_planted_on_real_sockets_has_the_time() {
    let tests = PLANTS.map(|plant| {
        let has_the_time = move |shares: &Value| {
            let all = shares.as_object().into_iter().flat_map(|all| all.values());
            let sum: f64 = all.filter_map(Value::as_f64).sum();
            assert!((sum - 1.0).abs() < 1e-9, "{plant:?}: {shares}");
            shares[plant.bound].as_f64().unwrap_or(0.0) >= 0.95
        };
        thread::spawn(move || undisturbed(|| plant.measure(), has_the_time))
    });
    for (plant, test) in PLANTS.iter().zip(tests) {
        let shares = test.join();
        assert!(shares.is_ok(), "{plant:?}: see above");
    }
}
