//! DualPI2 (RFC 9332 appendix A): two queues, one of low latency (L) for packets with ECT(1) or CE
//! and a classic one (C) for all others, whose signals are coupled.
//!
//! A proportional-integral controller updates a base probability p' every `tupdate`: `p' += alpha
//! (delay - target) + beta (delay - old delay)`, with the longer delay of the two queues' first
//! packets. Packets of C are dropped, or marked if they are ECN-capable, with `p_C = p'^2`; packets
//! of L are marked with the larger of the coupled `p_CL = k p'` and the probability of L's own ramp
//! at the packet's delay. The recurrence of figure 4 spreads the signals evenly, without random
//! numbers. When p_CL has reached 1 both queues drop with p_C, and from `p_C = 1/k^2` on
//! ECN-capable packets of C are dropped too (figures 7 and 8).
//!
//! The scheduler is the weighted round robin that appendix A recommends, with the credit of Linux:
//! it changes only while both queues hold packets, and an idle link resets it in favour of L.
//! Another addition of Linux is not modelled: no signals below two packets of backlog. Updates of
//! the controller that are due are made when a packet enters or leaves; between two calls the first
//! packets of the queues stay the same, so that the delay at every update is known exactly.

use super::fifo::Fifo;
use super::{
    Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, QueueLimit, TcName, mark, max_packets,
};
use crate::packet_pool::PacketRef;
use weir_proto::event::DropReason;
use weir_proto::packet::Ecn;
use weir_proto::rng::Rng;
use weir_proto::settings::{count, duration, fraction, number};
use weir_proto::time::{Duration, Instant};

/// target, the queue delay of C (RFC 9332 appendix A.1).
const TARGET: Duration = Duration::from_millis(15);
/// Tupdate, as the reference implementation rounds it (RFC 9332 appendix A.1).
const T_UPDATE: Duration = Duration::from_millis(16);
/// alpha in 1/s for an RTT_max of 100 ms (RFC 9332 appendix A.1).
const ALPHA: f64 = 0.16;
/// beta in 1/s for an RTT_max of 100 ms (RFC 9332 appendix A.1).
const BETA: f64 = 3.2;
/// k, the coupling factor (RFC 9332 appendix A.1).
const COUPLING_FACTOR: f64 = 2.0;
/// minTh with a range of zero, the step of Linux's dualpi2; the ramp of RFC 9332 appendix A.1 is
/// 0.8 to 1.2 ms.
const STEP_THRESHOLD: Duration = Duration::from_millis(1);
/// Th_len, the number of packets in L up to which its own ramp does not mark (RFC 9332 appendix
/// A.1).
const MIN_QLEN_STEP: u64 = 1;
/// The share of C in the link rate while both queues hold packets: 10 % in Linux, 1/16 in the
/// example of RFC 9332 appendix A.2.
const CLASSIC_PROTECTION: f64 = 0.1;
/// p_Lmax, the coupled probability from which L drops (RFC 9332 appendix A.1).
const SATURATED: f64 = 1.0;
/// The packet size in octets from which the initial credit of the scheduler is computed.
const MTU: f64 = 1500.0;
/// The shortest period of the controller.
const SHORTEST_PERIOD: Duration = Duration::from_millis(1);
/// The longest period.
const LONGEST_PERIOD: Duration = Duration::from_secs(3600);
/// The most consecutive updates while the queues do not change; the updates of a longer idle time
/// are skipped.
const MOST_UPDATES: u32 = 1_000_000;

weir_proto::settings! {
    /// Dual-queue coupled AQM for L4S (RFC 9332): ECT(1) and CE get a queue of low latency.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct DualPi2Config {
        /// The delay at which the classic queue is held.
        pub target: Duration = TARGET,
        /// The controller's period.
        pub tupdate: Duration = T_UPDATE => duration(SHORTEST_PERIOD..=LONGEST_PERIOD),
        /// What a second of delay beyond the target adds to the base probability in a period.
        pub alpha: f64 = ALPHA => number(0.0..=1000.0, "per second"),
        /// What a second of growing delay adds to the base probability.
        pub beta: f64 = BETA => number(0.0..=1000.0, "per second"),
        /// The marking of the queue of low latency over the root of the classic drops (k).
        pub coupling_factor: f64 = COUPLING_FACTOR => number(0.0..=100.0, ""),
        /// The delay from which the queue of low latency marks on its own.
        pub step_thresh: Duration = STEP_THRESHOLD,
        /// How far above `step_thresh` every packet is marked; 0 is a step. RFC 9332 has a ramp
        /// from 800us over 400us.
        pub ramp: Duration,
        /// Packets in the queue of low latency up to which it does not mark on its own.
        pub min_qlen_step: u64 = MIN_QLEN_STEP => count(0..=1 << 32, "packets"),
        /// The classic queue's share of the link while both hold packets.
        pub classic_protection: f64 = CLASSIC_PROTECTION => fraction(),
        /// The most packets that both hold together.
        pub limit: u64 = 10_000 => max_packets(),
    }
}

