//! What an observer of a run sees: the rows of the interval tables, and links without flows too.

use crate::fixture::{run_text, traced};
use crate::run::{LiveObserver, LiveState, RunOptions, Scope, Simulation, TraceLevel};
use crate::scenario::parse;
use std::sync::{Arc, Mutex};
use weir_proto::time::{Duration, Instant};

const TWO: &str = r#"
[run]
duration = "4s"
warmup = "1s"

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "4Mbit"
delay = "10ms"
queue = { kind = "droptail", limit = "20kB" }

[[flow]]
name = "web"
from = "server"
to = "client"
transport = { kind = "tcp", controller = "cubic" }
app = { kind = "bulk" }

[[flow]]
name = "tfrc"
from = "server"
to = "client"
transport = { kind = "dccp", ccid = 3, profile = "rfc5348" }
app = { kind = "bulk", packet = 1300 }
"#;

fn collected() -> (Arc<Mutex<Vec<LiveState>>>, LiveObserver) {
    let states: Arc<Mutex<Vec<LiveState>>> = Arc::default();
    let seen = Arc::clone(&states);
    let observer: LiveObserver = Arc::new(move |state| seen.lock().unwrap().push(state.clone()));
    (states, observer)
}

#[test]
fn an_observer_sees_the_rows_of_the_intervals_and_changes_nothing() {
    let alone = run_text(TWO, &traced());
    for trace in [TraceLevel::Full, TraceLevel::Summary] {
        let (states, observer) = collected();
        let options = RunOptions {
            trace,
            live: Some(&observer),
            ..RunOptions::default()
        };
        let watched = run_text(TWO, &options);
        assert_eq!(watched.summary, alone.summary, "{trace:?}");
        assert_eq!(watched.flows.is_empty(), trace < TraceLevel::Full);
        assert_eq!(watched.delays.is_some(), trace == TraceLevel::Full);
        let states = states.lock().unwrap();
        for (index, flow) in alone.flows.iter().enumerate() {
            let table = flow.intervals.as_ref().expect("intervals");
            let goodput: Vec<f64> = states.iter().map(|s| s.flows[index].goodput_bps).collect();
            // The end of the run ends its last interval too, which is in the summary already.
            let rows = table.numbers("goodput_bps").expect("a column");
            assert_eq!(goodput, rows[..goodput.len()], "{}", flow.name);
            assert!(rows.len() - goodput.len() <= 1 && goodput.len() > 100);
            let delays = table.numbers("one_way_delay_s").expect("a column");
            for (state, delay) in states.iter().zip(delays) {
                let seen = state.flows[index].one_way_delay_s;
                assert_eq!(seen, (!delay.is_nan()).then_some(*delay));
            }
        }
        let drops: u64 = states.iter().map(|s| s.links[0].packets_dropped).sum();
        let link = alone.links.iter().find(|link| link.name == "bottleneck");
        let column = link
            .expect("a link")
            .table
            .as_numbers("drops")
            .expect("a column");
        let until = states.last().expect("states").at;
        assert!(
            drops > 0 && drops as f64 <= column[column.len() - 1],
            "{drops} at {until}"
        );
        let fullest = states.iter().map(|s| s.links[0].queue_bytes);
        let fullest = fullest.fold(0.0, f64::max);
        assert!((10_000.0..=20_000.0).contains(&fullest), "{fullest}");
    }
}

#[test]
fn links_without_flows_are_observed_at_the_interval_of_the_scenario() {
    let mut scenario = parse(TWO, "two.toml").expect("valid");
    scenario.run.interval = Some(Duration::from_secs(1));
    let (states, observer) = collected();
    let options = RunOptions {
        trace: TraceLevel::Counters,
        live: Some(&observer),
        ..RunOptions::default()
    };
    let mut network = Simulation::new(&scenario, &options, Scope::Network).expect("built");
    network
        .advance(&options, Instant::ZERO + Duration::from_millis(2500))
        .expect("advanced");
    let states = states.lock().unwrap();
    let seen: Vec<f64> = states.iter().map(|state| state.at.as_secs_f64()).collect();
    assert_eq!(seen, [1.0, 2.0]);
    let names: Vec<&str> = states[0]
        .links
        .iter()
        .map(|link| link.name.as_str())
        .collect();
    assert_eq!(names, ["bottleneck", "bottleneck.backward"]);
    assert!(states[0].flows.is_empty());
}
