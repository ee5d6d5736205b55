//! What a frame meets on the air: an error probability from the signal-to-noise ratio, and bursts
//! of interference from devices that do not speak 802.11.
//!
//! The frame error rate at a rate with threshold t dB is `1 - (1 - e)^(octets/1500)` with
//! `e = 1/(1 + exp((snr - t)/w))`, a logistic curve of width w = 1 dB through one half at the
//! threshold for 1500 octets. Thresholds are the usual receiver requirements of the modulations
//! (5 dB for BPSK 1/2 to 25 dB for 64-QAM 3/4); the curve is a simplification of measured ones,
//! whose steepness it has. Distance gives the ratio by a log-distance law,
//! `snr = snr at 1 m - 10 n log10(metres)`.

use super::timing::{PhyRate, Standard};
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

const WIDTH_DB: f64 = 1.0;

/// The path between the stations.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelConfig {
    /// Signal-to-noise ratio in dB from each time on, in order of time; before the first it is
    /// perfect.
    pub snr_db: Vec<(Instant, f64)>,
    /// Sources of interference, each with bursts of its own.
    pub interference: Vec<InterferenceConfig>,
}

impl ChannelConfig {
    /// The ratio in dB at a distance, with exponent `n` (2 in free space, 3 to 4 indoors).
    pub fn snr_at(metres: f64, snr_at_1m_db: f64, n: f64) -> f64 {
        snr_at_1m_db - 10.0 * n * libm::log10(metres.max(0.01))
    }
}

/// On and off periods, exponentially distributed; a frame that overlaps an on period fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterferenceConfig {
    /// From when.
    pub start: Instant,
    /// Until when.
    pub stop: Instant,
    /// Mean length of a burst.
    pub mean_on: Duration,
    /// Mean pause between bursts.
    pub mean_off: Duration,
    /// Whether stations hear a burst.
    pub heard: Audibility,
}

/// Whether stations hear bursts of interference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Audibility {
    /// By all: the medium is busy, and nobody sends.
    #[default]
    Everywhere,
    /// By receivers only, such as a hidden station or a source too weak for carrier sense: frames
    /// go out and fail.
    AtReceivers,
}

/// A source of interference at work.
#[derive(Debug)]
struct Interferer {
    config: InterferenceConfig,
    rng: Rng,
    /// The current or next burst.
    burst: Option<(Instant, Instant)>,
}

impl Interferer {
    fn new(config: InterferenceConfig, rng: Rng) -> Self {
        let mut interferer = Self {
            config,
            rng,
            burst: None,
        };
        interferer.next_burst(config.start);
        interferer
    }

    fn next_burst(&mut self, after: Instant) {
        let mut draw =
            |mean: Duration| Duration::from_secs_f64(self.rng.exponential(mean.as_secs_f64()));
        let from = after + draw(self.config.mean_off);
        let until = from + draw(self.config.mean_on).max(Duration::from_nanos(1));
        let stop = self.config.stop;
        self.burst = (from < stop).then_some((from, until.min(stop)));
    }

    /// The burst that is on at `at` or comes next. Times must not run backwards.
    fn burst_from(&mut self, at: Instant) -> Option<(Instant, Instant)> {
        while let Some((from, until)) = self.burst {
            if at < until {
                return Some((from, until));
            }
            self.next_burst(until);
        }
        None
    }
}

/// The channel at work.
#[derive(Debug)]
pub(super) struct Channel {
    snr_db: Vec<(Instant, f64)>,
    rng: Rng,
    interferers: Vec<Interferer>,
}

impl Channel {
    pub(super) fn new(config: ChannelConfig, seed: u64, name: &str) -> Self {
        let sources = config.interference.into_iter().enumerate();
        let interferer = |(number, config): (usize, InterferenceConfig)| {
            let mut name = format!("wifi/{name}/interference");
            if number > 0 {
                name = format!("{name}/{number}");
            }
            Interferer::new(config, Rng::stream(seed, &name))
        };
        Self {
            snr_db: config.snr_db,
            rng: Rng::stream(seed, &format!("wifi/{name}/errors")),
            interferers: sources.map(interferer).collect(),
        }
    }

