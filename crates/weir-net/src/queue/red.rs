//! RED (Floyd and Jacobson 1993) with the gentle variant (Floyd 2000).
//!
//! The mean queue `avg` follows the queue q at each arrival: `avg += w (q - avg)`; after an idle
//! time of m packet times `avg *= (1 - w)^m`. Between `min` and `max` a packet is dropped or marked
//! with `pb = max_p (avg - min)/(max - min)`, spread evenly by `pa = pb/(1 - count pb)`. Above
//! `max` all are dropped; the gentle variant lets the probability rise to 1 at twice `max` instead.
//!
//! Counts octets, as tc's red does. A packet that exceeds the hard limit is always dropped, and so
//! is every packet, ECN-capable or not, in the region where all are dropped (RFC 7567 §4.2.1).

use super::fifo::Fifo;
use super::{Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, QueueLimit, TcName, mark};
use crate::packet_pool::PacketRef;
use weir_proto::event::DropReason;
use weir_proto::rng::Rng;
use weir_proto::settings::{bytes, fraction};
use weir_proto::time::{Duration, Instant};

weir_proto::settings! {
    /// Random early detection (Floyd and Jacobson 1993), in bytes.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct RedConfig {
        /// The most bytes that it holds.
        pub limit: u64 [required] => bytes(1..=MAX_OCTETS),
        /// Mean bytes below which nothing is dropped.
        pub min: u64 [required] => bytes(1..=MAX_OCTETS),
        /// Mean bytes at which packets are dropped with `probability`; more than `min`.
        pub max: u64 [required] => bytes(1..=MAX_OCTETS),
        /// The probability of an early drop at `max`.
        pub probability: f64 = 0.02 => fraction(),
        /// The weight of one arrival in the mean.
        pub weight: f64 = 0.002 => fraction(),
        /// The time of a mean packet on the wire: how the mean ages while the queue is empty.
        pub packet_time: Duration = Duration::from_millis(1),
        /// Let the probability rise to 1 between `max` and twice `max`.
        pub gentle: bool = true,
        /// Mark packets of ECN-capable transports where others would be dropped early.
        pub ecn: bool,
        /// Drop all where everything is dropped, also what `ecn` would mark (RFC 7567 §4.2.1).
        pub harddrop: bool = true,
    }
}

const MAX_OCTETS: u64 = 1 << 50;

impl QueueDiscConfig for RedConfig {
    type Disc = Box<Red>;
    const TC_NAMES: &'static [TcName] = &[TcName::octets("red")];
    const IS_RANDOM: bool = true;

    fn build(&self, rng: Rng) -> Box<Red> {
        Box::new(Red {
            config: *self,
            fifo: Fifo::default(),
            mean: 0.0,
            count: None,
            idle_since: Some(Instant::ZERO),
            rng,
        })
    }

    fn limit(&self) -> QueueLimit {
        QueueLimit::Bytes(self.limit)
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            limit: 1500 + rng.below(30_000),
            min: 1500,
            max: 6000,
            probability: rng.uniform(),
            weight: rng.uniform(),
            packet_time: Duration::from_millis(1),
            gentle: rng.chance(0.5),
            ecn: rng.chance(0.5),
            harddrop: rng.chance(0.5),
        }
    }
}

/// A queue under RED.
#[derive(Debug)]
pub(crate) struct Red {
    config: RedConfig,
    fifo: Fifo,
    mean: f64,
    /// Packets since the last early drop or mark; `None` below `min`.
    count: Option<u64>,
    idle_since: Option<Instant>,
    rng: Rng,
}

/// The decision on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Enqueue,
    /// Mark the packet if it is ECN-capable, else drop it.
    Early,
    /// Drop the packet.
    Forced,
}

impl Red {
    fn update_mean(&mut self, now: Instant) {
        if let Some(since) = self.idle_since.take() {
            let packet_time = self.config.packet_time.as_nanos().max(1) as f64;
            let packets = now.since(since).as_nanos() as f64 / packet_time;
            self.mean *= libm::pow(1.0 - self.config.weight, packets);
        }
        self.mean += self.config.weight * (self.fifo.bytes() as f64 - self.mean);
    }

    fn decide(&mut self) -> Decision {
        let RedConfig {
            min,
            max,
            probability,
            gentle,
            ..
        } = self.config;
        let (min, max) = (min as f64, max as f64);
        let base = if self.mean < min {
            self.count = None;
            return Decision::Enqueue;
        } else if self.mean < max {
            probability * (self.mean - min) / (max - min)
        } else if gentle && self.mean < 2.0 * max {
            probability + (1.0 - probability) * (self.mean - max) / max
        } else {
            self.count = Some(0);
            return Decision::Forced;
        };
        let count = self.count.map_or(0, |count| count + 1);
        self.count = Some(count);
        let spread = 1.0 - count as f64 * base;
        if spread <= 0.0 || self.rng.chance(base / spread) {
            self.count = Some(0);
            return Decision::Early;
        }
        Decision::Enqueue
    }
}

