//! The channel: which frames are damaged on their way to a station, and where.
//!
//! The signal-to-interference-and-noise ratio at a receiver is its signal's power over the noise
//! plus the power of the active interference, in milliwatts; when that changes within a frame, each
//! part has its own ratio. Octets fail independently: of n octets at a ratio of r dB all survive
//! with probability `(1 - e)^(n/1500)`, `e = 1/(1 + exp((r - t)/w))`, a logistic curve of width w =
//! 1 dB through one half at the rate's threshold t for 1500 octets. Thresholds are the usual
//! receiver requirements of the modulations (5 dB for BPSK 1/2 to 25 dB for 64-QAM 3/4); the curve
//! is a simplification of measured ones, with their steepness. Octets count from the IP header,
//! spread evenly over the time of the frame.

use super::interference::{Audibility, Burst, InterferenceConfig, Interferer};
use super::place::{PathLossConfig, Place, Reception, Schedule, milliwatts};
use super::timing::{PhyRate, Standard};
use weir_proto::rng::Rng;
use weir_proto::settings::number;
use weir_proto::time::{Duration, Instant};

const WIDTH_DB: f64 = 1.0;

/// The conditions of frames on the air.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelConfig {
    /// How signals attenuate with distance.
    pub path_loss: PathLossConfig,
    /// Signal-to-noise ratios that are given instead of computed from places: of all frames, or of
    /// those to and from the station with this number.
    pub signal: Vec<(Option<usize>, SignalConfig)>,
    /// Stations, by number, that move.
    pub moves: Vec<(usize, MoveConfig)>,
    /// Sources of interference, each with its own bursts.
    pub interference: Vec<InterferenceConfig>,
}

impl ChannelConfig {
    /// A channel with this signal-to-noise ratio in dB at all times and places.
    pub fn with_snr_db(snr_db: f64) -> Self {
        let signal = SignalConfig {
            at: Duration::ZERO,
            snr: snr_db,
        };
        Self {
            signal: vec![(None, signal)],
            ..Self::default()
        }
    }
}

weir_proto::settings! {
    /// A signal-to-noise ratio from a time on, in place of that by distance.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct SignalConfig {
        /// From when on it holds.
        pub at: Duration [required],
        /// Signal-to-noise ratio in dB, without interference.
        pub snr: f64 [required] => number(-1000.0..=1000.0, "dB"),
    }
}

weir_proto::settings! {
    /// A station goes to another place.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct MoveConfig {
        /// When it does.
        pub at: Duration [required],
        /// Where it is from then on.
        pub place: Place [flatten],
    }
}

/// The radio of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Radio {
    pub(super) power_dbm: f64,
    /// The initial place.
    pub(super) place: Place,
}

/// A data frame on its way to a station, which may only overhear it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) standard: Standard,
    pub(super) rate: PhyRate,
    /// Octets of its IP packet.
    pub(super) octets: u32,
    pub(super) start: Instant,
    pub(super) end: Instant,
    /// The numbers of the stations.
    pub(super) from: usize,
    pub(super) to: usize,
}

/// The state of a station that the channel needs.
#[derive(Debug)]
struct Antenna {
    power_dbm: f64,
    places: Schedule<Place>,
    /// Given signal-to-noise ratios, in dB.
    signal: Schedule<f64>,
}

/// The state of the channel.
#[derive(Debug)]
pub(super) struct Channel {
    path_loss: PathLossConfig,
    /// The noise of a receiver in milliwatts.
    noise: f64,
    /// The noise of a receiver in dBm.
    noise_dbm: f64,
    antennas: Vec<Antenna>,
    /// Powers in dBm between two stations, from the first of the pair to the second.
    between_stations: Vec<Reception>,
    /// Interference in milliwatts at a station, by source and station.
    from_sources: Vec<Reception>,
    /// Given signal-to-noise ratios of all stations, in dB.
    signal: Schedule<f64>,
    rng: Rng,
    interferers: Vec<Interferer>,
    /// The interference during the last frame: from, until, and milliwatts. Kept to reuse its
    /// memory.
    met: Vec<(Instant, Instant, f64)>,
    /// The times between which the interference is constant.
    cuts: Vec<Instant>,
}

impl Channel {
    pub(super) fn new(config: &ChannelConfig, radios: &[Radio], seed: u64, name: &str) -> Self {
        let interferer = |(number, config): (usize, &InterferenceConfig)| {
            let mut name = format!("wifi/{name}/interference");
            if number > 0 {
                name = format!("{name}/{number}");
            }
            Interferer::new(*config, Rng::stream(seed, &name))
        };
        let sources = config.interference.iter().enumerate();
        let signal_of = |station: Option<usize>| {
            let of = config.signal.iter().filter(|entry| entry.0 == station);
            let entries = of.map(|(_, signal)| (Instant::ZERO + signal.at, signal.snr));
            Schedule::new(entries.collect())
        };
        let antenna = |(station, radio): (usize, &Radio)| {
            let moves = config.moves.iter().filter(|entry| entry.0 == station);
            let later = moves.map(|(_, to)| (Instant::ZERO + to.at, to.place));
            let first = std::iter::once((Instant::ZERO, radio.place));
            Antenna {
                power_dbm: radio.power_dbm,
                places: Schedule::new(first.chain(later).collect()),
                signal: signal_of(Some(station)),
            }
        };
        let noise = milliwatts(config.path_loss.noise);
        Self {
            path_loss: config.path_loss,
            noise,
            noise_dbm: 10.0 * libm::log10(noise),
            antennas: radios.iter().enumerate().map(antenna).collect(),
            between_stations: vec![Reception::default(); radios.len() * radios.len()],
            from_sources: vec![Reception::default(); config.interference.len() * radios.len()],
            signal: signal_of(None),
            rng: Rng::stream(seed, &format!("wifi/{name}/errors")),
            interferers: sources.map(interferer).collect(),
            met: Vec::new(),
            cuts: Vec::new(),
        }
    }

