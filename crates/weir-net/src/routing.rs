//! Static routing: the shortest path in hops; of equal ones, the link that was added first.
//!
//! A breadth-first search backwards from each host that is the target of some flow finds the
//! routes. Only hosts in the middle of a path get a table, with one entry for each host; an agent
//! stores its first link. Memory therefore grows with routers times hosts.

use weir_proto::packet::HostId;

/// A link of the graph: from, to.
pub(crate) type Edge = (HostId, HostId);

const NONE: u32 = u32::MAX;

/// For each host that forwards, and each target: the next link.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    tables: Vec<Option<Box<[u32]>>>,
}

impl Routes {
    /// Finds the ways for packets that go from the first host of each pair to the second.
    /// Beside the routes returns the first link for each pair.
    pub(crate) fn find(
        hosts: usize,
        links: &[Edge],
        pairs: &[(HostId, HostId)],
    ) -> (Self, Vec<Option<u32>>) {
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); hosts];
        for (number, (_, to)) in links.iter().enumerate() {
            into[to.0 as usize].push(number as u32);
        }
        let mut routes = Self {
            tables: vec![None; hosts],
        };
        let mut first_links = vec![None; pairs.len()];
        let mut by_target: Vec<usize> = (0..pairs.len()).collect();
        by_target.sort_by_key(|&pair| pairs[pair].1);
        let mut tree = None;
        for pair in by_target {
            let (source, target) = pairs[pair];
            if tree.as_ref().is_none_or(|(found, _)| *found != target) {
                tree = Some((target, towards(target, links, &into)));
            }
            if let Some((_, next)) = &tree {
                first_links[pair] = next[source.0 as usize];
                routes.follow(source, target, links, next);
            }
        }
        (routes, first_links)
    }

    /// Enters the way from `source` into the tables of the hosts between.
    fn follow(&mut self, source: HostId, target: HostId, links: &[Edge], next: &[Option<u32>]) {
        let hosts = self.tables.len();
        let mut at = source;
        while let Some(link) = next[at.0 as usize] {
            if at != source {
                let table = self.tables[at.0 as usize]
                    .get_or_insert_with(|| vec![NONE; hosts].into_boxed_slice());
                table[target.0 as usize] = link;
            }
            at = links[link as usize].1;
        }
    }

    /// The link by which this host forwards packets for `target`; `None` if there is no way.
    #[inline]
    pub(crate) fn next(&self, host: HostId, target: HostId) -> Option<u32> {
        let table = self.tables.get(host.0 as usize)?.as_ref()?;
        let link = *table.get(target.0 as usize)?;
        (link != NONE).then_some(link)
    }
}

/// For each host the first link of its shortest way to the target.
fn towards(target: HostId, links: &[Edge], into: &[Vec<u32>]) -> Vec<Option<u32>> {
    let mut next = vec![None; into.len()];
    let mut reached = vec![target];
    let mut at = 0;
    while let Some(&host) = reached.get(at) {
        at += 1;
        for &link in &into[host.0 as usize] {
            let from = links[link as usize].0;
            if from != target && next[from.0 as usize].is_none() {
                next[from.0 as usize] = Some(link);
                reached.push(from);
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: u32, to: u32) -> Edge {
        (HostId(from), HostId(to))
    }

    #[test]
    fn takes_the_way_with_fewest_hops_and_of_equals_the_first() {
        // 0 -> 4 -> 5 -> 3 is longer than 0 -> 1 -> 3 and 0 -> 2 -> 3; 6 is apart.
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
        let (routes, first) = Routes::find(7, &links, &pairs);
        // Link 5 (2 -> 3) was added before link 6 (1 -> 3), so the way leads over 2.
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
}
