//! The world of one run: hosts, links, and flows with an endpoint and an application at each end.
//!
//! Everything is numbered in the order in which it was added, and that order decides nothing but
//! ties. Adding a flow or a link does not change the random numbers of another.

use crate::agent::{Address, Agent, AgentCounters, Parts, Schedule};
use crate::app::{App, AppStatistics, AudioStatistics};
use crate::event_queue::{EventQueue, MAX_NODES, NodeId};
use crate::link::{Link, LinkConfig, LinkCounters};
use crate::loss::{Loss, LossConfig};
use crate::parcel::Store;
use crate::port::Ports;
use crate::queue::{Limit, QueueConfig};
use crate::routing::Routes;
use crate::stack::Stack;
use crate::wifi::{Medium, MediumConfig, StationCounters};
use std::fmt;
use weir_proto::endpoint::{Endpoint, Statistics};
use weir_proto::event::{EventMask, EventSource};
use weir_proto::packet::{FlowId, HostId};
use weir_proto::time::{Duration, Instant};

/// A link: an index into the topology's table of links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A shared medium: an index into the topology's table of media.
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

/// A flow: two endpoints and the applications that use them.
pub struct FlowConfig {
    /// Its name, also of its random stream: `flow/NAME/loss`.
    pub name: String,
    /// The sender's host.
    pub source: HostId,
    /// The receiver's host.
    pub target: HostId,
    /// The endpoint that carries the data away.
    pub sender: Box<dyn Endpoint + Send>,
    /// The endpoint that receives it.
    pub receiver: Box<dyn Endpoint + Send>,
    /// What writes into the sender.
    pub app: Box<dyn App + Send>,
    /// What reads from the receiver.
    pub sink: Box<dyn App + Send>,
    /// What the sender's packets suffer at its socket, before the wire.
    pub loss: LossConfig,
    /// Which side opens the connection; the other one must have been made listening.
    pub connects: Side,
    /// When the applications start and the connection is opened.
    pub start: Instant,
    /// When the sender is closed; what was written before is still sent.
    pub stop: Option<Instant>,
}

/// What a flow has given to the network and got from it, and what became of the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounters {
    /// At the sender.
    pub sender: AgentCounters,
    /// At the receiver.
    pub receiver: AgentCounters,
    /// Packets of both directions dropped by links.
    pub packets_dropped: u64,
    /// Packets of both directions that found no route or had no hops left.
    pub packets_unreachable: u64,
}

/// What a [`EventSource`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceKind {
    /// One end of a flow.
    Flow(FlowId, Side),
    /// A link.
    Link(LinkId),
    /// A shared medium.
    Medium(MediumId),
    /// A station of a shared medium, by the host that it belongs to.
    Station(MediumId, HostId),
}

/// Why a link or flow cannot be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyError(String);

impl TopologyError {
    pub(crate) fn new(message: &str) -> Self {
        Self(message.to_owned())
    }
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TopologyError {}

const FULL: &str = "there are too many links and flows, expected at most 8 million";

/// What the event queue calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A packet arrives at the end of a link.
    Link(u32),
    /// A link starts a transmission that somebody wants to see.
    Watch(u32),
    /// Something happens on a shared medium.
    Medium(u32),
    /// A station of a medium, by its place there: never called, it only reports.
    Station(u32, u32),
    /// A timer of an endpoint, an application or a stack.
    Agent(u32),
}

#[derive(Debug)]
struct Host {
    name: String,
    stack: Stack,
}

/// A link and what the loop needs beside it.
#[derive(Debug)]
pub(crate) struct LinkPlace {
    pub(crate) link: Link,
    pub(crate) node: NodeId,
    pub(crate) watch: Option<NodeId>,
    pub(crate) from: HostId,
    pub(crate) to: HostId,
    name: String,
}

/// A shared medium and what the loop needs beside it.
#[derive(Debug)]
pub(crate) struct MediumPlace {
    pub(crate) medium: Medium,
    pub(crate) node: NodeId,
    /// Under which each station reports.
    pub(crate) stations: Vec<NodeId>,
    hosts: Vec<HostId>,
    name: String,
}