impl DualPi2Config {
    /// `tupdate`, with its lower bound also for configurations that were not read from a scenario.
    fn period(&self) -> Duration {
        self.tupdate.max(SHORTEST_PERIOD)
    }

    /// The credit of an idle link: at most zero, so that L comes first.
    fn first_credit(&self) -> f64 {
        (MTU * (2.0 * self.classic_protection - 1.0)).min(0.0)
    }
}

impl QueueDiscConfig for DualPi2Config {
    type Disc = Box<DualPi2>;
    const TC_NAMES: &'static [TcName] = &[TcName::packets("dualpi2")];
    const IS_RANDOM: bool = false;

    fn build(&self, _rng: Rng) -> Box<DualPi2> {
        Box::new(DualPi2 {
            config: *self,
            low: Side::default(),
            classic: Side::default(),
            credit: self.first_credit(),
            base: 0.0,
            old_delay: Duration::ZERO,
            next_update: Instant::ZERO + self.period(),
        })
    }

    fn limit(&self) -> QueueLimit {
        QueueLimit::Packets(self.limit)
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            limit: 1 + rng.below(20),
            target: Duration::from_nanos(rng.below(20_000_000)),
            beta: 50.0 * rng.uniform(),
            coupling_factor: 4.0 * rng.uniform(),
            ramp: Duration::from_nanos(rng.below(2_000_000)),
            classic_protection: rng.uniform(),
            ..Self::default()
        }
    }
}

/// One of the two queues.
#[derive(Debug, Default)]
struct Side {
    fifo: Fifo,
    /// The sum of likelihoods of packets since the last signal (`count` in RFC 9332 figure 4).
    likelihoods: f64,
}

impl Side {
    /// The waiting time of the first packet.
    fn delay(&self, now: Instant) -> Duration {
        let since = self.fifo.head_time();
        since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// recur() of RFC 9332 figure 4: true for this share of the calls, evenly spaced.
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.likelihoods += likelihood;
        if self.likelihoods > 1.0 {
            self.likelihoods -= 1.0;
            return true;
        }
        false
    }
}

/// Two queues under DualPI2.
#[derive(Debug)]
pub(crate) struct DualPi2 {
    config: DualPi2Config,
    low: Side,
    classic: Side,
    /// Octets by which C is behind its share; C is next if it is above zero.
    credit: f64,
    /// p', the base probability.
    base: f64,
    old_delay: Duration,
    next_update: Instant,
}

/// The signal for a packet that was scheduled.
enum Signal {
    None,
    Mark,
    Drop,
}

impl DualPi2 {
    /// p_CL, the coupled probability of L.
    fn coupled(&self) -> f64 {
        (self.config.coupling_factor * self.base).min(SATURATED)
    }

    /// p_C, the probability of C.
    fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    /// p_Cmax: from this probability on ECN-capable packets of C are dropped.
    fn overload(&self) -> f64 {
        let k = self.config.coupling_factor;
        (1.0 / (k * k)).min(1.0)
    }

    /// Performs the updates that are due.
    fn catch_up(&mut self, now: Instant) {
        let period = self.config.period();
        let mut updates = 0_u32;
        while self.next_update <= now {
            let before = (self.base, self.old_delay);
            self.update(self.next_update);
            self.next_update += period;
            updates += 1;
            let full = self.base >= 1.0;
            let saturated = full && self.old_delay >= self.config.target;
            let still = before == (self.base, self.old_delay) || saturated && before.0 >= 1.0;
            if still || updates >= MOST_UPDATES {
                self.skip_silence(now);
            }
        }
    }

    /// Skips the updates up to `now`, of which only the delay of the last one has an effect.
    fn skip_silence(&mut self, now: Instant) {
        let period = self.config.period();
        let missed = now.since(self.next_update).as_nanos() / period.as_nanos();
        if missed > 0 {
            let last = self.next_update + period * (missed - 1);
            self.old_delay = self.delay(last);
            self.next_update += period * missed;
        }
    }

    /// The longer delay of the two queues' first packets (RFC 9332 figure 8).
    fn delay(&self, at: Instant) -> Duration {
        self.classic.delay(at).max(self.low.delay(at))
    }