    fn place(&self, station: usize, at: Instant) -> Place {
        self.antennas[station].places.at(at).unwrap_or_default()
    }

    /// The received power of a frame in dBm.
    fn signal_dbm(&mut self, frame: &Frame) -> f64 {
        let at = frame.start;
        let of = |station: usize| self.antennas[station].signal.at(at);
        let own = match (of(frame.from), of(frame.to)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        if let Some(snr_db) = own.or_else(|| self.signal.at(at)) {
            return self.path_loss.noise + snr_db;
        }
        let power_dbm = self.antennas[frame.from].power_dbm;
        let (from, to) = (self.place(frame.from, at), self.place(frame.to, at));
        let pair = frame.from * self.antennas.len() + frame.to;
        self.between_stations[pair].dbm(&self.path_loss, power_dbm, from, to)
    }

    /// The next burst that begins by `at` and that stations may hear; returns each burst once, in
    /// order.
    pub(super) fn next_heard_burst(&mut self, at: Instant) -> Option<HeardBurst> {
        let sources = self.interferers.iter_mut().enumerate();
        let (burst, source) = sources
            .filter_map(|(number, source)| Some((source.next_announcement(at)?, number)))
            .min_by_key(|(burst, number)| (burst.from, *number))?;
        self.interferers[source].announced();
        Some(HeardBurst { burst, source })
    }

    /// True if a station hears a burst when it begins.
    pub(super) fn hears(&self, station: usize, heard: &HeardBurst) -> bool {
        let config = &self.interferers[heard.source].config;
        match config.heard {
            Audibility::Everywhere => true,
            Audibility::AtReceivers => false,
            Audibility::ByPower => config.power.is_none_or(|power| {
                let place = self.place(station, heard.burst.from);
                let received = self.path_loss.received_dbm(power, config.place, place);
                received >= self.path_loss.energy_detection
            }),
        }
    }

    /// Frames that begin before `horizon` will not be queried any more.
    pub(super) fn forget_before(&mut self, horizon: Instant) {
        for source in &mut self.interferers {
            source.forget_before(horizon);
        }
    }

    /// Finds the interference during a frame at its receiver, and the times between which it is
    /// constant.
    fn find_interference(&mut self, frame: &Frame) {
        let place = self.place(frame.to, frame.start);
        let stations = self.antennas.len();
        self.met.clear();
        for (number, source) in self.interferers.iter_mut().enumerate() {
            let config = source.config;
            let reception = &mut self.from_sources[number * stations + frame.to];
            for Burst { from, until } in source.bursts_between(frame.start, frame.end) {
                let power = config.power.map_or(f64::INFINITY, |power| {
                    reception.milliwatts(&self.path_loss, power, config.place, place)
                });
                let (from, until) = (from.max(frame.start), until.min(frame.end));
                self.met.push((from, until, power));
            }
        }
        self.cuts.clear();
        self.cuts.extend([frame.start, frame.end]);
        let edges = self.met.iter().flat_map(|&(from, until, _)| [from, until]);
        self.cuts.extend(edges);
        self.cuts.sort_unstable();
        self.cuts.dedup();
    }

    /// The first octet of the frame's packet that arrives damaged, if any does.
    pub(super) fn first_damage(&mut self, frame: &Frame) -> Option<u32> {
        let signal_dbm = self.signal_dbm(frame);
        self.find_interference(frame);
        let length = frame.end.since(frame.start).as_secs_f64().max(1e-9);
        let full_frames = f64::from(frame.octets.max(1)) / 1500.0;
        // The survival probability decreases along the frame; the first damage is where it reaches
        // `level`.
        let level = 1.0 - self.rng.uniform();
        let mut survival = 1.0;
        for part in self.cuts.windows(2) {
            let on = self.met.iter();
            let on = on.filter(|i| i.0 <= part[0] && i.1 >= part[1]);
            let power: f64 = on.map(|i| i.2).sum();
            // Most frames have no interference, and logarithms are expensive.
            let disturbance_dbm = match power {
                0.0 => self.noise_dbm,
                power => 10.0 * libm::log10(self.noise + power),
            };
            let ratio_db = signal_dbm - disturbance_dbm;
            let share = |at: Instant| at.since(frame.start).as_secs_f64() / length;
            let survives = libm::log(1.0 - octet_error(frame, ratio_db)) * full_frames;
            let after = survival * libm::exp(survives * (share(part[1]) - share(part[0])));
            if after < level {
                let within = libm::log(level / survival) / survives;
                let octet = (share(part[0]) + within) * f64::from(frame.octets);
                return Some((octet as u32).min(frame.octets.saturating_sub(1)));
            }
            survival = after;
        }
        None
    }
}

/// A burst that stations may hear.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeardBurst {
    pub(super) burst: Burst,
    source: usize,
}

/// The probability that a frame of 1500 octets fails at a ratio in dB.
fn octet_error(frame: &Frame, ratio_db: f64) -> f64 {
    let rate = frame.rate.0;
    let threshold = match frame.standard {
        Standard::B | Standard::BShort => [2.0, 4.0, 7.0, 10.0][rate.min(3)],
        Standard::G => [5.0, 6.0, 8.0, 11.0, 14.0, 18.0, 23.0, 25.0][rate.min(7)],
    };
    1.0 / (1.0 + libm::exp((ratio_db - threshold) / WIDTH_DB))
}

#[cfg(test)]
mod tests;
