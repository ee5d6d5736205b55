//! Outages: periods in which a link loses all packets.
//!
//! A packet whose transmission starts in an outage is lost, as with a loss rate of 100 %: the queue
//! drains at the link's rate, its packets are lost, and packets already on the wire arrive. Times
//! are fixed or random; both directions of a link that have the same outage draw the same times.
//! They are drawn in order, from a separate random stream of the outage: packets on the link do not
//! change them. Does not model: links that hold their packets until they are available again, for
//! which see the slots of [`netem`](crate::netem).

use weir_proto::DurationRange;
use weir_proto::rng::Rng;
use weir_proto::settings::{Diagnostic, Form, Kind, Raw, Reader, Spanned, Value as _, or_word};
use weir_proto::time::{Duration, Instant};

weir_proto::settings! {
    /// A time in which nothing passes: what a link begins to send then is lost.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OutageConfig {
        /// When the first begins, such as "10s"; a range is drawn.
        pub at: DurationRange [required],
        /// How long nothing passes, such as "3s"; a range is drawn for each.
        pub duration: DurationRange [required],
        /// From the beginning of one to that of the next, such as "60s", but not before that one is
        /// over; a range is drawn for each. "once" for a single one.
        pub every: Option<DurationRange> => or_word("once", Period),
    }
}

/// The shortest time from the start of one outage to the start of the next.
const LEAST_PERIOD: Duration = Duration::from_millis(1);

/// The time from the start of one outage to the start of the next.
struct Period;

impl Form<DurationRange> for Period {
    fn read(
        &self,
        slot: &mut DurationRange,
        value: &Spanned,
        reader: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        let mut read = DurationRange::default();
        read.read(value, reader)?;
        if read.least < LEAST_PERIOD {
            return Err(Diagnostic::new(
                format!("expected at least {LEAST_PERIOD} between outages, found {read}"),
                "write every = \"60s\", or leave it out for a single one",
            ));
        }
        *slot = read;
        Ok(())
    }

    fn write(&self, value: &DurationRange) -> Raw {
        value.write()
    }

    fn kind(&self, value: &DurationRange) -> Kind {
        value.kind()
    }
}

impl OutageConfig {
    /// True if its times are random.
    pub fn is_random(&self) -> bool {
        let every = self.every.is_some_and(|every| every.is_random());
        self.at.is_random() || self.duration.is_random() || every
    }

    /// An outage with random times, for property tests.
    pub fn arbitrary(rng: &mut Rng) -> Self {
        let mut range = |least: u64, span: u64| {
            let least = Duration::from_micros(least + rng.below(span));
            DurationRange {
                least,
                most: least + Duration::from_micros(rng.below(span)),
            }
        };
        Self {
            at: range(0, 50_000),
            duration: range(0, 20_000),
            every: Some(range(10_000, 50_000)),
        }
    }
}

/// The current or next outage.
#[derive(Debug)]
pub(crate) struct Outage {
    config: OutageConfig,
    rng: Rng,
    begins: Instant,
    ends: Instant,
}

impl Outage {
    /// The first outage, with times from this random stream.
    pub(crate) fn new(config: OutageConfig, mut rng: Rng) -> Self {
        let begins = Instant::ZERO + config.at.draw(&mut rng);
        let ends = begins + config.duration.draw(&mut rng);
        Self {
            config,
            rng,
            begins,
            ends,
        }
    }

    /// True during an outage. Callers must not go back in time.
    pub(crate) fn is_on(&mut self, at: Instant) -> bool {
        while self.ends <= at {
            self.go_on();
        }
        self.begins <= at
    }

    fn go_on(&mut self) {
        let Some(every) = self.config.every else {
            (self.begins, self.ends) = (Instant::FAR_FUTURE, Instant::FAR_FUTURE);
            return;
        };
        let period = every.draw(&mut self.rng).max(LEAST_PERIOD);
        self.begins = (self.begins + period).max(self.ends);
        self.ends = self.begins + self.config.duration.draw(&mut self.rng);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Those of these milliseconds that are in an outage.
    fn dead(config: OutageConfig, millis: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut outage = Outage::new(config, Rng::stream(1, "outage"));
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        millis.filter(|&time| outage.is_on(at(time))).collect()
    }

    #[test]
    fn an_outage_includes_its_start_and_excludes_its_end() {
        let once = OutageConfig {
            at: millis(3).into(),
            duration: millis(2).into(),
            every: None,
        };
        assert_eq!(dead(once, 0..20), [3, 4]);
        let often = OutageConfig {
            every: Some(millis(6).into()),
            ..once
        };
        assert_eq!(dead(often, 0..20), [3, 4, 9, 10, 15, 16]);
        // Outages without a pause between them lose everything; with a duration of zero they lose
        // nothing.
        let long = OutageConfig {
            duration: millis(6).into(),
            ..often
        };
        assert_eq!(dead(long, 0..20), (3..20).collect::<Vec<_>>());
        let empty = OutageConfig {
            duration: Duration::ZERO.into(),
            every: Some(Duration::ZERO.into()),
            ..once
        };
        assert_eq!(dead(empty, 0..20), []);
    }

    #[test]
    fn random_times_lie_in_their_ranges_and_do_not_depend_on_queries() {
        let range = |least, most| DurationRange {
            least: millis(least),
            most: millis(most),
        };
        let config = OutageConfig {
            at: range(100, 200),
            duration: range(10, 20),
            every: Some(range(300, 500)),
        };
        let all = dead(config, 0..100_000);
        let first = all[0];
        assert!((100..=201).contains(&first), "{first}");
        let begins: Vec<u64> = (all.iter().zip(all.iter().skip(1)))
            .filter_map(|(before, next)| (before + 1 < *next).then_some(*next))
            .collect();
        assert!(begins.len() > 200, "{}", begins.len());
        let periods: Vec<u64> = begins.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(periods.iter().all(|period| (299..=501).contains(period)));
        let mean = periods.iter().sum::<u64>() as f64 / periods.len() as f64;
        // Uniform over 200 ms: a standard deviation of 58 ms, and of 3.7 ms for the mean of 240.
        assert!((mean - 400.0).abs() < 15.0, "{mean}");
        let share = all.len() as f64 / 100_000.0;
        assert!((share - 15.0 / 400.0).abs() < 0.003, "{share}");
        // A check every seven milliseconds finds the same outages.
        let seventh = dead(config, (0..100_000).step_by(7));
        let of_all = all.into_iter().filter(|time| time % 7 == 0);
        assert_eq!(seventh, of_all.collect::<Vec<_>>());
    }
}
