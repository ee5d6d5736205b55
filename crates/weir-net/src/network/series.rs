//! Flows that are opened during the run and removed when they are done.
//!
//! Their numbers, including those in the event queue, are reserved before the run, and their starts
//! count as set at its beginning, so that the run is the same as if all flows had existed from the
//! start.

use super::build::FULL;
use super::{ABSENT, EventTarget, FlowConfig, Network, NetworkError, Side};
use crate::agent::Agent;
use crate::event_queue::TargetId;
use std::collections::BTreeSet;
use std::ops::Range;
use weir_proto::packet::{FlowId, HostId};
use weir_proto::time::Instant;

/// Flows between the same two hosts.
#[derive(Debug)]
pub(super) struct Series {
    flows: Range<u32>,
    source: HostId,
    target: HostId,
    /// The number in the event queue of the first end of the first flow; those of all other ends
    /// follow.
    first_target: TargetId,
    /// The first links of senders and of receivers.
    pub(super) first_links: [Option<u32>; 2],
}

impl Series {
    /// Source and destination of the packets of senders and of receivers.
    pub(super) fn ways(&self) -> [(HostId, HostId); 2] {
        [(self.source, self.target), (self.target, self.source)]
    }

    /// The ends of all of its flows, open or not, each with its host.
    fn targets(&self) -> impl Iterator<Item = (HostId, TargetId)> + use<> {
        let hosts = [self.source, self.target];
        let ends = 2 * (self.flows.end - self.flows.start);
        let first = self.first_target.0;
        (0..ends).map(move |end| (hosts[end as usize % 2], TargetId(first + end)))
    }

    /// True if this is an end of one of its flows.
    fn contains(&self, target: TargetId) -> bool {
        let ends = 2 * (self.flows.end - self.flows.start);
        (self.first_target.0..self.first_target.0 + ends).contains(&target.0)
    }
}

impl Network {
    /// The ends of all flows of all series, open or not, each with its host.
    pub(super) fn reserved_targets(&self) -> impl Iterator<Item = (HostId, TargetId)> {
        self.series.iter().flat_map(Series::targets)
    }

    /// True if this is an end of a flow of a series.
    pub(super) fn is_reserved(&self, target: TargetId) -> bool {
        self.series.iter().any(|series| series.contains(target))
    }

    /// Reserves the numbers of this many flows between two hosts; `name` is for errors. Each is
    /// added by [`open_flow`](Self::open_flow).
    ///
    /// # Errors
    /// If a host does not exist, or both ends are at the same host.
    pub fn reserve_flows(
        &mut self,
        name: &str,
        ends: [HostId; 2],
        count: u32,
    ) -> Result<Range<u32>, NetworkError> {
        if let Some(wrong) = self.wrong_ends(ends) {
            return Err(NetworkError::of_flow(name, wrong));
        }
        if !self.has_room_for(u64::from(count)) {
            return Err(NetworkError::of_flow(name, FULL));
        }
        let first = self.flows.len() as u32;
        self.flows.reserve(count as usize);
        for _ in 0..count {
            self.add_closed_flow(ends);
        }
        let first_target = TargetId(self.targets.len() as u32);
        for _ in 0..2 * count {
            self.add_target(EventTarget::Agent(ABSENT));
        }
        let flows = first..first + count;
        let [source, target] = ends;
        self.series.push(Series {
            flows: flows.clone(),
            source,
            target,
            first_target,
            first_links: [None; 2],
        });
        self.stale_routes = true;
        Ok(flows)
    }

    /// Adds a flow whose number was reserved, between the same hosts. The events at its start come
    /// before all other events of that instant that were set during the run.
    ///
    /// # Errors
    /// If its number was not reserved for these hosts, the flow is already open, or its start has
    /// passed.
    pub fn open_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), NetworkError> {
        let error = |wrong| Err(NetworkError::of_flow(&config.name, wrong));
        let index = self
            .series
            .partition_point(|series| series.flows.end <= flow.0);
        let ends = (config.source, config.target);
        let known = self.series.get(index);
        let known =
            known.filter(|series| series.flows.contains(&flow.0) && series.ways()[0] == ends);
        let Some(series) = known else {
            return error("its number is not reserved for these hosts");
        };
        if self.flows[flow.0 as usize].agents != [ABSENT; 2] {
            return error("it is open");
        }
        if config.start < self.now {
            return error("its start has passed");
        }
        let first_links = series.first_links;
        let first = series.first_target.0 + 2 * (flow.0 - series.flows.start);
        let agents = self.agents_of(flow, config).into_iter().zip(first_links);
        for (target, ((agent, side), first_link)) in (first..).map(TargetId).zip(agents) {
            let at = agent.poll_timeout();
            self.add_agent(agent, side, target);
            if let Some(slot) = self.agents.last_mut() {
                slot.first_link = first_link;
            }
            self.queue.set(target, at, Instant::ZERO);
        }
        Ok(())
    }

    /// Those of these flows that are idle: no timer runs at either end, except that of a lingering
    /// end, and no packet is in the network. None in a network with ports, since packets may be
    /// outside.
    pub fn idle_flows(&self, flows: impl Iterator<Item = FlowId>) -> Vec<FlowId> {
        if self.ports.any() {
            return Vec::new();
        }
        let idle = |side, flow| {
            let agent = self.agent(flow, side);
            agent.is_some_and(Agent::is_quiet)
        };
        let quiet = |flow: &FlowId| idle(Side::Sender, *flow) && idle(Side::Receiver, *flow);
        let mut quiet: Vec<FlowId> = flows.filter(quiet).collect();
        if !quiet.is_empty() {
            let under_way: BTreeSet<FlowId> = self.pool.flows().collect();
            quiet.retain(|flow| !under_way.contains(flow));
        }
        quiet
    }

    /// Removes the ends of a flow; its number stays taken. Packets that still arrive for it are
    /// counted as unreachable.
    pub fn retire_flow(&mut self, flow: FlowId) {
        let Some(closed) = self.flows.get_mut(flow.0 as usize) else {
            return;
        };
        closed.name = String::new();
        for end in 0..2 {
            let index = std::mem::replace(&mut self.flows[flow.0 as usize].agents[end], ABSENT);
            if index == ABSENT {
                continue;
            }
            let gone = self.agents.swap_remove(index as usize);
            self.traced_agents -= usize::from(gone.traced);
            self.retired = self.retired.plus(gone.agent.counters());
            self.queue.set(gone.target, Instant::FAR_FUTURE, self.now);
            self.targets[gone.target.0 as usize] = EventTarget::Agent(ABSENT);
            // The last agent of the list has been moved to its place.
            let Some(moved) = self.agents.get(index as usize) else {
                continue;
            };
            self.targets[moved.target.0 as usize] = EventTarget::Agent(index);
            let flow = &mut self.flows[moved.agent.flow().0 as usize];
            flow.agents[usize::from(moved.side == Side::Receiver)] = index;
        }
    }

    /// Flows whose ends exist.
    pub fn open_flows(&self) -> usize {
        self.agents.len() / 2
    }
}