/// An agent and what the loop needs beside it.
pub(crate) struct AgentPlace {
    pub(crate) agent: Agent,
    pub(crate) node: NodeId,
    /// The first link on the way to the peer.
    pub(crate) first_link: Option<u32>,
    pub(crate) watched: bool,
    /// Calls at one instant, in a row, after which it had sent nothing.
    pub(crate) idle_calls: u32,
}

#[derive(Debug)]
struct Flow {
    name: String,
    source: HostId,
    packets_unreachable: u64,
}

/// The world of one run.
#[derive(Default)]
pub struct Topology {
    seed: u64,
    pub(crate) now: Instant,
    hosts: Vec<Host>,
    pub(crate) links: Vec<LinkPlace>,
    pub(crate) media: Vec<MediumPlace>,
    /// Ways over media, numbered behind the links: medium, station and next station.
    pub(crate) crossings: Vec<(u32, HostId, HostId)>,
    /// Sender and receiver of flow n at 2n and 2n + 1.
    pub(crate) agents: Vec<AgentPlace>,
    flows: Vec<Flow>,
    pub(crate) nodes: Vec<Kind>,
    pub(crate) queue: EventQueue,
    pub(crate) routes: Routes,
    pub(crate) store: Store,
    pub(crate) ports: Ports,
    /// Links or flows were added since the routes were found.
    stale_routes: bool,
}

