//! Static routing: the shortest path in hops; among equal paths, over a tunnel, else over the link
//! that was added first.
//!
//! Routes are found by a breadth-first search backwards from each host that is the target of a
//! flow, or from its router if that is its only neighbour. Only hosts in the middle of a path get a
//! table, with one entry for each host; an agent stores its first link. Memory therefore grows with
//! routers times hosts.

use weir_proto::packet::HostId;

/// A link of the graph: from, to.
pub(crate) type Edge = (HostId, HostId);

const NONE: u32 = u32::MAX;

/// The links of a network.
pub(crate) struct Links<'a> {
    /// All links. Of equal paths the one over a tunnel is taken, else over the first link.
    pub(crate) all: &'a [Edge],
    /// The last ones of these are the directions of tunnels.
    pub(crate) tunnels: usize,
}

/// The next link for each forwarding host and each target.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    tables: Vec<Option<Box<[u32]>>>,
    feeders: Vec<Feeder>,
}

/// The feeders of a link, from all routes that lead over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    Nothing,
    Link(u32),
    /// An endpoint or a port.
    End,
    /// Several links, or links and endpoints or ports.
    Several,
}

impl Routes {
    /// Finds the routes of packets from the first host of each pair to the second. Also returns the
    /// first link for each pair. A pair that `carries` a tunnel uses no tunnel itself.
    pub(crate) fn find(
        hosts: usize,
        links: &Links<'_>,
        pairs: &[(HostId, HostId)],
        carries: impl Fn(usize) -> bool,
    ) -> (Self, Vec<Option<u32>>) {
        let mut routes = Self {
            tables: vec![None; hosts],
            feeders: vec![Feeder::Nothing; links.all.len()],
        };
        let mut first_links = vec![None; pairs.len()];
        let (outer, inner) = (0..pairs.len()).partition(|&pair| carries(pair));
        if links.tunnels > 0 {
            let wires = Links {
                all: &links.all[..links.all.len() - links.tunnels],
                tunnels: 0,
            };
            routes.add(&Graph::new(hosts, &wires), pairs, outer, &mut first_links);
        }
        routes.add(&Graph::new(hosts, links), pairs, inner, &mut first_links);
        (routes, first_links)
    }

    /// Adds the routes of some of the pairs over this graph.
    fn add(
        &mut self,
        graph: &Graph<'_>,
        pairs: &[(HostId, HostId)],
        mut by_gate: Vec<usize>,
        first_links: &mut [Option<u32>],
    ) {
        by_gate.sort_by_key(|&pair| graph.gate(pairs[pair].1));
        let mut tree = None;
        let mut way = Vec::new();
        for pair in by_gate {
            let (source, target) = pairs[pair];
            let gate = graph.gate(target);
            if tree.as_ref().is_none_or(|(found, _)| *found != gate) {
                tree = Some((gate, graph.towards(gate)));
            }
            if let Some((_, next)) = &tree {
                graph.find_way(source, target, next, &mut way);
                first_links[pair] = way.first().copied();
                self.enter(target, graph.links, &way);
            }
        }
    }

    /// Adds a route to the tables of the hosts between its ends.
    fn enter(&mut self, target: HostId, links: &[Edge], way: &[u32]) {
        let hosts = self.tables.len();
        if let Some(&first) = way.first() {
            let known = &mut self.feeders[first as usize];
            *known = match *known {
                Feeder::Nothing | Feeder::End => Feeder::End,
                _ => Feeder::Several,
            };
        }
        for pair in way.windows(2) {
            let (feeder, link) = (Feeder::Link(pair[0]), pair[1]);
            let known = &mut self.feeders[link as usize];
            *known = match *known {
                Feeder::Nothing => feeder,
                same if same == feeder => feeder,
                _ => Feeder::Several,
            };
            let at = links[link as usize].0;
            let table = self.tables[at.0 as usize]
                .get_or_insert_with(|| vec![NONE; hosts].into_boxed_slice());
            table[target.0 as usize] = link;
        }
    }

