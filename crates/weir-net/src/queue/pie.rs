//! PIE (RFC 8033): drops at the tail with a probability that a proportional-integral controller
//! moves every `tupdate` towards the reference delay.
//!
//! `p += alpha (delay - target) + beta (delay - old delay)`, scaled down while p is small
//! (§4.2), with the burst allowance (§4.4), the derandomisation and the cap of 2 % per step of
//! §5 and appendix B. The delay is that of the packet last taken out (§5.2, timestamps). The
//! controller's ticks are made up for when a packet enters or leaves: nothing that it reads can
//! have changed in between.

use super::fifo::Fifo;
use super::{
    Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, QueueLimit, TcName, mark, max_packets,
};
use crate::packet_pool::PacketRef;
use weir_proto::event::DropReason;
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// RFC 8033 appendix A: MEAN_PKTSIZE.
const MEAN_PACKET: u64 = 1024;

weir_proto::settings! {
    /// Proportional integral controller enhanced (RFC 8033).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PieConfig {
        /// The delay to hold.
        // RFC 8033 §4.2: QDELAY_REF.
        pub target: Duration = Duration::from_millis(15),
        /// The controller's period.
        // RFC 8033 §4.2: T_UPDATE.
        pub tupdate: Duration = Duration::from_millis(15),
        /// How long a burst passes untouched.
        // RFC 8033 §4.4: MAX_BURST.
        pub max_burst: Duration = Duration::from_millis(150),
        /// The most packets that it holds.
        pub limit: u64 = 1000 => max_packets(),
        /// Mark packets of ECN-capable transports where others would be dropped early.
        // RFC 8033 §5.1: only while the probability is at most 10 %.
        pub ecn: bool,
    }
}

impl QueueDiscConfig for PieConfig {
    type Disc = Box<Pie>;
    const TC_NAMES: &'static [TcName] = &[TcName::packets("pie")];

    fn build(&self, rng: Rng) -> Box<Pie> {
        Box::new(Pie {
            config: *self,
            fifo: Fifo::default(),
            probability: 0.0,
            accumulated: 0.0,
            delay: Duration::ZERO,
            old_delay: Duration::ZERO,
            burst_left: self.max_burst,
            next_update: Instant::ZERO + self.tupdate,
            rng,
        })
    }

    fn limit(&self) -> QueueLimit {
        QueueLimit::Packets(self.limit)
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            limit: 1 + rng.below(20),
            ecn: rng.chance(0.5),
            ..Self::default()
        }
    }
}

/// A queue under PIE.
#[derive(Debug)]
pub(crate) struct Pie {
    config: PieConfig,
    fifo: Fifo,
    probability: f64,
    accumulated: f64,
    delay: Duration,
    old_delay: Duration,
    burst_left: Duration,
    next_update: Instant,
    rng: Rng,
}

impl Pie {
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            self.update();
            self.next_update += self.config.tupdate;
            if self.probability == 0.0 && self.delay.is_zero() && self.old_delay.is_zero() {
                // Nothing would change any more: skip the silent ticks.
                self.burst_left = self.config.max_burst;
                let period = self.config.tupdate.as_nanos().max(1);
                let missed = now.since(self.next_update).as_nanos() / period;
                self.next_update += self.config.tupdate * missed;
            }
        }
    }

    /// RFC 8033 §4.2 and appendix B, calculate_drop_prob().
    fn update(&mut self) {
        let seconds = |span: Duration| span.as_secs_f64();
        let target = seconds(self.config.target);
        let (delay, old) = (seconds(self.delay), seconds(self.old_delay));
        let step = ALPHA * (delay - target) + BETA * (delay - old);
        let scale = match self.probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        let step = step / scale;
        let step = if self.probability >= 0.1 {
            step.min(0.02)
        } else {
            step
        };
        self.probability += step;
        if delay < target / 2.0 && old < target / 2.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        if self.probability < 1e-12 {
            self.probability = 0.0;
        }
        self.old_delay = self.delay;
        self.burst_left = self.burst_left.saturating_sub(self.config.tupdate);
        // RFC 8033 §4.4: a quiet queue earns its burst again.
        if self.probability == 0.0 && delay < target / 2.0 && old < target / 2.0 {
            self.burst_left = self.config.max_burst;
        }
    }

    /// RFC 8033 §4.1 and appendix B, drop_early().
    fn drops_early(&mut self) -> bool {
        let half = self.config.target / 2;
        if !self.burst_left.is_zero()
            || (self.old_delay < half && self.probability < 0.2)
            || self.fifo.bytes() <= 2 * MEAN_PACKET
        {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        if self.accumulated < 0.85 {
            return false;
        }
        let drop = self.accumulated >= 8.5 || self.rng.chance(self.probability);
        if drop {
            self.accumulated = 0.0;
        }
        drop
    }
}

