//! `weir bench`: measures the simulator's speed, each case in a process of its own, so that no case
//! finds the memory and caches of another.

use crate::arguments::JsonOutput;
use crate::benchmark::{Case, QUEUE_ENTRIES, measure};
use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::Command;
use weir_net::bench::{RATE_PER_FLOW, ROUND_TRIP, Topology, Transport};

/// Measure the simulator's speed.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Numbers of flows.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100, 1000, 10_000],
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    flows: Vec<u32>,
    /// Transports.
    #[arg(long, value_delimiter = ',', default_values = Transport::ALL.map(Transport::name),
          value_parser = transports())]
    transport: Vec<Transport>,
    /// The links on the way: an access link at each end and a bottleneck, every packet of QUIC and
    /// TCP acknowledged; or one link, every other packet acknowledged.
    #[arg(long, value_delimiter = ',', default_values = [Topology::Dumbbell.name()],
          value_parser = topologies())]
    topology: Vec<Topology>,
    /// Delivered data packets to time in each case.
    #[arg(long, default_value_t = 1_000_000)]
    packets: u64,
    #[command(flatten)]
    output: JsonOutput,
}

fn transports() -> impl TypedValueParser<Value = Transport> {
    let names = PossibleValuesParser::new(Transport::ALL.map(Transport::name));
    names.map(|name| {
        let named = |one: &Transport| one.name() == name;
        Transport::ALL
            .into_iter()
            .find(named)
            .unwrap_or(Transport::Quic)
    })
}

fn topologies() -> impl TypedValueParser<Value = Topology> {
    let names = PossibleValuesParser::new(Topology::ALL.map(Topology::name));
    names.map(|name| {
        let named = |one: &Topology| one.name() == name;
        Topology::ALL
            .into_iter()
            .find(named)
            .unwrap_or(Topology::Dumbbell)
    })
}

/// Measures all cases and prints a table of them.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let packets = arguments.packets;
    let mut cases = Vec::new();
    for &topology in &arguments.topology {
        for &transport in &arguments.transport {
            cases.extend(arguments.flows.iter().map(|&flows| Case {
                transport,
                topology,
                flows,
            }));
        }
    }
    let results = match cases[..] {
        [case] => measure(case, packets).map(|measured| vec![measured.to_json()]),
        _ => cases
            .iter()
            .map(|&case| in_own_process(case, packets))
            .collect(),
    };
    let results: Vec<Value> = results.map_err(Failure::Failed)?;
    if arguments.output.json {
        let document = json!({ "bench": about(), "cases": results });
        return arguments.output.print(&document);
    }
    Ok(terminal::print(&table(&results))?)
}

/// What holds for all cases.
fn about() -> Value {
    json!({
        "rate_per_flow_bps": RATE_PER_FLOW,
        "round_trip_s": ROUND_TRIP.as_secs_f64(),
        "queue": "droptail, one bandwidth-delay product",
        "queue_entries": QUEUE_ENTRIES,
    })
}

/// Starts this program once more for one case.
fn in_own_process(case: Case, packets: u64) -> Result<Value, String> {
    let failed = |what: String| format!("bench of {case}: {what}");
    let program = crate::program::path().map_err(|error| failed(error.to_string()))?;
    let output = Command::new(program)
        .args(["bench", "--json", "--transport", case.transport.name()])
        .args(["--topology", case.topology.name()])
        .args(["--flows", &case.flows.to_string()])
        .args(["--packets", &packets.to_string()])
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let document: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
    let case = document.pointer("/cases/0").cloned();
    case.ok_or_else(|| failed("expected one case in its answer".to_owned()))
}

fn table(cases: &[Value]) -> String {
    let mut text = format!(
        "Bulk flows over one bottleneck: {} Mbit/s a flow, {} round trip, drop-tail of one \
         bandwidth-delay product.\nA data packet's cost is CPU time and includes its \
         acknowledgements, all hops and both endpoints;\ninstructions are those of its thread, - where the \
         machine does not count them; ops are pushes with a pop of the event \
         queue with {QUEUE_ENTRIES} entries. Memory is the growth of the resident set.\n\n",
        RATE_PER_FLOW / 1_000_000,
        ROUND_TRIP,
    );
    let _ = writeln!(
        text,
        "{:<9} {:<9} {:>6} {:>13} {:>10} {:>12} {:>6} {:>6} {:>11} {:>12}",
        "topology",
        "transport",
        "flows",
        "packets/CPU s",
        "ns/packet",
        "instructions",
        "ns/op",
        "ops",
        "bytes/flow",
        "utilisation"
    );
    for case in cases {
        let number = |key: &str| case[key].as_f64().unwrap_or(f64::NAN);
        let memory = case["memory_per_flow_bytes"].as_u64();
        let instructions = case["instructions_per_packet"].as_f64();
        let _ = writeln!(
            text,
            "{:<9} {:<9} {:>6} {:>13.0} {:>10.0} {:>12} {:>6.1} {:>6.2} {:>11} {:>11.1}%",
            case["topology"].as_str().unwrap_or_default(),
            case["transport"].as_str().unwrap_or_default(),
            case["flows"].as_u64().unwrap_or_default(),
            number("packets_per_cpu_s"),
            number("ns_per_packet"),
            instructions.map_or("-".to_owned(), |counted| format!("{counted:.0}")),
            number("queue_operation_ns"),
            number("operations_per_packet"),
            memory.map_or("-".to_owned(), |bytes| bytes.to_string()),
            number("utilisation") * 100.0,
        );
    }
    text
}
