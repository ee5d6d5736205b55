//! FQ-CoDel (RFC 8290): flows hashed into queues, served by deficit round robin with preference
//! for new ones, each queue under its own CoDel.
//!
//! A flow is hashed by its number and direction, with a seed, so that two flows may share a queue
//! as they may in reality.

use super::codel::{Codel, CodelConfig, CodelInput};
use super::fifo::Fifo;
use super::rounds::Rounds;
use super::{Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, QueueLimit, TcName, flow_key};
use crate::packet_pool::PacketRef;
use weir_proto::event::DropReason;
use weir_proto::rng::{Rng, mix64};
use weir_proto::settings::{bytes, count};
use weir_proto::time::Instant;

/// Packets in all queues (RFC 8290 §5.2.3).
const LIMIT: u64 = 10_240;
/// Octets of a turn: Ethernet's MTU and header (RFC 8290 §5.2.4).
const QUANTUM: u32 = 1514;
/// Number of queues (RFC 8290 §5.2.5).
const QUEUES: u32 = 1024;
/// The most packets that are dropped at once (RFC 8290 §4.1).
const DROP_BATCH: u64 = 64;

weir_proto::settings! {
    /// Flow queueing with controlled delay (RFC 8290).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct FqCodelConfig {
        /// The controller of each queue; `limit` counts the packets of all queues together.
        // The defaults of tc-fq_codel(8).
        pub codel: CodelConfig [flatten] = CodelConfig {
            limit: LIMIT,
            ecn: true,
            ..CodelConfig::default()
        },
        /// Number of queues.
        pub flows: u32 = QUEUES => count(1..=65_536, "queues"),
        /// Bytes that a queue may send in a turn.
        pub quantum: u32 = QUANTUM => bytes(1..=65_535),
    }
}

impl QueueDiscConfig for FqCodelConfig {
    type Disc = Box<FqCodel>;
    const TC_NAMES: &'static [TcName] = &[TcName::packets("fq_codel")];
    const IS_RANDOM: bool = true;

    fn build(&self, mut rng: Rng) -> Box<FqCodel> {
        let count = self.flows.clamp(1, 65_536);
        Box::new(FqCodel {
            config: *self,
            salt: rng.next_u64(),
            queues: (0..count).map(|_| FlowQueue::default()).collect(),
            rounds: Rounds::new(count, self.quantum),
            packets: 0,
            bytes: 0,
            max_packet: 0,
        })
    }

    fn limit(&self) -> QueueLimit {
        self.codel.limit()
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            codel: CodelConfig::arbitrary(rng),
            ..Self::default()
        }
    }
}

#[derive(Debug, Default)]
struct FlowQueue {
    fifo: Fifo,
    codel: Codel,
}

/// All queues, and which of them is next.
#[derive(Debug)]
pub(crate) struct FqCodel {
    config: FqCodelConfig,
    salt: u64,
    queues: Vec<FlowQueue>,
    rounds: Rounds,
    packets: u64,
    bytes: u64,
    max_packet: u32,
}

impl FqCodel {
    fn queue_of(&self, packet: &PacketRef) -> u32 {
        (mix64(flow_key(packet) ^ self.salt) % self.queues.len() as u64) as u32
    }

    /// RFC 8290 §4.1: from the head of the queue with the most octets, half of its packets but at
    /// most 64.
    fn drop_from_longest(&mut self, effects: &mut DropsAndMarks) {
        let Some(longest) = self
            .queues
            .iter_mut()
            .max_by_key(|queue| queue.fifo.bytes())
        else {
            return;
        };
        // A queue of one packet is emptied, so that the limit holds.
        let count = (longest.fifo.packets() / 2).clamp(1, DROP_BATCH);
        for _ in 0..count {
            let Some((_, packet)) = longest.fifo.pop() else {
                break;
            };
            self.packets -= 1;
            self.bytes -= u64::from(packet.size);
            effects.dropped.push((packet, DropReason::QueueFull));
        }
    }
}

impl QueueDisc for FqCodel {
    fn enqueue(&mut self, now: Instant, packet: PacketRef, effects: &mut DropsAndMarks) {
        let index = self.queue_of(&packet);
        self.max_packet = self.max_packet.max(packet.size);
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        self.queues[index as usize].fifo.push(now, packet);
        self.rounds.enter(index);
        if self.packets > self.config.codel.limit {
            self.drop_from_longest(effects);
        }
    }

