//! HTB (tc-htb(8)): a tree of classes, each with a guaranteed `rate` and a `ceil` that it does not
//! exceed. A class above its rate borrows from its parent what others leave.
//!
//! Each class has two token buckets, of `rate` with `burst` and of `ceil` with `cburst`; a packet
//! may leave while the tokens are not negative, and may make them so. A leaf within its rate sends
//! at level 0, one that borrows at the level of the class that lends. Of the leaves that may send,
//! the lowest level comes first, then the lowest `prio`; leaves of the same level and priority take
//! turns of a `quantum`. A packet is charged to the ceiling of each class up to the root, and to
//! the rate of the lender and of the classes above it.
//!
//! Sizes count from the IP header on plus `overhead`. Leaves are first in, first out. Does not
//! model: the turns of inner classes (leaves of a level take turns with each other), hysteresis,
//! offload.

use super::fifo::Fifo;
use super::{Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, QueueLimit, TcName, max_packets};
use crate::packet_pool::PacketRef;
use weir_proto::event::DropReason;
use weir_proto::packet::Dscp;
use weir_proto::rng::Rng;
use weir_proto::settings::{bit_rate, bytes, count, natural, or_word};
use weir_proto::time::{Duration, Instant};

/// Rate over quantum (tc-htb(8), r2q).
const R2Q: u64 = 10;
/// The bounds of a quantum that follows from a rate, in octets (Linux).
const QUANTA: std::ops::RangeInclusive<u64> = 1000..=200_000;
/// The bucket of a class without `burst`: one packet of 1600 octets (tc, with fine timers).
const BURST: u64 = 1600;
/// The most tokens that a class may owe, as time at its rate (Linux).
const MOST_DEBT: i64 = 60_000_000_000;
/// The level of a class at the root that has children (Linux, TC_HTB_MAXDEPTH - 1).
const TOP_LEVEL: usize = 7;
/// The most octets of a bucket.
const MAX_OCTETS: u64 = 1 << 40;

weir_proto::settings! {
    /// A class of HTB.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HtbClassConfig {
        /// Its number: the minor part of tc's classid.
        pub classid: u32 [required] => count(1..=65_535, ""),
        /// The number of the class from which it borrows.
        pub parent: Option<u32> => or_word("root", count(1..=65_535, "")),
        /// Bits per second that it is guaranteed.
        pub rate: u64 [required] = 1_000_000 => bit_rate(),
        /// The most bits per second with what it borrows.
        pub ceil: Option<u64> => or_word("rate", bit_rate()),
        /// Bytes that may leave at once within its rate.
        pub burst: u64 = BURST => bytes(1..=MAX_OCTETS),
        /// Bytes that may leave at once within its ceiling.
        pub cburst: u64 = BURST => bytes(1..=MAX_OCTETS),
        /// Leaves with a lower number are served first.
        pub prio: u32 => count(0..=7, ""),
        /// Bytes of a turn; "auto" by rate and `r2q`.
        pub quantum: Option<u64> => or_word("auto", bytes(1..=MAX_OCTETS)),
        /// Bytes that each packet counts beyond its IP size.
        pub overhead: u32 => bytes(0..=1000),
        /// The least bytes that a packet counts.
        pub mpu: u32 => bytes(0..=1000),
        /// The most packets that wait in the class.
        pub limit: u64 = 1000 => max_packets(),
        /// Packets with this codepoint belong to it.
        pub dscp: Option<Dscp> => or_word("any", natural()),
        /// Packets of the flows with these numbers belong to it: their places in the scenario from
        /// 1 on, each flow of a count by itself.
        pub flows: Vec<u64>,
    }
}

impl HtbClassConfig {
    fn ceil(&self) -> u64 {
        self.ceil.unwrap_or(self.rate)
    }

    /// True if the packet belongs to it. A class without conditions takes only what has no other.
    fn contains(&self, packet: &PacketRef) -> bool {
        let number = u64::from(packet.flow.0) + 1;
        let has_conditions = self.dscp.is_some() || !self.flows.is_empty();
        has_conditions
            && self.dscp.is_none_or(|dscp| dscp == packet.ip.dscp)
            && (self.flows.is_empty() || self.flows.contains(&number))
    }
}