impl QueueDisc for Pie {
    fn enqueue(&mut self, now: Instant, mut packet: PacketRef, effects: &mut DropsAndMarks) {
        self.catch_up(now);
        if self.fifo.packets() >= self.config.limit {
            self.accumulated = 0.0;
            effects.dropped.push((packet, DropReason::QueueFull));
        } else if self.drops_early()
            && !(self.config.ecn && self.probability <= 0.1 && mark(&mut packet, effects))
        {
            effects.dropped.push((packet, DropReason::Aqm));
        } else {
            self.fifo.push(now, packet);
        }
    }

    fn dequeue(&mut self, now: Instant, _effects: &mut DropsAndMarks) -> Option<PacketRef> {
        self.catch_up(now);
        let (since, packet) = self.fifo.pop()?;
        self.delay = if self.fifo.packets() == 0 {
            Duration::ZERO
        } else {
            now.since(since)
        };
        Some(packet)
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

    fn pie() -> Box<Pie> {
        PieConfig::default().build(Rng::stream(1, "pie"))
    }

    #[test]
    fn the_controller_takes_the_steps_of_rfc_8033() {
        let mut queue = pie();
        let mut golden = Vec::new();
        // Delays of 20, 30, 30, 30 ms: steps (0.125 * 0.005 + 1.25 * 0.02)/2048,
        // (0.125 * 0.015 + 1.25 * 0.01)/128, 0.125 * 0.015/32, the same again.
        for millis in [20, 30, 30, 30] {
            queue.delay = Duration::from_millis(millis);
            queue.update();
            golden.push(queue.probability);
        }
        let mut p = 0.0;
        for (step, expected) in [
            0.025_625 / 2048.0,
            0.014_375 / 128.0,
            0.001_875 / 32.0,
            0.001_875 / 32.0,
        ]
        .into_iter()
        .zip(golden)
        {
            p += step;
            assert!((expected - p).abs() < 1e-12, "{expected} {p}");
        }
        queue.delay = Duration::ZERO;
        queue.update();
        assert_eq!(queue.probability, 0.0, "a fall of 30 ms takes all away");
    }

    #[test]
    fn holds_an_overloaded_queue_near_its_target() {
        // 10 Mbit/s service (0.8 ms a packet), 12.5 % more arrives: p must come to 1/9.
        let mut queue = pie();
        let mut effects = DropsAndMarks::default();
        let (mut arrived, mut delays, mut drops) = (0, 0.0, 0);
        let service = 800_000_u64;
        for tick in 0..100_000_u64 {
            let now = Instant::from_nanos(tick * service);
            while arrived * 8 < tick * 9 {
                queue.enqueue(now, packet(0, 1000), &mut effects);
                arrived += 1;
            }
            queue.dequeue(now, &mut effects);
            if tick >= 50_000 {
                delays += queue.delay.as_secs_f64();
                drops += effects.dropped.len();
            }
            effects.dropped.clear();
        }
        let (delay, share) = (delays / 50_000.0, drops as f64 / 56_250.0);
        assert!((0.012..0.018).contains(&delay), "{delay}");
        assert!((share - 1.0 / 9.0).abs() < 0.01, "{share}");
    }

    #[test]
    fn lets_a_first_burst_pass() {
        let mut queue = pie();
        let mut effects = DropsAndMarks::default();
        for tick in 0..140_u64 {
            let now = Instant::from_nanos(tick * 1_000_000);
            for _ in 0..3 {
                queue.enqueue(now, packet(0, 1000), &mut effects);
            }
            queue.dequeue(now, &mut effects);
        }
        assert!(effects.dropped.is_empty());
    }
}
