//! PIE (RFC 8033): drops at the tail with a probability that a proportional-integral controller
//! updates every `tupdate` to keep the delay near the reference.
//!
//! `p += alpha (delay - target) + beta (delay - old delay)`, scaled down while p is small (§4.2),
//! with the burst allowance (§4.4), the derandomisation and the cap of 2 % per step of §5 and
//! appendix B. The delay is that of the packet dequeued last (§5.2, timestamps). Updates of the
//! controller that are due are made when a packet enters or leaves: its inputs do not change in
//! between.

use super::fifo::Fifo;
use super::{
    Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, QueueLimit, TcName, mark, max_packets,
};
use crate::packet_pool::PacketRef;
use weir_proto::event::DropReason;
use weir_proto::rng::Rng;
use weir_proto::settings::{count, duration};
use weir_proto::time::{Duration, Instant};

/// QDELAY_REF (RFC 8033 §4.2).
const QDELAY_REF: Duration = Duration::from_millis(15);
/// T_UPDATE (RFC 8033 §4.2).
const T_UPDATE: Duration = Duration::from_millis(15);
/// MAX_BURST (RFC 8033 §4.4).
const MAX_BURST: Duration = Duration::from_millis(150);
/// Divisors that reduce the steps up to these probabilities (RFC 8033 §4.2).
const SCALE: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];
/// alpha, the weight of the distance from the target, in 1/16 per second: 1/8 (RFC 8033 appendix
/// A).
const ALPHA: u32 = 2;
/// beta, the weight of the change of the delay, in 1/16 per second: 5/4 (RFC 8033 appendix A).
const BETA: u32 = 20;
/// The units of tc-pie(8) for alpha and beta in a weight of 1 per second.
const PER_SECOND: f64 = 16.0;
/// The factor by which a period without delay multiplies the probability (RFC 8033 §4.2).
const DECAY: f64 = 0.98;
/// The probability from which an increase is capped (RFC 8033 appendix B).
const CAPPED_FROM: f64 = 0.1;
/// The largest increase of the probability per period from there (RFC 8033 appendix B).
const MAX_STEP: f64 = 0.02;
/// Below this probability no packet is dropped while the delay is short (RFC 8033 appendix B).
const SAFE_PROBABILITY: f64 = 0.2;
/// The accumulated probability below which no packet is dropped (RFC 8033 appendix B).
const LEAST_ACCUMULATED: f64 = 0.85;
/// The accumulated probability from which a packet is dropped (RFC 8033 appendix B).
const MOST_ACCUMULATED: f64 = 8.5;
/// mark_ecnth, the probability from which ECN-capable packets are dropped too (RFC 8033 §5.1).
const MARK_THRESHOLD: f64 = 0.1;
/// MEAN_PKTSIZE in octets, which the RFC names without a value (RFC 8033 appendix B).
const MEAN_PACKET: u64 = 1024;
/// The shortest period: shorter ones make idle time expensive without a benefit.
const SHORTEST_PERIOD: Duration = Duration::from_millis(1);
/// The longest period.
const LONGEST_PERIOD: Duration = Duration::from_secs(3600);
/// The most consecutive updates while the queue does not change; the updates of a longer idle time
/// are skipped.
const MOST_UPDATES: u32 = 1_000_000;

weir_proto::settings! {
    /// Proportional integral controller enhanced (RFC 8033).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PieConfig {
        /// The delay to hold.
        pub target: Duration = QDELAY_REF,
        /// The controller's period.
        pub tupdate: Duration = T_UPDATE => duration(SHORTEST_PERIOD..=LONGEST_PERIOD),
        /// Weight of the distance from the target, in 1/16 per second.
        pub alpha: u32 = ALPHA => count(0..=32, ""),
        /// Weight of the change of the delay, in 1/16 per second.
        pub beta: u32 = BETA => count(0..=32, ""),
        /// How long a burst passes untouched.
        pub max_burst: Duration = MAX_BURST,
        /// The most packets that it holds.
        pub limit: u64 = 1000 => max_packets(),
        /// Mark packets of ECN-capable transports where others would be dropped early.
        // RFC 8033 §5.1: only while the probability is below 10 %.
        pub ecn: bool,
    }
}

