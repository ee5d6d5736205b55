//! Memory in steady state, measured by a counting allocator: what a delivered packet allocates, and
//! what a flow holds. A separate binary, because all tests of a binary share the allocator.

use allocation_counter::{AllocationInfo, measure};
use weir_net::bench::{Bench, Counts, Topology, Transport, warm_up};
use weir_proto::time::Duration;

const FLOWS: u32 = 10;

/// The counters of some seconds after the warm-up, and the memory of the network at their end.
struct Steady {
    counts: Counts,
    allocations: AllocationInfo,
    bytes_per_flow: i64,
}

fn steady(transport: Transport) -> Steady {
    let mut counts = Counts::default();
    let mut bench = None;
    let building = measure(|| {
        let mut network = Bench::of(transport, Topology::Dumbbell, FLOWS).expect("a network");
        network.run(warm_up(FLOWS) * 2).expect("no standstill");
        bench = Some(network);
    });
    let network = bench.as_mut().expect("just built");
    let allocations = measure(|| {
        counts = network.run(Duration::from_secs(10)).expect("no standstill");
    });
    let held = building.bytes_current + allocations.bytes_current;
    Steady {
        counts,
        allocations,
        bytes_per_flow: held / i64::from(FLOWS),
    }
}

/// The number of data packets per allocation, at least, and the octets that a flow holds, at most:
/// limits a little above the measured values.
const fn bounds(transport: Transport) -> (u64, i64) {
    match transport {
        Transport::Quic => (500, 41_000),
        Transport::Tcp => (2_000, 35_800),
        Transport::Dccp => (3_000, 30_000),
    }
}

#[test]
fn a_packet_allocates_nothing_and_a_flow_stays_small() {
    for transport in Transport::ALL {
        let Steady {
            counts,
            allocations,
            bytes_per_flow,
        } = steady(transport);
        let name = transport.name();
        let allocated = allocations.count_total;
        println!(
            "{name}: {allocated} allocations in {} packets with {} drops, {bytes_per_flow} bytes a flow",
            counts.data_packets, counts.dropped
        );
        // Lost packets are recorded in structures that may grow; packets that arrive allocate
        // nothing.
        let (packets, most_bytes) = bounds(transport);
        let most = counts.data_packets / packets;
        assert!(allocated <= most, "{name}: {allocated} in {counts:?}");
        assert!(bytes_per_flow <= most_bytes, "{name}: {bytes_per_flow}");
    }
}
