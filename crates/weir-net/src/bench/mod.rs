//! The networks whose speed the command's `benches/simulator.rs` measures: bulk flows over one
//! bottleneck. This module counts packets; it measures no time.
//!
//! The bottleneck carries 10 Mbit/s for each flow, so that the share of a flow does not depend on
//! their number; the base round-trip time is 20 ms; the bottleneck's queue is drop-tail of one
//! bandwidth-delay product, rate * 20 ms. The return path has the same rate and delay. Flows start
//! 1/n of a second apart, so that they are not synchronised, and are counted after their
//! [`warm_up`]. [`Topology`] gives the other links of the path.

mod transport;

pub use transport::Transport;

use crate::app::{Bulk, BulkConfig, Sink};
use crate::event_queue::EventQueue;
use crate::{
    DropTailConfig, FlowConfig, HostTiming, LinkConfig, LinkId, LossConfig, Network, NetworkError,
    QueueConfig, QueueLimit, Side, Stuck, simulate,
};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Dscp, HostId};
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// Bits per second of the bottleneck for each flow.
pub const RATE_PER_FLOW: u64 = 10_000_000;

/// The round-trip time of the empty path.
pub const ROUND_TRIP: Duration = Duration::from_millis(20);

/// Virtual time before the counting starts: handshakes, slow start and its losses. With more than a
/// thousand flows a second after the start of the last one is enough, because five seconds would be
/// tens of millions of packets.
pub const fn warm_up(flows: u32) -> Duration {
    Duration::from_secs(if flows > 1000 { 2 } else { 5 })
}

/// Bits per second of an access link.
const ACCESS_RATE: u64 = 10 * RATE_PER_FLOW;

/// The delay of an access link, one of four on a round trip.
const ACCESS_DELAY: Duration = Duration::from_millis(1);

/// Packets that an access link's queue holds: the default txqueuelen of Linux.
const ACCESS_QUEUE: u64 = 1000;

/// The links between the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// An access link for each flow at both ends and the bottleneck between two routers: three
    /// links each way.
    Dumbbell,
    /// The bottleneck alone, between two hosts that all flows share: one link each way.
    OneLink,
}

impl Topology {
    /// Both topologies.
    pub const ALL: [Self; 2] = [Self::Dumbbell, Self::OneLink];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dumbbell => "dumbbell",
            Self::OneLink => "one-link",
        }
    }
}

/// The two ends of a flow.
pub struct FlowEndpoints {
    /// Sends the data, and opens the connection.
    pub sender: Box<dyn Endpoint + Send>,
    /// Receives the data.
    pub receiver: Box<dyn Endpoint + Send>,
}

/// Counters of an interval of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Data packets that reached their receiver.
    pub data_packets: u64,
    /// Packets of all kinds that reached an endpoint.
    pub packets: u64,
    /// Packets that the bottleneck dropped.
    pub dropped: u64,
    /// Events of the simulator.
    pub events: u64,
    /// Virtual time.
    pub simulated: Duration,
    /// The share of this time in which the bottleneck transmitted.
    pub utilisation: f64,
}

/// A network with flows over one bottleneck.
pub struct Bench {
    network: Network,
    bottleneck: LinkId,
    rate: u64,
}

impl Bench {
    /// Bulk flows of this transport.
    ///
    /// # Errors
    /// If there are too many flows.
    pub fn of(transport: Transport, topology: Topology, flows: u32) -> Result<Self, NetworkError> {
        let make = |_| transport.ends(topology);
        Self::new(topology, flows, transport.write_size(), make)
    }

