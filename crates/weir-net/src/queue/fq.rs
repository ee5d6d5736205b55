//! fq (tc-fq(8)): a queue for each flow, served by deficit round robin, with pacing of each flow.
//!
//! A new flow may send `initial_quantum` octets in its first turn, later ones `quantum`. A flow
//! whose credits are used up at `maxrate` waits until the octets it has sent are due at that rate;
//! at a rate of at most `low_rate_threshold` each packet is spaced. A flow that was idle for longer
//! than `flow_refill_delay` begins with at least a quantum.
//!
//! Does not model: departure times of packets. Transports here pace themselves, so that a packet
//! enters when it is due; `maxrate` is the only rate of this queue. Flows do not collide, so the
//! size of the hash table has no effect. The band of control traffic and the horizon are left out.

use super::fifo::Fifo;
use super::{Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, QueueLimit, TcName};
use super::{flow_key, mark, max_packets};
use crate::packet_pool::PacketRef;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weir_proto::event::DropReason;
use weir_proto::rng::Rng;
use weir_proto::settings::{bit_rate, bytes, count, natural, or_word};
use weir_proto::time::{Duration, Instant};

/// Packets in all flows (tc-fq(8), limit).
const LIMIT: u64 = 10_000;
/// Packets of one flow (tc-fq(8), flow_limit).
const FLOW_LIMIT: u64 = 100;
/// Octets of a turn: two packets of Ethernet's MTU and header (tc-fq(8), quantum).
const QUANTUM: u32 = 2 * 1514;
/// Octets of a flow's first turn: ten such packets (tc-fq(8), initial_quantum).
const INITIAL_QUANTUM: u32 = 10 * 1514;
/// Buckets of the hash table (tc-fq(8), buckets).
const BUCKETS: u32 = 1024;
/// The rate up to which each packet is spaced (Linux, low_rate_threshold).
const LOW_RATE_THRESHOLD: u64 = 550_000;
/// The idle time after which a flow has a quantum again (Linux, flow_refill_delay).
const REFILL_DELAY: Duration = Duration::from_millis(40);
/// The longest time between two turns of a paced flow, as in Linux.
const MAX_SPACING: Duration = Duration::from_secs(1);

weir_proto::settings! {
    /// A queue for each flow, with pacing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FqConfig {
        /// The most packets that all flows hold together.
        pub limit: u64 = LIMIT => max_packets(),
        /// The most packets of one flow.
        pub flow_limit: u64 = FLOW_LIMIT => max_packets(),
        /// Bytes that a flow may send in a turn.
        pub quantum: u32 = QUANTUM => bytes(1..=1 << 24),
        /// Bytes that a new flow may send in its first turn.
        pub initial_quantum: u32 = INITIAL_QUANTUM => bytes(1..=1 << 24),
        /// The most bits per second of each flow.
        pub maxrate: Option<u64> => or_word("unlimited", bit_rate()),
        /// Flows up to this rate are spaced packet by packet.
        pub low_rate_threshold: u64 = LOW_RATE_THRESHOLD => bit_rate(),
        /// Idle time after which a flow has a quantum again.
        pub flow_refill_delay: Duration = REFILL_DELAY,
        /// Pace flows at `maxrate`.
        pub pacing: bool = true,
        /// Mark ECN-capable packets that have waited for longer.
        pub ce_threshold: Option<Duration> => or_word("off", natural()),
        /// Buckets of the hash table; without effect, because flows do not collide here.
        pub buckets: u32 = BUCKETS => count(1..=1 << 18, "buckets"),
    }
}

impl QueueDiscConfig for FqConfig {
    type Disc = Box<Fq>;
    const TC_NAMES: &'static [TcName] = &[TcName::packets("fq")];
    const IS_RANDOM: bool = false;

    fn build(&self, _rng: Rng) -> Box<Fq> {
        Box::new(Fq {
            config: *self,
            numbers: BTreeMap::new(),
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            throttled: BTreeSet::new(),
            backlog: Backlog::default(),
            max_packet: 0,
            now: Instant::ZERO,
        })
    }

    fn limit(&self) -> QueueLimit {
        QueueLimit::Packets(self.limit)
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            limit: 1 + rng.below(20),
            flow_limit: 1 + rng.below(20),
            quantum: 300 + rng.below(5000) as u32,
            initial_quantum: 300 + rng.below(20_000) as u32,
            maxrate: rng.chance(0.5).then(|| 100_000 + rng.below(20_000_000)),
            pacing: rng.chance(0.8),
            ..Self::default()
        }
    }
}

/// Where a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It had no packet at its last turn, which was then.
    Idle(Instant),
    /// In one of the two lists.
    Listed,
    /// It waits until its next packet is due.
    Throttled,
}

#[derive(Debug)]
struct Flow {
    fifo: Fifo,
    credit: i64,
    /// When its next packet is due.
    next: Instant,
    place: Place,
}