    fn snr_db(&self, at: Instant) -> Option<f64> {
        let past = self.snr_db.partition_point(|&(from, _)| from <= at);
        past.checked_sub(1).map(|index| self.snr_db[index].1)
    }

    /// Probability that a frame fails for noise alone.
    pub(super) fn frame_error_rate(&self, at: Instant, frame: (Standard, PhyRate, u32)) -> f64 {
        let (standard, rate, octets) = frame;
        let Some(snr) = self.snr_db(at) else {
            return 0.0;
        };
        let threshold = match standard {
            Standard::B | Standard::BShort => [2.0, 4.0, 7.0, 10.0][rate.0.min(3)],
            Standard::G => [5.0, 6.0, 8.0, 11.0, 14.0, 18.0, 23.0, 25.0][rate.0.min(7)],
        };
        let error = 1.0 / (1.0 + libm::exp((snr - threshold) / WIDTH_DB));
        1.0 - libm::pow(1.0 - error, f64::from(octets) / 1500.0)
    }

    /// The burst that stations hear at `at` or next. Times must not run backwards.
    pub(super) fn heard_burst_from(&mut self, at: Instant) -> Option<(Instant, Instant)> {
        self.interferers
            .iter_mut()
            .filter(|source| source.config.heard == Audibility::Everywhere)
            .filter_map(|source| source.burst_from(at))
            .min()
    }

    /// True if a frame from `start` to `end` fails, for noise or interference.
    pub(super) fn frame_fails(
        &mut self,
        start: Instant,
        end: Instant,
        frame: (Standard, PhyRate, u32),
    ) -> bool {
        let noise = self.rng.chance(self.frame_error_rate(start, frame));
        let mut hit = false;
        for source in &mut self.interferers {
            hit |= source.burst_from(start).is_some_and(|(from, _)| from < end);
        }
        noise || hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_full_frames_fail_at_the_threshold() {
        let config = ChannelConfig {
            snr_db: vec![(Instant::ZERO, 25.0)],
            interference: vec![],
        };
        let channel = Channel::new(config, 1, "test");
        let rate = |rate, octets| {
            channel.frame_error_rate(Instant::ZERO, (Standard::G, PhyRate(rate), octets))
        };
        assert!((rate(7, 1500) - 0.5).abs() < 1e-12);
        assert!(rate(7, 100) < 0.05);
        assert!(rate(5, 1500) < 0.001);
    }

    #[test]
    fn bursts_cover_the_share_of_time_that_they_should() {
        let config = ChannelConfig {
            snr_db: vec![],
            interference: vec![
                InterferenceConfig {
                    start: Instant::ZERO,
                    stop: Instant::ZERO + Duration::from_secs(500),
                    mean_on: Duration::from_millis(10),
                    mean_off: Duration::from_millis(30),
                    heard: Audibility::Everywhere,
                },
                InterferenceConfig {
                    start: Instant::ZERO + Duration::from_secs(500),
                    stop: Instant::ZERO + Duration::from_secs(1000),
                    mean_on: Duration::from_millis(1),
                    mean_off: Duration::from_millis(3),
                    heard: Audibility::AtReceivers,
                },
            ],
        };
        let mut channel = Channel::new(config, 1, "test");
        let samples = 1_000_000;
        let busy = (0..samples)
            .filter(|&n| {
                let at = Instant::from_nanos(n * 1_000_000);
                channel
                    .interferers
                    .iter_mut()
                    .any(|source| source.burst_from(at).is_some_and(|(from, _)| from <= at))
            })
            .count();
        let share = busy as f64 / samples as f64;
        assert!((share - 0.25).abs() < 0.01, "{share}");
        let after = Instant::ZERO + Duration::from_secs(2000);
        assert_eq!(channel.heard_burst_from(after), None);
    }
}
