//! The network of one run: hosts, links, and flows with an endpoint and an application at each end.
//!
//! Hosts, links and flows are numbered in the order in which they were added; the order only
//! decides ties. Adding a flow or a link does not change the random numbers of another.

mod build;
mod counters;
mod fast_path;
mod series;
mod sources;
mod tunnels;

pub use build::{FlowConfig, NetworkError};
pub use counters::FlowCounters;
pub use sources::SourceKind;
pub use tunnels::TunnelId;

use crate::agent::{Agent, AgentCounters};
use crate::app::TunnelArrival;
use crate::event_queue::{EventQueue, TargetId};
use crate::host_timing::HostTiming;
use crate::link::{Link, Progress};
use crate::packet_pool::PacketPool;
use crate::port::Ports;
use crate::routing::{Links, Routes};
use crate::wifi::{Hop, Medium};
use fast_path::{FastPath, Joint};
use series::Series;
use tunnels::TunnelSlot;
use weir_proto::packet::{FlowId, HostId, Packet};
use weir_proto::time::{Duration, Instant};

/// A link: an index into the network's table of links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A shared medium: an index into the network's table of media.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MediumId(pub u32);

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Where the data comes from.
    #[default]
    Sender,
    /// Where the data goes to.
    Receiver,
}

/// The target of an event: the part of the network that the event loop calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventTarget {
    /// A packet arrives at the end of a link.
    Link(u32),
    /// A traced link that is not plain starts a transmission, so that its queue is recorded at the
    /// exact time.
    TraceTick(u32),
    /// A merge, by its index, books the packets that have arrived.
    Merge(u32),
    /// A phase of a shared medium ends: backoff, frame, acknowledgement or interference.
    Medium(u32),
    /// A station of a medium, by its index there: never called, only a source of trace events.
    Station(u32, u32),
    /// The queue of an end of a tunnel, by its side: never called, only a source of trace events.
    TunnelEnd(u32, u32),
    /// A timer of an endpoint, an application or a host: the agent of this index.
    Agent(u32),
}

#[derive(Debug)]
struct Host {
    name: String,
    timing: HostTiming,
}

/// A link with its hosts and its entries in the event queue. `repr(C)` keeps the fields in this
/// order, so that those read for each packet share cache lines.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct LinkSlot {
    pub(crate) target: TargetId,
    pub(crate) to: HostId,
    joint: Joint,
    pub(crate) link: Link,
    pub(crate) trace_tick: Option<TargetId>,
    pub(crate) from: HostId,
    name: String,
}

/// A shared medium with its hosts and its entries in the event queue.
#[derive(Debug)]
pub(crate) struct MediumSlot {
    pub(crate) medium: Medium,
    /// True once trace events of a station were requested.
    pub(crate) traced: bool,
    pub(crate) target: TargetId,
    /// The number under which each station reports trace events.
    pub(crate) stations: Vec<TargetId>,
    hosts: Vec<HostId>,
    name: String,
}

/// An agent with its first link and its entry in the event queue. `repr(C)` keeps the fields in
/// this order, so that those read for each packet share cache lines.
#[repr(C)]
pub(crate) struct AgentSlot {
    pub(crate) target: TargetId,
    /// The first link on the way to the peer.
    pub(crate) first_link: Option<u32>,
    pub(crate) traced: bool,
    /// The tunnel whose end it is, or [`ABSENT`].
    pub(crate) tunnel: u32,
    pub(crate) recent: RecentPackets,
    pub(crate) agent: Agent,
    /// The end of the flow that it is.
    pub(crate) side: Side,
    /// Consecutive calls after which it was due again at once without having sent a packet.
    pub(crate) idle_calls: u32,
    /// What has arrived at the end of a tunnel and may bring further packets.
    pub(crate) arriving: Option<TunnelArrival>,
}

/// The packets that an agent has sent in the current millisecond.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecentPackets {
    since: Instant,
    packets: u32,
}