weir_proto::settings! {
    /// A hierarchy of token buckets: classes with a guaranteed rate that borrow from each other.
    #[derive(Clone, Debug, PartialEq)]
    pub struct HtbConfig {
        /// The class of packets that belong to no other; "none" sends them unshaped.
        pub default: Option<u32> => or_word("none", count(1..=65_535, "")),
        /// Rate in bytes per second over quantum.
        pub r2q: u64 = R2Q => count(1..=1 << 32, ""),
        /// The most unshaped packets that wait.
        pub direct_qlen: u64 = 1000 => max_packets(),
        /// The classes; the first leaf that a packet belongs to gets it.
        pub classes: Vec<HtbClassConfig> as "class",
    }
}

impl HtbConfig {
    /// What is wrong with the tree of classes, if anything is.
    pub fn fault(&self) -> Option<String> {
        let known = |id: u32| self.classes.iter().find(|class| class.classid == id);
        for (n, class) in self.classes.iter().enumerate() {
            let id = class.classid;
            if self.classes[..n].iter().any(|other| other.classid == id) {
                return Some(format!("class {id} is there twice, expected it once"));
            }
            let mut above = class.parent;
            for _ in 0..=TOP_LEVEL {
                let Some(parent) = above else { break };
                let Some(found) = known(parent) else {
                    return Some(format!("the parent {parent} of class {id} does not exist"));
                };
                above = found.parent;
            }
            if above.is_some() {
                return Some(format!(
                    "class {id} is more than {TOP_LEVEL} levels below the root, or its own parent"
                ));
            }
            if class.ceil() < class.rate {
                return Some(format!("the ceil of class {id} is below its rate"));
            }
        }
        let default = self.default.filter(|&id| {
            let has_children = self.classes.iter().any(|class| class.parent == Some(id));
            known(id).is_none() || has_children
        });
        default.map(|id| format!("the default {id} is no class without children"))
    }
}

impl QueueDiscConfig for HtbConfig {
    type Disc = Box<Htb>;
    const TC_NAMES: &'static [TcName] = &[TcName::packets("htb")];
    const IS_RANDOM: bool = false;

    fn build(&self, _rng: Rng) -> Box<Htb> {
        let place = |id: u32| self.classes.iter().position(|class| class.classid == id);
        let class = |(n, config): (usize, &HtbClassConfig)| {
            let parent = config.parent.and_then(place).filter(|&parent| parent != n);
            Class::new(config, parent, self.r2q)
        };
        let mut classes: Vec<Class> = self.classes.iter().enumerate().map(class).collect();
        set_levels(&mut classes);
        Box::new(Htb {
            default: self.default.and_then(place),
            config: self.clone(),
            classes,
            direct: Fifo::default(),
            turn: [[0; 8]; TOP_LEVEL + 1],
            backlog: Backlog::default(),
            max_packet: 0,
            now: Instant::ZERO,
            clock: Instant::ZERO,
            shaped: Duration::ZERO,
        })
    }

    fn limit(&self) -> QueueLimit {
        let leaves = self.classes.iter().filter(|class| {
            let mut others = self.classes.iter();
            !others.any(|other| other.parent == Some(class.classid))
        });
        let limits = leaves.map(|class| class.limit);
        QueueLimit::Packets(limits.fold(self.direct_qlen, u64::saturating_add))
    }

    fn rate(&self) -> Option<u64> {
        let top = self.classes.iter().filter(|class| class.parent.is_none());
        let ceilings = top.map(HtbClassConfig::ceil);
        ceilings.reduce(u64::saturating_add)
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        let mut class = |classid, parent| {
            let rate = 100_000 + rng.below(5_000_000);
            HtbClassConfig {
                classid,
                parent,
                rate,
                ceil: rng.chance(0.7).then(|| rate + rng.below(10_000_000)),
                burst: 1 + rng.below(20_000),
                cburst: 1 + rng.below(20_000),
                prio: rng.below(3) as u32,
                overhead: rng.below(40) as u32,
                limit: 1 + rng.below(5),
                flows: vec![u64::from(classid) - 1],
                ..HtbClassConfig::default()
            }
        };
        let classes = vec![
            class(1, None),
            class(2, Some(1)),
            class(3, Some(1)),
            class(4, Some(1)),
        ];
        Self {
            default: rng.chance(0.5).then_some(4),
            direct_qlen: 1 + rng.below(5),
            classes,
            ..Self::default()
        }
    }
}

/// Tokens as time at the bucket's rate; negative for what was sent ahead.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: u64,
    depth: i64,
    tokens: i64,
}

impl Bucket {
    /// A full bucket.
    fn new(rate: u64, octets: u64) -> Self {
        let depth = tokens_of(octets, rate);
        Self {
            rate,
            depth,
            tokens: depth,
        }
    }

