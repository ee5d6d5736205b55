//! The queues of a tin: hashing of flows into them with eight ways per set, and the load of each
//! host, by which the quanta of its flows shrink (tc-cake(8), flow isolation).
//!
//! A flow takes the queue of its hash if that is free or its own, else another of the same set of
//! eight; only if all eight belong to other flows does it share one. Hosts are found the same way.

use weir_proto::rng::mix64;

/// Queues of a tin, and places for hosts.
pub(super) const QUEUES: usize = 1024;
/// Queues of a set.
const WAYS: usize = 8;

weir_proto::keywords! {
    /// Between what the link is shared.
    #[derive(Default)]
    pub enum FlowMode {
        /// One queue for all.
        FlowBlind = "flowblind",
        /// Source hosts.
        SrcHost = "srchost",
        /// Destination hosts.
        DstHost = "dsthost",
        /// Pairs of hosts.
        Hosts = "hosts",
        /// Flows.
        Flows = "flows",
        /// Source hosts, then the flows of each.
        DualSrcHost = "dual-srchost",
        /// Destination hosts, then the flows of each.
        DualDstHost = "dual-dsthost",
        /// Source and destination hosts, then the flows of each.
        #[default]
        TripleIsolate = "triple-isolate",
    }
}

impl FlowMode {
    const fn counts_sources(self) -> bool {
        matches!(self, Self::DualSrcHost | Self::TripleIsolate)
    }

    const fn counts_destinations(self) -> bool {
        matches!(self, Self::DualDstHost | Self::TripleIsolate)
    }
}

/// What identifies a packet to the hashes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    pub(super) flow: u64,
    pub(super) source: u32,
    pub(super) destination: u32,
}

/// The two hosts of a flow, as places in the tables of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hosts {
    source: Option<u16>,
    destination: Option<u16>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tag: u32,
    /// Queues whose flows are of this host.
    queues: u32,
    /// Those of them that keep the link busy.
    bulk: u32,
}

/// The hosts of one side.
#[derive(Debug)]
struct HostTable(Box<[Host]>);

impl Default for HostTable {
    fn default() -> Self {
        Self(vec![Host::default(); QUEUES].into())
    }
}

impl HostTable {
    /// The place of a host, which has one more queue.
    fn take(&mut self, hash: u32) -> u16 {
        let first = hash as usize % QUEUES;
        let known = ways(first).find(|&at| self.0[at].queues > 0 && self.0[at].tag == hash);
        let free = || ways(first).find(|&at| self.0[at].queues == 0);
        let at = known.or_else(free).unwrap_or(first);
        let host = &mut self.0[at];
        host.tag = hash;
        host.queues += 1;
        at as u16
    }

    fn host(&mut self, at: Option<u16>) -> Option<&mut Host> {
        self.0.get_mut(usize::from(at?))
    }

    fn bulk(&self, at: Option<u16>) -> u32 {
        at.map_or(0, |at| self.0[usize::from(at)].bulk)
    }
}

/// The places of a set, from the one of the hash on.
fn ways(first: usize) -> impl Iterator<Item = usize> {
    let set = first - first % WAYS;
    (0..WAYS).map(move |way| set + (first + way) % WAYS)
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    tag: u32,
    used: bool,
    is_bulk: bool,
    hosts: Hosts,
}

/// Which flow has which queue.
#[derive(Debug)]
pub(super) struct FlowTable {
    slots: Box<[Slot]>,
    sources: HostTable,
    destinations: HostTable,
    salt: u64,
}

impl FlowTable {
    /// A table without flows.
    pub(super) fn new(salt: u64) -> Self {
        Self {
            slots: vec![Slot::default(); QUEUES].into(),
            sources: HostTable::default(),
            destinations: HostTable::default(),
            salt,
        }
    }

    fn hash(&self, key: u64) -> u32 {
        (mix64(key ^ self.salt) >> 32) as u32
    }

    /// The queue of a packet, which is taken for its flow.
    pub(super) fn queue_of(&mut self, mode: FlowMode, keys: Keys) -> usize {
        const SOURCE: u64 = 1 << 62;
        const DESTINATION: u64 = 1 << 63;
        let source = self.hash(u64::from(keys.source) | SOURCE);
        let destination = self.hash(u64::from(keys.destination) | DESTINATION);
        let hash = match mode {
            FlowMode::FlowBlind => return self.take(0, 0, mode, (source, destination)),
            FlowMode::SrcHost => source,
            FlowMode::DstHost => destination,
            FlowMode::Hosts => source ^ destination,
            _ => self.hash(keys.flow),
        };
        self.take_place(hash, mode, (source, destination))
    }

    fn take_place(&mut self, hash: u32, mode: FlowMode, hosts: (u32, u32)) -> usize {
        let first = hash as usize % QUEUES;
        let own = ways(first).find(|&at| self.slots[at].used && self.slots[at].tag == hash);
        let free = || ways(first).find(|&at| !self.slots[at].used);
        let at = own.or_else(free).unwrap_or(first);
        self.take(at, hash, mode, hosts)
    }

    /// Takes a queue for a flow with this hash. A flow that shares it takes over its hosts.
    fn take(
        &mut self,
        at: usize,
        hash: u32,
        mode: FlowMode,
        (source, destination): (u32, u32),
    ) -> usize {
        let slot = self.slots[at];
        if slot.used && slot.tag == hash {
            return at;
        }
        if slot.used {
            self.leave_hosts(at);
        }
        let hosts = Hosts {
            source: mode.counts_sources().then(|| self.sources.take(source)),
            destination: (mode.counts_destinations()).then(|| self.destinations.take(destination)),
        };
        self.slots[at] = Slot {
            tag: hash,
            used: true,
            hosts,
            is_bulk: false,
        };
        self.set_bulk(at, slot.used && slot.is_bulk);
        at
    }

