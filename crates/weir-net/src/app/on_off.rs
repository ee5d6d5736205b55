//! Writes at a constant rate for a while, pauses, and starts again: talk spurts, sensors, web
//! pages. The lengths of both periods are constant, exponentially distributed, or
//! Pareto-distributed with shape 1.5; the sum of many such sources is self-similar (Willinger et
//! al. 1997). Writes that cannot be made in time are skipped, as for live media.

use super::{
    App, AppEnvironment, AppPair, AppReport, AppSettings, Contradiction, Session, WriteLoad,
    check_writes,
};
use std::ops::RangeInclusive;
use weir_proto::endpoint::Endpoint;
use weir_proto::rng::Rng;
use weir_proto::settings::{bit_rate, bytes, duration};
use weir_proto::time::{Duration, Instant};

weir_proto::settings! {
    /// Writes at a constant rate for a while, pauses, and begins again.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OnOffConfig {
        /// Bytes of one write: the payload of a datagram, or a piece of a stream.
        pub packet: u32 = 1400 => bytes(1..=65_535),
        /// Payload bits per second while it is on, such as "64kbit".
        pub rate: u64 [required] = 1 => bit_rate(),
        /// Mean length of a period of writing.
        pub on: Duration [required] = Duration::from_secs(1) => duration(LENGTHS),
        /// Mean length of a pause.
        pub off: Duration [required] = Duration::from_secs(1),
        /// How lengths are distributed; "pareto" has shape 1.5.
        pub lengths: LengthDistribution,
    }
}

weir_proto::keywords! {
    /// The distribution of the lengths of periods around their mean.
    #[derive(Default)]
    pub enum LengthDistribution {
        /// Exponential.
        #[default]
        Exponential = "exponential",
        /// All lengths are equal.
        Constant = "constant",
        /// Pareto with shape 1.5: most are short, a few very long.
        Pareto = "pareto",
    }
}

impl LengthDistribution {
    /// The next length.
    pub(super) fn draw(self, mean: Duration, rng: &mut Rng) -> Duration {
        let secs = mean.as_secs_f64();
        let drawn = match self {
            Self::Constant => return mean,
            Self::Exponential => rng.exponential(secs),
            Self::Pareto => {
                let least = secs * (SHAPE - 1.0) / SHAPE;
                least * libm::pow(1.0 - rng.uniform(), -1.0 / SHAPE)
            }
        };
        // At most a day, because the tail of a Pareto distribution with shape 1.5 is unbounded.
        Duration::from_secs_f64(drawn.min(86_400.0))
    }
}

const SHAPE: f64 = 1.5;
/// The shortest and the longest mean period of writing.
const LENGTHS: RangeInclusive<Duration> =
    Duration::from_micros(1)..=Duration::from_secs(366 * 86_400);

impl AppSettings for OnOffConfig {
    fn build(&self, environment: AppEnvironment<'_>) -> AppPair {
        let stream = format!("flow/{}/app", environment.flow);
        AppPair::with_sink(OnOff::new(*self, Rng::stream(environment.seed, &stream)))
    }

    fn is_random(&self) -> bool {
        self.lengths != LengthDistribution::Constant
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            packet: 40 + rng.below(1461) as u32,
            rate: 10_000 + rng.below(10_000_000),
            on: Duration::from_millis(1 + rng.below(20)),
            off: Duration::from_millis(rng.below(20)),
            lengths: LengthDistribution::default(),
        }
    }

    fn packet(&self) -> u32 {
        self.packet
    }

    fn load(&self) -> Option<WriteLoad> {
        // Each period begins with a write, even if it is shorter than the interval between writes.
        let steady = WriteLoad::constant(self.rate, self.packet);
        let on = self.on.as_secs_f64();
        let writes = 1.0 + on * steady.per_second;
        let cycle = on + self.off.as_secs_f64();
        Some(WriteLoad {
            per_second: writes / cycle.max(1e-9),
            ..steady
        })
    }

    fn check(&self) -> Result<(), Contradiction> {
        check_writes(self.rate, self.packet)
    }
}

/// The application.
#[derive(Debug)]
pub struct OnOff {
    config: OnOffConfig,
    rng: Rng,
    due: Option<Instant>,
    /// When the current period of writing ends.
    until: Instant,
    session: Session,
}

impl OnOff {
    /// An application that begins with a period of writing at the handshake.
    pub fn new(config: OnOffConfig, rng: Rng) -> Self {
        Self {
            config,
            rng,
            due: None,
            until: Instant::ZERO,
            session: Session::default(),
        }
    }

    fn length(&mut self, mean: Duration) -> Duration {
        self.config.lengths.draw(mean, &mut self.rng)
    }

    fn interval(&self) -> Duration {
        let octets = u64::from(self.config.packet.max(1));
        Duration::of_octets(octets, self.config.rate).max(Duration::from_nanos(1))
    }

    fn begin(&mut self, at: Instant) {
        let on = self.config.on;
        self.until = at + self.length(on).max(Duration::from_nanos(1));
        self.due = Some(at);
    }
}

impl App for OnOff {
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        self.session.drain(now, endpoint);
        if self.done() || self.session.statistics.connected_at.is_none() {
            return;
        }
        if self.due.is_none() {
            self.begin(now);
        }
        while let Some(due) = self.due.filter(|&due| due <= now && !self.done()) {
            if !self.session.write(now, endpoint, self.config.packet) && !self.session.ended() {
                self.session.statistics.writes_skipped += 1;
            }
            let next = due + self.interval();
            if next < self.until {
                self.due = Some(next);
            } else {
                let off = self.config.off;
                let pause = self.length(off);
                let again = self.until + pause;
                self.begin(again.max(due + Duration::from_nanos(1)));
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due.filter(|_| !self.done())
    }

    fn done(&self) -> bool {
        self.session.ended()
    }

    fn report(&self, _now: Instant) -> AppReport<'_> {
        self.session.statistics.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_their_mean() {
        for (lengths, tolerance) in [
            (LengthDistribution::Constant, 1e-9),
            (LengthDistribution::Exponential, 0.02),
            (LengthDistribution::Pareto, 0.2),
        ] {
            let config = OnOffConfig {
                packet: 100,
                rate: 1_000_000,
                on: Duration::from_millis(100),
                off: Duration::ZERO,
                lengths,
            };
            let mut app = OnOff::new(config, Rng::stream(1, "on-off"));
            let draws = 100_000;
            let total: f64 = (0..draws)
                .map(|_| app.length(Duration::from_millis(100)).as_secs_f64())
                .sum();
            let mean = total / f64::from(draws);
            assert!((mean / 0.1 - 1.0).abs() < tolerance, "{lengths:?} {mean}");
        }
    }
}
