//! The event loop: takes the node that is due first, moves its packets, asks when it is due next.
//!
//! Events at the same instant come in the order in which their nodes' times were set. A packet
//! that leaves a link is handled at once by the agent or the next link that it meets, and what
//! that agent sends goes into its first link, before anything else happens; so one event may move
//! several packets and no packet waits in an event.
//!
//! A run that does not get on fails by name instead of spinning: a node that was called and is
//! due again at once without having sent anything, or too many events at one instant.

use crate::event_queue::NodeId;
use crate::parcel::Parcel;
use crate::topology::{Kind, Side, SourceKind, Topology};
use std::fmt;
use weir_proto::event::{EventSource, Probe};
use weir_proto::packet::{FlowId, HostId, Packet};
use weir_proto::time::Instant;

/// So many events may happen at one instant.
pub const MAX_EVENTS_AT_ONE_INSTANT: u32 = 1_000_000;

/// So often in a row may a node be due again at once without having sent anything: a timer may
/// lead to another one, but not for ever.
const MAX_IDLE_CALLS: u32 = 100;

/// What a call of [`simulate`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounters {
    /// Events processed in this call.
    pub events: u64,
    /// The time up to which the run has come.
    pub now: Instant,
}

/// The run does not get on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// When.
    pub at: Instant,
    /// The node, in words: `flow "stream" (sender)`.
    pub node: String,
    /// What it does.
    pub what: &'static str,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, node, what } = self;
        write!(f, "the run is stuck at {at} s: {node} {what}")
    }
}

impl std::error::Error for Stuck {}

/// Runs the topology up to and including `until`; may be called again with a later time.
///
/// # Errors
/// [`Stuck`] when time does not advance; the topology is of no use afterwards.
pub fn simulate(
    topology: &mut Topology,
    until: Instant,
    probe: &mut dyn Probe,
) -> Result<RunCounters, Stuck> {
    topology.find_routes();
    let mut run = Run::new(topology, probe);
    run.run(until)?;
    let counters = RunCounters {
        events: run.events,
        now: run.topology.now,
    };
    Ok(counters)
}

/// Lets a packet in at the host that its header names as its source.
pub(crate) fn enter(
    topology: &mut Topology,
    packet: Packet,
    probe: &mut dyn Probe,
) -> Result<(), Stuck> {
    let (from, to) = (packet.ip.source, packet.ip.target);
    let link = topology.ports.first_link(from, to);
    let stored = topology.store.deposit(link.unwrap_or(0), |slot| {
        *slot = Some(packet);
        true
    });
    let Some(parcel) = stored else { return Ok(()) };
    let mut run = Run::new(topology, probe);
    match link {
        Some(link) => {
            run.send(link, parcel);
            Ok(())
        }
        // What comes from a peer outside is for a flow's end at the host that it names.
        None if run.topology.receiving_agent(parcel.flow, from).is_some() => {
            run.deliver(to, parcel)
        }
        None => {
            run.lose(parcel);
            Ok(())
        }
    }
}

struct Run<'a> {
    topology: &'a mut Topology,
    probe: &'a mut dyn Probe,
    events: u64,
    at_this_instant: u32,
}

impl<'a> Run<'a> {
    fn new(topology: &'a mut Topology, probe: &'a mut dyn Probe) -> Self {
        Self {
            topology,
            probe,
            events: 0,
            at_this_instant: 0,
        }
    }

    fn run(&mut self, until: Instant) -> Result<(), Stuck> {
        while let Some((at, node)) = self.topology.queue.peek() {
            if at > until {
                break;
            }
            self.events += 1;
            self.advance_to(at, node)?;
            match self.topology.nodes[node.0 as usize] {
                Kind::Link(link) => self.call_link(link)?,
                Kind::Watch(link) => self.call_watch(link),
                Kind::Medium(medium) => self.call_medium(medium)?,
                Kind::Station(..) => {}
                Kind::Agent(agent) => self.call_agent(agent)?,
            }
        }
        self.topology.now = self.topology.now.max(until);
        Ok(())
    }

    #[inline]
    fn advance_to(&mut self, at: Instant, node: NodeId) -> Result<(), Stuck> {
        if at > self.topology.now {
            self.topology.now = at;
            self.at_this_instant = 0;
        }
        self.count_event(node)
    }

