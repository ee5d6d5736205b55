//! The names and counters of the links, media and flows of a network.

use super::{ABSENT, LinkId, LinkSlot, MediumId, Network, Side};
use crate::agent::{Agent, AgentCounters};
use crate::app::AppReport;
use crate::delay_meter::{DelayStatistics, IntervalDelays};
use crate::link::LinkCounters;
use crate::wifi::StationCounters;
use weir_proto::endpoint::{CountedFrom, Statistics};
use weir_proto::packet::{FlowId, HostId};
use weir_proto::time::{Duration, Instant};

/// Packets that a flow sent into the network and received from it, and those that were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounters {
    /// At the sender.
    pub sender: AgentCounters,
    /// At the receiver.
    pub receiver: AgentCounters,
    /// Packets of both directions dropped by links, media and tunnels.
    pub packets_dropped: u64,
    /// Packets of both directions without a route or whose TTL expired.
    pub packets_unreachable: u64,
}

impl Network {
    /// Packets in links and their queues.
    pub fn packets_in_network(&self) -> usize {
        self.pool.len()
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

    /// The current counters of this host's station on a medium; `None` if it has none there.
    pub fn station_counters(&mut self, medium: MediumId, host: HostId) -> Option<StationCounters> {
        let slot = &mut self.media[medium.0 as usize];
        let station = slot.hosts.iter().position(|&other| other == host)?;
        Some(slot.medium.counters(self.now, station))
    }

    /// Packets that wait or are transmitted in a medium.
    pub fn packets_in_medium(&self, medium: MediumId) -> u64 {
        self.media[medium.0 as usize].medium.packets_queued()
    }

    /// The name of a flow; empty unless it is open.
    pub fn flow_name(&self, flow: FlowId) -> &str {
        &self.flows[flow.0 as usize].name
    }

    /// The source and target hosts of a flow.
    pub fn ends_of_flow(&self, flow: FlowId) -> (HostId, HostId) {
        let flow = &self.flows[flow.0 as usize];
        (flow.source, flow.target)
    }

    /// The current counters of a link.
    pub fn link_counters(&mut self, link: LinkId) -> LinkCounters {
        let progress = self.progress();
        // Starts transmissions that are due first, so that the copies that they create are counted.
        self.links[link.0 as usize]
            .link
            .handle_timeout(progress.last());
        self.make_copies(link.0);
        let counters = self.links[link.0 as usize].link.counters(progress);
        self.discard_dropped(link.0);
        counters
    }

    /// The current counters of a flow.
    pub fn flow_counters(&self, flow: FlowId) -> FlowCounters {
        let dropped = |slot: &LinkSlot| slot.link.packets_dropped_of(flow);
        FlowCounters {
            sender: self.agent_counters(flow, Side::Sender),
            receiver: self.agent_counters(flow, Side::Receiver),
            packets_dropped: self.links.iter().map(dropped).sum::<u64>()
                + self
                    .media
                    .iter()
                    .map(|slot| slot.medium.packets_dropped_of(flow))
                    .sum::<u64>()
                + self.packets_dropped_in_tunnels(flow),
            packets_unreachable: self.flows[flow.0 as usize].packets_unreachable,
        }
    }

    /// The sum of the counters of all agents that were removed.
    pub fn retired_counters(&self) -> AgentCounters {
        self.retired
    }

    fn agent_counters(&self, flow: FlowId, side: Side) -> AgentCounters {
        let agent = self.agent(flow, side);
        agent.map(Agent::counters).unwrap_or_default()
    }

    /// The endpoint's own counters; zeros unless the flow is open.
    pub fn statistics(&self, flow: FlowId, side: Side) -> Statistics {
        let agent = self.agent(flow, side);
        agent.map(Agent::statistics).unwrap_or_default()
    }

    /// The report of the application at this end up to now; empty unless the flow is open.
    pub fn app_report(&self, flow: FlowId, side: Side) -> AppReport<'_> {
        let agent = self.agent(flow, side);
        agent.map_or_else(AppReport::default, |agent| agent.app().report(self.now))
    }

