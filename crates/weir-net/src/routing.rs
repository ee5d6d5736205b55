//! Which link a packet takes next: the shortest path in hops; of equal ones, the link added first.
//!
//! Routes are static. They are found by a breadth-first search backwards from each host that is
//! the target of some flow, when the first packet may need them.

use weir_proto::packet::HostId;

/// For each target host: for each host, the link towards it.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    next: Vec<Option<Box<[Option<u32>]>>>,
}

impl Routes {
    /// Finds the routes to `targets` over links given as (from, to).
    pub(crate) fn find(hosts: usize, links: &[(HostId, HostId)], targets: &[HostId]) -> Self {
        let mut into: Vec<Vec<u32>> = vec![Vec::new(); hosts];
        for (number, (_, to)) in links.iter().enumerate() {
            into[to.0 as usize].push(number as u32);
        }
        let mut next: Vec<Option<Box<[Option<u32>]>>> = vec![None; hosts];
        for target in targets {
            let slot = &mut next[target.0 as usize];
            if slot.is_none() {
                *slot = Some(towards(*target, links, &into));
            }
        }
        Self { next }
    }

    /// The link that a packet for `target` takes at `host`; `None` if there is no way.
    #[inline]
    pub(crate) fn next(&self, host: HostId, target: HostId) -> Option<u32> {
        let routes = self.next.get(target.0 as usize)?.as_ref()?;
        *routes.get(host.0 as usize)?
    }
}

fn towards(target: HostId, links: &[(HostId, HostId)], into: &[Vec<u32>]) -> Box<[Option<u32>]> {
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
    next.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(from: u32, to: u32) -> (HostId, HostId) {
        (HostId(from), HostId(to))
    }

    #[test]
    fn takes_the_way_with_fewest_hops_and_of_equals_the_first() {
        // 0 -> 1 -> 3, 0 -> 2 -> 3, 0 -> 4 -> 5 -> 3, and 6 apart.
        let links = [
            link(0, 4),
            link(4, 5),
            link(5, 3),
            link(0, 1),
            link(0, 2),
            link(2, 3),
            link(1, 3),
        ];
        let routes = Routes::find(7, &links, &[HostId(3)]);
        // Both 1 and 2 lead there in two hops; link 5 (2 -> 3) was added before link 6 (1 -> 3).
        assert_eq!(routes.next(HostId(0), HostId(3)), Some(4));
        assert_eq!(routes.next(HostId(4), HostId(3)), Some(1));
        assert_eq!(routes.next(HostId(6), HostId(3)), None);
        assert_eq!(routes.next(HostId(3), HostId(3)), None);
        assert_eq!(
            routes.next(HostId(0), HostId(1)),
            None,
            "no flow goes there"
        );
    }
}
