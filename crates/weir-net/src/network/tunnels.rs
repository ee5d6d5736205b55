//! Tunnels: hops between two hosts over an outer connection. The ends are the applications of the
//! connection's two agents ([`app::tunnel`](crate::app)).

use super::{ABSENT, EventTarget, FlowConfig, Network, NetworkError, Side};
use crate::app::{TunnelEnd, TunnelEndConfig};
use crate::event_queue::TargetId;
use crate::link::LinkCounters;
use crate::packet_pool::PacketRef;
use std::collections::BTreeMap;
use weir_proto::event::EventSource;
use weir_proto::packet::{FlowId, HostId};

/// A tunnel: an index into the network's table of tunnels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TunnelId(pub u32);

/// A tunnel with its outer connection.
#[derive(Debug)]
pub(crate) struct TunnelSlot {
    /// The outer connection.
    pub(crate) flow: FlowId,
    /// The numbers under which the ends report trace events.
    pub(crate) sources: [TargetId; 2],
    /// Packets of each flow that were dropped at an end or lost between the ends.
    dropped: BTreeMap<FlowId, u64>,
}

impl Network {
    /// Adds a tunnel. The outer connection is `flow`, whose applications the ends replace; it uses
    /// links and media and no tunnel.
    ///
    /// # Errors
    /// As [`add_flow`](Self::add_flow).
    pub fn add_tunnel(
        &mut self,
        flow: FlowConfig,
        config: &TunnelEndConfig,
    ) -> Result<TunnelId, NetworkError> {
        let end = |side: &str| {
            let stream = format!("tunnel/{}/{side}/queue", flow.name);
            Box::new(TunnelEnd::new(config, self.seed, &stream))
        };
        let (app, sink) = (end("forward"), end("backward"));
        let id = self.tunnels.len() as u32;
        let flow = self.add_flow(FlowConfig { app, sink, ..flow })?;
        for side in [Side::Sender, Side::Receiver] {
            if let Some(index) = self.index_of(flow, side) {
                self.agents[index as usize].tunnel = id;
            }
        }
        let sources = [0, 1].map(|end| self.add_target(EventTarget::TunnelEnd(id, end)));
        self.tunnels.push(TunnelSlot {
            flow,
            sources,
            dropped: BTreeMap::new(),
        });
        self.stale_routes = true;
        Ok(TunnelId(id))
    }

    /// The outer connection of a tunnel.
    pub fn flow_of_tunnel(&self, tunnel: TunnelId) -> FlowId {
        self.tunnels[tunnel.0 as usize].flow
    }

    /// The number under which the end of a tunnel at this side of its outer connection reports
    /// events of its queue.
    pub fn source_of_tunnel(&self, tunnel: TunnelId, side: Side) -> EventSource {
        let sources = self.tunnels[tunnel.0 as usize].sources;
        EventSource(sources[usize::from(side == Side::Receiver)].0)
    }

    /// The current counters of the packets that enter a tunnel at this side. Packets in flight are
    /// those in the outer connection.
    pub fn tunnel_counters(&mut self, tunnel: TunnelId, side: Side) -> LinkCounters {
        let (flow, now) = (self.tunnels[tunnel.0 as usize].flow, self.now);
        let Some(agent) = self.index_of(flow, side) else {
            return LinkCounters::default();
        };
        let end = self.tunnel_end(agent);
        let counters = end.map(|end| end.counters(now)).unwrap_or_default();
        self.discard_from_tunnel(agent);
        counters
    }

    /// Packets of this flow that tunnels dropped or lost.
    pub(super) fn packets_dropped_in_tunnels(&self, flow: FlowId) -> u64 {
        let dropped = |slot: &TunnelSlot| slot.dropped.get(&flow).copied().unwrap_or(0);
        self.tunnels.iter().map(dropped).sum()
    }

    /// The directions of all tunnels as edges of the graph, in the order of their numbers.
    pub(super) fn tunnel_edges(&self) -> impl Iterator<Item = (HostId, HostId)> + '_ {
        self.tunnels.iter().flat_map(|slot| {
            let outer = &self.flows[slot.flow.0 as usize];
            [(outer.source, outer.target), (outer.target, outer.source)]
        })
    }

    /// The agent at which a packet enters that takes the direction of a tunnel with this number.
    pub(crate) fn tunnel_entry(&self, direction: usize) -> Option<u32> {
        let slot = self.tunnels.get(direction / 2)?;
        let side = if direction.is_multiple_of(2) {
            Side::Sender
        } else {
            Side::Receiver
        };
        self.index_of(slot.flow, side)
    }

    /// The end of a tunnel that this agent is.
    pub(crate) fn tunnel_end(&mut self, agent: u32) -> Option<&mut TunnelEnd> {
        self.agents.get_mut(agent as usize)?.agent.tunnel()
    }

    /// The next packet that comes out at this agent.
    pub(crate) fn poll_tunnel(&mut self, agent: u32) -> Option<PacketRef> {
        let now = self.now;
        let peer = self.peer_of(agent)?;
        loop {
            let arrival = match self.agents[agent as usize].arriving.take() {
                Some(arrival) => arrival,
                None => self.tunnel_end(agent)?.poll_arrival()?,
            };
            if let Some(packet) = self.tunnel_end(peer)?.take_arrived(now, arrival) {
                self.agents[agent as usize].arriving = Some(arrival);
                return Some(packet);
            }
        }
    }

    /// The agent at the other end of the flow of this one.
    pub(crate) fn peer_of(&self, agent: u32) -> Option<u32> {
        let slot = self.agents.get(agent as usize)?;
        let other = match slot.side {
            Side::Sender => Side::Receiver,
            Side::Receiver => Side::Sender,
        };
        self.index_of(slot.agent.flow(), other)
    }

    /// Removes from the pool what the end of a tunnel dropped.
    pub(crate) fn discard_from_tunnel(&mut self, agent: u32) {
        let Some(slot) = self.agents.get_mut(agent as usize) else {
            return;
        };
        let (tunnel, end) = (slot.tunnel, slot.agent.tunnel());
        let (Some(end), Some(tunnel)) = (end, self.tunnels.get_mut(tunnel as usize)) else {
            return;
        };
        while let Some(packet) = end.poll_discarded() {
            *tunnel.dropped.entry(packet.flow).or_default() += 1;
            self.pool.discard(packet);
        }
    }

    /// True if this agent is an end of a tunnel.
    #[inline]
    pub(crate) fn is_tunnel_end(&self, agent: u32) -> bool {
        self.agents[agent as usize].tunnel != ABSENT
    }
}