impl RecentPackets {
    /// Adds these packets; returns the sum.
    #[inline]
    pub(crate) fn count(&mut self, now: Instant, packets: u32) -> u32 {
        if now.since(self.since) >= Duration::from_millis(1) {
            (self.since, self.packets) = (now, 0);
        }
        self.packets = self.packets.saturating_add(packets);
        self.packets
    }
}

/// In place of an index: no agent, as for a flow that is not open, or no link.
const ABSENT: u32 = u32::MAX;

#[derive(Debug)]
struct Flow {
    /// Empty unless the flow is open.
    name: String,
    source: HostId,
    target: HostId,
    /// The indices of the sender and the receiver, [`ABSENT`] unless the flow is open.
    agents: [u32; 2],
    /// The end that changes its address.
    mover: Option<Side>,
    packets_unreachable: u64,
}

/// The network of one run.
#[derive(Default)]
pub struct Network {
    seed: u64,
    pub(crate) now: Instant,
    /// Events processed since time last advanced.
    pub(crate) at_this_instant: u32,
    /// Events at exactly `now` have been processed.
    pub(crate) including_now: bool,
    /// The position in its instant of the event that is being processed, or was last; after all
    /// events of the instant once it is over.
    pub(crate) event_order: u64,
    hosts: Vec<Host>,
    pub(crate) links: Vec<LinkSlot>,
    pub(crate) media: Vec<MediumSlot>,
    /// Hops over media, with the number of the medium. In routing their numbers follow those of the
    /// links.
    pub(crate) medium_hops: Vec<(u32, Hop)>,
    /// In routing, the numbers of their directions follow those of the hops over media.
    pub(crate) tunnels: Vec<TunnelSlot>,
    /// Both ends of each open flow.
    pub(crate) agents: Vec<AgentSlot>,
    flows: Vec<Flow>,
    /// Flows that are opened during the run, in the order of their numbers.
    series: Vec<Series>,
    /// The sum of the counters of all agents that were removed.
    retired: AgentCounters,
    pub(crate) targets: Vec<EventTarget>,
    pub(crate) queue: EventQueue,
    pub(crate) routes: Routes,
    pub(crate) pool: PacketPool,
    pub(crate) ports: Ports,
    /// Links or flows were added since the routes were computed.
    stale_routes: bool,
    fast_path: FastPath,
    /// Plain links that are traced.
    pub(crate) traced_plain: Vec<u32>,
    /// Ends of flows that are traced.
    traced_agents: usize,
    /// Endpoints are called in the order of time.
    in_order: bool,
    /// The ways that flows take after a change of an address, each with its first link.
    moves: Vec<((HostId, HostId), Option<u32>)>,
}

impl Network {
    /// An empty network whose random numbers derive from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// From now on, endpoints of different hosts are called in the order of time too, for endpoints
    /// that share something outside of the network: a capture, or a program that decides for them.
    pub fn call_in_order(&mut self) {
        self.in_order = true;
    }

