//! The impairments of tc-netem(8) on a wire: jitter, reordering, duplication, corruption, slots.
//!
//! - jitter: the delay varies by `jitter` around the link's, uniformly within ± jitter, normally
//!   with that deviation, or by a Pareto distribution of shape 3 shifted to mean zero and scaled to
//!   that deviation. A delay is never negative. Packets whose delays differ may overtake each
//!   other, as in netem without a rate; with `keep_order` they wait for each other.
//! - reorder: each `gap`-th packet, with a probability, is not delayed at all.
//! - duplicate: a packet arrives twice, the copy with a delay of its own.
//! - corrupt: one octet of the packet is damaged, at a uniformly distributed position; damage in
//!   the IP header drops the packet, because its checksum fails.
//! - ecn: packets that the loss model selects are marked instead, if their transport is
//!   ECN-capable.
//! - overhead and cells: a packet takes the transmission time of its size plus `packet_overhead`,
//!   or of whole cells with an overhead each, as in ATM (`packet_time_ns` of Linux's
//!   `sch_netem.c`).
//! - slot: packets are collected and arrive together ([`slot`]).
//!
//! A correlated choice takes the uniform number (1 - c)·u + c·last, as tc-netem(8) describes;
//! netem computes it in integers. Each impairment draws from a stream of its own.

mod slot;

use slot::Slots;
use std::num::NonZeroU32;
use weir_proto::DurationRange;
use weir_proto::packet::IpHeader;
use weir_proto::rng::Rng;
use weir_proto::settings::{bytes, count, fraction};
use weir_proto::time::{Duration, Instant};

weir_proto::keywords! {
    /// The distribution of delays around the link's.
    #[derive(Default)]
    pub enum Distribution {
        /// Uniformly within jitter: netem's default.
        #[default]
        Uniform = "uniform",
        /// Normally, with jitter as the deviation.
        Normal = "normal",
        /// With a long tail, and jitter as the deviation.
        Pareto = "pareto",
    }
}

weir_proto::settings! {
    /// The impairments of a link, in the words of tc-netem(8).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct NetemConfig {
        /// How far delays vary around the link's `delay`.
        pub jitter: Duration,
        /// How much each delay follows the one before, 0 to 1.
        pub jitter_correlation: f64 => fraction(),
        /// How delays vary: within jitter, or with jitter as their deviation.
        pub distribution: Distribution,
        /// Packets whose delays differ wait for each other.
        pub keep_order: bool,
        /// Probability that a packet is not delayed.
        pub reorder: f64 => fraction(),
        /// Its correlation.
        pub reorder_correlation: f64 => fraction(),
        /// Only each so many packets may be reordered; 0 for any.
        pub reorder_gap: u64 => count(0..=1_000_000, "packets"),
        /// Probability that a packet arrives twice.
        pub duplicate: f64 => fraction(),
        /// Its correlation.
        pub duplicate_correlation: f64 => fraction(),
        /// Probability that an octet of a packet is damaged.
        pub corrupt: f64 => fraction(),
        /// Its correlation.
        pub corrupt_correlation: f64 => fraction(),
        /// Packets of ECN-capable transports that the loss model takes are marked instead.
        pub ecn: bool,
        /// Bytes that each packet takes on the wire beyond its IP size.
        pub packet_overhead: u32 => bytes(0..=65_535),
        /// Bytes of a cell: packets take whole cells; 0 without cells.
        pub cell_size: u32 => bytes(0..=65_535),
        /// Bytes that each cell takes beyond its size: 5 with ATM's cells of 48.
        pub cell_overhead: u32 => bytes(0..=65_535),
        /// Packets gather and arrive together, this long after the first of them or after the
        /// slot before: a time, or a range of which each slot draws; 0 lets each arrive alone.
        pub slot: DurationRange,
        /// Packets that a slot takes at most; 0 for any number.
        pub slot_packets: u64 => count(0..=1_000_000, "packets"),
        /// Bytes after which a slot takes no more; 0 for any number.
        pub slot_bytes: u64 => bytes(0..=1 << 40),
    }
}

impl NetemConfig {
    /// True if it has no effect.
    pub fn is_none(&self) -> bool {
        let chances = [self.reorder, self.duplicate, self.corrupt];
        self.jitter.is_zero()
            && self.slot.most.is_zero()
            && !self.ecn
            && self.packet_overhead | self.cell_size == 0
            && chances.iter().all(|&chance| chance <= 0.0)
    }

