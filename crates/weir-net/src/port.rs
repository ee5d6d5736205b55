//! Ports: where packets leave a network for a world outside it, and come in from there.
//!
//! A port belongs to a host. What arrives for its host, and is for no flow's end there, leaves
//! through it; so does what a flow's end at its host sends, if no link leads to the peer. A driver
//! in real time takes it with [`Network::poll_port`] and brings packets with [`inject`].
//! The links between are those of the simulator.

use crate::network::{Network, NetworkError};
use crate::simulator::{Stuck, enter_network};
use std::collections::{BTreeMap, VecDeque};
use weir_proto::event::Probe;
use weir_proto::packet::{HostId, Packet};
use weir_proto::time::Instant;

/// The ports of a network.
#[derive(Debug, Default)]
pub(crate) struct Ports {
    hosts: Vec<HostId>,
    /// From a host with a port to another: the first link.
    first_links: BTreeMap<(HostId, HostId), u32>,
    /// Packets on their way out, each at the host through whose port it leaves.
    leaving: VecDeque<(HostId, Packet)>,
}

impl Ports {
    pub(crate) fn has(&self, host: HostId) -> bool {
        self.hosts.contains(&host)
    }

    /// All ways from a port to another.
    pub(crate) fn pairs(&self) -> Vec<(HostId, HostId)> {
        let others = |&from: &HostId| self.hosts.iter().map(move |&to| (from, to));
        let all = self.hosts.iter().flat_map(others);
        all.filter(|(from, to)| from != to).collect()
    }

    /// The first links of these ways, `None` for those that do not exist.
    pub(crate) fn set_routes(&mut self, pairs: Vec<(HostId, HostId)>, links: &[Option<u32>]) {
        let known = pairs.into_iter().zip(links);
        self.first_links = known
            .filter_map(|(pair, link)| Some((pair, (*link)?)))
            .collect();
    }

    pub(crate) fn first_link(&self, from: HostId, to: HostId) -> Option<u32> {
        self.first_links.get(&(from, to)).copied()
    }

    pub(crate) fn leave(&mut self, host: HostId, packet: Packet) {
        self.leaving.push_back((host, packet));
    }
}

impl Network {
    /// Gives a host a port.
    ///
    /// # Errors
    /// If the host does not exist.
    pub fn add_port(&mut self, host: HostId) -> Result<(), NetworkError> {
        if !self.has_host(host) {
            return Err(NetworkError::new("a port's host does not exist"));
        }
        if !self.ports.has(host) {
            self.ports.hosts.push(host);
            self.invalidate_routes();
        }
        Ok(())
    }

    /// The next packet that leaves, and the host through whose port.
    pub fn poll_port(&mut self) -> Option<(HostId, Packet)> {
        self.ports.leaving.pop_front()
    }

    /// When the next event is due; `None` while nothing is.
    pub fn next_event(&mut self) -> Option<Instant> {
        self.queue.peek().map(|(at, _)| at)
    }
}

/// A packet comes in through the port of the host that its header names as its source, at the
/// time up to which the run has come. For a host that it cannot reach it is lost.
///
/// # Errors
/// [`Stuck`] as [`simulate`](crate::simulate).
pub fn inject(network: &mut Network, packet: Packet, probe: &mut dyn Probe) -> Result<(), Stuck> {
    network.update_routes();
    enter_network(network, packet, probe)
}