impl PieConfig {
    /// `tupdate`, with its lower bound also for configurations that were not read from a scenario.
    fn period(&self) -> Duration {
        self.tupdate.max(SHORTEST_PERIOD)
    }

    /// An empty queue that marks below this probability.
    pub(super) fn queue(&self, rng: Rng, mark_threshold: f64) -> Pie {
        Pie {
            config: *self,
            mark_threshold,
            fifo: Fifo::default(),
            probability: 0.0,
            accumulated: 0.0,
            delay: Duration::ZERO,
            old_delay: Duration::ZERO,
            burst_left: self.max_burst,
            next_update: Instant::ZERO + self.period(),
            rng,
        }
    }
}

impl QueueDiscConfig for PieConfig {
    type Disc = Box<Pie>;
    const TC_NAMES: &'static [TcName] = &[TcName::packets("pie")];
    const IS_RANDOM: bool = true;

    fn build(&self, rng: Rng) -> Box<Pie> {
        Box::new(self.queue(rng, MARK_THRESHOLD))
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
    mark_threshold: f64,
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
        let period = self.config.period();
        let mut updates = 0_u32;
        while self.next_update <= now {
            let before = self.state();
            self.update();
            self.next_update += period;
            updates += 1;
            if before == self.state() || updates >= MOST_UPDATES {
                // Further updates would have no effect: skip them.
                let missed = now.since(self.next_update).as_nanos() / period.as_nanos();
                self.next_update += period * missed;
            }
        }
    }

    /// The state that an update may change.
    fn state(&self) -> (f64, Duration, Duration) {
        (self.probability, self.old_delay, self.burst_left)
    }

