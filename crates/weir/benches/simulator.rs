//! Measures the simulator's speed: packets per second, and the cost of each packet.
//!
//! `cargo bench -p weirlab --bench simulator -- --flows 1,100 --transport quic,tcp`
//!
//! A case consists of bulk flows over one bottleneck (see `weir_net::bench`). After a warm-up it is
//! timed by the CPU time of the process, which other processes on the machine affect little; each
//! case has a separate process, so that it does not inherit memory and caches of another. The cost
//! of a delivered data packet includes everything: its acknowledgements, the links and queues of
//! both directions, both endpoints and applications. For comparison, the cost of a push and a pop
//! of the event queue with 10,000 entries is measured in the same process just before and just
//! after. Instructions are those of this thread in user mode, if the machine counts them
//! (`perf_event_open` of Linux; many virtual machines have no such counter). Memory is the growth
//! of the resident set (`/proc/self/statm`) from before the network is built to the end of the run,
//! including packets in transit; it is available on Linux only.

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Command;
use weir_net::bench::{Bench, Counts, EventQueueBench, RATE_PER_FLOW, ROUND_TRIP};
use weir_net::bench::{Topology, Transport, warm_up};

/// Entries of the event queue whose operations are timed for comparison.
const QUEUE_ENTRIES: u32 = 10_000;
/// Queue operations in a measurement.
const QUEUE_OPERATIONS: u64 = 2_000_000;

/// A simulated case.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// The transport at both ends.
    transport: Transport,
    /// The links between the ends.
    topology: Topology,
    /// The number of bulk flows.
    flows: u32,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (transport, topology) = (self.transport.name(), self.topology.name());
        write!(f, "{} {transport} flows over {topology}", self.flows)
    }
}

/// The result of a case.
struct Measured {
    case: Case,
    counts: Counts,
    cpu_s: f64,
    instructions: Option<u64>,
    queue_operation_ns: f64,
    memory_per_flow: Option<u64>,
}

impl Measured {
    fn ns_per_packet(&self) -> f64 {
        self.cpu_s * 1e9 / (self.counts.data_packets as f64).max(1.0)
    }

    fn instructions_per_packet(&self) -> Option<f64> {
        let packets = (self.counts.data_packets as f64).max(1.0);
        self.instructions.map(|counted| counted as f64 / packets)
    }

    /// The result for other programs.
    fn to_json(&self) -> Value {
        json!({
            "transport": self.case.transport.name(),
            "topology": self.case.topology.name(),
            "flows": self.case.flows,
            "data_packets": self.counts.data_packets,
            "packets": self.counts.packets,
            "packets_dropped": self.counts.dropped,
            "events": self.counts.events,
            "warmup_s": warm_up(self.case.flows).as_secs_f64(),
            "simulated_s": self.counts.simulated.as_secs_f64(),
            "utilisation": self.counts.utilisation,
            "cpu_s": self.cpu_s,
            "packets_per_cpu_s": self.counts.data_packets as f64 / self.cpu_s.max(1e-9),
            "ns_per_packet": self.ns_per_packet(),
            "instructions_per_packet": self.instructions_per_packet(),
            "queue_operation_ns": self.queue_operation_ns,
            "operations_per_packet": self.ns_per_packet() / self.queue_operation_ns,
            "memory_per_flow_bytes": self.memory_per_flow,
        })
    }
}

/// Measures one case in this process.
fn measure(case: Case, packets: u64) -> Result<Measured, String> {
    let before_ns = queue_operation_ns();
    let memory = resident_bytes();
    let Case {
        transport,
        topology,
        flows,
    } = case;
    let mut bench = Bench::of(transport, topology, flows).map_err(|error| error.to_string())?;
    bench
        .run(warm_up(flows))
        .map_err(|stuck| stuck.to_string())?;
    let time = bench.time_for(packets, transport.packet_size());
    let counter = InstructionCounter::start();
    let start = cpu_seconds();
    let counts = bench.run(time).map_err(|stuck| stuck.to_string())?;
    let cpu_s = cpu_seconds() - start;
    let instructions = counter.and_then(InstructionCounter::stop);
    let grown = resident_bytes()
        .zip(memory)
        .map(|(after, before)| after.saturating_sub(before) / u64::from(flows));
    drop(bench);
    Ok(Measured {
        case,
        counts,
        cpu_s,
        instructions,
        queue_operation_ns: f64::midpoint(before_ns, queue_operation_ns()),
        memory_per_flow: grown,
    })
}

/// Counts the instructions of this thread in user mode.
#[cfg(target_os = "linux")]
struct InstructionCounter(perf_event::Counter);

#[cfg(target_os = "linux")]
impl InstructionCounter {
    /// `None` if instructions cannot be counted.
    fn start() -> Option<Self> {
        let event = perf_event::events::Hardware::INSTRUCTIONS;
        let mut counter = perf_event::Builder::new(event).build().ok()?;
        counter.enable().ok()?;
        Some(Self(counter))
    }

    /// `None` if the counter was multiplexed, so that it counted only part of the time.
    fn stop(mut self) -> Option<u64> {
        self.0.disable().ok()?;
        let counted = self.0.read_full().ok()?;
        let whole = counted.time_enabled() == counted.time_running();
        (whole && counted.count() > 0).then(|| counted.count())
    }
}

/// Counts nothing on other systems.
#[cfg(not(target_os = "linux"))]
struct InstructionCounter;

#[cfg(not(target_os = "linux"))]
impl InstructionCounter {
    const fn start() -> Option<Self> {
        None
    }

    const fn stop(self) -> Option<u64> {
        None
    }
}

/// The CPU time used by this process.
#[cfg(unix)]
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Wall-clock time, on systems without CPU time.
#[cfg(not(unix))]
fn cpu_seconds() -> f64 {
    use std::sync::LazyLock;
    static START: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    START.elapsed().as_secs_f64()
}

/// CPU time of one push and one pop in nanoseconds.
fn queue_operation_ns() -> f64 {
    let mut bench = EventQueueBench::new(QUEUE_ENTRIES);
    bench.run(QUEUE_OPERATIONS / 4);
    let start = cpu_seconds();
    // The result is used, so that the compiler cannot remove the work.
    std::hint::black_box(bench.run(QUEUE_OPERATIONS));
    (cpu_seconds() - start) * 1e9 / QUEUE_OPERATIONS as f64
}

/// The resident set of this process, from Linux's `/proc`.
fn resident_bytes() -> Option<u64> {
    const PAGE: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE)
}

/// Measure the simulator's speed.
#[derive(Parser, Clone, Debug)]
struct Arguments {
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
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// What `cargo bench` adds.
    #[arg(long, hide = true)]
    bench: bool,
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

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
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
    let results: Vec<Value> = results?;
    let text = if arguments.json {
        format!("{}\n", json!({ "bench": about(), "cases": results }))
    } else {
        table(&results)
    };
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| format!("standard output: {error}"))
}

/// The parameters common to all cases.
fn about() -> Value {
    json!({
        "rate_per_flow_bps": RATE_PER_FLOW,
        "round_trip_s": ROUND_TRIP.as_secs_f64(),
        "queue": "droptail, one bandwidth-delay product",
        "queue_entries": QUEUE_ENTRIES,
    })
}

/// Starts this program as a child process for one case.
fn in_own_process(case: Case, packets: u64) -> Result<Value, String> {
    let failed = |what: String| format!("bench of {case}: {what}");
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let output = Command::new(program)
        .args(["--json", "--transport", case.transport.name()])
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
