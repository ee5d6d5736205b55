//! The event loop: calls the target that is due first, moves its packets, and sets the time of its
//! next event.
//!
//! Events at the same instant are processed in the order of the times at which they were set, then
//! of their targets' numbers. The agent or the next link handles a packet that leaves a link at
//! once, and packets that the agent sends in response enter their first link before the next event.
//! One event may therefore move several packets, and no packet is an entry of the event queue.
//!
//! A run without progress ends with an error that names the faulty element: a target that is due
//! again at once, many times in a row, without sending a packet; too many events at one instant; or
//! an endpoint that sends far more packets in a millisecond than any path can carry, because its
//! path has neither a rate nor a delay.

mod horizon;
mod tunnels;
mod windows;

pub use horizon::Horizon;

use crate::agent::Turn;
use crate::app::MAX_PACKETS_IN_A_MILLISECOND;
use crate::event_queue::TargetId;
use crate::link::Arrival;
use crate::network::{EventTarget, Network, Side, SourceKind};
use crate::packet_pool::PacketRef;
use std::fmt;
use weir_proto::event::{EventSource, Events, Probe};
use weir_proto::packet::{FlowId, HostId, Packet};
use weir_proto::time::Instant;

/// The most events at one instant.
pub const MAX_EVENTS_AT_ONE_INSTANT: u32 = 1_000_000;

/// The most consecutive calls of a target that is due again at once without having sent a packet: a
/// timer may set another one for the same instant, but not indefinitely.
const MAX_IDLE_CALLS: u32 = 100;

/// The most packets that an endpoint hands over at one event: one more than the events of an
/// instant, so that packets that leave at once reach that limit first.
const MAX_PACKETS_OF_A_TURN: u64 = MAX_EVENTS_AT_ONE_INSTANT as u64 + 1;

const TOO_FAST: &str = "sends almost a million packets in a millisecond; give a link on its way a rate \
     or a delay, or the application a lower rate";

const TOO_MUCH: &str = "has a part in a million events at one instant, as of a sender whose interval \
     between packets rounds to zero; give a link on its way a rate or a delay, or the application a \
     lower rate";

/// The progress of one call of [`simulate`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunCounters {
    /// Events processed in this call.
    pub events: u64,
    /// The current time of the run.
    pub now: Instant,
    /// The call reached its end time, not only its number of events.
    pub finished: bool,
}

/// The run makes no progress: virtual time stands still.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// The instant at which time stands still.
    pub at: Instant,
    /// The link, medium or end of a flow, in words: `flow "stream" (sender)`.
    pub element: String,
    /// The fault, as the rest of the sentence.
    pub what: &'static str,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, element, what } = self;
        write!(f, "the run is stuck at {at} s: {element} {what}")
    }
}

impl std::error::Error for Stuck {}

/// Runs the network up to and including `until`; may be called again with a later time.
///
/// # Errors
/// [`Stuck`] when time does not advance; the network must not be used afterwards.
pub fn simulate(
    network: &mut Network,
    until: Instant,
    probe: &mut dyn Probe,
) -> Result<RunCounters, Stuck> {
    simulate_to(network, Horizon::including(until), probe)
}

/// Runs the network up to the horizon; may be called again. The division of a run into calls does
/// not change the run.
///
/// # Errors
/// [`Stuck`] when time does not advance; the network must not be used afterwards.
pub fn simulate_to(
    network: &mut Network,
    horizon: Horizon,
    probe: &mut dyn Probe,
) -> Result<RunCounters, Stuck> {
    network.update_routes();
    let mut run = Run::new(network, probe);
    let finished = run.run(horizon).map_err(|stuck| *stuck)?;
    let counters = RunCounters {
        events: run.events,
        now: run.network.now,
        finished,
    };
    Ok(counters)
}