    /// RFC 8033 §4.2 and appendix B, calculate_drop_prob().
    fn update(&mut self) {
        let seconds = |span: Duration| span.as_secs_f64();
        let target = seconds(self.config.target);
        let (delay, old) = (seconds(self.delay), seconds(self.old_delay));
        let weight = |sixteenths: u32| f64::from(sixteenths) / PER_SECOND;
        let (alpha, beta) = (weight(self.config.alpha), weight(self.config.beta));
        let step = alpha * (delay - target) + beta * (delay - old);
        let scale = SCALE.iter().find(|(below, _)| self.probability < *below);
        let step = step / scale.map_or(1.0, |(_, divisor)| *divisor);
        let step = if self.probability >= CAPPED_FROM {
            step.min(MAX_STEP)
        } else {
            step
        };
        self.probability += step;
        // RFC 8033 §4.2: the decay needs two samples of zero. Appendix B uses half the target
        // instead, which would reduce the probability whenever the delay is below that.
        if self.delay.is_zero() && self.old_delay.is_zero() {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.old_delay = self.delay;
        self.burst_left = self.burst_left.saturating_sub(self.config.period());
        // RFC 8033 §4.4: the burst allowance is restored once the queue is short.
        if self.probability == 0.0 && delay < target / 2.0 && old < target / 2.0 {
            self.burst_left = self.config.max_burst;
        }
    }

    /// The next packet is dropped or marked with certainty, at this probability.
    #[cfg(test)]
    pub(super) const fn force_drop(&mut self, probability: f64) {
        self.burst_left = Duration::ZERO;
        self.old_delay = self.config.target;
        self.probability = probability;
        self.accumulated = MOST_ACCUMULATED;
    }

    /// Drops a packet for which there is no room.
    pub(super) fn refuse(&mut self, packet: PacketRef, effects: &mut DropsAndMarks) {
        self.accumulated = 0.0;
        effects.dropped.push((packet, DropReason::QueueFull));
    }

    /// RFC 8033 §4.1 and appendix B, drop_early().
    fn drops_early(&mut self) -> bool {
        let half = self.config.target / 2;
        if !self.burst_left.is_zero()
            || (self.old_delay < half && self.probability < SAFE_PROBABILITY)
            || self.fifo.bytes() <= 2 * MEAN_PACKET
        {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        if self.accumulated < LEAST_ACCUMULATED {
            return false;
        }
        let drop = self.accumulated >= MOST_ACCUMULATED || self.rng.chance(self.probability);
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
            self.refuse(packet, effects);
        } else if self.drops_early()
            && !(self.config.ecn
                && self.probability < self.mark_threshold
                && mark(&mut packet, effects))
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

    const MS: Duration = Duration::from_millis(1);

    fn pie() -> Box<Pie> {
        PieConfig::default().build(Rng::stream(1, "pie"))
    }

    #[test]
    fn the_parameters_are_those_of_the_rfc() {
        // RFC 8033 §4.2, QDELAY_REF and T_UPDATE: 15 ms each. §4.4, MAX_BURST: 150 ms. Appendix B,
        // MEAN_PACKET: 1024 octets, between the 1 KB and the 1.5 KB of §5.2.
        let config = PieConfig::default();
        assert_eq!((config.target, config.tupdate), (MS * 15, MS * 15));
        assert_eq!(config.max_burst, MS * 150);
        assert_eq!(MEAN_PACKET, 1024);
    }

    /// The probability after one update with these delays in milliseconds.
    fn updated(probability: f64, old_delay: u64, delay: u64) -> f64 {
        let mut queue = pie();
        queue.probability = probability;
        (queue.old_delay, queue.delay) = (MS * old_delay, MS * delay);
        queue.update();
        queue.probability
    }

    #[test]
    fn steps_are_scaled_down_while_the_probability_is_small() {
        // RFC 8033 §4.2, SCALE, with ALPHA and BETA of appendix A: from 20 to 23 ms the step is
        // 0.125·(0.023 - 0.015) + 1.25·(0.023 - 0.020) = 0.001 + 0.003 75 = 0.004 75.
        for (probability, divisor) in [
            (0.000_000_9, 2048.0),
            (0.000_001, 512.0),
            (0.000_009, 512.0),
            (0.000_01, 128.0),
            (0.000_09, 128.0),
            (0.000_1, 32.0),
            (0.000_9, 32.0),
            (0.001, 8.0),
            (0.009, 8.0),
            (0.01, 2.0),
            (0.09, 2.0),
            (0.1, 1.0),
            (0.9, 1.0),
        ] {
            let step = updated(probability, 20, 23) - probability;
            assert!((step * divisor - 0.004_75).abs() < 1e-9, "{probability}");
        }
    }

    #[test]
    fn an_increase_is_capped_from_ten_percent_on() {
        // RFC 8033 appendix B, CAPPED_FROM and MAX_STEP. From 0 to 40 ms the step is
        // 0.125·0.025 + 1.25·0.040 = 0.053 125, half of it below 0.1. A decrease is not capped.
        assert!((updated(0.1, 0, 40) - 0.12).abs() < 1e-12);
        assert!((updated(0.099, 0, 40) - 0.125_562_5).abs() < 1e-12);
        assert!((updated(0.1, 40, 0) - 0.048_125).abs() < 1e-12);
    }

    #[test]
    fn the_probability_stays_between_zero_and_one() {
        // RFC 8033 §4.2.
        assert_eq!(updated(0.999, 0, 1000), 1.0);
        assert_eq!(updated(0.001, 30, 0), 0.0);
    }

    /// A queue of ten packets without burst allowance, in this state.
    fn busy(probability: f64, old_delay: Duration, accumulated: f64) -> Box<Pie> {
        let mut queue = pie();
        for _ in 0..10 {
            queue.fifo.push(Instant::ZERO, packet(0, 1000));
        }
        queue.burst_left = Duration::ZERO;
        (queue.probability, queue.old_delay, queue.accumulated) =
            (probability, old_delay, accumulated);
        queue
    }

    #[test]
    fn nothing_is_dropped_while_the_delay_is_short_and_the_probability_below_a_fifth() {
        // RFC 8033 §4.1 and appendix B, SAFE_PROBABILITY: less than half of 15 ms and p < 0.2.
        let half = Duration::from_micros(7500);
        let less = half.saturating_sub(Duration::from_nanos(1));
        for (probability, old_delay, safe) in [
            (0.199_999, less, true),
            (0.2, less, false),
            (0.199_999, half, false),
        ] {
            // The accumulated probability is high enough to drop a packet, unless the guard
            // applies.
            let mut queue = busy(probability, old_delay, 9.0);
            assert_eq!(queue.drops_early(), !safe, "{probability}");
        }
    }

    #[test]
    fn no_packet_is_dropped_from_a_queue_of_two_mean_packets() {
        // RFC 8033 §4.1 and appendix B, MEAN_PACKET: byte_length <= 2·MEAN_PKTSIZE = 2048.
        for (octets, dropped) in [(2048, false), (2049, true)] {
            let mut queue = busy(0.5, MS * 20, 9.0);
            while queue.fifo.pop().is_some() {}
            queue.fifo.push(Instant::ZERO, packet(0, octets));
            assert_eq!(queue.drops_early(), dropped, "{octets}");
        }
    }

    #[test]
    fn chance_decides_between_the_two_accumulated_probabilities() {
        // RFC 8033 appendix B, LEAST_ACCUMULATED and MOST_ACCUMULATED: below 0.85 no packet is
        // dropped, from 8.5 on each. p = 0.25 is added first.
        let drops = |accumulated: f64| {
            (0..400)
                .filter(|&seed| {
                    let mut queue = busy(0.25, MS * 20, accumulated);
                    queue.rng = Rng::stream(seed, "pie");
                    let dropped = queue.drops_early();
                    let left = if dropped { 0.0 } else { accumulated + 0.25 };
                    assert_eq!(queue.accumulated, left, "a drop empties it");
                    dropped
                })
                .count()
        };
        assert_eq!(drops(0.59), 0);
        // 100 of 400, with six standard deviations of 8.7.
        assert!((48..152).contains(&drops(0.6)));
        assert!((48..152).contains(&drops(8.24)));
        assert_eq!(drops(8.25), 400);
    }

    #[test]
    fn a_probability_of_zero_forgets_what_was_accumulated() {
        // RFC 8033 appendix B.
        let mut queue = busy(0.0, MS * 20, 9.0);
        assert!(!queue.drops_early());
        assert_eq!(queue.accumulated, 0.0);
    }

    #[test]
    fn capable_packets_are_marked_below_ten_percent() {
        // RFC 8033 §5.1, MARK_THRESHOLD: p < 0.1.
        for (probability, marked) in [(0.099, 1), (0.1, 0)] {
            let mut queue = busy(probability, MS * 20, 9.0);
            queue.config.ecn = true;
            queue.next_update = Instant::ZERO + MS;
            let mut capable = packet(0, 1000);
            capable.ip.ecn = weir_proto::packet::Ecn::Ect0;
            let mut effects = DropsAndMarks::default();
            queue.enqueue(Instant::ZERO, capable, &mut effects);
            let found = (effects.marked.len(), effects.dropped.len());
            assert_eq!(found, (marked, 1 - marked), "{probability}");
        }
    }

    #[test]
    fn a_burst_passes_for_its_time_and_again_when_the_queue_is_quiet() {
        // RFC 8033 §4.4: MAX_BURST - T_UPDATE at each update; MAX_BURST again when p = 0 and both
        // delays are below half of QDELAY_REF.
        let mut queue = busy(0.5, MS * 20, 9.0);
        queue.burst_left = MS * 16;
        queue.delay = MS * 20;
        queue.update();
        assert_eq!(queue.burst_left, MS);
        assert!(!queue.drops_early());
        queue.update();
        assert_eq!(queue.burst_left, Duration::ZERO);
        assert!(queue.drops_early());
        let half = Duration::from_micros(7500);
        let less = half.saturating_sub(Duration::from_nanos(1));
        for (old, new, left) in [(less, less, 150), (half, less, 0), (less, half, 0)] {
            let mut queue = busy(0.0, old, 0.0);
            queue.delay = new;
            queue.update();
            assert_eq!(queue.burst_left, MS * left);
        }
    }

    #[test]
    fn a_silence_of_any_length_ends_in_a_queue_as_new() {
        let mut queue = busy(0.5, MS * 20, 0.0);
        while queue.fifo.pop().is_some() {}
        let later = Instant::ZERO + Duration::from_secs(1_000_000) + MS;
        queue.catch_up(later);
        assert_eq!((queue.probability, queue.burst_left), (0.0, MS * 150));
        assert!(queue.next_update > later && queue.next_update <= later + MS * 15);
        // Updates remain at multiples of the period.
        assert_eq!(queue.next_update.as_nanos() % (MS * 15).as_nanos(), 0);
    }

    #[test]
    fn the_delay_is_that_of_the_packet_taken_out_unless_it_was_the_last() {
        let mut queue = pie();
        let mut effects = DropsAndMarks::default();
        for millis in [0, 2] {
            queue.enqueue(Instant::ZERO + MS * millis, packet(0, 1000), &mut effects);
        }
        queue.dequeue(Instant::ZERO + MS * 9, &mut effects);
        assert_eq!(queue.delay, MS * 9);
        queue.dequeue(Instant::ZERO + MS * 10, &mut effects);
        assert_eq!(queue.delay, Duration::ZERO);
    }

    #[test]
    fn a_full_queue_drops_at_its_limit_and_forgets_what_was_accumulated() {
        // RFC 8033 appendix B: a drop at the tail sets accu_prob_ to zero.
        let mut queue = PieConfig {
            limit: 10,
            ..PieConfig::default()
        }
        .build(Rng::stream(1, "pie"));
        let mut effects = DropsAndMarks::default();
        for _ in 0..10 {
            queue.enqueue(Instant::ZERO, packet(0, 1000), &mut effects);
        }
        assert!(effects.dropped.is_empty());
        queue.accumulated = 0.5;
        queue.enqueue(Instant::ZERO, packet(0, 1000), &mut effects);
        assert_eq!(effects.dropped.len(), 1);
        assert_eq!(effects.dropped[0].1, DropReason::QueueFull);
        assert_eq!(queue.accumulated, 0.0);
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
    fn decays_only_after_two_periods_without_delay() {
        // RFC 8033 §4.2, DECAY. At half the target and below, only the step applies: with p = 0.5,
        // 0.125 (0.005 - 0.015) = -0.00125 while the delay stays at 5 ms.
        let mut queue = pie();
        (queue.probability, queue.delay, queue.old_delay) = (0.5, MS * 5, MS * 5);
        queue.update();
        assert!((queue.probability - 0.498_75).abs() < 1e-12);
        // From 5 ms to 0: 0.125 (0 - 0.015) + 1.25 (0 - 0.005) = -0.008125, and no decay.
        queue.delay = Duration::ZERO;
        queue.update();
        assert!((queue.probability - 0.490_625).abs() < 1e-12);
        // Two samples of zero: (0.490625 - 0.001875) 0.98.
        queue.update();
        assert!((queue.probability - 0.478_975).abs() < 1e-12);
    }

    #[test]
    fn holds_an_overloaded_queue_near_its_target() {
        // Service at 10 Mbit/s (0.8 ms per packet), arrivals 12.5 % faster: p must reach 1/9.
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

    #[test]
    fn a_long_silence_is_skipped_once_an_update_changes_nothing() {
        // A queue that does not change for ten years behind a blocked link: its delay stays at 20
        // ms, above the target, so that the probability rises to 1 and stays there.
        let mut queue = pie();
        (queue.delay, queue.old_delay) = (MS * 20, MS * 20);
        let years = Duration::from_secs(10 * 365 * 86_400);
        queue.catch_up(Instant::ZERO + years);
        assert_eq!(queue.probability, 1.0);
        let next = queue.next_update.since(Instant::ZERO);
        assert!(next > years && next <= years + queue.config.period());
        assert_eq!(next.as_nanos() % queue.config.period().as_nanos(), 0);
    }

    #[test]
    fn a_new_queue_waits_a_period() {
        let queue = pie();
        assert_eq!(queue.next_update, Instant::ZERO + MS * 15);
        assert_eq!((queue.probability, queue.accumulated), (0.0, 0.0));
    }

    #[test]
    fn after_a_million_updates_in_a_row_only_the_last_tick_counts() {
        // MOST_UPDATES: a delay of a nanosecond beyond the target adds 0.125e-9/2048 each time.
        let mut queue = pie();
        queue.delay = MS * 15 + Duration::from_nanos(1);
        queue.old_delay = queue.delay;
        queue.catch_up(Instant::ZERO + MS * 15 * 1_000_005);
        let expected = 0.125e-9 / 2048.0 * 1_000_001.0;
        assert!((queue.probability / expected - 1.0).abs() < 1e-7);
    }
}
