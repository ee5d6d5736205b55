//! Windows of time in which hosts do not affect each other, so that each handles all of its events
//! of a window in one turn.
//!
//! An event at a host changes what another one sees only through a packet. If all packets between
//! them take at least a certain time, the *lookahead* of conservative parallel simulation, then the
//! events of a window of that length may be processed host by host. Within a host they keep their
//! order. The state of a host is then brought into the processor's cache once for all packets of a
//! window, not once for each: with a thousand flows that costs most of the time.
//!
//! A network has windows if all of its links are on the fast path: each is entered by the ends of
//! flows at its host alone, is [chained](super::chains), or is a [merge](super::merges). A packet
//! that an end sends then reaches a merge, which is called one of its propagation delays later, or
//! the other end after the delays of its links. A call of a merge ends a window, and all merges are
//! called together, so that windows are as long as possible.

use super::ABSENT;
use crate::event_queue::TargetId;
use crate::network::{EventTarget, Network};
use std::ops::Range;
use weir_proto::packet::HostId;
use weir_proto::time::{Duration, Instant};

/// The most targets of a host that takes turns: the next one is found by looking at all of them. A
/// host with more, such as one with an end of each flow, is called for one event at a time.
const MOST_MEMBERS: usize = 8;

/// The length of windows at most, because a run can only pause between two of them.
const LONGEST: Duration = Duration::from_millis(100);

/// The hosts of a network that has windows.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    /// No event affects another host sooner. `None` if the network has no windows.
    lookahead: Option<Duration>,
    /// The targets of each host that takes turns, in `members`; by number of the target, an empty
    /// range if its host takes none.
    turns: Vec<(u32, u8)>,
    members: Vec<TargetId>,
}

impl Windows {
    /// The targets at the same host as this one, by their places; none if the host takes no turns.
    #[inline]
    pub(crate) fn turn_of(&self, target: TargetId) -> Range<usize> {
        let (first, len) = self.turns[target.0 as usize];
        first as usize..first as usize + usize::from(len)
    }

    #[inline]
    pub(crate) fn members(&self, turn: Range<usize>) -> &[TargetId] {
        &self.members[turn]
    }
}

impl Network {
    /// True if the network has windows now: events of traced ends are reported in their order.
    pub(crate) fn has_windows(&self) -> bool {
        let in_order = self.in_order || self.traced_agents > 0;
        self.fast_path.windows.lookahead.is_some() && !in_order
    }

    pub(crate) const fn windows(&self) -> &Windows {
        &self.fast_path.windows
    }

    /// The least time after which an event at a host affects another one; `None` if the network has
    /// no windows.
    #[cfg(test)]
    pub(crate) const fn lookahead_of_windows(&self) -> Option<Duration> {
        self.fast_path.windows.lookahead
    }

    /// The end of the window that begins with an event at this time.
    pub(crate) fn window_from(&self, at: Instant) -> Instant {
        let merges = self.fast_path.merges.iter().map(|merge| merge.next_call);
        let lookahead = self.fast_path.windows.lookahead.unwrap_or_default();
        merges.fold(at + lookahead, Instant::min)
    }

    /// Calls all merges, because one of them is due.
    pub(crate) fn call_merges(&mut self) {
        for merge in 0..self.fast_path.merges.len() as u32 {
            self.call_merge(merge);
        }
    }

    /// Finds out whether the network has windows, after chains and merges were found.
    pub(super) fn find_windows(&mut self) {
        let mut windows = Windows {
            lookahead: self.lookahead(),
            ..Windows::default()
        };
        if windows.lookahead.is_some() {
            let mut by_host = vec![Vec::new(); self.hosts.len()];
            for (host, target) in self.targets_at_hosts() {
                by_host[host.0 as usize].push(target);
            }
            windows.turns = vec![(0, 0); self.targets.len()];
            for members in by_host {
                let turn = (windows.members.len() as u32, members.len() as u8);
                if members.len() <= MOST_MEMBERS {
                    for target in &members {
                        windows.turns[target.0 as usize] = turn;
                    }
                    windows.members.extend(members);
                }
            }
        }
        self.fast_path.windows = windows;
    }

    /// Each target that is called at a host.
    fn targets_at_hosts(&self) -> impl Iterator<Item = (HostId, TargetId)> {
        let links = self.links.iter().map(|slot| (slot.to, slot.target));
        let agents = self.agents.iter();
        let agents = agents.map(|slot| (slot.agent.host(), slot.target));
        // The targets of flows that are open now and belong to a series come from the series.
        let agents = agents.filter(|&(_, target)| !self.is_reserved(target));
        links.chain(agents).chain(self.reserved_targets())
    }

    /// The least time after which an event at a host affects another one; `None` unless the network
    /// has windows.
    fn lookahead(&self) -> Option<Duration> {
        let moves = self.flows.iter().any(|flow| flow.mover.is_some());
        if moves || !self.media.is_empty() || !self.tunnels.is_empty() || self.ports.any() {
            return None;
        }
        let mut ends_here = vec![false; self.hosts.len()];
        for (host, target) in self.targets_at_hosts() {
            let is_link = matches!(self.targets[target.0 as usize], EventTarget::Link(_));
            ends_here[host.0 as usize] |= !is_link;
        }
        let mut least = LONGEST;
        for (id, slot) in self.links.iter().enumerate() {
            let id = id as u32;
            if !self.routes.is_used(id) {
                continue;
            }
            if !slot.link.is_untraced_plain() {
                return None;
            }
            let fed = slot.joint.feeder != ABSENT || slot.joint.merge != ABSENT;
            if !fed && !self.routes.is_entered_by_ends_alone(id) {
                return None;
            }
            let delay = slot.link.propagation_delay();
            if slot.joint.merge != ABSENT {
                least = least.min(delay);
                continue;
            }
            if self.meets_at(slot.to) && !slot.joint.feeds_merges {
                return None;
            }
            if ends_here[slot.to.0 as usize]
                && let Some(delay) = self.delay_from_ends(id)
            {
                least = least.min(delay);
            }
        }
        (!least.is_zero()).then_some(least)
    }

    /// True if a merge begins at this host.
    fn meets_at(&self, host: HostId) -> bool {
        let mut merges = self.fast_path.merges.iter();
        merges.any(|merge| {
            let slot = &self.links[merge.link as usize];
            slot.from == host && slot.joint.merge != ABSENT
        })
    }

    /// The propagation delays of all links from the ends of flows to the end of this one; `None` if
    /// its packets come from a merge.
    fn delay_from_ends(&self, mut id: u32) -> Option<Duration> {
        let mut sum = Duration::ZERO;
        loop {
            let slot = &self.links[id as usize];
            if slot.joint.merge != ABSENT {
                return None;
            }
            sum += slot.link.propagation_delay();
            match slot.joint.feeder {
                ABSENT => return Some(sum),
                feeder => id = feeder,
            }
        }
    }
}
