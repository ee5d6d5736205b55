//! Rate control by sampling, after Linux' Minstrel (net/mac80211/rc80211_minstrel.c).
//!
//! Every 100 ms each rate that was used gets a new probability of success, p = 3/4 p + 1/4 of the
//! interval's share of successes, and an expected throughput p / t, where t is the time of a frame
//! of 1200 octets and its acknowledgement; p counts as 0 below 10 % and as 90 % above 90 %. A
//! packet is sent at the rate with the highest throughput, then at the second, then at the most
//! probable, finally at the slowest. One packet in ten samples another rate at random: a faster one
//! at its first transmission, a slower one only as its second, so that sampling costs little.
//!
//! A collision is equally likely at every rate: it lowers all probabilities alike and does not
//! change their order.
//!
//! Departs from Linux: four, two and one transmissions at the rates of the chain and one for a
//! sample, where Linux makes as many as fit into 6 ms; samples are drawn independently instead of
//! from a table of permutations.

use crate::wifi::timing::{Phy, PhyRate};
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// The interval between two updates of the statistics.
const UPDATE: Duration = Duration::from_millis(100);
/// The weight of the previous value in a probability.
const PAST: f64 = 0.75;
/// One packet in this many samples a rate.
const SAMPLE_EVERY: u64 = 10;
/// The frame size for which expected throughputs are computed.
const REFERENCE_OCTETS: u32 = 1200;
/// Transmissions at each rate of a chain.
const ATTEMPTS: [u32; 3] = [4, 2, 1];
/// Below this probability the throughput of a rate counts as zero.
const USELESS: f64 = 0.1;
/// Above this probability rates are equally good.
const CERTAIN: f64 = 0.9;
/// From this probability on the fastest rate counts as the most probable.
const RELIABLE: f64 = 0.95;

/// The statistics of a rate.
#[derive(Debug)]
struct RateStatistics {
    /// The time of a frame of [`REFERENCE_OCTETS`] and its acknowledgement.
    time: Duration,
    attempts: u32,
    successes: u32,
    /// The probability that a transmission succeeds; `None` before the first.
    probability: Option<f64>,
}

impl RateStatistics {
    fn update(&mut self) {
        if self.attempts > 0 {
            let share = f64::from(self.successes) / f64::from(self.attempts);
            let past = self.probability.unwrap_or(share);
            self.probability = Some(PAST * past + (1.0 - PAST) * share);
        }
        (self.attempts, self.successes) = (0, 0);
    }

    /// Expected frames per second.
    fn throughput(&self) -> f64 {
        match self.probability {
            Some(p) if p >= USELESS => p.min(CERTAIN) / self.time.as_secs_f64(),
            _ => 0.0,
        }
    }
}

/// A rate of a chain, and the number of transmissions of the packet up to which it is used.
#[derive(Clone, Copy, Debug)]
struct Stage {
    rate: usize,
    until: u32,
}

#[derive(Debug)]
pub(in crate::wifi) struct Minstrel {
    rates: Vec<RateStatistics>,
    rng: Rng,
    next_update: Instant,
    /// The rates with the highest and second highest throughput, and the most probable one.
    best: [usize; 3],
    packets: u64,
    samples: u64,
    /// The rates of the packet; after the last one the slowest is used.
    chain: [Stage; 3],
    /// Transmissions of the packet so far.
    transmissions: u32,
}

impl Minstrel {
    pub(super) fn new(phy: &Phy, rng: Rng) -> Self {
        let statistics = |rate| RateStatistics {
            time: phy.standard.data_time(REFERENCE_OCTETS, rate) + phy.ack_time(rate),
            attempts: 0,
            successes: 0,
            probability: None,
        };
        let rates = phy.standard.rates_kbps().len();
        Self {
            rates: (0..rates).map(PhyRate).map(statistics).collect(),
            rng,
            next_update: Instant::ZERO + UPDATE,
            best: [0; 3],
            packets: 0,
            samples: 0,
            chain: [Stage { rate: 0, until: 0 }; 3],
            transmissions: 0,
        }
    }

    pub(super) fn on_packet(&mut self, now: Instant) {
        if now >= self.next_update {
            self.next_update = now + UPDATE;
            self.update();
        }
        self.packets += 1;
        self.transmissions = 0;
        let [best, second, most_probable] = self.best;
        let [many, some, last] = ATTEMPTS;
        self.chain = stages([(best, many), (second, some), (most_probable, last)]);
        if self.packets < (self.samples + 1) * SAMPLE_EVERY {
            return;
        }
        let sample = self.rng.below(self.rates.len() as u64) as usize;
        if sample == best {
            return;
        }
        self.samples += 1;
        self.chain = if self.rates[sample].time < self.rates[best].time {
            stages([(sample, 1), (best, many), (most_probable, some)])
        } else {
            stages([(best, many), (sample, 1), (most_probable, some)])
        };
    }

    pub(super) fn rate(&self) -> PhyRate {
        let stage = self
            .chain
            .iter()
            .find(|stage| self.transmissions < stage.until);
        PhyRate(stage.map_or(0, |stage| stage.rate))
    }