/// Inserts a packet through the port of the host that its header names as source, at the current
/// time of the run. A packet for an unreachable host is dropped.
///
/// # Errors
/// [`Stuck`] as [`simulate`].
pub fn inject(network: &mut Network, packet: Packet, probe: &mut dyn Probe) -> Result<(), Stuck> {
    network.update_routes();
    let (from, to) = (packet.ip.source, packet.ip.destination);
    let link = network.ports.first_link(from, to);
    let stored = network.pool.insert(|slot| {
        *slot = Some(packet);
        true
    });
    let Some(packet) = stored else { return Ok(()) };
    let mut run = Run::new(network, probe);
    let outcome = match link {
        Some(link) => {
            run.enter_link(link, packet);
            Ok(())
        }
        // A packet of an outside peer is delivered to the flow's endpoint at the destination host.
        None if run.network.receiving_agent(packet.flow, from).is_some() => {
            run.deliver(to, packet).map_err(|stuck| *stuck)
        }
        None => {
            run.drop_unreachable(packet);
            Ok(())
        }
    };
    network.catch_up_merges();
    outcome
}

/// The result of a step; the error is boxed to keep it small, because almost every step succeeds.
type Outcome<T> = Result<T, Box<Stuck>>;

struct Run<'a> {
    network: &'a mut Network,
    probe: &'a mut dyn Probe,
    events: u64,
}

impl<'a> Run<'a> {
    fn new(network: &'a mut Network, probe: &'a mut dyn Probe) -> Self {
        Self {
            network,
            probe,
            events: 0,
        }
    }

    /// True if the run has reached the horizon.
    fn run(&mut self, horizon: Horizon) -> Outcome<bool> {
        let has_windows = self.network.has_windows();
        let mut window_end = Instant::ZERO;
        while let Some((at, target)) = self.network.queue.peek() {
            if !horizon.contains(at) {
                break;
            }
            if at >= window_end {
                if self.events >= horizon.max_events {
                    self.end_window(window_end);
                    self.network.catch_up_merges();
                    return Ok(false);
                }
                if has_windows {
                    window_end = self.network.window_from(at).min(horizon.end());
                }
            }
            if has_windows && at < window_end {
                let turn = self.network.windows().turn_of(target);
                if !turn.is_empty() {
                    self.take_turn(turn, window_end)?;
                    continue;
                }
            }
            self.events += 1;
            let order = self.network.queue.order_of_top();
            self.advance_to(at, order, target)?;
            match self.network.targets[target.0 as usize] {
                EventTarget::Link(link) => self.call_link(link)?,
                EventTarget::Merge(_) if has_windows => self.network.call_merges(),
                EventTarget::Merge(merge) => self.network.call_merge(merge),
                EventTarget::TraceTick(link) => self.call_trace_tick(link),
                EventTarget::Medium(medium) => self.call_medium(medium)?,
                EventTarget::Station(..) | EventTarget::TunnelEnd(..) => {}
                EventTarget::Agent(agent) => self.call_agent(agent)?,
            }
        }
        let network = &mut *self.network;
        if horizon.until > network.now {
            network.now = horizon.until;
            network.at_this_instant = 0;
            network.including_now = horizon.including;
        } else if horizon.until == network.now {
            network.including_now |= horizon.including;
        }
        network.event_order = if network.including_now { u64::MAX } else { 0 };
        network.catch_up_merges();
        self.report_queues();
        Ok(true)
    }

    /// Reports changes of the queues of traced links that are not called at each change.
    fn report_queues(&mut self) {
        let last = self.network.progress().last();
        for index in 0..self.network.traced_plain.len() {
            let id = self.network.traced_plain[index];
            self.network.links[id as usize].link.catch_up(last);
            self.record_link(id);
        }
    }

    #[inline]
    fn advance_to(&mut self, at: Instant, order: u64, target: TargetId) -> Outcome<()> {
        if at == self.network.now {
            // An event that another one of this instant causes comes after it.
            self.network.event_order = self.network.event_order.max(order);
        } else {
            // In a window, the events of the next host may be earlier.
            self.network.now = at;
            self.network.at_this_instant = 0;
            self.network.including_now = false;
            self.network.event_order = order;
        }
        self.count_event(target)
    }

    #[inline]
    fn count_event(&mut self, target: TargetId) -> Outcome<()> {
        self.network.at_this_instant += 1;
        if self.network.at_this_instant > MAX_EVENTS_AT_ONE_INSTANT {
            return Err(Box::new(self.stuck(target, TOO_MUCH)));
        }
        Ok(())
    }

