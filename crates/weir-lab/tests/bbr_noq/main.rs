//! Compares this project's BBRv3 with that of noq, a fork of quinn: an independent implementation
//! of the draft. Both run in the same QUIC endpoint over the same paths; only the controller
//! differs. `docs/bbr.md` has the table, and how to print it. This is a separate binary, because it
//! adds noq's controllers to the registry of its process.

mod estimator;
mod noq;

use noq::{Noq, ProbeEnd};
use std::collections::BTreeSet;
use std::sync::{Arc, Once};
use weir_lab::run::{RunOptions, RunOutput, TraceLevel, run};
use weir_lab::scenario::parse;
use weir_proto::cc::window::added;

const OURS: &str = "bbr";
const NOQ: &str = "noq";
/// noq, changed to end a probe as in the draft.
const NOQ_DRAFT: &str = "noq-draft";

/// Seeds of a row of the table, and the 95 % quantile of Student's t for one degree of freedom
/// less.
const SEEDS: u64 = 20;
const STUDENT_T: f64 = 2.093;

/// The properties of a path.
#[derive(Clone, Copy)]
struct Path {
    name: &'static str,
    rate_mbps: f64,
    rtt_ms: f64,
    /// The buffer in bandwidth-delay products.
    buffer: f64,
    loss: f64,
    codel: bool,
    app: &'static str,
}

const BULK: &str = r#"{ kind = "bulk", packet = 1300 }"#;

const fn path(name: &'static str, rate_mbps: f64, rtt_ms: f64, buffer: f64) -> Path {
    Path {
        name,
        rate_mbps,
        rtt_ms,
        buffer,
        loss: 0.0,
        codel: false,
        app: BULK,
    }
}

const fn lossy(name: &'static str, rate_mbps: f64, rtt_ms: f64, loss: f64) -> Path {
    Path {
        loss,
        ..path(name, rate_mbps, rtt_ms, 1.0)
    }
}

/// The paths of the table.
const PATHS: [Path; 17] = [
    path("10 Mbit/s, 10 ms, 0.5 BDP", 10.0, 10.0, 0.5),
    path("10 Mbit/s, 40 ms, 1 BDP", 10.0, 40.0, 1.0),
    path("10 Mbit/s, 100 ms, 4 BDP", 10.0, 100.0, 4.0),
    path("50 Mbit/s, 10 ms, 0.5 BDP", 50.0, 10.0, 0.5),
    path("50 Mbit/s, 40 ms, 1 BDP", 50.0, 40.0, 1.0),
    path("50 Mbit/s, 100 ms, 4 BDP", 50.0, 100.0, 4.0),
    path("100 Mbit/s, 10 ms, 4 BDP", 100.0, 10.0, 4.0),
    path("100 Mbit/s, 40 ms, 0.5 BDP", 100.0, 40.0, 0.5),
    path("100 Mbit/s, 100 ms, 1 BDP", 100.0, 100.0, 1.0),
    lossy("50 Mbit/s, 40 ms, 0.1 % lost", 50.0, 40.0, 0.001),
    lossy("10 Mbit/s, 40 ms, 1 % lost", 10.0, 40.0, 0.01),
    lossy("50 Mbit/s, 40 ms, 1 % lost", 50.0, 40.0, 0.01),
    lossy("10 Mbit/s, 40 ms, 2 % lost", 10.0, 40.0, 0.02),
    lossy("50 Mbit/s, 40 ms, 2 % lost", 50.0, 40.0, 0.02),
    CODEL,
    Path {
        codel: true,
        ..path("50 Mbit/s, 40 ms, CoDel", 50.0, 40.0, 1.0)
    },
    Path {
        app: r#"{ kind = "cbr", rate = "5Mbit", packet = 1200 }"#,
        ..path("10 Mbit/s, 40 ms, 5 Mbit/s written", 10.0, 40.0, 1.0)
    },
];
const CODEL: Path = Path {
    codel: true,
    ..path("10 Mbit/s, 40 ms, CoDel", 10.0, 40.0, 1.0)
};

