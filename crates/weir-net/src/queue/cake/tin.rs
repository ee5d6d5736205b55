//! A tin of CAKE: its queues, their order, and its clock.
//!
//! Flows are sparse at first, and served before the bulk flows; a flow that has used up its quantum
//! is bulk. An empty queue stays listed while the state of its controller decays.

use super::super::DropsAndMarks;
use super::AckFilter;
use super::cobalt::{Cobalt, Leaving};
use super::flows::{FlowMode, FlowTable, Keys, QUEUES};
use super::tins::TinConfig;
use crate::ack_facts::AckFacts;
use crate::packet_pool::PacketRef;
use std::collections::VecDeque;
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// A packet in a queue.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) since: Instant,
    /// The octets that it takes on the link.
    pub(super) octets: u32,
    pub(super) facts: Option<Box<AckFacts>>,
    pub(super) packet: PacketRef,
}

/// A look at the flow that is next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) now: Instant,
    /// Dropped packets count as sent.
    pub(super) ingress: bool,
    /// It is the first of a dequeue, which looks at a decaying flow.
    pub(super) is_first: bool,
}

/// The list of a flow, and why it is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Set {
    #[default]
    None,
    Sparse,
    /// In the list of bulk flows, but empty and counted as sparse.
    SparseWait,
    Bulk,
    Decaying,
}

#[derive(Debug, Default)]
struct Flow {
    packets: VecDeque<Waiting>,
    bytes: u64,
    cobalt: Cobalt,
    deficit: i64,
    set: Set,
}

impl Flow {
    fn push(&mut self, waiting: Waiting) {
        self.bytes += u64::from(waiting.packet.size);
        self.packets.push_back(waiting);
    }

    fn pop(&mut self) -> Option<Waiting> {
        self.remove(0)
    }

    fn remove(&mut self, at: usize) -> Option<Waiting> {
        let waiting = self.packets.remove(at)?;
        self.bytes -= u64::from(waiting.packet.size);
        Some(waiting)
    }

    /// The place of an acknowledgement that the last packet makes redundant: the first of two, or
    /// the only one if it stands before the last packet and the filter is aggressive.
    fn redundant_ack(&self, filter: AckFilter) -> Option<usize> {
        let last = self.packets.back()?;
        let earlier = self.packets.iter().take(self.packets.len() - 1).enumerate();
        let facts = last.facts.as_deref().filter(|facts| facts.may_replace())?;
        let mut found: Option<(usize, u16)> = None;
        let mut count = 0_u32;
        for (at, waiting) in earlier {
            let same_flow = waiting.packet.flow == last.packet.flow
                && waiting.packet.ip.source == last.packet.ip.source;
            let Some(candidate) = waiting.facts.as_deref().filter(|_| same_flow) else {
                continue;
            };
            // A change of the echo of congestion is news, so the one before it must stay.
            if found.is_some_and(|(_, echo)| echo != candidate.congestion()) {
                found = None;
                count = count.saturating_sub(1);
            }
            if !candidate.is_covered_by(facts) {
                continue;
            }
            found = found.or(Some((at, candidate.congestion())));
            count += 1;
            if count > 1 {
                return found.map(|(at, _)| at);
            }
        }
        let (at, echo) = found?;
        let next_is_last = at + 2 == self.packets.len();
        let is_aggressive = filter == AckFilter::Aggressive;
        (is_aggressive && next_is_last && echo == facts.congestion()).then_some(at)
    }
}

/// A tin.
#[derive(Debug)]
pub(super) struct Tin {
    pub(super) config: TinConfig,
    /// When the tin has used its threshold up to.
    pub(super) next_packet: Instant,
    /// What the tin may send of an unshaped link.
    pub(super) deficit: i64,
    table: FlowTable,
    flows: Box<[Flow]>,
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    decaying: VecDeque<u16>,
    /// Flows that count as sparse and as bulk.
    sparse: u32,
    bulk: u32,
    packets: u64,
}