/// The flows, and which of them is next.
#[derive(Debug)]
pub(crate) struct Fq {
    config: FqConfig,
    /// The number of each flow, by its key.
    numbers: BTreeMap<u64, u32>,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Throttled flows by the time at which they are due.
    throttled: BTreeSet<(Instant, u32)>,
    backlog: Backlog,
    max_packet: u32,
    /// The time of the last call.
    now: Instant,
}

impl Fq {
    /// The number of the packet's flow.
    fn number_of(&mut self, packet: &PacketRef) -> u32 {
        let next = self.flows.len() as u32;
        let number = *self.numbers.entry(flow_key(packet)).or_insert(next);
        if number == next {
            self.flows.push(Flow {
                fifo: Fifo::default(),
                credit: i64::from(self.config.initial_quantum),
                next: Instant::ZERO,
                place: Place::Idle(self.now),
            });
        }
        number
    }

    /// Moves the flows that are due into the list of old ones.
    fn release(&mut self, now: Instant) {
        while let Some(&(due, number)) = self.throttled.first()
            && due <= now
        {
            self.throttled.pop_first();
            self.flows[number as usize].place = Place::Listed;
            self.old.push_back(number);
        }
    }

    fn pop(&mut self, from_new: bool) {
        if from_new {
            self.new.pop_front();
        } else {
            self.old.pop_front();
        }
    }

    /// The flow that sends next: the first with credits and a packet that is due. Flows in front of
    /// it get credits, are throttled or leave the lists.
    fn turn(&mut self, now: Instant) -> Option<u32> {
        loop {
            let from_new = !self.new.is_empty();
            let number = *self.new.front().or(self.old.front())?;
            let flow = &mut self.flows[number as usize];
            if flow.credit <= 0 {
                flow.credit += i64::from(self.config.quantum.max(1));
                self.pop(from_new);
                self.old.push_back(number);
            } else if flow.fifo.packets() == 0 {
                self.pop(from_new);
                // A pass through the old flows, so that an emptied flow cannot stay new.
                if from_new && !self.old.is_empty() {
                    self.old.push_back(number);
                } else {
                    self.flows[number as usize].place = Place::Idle(now);
                }
            } else if flow.next > now {
                flow.place = Place::Throttled;
                self.throttled.insert((flow.next, number));
                self.pop(from_new);
            } else {
                return Some(number);
            }
        }
    }

    /// Takes the credits of a packet of this size, and sets when the flow's next one is due.
    fn charge(&mut self, number: u32, size: u32) {
        let FqConfig {
            quantum,
            low_rate_threshold,
            pacing,
            maxrate,
            ..
        } = self.config;
        let flow = &mut self.flows[number as usize];
        flow.credit -= i64::from(size);
        let Some(rate) = maxrate.filter(|_| pacing) else {
            return;
        };
        let octets = if rate <= low_rate_threshold {
            flow.credit = 0;
            size
        } else if flow.credit > 0 {
            return;
        } else {
            size.max(quantum)
        };
        let spacing = Duration::of_octets(octets.into(), rate).min(MAX_SPACING);
        // A turn that came late makes the time to the next one shorter, at most by half.
        let late = if flow.next == Instant::ZERO {
            Duration::ZERO
        } else {
            self.now.since(flow.next)
        };
        flow.next = self.now + spacing.saturating_sub(late.min(spacing / 2));
    }
}

impl QueueDisc for Fq {
    fn enqueue(&mut self, now: Instant, packet: PacketRef, effects: &mut DropsAndMarks) {
        self.now = self.now.max(now);
        let FqConfig {
            limit, flow_limit, ..
        } = self.config;
        if self.backlog.packets >= limit {
            effects.dropped.push((packet, DropReason::QueueFull));
            return;
        }
        let number = self.number_of(&packet);
        let flow = &mut self.flows[number as usize];
        if flow.fifo.packets() >= flow_limit {
            effects.dropped.push((packet, DropReason::QueueFull));
            return;
        }
        if let Place::Idle(since) = flow.place {
            if now.since(since) > self.config.flow_refill_delay {
                flow.credit = flow.credit.max(i64::from(self.config.quantum));
            }
            flow.place = Place::Listed;
            self.new.push_back(number);
        }
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.size);
        self.max_packet = self.max_packet.max(packet.size);
        flow.fifo.push(now, packet);
    }

    fn dequeue(&mut self, now: Instant, effects: &mut DropsAndMarks) -> Option<PacketRef> {
        self.now = self.now.max(now);
        self.release(now);
        let number = self.turn(now)?;
        let flow = &mut self.flows[number as usize];
        let (entered, mut packet) = flow.fifo.pop()?;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.size);
        let waited = now.since(entered.max(flow.next));
        if self.config.ce_threshold.is_some_and(|most| waited > most) {
            mark(&mut packet, effects);
        }
        self.charge(number, packet.size);
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
        let due = self.throttled.first().map_or(self.now, |&(due, _)| due);
        if self.new.is_empty() && self.old.is_empty() {
            due.max(self.now)
        } else {
            self.now
        }
    }
}

#[cfg(test)]
mod tests;
