//! Chains of plain links: a link that only one other link feeds receives packets in their order, so
//! that it can book them when they enter the chain instead of when they arrive at it.
//!
//! A packet that a link of a chain refuses is known ahead too, but is dropped only when it arrives
//! there, so that counters, drops and packets in the network are correct whenever they are read. A
//! chain begins behind a plain link, and all further links take time: none delivers a packet at the
//! instant at which it enters, behind others of that instant.

use super::{HELD, Network, next_hop};

/// The most links of a chain.
const MAX_LENGTH: usize = 64;

impl Network {
    /// Finds the links that only one other link feeds, and chains them.
    pub(super) fn find_chains(&mut self) {
        let link = |id: u32| Some(&self.links.get(id as usize)?.link);
        let feeder = |id: u32| {
            let feeder = self.routes.only_feeder(id)?;
            (link(id)?.books_ahead() && link(feeder)?.is_untraced_plain()).then_some(feeder)
        };
        let depth = |id: u32| {
            let chain = std::iter::successors(Some(id), |&id| feeder(id));
            chain.take(MAX_LENGTH + 1).count()
        };
        let links = 0..self.links.len() as u32;
        let mut chained: Vec<(usize, u32, u32)> = links
            .filter_map(|id| Some((depth(id), id, feeder(id)?)))
            .filter(|&(depth, ..)| depth <= MAX_LENGTH)
            .collect();
        chained.sort_unstable();
        for (_, id, feeder) in chained {
            let slot = &mut self.links[id as usize];
            slot.joint.feeder = feeder;
            slot.link.set_chained(true);
            self.links[feeder as usize].joint.feeds = true;
            self.fast_path.chained.push(id);
            self.hand_over(feeder, id);
        }
    }

    /// Moves the packets that a link already holds to the next link, which is chained from now on.
    fn hand_over(&mut self, feeder: u32, id: u32) {
        let (now, routes) = (self.now, &self.routes);
        let both = [feeder as usize, id as usize];
        let Ok([before, slot]) = self.links.get_disjoint_mut(both) else {
            return;
        };
        before.link.hand_over(id, |arrives, mut packet| {
            if next_hop(routes, before.to, &packet) != Some(id) {
                return Err(packet);
            }
            match slot.link.book_as_of(now, arrives, &mut packet, HELD) {
                Ok(arrival) => {
                    packet.ip.ttl -= 1;
                    slot.link.hold(arrival, packet);
                    Ok(())
                }
                Err(reason) => {
                    packet.refused = Some(reason);
                    Err(packet)
                }
            }
        });
        self.schedule(feeder);
        self.schedule(id);
    }
}