    /// dualpi2_update() of RFC 9332 figure 8.
    fn update(&mut self, at: Instant) {
        let delay = self.delay(at);
        let seconds = |span: Duration| span.as_secs_f64();
        let error = seconds(delay) - seconds(self.config.target);
        let growth = seconds(delay) - seconds(self.old_delay);
        let step = self.config.alpha * error + self.config.beta * growth;
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.old_delay = delay;
    }

    /// laqm() of RFC 9332 figure 5 for a packet of L with this waiting time.
    fn ramp(&self, delay: Duration) -> f64 {
        let above = delay.saturating_sub(self.config.step_thresh);
        if delay >= self.config.step_thresh + self.config.ramp {
            1.0
        } else {
            above.as_secs_f64() / self.config.ramp.as_secs_f64()
        }
    }

    /// True if the next packet to send is one of L.
    fn low_is_next(&self) -> bool {
        self.low.fifo.packets() > 0 && (self.classic.fifo.packets() == 0 || self.credit <= 0.0)
    }

    /// The signal for a packet of L with this waiting time; `behind` packets wait behind it.
    fn signal_low(&mut self, delay: Duration, behind: u64) -> Signal {
        let coupled = self.coupled();
        if coupled >= SATURATED {
            let classic = self.classic_probability();
            if self.low.recurs(classic) {
                return Signal::Drop;
            }
            let marked = self.low.recurs(coupled);
            return if marked { Signal::Mark } else { Signal::None };
        }
        // RFC 9332 figure 7, line 5a, reads "> 1 packet queued", which includes the packet itself.
        let own = if behind >= self.config.min_qlen_step {
            self.ramp(delay)
        } else {
            0.0
        };
        if self.low.recurs(own.max(coupled)) {
            Signal::Mark
        } else {
            Signal::None
        }
    }

    /// The signal for a packet of C.
    fn signal_classic(&mut self, ecn: Ecn) -> Signal {
        let probability = self.classic_probability();
        if !self.classic.recurs(probability) {
            Signal::None
        } else if ecn == Ecn::NotEct || probability >= self.overload() {
            Signal::Drop
        } else {
            Signal::Mark
        }
    }

    /// Takes the scheduled packet out, with its signal.
    fn take(&mut self, now: Instant) -> Option<(PacketRef, Signal)> {
        let protection = self.config.classic_protection;
        if self.low_is_next() {
            let (since, packet) = self.low.fifo.pop()?;
            if self.classic.fifo.packets() > 0 {
                self.credit += protection * f64::from(packet.size);
            }
            let behind = self.low.fifo.packets();
            let signal = self.signal_low(now.since(since), behind);
            return Some((packet, signal));
        }
        let Some((_, packet)) = self.classic.fifo.pop() else {
            self.credit = self.config.first_credit();
            return None;
        };
        if self.low.fifo.packets() > 0 {
            self.credit -= (1.0 - protection) * f64::from(packet.size);
        }
        let signal = self.signal_classic(packet.ip.ecn);
        Some((packet, signal))
    }
}

impl QueueDisc for DualPi2 {
    fn enqueue(&mut self, now: Instant, packet: PacketRef, effects: &mut DropsAndMarks) {
        self.catch_up(now);
        if self.backlog().packets >= self.config.limit {
            effects.dropped.push((packet, DropReason::QueueFull));
            return;
        }
        match packet.ip.ecn {
            Ecn::Ect1 | Ecn::Ce => self.low.fifo.push(now, packet),
            Ecn::NotEct | Ecn::Ect0 => self.classic.fifo.push(now, packet),
        }
    }

    fn dequeue(&mut self, now: Instant, effects: &mut DropsAndMarks) -> Option<PacketRef> {
        self.catch_up(now);
        loop {
            let (mut packet, signal) = self.take(now)?;
            match signal {
                Signal::None => {}
                Signal::Mark => {
                    mark(&mut packet, effects);
                }
                Signal::Drop => {
                    effects.dropped.push((packet, DropReason::Aqm));
                    continue;
                }
            }
            if self.backlog().packets == 0 {
                self.credit = self.config.first_credit();
            }
            return Some(packet);
        }
    }

    fn head_size(&self) -> Option<u32> {
        let next = if self.low_is_next() {
            &self.low
        } else {
            &self.classic
        };
        next.fifo.head_size()
    }

    fn backlog(&self) -> Backlog {
        let (low, classic) = (self.low.fifo.backlog(), self.classic.fifo.backlog());
        Backlog {
            packets: low.packets + classic.packets,
            bytes: low.bytes + classic.bytes,
        }
    }
}

#[cfg(test)]
mod tests;