    #[inline]
    fn count_event(&mut self, node: NodeId) -> Result<(), Stuck> {
        self.at_this_instant += 1;
        if self.at_this_instant > MAX_EVENTS_AT_ONE_INSTANT {
            return Err(self.stuck(node, "has a part in a million events at one instant"));
        }
        Ok(())
    }

    /// Moves the packets that arrive at the end of a link.
    fn call_link(&mut self, id: u32) -> Result<(), Stuck> {
        let now = self.topology.now;
        let to = {
            let place = &mut self.topology.links[id as usize];
            place.link.handle_timeout(now);
            place.to
        };
        self.topology.make_copies(id);
        while let Some(packet) = self.topology.links[id as usize].link.poll_transmit(now) {
            self.deliver(to, packet)?;
        }
        let place = &self.topology.links[id as usize];
        self.topology
            .queue
            .reset(place.node, place.link.poll_timeout());
        self.observe_link(id);
        Ok(())
    }

    /// Lets a link start the transmissions that somebody wants to see. Its own time is left
    /// alone, so that watching changes nothing.
    fn call_watch(&mut self, id: u32) {
        let now = self.topology.now;
        self.topology.links[id as usize].link.watch(now);
        self.topology.make_copies(id);
        self.observe_link(id);
    }

    /// Lets a shared medium go on, and moves what arrives across it.
    fn call_medium(&mut self, id: u32) -> Result<(), Stuck> {
        let now = self.topology.now;
        self.topology.media[id as usize].medium.handle_timeout(now);
        while let Some((to, parcel)) = self.topology.media[id as usize].medium.poll_transmit() {
            self.deliver(to, parcel)?;
        }
        self.observe_medium(id);
        let place = &mut self.topology.media[id as usize];
        let due = place.medium.poll_timeout();
        self.topology.queue.reset(place.node, due);
        Ok(())
    }

    fn call_agent(&mut self, id: u32) -> Result<(), Stuck> {
        let now = self.topology.now;
        let place = &mut self.topology.agents[id as usize];
        place.agent.handle_timeout(now);
        let sent = self.flush_agent(id)?;
        let place = &mut self.topology.agents[id as usize];
        let (node, due) = (place.node, place.agent.poll_timeout());
        self.topology.queue.reset(node, due);
        let idle = !sent && due.is_some_and(|at| at <= now);
        place.idle_calls = if idle { place.idle_calls + 1 } else { 0 };
        if place.idle_calls >= MAX_IDLE_CALLS {
            return Err(self.stuck(
                node,
                "is due again at once, time after time, and sends nothing",
            ));
        }
        Ok(())
    }

    /// A packet has come to a host: it is for an agent there, or goes on.
    #[inline]
    fn deliver(&mut self, host: HostId, mut parcel: Parcel) -> Result<(), Stuck> {
        if parcel.ip.target == host {
            let agent = self.topology.receiving_agent(parcel.flow, parcel.ip.source);
            let Some(id) = agent else {
                self.leave(host, parcel);
                return Ok(());
            };
            let now = self.topology.now;
            if let Some(packet) = self.topology.store.collect(parcel) {
                self.topology.agents[id as usize].agent.handle(now, packet);
            }
            self.flush_agent(id)?;
            let place = &self.topology.agents[id as usize];
            self.topology
                .queue
                .set(place.node, place.agent.poll_timeout());
            return Ok(());
        }
        parcel.ip.ttl = parcel.ip.ttl.saturating_sub(1);
        let next = self.topology.routes.next(host, parcel.ip.target);
        match next.filter(|_| parcel.ip.ttl > 0) {
            Some(link) => self.send(link, parcel),
            None => self.lose(parcel),
        }
        Ok(())
    }