    /// Moves the packets that arrive at the end of a link.
    #[inline]
    fn call_link(&mut self, id: u32) -> Outcome<()> {
        let now = self.network.now;
        let mut slot = &mut self.network.links[id as usize];
        let to = slot.to;
        if !slot.link.is_plain() {
            return self.call_queued_link(id);
        }
        while let Some(packet) = slot.link.poll_booked(now) {
            // Before the delivery, so that the entry set for the packet replaces the one that is
            // removed.
            let Arrival { at, since } = slot.link.next_call();
            self.network.queue.reset(slot.target, at, since);
            self.deliver(to, packet)?;
            if at > now {
                return Ok(());
            }
            slot = &mut self.network.links[id as usize];
        }
        let Arrival { at, since } = slot.link.next_call();
        self.network.queue.reset(slot.target, at, since);
        Ok(())
    }

    /// Moves the packets that arrive at the end of a link that is not plain.
    #[inline(never)]
    fn call_queued_link(&mut self, id: u32) -> Outcome<()> {
        let now = self.network.now;
        let slot = &mut self.network.links[id as usize];
        let to = slot.to;
        slot.link.handle_timeout(now);
        self.network.make_copies(id);
        self.record_link(id);
        while let Some(packet) = self.network.links[id as usize].link.poll_transmit(now) {
            self.deliver(to, packet)?;
        }
        let slot = &self.network.links[id as usize];
        let Arrival { at, since } = slot.link.due(now);
        self.network.queue.reset(slot.target, at, since);
        self.observe_link(id);
        Ok(())
    }

    /// Starts the transmissions of a traced link at their exact times. The link's own entry in the
    /// event queue stays, so that tracing does not change results.
    fn call_trace_tick(&mut self, id: u32) {
        let now = self.network.now;
        self.network.links[id as usize].link.handle_timeout(now);
        self.network.make_copies(id);
        self.observe_link(id);
    }

    /// Advances a shared medium, and moves the packets that arrive.
    #[inline(never)]
    fn call_medium(&mut self, id: u32) -> Outcome<()> {
        let now = self.network.now;
        self.network.media[id as usize].medium.handle_timeout(now);
        self.record_medium(id);
        while let Some((to, packet)) = self.network.media[id as usize].medium.poll_transmit() {
            self.deliver(to, packet)?;
        }
        self.observe_medium(id);
        let slot = &mut self.network.media[id as usize];
        let due = slot.medium.poll_timeout();
        let due = due.unwrap_or(Instant::FAR_FUTURE);
        self.network.queue.reset(slot.target, due, now);
        Ok(())
    }

    fn call_agent(&mut self, id: u32) -> Outcome<()> {
        let now = self.network.now;
        let slot = &mut self.network.agents[id as usize];
        slot.agent.handle_timeout(now);
        let sent = self.flush_agent(id)?;
        if self.network.is_tunnel_end(id) {
            self.serve_tunnel(id)?;
        }
        let slot = &mut self.network.agents[id as usize];
        let (target, due) = (slot.target, slot.agent.poll_timeout());
        self.network.queue.reset(target, due, now);
        let idle = !sent && due <= now;
        slot.idle_calls = if idle { slot.idle_calls + 1 } else { 0 };
        if slot.idle_calls >= MAX_IDLE_CALLS {
            return Err(Box::new(self.stuck(
                target,
                "is due again at once, time after time, and sends nothing",
            )));
        }
        Ok(())
    }

