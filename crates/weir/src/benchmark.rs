//! The speed of the simulator: how many packets a second, and what one costs.
//!
//! A case is bulk flows over one bottleneck (see `weir_net::bench`), warmed up, then timed. The
//! cost of a delivered data packet holds everything: its acknowledgements, the links and queues
//! of both directions, both endpoints and applications. Beside it stands the cost of one push and
//! pop of the event queue with 10,000 entries, measured in the same process just before and just
//! after. Memory is the growth of the resident set (`/proc/self/statm`) from before the network
//! was built to the end of the run, packets under way included; other systems than Linux show
//! none.

use crate::limits::resident_bytes;
use clap::ValueEnum;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant as WallClock;
use weir_net::bench::{Bench, Counts, EventQueueBench, FlowEndpoints, WARM_UP};
use weir_proto::cc::tfrc::Profile;
use weir_proto::{dccp, quic};

/// Entries of the event queue whose operations are timed as a baseline.
pub const QUEUE_ENTRIES: u32 = 10_000;
/// Operations of one measurement of it.
const QUEUE_OPERATIONS: u64 = 2_000_000;

/// What carries the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
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

/// The result of a case.
pub struct Measured {
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

    /// For other programs.
    pub fn to_json(&self) -> Value {
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

/// Measures one case in this process.
pub fn measure(transport: Transport, flows: u32, packets: u64) -> Result<Measured, String> {
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
