//! Paths between hosts: the links from one host to another, and their MTU.

use super::model::{Direction, Flow, Link, Scenario};
use super::wifi::Station;
use std::collections::{BTreeMap, VecDeque};

/// One hop of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop<'a> {
    /// Its index among all hops of the scenario.
    pub(crate) number: usize,
    /// The link or medium that carries the packets.
    pub(crate) over: HopMedium<'a>,
}

/// The link or medium of a hop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HopMedium<'a> {
    /// A direction of a link.
    Wire {
        /// The link.
        link: &'a Link,
        /// Whether its first host sends.
        forward: bool,
    },
    /// An 802.11 medium, with the sending station.
    Air(&'a Station),
}

impl<'a> Hop<'a> {
    /// The direction of the link; `None` over an 802.11 medium.
    pub(crate) fn direction(&self) -> Option<&'a Direction> {
        match self.over {
            HopMedium::Wire { link, forward } if forward => Some(&link.forward),
            HopMedium::Wire { link, .. } => Some(&link.backward),
            HopMedium::Air(_) => None,
        }
    }

    /// The link; `None` over an 802.11 medium.
    pub(crate) const fn link(&self) -> Option<&'a Link> {
        match self.over {
            HopMedium::Wire { link, .. } => Some(link),
            HopMedium::Air(_) => None,
        }
    }

    /// The name of its trace, if it is a direction of a link.
    pub(crate) fn trace_name(&self) -> Option<String> {
        match self.over {
            HopMedium::Wire { link, forward } => {
                let [there, back] = link.trace_names();
                Some(if forward { there } else { back })
            }
            HopMedium::Air(_) => None,
        }
    }

    /// The MTU of the hop in octets, including the IP header.
    pub(crate) fn mtu(&self) -> u32 {
        match self.over {
            HopMedium::Wire { .. } => self.direction().map_or(0, |direction| direction.mtu),
            HopMedium::Air(station) => station.config.mtu,
        }
    }
}

/// The hosts, and for each the hops that begin there, with the hosts at which they end. Hosts are
/// represented by indices, so that searches among thousands of hosts do not compare names.
pub(crate) struct Graph<'a> {
    hosts: BTreeMap<&'a str, usize>,
    hops: Vec<Vec<(usize, Hop<'a>)>>,
}

impl<'a> Graph<'a> {
    /// The graph of a scenario.
    pub(crate) fn of(scenario: &'a Scenario) -> Self {
        let wires = scenario.links.iter().flat_map(|link| {
            let [first, second] = link.between.each_ref().map(String::as_str);
            [(first, second, true), (second, first, false)]
                .map(|(near, far, forward)| (near, far, HopMedium::Wire { link, forward }))
        });
        let air = scenario.wifi.iter().flat_map(|wifi| {
            let pairs = wifi.pairs();
            pairs.map(|(near, far)| (near.host.as_str(), far.host.as_str(), HopMedium::Air(near)))
        });
        let mut graph = Self {
            hosts: BTreeMap::new(),
            hops: Vec::new(),
        };
        for (number, (near, far, over)) in wires.chain(air).enumerate() {
            let [near, far] = [near, far].map(|name| graph.place_of(name));
            graph.hops[near].push((far, Hop { number, over }));
        }
        graph
    }

    /// The index of a host, which is added if it is new.
    fn place_of(&mut self, name: &'a str) -> usize {
        *self.hosts.entry(name).or_insert_with(|| {
            self.hops.push(Vec::new());
            self.hops.len() - 1
        })
    }

    /// The path with the fewest hops; `None` if there is no path.
    pub(crate) fn path(&self, from: &str, to: &str) -> Option<Vec<Hop<'a>>> {
        if from == to {
            return Some(Vec::new());
        }
        let [from, to] = [from, to].map(|name| self.hosts.get(name).copied());
        let (from, to) = (from?, to?);
        let mut came_by: Vec<Option<(usize, Hop<'a>)>> = vec![None; self.hops.len()];
        let mut front = VecDeque::from([from]);
        while came_by[to].is_none() {
            let host = front.pop_front()?;
            for &(other, hop) in &self.hops[host] {
                if came_by[other].is_none() && other != from {
                    came_by[other] = Some((host, hop));
                    front.push_back(other);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        while let Some((before, hop)) = came_by[at] {
            path.push(hop);
            at = before;
        }
        path.reverse();
        Some(path)
    }

    /// The smallest MTU of the path between two hosts; `None` if there is no path.
    pub(crate) fn path_mtu(&self, from: &str, to: &str) -> Option<u32> {
        let path = self.path(from, to)?;
        Some(path.iter().map(Hop::mtu).min().unwrap_or(u32::MAX))
    }

    /// The largest packet that passes in both directions between the hosts of a flow, before and
    /// after its handovers, in octets, including the IP header.
    pub(crate) fn mtu_both_ways(&self, flow: &Flow) -> u32 {
        let [client, server] = flow.client_and_server();
        let moved = flow.handovers.iter().filter_map(|of| of.to.as_deref());
        let clients = moved.chain([client]);
        let both = |client| [(client, server), (server, client)];
        let mtus = clients.flat_map(both);
        let mtus = mtus.filter_map(|(from, to)| self.path_mtu(from, to));
        mtus.min().unwrap_or(0)
    }
}
