//! Entries that stand for several, and transfers over connections of their own.

use super::*;
use crate::scenario::{self, ScenarioError};

fn full(text: &str) -> RunOutput {
    let scenario = scenario::parse(text, "test.toml").unwrap();
    let options = RunOptions {
        trace: TraceLevel::Full,
        ..RunOptions::default()
    };
    run(&scenario, &options).unwrap()
}

const INCAST: &str = r#"
run = { duration = "3s" }
host = [{ name = "sender", count = 20 }]
link = [
    { name = "rack", count = 20, between = ["sender", "switch"], rate = "1Gbit", delay = "0s..50us" },
    { name = "port", between = ["switch", "sink"], rate = "100Mbit", delay = "10us" },
]

[[flow]]
name = "answer"
count = 20
from = "sender"
to = "sink"
transport = { kind = "tcp" }
app = { kind = "bulk", total = "20kB" }
"#;

#[test]
fn several_hosts_links_and_flows_are_one_entry() {
    let output = full(INCAST);
    let scenario = &output.scenario;
    assert_eq!((scenario.links.len(), scenario.flows.len()), (21, 20));
    assert_eq!(scenario.links[6].between, ["sender-7", "switch"]);
    assert_eq!(scenario.flows[19].from, "sender-20");
    // Each link of the entry draws a delay of its own.
    assert_eq!(output.summary.drawn.len(), 40);
    let group = &output.summary.groups["answer"];
    assert_eq!((group.flows, group.completed), (20, 20));
    assert_eq!(group.members[2], "answer-3");
    // 400 kB through 100 Mbit/s take 32 ms, and headers more.
    let slowest = group.completion_time_s.unwrap().max;
    assert!((0.032..0.3).contains(&slowest), "{group:?}");
    // What is written out gives the same run.
    let again = full(&scenario.resolved_toml());
    assert_eq!(again.scenario, *scenario);
    assert_eq!(again.summary, output.summary);
}

#[test]
fn counts_must_fit_each_other() {
    let wrong = |from: &str, to: &str| -> ScenarioError {
        assert!(INCAST.contains(from), "{from}");
        scenario::parse(&INCAST.replace(from, to), "test.toml").unwrap_err()
    };
    for (from, to, message) in [
        (
            "\"rack\", count = 20",
            "\"rack\", count = 7",
            "7 links cannot join 20 hosts",
        ),
        (
            "\"port\", between",
            "\"port\", count = 2, between",
            "the same two hosts",
        ),
        (
            "name = \"answer\"\ncount = 20",
            "name = \"answer\"",
            "stands for 20 hosts",
        ),
        (
            "from = \"sender\"",
            "from = \"sende\"",
            "there is no host \"sende\"",
        ),
        (
            "{ name = \"sender\", count = 20 }",
            "{ name = \"sender\", count = 20 }, { name = \"sender-3\" }",
            "two hosts called \"sender-3\"",
        ),
        (
            "count = 20 }]",
            "count = 20000 }]",
            "expected 1 to 10000 hosts",
        ),
    ] {
        let told = wrong(from, to);
        assert!(told.message.contains(message), "{to}: {told}");
        assert!(told.line > 1, "{told}");
    }
}

/// Transfers over a wire of 10 Mbit/s.
fn transfers(arrivals: &str, seed: u64, transport: &str) -> RunOutput {
    full(&format!(
        "[run]\nduration = \"20s\"\nseed = {seed}\n\n[[link]]\nname = \"wire\"\n\
         between = [\"a\", \"b\"]\nrate = \"10Mbit\"\ndelay = \"5ms\"\n\n[[flow]]\nname = \"web\"\n\
         from = \"a\"\nto = \"b\"\ntransport = {{ kind = \"{transport}\" }}\narrivals = {arrivals}\n"
    ))
}

