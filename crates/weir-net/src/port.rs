//! Ports: where packets leave the simulated network for a real one, and enter it from there.
//!
//! A port belongs to a host. A packet that arrives at its host and belongs to no flow's endpoint
//! there leaves through the port; so does a packet of an endpoint at that host if no link leads to
//! the peer. A real-time driver takes it with [`Network::poll_port`](crate::Network::poll_port) and
//! inserts packets with [`inject`](crate::inject).

use std::collections::{BTreeMap, VecDeque};
use weir_proto::packet::{HostId, Packet};

/// The ports of a network.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    hosts: Vec<HostId>,
    /// The first link from a host with a port to another host.
    first_links: BTreeMap<(HostId, HostId), u32>,
    /// Packets on their way out, each at the host through whose port it leaves.
    leaving: VecDeque<(HostId, Packet)>,
}

impl Ports {
    pub(crate) fn any(&self) -> bool {
        !self.hosts.is_empty()
    }

    pub(crate) fn has(&self, host: HostId) -> bool {
        self.hosts.contains(&host)
    }

    /// All routes from one port to another.
    pub(crate) fn pairs(&self) -> Vec<(HostId, HostId)> {
        let others = |&from: &HostId| self.hosts.iter().map(move |&to| (from, to));
        let all = self.hosts.iter().flat_map(others);
        all.filter(|(from, to)| from != to).collect()
    }

    /// Sets the first links of these routes, `None` where no route exists.
    pub(crate) fn set_routes(&mut self, pairs: Vec<(HostId, HostId)>, links: &[Option<u32>]) {
        let known = pairs.into_iter().zip(links);
        self.first_links = known
            .filter_map(|(pair, link)| Some((pair, (*link)?)))
            .collect();
    }

    pub(crate) fn first_link(&self, from: HostId, to: HostId) -> Option<u32> {
        self.first_links.get(&(from, to)).copied()
    }

    /// Adds a port to a host; false if it already has one.
    pub(crate) fn add(&mut self, host: HostId) -> bool {
        let new = !self.has(host);
        if new {
            self.hosts.push(host);
        }
        new
    }

    pub(crate) fn leave(&mut self, host: HostId, packet: Packet) {
        self.leaving.push_back((host, packet));
    }

    pub(crate) fn poll(&mut self) -> Option<(HostId, Packet)> {
        self.leaving.pop_front()
    }
}
