//! Event sources: the numbers under which links, stations and ends of flows report trace events.

use super::{EventTarget, LinkId, MediumId, Network, Side, TunnelId};
use weir_proto::event::{EventMask, EventSource};
use weir_proto::packet::{FlowId, HostId};

/// The part of the network behind an [`EventSource`].
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
    /// The queue of a tunnel at this side of its outer connection.
    Tunnel(TunnelId, Side),
}

impl Network {
    /// Sets the trace events that all targets report; none before the first call.
    pub fn set_mask(&mut self, mask: EventMask) {
        for source in 0..self.targets.len() as u32 {
            self.set_mask_of(EventSource(source), mask);
        }
    }

    /// Sets the trace events that one target reports.
    pub fn set_mask_of(&mut self, source: EventSource, mask: EventMask) {
        match self.targets.get(source.0 as usize).copied() {
            Some(EventTarget::Link(id)) => {
                // Traced links do not use the fast path.
                self.leave_fast_path();
                self.stale_routes = true;
                let slot = &mut self.links[id as usize];
                slot.link.set_mask(self.now, mask);
                self.traced_plain.retain(|&other| other != id);
                if slot.link.is_plain() {
                    if mask != EventMask::NONE {
                        self.traced_plain.push(id);
                    }
                } else if slot.trace_tick.is_none() {
                    let trace_tick = self.add_target(EventTarget::TraceTick(id));
                    self.links[id as usize].trace_tick = Some(trace_tick);
                }
                let slot = &self.links[id as usize];
                if let Some(trace_tick) = slot.trace_tick {
                    let due = slot.link.poll_trace_tick();
                    self.queue.set(trace_tick, due, self.now);
                }
            }
            Some(EventTarget::Station(id, station)) => {
                let slot = &mut self.media[id as usize];
                slot.medium.events(station as usize).set_mask(mask);
                // Never reset: events of a station may still be queued when its mask is cleared.
                slot.traced |= mask != EventMask::NONE;
            }
            Some(EventTarget::TunnelEnd(id, end)) => {
                if let Some(agent) = self.tunnel_entry((2 * id + end) as usize)
                    && let Some(end) = self.tunnel_end(agent)
                {
                    end.events().set_mask(mask);
                }
            }
            Some(EventTarget::Agent(id)) => {
                if let Some(slot) = self.agents.get_mut(id as usize) {
                    slot.agent.set_mask(mask);
                    self.traced_agents -= usize::from(slot.traced);
                    slot.traced = mask != EventMask::NONE;
                    self.traced_agents += usize::from(slot.traced);
                }
            }
            Some(EventTarget::TraceTick(_) | EventTarget::Merge(_) | EventTarget::Medium(_))
            | None => {}
        }
    }

    /// The number under which one end of a flow reports events; `None` unless the flow is open.
    pub fn source_of_flow(&self, flow: FlowId, side: Side) -> Option<EventSource> {
        let index = self.index_of(flow, side)?;
        Some(EventSource(self.agents.get(index as usize)?.target.0))
    }

    /// The number under which a link reports events.
    pub fn source_of_link(&self, link: LinkId) -> EventSource {
        EventSource(self.links[link.0 as usize].target.0)
    }

    /// The number under which this host's station reports events; `None` if it has none there.
    pub fn source_of_station(&self, medium: MediumId, host: HostId) -> Option<EventSource> {
        let slot = &self.media[medium.0 as usize];
        let station = slot.hosts.iter().position(|&other| other == host)?;
        Some(EventSource(slot.stations[station].0))
    }

    /// The part of the network that reports events under this number.
    pub fn kind_of_source(&self, source: EventSource) -> Option<SourceKind> {
        match *self.targets.get(source.0 as usize)? {
            EventTarget::Link(id) | EventTarget::TraceTick(id) => {
                Some(SourceKind::Link(LinkId(id)))
            }
            EventTarget::Merge(id) => Some(SourceKind::Link(LinkId(self.fast_path.link_of(id)?))),
            EventTarget::Medium(id) => Some(SourceKind::Medium(MediumId(id))),
            EventTarget::Station(id, station) => {
                let host = self.media[id as usize].hosts[station as usize];
                Some(SourceKind::Station(MediumId(id), host))
            }
            EventTarget::TunnelEnd(id, end) => {
                let side = [Side::Sender, Side::Receiver][end as usize];
                Some(SourceKind::Tunnel(TunnelId(id), side))
            }
            EventTarget::Agent(id) => {
                let slot = self.agents.get(id as usize)?;
                Some(SourceKind::Flow(slot.agent.flow(), slot.side))
            }
        }
    }
}