    pub(super) fn on_transmission(&mut self, success: bool) {
        let used = self.rate();
        let rate = &mut self.rates[used.0];
        rate.attempts += 1;
        rate.successes += u32::from(success);
        self.transmissions += 1;
    }

    fn update(&mut self) {
        for rate in &mut self.rates {
            rate.update();
        }
        let throughput = |&rate: &usize| self.rates[rate].throughput();
        // Faster rates come first, so that they win ties.
        let by = |score: &dyn Fn(&usize) -> f64, without: Option<usize>| {
            let candidates = (0..self.rates.len()).rev().filter(|&n| Some(n) != without);
            let better = |best: usize, next: usize| {
                if score(&next) > score(&best) {
                    next
                } else {
                    best
                }
            };
            candidates.reduce(better).filter(|best| score(best) > 0.0)
        };
        let best = by(&throughput, None).unwrap_or(0);
        let probable = |&rate: &usize| {
            let statistics = &self.rates[rate];
            let probability = statistics.probability.unwrap_or(0.0);
            // Among reliable rates throughput decides; the score is then greater than 1.
            if probability >= RELIABLE {
                1.0 + statistics.throughput()
            } else {
                probability
            }
        };
        self.best = [
            best,
            by(&throughput, Some(best)).unwrap_or(best),
            by(&probable, None).unwrap_or(0),
        ];
    }
}

fn stages(rates: [(usize, u32); 3]) -> [Stage; 3] {
    let mut until = 0;
    rates.map(|(rate, attempts)| {
        until += attempts;
        Stage { rate, until }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::timing::{PhyConfig, Standard};

    fn minstrel() -> Minstrel {
        let phy = Phy::from(PhyConfig::from(Standard::G));
        Minstrel::new(&phy, Rng::stream(1, "test"))
    }

    /// Sends packets, one a millisecond, over a channel where rate n succeeds with `success[n]`;
    /// returns the share of the first transmissions at each rate in the second half.
    fn drive(minstrel: &mut Minstrel, success: [f64; 8]) -> [f64; 8] {
        let mut rng = Rng::stream(2, "channel");
        let mut first = [0.0; 8];
        for n in 0..10_000_u64 {
            minstrel.on_packet(Instant::from_nanos(n * 1_000_000));
            if n >= 5000 {
                first[minstrel.rate().0] += 1.0 / 5000.0;
            }
            for _ in 0..7 {
                let success = rng.chance(success[minstrel.rate().0]);
                minstrel.on_transmission(success);
                if success {
                    break;
                }
            }
        }
        first
    }

    #[test]
    fn a_clear_channel_is_used_at_the_fastest_rate() {
        let first = drive(&mut minstrel(), [1.0; 8]);
        // Slower rates are sampled only at the second transmission.
        assert!(first[7] > 0.999, "{first:?}");
    }

    #[test]
    fn equal_failures_at_all_rates_do_not_lower_the_rate() {
        let first = drive(&mut minstrel(), [0.6; 8]);
        // 48 and 54 Mbit/s differ by a tenth, so random variation may swap them for a while.
        assert!(first[6] + first[7] > 0.95, "{first:?}");
    }

    #[test]
    fn the_rate_of_the_most_throughput_is_used_and_faster_ones_are_sampled() {
        // p / t: for 1236 octets 24 Mbit/s takes 26 + 4 * 104 + 44 us, 36 Mbit/s 26 + 4 * 69 + 44
        // us; 0.9 / 486 us is more than 0.2 / 346 us.
        let first = drive(&mut minstrel(), [1.0, 1.0, 1.0, 1.0, 1.0, 0.2, 0.0, 0.0]);
        assert!(first[4] > 0.9, "{first:?}");
        // A tenth of the packets are samples, and three of eight rates are faster.
        let faster: f64 = first[5..].iter().sum();
        assert!((0.02..0.06).contains(&faster), "{first:?}");
    }

    #[test]
    fn probabilities_are_weighted_a_quarter_by_the_newest_interval() {
        let mut statistics = minstrel().rates.remove(7);
        let mut interval = |attempts, successes| {
            (statistics.attempts, statistics.successes) = (attempts, successes);
            statistics.update();
            statistics.probability
        };
        assert_eq!(interval(0, 0), None);
        assert_eq!(interval(10, 8), Some(0.8));
        let weighted = interval(4, 1).expect("a probability");
        assert!((weighted - (0.75 * 0.8 + 0.25 * 0.25)).abs() < 1e-12);
        assert_eq!(interval(0, 0), Some(weighted), "no news");
    }

    #[test]
    fn a_chain_ends_at_the_slowest_rate() {
        let mut minstrel = minstrel();
        minstrel.best = [6, 7, 3];
        minstrel.on_packet(Instant::ZERO);
        let rates: Vec<_> = (0..8)
            .map(|_| {
                let rate = minstrel.rate().0;
                minstrel.on_transmission(false);
                rate
            })
            .collect();
        assert_eq!(rates, [6, 6, 6, 6, 7, 7, 3, 0]);
    }
}
