//! The speed of the simulator: how many packets a second, and what one costs.
//!
//! A case is bulk flows over one bottleneck (see `weir_net::bench`), warmed up, then timed by the
//! CPU time of the process, which other processes on the machine change little. The cost of a
//! delivered data packet holds everything: its acknowledgements, the links and queues of both
//! directions, both endpoints and applications. Beside it stands the cost of one push and pop of
//! the event queue with 10,000 entries, measured in the same process just before and just after.
//! Instructions are those of this thread in user mode, where the machine counts them
//! (`perf_event_open` of Linux; many virtual machines have no such counter). Memory is the growth
//! of the resident set (`/proc/self/statm`) from before the network was built to the end of the
//! run, packets under way included; other systems than Linux show none.

use crate::limits::resident_bytes;
use serde_json::{Value, json};
use weir_net::bench::{Bench, Counts, EventQueueBench, Topology, Transport, warm_up};

/// Entries of the event queue whose operations are timed as a baseline.
pub const QUEUE_ENTRIES: u32 = 10_000;
/// Operations of one measurement of it.
const QUEUE_OPERATIONS: u64 = 2_000_000;

/// What a case simulates.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The protocol at both ends.
    pub transport: Transport,
    /// The links between them.
    pub topology: Topology,
    /// Bulk flows.
    pub flows: u32,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (transport, topology) = (self.transport.name(), self.topology.name());
        write!(f, "{} {transport} flows over {topology}", self.flows)
    }
}

/// The result of a case.
pub struct Measured {
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

    /// For other programs.
    pub fn to_json(&self) -> Value {
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
pub fn measure(case: Case, packets: u64) -> Result<Measured, String> {
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
    /// `None` where nothing counts them.
    fn start() -> Option<Self> {
        let event = perf_event::events::Hardware::INSTRUCTIONS;
        let mut counter = perf_event::Builder::new(event).build().ok()?;
        counter.enable().ok()?;
        Some(Self(counter))
    }

    /// `None` if the counter was shared with others, so that it saw a part only.
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

/// CPU time of this process so far.
#[cfg(unix)]
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Time of the clock, where no CPU time is known.
#[cfg(not(unix))]
fn cpu_seconds() -> f64 {
    use std::sync::LazyLock;
    static START: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    START.elapsed().as_secs_f64()
}

/// Nanoseconds of CPU time of one push and one pop.
fn queue_operation_ns() -> f64 {
    let mut bench = EventQueueBench::new(QUEUE_ENTRIES);
    bench.run(QUEUE_OPERATIONS / 4);
    let start = cpu_seconds();
    // The result is used, so that the work cannot be left out.
    std::hint::black_box(bench.run(QUEUE_OPERATIONS));
    (cpu_seconds() - start) * 1e9 / QUEUE_OPERATIONS as f64
}
