//! FQ-PIE (tc-fq_pie(8)): flows hashed into queues, served as FQ-CoDel serves them (RFC 8290 §4.2),
//! each queue under its own PIE (RFC 8033).
//!
//! Packets are dropped and marked only when they enter. The limits of packets and of memory are
//! those of all queues together: a packet that finds one of them reached is dropped. Memory counts
//! the octets of packets from the IP header on, not the kernel's buffers around them. The
//! controller of a queue is that of [`pie`](super::pie), with its estimate of the delay by
//! timestamps.

use super::pie::{Pie, PieConfig};
use super::rounds::Rounds;
use super::{Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, QueueLimit, TcName, flow_key};
use crate::packet_pool::PacketRef;
use weir_proto::rng::{Rng, mix64};
use weir_proto::settings::{bytes, count};
use weir_proto::time::Instant;

/// Packets in all queues (tc-fq_pie(8), limit).
const LIMIT: u64 = 10_240;
/// Number of queues (tc-fq_pie(8), flows).
const QUEUES: u32 = 1024;
/// Octets of a turn: Ethernet's MTU and header (tc-fq_pie(8), quantum).
const QUANTUM: u32 = 1514;
/// Octets in all queues: 32 MB (tc-fq_pie(8), memory_limit).
const MEMORY_LIMIT: u64 = 32 << 20;
/// The probability in percent below which packets are marked (tc-fq_pie(8), ecn_prob).
const ECN_PROB: u32 = 10;

weir_proto::settings! {
    /// Flow queueing with PIE.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FqPieConfig {
        /// The controller of each queue; `limit` counts the packets of all queues together.
        pub pie: PieConfig [flatten] = PieConfig {
            limit: LIMIT,
            ..PieConfig::default()
        },
        /// Number of queues.
        pub flows: u32 = QUEUES => count(1..=65_536, "queues"),
        /// Bytes that a queue may send in a turn.
        pub quantum: u32 = QUANTUM => bytes(1..=65_535),
        /// The most bytes that all queues hold.
        pub memory_limit: u64 = MEMORY_LIMIT => bytes(1..=1 << 50),
        /// The probability from which ECN-capable packets are dropped too, in percent.
        pub ecn_prob: u32 = ECN_PROB => count(0..=100, "percent"),
    }
}

impl QueueDiscConfig for FqPieConfig {
    type Disc = Box<FqPie>;
    const TC_NAMES: &'static [TcName] = &[TcName::packets("fq_pie")];
    const IS_RANDOM: bool = true;

    fn build(&self, mut rng: Rng) -> Box<FqPie> {
        let count = self.flows.clamp(1, 65_536);
        let salt = rng.next_u64();
        let threshold = f64::from(self.ecn_prob) / 100.0;
        let queue = |_| {
            let rng = Rng::stream(rng.next_u64(), "fq_pie");
            self.pie.queue(rng, threshold)
        };
        Box::new(FqPie {
            config: *self,
            salt,
            queues: (0..count).map(queue).collect(),
            rounds: Rounds::new(count, self.quantum),
            backlog: Backlog::default(),
            max_packet: 0,
        })
    }

    fn limit(&self) -> QueueLimit {
        self.pie.limit()
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            pie: PieConfig::arbitrary(rng),
            flows: 1 + rng.below(64) as u32,
            quantum: 300 + rng.below(3000) as u32,
            ..Self::default()
        }
    }
}

/// All queues, and which of them is next.
#[derive(Debug)]
pub(crate) struct FqPie {
    config: FqPieConfig,
    salt: u64,
    queues: Vec<Pie>,
    rounds: Rounds,
    backlog: Backlog,
    max_packet: u32,
}

impl QueueDisc for FqPie {
    fn enqueue(&mut self, now: Instant, packet: PacketRef, effects: &mut DropsAndMarks) {
        let index = (mix64(flow_key(&packet) ^ self.salt) % self.queues.len() as u64) as u32;
        let queue = &mut self.queues[index as usize];
        let size = packet.size;
        let bytes = self.backlog.bytes + u64::from(size);
        let full = self.backlog.packets >= self.config.pie.limit;
        if full || bytes > self.config.memory_limit {
            queue.refuse(packet, effects);
            return;
        }
        let dropped_before = effects.dropped.len();
        queue.enqueue(now, packet, effects);
        if effects.dropped.len() == dropped_before {
            self.backlog.packets += 1;
            self.backlog.bytes = bytes;
            self.max_packet = self.max_packet.max(size);
            self.rounds.enter(index);
        }
    }

    fn dequeue(&mut self, now: Instant, effects: &mut DropsAndMarks) -> Option<PacketRef> {
        loop {
            let index = self.rounds.turn()?;
            let Some(packet) = self.queues[index as usize].dequeue(now, effects) else {
                self.rounds.found_empty();
                continue;
            };
            self.rounds.charge(index, packet.size);
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(packet.size);
            return Some(packet);
        }
    }

