//! `weir bench`: measures the simulator's speed, each case in a process of its own, so that no case
//! finds the memory and caches of another.

use crate::arguments::JsonOutput;
use crate::benchmark::{QUEUE_ENTRIES, Transport, measure};
use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::Command;
use weir_net::bench::{RATE_PER_FLOW, ROUND_TRIP, WARM_UP};

/// Measure the simulator's speed.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Numbers of flows.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 100, 1000],
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    flows: Vec<u32>,
    /// Transports.
    #[arg(long, value_delimiter = ',', default_values_t = [Transport::Quic, Transport::Dccp])]
    transport: Vec<Transport>,
    /// Delivered data packets to time in each case.
    #[arg(long, default_value_t = 1_000_000)]
    packets: u64,
    #[command(flatten)]
    output: JsonOutput,
}

/// Measures all cases and prints a table of them.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let packets = arguments.packets;
    let mut cases = Vec::new();
    for &transport in &arguments.transport {
        cases.extend(arguments.flows.iter().map(|&flows| (transport, flows)));
    }
    let measure_alone = |&(transport, flows): &_| in_own_process(transport, flows, packets);
    let results = match cases[..] {
        [(transport, flows)] => {
            measure(transport, flows, packets).map(|measured| vec![measured.to_json()])
        }
        _ => cases.iter().map(measure_alone).collect(),
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
        "warmup_s": WARM_UP.as_secs_f64(),
        "queue_entries": QUEUE_ENTRIES,
    })
}

/// Starts this program once more for one case.
fn in_own_process(transport: Transport, flows: u32, packets: u64) -> Result<Value, String> {
    let failed = |what: String| format!("bench of {flows} {transport} flows: {what}");
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let output = Command::new(program)
        .args(["bench", "--json", "--transport", &transport.to_string()])
        .args(["--flows", &flows.to_string()])
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
         bandwidth-delay product.\nA data packet's cost includes its acknowledgements, all hops \
         and both endpoints; op is one push and pop\nof the event queue with {QUEUE_ENTRIES} \
         entries, heap the same of the standard library's. Memory is the growth of the resident set.\n\n",
        RATE_PER_FLOW / 1_000_000,
        ROUND_TRIP,
    );
    let _ = writeln!(
        text,
        "{:<9} {:>6} {:>12} {:>10} {:>6} {:>6} {:>8} {:>9} {:>11} {:>12}",
        "transport",
        "flows",
        "packets/s",
        "ns/packet",
        "ns/op",
        "ops",
        "ns/heap",
        "heap ops",
        "bytes/flow",
        "utilisation"
    );
    for case in cases {
        let number = |key: &str| case[key].as_f64().unwrap_or(f64::NAN);
        let memory = case["memory_per_flow_bytes"].as_u64();
        let _ = writeln!(
            text,
            "{:<9} {:>6} {:>12.0} {:>10.0} {:>6.1} {:>6.2} {:>8.1} {:>9.2} {:>11} {:>11.1}%",
            case["transport"].as_str().unwrap_or_default(),
            case["flows"].as_u64().unwrap_or_default(),
            number("packets_per_s"),
            number("ns_per_packet"),
            number("queue_operation_ns"),
            number("operations_per_packet"),
            number("heap_operation_ns"),
            number("heap_operations_per_packet"),
            memory.map_or("-".to_owned(), |bytes| bytes.to_string()),
            number("utilisation") * 100.0,
        );
    }
    text
}