    /// The octets that a packet of this size takes on the wire.
    pub(crate) const fn octets_on_wire(&self, size: u32) -> u32 {
        let size = size.saturating_add(self.packet_overhead);
        if self.cell_size == 0 {
            return size;
        }
        let cell = self.cell_size.saturating_add(self.cell_overhead);
        size.div_ceil(self.cell_size).saturating_mul(cell)
    }

    /// True if a packet, or the copy of one, may arrive before one that left earlier.
    pub(crate) fn overtakes(&self) -> bool {
        let differ = !self.jitter.is_zero() || self.reorder > 0.0;
        self.duplicate > 0.0 || (differ && !self.keep_order)
    }
}

/// A uniform random number that is correlated with the previous one.
#[derive(Clone, Debug)]
struct Correlated {
    rng: Rng,
    last: f64,
}

impl Correlated {
    fn new(seed: u64, name: &str) -> Self {
        let mut rng = Rng::stream(seed, name);
        let last = rng.uniform();
        Self { rng, last }
    }

    fn draw(&mut self, correlation: f64) -> f64 {
        self.last = (1.0 - correlation) * self.rng.uniform() + correlation * self.last;
        self.last
    }

    /// True with this probability; each draw has this correlation with the previous one.
    fn chance(&mut self, probability: f64, correlation: f64) -> bool {
        probability > 0.0 && self.draw(correlation) < probability
    }
}

/// The impairments of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Impairments {
    /// The delay of the packet itself.
    pub(crate) delay: Duration,
    /// The packet was not delayed, and may have overtaken others.
    pub(crate) reordered: bool,
    /// The delay of its copy, if it is duplicated.
    pub(crate) copy: Option<Duration>,
    /// The octet that is damaged.
    pub(crate) damage: Damage,
}

/// Damage to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    None,
    /// In the IP header: the next router drops the packet, because the checksum fails.
    Header,
    /// At this octet.
    At(NonZeroU32),
}

/// The impairments of a link, with their random streams.
#[derive(Clone, Debug)]
pub(crate) struct Netem {
    config: NetemConfig,
    delays: Correlated,
    reorders: Correlated,
    duplicates: Correlated,
    corruptions: Correlated,
    places: Rng,
    /// Packets since the last one that was reordered.
    since_reordered: u64,
    slots: Slots,
}

impl Netem {
    /// The impairments of the link called `name`; their random streams derive from this seed.
    pub(crate) fn new(config: NetemConfig, seed: u64, name: &str) -> Self {
        let stream = |what: &str| Correlated::new(seed, &format!("link/{name}/{what}"));
        Self {
            config,
            delays: stream("jitter"),
            reorders: stream("reorder"),
            duplicates: stream("duplicate"),
            corruptions: stream("corrupt"),
            places: Rng::stream(seed, &format!("link/{name}/damage")),
            since_reordered: 0,
            slots: Slots::new(seed, name),
        }
    }

    /// Changes the configuration; the random streams continue.
    pub(crate) const fn set(&mut self, config: NetemConfig) {
        self.config = config;
    }

    pub(crate) const fn config(&self) -> &NetemConfig {
        &self.config
    }

    /// Draws the impairments of the next packet, of this size, on a wire of this delay.
    pub(crate) fn draw(&mut self, delay: Duration, size: u32) -> Impairments {
        let copy = self
            .duplicates
            .chance(self.config.duplicate, self.config.duplicate_correlation);
        let reordered = self.reorders_next();
        Impairments {
            delay: if reordered {
                Duration::ZERO
            } else {
                self.varied(delay)
            },
            reordered,
            copy: copy.then(|| self.varied(delay)),
            damage: self.damage(size),
        }
    }

    /// The arrival of a packet of this size that is ready at this time.
    pub(crate) fn arrival(&mut self, ready: Instant, size: u32) -> Instant {
        self.slots.arrival(&self.config, ready, size)
    }

    fn reorders_next(&mut self) -> bool {
        self.since_reordered += 1;
        let due = self.since_reordered >= self.config.reorder_gap.max(1);
        let NetemConfig {
            reorder,
            reorder_correlation,
            ..
        } = self.config;
        let reordered = due && self.reorders.chance(reorder, reorder_correlation);
        if reordered {
            self.since_reordered = 0;
        }
        reordered
    }