impl Tin {
    pub(super) fn new(config: TinConfig, salt: u64) -> Self {
        Self {
            config,
            next_packet: Instant::ZERO,
            deficit: 0,
            table: FlowTable::new(salt),
            flows: (0..QUEUES).map(|_| Flow::default()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            sparse: 0,
            bulk: 0,
            packets: 0,
        }
    }

    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    /// True if a flow is listed that is not just decaying.
    pub(super) const fn is_busy(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// A packet that takes `time` at the tin's threshold leaves it. Its clock is never more than a
    /// packet ahead.
    pub(super) fn advance(&mut self, now: Instant, time: Duration) {
        if self.next_packet < now {
            self.next_packet = now + time;
        } else if self.next_packet < now + time {
            self.next_packet += time;
        }
    }

    /// The octets that a flow may send in a turn, with `dither` of 2^16 for what is left over.
    fn quantum(&self, at: usize, dither: u64) -> i64 {
        let part = (1 << 16) / u64::from(self.table.load(at));
        ((self.config.flow_quantum * part + dither) >> 16) as i64
    }

    /// Queues a packet; returns an acknowledgement that it makes redundant.
    pub(super) fn enqueue(
        &mut self,
        (mode, keys): (FlowMode, Keys),
        waiting: Waiting,
        filter: AckFilter,
    ) -> Option<Waiting> {
        let at = self.table.queue_of(mode, keys);
        let flow = &mut self.flows[at];
        flow.push(waiting);
        self.packets += 1;
        let filtered = if filter == AckFilter::Off {
            None
        } else {
            flow.redundant_ack(filter).and_then(|ack| flow.remove(ack))
        };
        self.packets -= u64::from(filtered.is_some());
        match flow.set {
            Set::None | Set::Decaying => {
                if flow.set == Set::Decaying {
                    self.decaying.retain(|&other| usize::from(other) != at);
                }
                flow.set = Set::Sparse;
                self.sparse += 1;
                self.new.push_back(at as u16);
                self.flows[at].deficit = self.quantum(at, 0);
            }
            Set::SparseWait => {
                flow.set = Set::Bulk;
                self.sparse -= 1;
                self.bulk += 1;
                self.table.set_bulk(at, true);
            }
            Set::Sparse | Set::Bulk => {}
        }
        filtered
    }

    /// The longest queue and its octets.
    pub(super) fn longest(&self) -> (usize, u64) {
        let flows = self.flows.iter().enumerate();
        let sizes = flows.map(|(at, flow)| (at, flow.bytes));
        // Of queues as long, the first.
        sizes
            .rev()
            .max_by_key(|(_, bytes)| *bytes)
            .unwrap_or_default()
    }

    /// Takes the head of the longest queue out, because the buffer has overflowed.
    pub(super) fn overflow(&mut self, now: Instant) -> Option<Waiting> {
        let (at, _) = self.longest();
        let flow = &mut self.flows[at];
        let waiting = flow.pop()?;
        flow.cobalt.on_overflow(&self.config.cobalt, now);
        self.packets -= 1;
        Some(waiting)
    }

    /// The list whose first flow is next; a decaying one only at the first look of a dequeue, or if
    /// there is no other.
    fn list(&mut self, looks_at_decaying: bool) -> Option<&mut VecDeque<u16>> {
        let lists = if looks_at_decaying {
            [&mut self.decaying, &mut self.new, &mut self.old]
        } else {
            [&mut self.new, &mut self.old, &mut self.decaying]
        };
        lists.into_iter().find(|list| !list.is_empty())
    }

    /// Looks at the flow that is next, after giving quanta to those before it that need one.
    /// Returns the packet that leaves; without one the tin must be chosen again.
    pub(super) fn serve(
        &mut self,
        look: Look,
        dropped: &mut Vec<Waiting>,
        rng: &mut Rng,
        effects: &mut DropsAndMarks,
    ) -> Option<Waiting> {
        let Look { now, ingress, .. } = look;
        let mut looks_at_decaying = look.is_first;
        loop {
            let list = self.list(std::mem::take(&mut looks_at_decaying))?;
            let first = list.pop_front()?;
            let at = usize::from(first);
            if self.flows[at].deficit <= 0 {
                self.flows[at].deficit += self.quantum(at, rng.next_u64() >> 48);
                self.old.push_back(first);
                self.becomes_bulk(at);
                continue;
            }
            let bulk_flows = if ingress { self.bulk } else { 0 };
            let flow = &mut self.flows[at];
            let Some(mut head) = flow.pop() else {
                self.found_empty(at, now);
                return None;
            };
            self.packets -= 1;
            let leaving = Leaving {
                config: &self.config.cobalt,
                now,
                sojourn: now.since(head.since),
                bulk_flows,
            };
            let drops = (flow.cobalt).drops(leaving, &mut head.packet, rng, effects);
            let in_list = match flow.set {
                Set::Sparse => &mut self.new,
                _ => &mut self.old,
            };
            in_list.push_front(first);
            // The last packet of a queue is never dropped.
            if drops && !flow.packets.is_empty() {
                if ingress {
                    flow.deficit -= i64::from(head.octets);
                }
                dropped.push(head);
                continue;
            }
            flow.deficit -= i64::from(head.octets);
            return Some(head);
        }
    }

    /// A sparse flow has used up its quantum.
    fn becomes_bulk(&mut self, at: usize) {
        let flow = &mut self.flows[at];
        if flow.set != Set::Sparse {
            return;
        }
        if flow.packets.is_empty() {
            flow.set = Set::SparseWait;
            return;
        }
        flow.set = Set::Bulk;
        self.sparse -= 1;
        self.bulk += 1;
        self.table.set_bulk(at, true);
    }

    /// The flow had no packet: it leaves the lists once the state of its controller has decayed.
    fn found_empty(&mut self, at: usize, now: Instant) {
        let flow = &mut self.flows[at];
        flow.cobalt.on_empty(&self.config.cobalt, now);
        match flow.set {
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Bulk => self.bulk -= 1,
            Set::None | Set::Decaying => {}
        }
        self.table.set_bulk(at, false);
        if flow.cobalt.is_active(now) {
            flow.set = Set::Decaying;
            self.decaying.push_back(at as u16);
        } else {
            flow.set = Set::None;
            self.table.release(at);
        }
    }
}
