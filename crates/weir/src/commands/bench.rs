//! `weir bench`: how many simulated packets a second, and what one costs.
//!
//! Each case runs in a process of its own, so that no case finds the memory and caches of
//! another: bulk flows over one bottleneck (see `weir_net::bench`), warmed up, then timed. The
//! cost of a delivered data packet holds everything: its acknowledgements, the links and queues
//! of both ways, both endpoints and applications. Beside it stands the cost of one push and pop
//! of the event queue with 10,000 entries, measured in the same process just before and just
//! after. Memory is the growth of the resident set (`/proc/self/statm`) from before the topology
//! was built to the end of the run, packets under way included; other systems than Linux show
//! none.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::process::Command;
use std::time::Instant as WallClock;
use weir_net::bench::{
    Bench, Counts, EventQueueBench, FlowEndpoints, RATE_PER_FLOW, ROUND_TRIP, WARM_UP,
};
use weir_proto::cc::tfrc::Profile;
use weir_proto::{dccp, quic};

/// Entries of the event queue whose operation is the yardstick.
const QUEUE_ENTRIES: u32 = 10_000;
/// Operations of one measurement of it.
const QUEUE_OPERATIONS: u64 = 2_000_000;

/// Measure the simulator's speed.
#[derive(Args, Clone, Debug)]
pub struct BenchArgs {
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
    /// Print one JSON document.
    #[arg(long)]
    pub json: bool,
}

/// What the flows speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Transport {
    /// QUIC with NewReno, an acknowledgement for every other packet.
    Quic,
    /// DCCP with CCID-3 by RFC 5348, feedback once a round-trip time.
    Dccp,
}

impl std::fmt::Display for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Quic => "quic",
            Self::Dccp => "dccp",
        })
    }
}

/// What a case has shown.
struct Measured {
    transport: Transport,
    flows: u32,
    counts: Counts,
    wall_s: f64,
    queue_operation_ns: f64,
    heap_operation_ns: f64,
    memory_per_flow: Option<u64>,
}

impl Measured {
    fn ns_per_packet(&self) -> f64 {
        self.wall_s * 1e9 / (self.counts.data_packets as f64).max(1.0)
    }

    fn to_json(&self) -> Value {
        json!({
            "transport": self.transport.to_string(),
            "flows": self.flows,
            "data_packets": self.counts.data_packets,
            "packets": self.counts.packets,
            "packets_dropped": self.counts.dropped,
            "events": self.counts.events,
            "simulated_s": self.counts.simulated.as_secs_f64(),
            "utilisation": self.counts.utilisation,
            "wall_s": self.wall_s,
            "packets_per_s": self.counts.data_packets as f64 / self.wall_s.max(1e-9),
            "ns_per_packet": self.ns_per_packet(),
            "queue_operation_ns": self.queue_operation_ns,
            "operations_per_packet": self.ns_per_packet() / self.queue_operation_ns,
            "heap_operation_ns": self.heap_operation_ns,
            "heap_operations_per_packet": self.ns_per_packet() / self.heap_operation_ns,
            "memory_per_flow_bytes": self.memory_per_flow,
        })
    }
}

