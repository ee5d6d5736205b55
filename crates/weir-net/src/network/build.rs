//! Building a network: hosts, links, media, flows and ports, each checked when it is added.

use super::{
    ABSENT, AgentSlot, EventTarget, Flow, Host, Joint, LinkId, LinkSlot, MediumId, MediumSlot,
    Network, RecentPackets, Side,
};
use crate::agent::{Address, Agent, HostSide, Parts, Schedule};
use crate::app::App;
use crate::event_queue::{MAX_TARGETS, TargetId};
use crate::handover::Handover;
use crate::host_timing::HostTiming;
use crate::interface::{Interface, InterfaceConfig};
use crate::link::{Link, LinkConfig};
use crate::loss::{Loss, LossConfig};
use crate::queue::QueueLimit;
use crate::wifi::{Medium, MediumConfig};
use std::fmt;
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Dscp, FlowId, HostId};
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// A flow: two endpoints and the applications that use them.
pub struct FlowConfig {
    /// Its name, also of its random stream: `flow/NAME/loss`.
    pub name: String,
    /// The sender's host.
    pub source: HostId,
    /// The receiver's host.
    pub target: HostId,
    /// The endpoint that sends the data.
    pub sender: Box<dyn Endpoint + Send>,
    /// The endpoint that receives the data.
    pub receiver: Box<dyn Endpoint + Send>,
    /// The application that writes into the sender.
    pub app: Box<dyn App + Send>,
    /// The application that reads from the receiver.
    pub sink: Box<dyn App + Send>,
    /// The loss model at the sender's socket, before the wire.
    pub loss: LossConfig,
    /// The side that opens the connection; the other endpoint must be listening.
    pub connects: Side,
    /// When the applications start and the connection is opened.
    pub start: Instant,
    /// The delay, each way, of an access link at the sender's host that only this flow uses.
    pub access_delay: Duration,
    /// The codepoint of the packets of both sides.
    pub dscp: Dscp,
    /// When the sender is closed; data written before is still sent.
    pub stop: Option<Instant>,
}

/// Why a link or flow cannot be added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkError(String);

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NetworkError {}

impl NetworkError {
    /// The error that a flow of this name cannot be added.
    pub(super) fn of_flow(name: &str, wrong: &str) -> Self {
        Self(format!("flow \"{name}\": {wrong}"))
    }
}

pub(super) const FULL: &str = "there are too many links and flows, expected at most 8 million";

impl Network {
    /// Adds a host.
    pub fn add_host(&mut self, name: &str, timing: HostTiming) -> HostId {
        self.hosts.push(Host {
            name: name.to_owned(),
            timing,
        });
        HostId(self.hosts.len() as u32 - 1)
    }