    fn leave_hosts(&mut self, at: usize) {
        self.set_bulk(at, false);
        let hosts = self.slots[at].hosts;
        for host in [
            self.sources.host(hosts.source),
            self.destinations.host(hosts.destination),
        ]
        .into_iter()
        .flatten()
        {
            host.queues -= 1;
        }
    }

    /// The queue's flow keeps the link busy, or does not any more.
    pub(super) fn set_bulk(&mut self, at: usize, is_bulk: bool) {
        let slot = &mut self.slots[at];
        if slot.is_bulk == is_bulk {
            return;
        }
        slot.is_bulk = is_bulk;
        let hosts = slot.hosts;
        for host in [
            self.sources.host(hosts.source),
            self.destinations.host(hosts.destination),
        ]
        .into_iter()
        .flatten()
        {
            host.bulk = if is_bulk {
                host.bulk + 1
            } else {
                host.bulk - 1
            };
        }
    }

    /// The queue is no flow's any more.
    pub(super) fn release(&mut self, at: usize) {
        if self.slots[at].used {
            self.leave_hosts(at);
            self.slots[at].used = false;
        }
    }

    /// By how much the quantum of the queue's flow is divided: the bulk flows of its busier host.
    pub(super) fn load(&self, at: usize) -> u32 {
        let hosts = self.slots[at].hosts;
        let source = self.sources.bulk(hosts.source);
        source.max(self.destinations.bulk(hosts.destination)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(flow: u64, source: u32, destination: u32) -> Keys {
        Keys {
            flow,
            source,
            destination,
        }
    }

    /// The number of queues that flows between hosts take: 2 sources, 3 destinations, 4 flows each.
    fn queues(mode: FlowMode) -> usize {
        let mut table = FlowTable::new(7);
        let mut found = std::collections::BTreeSet::new();
        for flow in 0..24 {
            let pair = flow / 4;
            found.insert(table.queue_of(mode, keys(flow, pair as u32 % 2, 10 + pair as u32 % 3)));
        }
        found.len()
    }

    #[test]
    fn each_mode_separates_what_its_name_says() {
        // tc-cake(8), flow isolation parameters.
        for (mode, expected) in [
            (FlowMode::FlowBlind, 1),
            (FlowMode::SrcHost, 2),
            (FlowMode::DstHost, 3),
            (FlowMode::Hosts, 6),
            (FlowMode::Flows, 24),
            (FlowMode::DualSrcHost, 24),
            (FlowMode::DualDstHost, 24),
            (FlowMode::TripleIsolate, 24),
        ] {
            assert_eq!(queues(mode), expected, "{mode:?}");
        }
    }

    #[test]
    fn the_quantum_is_divided_by_the_bulk_flows_of_the_busier_host() {
        // Three bulk flows from host 1 to hosts 5, 5 and 6, one from host 2 to host 5.
        let flows = [keys(1, 1, 5), keys(2, 1, 5), keys(3, 1, 6), keys(4, 2, 5)];
        for (mode, loads) in [
            (FlowMode::Flows, [1, 1, 1, 1]),
            (FlowMode::DualSrcHost, [3, 3, 3, 1]),
            (FlowMode::DualDstHost, [3, 3, 1, 3]),
            (FlowMode::TripleIsolate, [3, 3, 3, 3]),
        ] {
            let mut table = FlowTable::new(7);
            let queues = flows.map(|flow| table.queue_of(mode, flow));
            for at in queues {
                table.set_bulk(at, true);
            }
            assert_eq!(queues.map(|at| table.load(at)), loads, "{mode:?}");
            table.release(queues[0]);
            table.set_bulk(queues[1], false);
            let left = [queues[2], queues[3]].map(|at| table.load(at));
            assert_eq!(left, [1, 1], "{mode:?}");
        }
    }

    #[test]
    fn a_set_has_eight_ways_and_only_the_ninth_flow_shares_a_queue() {
        let mut table = FlowTable::new(7);
        let place = |table: &mut FlowTable, n: u32| {
            // Hashes with the same remainder: the first place of the set from 16 on.
            table.take_place(n * QUEUES as u32 + 19, FlowMode::Flows, (0, 0))
        };
        let taken: Vec<_> = (0..8).map(|n| place(&mut table, n)).collect();
        assert_eq!(taken, [19, 20, 21, 22, 23, 16, 17, 18]);
        assert_eq!(place(&mut table, 3), 22, "it keeps its queue");
        assert_eq!(place(&mut table, 8), 19);
        table.release(21);
        assert_eq!(place(&mut table, 9), 21);
    }

    #[test]
    fn a_flow_that_shares_a_queue_brings_its_hosts() {
        let mut table = FlowTable::new(7);
        let mode = FlowMode::DualSrcHost;
        let at = table.take(5, 1, mode, (100, 200));
        table.set_bulk(at, true);
        let other = table.take(6, 2, mode, (101, 200));
        table.set_bulk(other, true);
        assert_eq!((table.load(at), table.load(other)), (1, 1));
        table.take(5, 9, mode, (101, 200));
        assert_eq!((table.load(at), table.load(other)), (2, 2));
    }
}