    fn fill(&mut self, nanos: u64) {
        let nanos = i64::try_from(nanos).unwrap_or(i64::MAX);
        self.tokens = self.tokens.saturating_add(nanos).min(self.depth);
    }

    fn charge(&mut self, octets: u64) {
        let left = self.tokens.saturating_sub(tokens_of(octets, self.rate));
        self.tokens = left.max(1 - MOST_DEBT);
    }

    /// Nanoseconds until the tokens are not negative.
    const fn wait(&self) -> u64 {
        if self.tokens < 0 {
            self.tokens.unsigned_abs()
        } else {
            0
        }
    }
}

/// The tokens of so many octets: nanoseconds at a rate.
fn tokens_of(octets: u64, rate: u64) -> i64 {
    let nanos = Duration::of_octets(octets, rate).as_nanos();
    i64::try_from(nanos).unwrap_or(i64::MAX)
}

#[derive(Debug)]
struct Class {
    parent: Option<usize>,
    level: usize,
    is_leaf: bool,
    prio: usize,
    rate: Bucket,
    ceil: Bucket,
    filled_at: Instant,
    quantum: i64,
    /// What it may still send in its turn, at each level.
    deficits: [i64; TOP_LEVEL + 1],
    fifo: Fifo,
}

impl Class {
    fn new(config: &HtbClassConfig, parent: Option<usize>, r2q: u64) -> Self {
        let octets = config.rate / 8 / r2q.max(1);
        let auto = octets.clamp(*QUANTA.start(), *QUANTA.end());
        let quantum = config.quantum.unwrap_or(auto).clamp(1, MAX_OCTETS);
        Self {
            parent,
            level: 0,
            is_leaf: true,
            prio: config.prio.min(7) as usize,
            rate: Bucket::new(config.rate, config.burst),
            ceil: Bucket::new(config.ceil(), config.cburst),
            filled_at: Instant::ZERO,
            quantum: quantum as i64,
            deficits: [0; TOP_LEVEL + 1],
            fifo: Fifo::default(),
        }
    }

    fn fill(&mut self, now: Instant) {
        let nanos = now.since(self.filled_at).as_nanos();
        self.filled_at = self.filled_at.max(now);
        self.rate.fill(nanos);
        self.ceil.fill(nanos);
    }
}

/// Leaves are at level 0, inner classes at 7 less their depth.
fn set_levels(classes: &mut [Class]) {
    for n in 0..classes.len() {
        let mut depth = 0;
        let mut above = classes[n].parent;
        while let Some(parent) = above {
            depth += 1;
            // A circle, which `fault` rejects, is cut here.
            if depth > TOP_LEVEL {
                classes[n].parent = None;
                break;
            }
            above = classes[parent].parent;
        }
        if let Some(parent) = classes[n].parent {
            classes[parent].is_leaf = false;
        }
        classes[n].level = TOP_LEVEL.saturating_sub(depth);
    }
    for class in classes.iter_mut().filter(|class| class.is_leaf) {
        class.level = 0;
    }
}

/// The classes and their packets.
#[derive(Debug)]
pub(crate) struct Htb {
    config: HtbConfig,
    classes: Vec<Class>,
    default: Option<usize>,
    /// Packets that are not shaped.
    direct: Fifo,
    /// The leaf whose turn it is, at each level and priority.
    turn: [[usize; 8]; TOP_LEVEL + 1],
    backlog: Backlog,
    max_packet: u32,
    /// The time of the last call.
    now: Instant,
    /// When the packets so far would have been transmitted at the ceilings of the classes at the
    /// root, together.
    clock: Instant,
    /// The transmission times of all packets at that rate.
    shaped: Duration,
}

impl Htb {
    /// The leaf of a packet; `None` if it is not shaped.
    fn leaf_of(&self, packet: &PacketRef) -> Option<usize> {
        let mut classes = self.config.classes.iter().zip(&self.classes);
        let found = classes.position(|(config, class)| class.is_leaf && config.contains(packet));
        found.or(self.default.filter(|&n| self.classes[n].is_leaf))
    }

    /// The class that lets a leaf send now: itself, or the lender above it.
    fn lender(&self, leaf: usize) -> Option<usize> {
        let mut at = leaf;
        loop {
            let class = &self.classes[at];
            if class.ceil.wait() > 0 {
                return None;
            }
            if class.rate.wait() == 0 {
                return Some(at);
            }
            at = class.parent?;
        }
    }