impl QueueDisc for Red {
    fn enqueue(&mut self, now: Instant, mut packet: PacketRef, effects: &mut DropsAndMarks) {
        self.update_mean(now);
        let full = self.fifo.bytes() + u64::from(packet.size) > self.config.limit;
        let reason = match self.decide() {
            _ if full => DropReason::QueueFull,
            Decision::Forced if self.config.harddrop => DropReason::Aqm,
            Decision::Early | Decision::Forced
                if !(self.config.ecn && mark(&mut packet, effects)) =>
            {
                DropReason::Aqm
            }
            _ => return self.fifo.push(now, packet),
        };
        if self.fifo.packets() == 0 {
            self.idle_since = Some(now);
        }
        effects.dropped.push((packet, reason));
    }

    fn dequeue(&mut self, now: Instant, _effects: &mut DropsAndMarks) -> Option<PacketRef> {
        let packet = self.fifo.pop().map(|(_, packet)| packet);
        if self.fifo.packets() == 0 && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        packet
    }

    fn head_size(&self) -> Option<u32> {
        self.fifo.head_size()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;

    const CONFIG: RedConfig = RedConfig {
        limit: 100_000,
        min: 5_000,
        max: 15_000,
        probability: 0.1,
        weight: 0.25,
        packet_time: Duration::from_millis(8),
        gentle: false,
        ecn: false,
        harddrop: true,
    };

    fn red(config: RedConfig) -> Box<Red> {
        config.build(Rng::stream(1, "red"))
    }

    #[test]
    fn the_mean_follows_the_queue_with_its_weight_and_ages_while_idle() {
        let mut queue = red(CONFIG);
        let mut effects = DropsAndMarks::default();
        for _ in 0..4 {
            queue.enqueue(Instant::ZERO, packet(0, 1000), &mut effects);
        }
        // 0; 0 + (1000-0)/4 = 250; 250 + (2000-250)/4 = 687.5; 687.5 + (3000-687.5)/4.
        assert_eq!(queue.mean, 1265.625);
        while queue.dequeue(Instant::ZERO, &mut effects).is_some() {}
        queue.update_mean(Instant::from_nanos(16_000_000));
        // Two packet times: * 0.75^2, then one arrival at an empty queue: * 0.75.
        assert!((queue.mean - 1265.625 * 0.75 * 0.75 * 0.75).abs() < 1e-9);
    }

    #[test]
    fn a_packet_beyond_the_limit_is_dropped() {
        let config = RedConfig {
            limit: 3000,
            weight: 0.0,
            ..CONFIG
        };
        assert_eq!(config.limit(), QueueLimit::Bytes(3000));
        let mut queue = red(config);
        let mut effects = DropsAndMarks::default();
        for size in [1500, 1500, 1] {
            queue.enqueue(Instant::ZERO, packet(0, size), &mut effects);
        }
        assert_eq!(queue.backlog().bytes, 3000);
        assert_eq!(effects.dropped[0].1, DropReason::QueueFull);
    }

    #[test]
    fn spreads_early_drops_evenly() {
        // With a constant base probability b = 1/20 the gaps are uniform on 1..1/b - 1: the
        // algorithm of Floyd and Jacobson 1993 counts the arriving packet itself.
        let mut queue = red(CONFIG);
        queue.mean = 10_000.0;
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..200_000 {
            gap += 1;
            if queue.decide() == Decision::Early {
                gaps.push(gap);
                gap = 0;
            }
        }
        let mean = f64::from(gaps.iter().sum::<i32>()) / gaps.len() as f64;
        assert!((mean - 10.0).abs() < 0.12, "{mean}");
        assert!(gaps.iter().all(|&gap| gap <= 19));
    }

    #[test]
    fn gentle_rises_where_the_original_drops_all() {
        let mut original = red(CONFIG);
        original.mean = 16_000.0;
        assert_eq!(original.decide(), Decision::Forced);
        let mut gentle = red(RedConfig {
            gentle: true,
            ..CONFIG
        });
        gentle.mean = 16_000.0;
        let early = (0..1000)
            .filter(|_| gentle.decide() == Decision::Early)
            .count();
        // b = 0.1 + 0.9/15 = 0.16: mean gap 3.6.
        assert!((200..360).contains(&early), "{early}");
        gentle.mean = 30_000.0;
        assert_eq!(gentle.decide(), Decision::Forced);
    }

    #[test]
    fn marks_capable_packets_early_and_drops_them_when_forced() {
        let mut queue = red(RedConfig {
            ecn: true,
            weight: 1.0,
            ..CONFIG
        });
        let mut effects = DropsAndMarks::default();
        let capable = || {
            let mut packet = packet(0, 1000);
            packet.ip.ecn = weir_proto::packet::Ecn::Ect0;
            packet
        };
        for _ in 0..200 {
            queue.enqueue(Instant::ZERO, capable(), &mut effects);
            if queue.backlog().bytes > 12_000 {
                queue.dequeue(Instant::ZERO, &mut effects);
            }
        }
        assert!(effects.dropped.is_empty() && effects.marked.len() > 5);
        for _ in 0..20 {
            queue.enqueue(Instant::ZERO, capable(), &mut effects);
        }
        assert!(
            effects
                .dropped
                .iter()
                .any(|(_, reason)| *reason == DropReason::Aqm)
        );
    }

    #[test]
    fn without_harddrop_capable_packets_are_marked_above_max_too() {
        // As Linux's sch_red: packets that are not ECN-capable are dropped there in any case.
        for (harddrop, ecn, drops) in [
            (false, weir_proto::packet::Ecn::Ect0, 0),
            (true, weir_proto::packet::Ecn::Ect0, 1),
            (false, weir_proto::packet::Ecn::NotEct, 1),
        ] {
            let mut queue = red(RedConfig {
                ecn: true,
                harddrop,
                weight: 0.0,
                ..CONFIG
            });
            (queue.mean, queue.idle_since) = (16_000.0, None);
            let mut effects = DropsAndMarks::default();
            let mut sent = packet(0, 1000);
            sent.ip.ecn = ecn;
            queue.enqueue(Instant::ZERO, sent, &mut effects);
            let found = (effects.dropped.len(), effects.marked.len());
            assert_eq!(found, (drops, 1 - drops), "{harddrop} {ecn:?}");
        }
    }

    #[test]
    fn the_mean_ages_by_packet_times_of_a_nanosecond_at_least() {
        for (packet_time, factor) in [(0, 0.25), (1, 0.25), (2, 0.5)] {
            let mut queue = red(RedConfig {
                packet_time: Duration::from_nanos(packet_time),
                weight: 0.75,
                ..CONFIG
            });
            queue.mean = 1000.0;
            queue.update_mean(Instant::from_nanos(1));
            // One arrival at an empty queue: another factor of 0.25.
            let expected = 1000.0 * factor * 0.25;
            assert!((queue.mean - expected).abs() < 1e-9, "{}", queue.mean);
        }
    }

    #[test]
    fn the_thresholds_themselves_belong_to_the_region_above_them() {
        // Floyd and Jacobson 1993, figure 2: for min <= avg < max packets are counted, for max <=
        // avg all are dropped. At min the probability is zero; at max that of the gentle variant is
        // max_p.
        for (gentle, mean, decision, count) in [
            (false, 4999.0, Decision::Enqueue, None),
            (false, 5000.0, Decision::Enqueue, Some(0)),
            (false, 15_000.0, Decision::Forced, Some(0)),
            (true, 30_000.0, Decision::Forced, Some(0)),
        ] {
            let mut queue = red(RedConfig { gentle, ..CONFIG });
            queue.mean = mean;
            assert_eq!((queue.decide(), queue.count), (decision, count), "{mean}");
        }
    }

    #[test]
    fn gentle_rises_in_proportion_to_one_at_twice_max() {
        // Floyd 2000: at 1.5 max it is max_p + (1 - max_p)/2 = 0.55, with six standard deviations
        // of 0.0025.
        let mut queue = red(RedConfig {
            gentle: true,
            ..CONFIG
        });
        queue.mean = 22_500.0;
        let early = (0..40_000).filter(|_| {
            queue.count = None;
            queue.decide() == Decision::Early
        });
        let share = early.count() as f64 / 40_000.0;
        assert!((share - 0.55).abs() < 0.015, "{share}");
    }

    #[test]
    fn the_last_packet_of_a_gap_is_dropped_without_chance() {
        // Floyd and Jacobson 1993: pa = pb/(1 - count·pb), with pb = 1/2 and count = 2.
        let mut queue = red(RedConfig {
            probability: 1.0,
            ..CONFIG
        });
        (queue.mean, queue.count) = (10_000.0, Some(1));
        assert_eq!(queue.decide(), Decision::Early);
        let mut fresh = Rng::stream(1, "red");
        assert_eq!(queue.rng.next_u64(), fresh.next_u64());
    }

    #[test]
    fn the_queue_is_idle_from_when_it_became_empty() {
        let at = Instant::from_nanos;
        let mut effects = DropsAndMarks::default();
        let mut queue = red(RedConfig {
            limit: 2000,
            ..CONFIG
        });
        // A packet that is dropped leaves an empty queue, which is idle from that time on.
        queue.enqueue(at(7), packet(0, 2001), &mut effects);
        assert_eq!(queue.idle_since, Some(at(7)));
        queue.enqueue(at(8), packet(0, 1000), &mut effects);
        queue.enqueue(at(9), packet(0, 1001), &mut effects);
        assert_eq!((queue.idle_since, effects.dropped.len()), (None, 2));
        queue.enqueue(at(10), packet(0, 1000), &mut effects);
        for (now, idle_since) in [(11, None), (12, Some(at(12))), (13, Some(at(12)))] {
            queue.dequeue(at(now), &mut effects);
            assert_eq!(queue.idle_since, idle_since, "{now}");
        }
    }
}
