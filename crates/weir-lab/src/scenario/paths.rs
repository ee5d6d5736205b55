//! Paths between hosts: the links from one host to another, and their MTU.

use super::model::{Direction, Flow, Link, Scenario, Tunnel};
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
    /// A direction of a tunnel.
    Tunnel {
        /// The tunnel.
        tunnel: &'a Tunnel,
        /// Whether its first host sends.
        forward: bool,
        /// The largest packet inside in octets, including the IP header.
        mtu: u32,
    },
}

impl<'a> Hop<'a> {
    /// The direction of the link; `None` over an 802.11 medium or a tunnel.
    pub(crate) fn direction(&self) -> Option<&'a Direction> {
        match self.over {
            HopMedium::Wire { link, forward } if forward => Some(&link.forward),
            HopMedium::Wire { link, .. } => Some(&link.backward),
            HopMedium::Air(_) | HopMedium::Tunnel { .. } => None,
        }
    }

    /// The link; `None` over an 802.11 medium or a tunnel.
    pub(crate) const fn link(&self) -> Option<&'a Link> {
        match self.over {
            HopMedium::Wire { link, .. } => Some(link),
            HopMedium::Air(_) | HopMedium::Tunnel { .. } => None,
        }
    }

    /// The name of its trace, if it is a direction of a link or a tunnel.
    pub(crate) fn trace_name(&self) -> Option<String> {
        match self.over {
            HopMedium::Wire { link, forward } => {
                let [there, back] = link.trace_names();
                Some(if forward { there } else { back })
            }
            HopMedium::Tunnel {
                tunnel, forward, ..
            } => {
                let [there, back] = tunnel.trace_names();
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
            HopMedium::Tunnel { mtu, .. } => mtu,
        }
    }
}

/// The hosts, and for each the hops that begin there, with the hosts at which they end. Hosts are
/// represented by indices, so that searches among thousands of hosts do not compare names.
pub(crate) struct Graph<'a> {
    hosts: BTreeMap<&'a str, usize>,
    hops: Vec<Vec<(usize, Hop<'a>)>>,
    /// For each host the number of its last hops that are directions of tunnels.
    tunnels: Vec<usize>,
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
            tunnels: Vec::new(),
        };
        let mut count = 0;
        for (number, (near, far, over)) in wires.chain(air).enumerate() {
            let [near, far] = [near, far].map(|name| graph.place_of(name));
            graph.hops[near].push((far, Hop { number, over }));
            count = number + 1;
        }
        for tunnel in &scenario.tunnels {
            graph.add_tunnel(tunnel, &mut count);
        }
        graph
    }

    /// Adds both directions of a tunnel behind the other hops of its hosts.
    fn add_tunnel(&mut self, tunnel: &'a Tunnel, count: &mut usize) {
        let mtu = self.outer_mtu(tunnel).unwrap_or(0);
        let mtu = tunnel.inner_mtu(mtu);
        let [first, second] = tunnel.between.each_ref().map(String::as_str);
        for (near, far, forward) in [(first, second, true), (second, first, false)] {
            let [near, far] = [near, far].map(|name| self.place_of(name));
            let over = HopMedium::Tunnel {
                tunnel,
                forward,
                mtu,
            };
            let number = *count;
            self.hops[near].push((far, Hop { number, over }));
            self.tunnels[near] += 1;
            *count += 1;
        }
    }

    /// The index of a host, which is added if it is new.
    fn place_of(&mut self, name: &'a str) -> usize {
        *self.hosts.entry(name).or_insert_with(|| {
            self.hops.push(Vec::new());
            self.tunnels.push(0);
            self.hops.len() - 1
        })
    }

    /// The path with the fewest hops, and behind each tunnel on it the path that carries it;
    /// `None` if there is no path.
    pub(crate) fn path(&self, from: &str, to: &str) -> Option<Vec<Hop<'a>>> {
        let mut all = Vec::new();
        for hop in self.find(from, to, true)? {
            all.push(hop);
            if let HopMedium::Tunnel {
                tunnel, forward, ..
            } = hop.over
            {
                let [first, second] = &tunnel.between;
                let ends = if forward {
                    [first, second]
                } else {
                    [second, first]
                };
                all.extend(self.outer_path(ends[0], ends[1])?);
            }
        }
        Some(all)
    }

    /// The path of the packets of an outer connection, which uses no tunnel.
    pub(crate) fn outer_path(&self, from: &str, to: &str) -> Option<Vec<Hop<'a>>> {
        self.find(from, to, false)
    }

    /// The path with the fewest hops; of equal ones that over a tunnel, if tunnels may be used.
    fn find(&self, from: &str, to: &str, over_tunnels: bool) -> Option<Vec<Hop<'a>>> {
        if from == to {
            return Some(Vec::new());
        }
        let [from, to] = [from, to].map(|name| self.hosts.get(name).copied());
        let (from, to) = (from?, to?);
        let mut came_by: Vec<Option<(usize, Hop<'a>)>> = vec![None; self.hops.len()];
        let mut front = VecDeque::from([from]);
        while came_by[to].is_none() {
            let host = front.pop_front()?;
            let hops = &self.hops[host];
            let (wires, tunnels) = hops.split_at(hops.len() - self.tunnels[host]);
            let tunnels = tunnels.iter().filter(|_| over_tunnels);
            for &(other, hop) in tunnels.chain(wires) {
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
        let path = self.find(from, to, true)?;
        Some(path.iter().map(Hop::mtu).min().unwrap_or(u32::MAX))
    }

    /// The largest packet of a tunnel's outer connection that passes in both directions; `None` if
    /// there is no path.
    pub(crate) fn outer_mtu(&self, tunnel: &Tunnel) -> Option<u32> {
        let [from, to] = &tunnel.between;
        let there = self.outer_path(from, to)?;
        let back = self.outer_path(to, from)?;
        there.iter().chain(&back).map(Hop::mtu).min()
    }

    /// The largest packet that passes in both directions between the hosts of a flow, before and
    /// after its handovers, in octets, including the IP header.
    pub(crate) fn mtu_both_ways(&self, flow: &Flow) -> u32 {
        let both = flow.ways().flat_map(|[from, to]| [(from, to), (to, from)]);
        let mtus = both.filter_map(|(from, to)| self.path_mtu(from, to));
        mtus.min().unwrap_or(0)
    }
}