    /// Nanoseconds from `now` on until a leaf may send: its ceiling allows it, and its rate or its
    /// parent.
    fn wait(&self, at: usize) -> u64 {
        let class = &self.classes[at];
        let own = class.rate.wait();
        let borrowed = class.parent.map_or(u64::MAX, |parent| self.wait(parent));
        class.ceil.wait().max(own.min(borrowed))
    }

    /// The leaf that sends now, and its lender.
    fn choose(&mut self) -> Option<(usize, usize)> {
        let mut best: Option<(usize, usize)> = None;
        let mut eligible = Vec::new();
        for leaf in 0..self.classes.len() {
            if self.classes[leaf].fifo.packets() == 0 {
                continue;
            }
            let Some(lender) = self.lender(leaf) else {
                continue;
            };
            let rank = (self.classes[lender].level, self.classes[leaf].prio);
            if best.is_none_or(|known| rank < known) {
                best = Some(rank);
                eligible.clear();
            }
            if best == Some(rank) {
                eligible.push((leaf, lender));
            }
        }
        let (level, prio) = best?;
        let turn = self.turn[level][prio];
        let next = eligible.iter().find(|(leaf, _)| *leaf >= turn);
        let found = *next.or(eligible.first())?;
        self.turn[level][prio] = found.0;
        Some(found)
    }

    /// Charges a packet of a leaf to the classes above it, from the lender on to their rates.
    fn charge(&mut self, leaf: usize, lender: usize, size: u32) {
        let config = &self.config.classes[leaf];
        let octets = u64::from(size.saturating_add(config.overhead).max(config.mpu));
        let level = self.classes[lender].level;
        let mut at = Some(leaf);
        while let Some(n) = at {
            let class = &mut self.classes[n];
            if class.level >= level {
                class.rate.charge(octets);
            }
            class.ceil.charge(octets);
            at = class.parent;
        }
        let class = &mut self.classes[leaf];
        class.deficits[level] -= octets as i64;
        if class.deficits[level] < 0 {
            class.deficits[level] += class.quantum;
            self.turn[level][class.prio] = leaf + 1;
        }
        let time = Duration::of_octets(octets, self.config.rate().unwrap_or(0));
        self.clock = self.clock.max(self.now) + time;
        self.shaped += time;
    }

    fn left(&mut self, packet: &PacketRef) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.size);
    }
}

impl QueueDisc for Htb {
    fn enqueue(&mut self, now: Instant, packet: PacketRef, effects: &mut DropsAndMarks) {
        self.now = self.now.max(now);
        let leaf = self.leaf_of(&packet);
        let (fifo, limit) = match leaf {
            Some(n) => (&mut self.classes[n].fifo, self.config.classes[n].limit),
            None => (&mut self.direct, self.config.direct_qlen),
        };
        if fifo.packets() >= limit {
            effects.dropped.push((packet, DropReason::QueueFull));
            return;
        }
        self.max_packet = self.max_packet.max(packet.size);
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.size);
        fifo.push(now, packet);
    }

    fn dequeue(&mut self, now: Instant, _effects: &mut DropsAndMarks) -> Option<PacketRef> {
        self.now = self.now.max(now);
        if let Some((_, packet)) = self.direct.pop() {
            self.left(&packet);
            return Some(packet);
        }
        for class in &mut self.classes {
            class.fill(now);
        }
        let (leaf, lender) = self.choose()?;
        let (_, packet) = self.classes[leaf].fifo.pop()?;
        self.charge(leaf, lender, packet.size);
        self.left(&packet);
        Some(packet)
    }

    /// Which packet is next is known only at dequeue: the size of the largest packet that ever
    /// entered.
    fn head_size(&self) -> Option<u32> {
        (self.backlog.packets > 0).then_some(self.max_packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn ready_at(&self) -> Instant {
        if self.direct.packets() > 0 {
            return self.now;
        }
        // All buckets were filled up to the last dequeue.
        let filled_at = self
            .classes
            .first()
            .map_or(self.now, |class| class.filled_at);
        let waiting = (0..self.classes.len()).filter(|&n| self.classes[n].fifo.packets() > 0);
        let wait = waiting.map(|leaf| self.wait(leaf)).min();
        let at = filled_at + Duration::from_nanos(wait.unwrap_or(0));
        at.max(self.now)
    }

    fn shaping_time(&self, now: Instant) -> Duration {
        self.shaped.saturating_sub(self.clock.since(now))
    }
}

#[cfg(test)]
mod tests;