    /// The only link that feeds this link; `None` if endpoints or several links feed it.
    pub(crate) fn only_feeder(&self, link: u32) -> Option<u32> {
        match self.feeders.get(link as usize)? {
            Feeder::Link(feeder) => Some(*feeder),
            _ => None,
        }
    }

    /// True if this link has several feeders, at least one of which is a link.
    pub(crate) fn meet_at(&self, link: u32) -> bool {
        self.feeders.get(link as usize) == Some(&Feeder::Several)
    }

    /// True if a route leads over this link.
    pub(crate) fn is_used(&self, link: u32) -> bool {
        let feeder = self.feeders.get(link as usize);
        feeder.is_some_and(|feeder| *feeder != Feeder::Nothing)
    }

    /// True if endpoints or ports feed this link, and no links.
    pub(crate) fn is_entered_by_ends_alone(&self, link: u32) -> bool {
        self.feeders.get(link as usize) == Some(&Feeder::End)
    }

    /// The link by which this host forwards packets to `target`; `None` if there is no route.
    #[inline]
    pub(crate) fn next(&self, host: HostId, target: HostId) -> Option<u32> {
        let table = self.tables.get(host.0 as usize)?.as_ref()?;
        let link = *table.get(target.0 as usize)?;
        (link != NONE).then_some(link)
    }
}

/// A host with one link to another host and one link back, which forwards no packets.
#[derive(Clone, Copy)]
struct Stub {
    router: HostId,
    up: u32,
    down: u32,
}

/// The links, by the host where they end.
struct Graph<'a> {
    links: &'a [Edge],
    into: Vec<Vec<u32>>,
    stubs: Vec<Option<Stub>>,
}