    /// A network with `flows` flows whose endpoints come from `make`; `write_size` is the size of
    /// the application's writes.
    ///
    /// # Errors
    /// If there are too many flows.
    pub fn new(
        topology: Topology,
        flows: u32,
        write_size: u32,
        mut make: impl FnMut(u32) -> FlowEndpoints,
    ) -> Result<Self, NetworkError> {
        let mut network = Network::new(1);
        let rate = RATE_PER_FLOW * u64::from(flows.max(1));
        let [server, client] = ["server", "client"].map(|name| host(&mut network, name));
        let delay = match topology {
            Topology::OneLink => ROUND_TRIP / 2,
            Topology::Dumbbell => ROUND_TRIP / 2 - ACCESS_DELAY * 2,
        };
        let queue = QueueLimit::Bytes(rate / 8 * ROUND_TRIP.as_nanos() / 1_000_000_000);
        let wire = |name, from, to| LinkConfig {
            rate: Some(rate),
            delay,
            ..link(name, from, to, queue)
        };
        let bottleneck = network.add_link(wire("bottleneck", server, client))?;
        network.add_link(wire("back", client, server))?;
        let apart = 1_000_000_000 / u64::from(flows.max(1));
        for n in 0..flows {
            let (source, target) = match topology {
                Topology::OneLink => (server, client),
                Topology::Dumbbell => (
                    access(&mut network, &format!("sender{n}"), server)?,
                    access(&mut network, &format!("receiver{n}"), client)?,
                ),
            };
            let FlowEndpoints { sender, receiver } = make(n);
            network.add_flow(FlowConfig {
                name: n.to_string(),
                source,
                target,
                sender,
                receiver,
                app: Box::new(Bulk::new(BulkConfig {
                    packet: write_size,
                    total: None,
                })),
                sink: Box::new(Sink::new()),
                loss: LossConfig::None,
                connects: Side::Sender,
                start: Instant::from_nanos(apart * u64::from(n)),
                access_delay: Duration::ZERO,
                dscp: Dscp::default(),
                stop: None,
            })?;
        }
        Ok(Self {
            network,
            bottleneck,
            rate,
        })
    }

    /// The time in which the bottleneck transmits `packets` packets of this size.
    pub fn time_for(&self, packets: u64, size: u32) -> Duration {
        let bits = u128::from(packets) * u128::from(size) * 8 * 1_000_000_000;
        Duration::from_nanos((bits / u128::from(self.rate)) as u64)
    }

    /// Advances the run by `time` and counts.
    ///
    /// # Errors
    /// [`Stuck`] if an endpoint makes no progress.
    pub fn run(&mut self, time: Duration) -> Result<Counts, Stuck> {
        let before = self.totals();
        let link = self.network.link_counters(self.bottleneck);
        let until = self.network.now() + time;
        let events = simulate(&mut self.network, until, &mut ())?.events;
        let after = self.totals();
        let now = self.network.link_counters(self.bottleneck);
        Ok(Counts {
            data_packets: after.0 - before.0,
            packets: after.1 - before.1,
            dropped: now.packets_dropped() - link.packets_dropped(),
            events,
            simulated: time,
            utilisation: now.utilisation_since(&link),
        })
    }

    /// Data packets and all packets that reached an endpoint so far.
    fn totals(&self) -> (u64, u64) {
        let mut totals = (0, 0);
        for flow in self.network.flow_ids() {
            let receiver = self.network.statistics(flow, Side::Receiver);
            let counters = self.network.flow_counters(flow);
            totals.0 += receiver.data_packets_received;
            totals.1 += counters.sender.packets_delivered + counters.receiver.packets_delivered;
        }
        totals
    }
}

fn host(network: &mut Network, name: &str) -> HostId {
    network.add_host(name, HostTiming::default())
}

/// A host of this name with an access link each way to a router.
fn access(network: &mut Network, name: &str, router: HostId) -> Result<HostId, NetworkError> {
    let at = host(network, name);
    for (direction, from, to) in [("up", at, router), ("down", router, at)] {
        network.add_link(LinkConfig {
            rate: Some(ACCESS_RATE),
            delay: ACCESS_DELAY,
            ..link(
                &format!("{name}/{direction}"),
                from,
                to,
                QueueLimit::Packets(ACCESS_QUEUE),
            )
        })?;
    }
    Ok(at)
}

fn link(name: &str, from: HostId, to: HostId, limit: QueueLimit) -> LinkConfig {
    LinkConfig {
        name: name.to_owned(),
        from,
        to,
        mtu: Some(1500),
        queue: QueueConfig::DropTail(DropTailConfig { limit }),
        shaper: None,
        loss: LossConfig::None,
        ..LinkConfig::default()
    }
}

/// An event queue with `entries` entries, to measure the cost of a push and a pop.
pub struct EventQueueBench {
    queue: EventQueue,
    rng: Rng,
}

