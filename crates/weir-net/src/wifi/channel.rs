//! The channel: an error probability from the signal-to-noise ratio, and bursts
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
use weir_proto::settings::{Diagnostic, Form, Kind, Raw, Reader, Spanned, Value, number, or_word};
use weir_proto::time::{Duration, Instant};

const WIDTH_DB: f64 = 1.0;

/// The path between the stations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelConfig {
    /// How the signal weakens with the distance.
    pub path_loss: PathLossConfig,
    /// The signal from each time on, in order of time; before the first it is perfect.
    pub signal: Vec<SignalConfig>,
    /// Sources of interference, each with bursts of its own.
    pub interference: Vec<InterferenceConfig>,
}

impl ChannelConfig {
    /// A path with this signal-to-noise ratio in dB at all times.
    pub fn with_snr_db(snr_db: f64) -> Self {
        Self {
            signal: vec![SignalConfig {
                snr: Some(snr_db),
                ..SignalConfig::default()
            }],
            ..Self::default()
        }
    }
}

weir_proto::settings! {
    /// The log-distance path loss.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct PathLossConfig {
        /// The signal-to-noise ratio in dB at a distance of one metre.
        pub snr_at_1m: f64 = 60.0 => number(-1000.0..=1000.0, ""),
        /// The exponent of the path loss: 2 in free space, 3 to 4 indoors.
        pub exponent: f64 as "path_loss" = 3.0,
    }
}

impl PathLossConfig {
    /// The signal-to-noise ratio in dB at a distance.
    pub fn snr_db(&self, metres: f64) -> f64 {
        self.snr_at_1m - 10.0 * self.exponent * libm::log10(metres.max(0.01))
    }
}

weir_proto::settings! {
    /// The signal from a time on; without an entry it is perfect.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SignalConfig {
        /// From when on it holds.
        pub at: Duration [required],
        /// Signal-to-noise ratio in dB; "by_distance" if `distance` says it.
        pub snr: Option<f64> => or_word("by_distance", number(-1000.0..=1000.0, "")),
        /// Metres between the stations; "by_snr" if `snr` says it.
        pub distance: Option<f64> => or_word("by_snr", Metres),
    }
}

weir_proto::settings! {
    /// A source of bursts of interference that are not 802.11.
    ///
    /// On and off periods, exponentially distributed; a frame that overlaps an on period fails.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct InterferenceConfig {
        /// When it begins.
        pub from: Duration [required],
        /// When it ends.
        pub until: Duration [required],
        /// Mean length of a burst, exponentially distributed.
        pub on: Duration [required],
        /// Mean pause between bursts, exponentially distributed.
        pub off: Duration [required],
        /// Whether stations hear it and wait, or only receivers, so that frames fail.
        pub heard: Audibility,
    }
}

weir_proto::keywords! {
    /// Which nodes hear bursts of interference.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Audibility {
        /// All stations: the medium is busy, and no station sends.
        #[default]
        Everywhere = "everywhere",
        /// Only receivers, as with a hidden station or a source too weak for carrier sense: frames
        /// go out and fail.
        AtReceivers = "at_receivers",
    }
}

/// A distance in metres.
struct Metres;

impl Form<f64> for Metres {
    fn read(
        &self,
        slot: &mut f64,
        value: &Spanned,
        reader: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        let mut metres = 0.0;
        metres.read(value, reader)?;
        if !(0.01..=1e5).contains(&metres) {
            let message = format!("expected 0.01 to 100000 metres, found {metres}");
            return Err(Diagnostic::new(
                message,
                "write a number of metres such as 2.5",
            ));
        }
        *slot = metres;
        Ok(())
    }

    fn write(&self, metres: &f64) -> Raw {
        Raw::Float(*metres)
    }

    fn kind(&self, _: &f64) -> Kind {
        Kind::Number {
            min: 0.01,
            max: 1e5,
            unit: "metres",
        }
    }
}

/// The state of a source of interference.
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
        interferer.next_burst(Instant::ZERO + config.from);
        interferer
    }

    fn next_burst(&mut self, after: Instant) {
        let mut draw =
            |mean: Duration| Duration::from_secs_f64(self.rng.exponential(mean.as_secs_f64()));
        let from = after + draw(self.config.off);
        let until = from + draw(self.config.on).max(Duration::from_nanos(1));
        let stop = Instant::ZERO + self.config.until;
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

/// A data frame on the air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) standard: Standard,
    pub(super) rate: PhyRate,
    /// Octets of its IP packet.
    pub(super) octets: u32,
}

/// The state of the channel.
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
        let path_loss = config.path_loss;
        let snr_db = |signal: &SignalConfig| {
            let at_distance = |metres| path_loss.snr_db(metres);
            let snr = signal.snr.or(signal.distance.map(at_distance))?;
            Some((Instant::ZERO + signal.at, snr))
        };
        Self {
            snr_db: config.signal.iter().filter_map(snr_db).collect(),
            rng: Rng::stream(seed, &format!("wifi/{name}/errors")),
            interferers: sources.map(interferer).collect(),
        }
    }

    fn snr_db(&self, at: Instant) -> Option<f64> {
        let past = self.snr_db.partition_point(|&(from, _)| from <= at);
        past.checked_sub(1).map(|index| self.snr_db[index].1)
    }

    /// Probability that a frame fails for noise alone.
    pub(super) fn frame_error_rate(&self, at: Instant, frame: Frame) -> f64 {
        let Frame {
            standard,
            rate,
            octets,
        } = frame;
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
    pub(super) fn frame_fails(&mut self, start: Instant, end: Instant, frame: Frame) -> bool {
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
        let config = ChannelConfig::with_snr_db(25.0);
        let channel = Channel::new(config, 1, "test");
        let rate = |rate, octets| {
            let frame = Frame {
                standard: Standard::G,
                rate: PhyRate(rate),
                octets,
            };
            channel.frame_error_rate(Instant::ZERO, frame)
        };
        assert!((rate(7, 1500) - 0.5).abs() < 1e-12);
        assert!(rate(7, 100) < 0.05);
        assert!(rate(5, 1500) < 0.001);
    }

    #[test]
    fn bursts_cover_the_share_of_time_that_they_should() {
        let config = ChannelConfig {
            interference: vec![
                InterferenceConfig {
                    from: Duration::ZERO,
                    until: Duration::from_secs(500),
                    on: Duration::from_millis(10),
                    off: Duration::from_millis(30),
                    heard: Audibility::Everywhere,
                },
                InterferenceConfig {
                    from: Duration::from_secs(500),
                    until: Duration::from_secs(1000),
                    on: Duration::from_millis(1),
                    off: Duration::from_millis(3),
                    heard: Audibility::AtReceivers,
                },
            ],
            ..ChannelConfig::default()
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
