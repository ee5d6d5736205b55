//! The ways between hosts, and what fits through them.

use super::model::{Flow, Scenario};
use std::collections::{BTreeMap, BTreeSet};

/// The hosts that are one link away from each, with the link's MTU.
pub(super) type Neighbours<'a> = BTreeMap<&'a str, Vec<(&'a str, u32)>>;

/// The hosts that are one link away from each, with the link's MTU.
pub(super) fn neighbours(scenario: &Scenario) -> Neighbours<'_> {
    let mut neighbours = Neighbours::new();
    for link in &scenario.links {
        let [first, second] = &link.between;
        let (there, back) = (link.forward.mtu, link.backward.mtu);
        neighbours.entry(first).or_default().push((second, there));
        neighbours.entry(second).or_default().push((first, back));
    }
    for wifi in &scenario.wifi {
        for (near, far) in wifi.pairs() {
            let mtu = near.config.mtu;
            neighbours
                .entry(&near.host)
                .or_default()
                .push((&far.host, mtu));
        }
    }
    neighbours
}

impl Scenario {
    /// The largest packet that passes both ways between the hosts of a flow, in octets from the
    /// IP header on.
    pub(crate) fn path_mtu(&self, flow: &Flow) -> u32 {
        let neighbours = neighbours(self);
        let there = path_mtu(&neighbours, &flow.from, &flow.to);
        let back = path_mtu(&neighbours, &flow.to, &flow.from);
        there.into_iter().chain(back).min().unwrap_or(0)
    }
}

/// The smallest MTU of the way with the fewest hops; `None` without a way.
pub(super) fn path_mtu(neighbours: &Neighbours<'_>, from: &str, to: &str) -> Option<u32> {
    let mut seen = BTreeSet::from([from]);
    let mut front = vec![(from, u32::MAX)];
    while !front.is_empty() {
        let mut next = Vec::new();
        for (host, mtu) in front {
            if host == to {
                return Some(mtu);
            }
            for &(other, link) in neighbours.get(host).into_iter().flatten() {
                if seen.insert(other) {
                    next.push((other, mtu.min(link)));
                }
            }
        }
        front = next;
    }
    None
}