impl<'a> Graph<'a> {
    fn new(hosts: usize, links: &Links<'a>) -> Self {
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); hosts];
        let mut out_of: Vec<Vec<u32>> = vec![Vec::new(); hosts];
        let Links {
            all: links,
            tunnels,
        } = *links;
        let wires = links.len() - tunnels;
        for number in (wires..links.len()).chain(0..wires) {
            let (from, to) = links[number];
            out_of[from.0 as usize].push(number as u32);
            into[to.0 as usize].push(number as u32);
        }
        let ends = out_of.iter().zip(&into);
        let stubs = ends.map(|ends| {
            let (&[up], &[down]) = (&ends.0[..], &ends.1[..]) else {
                return None;
            };
            let router = links[up as usize].1;
            (links[down as usize].0 == router).then_some(Stub { router, up, down })
        });
        let stubs = stubs.collect();
        Self { links, into, stubs }
    }

    /// The host through which every route to the target leads last, so that thousands of hosts
    /// behind one router need one search.
    fn gate(&self, target: HostId) -> HostId {
        self.stubs[target.0 as usize].map_or(target, |stub| stub.router)
    }

    /// The links of the route from the source to the target; none if there is no route. `next`
    /// leads to the target's gate.
    fn find_way(&self, source: HostId, target: HostId, next: &[Option<u32>], way: &mut Vec<u32>) {
        way.clear();
        if source == target {
            return;
        }
        let gate = self.gate(target);
        let mut at = source;
        if let Some(stub) = self.stubs[source.0 as usize] {
            way.push(stub.up);
            at = stub.router;
        }
        if at == target {
            return;
        }
        while at != gate {
            let Some(link) = next[at.0 as usize] else {
                return way.clear();
            };
            way.push(link);
            at = self.links[link as usize].1;
        }
        if let Some(stub) = self.stubs[target.0 as usize] {
            way.push(stub.down);
        }
    }

    /// For each host the first link of its shortest route to the target.
    fn towards(&self, target: HostId) -> Vec<Option<u32>> {
        let mut next = vec![None; self.into.len()];
        let mut reached = vec![target];
        let mut at = 0;
        while let Some(&host) = reached.get(at) {
            at += 1;
            for &link in &self.into[host.0 as usize] {
                let from = self.links[link as usize].0;
                if from != target && next[from.0 as usize].is_none() {
                    next[from.0 as usize] = Some(link);
                    reached.push(from);
                }
            }
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(hosts: usize, all: &[Edge], pairs: &[Edge]) -> (Routes, Vec<Option<u32>>) {
        let links = Links { all, tunnels: 0 };
        Routes::find(hosts, &links, pairs, |_| false)
    }

    fn edge(from: u32, to: u32) -> Edge {
        (HostId(from), HostId(to))
    }

    #[test]
    fn takes_the_way_with_fewest_hops_and_of_equals_the_first() {
        // 0 -> 4 -> 5 -> 3 is longer than 0 -> 1 -> 3 and 0 -> 2 -> 3; 6 is not connected.
        let links = [
            edge(0, 4),
            edge(4, 5),
            edge(5, 3),
            edge(0, 1),
            edge(0, 2),
            edge(2, 3),
            edge(1, 3),
        ];
        let pairs = [edge(0, 3), edge(4, 3), edge(6, 3), edge(3, 0)];
        let (routes, first) = find(7, &links, &pairs);
        // Link 5 (2 -> 3) was added before link 6 (1 -> 3), so the route leads over 2.
        assert_eq!(first, [Some(4), Some(1), None, None]);
        assert_eq!(routes.next(HostId(2), HostId(3)), Some(5));
        assert_eq!(routes.next(HostId(5), HostId(3)), Some(2));
        assert_eq!(
            routes.next(HostId(1), HostId(3)),
            None,
            "no flow passes there"
        );
        assert_eq!(routes.next(HostId(2), HostId(0)), None);
        assert_eq!(routes.next(HostId(3), HostId(3)), None);
        assert_eq!(routes.next(HostId(99), HostId(3)), None);
    }

    #[test]
    fn hosts_with_one_link_each_way_are_reached_through_their_router() {
        // 0 and 1 are connected to router 4, 2 to router 5; 3 has a link to 5 and none back.
        let links = [
            edge(0, 4),
            edge(4, 0),
            edge(1, 4),
            edge(4, 1),
            edge(4, 5),
            edge(5, 4),
            edge(5, 2),
            edge(2, 5),
            edge(3, 5),
        ];
        let cases = [
            (
                "over both routers",
                edge(0, 2),
                Some(0),
                vec![(4, 4), (5, 6)],
            ),
            ("behind one router", edge(0, 1), Some(0), vec![(4, 3)]),
            ("from a router", edge(5, 0), Some(5), vec![(4, 1)]),
            ("to a router", edge(2, 4), Some(7), vec![(5, 5)]),
            ("to its own router", edge(2, 5), Some(7), vec![]),
            ("from its own router", edge(4, 1), Some(3), vec![]),
            ("one way only", edge(3, 1), Some(8), vec![(5, 5), (4, 3)]),
            ("no way back", edge(1, 3), None, vec![]),
            ("to itself", edge(1, 1), None, vec![]),
        ];
        for (name, pair, first, between) in cases {
            let (routes, found) = find(6, &links, &[pair]);
            assert_eq!(found, [first], "{name}");
            for host in 0..6 {
                let link = between.iter().find(|(at, _)| *at == host).map(|way| way.1);
                assert_eq!(routes.next(HostId(host), pair.1), link, "{name} at {host}");
            }
        }
        let two = [edge(0, 1), edge(1, 0)];
        let (_, found) = find(2, &two, &[edge(0, 1), edge(1, 0)]);
        assert_eq!(found, [Some(0), Some(1)], "two hosts alone");
    }

    #[test]
    fn a_tunnel_goes_before_a_link_and_is_not_used_by_what_carries_it() {
        // 0 - 1 - 2 with a tunnel from 0 to 1 and one from 0 to 2.
        let all = [
            edge(0, 1),
            edge(1, 0),
            edge(1, 2),
            edge(2, 1),
            edge(0, 1),
            edge(1, 0),
            edge(0, 2),
            edge(2, 0),
        ];
        let links = Links {
            all: &all,
            tunnels: 4,
        };
        let pairs = [edge(0, 1), edge(0, 2), edge(0, 1), edge(0, 2), edge(2, 0)];
        let (routes, first) = Routes::find(3, &links, &pairs, |pair| pair < 2);
        assert_eq!(first, [Some(0), Some(0), Some(4), Some(6), Some(7)]);
        assert_eq!(routes.next(HostId(1), HostId(2)), Some(2));
    }
}