    /// Which packet is next is known only at dequeue: the size of the largest packet that ever
    /// entered.
    fn head_size(&self) -> Option<u32> {
        (self.backlog.packets > 0).then_some(self.max_packet)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{capable, packet};
    use weir_proto::event::DropReason;
    use weir_proto::packet::Ecn;
    use weir_proto::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + MS * millis
    }

    #[test]
    fn the_parameters_are_those_of_the_manual() {
        // tc-fq_pie(8): limit 10240 packets, flows 1024, target and tupdate 15 ms, alpha 2 and beta
        // 20 (in 1/16 per second: 1/8 and 5/4), quantum the MTU with its header, memory_limit 32
        // MB, ecn_prob 10 %, ECN off.
        let config = FqPieConfig::default();
        let pie = config.pie;
        assert_eq!((pie.limit, config.flows), (10_240, 1024));
        assert_eq!((pie.target, pie.tupdate), (MS * 15, MS * 15));
        assert_eq!((pie.alpha, pie.beta, pie.ecn), (2, 20, false));
        let bounds = (config.quantum, config.memory_limit, config.ecn_prob);
        assert_eq!(bounds, (1514, 33_554_432, 10));
    }

    fn build(config: FqPieConfig) -> Box<FqPie> {
        config.build(Rng::stream(1, "fq_pie"))
    }

    #[test]
    fn flows_take_turns_of_a_quantum() {
        // tc-fq_pie(8), quantum: 1514 octets are one packet of 1514 or two of 757 in a turn.
        let mut queue = build(FqPieConfig::default());
        let mut effects = DropsAndMarks::default();
        for (flow, size) in [(1, 1514), (2, 757)] {
            for _ in 0..8 {
                queue.enqueue(Instant::ZERO, packet(flow, size), &mut effects);
            }
        }
        let order: Vec<_> = (0..9)
            .filter_map(|_| queue.dequeue(Instant::ZERO, &mut effects))
            .map(|packet| packet.flow.0)
            .collect();
        assert_eq!(order, [1, 2, 2, 1, 2, 2, 1, 2, 2]);
    }

    #[test]
    fn the_limits_are_those_of_all_queues_and_drop_what_arrives() {
        let mut config = FqPieConfig::default();
        config.pie.limit = 3;
        for (config, held) in [
            (config, 3),
            (
                FqPieConfig {
                    memory_limit: 2999,
                    ..FqPieConfig::default()
                },
                2,
            ),
        ] {
            let mut queue = build(config);
            let mut effects = DropsAndMarks::default();
            for flow in 0..5 {
                queue.enqueue(Instant::ZERO, packet(flow, 1000), &mut effects);
            }
            assert_eq!(queue.backlog().packets, held);
            let dropped = effects.dropped.iter().map(|(packet, reason)| {
                assert_eq!(*reason, DropReason::QueueFull);
                u64::from(packet.flow.0)
            });
            assert!(dropped.eq(held..5));
        }
    }

    /// Two flows for ten seconds, one packet of 1000 octets leaving each millisecond: flow 1 sends
    /// 50 in a row each 45 ms, flow 2 one each 20 ms. Drops of each flow.
    fn unequal() -> [usize; 2] {
        let mut queue = build(FqPieConfig::default());
        let mut effects = DropsAndMarks::default();
        for millis in 0..10_000 {
            if millis % 45 == 0 {
                for _ in 0..50 {
                    queue.enqueue(at(millis), packet(1, 1000), &mut effects);
                }
            }
            if millis % 20 == 0 {
                queue.enqueue(at(millis), packet(2, 1000), &mut effects);
            }
            queue.dequeue(at(millis), &mut effects);
        }
        assert!(
            effects
                .dropped
                .iter()
                .all(|(_, reason)| *reason == DropReason::Aqm)
        );
        [1, 2].map(|flow| {
            let of_flow = effects
                .dropped
                .iter()
                .filter(|(packet, _)| packet.flow.0 == flow);
            of_flow.count()
        })
    }

    #[test]
    fn only_the_flow_that_builds_a_queue_loses_packets() {
        let [bulk, sparse] = unequal();
        assert!(bulk > 100 && sparse == 0, "{bulk} {sparse}");
    }

    /// A queue with a drop probability of 9 % whose controller drops the next packet for certain if
    /// it may not mark it.
    fn due(ecn_prob: u32) -> (bool, bool) {
        let mut config = FqPieConfig {
            flows: 1,
            ecn_prob,
            ..FqPieConfig::default()
        };
        config.pie.ecn = true;
        let mut queue = build(config);
        let mut effects = DropsAndMarks::default();
        queue.queues[0].force_drop(0.09);
        for number in 0..10 {
            queue.enqueue(at(1), capable(number, 1000, Ecn::Ect0), &mut effects);
        }
        (!effects.marked.is_empty(), !effects.dropped.is_empty())
    }

    #[test]
    fn packets_are_marked_below_the_threshold_and_dropped_above() {
        // tc-fq_pie(8), ecn_prob: 9 % is below 10 and above 8.
        assert_eq!(due(10), (true, false));
        assert_eq!(due(8), (false, true));
    }
}