impl Topology {
    /// An empty world whose random numbers derive from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            ..Self::default()
        }
    }

    /// Adds a host.
    pub fn add_host(&mut self, name: &str, stack: Stack) -> HostId {
        self.hosts.push(Host {
            name: name.to_owned(),
            stack,
        });
        HostId(self.hosts.len() as u32 - 1)
    }

    /// Adds one direction of a wire.
    ///
    /// # Errors
    /// If a host does not exist, or the link could never carry a packet.
    pub fn add_link(&mut self, config: LinkConfig) -> Result<LinkId, TopologyError> {
        let LinkConfig { name, from, to, .. } = &config;
        let wrong = if self.is_full() {
            Some(FULL)
        } else if !self.knows(*from) || !self.knows(*to) {
            Some("one of its hosts does not exist")
        } else if from == to {
            Some("it leads back to its own host")
        } else if config.rate == Some(0) {
            Some("its rate is zero, expected at least 1 bit/s")
        } else if config.mtu == Some(0) {
            Some("its MTU is zero, expected at least 1 octet")
        } else if matches!(
            config.queue,
            QueueConfig::DropTail {
                limit: Limit::Packets(0) | Limit::Bytes(0)
            }
        ) {
            Some("its queue holds nothing, expected a limit of at least one packet")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            return Err(TopologyError(format!("link \"{name}\": {wrong}")));
        }
        let id = self.links.len() as u32;
        let node = self.add_node(Kind::Link(id));
        self.links.push(LinkPlace {
            link: Link::new(&config, self.seed),
            node,
            watch: None,
            from: config.from,
            to: config.to,
            name: config.name,
        });
        self.stale_routes = true;
        Ok(LinkId(id))
    }

    /// Adds a shared medium between the hosts of its stations.
    ///
    /// # Errors
    /// If a host does not exist or has two stations here, or there are fewer than two.
    pub fn add_medium(&mut self, config: MediumConfig) -> Result<MediumId, TopologyError> {
        let name = config.name.clone();
        let hosts: Vec<_> = config.stations.iter().map(|station| station.host).collect();
        let twice = |(n, host): (usize, &HostId)| hosts[..n].contains(host);
        let wrong = if !hosts.iter().all(|&host| self.knows(host)) {
            Some("one of its hosts does not exist")
        } else if hosts.iter().enumerate().any(twice) {
            Some("a host has two stations")
        } else if hosts.len() < 2 {
            Some("it has fewer than two stations")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            return Err(TopologyError(format!("medium \"{name}\": {wrong}")));
        }
        let id = self.media.len() as u32;
        let node = self.add_node(Kind::Medium(id));
        let medium = Medium::new(config, self.seed);
        let stations = (0..hosts.len() as u32).map(|station| Kind::Station(id, station));
        let stations = stations.map(|kind| self.add_node(kind)).collect();
        self.media.push(MediumPlace {
            medium,
            node,
            stations,
            hosts,
            name,
        });
        self.stale_routes = true;
        Ok(MediumId(id))
    }

    /// Adds a flow.
    ///
    /// # Errors
    /// If a host does not exist, both ends are at the same host, or the start has passed.
    pub fn add_flow(&mut self, config: FlowConfig) -> Result<FlowId, TopologyError> {
        let wrong = if self.is_full() {
            Some(FULL)
        } else if !self.knows(config.source) || !self.knows(config.target) {
            Some("one of its hosts does not exist")
        } else if config.source == config.target {
            Some("both ends are at the same host, expected two hosts with links between them")
        } else if config.start < self.now {
            Some("its start has passed")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            let name = &config.name;
            return Err(TopologyError(format!("flow \"{name}\": {wrong}")));
        }
        let flow = FlowId(self.flows.len() as u32);
        let loss = Loss::new(
            &config.loss,
            self.seed,
            &format!("flow/{}/loss", config.name),
        );
        let schedule = |side| Schedule {
            start: Some(config.start),
            stop: config.stop.filter(|_| side == Side::Sender),
            connects: config.connects == side,
        };
        let (sender, receiver) = (schedule(Side::Sender), schedule(Side::Receiver));
        let address = |host, peer| Address { flow, host, peer };
        self.add_agent(Agent::new(
            Parts {
                endpoint: config.sender,
                app: config.app,
            },
            address(config.source, config.target),
            sender,
            self.stack(config.source),
            loss,
        ));
        self.add_agent(Agent::new(
            Parts {
                endpoint: config.receiver,
                app: config.sink,
            },
            address(config.target, config.source),
            receiver,
            self.stack(config.target),
            Loss::new(&LossConfig::None, self.seed, ""),
        ));
        self.flows.push(Flow {
            name: config.name,
            source: config.source,
            packets_unreachable: 0,
        });
        self.stale_routes = true;
        Ok(flow)
    }

    fn add_agent(&mut self, agent: Agent) {
        let node = self.add_node(Kind::Agent(self.agents.len() as u32));
        self.queue.set(node, agent.poll_timeout());
        self.agents.push(AgentPlace {
            agent,
            node,
            first_link: None,
            watched: false,
            idle_calls: 0,
        });
    }

    fn add_node(&mut self, kind: Kind) -> NodeId {
        self.nodes.push(kind);
        self.queue.add_node()
    }

    /// True if there is no room for a flow, or for a link and its watch.
    fn is_full(&self) -> bool {
        // Each link may need one more node once it is watched.
        self.nodes.len() + self.links.len() + 2 > MAX_NODES
    }

    pub(crate) fn knows(&self, host: HostId) -> bool {
        (host.0 as usize) < self.hosts.len()
    }

    fn stack(&self, host: HostId) -> Stack {
        self.hosts[host.0 as usize].stack
    }

    /// Something was added that may change the routes.
    pub(crate) fn forget_routes(&mut self) {
        self.stale_routes = true;
    }

    /// Finds the routes, if something was added since they were found.
    pub(crate) fn find_routes(&mut self) {
        if !self.stale_routes {
            return;
        }
        self.stale_routes = false;
        self.crossings.clear();
        for (medium, place) in self.media.iter().enumerate() {
            for &from in &place.hosts {
                let others = place.hosts.iter().filter(|&&to| to != from);
                self.crossings
                    .extend(others.map(|&to| (medium as u32, from, to)));
            }
        }
        let wires = self.links.iter().map(|l| (l.from, l.to));
        let links: Vec<_> = wires
            .chain(self.crossings.iter().map(|&(_, from, to)| (from, to)))
            .collect();
        let pairs = self.agents.iter().map(|a| (a.agent.host(), a.agent.peer()));
        let outside = self.ports.pairs();
        let pairs: Vec<_> = pairs.chain(outside.iter().copied()).collect();
        let (routes, first_links) = Routes::find(self.hosts.len(), &links, &pairs);
        self.routes = routes;
        let (inside, of_ports) = first_links.split_at(self.agents.len());
        for (place, first_link) in self.agents.iter_mut().zip(inside) {
            place.first_link = *first_link;
        }
        self.ports.set_routes(outside, of_ports);
    }

    /// The agent that a packet of this flow from this host is for.
    #[inline]
    pub(crate) fn receiving_agent(&self, flow: FlowId, source: HostId) -> Option<u32> {
        let from_sender = self.flows.get(flow.0 as usize)?.source == source;
        Some(flow.0 * 2 + u32::from(from_sender))
    }

    #[cold]
    pub(crate) fn count_unreachable(&mut self, flow: FlowId) {
        if let Some(flow) = self.flows.get_mut(flow.0 as usize) {
            flow.packets_unreachable += 1;
        }
    }

    /// The time up to which the run has come.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Packets in links and their queues.
    pub fn packets_in_network(&self) -> usize {
        self.store.len()
    }

    /// Says which events all nodes report; none before the first call.
    pub fn set_mask(&mut self, mask: EventMask) {
        for source in 0..self.nodes.len() as u32 {
            self.set_mask_of(EventSource(source), mask);
        }
    }

    /// Says which events one node reports.
    pub fn set_mask_of(&mut self, source: EventSource, mask: EventMask) {
        match self.nodes.get(source.0 as usize).copied() {
            Some(Kind::Link(id)) => {
                let place = &mut self.links[id as usize];
                place.link.events().set_mask(mask);
                if place.watch.is_none() {
                    let watch = self.add_node(Kind::Watch(id));
                    self.links[id as usize].watch = Some(watch);
                }
                let place = &self.links[id as usize];
                if let Some(watch) = place.watch {
                    self.queue.set(watch, place.link.poll_watch());
                }
            }
            Some(Kind::Station(id, station)) => {
                let medium = &mut self.media[id as usize].medium;
                medium.events(station as usize).set_mask(mask);
            }
            Some(Kind::Agent(id)) => {
                let place = &mut self.agents[id as usize];
                place.agent.set_mask(mask);
                place.watched = mask != EventMask::NONE;
            }
            Some(Kind::Watch(_) | Kind::Medium(_)) | None => {}
        }
    }

    /// The number under which one end of a flow reports.
    pub fn source_of_flow(&self, flow: FlowId, side: Side) -> EventSource {
        EventSource(
            self.agents[flow.0 as usize * 2 + usize::from(side == Side::Receiver)]
                .node
                .0,
        )
    }

    /// The number under which a link reports.
    pub fn source_of_link(&self, link: LinkId) -> EventSource {
        EventSource(self.links[link.0 as usize].node.0)
    }

    /// The number under which the station of this host reports; `None` if it has none there.
    pub fn source_of_station(&self, medium: MediumId, host: HostId) -> Option<EventSource> {
        let place = &self.media[medium.0 as usize];
        let station = place.hosts.iter().position(|&other| other == host)?;
        Some(EventSource(place.stations[station].0))
    }

    /// What reports under this number.
    pub fn kind_of_source(&self, source: EventSource) -> Option<SourceKind> {
        match *self.nodes.get(source.0 as usize)? {
            Kind::Link(id) | Kind::Watch(id) => Some(SourceKind::Link(LinkId(id))),
            Kind::Medium(id) => Some(SourceKind::Medium(MediumId(id))),
            Kind::Station(id, station) => {
                let host = self.media[id as usize].hosts[station as usize];
                Some(SourceKind::Station(MediumId(id), host))
            }
            Kind::Agent(id) => {
                let side = [Side::Sender, Side::Receiver][id as usize % 2];
                Some(SourceKind::Flow(FlowId(id / 2), side))
            }
        }
    }

    /// All links, in the order in which they were added.
    pub fn link_ids(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..self.links.len() as u32).map(LinkId)
    }

    /// All flows, in the order in which they were added.
    pub fn flow_ids(&self) -> impl Iterator<Item = FlowId> + use<> {
        (0..self.flows.len() as u32).map(FlowId)
    }

    /// The name of a host.
    pub fn host_name(&self, host: HostId) -> &str {
        &self.hosts[host.0 as usize].name
    }

    /// The name of a link.
    pub fn link_name(&self, link: LinkId) -> &str {
        &self.links[link.0 as usize].name
    }

    /// The name of a medium.
    pub fn medium_name(&self, medium: MediumId) -> &str {
        &self.media[medium.0 as usize].name
    }

    /// The counters of the station of this host on a medium, now; `None` if it has none there.
    pub fn station_counters(&mut self, medium: MediumId, host: HostId) -> Option<StationCounters> {
        let place = &mut self.media[medium.0 as usize];
        let station = place.hosts.iter().position(|&other| other == host)?;
        Some(place.medium.counters(self.now, station))
    }

    /// Packets waiting or on the air in a medium.
    pub fn packets_in_medium(&self, medium: MediumId) -> u64 {
        self.media[medium.0 as usize].medium.packets_queued()
    }

    /// The name of a flow.
    pub fn flow_name(&self, flow: FlowId) -> &str {
        &self.flows[flow.0 as usize].name
    }

    /// The hosts that a flow goes from and to.
    pub fn ends_of_flow(&self, flow: FlowId) -> (HostId, HostId) {
        let sender = self.agent(flow, Side::Sender);
        (sender.host(), sender.peer())
    }

    /// The counters of a link, now.
    pub fn link_counters(&mut self, link: LinkId) -> LinkCounters {
        // What is due starts first, so that copies which come of it are counted.
        self.links[link.0 as usize].link.watch(self.now);
        self.make_copies(link.0);
        let counters = self.links[link.0 as usize].link.counters(self.now);
        self.take_back(link.0);
        counters
    }

    /// Makes the copies of packets that a link has asked for.
    #[inline]
    pub(crate) fn make_copies(&mut self, link: u32) {
        let link = &mut self.links[link as usize].link;
        while let Some((arrives, stub)) = link.copies.pop() {
            if let Some(copy) = self.store.duplicate(stub) {
                link.fly(arrives, copy);
            }
        }
    }

    /// Forgets the packets that a link has dropped.
    #[inline]
    pub(crate) fn take_back(&mut self, link: u32) {
        while let Some(parcel) = self.links[link as usize].link.discarded.pop() {
            self.store.discard(parcel);
        }
    }

    /// What the network did for a flow, now.
    pub fn flow_counters(&self, flow: FlowId) -> FlowCounters {
        let dropped = |place: &LinkPlace| place.link.packets_dropped_of(flow);
        FlowCounters {
            sender: self.agent(flow, Side::Sender).counters(),
            receiver: self.agent(flow, Side::Receiver).counters(),
            packets_dropped: self.links.iter().map(dropped).sum::<u64>()
                + self
                    .media
                    .iter()
                    .map(|place| place.medium.packets_dropped_of(flow))
                    .sum::<u64>(),
            packets_unreachable: self.flows[flow.0 as usize].packets_unreachable,
        }
    }

    /// The endpoint's own counters.
    pub fn statistics(&self, flow: FlowId, side: Side) -> Statistics {
        self.agent(flow, side).statistics()
    }

    /// The application's counters.
    pub fn app_statistics(&self, flow: FlowId, side: Side) -> AppStatistics {
        self.agent(flow, side).app_statistics()
    }

    /// What the listener at the receiving end of a flow noticed so far, if it plays audio.
    pub fn audio(&self, flow: FlowId) -> Option<AudioStatistics> {
        self.agent(flow, Side::Receiver).audio(self.now)
    }

    /// The gaps that this listener heard so far: when each began, and how long it lasted.
    pub fn gaps(&self, flow: FlowId) -> Vec<(Instant, Duration)> {
        self.agent(flow, Side::Receiver).gaps(self.now)
    }

    /// True once the application at this end will neither write nor read any more.
    pub fn app_done(&self, flow: FlowId, side: Side) -> bool {
        self.agent(flow, side).app_done()
    }

    fn agent(&self, flow: FlowId, side: Side) -> &Agent {
        &self.agents[flow.0 as usize * 2 + usize::from(side == Side::Receiver)].agent
    }
}