impl EventQueueBench {
    /// Entries at random times within a millisecond.
    pub fn new(entries: u32) -> Self {
        let mut queue = EventQueue::default();
        let mut rng = Rng::stream(1, "bench/queue");
        for _ in 0..entries {
            let target = queue.add_target();
            let at = Instant::from_nanos(rng.below(1_000_000));
            queue.set(target, at, Instant::ZERO);
        }
        Self { queue, rng }
    }

    /// Takes the first entry out and puts it back up to a millisecond later, `operations` times;
    /// returns the time reached.
    pub fn run(&mut self, operations: u64) -> Instant {
        let mut reached = Instant::ZERO;
        for _ in 0..operations {
            if let Some((at, target)) = self.queue.peek() {
                reached = at;
                let later = Duration::from_nanos(self.rng.below(1_000_000));
                self.queue.reset(target, at + later, at);
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_queue::TargetId;
    use weir_proto::event::EventMask;

    /// The lookahead of a network, and the largest turn of its hosts.
    fn windows_of(topology: Topology, flows: u32) -> (Option<Duration>, usize) {
        let mut bench = Bench::of(Transport::Tcp, topology, flows).expect("few flows");
        bench.run(Duration::ZERO).expect("nothing happens");
        let network = &bench.network;
        let turns = (0..network.targets.len() as u32)
            .map(|target| network.windows().turn_of(TargetId(target)).len());
        (network.lookahead_of_windows(), turns.max().unwrap_or(0))
    }

    #[test]
    fn hosts_with_few_flows_take_turns_of_the_bottlenecks_delay() {
        let eight = Some(Duration::from_millis(8));
        let ten = Some(Duration::from_millis(10));
        // An end of a flow and the link to it; the routers have more.
        assert_eq!(windows_of(Topology::Dumbbell, 10), (eight, 2));
        // One chain, from end to end.
        assert_eq!(windows_of(Topology::Dumbbell, 1), (ten, 2));
        // Seven ends and a link; then more.
        assert_eq!(windows_of(Topology::OneLink, 7), (ten, 8));
        assert_eq!(windows_of(Topology::OneLink, 8).0, ten);
        assert_eq!(windows_of(Topology::OneLink, 8).1, 0);
    }

    #[test]
    fn a_window_ends_when_a_merge_books() {
        let mut bench = Bench::of(Transport::Tcp, Topology::Dumbbell, 10).expect("few flows");
        bench.run(Duration::from_secs(1)).expect("flows that send");
        let now = bench.network.now();
        // The merge has been sent packets before now, which it books 8 ms after the first.
        let end = bench.network.window_from(now);
        assert!(now < end && end < now + Duration::from_millis(8), "{end:?}");
    }

    #[test]
    fn what_is_traced_ends_windows() {
        let mut bench = Bench::of(Transport::Tcp, Topology::Dumbbell, 2).expect("two flows");
        bench.run(Duration::ZERO).expect("nothing happens");
        assert!(bench.network.has_windows());
        let flow = bench.network.flow_ids().next().expect("two flows");
        let source = bench.network.source_of_flow(flow, Side::Sender);
        let source = source.expect("an open flow");
        for (mask, has_windows) in [(EventMask::STATE, false), (EventMask::NONE, true)] {
            bench.network.set_mask_of(source, mask);
            assert_eq!(bench.network.has_windows(), has_windows);
        }
        let link = bench.network.source_of_link(bench.bottleneck);
        bench.network.set_mask_of(link, EventMask::STATE);
        bench.run(Duration::ZERO).expect("nothing happens");
        assert!(!bench.network.has_windows());
        bench.network.set_mask_of(link, EventMask::NONE);
        bench.run(Duration::ZERO).expect("nothing happens");
        assert!(bench.network.has_windows());
        bench.network.call_in_order();
        assert!(!bench.network.has_windows());
    }

    #[test]
    fn the_queue_bench_moves_on() {
        // 100 entries, each put back half a millisecond later on average.
        let mut bench = EventQueueBench::new(100);
        let reached = bench.run(100_000).as_secs_f64();
        assert!((0.45..0.55).contains(&reached), "{reached}");
    }
}