    /// A packet arrives at a host: an agent there receives it, or the host forwards it.
    #[inline(always)]
    fn deliver(&mut self, host: HostId, mut packet: PacketRef) -> Outcome<()> {
        if packet.ip.destination == host {
            let agent = self.network.receiving_agent(packet.flow, packet.ip.source);
            let Some(id) = agent else {
                self.leave_by_port(host, packet);
                return Ok(());
            };
            let Network {
                pool, agents, now, ..
            } = &mut *self.network;
            agents[id as usize].agent.handle(*now, pool.slot_of(packet));
            self.flush_agent(id)?;
            let slot = &self.network.agents[id as usize];
            let (due, now) = (slot.agent.poll_timeout(), self.network.now);
            self.network.queue.set(slot.target, due, now);
            if self.network.is_tunnel_end(id) {
                self.serve_tunnel(id)?;
            }
            return Ok(());
        }
        packet.ip.ttl = packet.ip.ttl.saturating_sub(1);
        let next = self.network.routes.next(host, packet.ip.destination);
        match next.filter(|_| packet.ip.ttl > 0) {
            Some(link) => self.enter_link(link, packet),
            None => self.drop_unreachable(packet),
        }
        Ok(())
    }

    /// Moves the packets that an agent sends into its first link; true if it sent any.
    #[inline(never)]
    fn flush_agent(&mut self, id: u32) -> Outcome<bool> {
        let now = self.network.now;
        if self.network.agents[id as usize].agent.take_moved() {
            self.network.find_first_link(id);
        }
        let slot = &mut self.network.agents[id as usize];
        let first_link = slot.first_link;
        let before = slot.agent.packets_sent();
        let turn = Turn {
            now,
            most_sent: before + MAX_PACKETS_OF_A_TURN,
        };
        let mut sent = 0;
        loop {
            let network = &mut *self.network;
            let slot = &mut network.agents[id as usize];
            let fill = |free: &mut _| slot.agent.poll_transmit(turn, free);
            let Some(packet) = network.pool.insert(fill) else {
                break;
            };
            sent += 1;
            let target = slot.target;
            self.count_event(target)?;
            match first_link {
                Some(link) => self.enter_link(link, packet),
                None => self.leave_by_port(packet.ip.source, packet),
            }
        }
        let slot = &mut self.network.agents[id as usize];
        // Packets that the host delays count when they are handed over. A call that sends nothing
        // counts too, because an application may write without end and without effect.
        let handed = u32::try_from(slot.agent.packets_sent() - before).unwrap_or(u32::MAX);
        if slot.recent.count(now, handed.max(1)) > MAX_PACKETS_IN_A_MILLISECOND {
            let target = slot.target;
            return Err(Box::new(self.stuck(target, TOO_FAST)));
        }
        if slot.traced {
            self.observe_agent(id);
        }
        Ok(sent > 0)
    }

    /// The packet leaves through the port of this host, or is dropped if the host has none.
    #[cold]
    fn leave_by_port(&mut self, host: HostId, packet: PacketRef) {
        if !self.network.ports.has(host) {
            return self.drop_unreachable(packet);
        }
        if let Some(packet) = self.network.pool.remove(packet) {
            self.network.ports.leave(host, packet);
        }
    }

    #[cold]
    fn drop_unreachable(&mut self, packet: PacketRef) {
        self.network.count_unreachable(packet.flow);
        self.network.pool.discard(packet);
    }

    #[inline(always)]
    fn enter_link(&mut self, id: u32, packet: PacketRef) {
        let slot = self.network.links.get(id as usize);
        if slot.is_some_and(|slot| slot.link.is_untraced_plain()) {
            self.network.book(id, packet);
        } else if slot.is_some_and(|slot| slot.link.is_plain()) {
            self.network.book(id, packet);
            if self.network.links[id as usize].link.has_news() {
                self.observe_link(id);
            }
        } else {
            self.enter_queued_link(id, packet);
        }
    }

    /// A packet enters a link that is not plain, or a medium.
    #[inline(never)]
    fn enter_queued_link(&mut self, id: u32, packet: PacketRef) {
        let Some(slot) = self.network.links.get_mut(id as usize) else {
            return self.enter_medium(id, packet);
        };
        let now = self.network.now;
        if slot.link.reads_acks() {
            let facts = self.network.pool.ack_facts(&packet);
            slot.link.expect(facts);
        }
        slot.link.handle(now, packet);
        self.network.make_copies(id);
        let slot = &mut self.network.links[id as usize];
        let Arrival { at, since } = slot.link.due(now);
        self.network.queue.set(slot.target, at, since);
        self.observe_link(id);
    }