impl Path {
    fn scenario(&self, controller: &str, seed: u64) -> String {
        let bdp = self.rate_mbps * 1e6 / 8.0 * self.rtt_ms / 1e3;
        let limit = (bdp * self.buffer) as u64;
        let queue = if self.codel {
            r#"kind = "codel""#.to_owned()
        } else {
            format!(r#"kind = "droptail", limit = "{limit}b""#)
        };
        let (rate, delay) = (self.rate_mbps, self.rtt_ms / 2.0);
        let (app, loss) = (self.app, self.loss);
        format!(
            r#"
            [run]
            duration = "30s"
            warmup = "5s"
            seed = {seed}

            [[link]]
            name = "bottleneck"
            between = ["server", "client"]
            rate = "{rate}Mbit"
            delay = "{delay}ms"
            forward.queue = {{ {queue} }}

            [[flow]]
            name = "f"
            from = "server"
            to = "client"
            transport = {{ kind = "quic", controller = "{controller}" }}
            app = {app}
            loss = {{ kind = "random", rate = {loss} }}
            "#
        )
    }

    /// The ratio of this project's goodput to that of a competing flow.
    fn ratio_beside(&self, other: &str, seed: u64) -> f64 {
        let flow = format!(
            r#"
            [[flow]]
            name = "other"
            from = "server"
            to = "client"
            transport = {{ kind = "quic", controller = "{other}" }}
            start = "1s"
            "#
        );
        let output = simulate(&(self.scenario(OURS, seed) + &flow), TraceLevel::Counters);
        let flows = &output.summary.flows;
        flows["f"].goodput_bps / flows["other"].goodput_bps
    }

    fn goodput(&self, controller: &str, seed: u64) -> f64 {
        let output = simulate(&self.scenario(controller, seed), TraceLevel::Counters);
        output.summary.flows["f"].goodput_bps
    }

    /// The ratio of this project's goodput to the other's, for each seed.
    fn ratios(&self, other: &str, seeds: u64) -> Vec<f64> {
        let ratio = |seed| self.goodput(OURS, seed) / self.goodput(other, seed);
        (1..=seeds).map(ratio).collect()
    }

    /// The sequence of states of a run.
    fn states(&self, controller: &str) -> Vec<String> {
        let output = simulate(&self.scenario(controller, 1), TraceLevel::Full);
        let states = output.flows[0].table.words("state").expect("states");
        let mut order: Vec<String> = states
            .iter()
            .filter(|state| !state.is_empty())
            .map(ToString::to_string)
            .collect();
        order.dedup();
        order
    }
}

fn simulate(text: &str, trace: TraceLevel) -> RunOutput {
    static ADDED: Once = Once::new();
    ADDED.call_once(|| {
        for (name, probe_end) in [(NOQ, ProbeEnd::Noq), (NOQ_DRAFT, ProbeEnd::Draft)] {
            let make: added::Factory =
                Arc::new(move |config| Box::new(Noq::new(config, probe_end)));
            added::add(name, "BBRv3 of noq", make).expect("a place");
        }
    });
    let scenario = parse(text, "path.toml").expect("a scenario");
    let options = RunOptions {
        trace,
        ..RunOptions::default()
    };
    run(&scenario, &options).expect("a run")
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The mean over the seeds with its 95 % confidence interval.
fn interval(values: &[f64]) -> String {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let count = values.len() as f64;
    let half = STUDENT_T * (squares / (count - 1.0) / count).sqrt();
    format!("{mean:.3} ± {half:.3}")
}

#[test]
fn both_go_through_the_same_states_in_the_same_order() {
    let path = path("50 Mbit/s, 40 ms, 1 BDP", 50.0, 40.0, 1.0);
    let [ours, noqs] = [OURS, NOQ].map(|controller| path.states(controller));
    // Startup ends after half a second, and the first probe follows 2 to 3 s later, so ProbeRTT,
    // due after 5 s, does not interrupt this cycle.
    let first_cycle = [
        "startup",
        "drain",
        "probe_bw_cruise",
        "probe_bw_refill",
        "probe_bw_up",
        "probe_bw_down",
        "probe_bw_cruise",
    ];
    assert_eq!(ours[..first_cycle.len()], first_cycle);
    assert_eq!(noqs[..first_cycle.len()], first_cycle);
    // Later ProbeRTT may interrupt any part of a cycle, depending on random waits.
    let cycle: BTreeSet<_> = [
        ("startup", "drain"),
        ("drain", "probe_bw_down"),
        ("drain", "probe_bw_cruise"),
        ("probe_bw_down", "probe_bw_cruise"),
        ("probe_bw_cruise", "probe_bw_refill"),
        ("probe_bw_refill", "probe_bw_up"),
        ("probe_bw_up", "probe_bw_down"),
        ("probe_rtt", "probe_bw_cruise"),
    ]
    .into();
    // noq draws its waits from the system's random numbers, so they differ in each run.
    for (controller, states, expected) in [(OURS, &ours, 7..=13), (NOQ, &noqs, 4..=15)] {
        let probes = states
            .iter()
            .filter(|state| *state == "probe_bw_up")
            .count();
        assert!(expected.contains(&probes), "{controller}: {states:?}");
        assert!(states.iter().any(|state| state == "probe_rtt"));
        for pair in states.windows(2) {
            let step = (pair[0].as_str(), pair[1].as_str());
            assert!(
                step.1 == "probe_rtt" || cycle.contains(&step),
                "{controller}: {step:?}"
            );
        }
    }
}

#[test]
fn noq_is_slower_because_its_bandwidth_lasts_for_rounds_and_not_for_cycles() {
    // docs/bbr.md: a difference of more than 5 % vanishes when noq's filter advances once in a
    // cycle.
    let rows = [
        path("10 Mbit/s, 40 ms, 4 BDP", 10.0, 40.0, 4.0),
        path("50 Mbit/s, 40 ms, 1 BDP", 50.0, 40.0, 1.0),
        path("50 Mbit/s, 10 ms, 0.5 BDP", 50.0, 10.0, 0.5),
        path("100 Mbit/s, 10 ms, 4 BDP", 100.0, 10.0, 4.0),
    ];
    for path in &rows {
        let as_is = mean(&path.ratios(NOQ, 2));
        let mended = mean(&path.ratios(NOQ_DRAFT, 2));
        assert!((1.05..1.35).contains(&as_is), "{}: {as_is}", path.name);
        assert!((0.95..1.05).contains(&mended), "{}: {mended}", path.name);
    }
}

/// With `WEIR_TABLE` set, prints the table of `docs/bbr.md`, which takes some minutes.
#[test]
fn table() {
    if std::env::var_os("WEIR_TABLE").is_none() {
        return;
    }
    println!("| path | noq | its filter by cycles |\n|---|---|---|");
    for path in &PATHS {
        let [as_is, mended] = [NOQ, NOQ_DRAFT].map(|noq| interval(&path.ratios(noq, SEEDS)));
        println!("| {} | {as_is} | {mended} |", path.name);
    }
    for path in [&PATHS[1], &PATHS[4], &PATHS[8]] {
        let [as_is, mended, ours] = [NOQ, NOQ_DRAFT, OURS].map(|other| {
            let ratios = (1..=SEEDS).map(|seed| path.ratio_beside(other, seed));
            interval(&ratios.collect::<Vec<_>>())
        });
        let name = path.name;
        println!("| {name}, both at once (two of Weir's: {ours}) | {as_is} | {mended} |");
    }
}