    /// Moves what an agent sends into its first link; true if it sent anything.
    #[inline]
    fn flush_agent(&mut self, id: u32) -> Result<bool, Stuck> {
        let now = self.topology.now;
        let first_link = self.topology.agents[id as usize].first_link;
        let mut sent = false;
        loop {
            let topology = &mut *self.topology;
            let place = &mut topology.agents[id as usize];
            let fill = |slot: &mut _| place.agent.poll_transmit(now, slot);
            let Some(parcel) = topology.store.deposit(first_link.unwrap_or(0), fill) else {
                break;
            };
            sent = true;
            let node = place.node;
            self.count_event(node)?;
            match first_link {
                Some(link) => self.send(link, parcel),
                None => self.leave(parcel.ip.source, parcel),
            }
        }
        if self.topology.agents[id as usize].watched {
            self.observe_agent(id);
        }
        Ok(sent)
    }

    /// The packet leaves through the port of this host, if it has one.
    #[cold]
    fn leave(&mut self, host: HostId, parcel: Parcel) {
        if !self.topology.ports.has(host) {
            return self.lose(parcel);
        }
        if let Some(packet) = self.topology.store.collect(parcel) {
            self.topology.ports.leave(host, packet);
        }
    }

    #[cold]
    fn lose(&mut self, parcel: Parcel) {
        self.topology.count_unreachable(parcel.flow);
        self.topology.store.discard(parcel);
    }

    #[inline]
    fn send(&mut self, id: u32, parcel: Parcel) {
        let Some(place) = self.topology.links.get_mut(id as usize) else {
            return self.cross(id, parcel);
        };
        place.link.handle(self.topology.now, parcel);
        self.topology.make_copies(id);
        let place = &mut self.topology.links[id as usize];
        self.topology
            .queue
            .set(place.node, place.link.poll_timeout());
        self.observe_link(id);
    }

    /// Hands a packet to the medium that the way of this number, behind the links', leads over.
    fn cross(&mut self, id: u32, parcel: Parcel) {
        let (medium, from, to) = self.topology.crossings[id as usize - self.topology.links.len()];
        let now = self.topology.now;
        let place = &mut self.topology.media[medium as usize];
        place.medium.handle(now, (from, to), parcel);
        self.observe_medium(medium);
    }

    fn observe_medium(&mut self, id: u32) {
        let Topology {
            media,
            store,
            queue,
            ..
        } = &mut *self.topology;
        let place = &mut media[id as usize];
        while let Some(parcel) = place.medium.poll_discarded() {
            store.discard(parcel);
        }
        for (station, node) in place.stations.iter().enumerate() {
            for (at, event) in place.medium.events(station).drain() {
                self.probe.record(at, EventSource(node.0), &event);
            }
        }
        queue.set(place.node, place.medium.poll_timeout());
    }

    #[inline]
    fn observe_link(&mut self, id: u32) {
        self.topology.take_back(id);
        let place = &mut self.topology.links[id as usize];
        let Some(watch) = place.watch else { return };
        for (at, event) in place.link.events().drain() {
            self.probe.record(at, EventSource(place.node.0), &event);
        }
        self.topology.queue.set(watch, place.link.poll_watch());
    }

    fn observe_agent(&mut self, id: u32) {
        let place = &mut self.topology.agents[id as usize];
        let source = EventSource(place.node.0);
        if let Some(events) = place.agent.endpoint_events() {
            for (at, event) in events.drain() {
                self.probe.record(at, source, &event);
            }
        }
        for (at, event) in place.agent.stack_events().drain() {
            self.probe.record(at, source, &event);
        }
    }

    #[cold]
    fn stuck(&self, node: NodeId, what: &'static str) -> Stuck {
        let topology = &self.topology;
        let kind = topology.kind_of_source(EventSource(node.0));
        let node = match kind {
            Some(SourceKind::Link(id)) => format!("link \"{}\"", topology.link_name(id)),
            Some(SourceKind::Medium(id) | SourceKind::Station(id, _)) => {
                format!("medium \"{}\"", topology.medium_name(id))
            }
            Some(SourceKind::Flow(id, side)) => name_of(topology, id, side),
            None => format!("node {}", node.0),
        };
        Stuck {
            at: topology.now,
            node,
            what,
        }
    }
}

fn name_of(topology: &Topology, flow: FlowId, side: Side) -> String {
    let side = match side {
        Side::Sender => "sender",
        Side::Receiver => "receiver",
    };
    format!("flow \"{}\" ({side})", topology.flow_name(flow))
}