    /// Hands a packet to the medium of this hop; the numbers of hops follow those of the links, and
    /// those of the directions of tunnels follow them.
    fn enter_medium(&mut self, id: u32, packet: PacketRef) {
        let number = id as usize - self.network.links.len();
        let Some(&(medium, hop)) = self.network.medium_hops.get(number) else {
            return self.enter_tunnel(number - self.network.medium_hops.len(), packet);
        };
        let now = self.network.now;
        let slot = &mut self.network.media[medium as usize];
        if slot.medium.reads_acks(hop) {
            let facts = self.network.pool.ack_facts(&packet);
            slot.medium.expect(hop, facts);
        }
        slot.medium.handle(now, hop, packet);
        self.observe_medium(medium);
    }

    fn observe_medium(&mut self, id: u32) {
        self.record_medium(id);
        let Network {
            media,
            pool,
            queue,
            now,
            ..
        } = &mut *self.network;
        let slot = &mut media[id as usize];
        while let Some(packet) = slot.medium.poll_discarded() {
            pool.discard(packet);
        }
        let due = slot.medium.poll_timeout();
        queue.set(slot.target, due.unwrap_or(Instant::FAR_FUTURE), *now);
    }

    /// Records the events of a medium's stations while their packets are in the pool.
    fn record_medium(&mut self, id: u32) {
        let Network { media, pool, .. } = &mut *self.network;
        let slot = &mut media[id as usize];
        if !slot.traced {
            return;
        }
        for (station, target) in slot.stations.iter().enumerate() {
            let events = slot.medium.events(station);
            events.record(pool, EventSource(target.0), self.probe);
        }
    }

    /// Records the events of a link, and removes the packets that it has dropped.
    #[inline(never)]
    fn observe_link(&mut self, id: u32) {
        self.record_link(id);
        let mut slot = &mut self.network.links[id as usize];
        if slot.link.has_discarded() {
            self.network.discard_dropped(id);
            slot = &mut self.network.links[id as usize];
        }
        if let Some(trace_tick) = slot.trace_tick {
            let due = slot.link.poll_trace_tick();
            self.network.queue.set(trace_tick, due, self.network.now);
        }
    }

    /// Records the events of a traced link while their packets are in the pool.
    #[inline]
    fn record_link(&mut self, id: u32) {
        let Network { links, pool, .. } = &mut *self.network;
        let slot = &mut links[id as usize];
        let source = EventSource(slot.target.0);
        slot.link
            .take_changes(|changes| self.probe.record_queue(source, changes));
        slot.link.events().record(pool, source, self.probe);
    }

    fn observe_agent(&mut self, id: u32) {
        let slot = &mut self.network.agents[id as usize];
        let source = EventSource(slot.target.0);
        let probe = &mut *self.probe;
        let mut record = |events: &mut Events| {
            if !events.is_empty() {
                events.take_all(|events| probe.record_all(source, events));
            }
        };
        if let Some(events) = slot.agent.endpoint_events() {
            record(events);
        }
        record(slot.agent.host_events());
    }

    #[cold]
    fn stuck(&self, target: TargetId, what: &'static str) -> Stuck {
        let network = &self.network;
        let kind = network.kind_of_source(EventSource(target.0));
        let element = match kind {
            Some(SourceKind::Link(id)) => format!("link \"{}\"", network.link_name(id)),
            Some(SourceKind::Medium(id) | SourceKind::Station(id, _)) => {
                format!("medium \"{}\"", network.medium_name(id))
            }
            Some(SourceKind::Flow(id, side)) => name_of(network, id, side),
            Some(SourceKind::Tunnel(id, side)) => {
                name_of(network, network.flow_of_tunnel(id), side)
            }
            None => format!("node {}", target.0),
        };
        Stuck {
            at: network.now,
            element,
            what,
        }
    }
}

fn name_of(network: &Network, flow: FlowId, side: Side) -> String {
    let side = match side {
        Side::Sender => "sender",
        Side::Receiver => "receiver",
    };
    format!("flow \"{}\" ({side})", network.flow_name(flow))
}
