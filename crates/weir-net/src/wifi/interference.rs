//! Sources of interference other than 802.11: bursts with pauses between them, from a place with a
//! power. Bursts are drawn lazily, up to the time that a caller needs.

use super::place::Place;
use std::collections::VecDeque;
use std::ops::RangeInclusive;
use weir_proto::rng::Rng;
use weir_proto::settings::{duration, number, or_word};
use weir_proto::time::{Duration, Instant};

/// The shortest and the longest mean length of a burst or pause.
const LENGTHS: RangeInclusive<Duration> =
    Duration::from_micros(1)..=Duration::from_secs(366 * 86_400);

weir_proto::settings! {
    /// A source of bursts of interference that are not 802.11.
    ///
    /// On and off periods, exponentially distributed. With a `power` they add to the noise of each
    /// receiver by its distance; without one a frame that overlaps an on period fails.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct InterferenceConfig {
        /// When it begins.
        pub from: Duration [required],
        /// When it ends.
        pub until: Duration [required],
        /// Mean length of a burst, exponentially distributed.
        pub on: Duration [required] => duration(LENGTHS),
        /// Mean pause between bursts, exponentially distributed.
        pub off: Duration [required] => duration(LENGTHS),
        /// Which stations hear it and wait.
        pub heard: Audibility,
        /// Its power in dBm, which weakens with the distance; "any" if every frame that it meets
        /// fails.
        pub power: Option<f64> => or_word("any", number(-100.0..=100.0, "dBm")),
        /// Where it is.
        pub place: Place [flatten],
    }
}

weir_proto::keywords! {
    /// Which stations hear bursts of interference, and wait.
    #[derive(Default)]
    pub enum Audibility {
        /// All stations: the medium is busy, and no station sends.
        #[default]
        Everywhere = "everywhere",
        /// None, as with a source that carrier sense does not know: frames go out and meet it.
        AtReceivers = "at_receivers",
        /// Those where its power exceeds `energy_detection`.
        ByPower = "by_power",
    }
}

/// A burst of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    pub(super) from: Instant,
    pub(super) until: Instant,
}

/// The state of a source of interference.
#[derive(Debug)]
pub(super) struct Interferer {
    pub(super) config: InterferenceConfig,
    rng: Rng,
    /// The bursts that may still overlap a frame and those drawn ahead, in order.
    bursts: VecDeque<Burst>,
    /// The number of these bursts that have been announced to the stations.
    announced: usize,
    /// The end of the last burst drawn.
    drawn_to: Instant,
    /// Frames that begin before this time will not be queried any more.
    horizon: Instant,
    over: bool,
}

impl Interferer {
    pub(super) fn new(config: InterferenceConfig, rng: Rng) -> Self {
        Self {
            config,
            rng,
            bursts: VecDeque::new(),
            announced: 0,
            drawn_to: Instant::ZERO + config.from,
            horizon: Instant::ZERO,
            over: false,
        }
    }

    /// Draws the bursts that begin up to `at`, and one more.
    fn draw_to(&mut self, at: Instant) {
        while !self.over && self.bursts.back().is_none_or(|burst| burst.from <= at) {
            let mut draw =
                |mean: Duration| Duration::from_secs_f64(self.rng.exponential(mean.as_secs_f64()));
            let from = self.drawn_to + draw(self.config.off);
            let until = from + draw(self.config.on).max(Duration::from_nanos(1));
            let stop = Instant::ZERO + self.config.until;
            self.over = from >= stop;
            self.drawn_to = until;
            if !self.over {
                let until = until.min(stop);
                self.bursts.push_back(Burst { from, until });
                if self.config.heard == Audibility::AtReceivers {
                    self.forget();
                }
            }
        }
    }

    /// Frames that begin before `horizon` will not be queried any more.
    pub(super) fn forget_before(&mut self, horizon: Instant) {
        self.horizon = horizon;
        self.forget();
    }

    fn forget(&mut self) {
        let heard = self.config.heard != Audibility::AtReceivers;
        while self.bursts.front().is_some_and(|b| b.until <= self.horizon) {
            if heard && self.announced == 0 {
                return;
            }
            self.bursts.pop_front();
            self.announced = self.announced.saturating_sub(1);
        }
    }

    /// The next burst that has not been announced, if it begins by `at`.
    pub(super) fn next_announcement(&mut self, at: Instant) -> Option<Burst> {
        if self.config.heard == Audibility::AtReceivers {
            return None;
        }
        self.draw_to(at);
        let next = self.bursts.get(self.announced).copied();
        next.filter(|burst| burst.from <= at)
    }

    /// Marks the burst of [`next_announcement`](Self::next_announcement) as announced.
    pub(super) fn announced(&mut self) {
        self.announced += 1;
    }

    /// The bursts that are active between `start` and `end`.
    pub(super) fn bursts_between(
        &mut self,
        start: Instant,
        end: Instant,
    ) -> impl Iterator<Item = Burst> + '_ {
        self.draw_to(end);
        let overlaps = move |burst: &&Burst| burst.from < end && burst.until > start;
        self.bursts.iter().filter(overlaps).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(heard: Audibility) -> Interferer {
        let config = InterferenceConfig {
            from: Duration::from_secs(1),
            until: Duration::from_secs(500),
            on: Duration::from_millis(10),
            off: Duration::from_millis(30),
            heard,
            ..InterferenceConfig::default()
        };
        Interferer::new(config, Rng::stream(1, "test"))
    }

    #[test]
    fn bursts_cover_the_share_of_time_that_they_should() {
        let mut source = source(Audibility::AtReceivers);
        let at = |n: u64| Instant::from_nanos(n * 1_000_000);
        let mut busy = 0;
        for n in 0..1_000_000 {
            source.forget_before(at(n));
            let on = source
                .bursts_between(at(n), at(n) + Duration::from_nanos(1))
                .count();
            assert!(on == 0 || (1_000..500_000).contains(&n), "{n}");
            busy += on;
        }
        let share = busy as f64 / 499_000.0;
        assert!((share - 0.25).abs() < 0.01, "{share}");
        assert!(source.bursts.is_empty());
    }

    #[test]
    fn a_heard_burst_is_announced_once_and_kept_for_the_frames_that_it_meets() {
        let mut source = source(Audibility::Everywhere);
        let late = Instant::ZERO + Duration::from_secs(2);
        let mut announced = Vec::new();
        while let Some(burst) = source.next_announcement(late) {
            announced.push(burst);
            source.announced();
        }
        assert!(announced.len() > 15, "{}", announced.len());
        assert!(announced.is_sorted_by_key(|burst| burst.from));
        let met: Vec<_> = source.bursts_between(Instant::ZERO, late).collect();
        assert_eq!(met, announced);
        source.forget_before(late);
        assert!(source.bursts.len() <= 2, "{:?}", source.bursts);
    }
}