    /// True once the application at this end will neither write nor read any more.
    pub fn app_done(&self, flow: FlowId, side: Side) -> bool {
        let agent = self.agent(flow, side);
        agent.is_none_or(|agent| agent.app().done())
    }

    /// The round-trip time of a flow without queueing and transmission times: propagation, access
    /// links and hosts. 802.11 media count as zero, jitter with its minimum. `None` without a
    /// route, if the route leads through a port, or unless the flow is open.
    pub fn base_rtt(&mut self, flow: FlowId) -> Option<Duration> {
        self.update_routes();
        let ends = [Side::Sender, Side::Receiver];
        let mut sum = Duration::ZERO;
        for side in ends {
            sum += self.agent(flow, side)?.round_trip_delay() + self.base_delay(flow, side)?;
        }
        Some(sum)
    }

    /// The propagation delay of the route from this end to the other.
    fn base_delay(&self, flow: FlowId, side: Side) -> Option<Duration> {
        let slot = self.agents.get(self.index_of(flow, side)? as usize)?;
        let target = slot.agent.peer();
        let mut next = slot.first_link;
        let mut delay = Duration::ZERO;
        // A route visits each host at most once.
        for _ in 0..self.hosts.len() {
            let id = next? as usize;
            let at = if let Some(slot) = self.links.get(id) {
                delay += slot.link.propagation_delay();
                slot.to
            } else if let Some((_, hop)) = self.medium_hops.get(id - self.links.len()) {
                hop.to
            } else {
                let direction = id - self.links.len() - self.medium_hops.len();
                let entry = &self.agents[self.tunnel_entry(direction)? as usize];
                // Outer connections use no tunnel, so this ends.
                delay += self.base_delay(entry.agent.flow(), entry.side)?;
                entry.agent.peer()
            };
            if at == target {
                return Some(delay);
            }
            next = self.routes.next(at, target);
        }
        None
    }

    /// Counts loss events of the flow only for packets sent from `at` on, which is not in the
    /// future.
    pub fn count_loss_events_from(&mut self, flow: FlowId, at: Instant) {
        let sender = self.statistics(flow, Side::Sender);
        let from = CountedFrom {
            at,
            packets_sent: sender.packets_sent,
        };
        for side in [Side::Sender, Side::Receiver] {
            if let Some(agent) = self.agent_mut(flow, side) {
                agent.count_loss_events_from(from);
            }
        }
    }

    /// Starts or restarts the measurement of the delays of packets that arrive at this end.
    pub fn measure_delays(&mut self, flow: FlowId, side: Side) {
        if let Some(agent) = self.agent_mut(flow, side) {
            agent.measure_delays();
        }
    }

    /// Ends the measurement: the delays of the packets that have arrived at this end; `None` if it
    /// was not running.
    pub fn take_delays(&mut self, flow: FlowId, side: Side) -> Option<DelayStatistics> {
        self.agent_mut(flow, side)?.take_delays()
    }

    /// The delays of the packets that arrived at this end since the last call.
    pub fn take_interval_delays(&mut self, flow: FlowId, side: Side) -> IntervalDelays {
        let agent = self.agent_mut(flow, side);
        agent.map_or_else(IntervalDelays::default, Agent::take_interval_delays)
    }

    /// The index of the agent at this end; `None` unless the flow is open.
    pub(super) fn index_of(&self, flow: FlowId, side: Side) -> Option<u32> {
        let flow = self.flows.get(flow.0 as usize)?;
        let index = flow.agents[usize::from(side == Side::Receiver)];
        (index != ABSENT).then_some(index)
    }

    fn agent_mut(&mut self, flow: FlowId, side: Side) -> Option<&mut Agent> {
        let index = self.index_of(flow, side)?;
        Some(&mut self.agents.get_mut(index as usize)?.agent)
    }

    pub(super) fn agent(&self, flow: FlowId, side: Side) -> Option<&Agent> {
        let index = self.index_of(flow, side)?;
        Some(&self.agents.get(index as usize)?.agent)
    }
}