#[test]
fn poisson_arrivals_make_connections_of_their_own() {
    for transport in ["tcp", "quic", "dccp"] {
        let size = "{ kind = \"exponential\", mean = \"20kB\" }";
        let arrivals = format!("{{ kind = \"poisson\", per_second = 20, size = {size} }}");
        let output = transfers(&arrivals, 1, transport);
        let web = &output.summary.transfers["web"];
        // 400 ± 20 of 20 kB ± 1 kB, of which the last may not come to their end.
        assert!((320..480).contains(&web.transfers), "{transport}: {web:?}");
        assert!(web.completed + 8 >= web.transfers, "{transport}: {web:?}");
        let size = web.size_bytes.unwrap();
        assert!((16e3..24e3).contains(&size.mean), "{transport}: {size:?}");
        let time = web.completion_time_s.unwrap();
        assert!(time.min > 0.01 && time.p50 < 1.0, "{transport}: {time:?}");
        let offered = size.mean * web.transfers as f64 * 8.0 / 20.0;
        let share = web.goodput_bps / offered;
        assert!((0.97..=1.0).contains(&share), "{transport}: {share}");
        assert_eq!(output.summary.totals.flows, web.transfers);
        let table = &output.transfers[0].table;
        assert_eq!(table.rows() as u64, web.transfers);
        let starts = table.numbers("start_s").unwrap();
        assert!(starts.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}

#[test]
fn arrivals_and_sizes_are_those_of_the_seed_and_not_of_the_network() {
    let arrivals =
        "{ kind = \"poisson\", per_second = 5, size = { kind = \"pareto\", mean = \"9kB\" } }";
    let columns = |output: &RunOutput| {
        let table = &output.transfers[0].table;
        let column = |name| table.as_numbers(name).unwrap().into_owned();
        (column("start_s"), column("size_bytes"))
    };
    let tcp = columns(&transfers(arrivals, 1, "tcp"));
    assert_eq!(tcp, columns(&transfers(arrivals, 1, "quic")));
    assert_ne!(tcp, columns(&transfers(arrivals, 2, "tcp")));
}

#[test]
fn a_listed_transfer_takes_what_the_path_takes() {
    let output = transfers(
        "{ kind = \"list\", transfers = [[0.5, 1000], [1, 125000]] }",
        1,
        "tcp",
    );
    let table = &output.transfers[0].table;
    assert_eq!(table.numbers("start_s").unwrap(), [0.5, 1.0]);
    let times = table.numbers("completion_time_s").unwrap();
    // A handshake and one way; 100 ms of transmission and some round trips of slow start.
    assert!((times[0] - 0.016).abs() < 0.001, "{times:?}");
    assert!((0.11..0.2).contains(&times[1]), "{times:?}");
    let again = full(&output.scenario.resolved_toml());
    assert_eq!(again.summary, output.summary);
}

#[test]
fn only_one_flow_is_traced_if_only_one_is_asked_for() {
    let text = r#"
        run = { duration = "2s" }
        link = [{ name = "wire", between = ["a", "b"], rate = "2Mbit", delay = "5ms" }]
        [[flow]]
        name = "first"
        from = "a"
        to = "b"
        transport = { kind = "tcp" }
        [[flow]]
        name = "second"
        from = "a"
        to = "b"
        transport = { kind = "dccp", ccid = 3 }
    "#;
    let scenario = scenario::parse(text, "two.toml").unwrap();
    let full = RunOptions {
        trace: TraceLevel::Full,
        ..RunOptions::default()
    };
    let all = run(&scenario, &full).unwrap();
    for (place, name) in ["first", "second"].into_iter().enumerate() {
        let options = RunOptions {
            traced_flow: Some(name),
            ..full
        };
        let one = run(&scenario, &options).unwrap();
        assert_eq!(one.summary.flows, all.summary.flows);
        let [flow] = one.flows.as_slice() else {
            panic!("{} flows", one.flows.len());
        };
        assert!(flow.table.rows() > 10, "{name}");
        assert_eq!(flow.name, name);
        assert_eq!(flow.table, all.flows[place].table);
        assert_eq!(flow.writes, all.flows[place].writes);
        assert!(one.links.is_empty() && flow.intervals.is_none());
    }
}