    /// RFC 8290 §4.2.
    fn dequeue(&mut self, now: Instant, effects: &mut DropsAndMarks) -> Option<PacketRef> {
        loop {
            let index = self.rounds.turn()?;
            let queue = &mut self.queues[index as usize];
            let dropped_before = effects.dropped.len();
            let input = CodelInput {
                config: &self.config.codel,
                now,
                max_packet: self.max_packet,
            };
            let packet = queue.codel.dequeue(input, &mut queue.fifo, effects);
            for (dropped, _) in &effects.dropped[dropped_before..] {
                self.packets -= 1;
                self.bytes -= u64::from(dropped.size);
            }
            let Some(packet) = packet else {
                self.rounds.found_empty();
                continue;
            };
            self.rounds.charge(index, packet.size);
            self.packets -= 1;
            self.bytes -= u64::from(packet.size);
            return Some(packet);
        }
    }

    /// Which packet is next is known only at dequeue: the size of the largest packet that ever
    /// entered.
    fn head_size(&self) -> Option<u32> {
        (self.packets > 0).then_some(self.max_packet)
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets,
            bytes: self.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;

    fn build(config: FqCodelConfig) -> Box<FqCodel> {
        config.build(Rng::stream(1, "fq_codel"))
    }

    fn filled(flows: &[(u32, u32, u32)]) -> Box<FqCodel> {
        let mut queue = build(FqCodelConfig::default());
        let mut effects = DropsAndMarks::default();
        for &(flow, size, count) in flows {
            for _ in 0..count {
                queue.enqueue(Instant::ZERO, packet(flow, size), &mut effects);
            }
        }
        queue
    }

    fn order(queue: &mut FqCodel, count: usize) -> Vec<u32> {
        let mut effects = DropsAndMarks::default();
        let take = |_| {
            queue
                .dequeue(Instant::ZERO, &mut effects)
                .map(|packet| packet.flow.0)
        };
        (0..count).filter_map(take).collect()
    }

    #[test]
    fn the_parameters_are_those_of_the_rfc() {
        // RFC 8290 §5.2.3, LIMIT: 10240 packets. §5.2.4, QUANTUM: 1514 octets. §5.2.5, QUEUES:
        // 1024. §5.2.1 and §5.2.2: 100 and 5 ms. §5.2.6: ECN is on.
        let config = FqCodelConfig::default();
        assert_eq!(
            (config.codel.limit, config.quantum, config.flows),
            (10_240, 1514, 1024)
        );
        let millis = weir_proto::time::Duration::from_millis;
        assert_eq!(
            (config.codel.interval, config.codel.target),
            (millis(100), millis(5))
        );
        assert!(config.codel.ecn);
    }

    #[test]
    fn a_queue_sends_while_it_has_credits() {
        // RFC 8290 §4.2: with a quantum of 1514 credits a queue sends until they are used up:
        // packets of 757, 757 leave 0 credits; of 756, 757, 757 the third is sent too.
        for (size, burst) in [
            (1514, 1),
            (1513, 2),
            (757, 2),
            (756, 3),
            (500, 4),
            (3000, 1),
        ] {
            let mut queue = filled(&[(1, size, 20), (2, size, 20)]);
            let order = order(&mut queue, 12);
            let first = order.iter().take_while(|flow| **flow == order[0]).count();
            assert_eq!(first, burst, "{size}");
        }
    }

    #[test]
    fn credits_are_added_until_they_are_positive() {
        // RFC 8290 §4.2: a packet of 4000 octets leaves 1514 - 4000 = -2486 credits; the queue
        // needs two more quanta (-972 and 542), during which the other queue sends two packets of
        // 1514.
        let mut queue = filled(&[(1, 4000, 5), (2, 1514, 20)]);
        assert_eq!(order(&mut queue, 8), [1, 2, 2, 1, 2, 2, 2, 1]);
    }

    #[test]
    fn an_emptied_new_queue_goes_behind_the_old_ones_once() {
        // RFC 8290 §4.2: it "MUST" be moved to the old queues; otherwise its flow could stay new
        // and starve the others.
        let mut queue = filled(&[(1, 1000, 50)]);
        assert_eq!(order(&mut queue, 2), [1, 1]);
        let mut effects = DropsAndMarks::default();
        queue.enqueue(Instant::ZERO, packet(2, 100), &mut effects);
        assert_eq!(order(&mut queue, 2), [2, 1]);
        // The queue is in the list of old queues, empty and behind queue 1, which has credits left:
        // a packet that arrives now does not make it new again.
        queue.enqueue(Instant::ZERO, packet(2, 100), &mut effects);
        queue.enqueue(Instant::ZERO, packet(3, 100), &mut effects);
        assert_eq!(order(&mut queue, 3), [3, 1, 2]);
    }

    #[test]
    fn at_most_64_packets_are_dropped_at_once() {
        // RFC 8290 §4.1, DROP_BATCH: half of the packets, up to 64. The limit is exceeded by one.
        for (limit, dropped) in [(1, 1), (3, 2), (9, 5), (126, 63), (128, 64), (1000, 64)] {
            let codel = CodelConfig {
                limit,
                ..CodelConfig::default()
            };
            let mut queue = build(FqCodelConfig {
                codel,
                ..FqCodelConfig::default()
            });
            let mut effects = DropsAndMarks::default();
            for _ in 0..=limit {
                queue.enqueue(Instant::ZERO, packet(1, 1000), &mut effects);
            }
            assert_eq!(effects.dropped.len(), dropped, "{limit}");
            assert_eq!(queue.backlog().packets, limit + 1 - dropped as u64);
        }
    }

    #[test]
    fn the_backlog_is_what_is_left_also_after_drops() {
        // 50 packets that waited a second: CoDel drops some of them at dequeue.
        let mut queue = filled(&[(1, 1000, 50)]);
        let mut effects = DropsAndMarks::default();
        let mut taken = 0;
        for millis in 1000..1200_u64 {
            let now = Instant::from_nanos(millis * 1_000_000);
            if millis % 10 == 0 && queue.dequeue(now, &mut effects).is_some() {
                taken += 1;
            }
            let left = 50 - taken - effects.dropped.len() as u64;
            let backlog = queue.backlog();
            assert_eq!((backlog.packets, backlog.bytes), (left, left * 1000));
        }
        assert!(taken == 20 && !effects.dropped.is_empty());
    }

    #[test]
    fn shares_octets_not_packets() {
        // Flow 1 sends packets of 1514 octets, flow 2 of 757: two of flow 2 for each of flow 1.
        let mut queue = filled(&[(1, 1514, 100), (2, 757, 200)]);
        let order = order(&mut queue, 30);
        assert_eq!(order.iter().filter(|&&flow| flow == 1).count(), 10);
        assert_eq!(order.iter().filter(|&&flow| flow == 2).count(), 20);
    }

    #[test]
    fn a_new_flow_goes_before_the_old_ones() {
        let mut queue = filled(&[(1, 1514, 50)]);
        order(&mut queue, 3);
        queue.enqueue(Instant::ZERO, packet(2, 100), &mut DropsAndMarks::default());
        assert_eq!(order(&mut queue, 1), [2]);
    }

    #[test]
    fn overload_hits_the_fattest_queue_from_its_head() {
        let codel = CodelConfig {
            limit: 100,
            ..CodelConfig::default()
        };
        let mut queue = build(FqCodelConfig {
            codel,
            ..FqCodelConfig::default()
        });
        let mut effects = DropsAndMarks::default();
        queue.enqueue(Instant::ZERO, packet(2, 1000), &mut effects);
        for _ in 0..100 {
            queue.enqueue(Instant::ZERO, packet(1, 1000), &mut effects);
        }
        assert_eq!(effects.dropped.len(), 50);
        assert!(effects.dropped.iter().all(|(packet, _)| packet.flow.0 == 1));
        let backlog = queue.backlog();
        assert_eq!((backlog.packets, backlog.bytes), (51, 51_000));
    }

    #[test]
    fn flows_are_spread_by_the_finaliser_of_splitmix64() {
        // The first outputs of SplitMix64 (Steele, Lea, Flood 2014) with a seed of zero finalise
        // multiples of the golden gamma; 65 536 queues take their low 16 bits.
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut queue = build(FqCodelConfig {
            flows: u32::MAX,
            ..FqCodelConfig::default()
        });
        assert_eq!(queue.queues.len(), 65_536);
        let mut packet = packet(3, 1000);
        packet.ip.source.0 = 5;
        let key = 0x0000_0003_0000_0005;
        for (multiple, output) in [
            (1_u64, 0xe220_a839_7b1d_cdaf_u64),
            (2, 0x6e78_9e6a_a1b9_65f4),
            (3, 0x06c4_5d18_8009_454f),
        ] {
            queue.salt = GAMMA.wrapping_mul(multiple) ^ key;
            assert_eq!(u64::from(queue.queue_of(&packet)), output & 0xffff);
        }
        let one = build(FqCodelConfig {
            flows: 0,
            ..FqCodelConfig::default()
        });
        assert_eq!(one.queues.len(), 1);
    }

    #[test]
    fn an_emptied_old_queue_leaves_the_list() {
        // RFC 8290 §4.2: two queues become old, and each is removed when it is empty.
        let mut queue = filled(&[(1, 1514, 3), (2, 1514, 3)]);
        assert_eq!(order(&mut queue, 7), [1, 2, 1, 2, 1, 2]);
        assert!(queue.rounds.is_idle());
    }
}