    fn varied(&mut self, delay: Duration) -> Duration {
        let jitter = self.config.jitter.as_secs_f64();
        if jitter <= 0.0 {
            return delay;
        }
        let uniform = self.delays.draw(self.config.jitter_correlation);
        let deviation = match self.config.distribution {
            Distribution::Uniform => 2.0 * uniform - 1.0,
            Distribution::Normal => {
                // Box-Muller transform; only the radius is correlated.
                let radius = (-2.0 * libm::log(1.0 - uniform)).sqrt();
                let angle = core::f64::consts::TAU * self.delays.rng.uniform();
                radius * libm::cos(angle)
            }
            Distribution::Pareto => {
                // Shape 3 from 1 on: mean 3/2, variance 3/4.
                let drawn = libm::pow(1.0 - uniform, -1.0 / 3.0);
                (drawn - 1.5) / 0.75_f64.sqrt()
            }
        };
        Duration::from_secs_f64((delay.as_secs_f64() + jitter * deviation).max(0.0))
    }

    fn damage(&mut self, size: u32) -> Damage {
        let NetemConfig {
            corrupt,
            corrupt_correlation,
            ..
        } = self.config;
        if !self.corruptions.chance(corrupt, corrupt_correlation) {
            return Damage::None;
        }
        let place = self.places.below(u64::from(size)) as u32;
        match NonZeroU32::new(place).filter(|at| at.get() >= IpHeader::V4_OCTETS) {
            Some(at) => Damage::At(at),
            None => Damage::Header,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(100);

    fn delays(config: NetemConfig) -> Vec<f64> {
        let mut netem = Netem::new(config, 1, "test");
        (0..100_000)
            .map(|_| netem.draw(DELAY, 1000).delay.as_secs_f64() * 1e3)
            .collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        (mean, (squares / values.len() as f64).sqrt())
    }

    #[test]
    fn delays_have_the_moments_of_their_distribution() {
        let ten = |distribution| NetemConfig {
            jitter: Duration::from_millis(10),
            distribution,
            ..NetemConfig::default()
        };
        // Uniform within ± 10: a deviation of 10/sqrt(3).
        for (distribution, deviation, tolerance) in [
            (Distribution::Uniform, 5.7735, 0.05),
            (Distribution::Normal, 10.0, 0.1),
            (Distribution::Pareto, 10.0, 2.0),
        ] {
            let (mean, measured) = moments(&delays(ten(distribution)));
            assert!((mean - 100.0).abs() < 0.2, "{distribution:?} {mean}");
            assert!(
                (measured - deviation).abs() < tolerance,
                "{distribution:?} {measured}"
            );
        }
    }

    #[test]
    fn correlated_delays_follow_each_other() {
        let config = NetemConfig {
            jitter: Duration::from_millis(10),
            jitter_correlation: 0.9,
            ..NetemConfig::default()
        };
        let values = delays(config);
        let (mean, deviation) = moments(&values);
        let products = values
            .windows(2)
            .map(|pair| (pair[0] - mean) * (pair[1] - mean));
        let correlation = products.sum::<f64>() / (values.len() as f64 * deviation * deviation);
        assert!((correlation - 0.9).abs() < 0.01, "{correlation}");
    }

    #[test]
    fn each_gapth_packet_is_not_delayed() {
        let config = NetemConfig {
            reorder: 1.0,
            reorder_gap: 5,
            ..NetemConfig::default()
        };
        let mut netem = Netem::new(config, 1, "test");
        let early: Vec<usize> = (1..=20)
            .filter(|_| netem.draw(DELAY, 100).delay.is_zero())
            .collect();
        assert_eq!(early, [5, 10, 15, 20]);
    }

    #[test]
    fn chances_are_met_and_damage_is_anywhere() {
        let config = NetemConfig {
            duplicate: 0.1,
            corrupt: 0.2,
            ..NetemConfig::default()
        };
        let mut netem = Netem::new(config, 1, "test");
        let packets: Vec<Impairments> = (0..100_000).map(|_| netem.draw(DELAY, 200)).collect();
        let share = |test: &dyn Fn(&Impairments) -> bool| {
            packets.iter().filter(|packet| test(packet)).count() as f64 / packets.len() as f64
        };
        assert!((share(&|packet| packet.copy.is_some()) - 0.1).abs() < 0.005);
        assert!((share(&|packet| packet.damage != Damage::None) - 0.2).abs() < 0.005);
        // Twenty of two hundred octets are the IP header.
        assert!((share(&|packet| packet.damage == Damage::Header) - 0.02).abs() < 0.002);
        assert!(!config.is_none() && NetemConfig::default().is_none());
    }
}