/// Runs the command.
///
/// # Errors
/// A message for people.
pub fn run(args: &BenchArgs, out: &mut dyn Write) -> Result<(), String> {
    let cases: Vec<_> = args
        .transport
        .iter()
        .flat_map(|&transport| args.flows.iter().map(move |&flows| (transport, flows)))
        .collect();
    let results = match cases[..] {
        [(transport, flows)] => vec![measure(transport, flows, args.packets)?.to_json()],
        _ => cases
            .iter()
            .map(|&(transport, flows)| in_own_process(transport, flows, args.packets))
            .collect::<Result<_, _>>()?,
    };
    let text = if args.json {
        let document = json!({ "bench": about(), "cases": results });
        serde_json::to_string_pretty(&document).map_err(|error| error.to_string())? + "\n"
    } else {
        table(&results)
    };
    match out.write_all(text.as_bytes()) {
        // The reader has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| format!("cannot write the result: {error}")),
    }
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

/// Measures one case in this process.
fn measure(transport: Transport, flows: u32, packets: u64) -> Result<Measured, String> {
    let before_ns = queue_operation_ns();
    let memory = resident_bytes();
    let mut bench = Bench::new(flows, transport.write_size(), |_| transport.ends())
        .map_err(|e| e.to_string())?;
    bench.run(WARM_UP).map_err(|stuck| stuck.to_string())?;
    let time = bench.time_for(packets, transport.packet_size());
    let start = WallClock::now();
    let counts = bench.run(time).map_err(|stuck| stuck.to_string())?;
    let wall_s = start.elapsed().as_secs_f64();
    let grown = resident_bytes()
        .zip(memory)
        .map(|(after, before)| after.saturating_sub(before) / u64::from(flows));
    drop(bench);
    Ok(Measured {
        transport,
        flows,
        counts,
        wall_s,
        queue_operation_ns: f64::midpoint(before_ns, queue_operation_ns()),
        heap_operation_ns: heap_operation_ns(),
        memory_per_flow: grown,
    })
}

impl Transport {
    /// A connection that has not begun.
    fn ends(self) -> FlowEndpoints {
        match self {
            Self::Quic => {
                let config = quic::Config {
                    // Little more than the window waits, so that memory shows the protocol.
                    send_queue_limit: 200_000,
                    ..quic::Config::default()
                };
                FlowEndpoints {
                    sender: Box::new(quic::Connection::client(config.clone())),
                    receiver: Box::new(quic::Connection::server(config)),
                }
            }
            Self::Dccp => {
                let ccid = || dccp::Ccid::Tfrc(Box::new(Profile::rfc5348()));
                let config = dccp::Config {
                    send_ccid: ccid(),
                    receive_ccid: ccid(),
                    ..dccp::Config::default()
                };
                FlowEndpoints {
                    sender: Box::new(dccp::Connection::client(config.clone())),
                    receiver: Box::new(dccp::Connection::server(config)),
                }
            }
        }
    }

    /// Octets of the application's writes: pieces of a stream, or whole datagrams.
    const fn write_size(self) -> u32 {
        match self {
            Self::Quic => 15_000,
            Self::Dccp => 1_400,
        }
    }

    /// Octets of a full data packet on the wire, nearly: it only scales the time of the run.
    const fn packet_size(self) -> u32 {
        match self {
            Self::Quic => 1_280,
            Self::Dccp => 1_436,
        }
    }
}

/// Wall-clock nanoseconds of one push and one pop.
fn queue_operation_ns() -> f64 {
    let mut bench = EventQueueBench::new(QUEUE_ENTRIES);
    bench.run(QUEUE_OPERATIONS / 4);
    let start = WallClock::now();
    // The result is used, so that the work cannot be left out.
    std::hint::black_box(bench.run(QUEUE_OPERATIONS));
    start.elapsed().as_secs_f64() * 1e9 / QUEUE_OPERATIONS as f64
}

/// The same for the standard library's heap of times and numbers, the event queue that one would
/// write first.
fn heap_operation_ns() -> f64 {
    // The times of a linear congruential generator: spread, and the same each time.
    let mut state = 1_u64;
    let mut draw = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state >> 44
    };
    let mut heap: BinaryHeap<_> = (0..u64::from(QUEUE_ENTRIES))
        .map(|number| Reverse((draw(), number)))
        .collect();
    let start = WallClock::now();
    for number in 0..QUEUE_OPERATIONS {
        if let Some(Reverse((at, _))) = heap.pop() {
            heap.push(Reverse((at + draw(), number)));
        }
    }
    std::hint::black_box(heap.len());
    start.elapsed().as_secs_f64() * 1e9 / QUEUE_OPERATIONS as f64
}

/// The resident set of this process.
fn resident_bytes() -> Option<u64> {
    /// Linux's page on all machines that it is built for here.
    const PAGE: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE)
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
