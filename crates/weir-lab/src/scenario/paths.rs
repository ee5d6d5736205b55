//! The ways between hosts: which links lead from one to another, and what fits through them.

use super::model::{Direction, Flow, Link, Scenario};
use super::wifi::Station;
use std::collections::{BTreeMap, VecDeque};

/// One hop of a way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop<'a> {
    /// Its place among all hops of the scenario.
    pub(crate) number: usize,
    /// What carries the packets.
    pub(crate) over: HopMedium<'a>,
}

/// What carries the packets of a hop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HopMedium<'a> {
    /// A direction of a link.
    Wire {
        /// The link.
        link: &'a Link,
        /// Whether its first host sends.
        forward: bool,
    },
    /// An 802.11 medium, by the station that sends.
    Air(&'a Station),
}

impl<'a> Hop<'a> {
    /// The direction of a link that it is; `None` on the air.
    pub(crate) fn direction(&self) -> Option<&'a Direction> {
        match self.over {
            HopMedium::Wire { link, forward } if forward => Some(&link.forward),
            HopMedium::Wire { link, .. } => Some(&link.backward),
            HopMedium::Air(_) => None,
        }
    }

    /// The name of its trace if it is a direction of a link.
    pub(crate) fn trace_name(&self) -> Option<String> {
        match self.over {
            HopMedium::Wire { link, forward } => {
                let [there, back] = link.trace_names();
                Some(if forward { there } else { back })
            }
            HopMedium::Air(_) => None,
        }
    }

    /// The largest packet that it carries, in octets from the IP header on.
    pub(crate) fn mtu(&self) -> u32 {
        match self.over {
            HopMedium::Wire { .. } => self.direction().map_or(0, |direction| direction.mtu),
            HopMedium::Air(station) => station.config.mtu,
        }
    }
}

/// For each host the hops that begin there, with the hosts at which they end.
pub(crate) struct Graph<'a>(BTreeMap<&'a str, Vec<(&'a str, Hop<'a>)>>);

impl<'a> Graph<'a> {
    /// The hosts of a scenario.
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
        let mut hops: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (number, (near, far, over)) in wires.chain(air).enumerate() {
            hops.entry(near)
                .or_default()
                .push((far, Hop { number, over }));
        }
        Self(hops)
    }

    /// The way with the fewest hops; `None` without a way.
    pub(crate) fn path(&self, from: &'a str, to: &'a str) -> Option<Vec<Hop<'a>>> {
        let mut came_by = BTreeMap::from([(from, None)]);
        let mut front = VecDeque::from([from]);
        while !came_by.contains_key(to) {
            let host = front.pop_front()?;
            for &(other, hop) in self.0.get(host).into_iter().flatten() {
                came_by.entry(other).or_insert_with(|| {
                    front.push_back(other);
                    Some((host, hop))
                });
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        while let Some((before, hop)) = came_by.get(at).copied().flatten() {
            path.push(hop);
            at = before;
        }
        path.reverse();
        Some(path)
    }

    /// The smallest MTU of the way between two hosts; `None` without a way.
    pub(crate) fn path_mtu(&self, from: &'a str, to: &'a str) -> Option<u32> {
        let path = self.path(from, to)?;
        Some(path.iter().map(Hop::mtu).min().unwrap_or(u32::MAX))
    }
}

impl Scenario {
    /// The largest packet that passes both ways between the hosts of a flow, in octets from the
    /// IP header on.
    pub(crate) fn path_mtu(&self, flow: &Flow) -> u32 {
        let graph = Graph::of(self);
        let there = graph.path_mtu(&flow.from, &flow.to);
        let back = graph.path_mtu(&flow.to, &flow.from);
        there.into_iter().chain(back).min().unwrap_or(0)
    }
}