    /// Computes the routes, if something was added since they were computed.
    pub(crate) fn update_routes(&mut self) {
        if !self.stale_routes {
            return;
        }
        self.stale_routes = false;
        // Networks are built before the run, and vectors have grown by doubling.
        self.links.shrink_to_fit();
        self.agents.shrink_to_fit();
        self.leave_fast_path();
        self.medium_hops.clear();
        for (medium, slot) in self.media.iter().enumerate() {
            for &from in &slot.hosts {
                let others = slot.hosts.iter().filter(|&&to| to != from);
                self.medium_hops
                    .extend(others.map(|&to| (medium as u32, Hop { from, to })));
            }
        }
        let wires = self.links.iter().map(|l| (l.from, l.to));
        let links: Vec<_> = wires
            .chain(self.medium_hops.iter().map(|(_, hop)| (hop.from, hop.to)))
            .chain(self.tunnel_edges())
            .collect();
        let links = Links {
            all: &links,
            tunnels: 2 * self.tunnels.len(),
        };
        let carries = |pair: usize| {
            let agent = self.agents.get(pair);
            agent.is_some_and(|slot| slot.tunnel != ABSENT)
        };
        let pairs = self.agents.iter().map(|a| (a.agent.host(), a.agent.peer()));
        let outside = self.ports.pairs();
        let pairs = pairs.chain(outside.iter().copied());
        let pairs: Vec<_> = pairs
            .chain(self.series.iter().flat_map(Series::ways))
            .chain(self.moves.iter().map(|(way, _)| *way))
            .collect();
        let (routes, first_links) = Routes::find(self.hosts.len(), &links, &pairs, carries);
        self.routes = routes;
        let (inside, rest) = first_links.split_at(self.agents.len());
        for (slot, first_link) in self.agents.iter_mut().zip(inside) {
            slot.first_link = *first_link;
        }
        let (rest, of_moves) = rest.split_at(rest.len() - self.moves.len());
        for ((_, first_link), found) in self.moves.iter_mut().zip(of_moves) {
            *first_link = *found;
        }
        let (of_ports, of_series) = rest.split_at(outside.len());
        for (series, first_links) in self.series.iter_mut().zip(of_series.chunks_exact(2)) {
            series.first_links = [first_links[0], first_links[1]];
        }
        self.ports.set_routes(outside, of_ports);
        self.find_fast_path();
    }

    /// The agent that receives packets of this flow from this host.
    #[inline]
    pub(crate) fn receiving_agent(&self, flow: FlowId, source: HostId) -> Option<u32> {
        let flow = self.flows.get(flow.0 as usize)?;
        let from_sender = match flow.mover {
            Some(Side::Sender) => flow.target != source,
            _ => flow.source == source,
        };
        Some(flow.agents[usize::from(from_sender)]).filter(|&index| index != ABSENT)
    }

    /// An end of a flow has another address, or sends to another one.
    #[cold]
    pub(crate) fn find_first_link(&mut self, agent: u32) {
        let slot = &mut self.agents[agent as usize];
        let way = (slot.agent.host(), slot.agent.peer());
        if let Some((_, first_link)) = self.moves.iter().find(|(known, _)| *known == way) {
            slot.first_link = *first_link;
        }
    }

    #[cold]
    pub(crate) fn count_unreachable(&mut self, flow: FlowId) {
        if let Some(flow) = self.flows.get_mut(flow.0 as usize) {
            flow.packets_unreachable += 1;
        }
    }

    /// Makes the copies of packets that a link duplicates.
    #[inline]
    pub(crate) fn make_copies(&mut self, link: u32) {
        if self.links[link as usize].link.has_copies() {
            self.make_copies_of(link);
        }
    }

    #[cold]
    fn make_copies_of(&mut self, link: u32) {
        let link = &mut self.links[link as usize].link;
        while let Some((arrives, stub)) = link.poll_copy() {
            if let Some(copy) = self.pool.duplicate(stub) {
                link.put_copy_in_flight(arrives, copy);
            }
        }
    }

    /// Removes the packets that a link has dropped from the pool.
    #[cold]
    pub(crate) fn discard_dropped(&mut self, link: u32) {
        while let Some(packet) = self.links[link as usize].link.poll_discarded() {
            self.pool.discard(packet);
        }
    }

    /// The next packet that leaves the network, and the host through whose port it leaves.
    pub fn poll_port(&mut self) -> Option<(HostId, Packet)> {
        self.ports.poll()
    }

    /// When the next event is due; `None` while nothing is.
    pub fn next_event(&mut self) -> Option<Instant> {
        self.queue.peek().map(|(at, _)| at)
    }

    /// The progress of the run.
    pub(crate) const fn progress(&self) -> Progress {
        Progress {
            now: self.now,
            including: self.including_now,
        }
    }

    /// The current time of the run.
    pub fn now(&self) -> Instant {
        self.now
    }
}