    /// Adds one direction of a wire.
    ///
    /// # Errors
    /// If a host does not exist, or the link could never carry a packet.
    pub fn add_link(&mut self, config: LinkConfig) -> Result<LinkId, NetworkError> {
        let LinkConfig { name, from, to, .. } = &config;
        let wrong = if self.is_full() {
            Some(FULL)
        } else if !self.has_host(*from) || !self.has_host(*to) {
            Some("one of its hosts does not exist")
        } else if from == to {
            Some("it leads back to its own host")
        } else if config.rate == Some(0) {
            Some("its rate is zero, expected at least 1 bit/s")
        } else if config.mtu == Some(0) {
            Some("its MTU is zero, expected at least 1 octet")
        } else if matches!(
            config.queue.limit(),
            QueueLimit::Packets(0) | QueueLimit::Bytes(0)
        ) {
            Some("its queue holds nothing, expected a limit of at least one packet")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            return Err(NetworkError(format!("link \"{name}\": {wrong}")));
        }
        let id = self.links.len() as u32;
        let target = self.add_target(EventTarget::Link(id));
        self.links.push(LinkSlot {
            link: Link::new(&config, self.seed),
            target,
            trace_tick: None,
            joint: Joint::default(),
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
    pub fn add_medium(&mut self, config: MediumConfig) -> Result<MediumId, NetworkError> {
        let name = config.name.clone();
        let hosts: Vec<_> = config.stations.iter().map(|&(host, _)| host).collect();
        let twice = |(n, host): (usize, &HostId)| hosts[..n].contains(host);
        let wrong = if !hosts.iter().all(|&host| self.has_host(host)) {
            Some("one of its hosts does not exist")
        } else if hosts.iter().enumerate().any(twice) {
            Some("a host has two stations")
        } else if hosts.len() < 2 {
            Some("it has fewer than two stations")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            return Err(NetworkError(format!("medium \"{name}\": {wrong}")));
        }
        let id = self.media.len() as u32;
        let target = self.add_target(EventTarget::Medium(id));
        let medium = Medium::new(config, self.seed);
        let stations = (0..hosts.len() as u32).map(|station| EventTarget::Station(id, station));
        let stations = stations.map(|kind| self.add_target(kind)).collect();
        self.media.push(MediumSlot {
            medium,
            traced: false,
            target,
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
    pub fn add_flow(&mut self, config: FlowConfig) -> Result<FlowId, NetworkError> {
        let ends = [config.source, config.target];
        let wrong = self.wrong_ends(ends).or_else(|| {
            let passed = config.start < self.now;
            passed.then_some("its start has passed")
        });
        if let Some(wrong) = wrong {
            return Err(NetworkError::of_flow(&config.name, wrong));
        }
        let flow = self.add_closed_flow(ends);
        for (agent, side) in self.agents_of(flow, config) {
            let at = agent.poll_timeout();
            let target = self.add_target(EventTarget::Agent(ABSENT));
            self.add_agent(agent, side, target);
            self.queue.set(target, at, self.now);
        }
        self.stale_routes = true;
        Ok(flow)
    }

    /// The end of a flow that opens its connection changes its address.
    ///
    /// # Errors
    /// If the flow or the host does not exist, or both ends would be at the same host.
    pub fn add_handover(
        &mut self,
        flow: FlowId,
        side: Side,
        handover: Handover,
    ) -> Result<(), NetworkError> {
        let Some(known) = self.flows.get(flow.0 as usize) else {
            return Err(NetworkError("a handover's flow does not exist".to_owned()));
        };
        let ends = [known.source, known.target];
        let other = ends[usize::from(side == Side::Sender)];
        if let Some(host) = handover.to {
            if !self.has_host(host) {
                return Err(NetworkError::of_flow(
                    &known.name,
                    "the host of its handover does not exist",
                ));
            }
            if host == other {
                return Err(NetworkError::of_flow(
                    &known.name,
                    "its handover leads to the peer's host",
                ));
            }
            self.moves
                .extend([((host, other), None), ((other, host), None)]);
        }
        let agents = known.agents;
        self.flows[flow.0 as usize].mover = Some(side);
        for (index, end) in agents.into_iter().zip([Side::Sender, Side::Receiver]) {
            if let Some(slot) = self.agents.get_mut(index as usize) {
                slot.agent.add_handover((end == side).then_some(handover));
                self.queue
                    .set(slot.target, slot.agent.poll_timeout(), self.now);
            }
        }
        self.stale_routes = true;
        Ok(())
    }

    /// Why a flow between these hosts is not possible; `None` if it is.
    pub(super) fn wrong_ends(&self, [source, target]: [HostId; 2]) -> Option<&'static str> {
        if self.is_full() {
            Some(FULL)
        } else if !self.has_host(source) || !self.has_host(target) {
            Some("one of its hosts does not exist")
        } else if source == target {
            Some("both ends are at the same host, expected two hosts with links between them")
        } else {
            None
        }
    }

    /// A flow without agents, which reserves its number.
    pub(super) fn add_closed_flow(&mut self, [source, target]: [HostId; 2]) -> FlowId {
        self.flows.push(Flow {
            name: String::new(),
            source,
            target,
            agents: [ABSENT; 2],
            mover: None,
            packets_unreachable: 0,
        });
        FlowId(self.flows.len() as u32 - 1)
    }

    /// The two agents of a flow, which is named after its configuration.
    pub(super) fn agents_of(&mut self, flow: FlowId, config: FlowConfig) -> [(Agent, Side); 2] {
        let stream = format!("flow/{}/loss", config.name);
        let loss = Loss::of(&config.loss, self.seed, &stream);
        let schedule = |side| Schedule {
            start: Some(config.start),
            stop: config.stop.filter(|_| side == Side::Sender),
            connects: config.connects == side,
        };
        let (of_sender, of_receiver) = (schedule(Side::Sender), schedule(Side::Receiver));
        let dscp = config.dscp;
        let address = |host, peer| Address {
            flow,
            host,
            peer,
            dscp,
        };
        let sender = Agent::new(
            Parts {
                endpoint: config.sender,
                app: config.app,
            },
            address(config.source, config.target),
            of_sender,
            HostSide {
                timing: self.timing(config.source),
                interface: self.interface(config.source, config.access_delay, &config.name),
                loss,
            },
        );
        let receiver = Agent::new(
            Parts {
                endpoint: config.receiver,
                app: config.sink,
            },
            address(config.target, config.source),
            of_receiver,
            HostSide {
                timing: self.timing(config.target),
                interface: self.interface(config.target, Duration::ZERO, &config.name),
                loss: None,
            },
        );
        self.flows[flow.0 as usize].name = config.name;
        [(sender, Side::Sender), (receiver, Side::Receiver)]
    }

    /// Adds a port to a host.
    ///
    /// # Errors
    /// If the host does not exist.
    pub fn add_port(&mut self, host: HostId) -> Result<(), NetworkError> {
        if !self.has_host(host) {
            return Err(NetworkError("a port's host does not exist".to_owned()));
        }
        self.stale_routes |= self.ports.add(host);
        Ok(())
    }

    /// Adds an end of a flow, with this number in the event queue.
    pub(super) fn add_agent(&mut self, agent: Agent, side: Side, target: TargetId) {
        let index = self.agents.len() as u32;
        self.targets[target.0 as usize] = EventTarget::Agent(index);
        let flow = &mut self.flows[agent.flow().0 as usize];
        flow.agents[usize::from(side == Side::Receiver)] = index;
        self.agents.push(AgentSlot {
            agent,
            side,
            target,
            first_link: None,
            traced: false,
            tunnel: ABSENT,
            arriving: None,
            idle_calls: 0,
            recent: RecentPackets::default(),
        });
    }

    pub(super) fn add_target(&mut self, target: EventTarget) -> TargetId {
        self.targets.push(target);
        self.queue.add_target()
    }

    /// True if there is no room for a flow, or for a link and its trace tick.
    pub(super) fn is_full(&self) -> bool {
        !self.has_room_for(1)
    }

    /// True if there is room for this many flows.
    pub(super) fn has_room_for(&self, flows: u64) -> bool {
        // Each link may need two more targets: as a merge, and once it is traced.
        let used = self.targets.len() + 2 * self.links.len();
        used as u64 + 2 * flows <= MAX_TARGETS as u64
    }

    /// The interface of a host for the flow of this name, with a separate random stream.
    fn interface(&self, host: HostId, delay: Duration, flow: &str) -> Option<Box<Interface>> {
        let Host { name, timing } = &self.hosts[host.0 as usize];
        let config = InterfaceConfig {
            delay,
            jitter: timing.jitter,
        };
        let stream = format!("flow/{flow}/jitter/{name}");
        Interface::new(config, Rng::stream(self.seed, &stream))
    }

    fn timing(&self, host: HostId) -> HostTiming {
        self.hosts[host.0 as usize].timing
    }

    fn has_host(&self, host: HostId) -> bool {
        (host.0 as usize) < self.hosts.len()
    }
}
