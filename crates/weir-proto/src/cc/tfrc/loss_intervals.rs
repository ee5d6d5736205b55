//! Loss intervals and the loss event rate (RFC 5348 §5.3 to §5.5).
//!
//!   I_mean = max(Σ_{0..n-1} w_i·I_i, Σ_{1..n} w_(i-1)·I_i) / Σ w,   p = 1/I_mean
//!   w = 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2
//!
//! I_0 is the open interval since the last loss event. With history discounting an I_0 of more
//! than twice the mean reduces the weights of older intervals by DF = max(2·I_mean/I_0, threshold).
//!
//! The interval before the first loss is synthetic (§6.3.1). RFC 5348 keeps it as I_1. Linux stores
//! it in I_0 until the second loss replaces it by the true length; its mean is an integer.

use super::profile::{Arithmetic, Discounting, FirstIntervalAlone, Profile};

/// n: the number of closed intervals in the mean (RFC 5348 §5.4).
pub const INTERVALS: usize = 8;
/// Intervals kept: I_0 to I_8.
const KEPT: usize = INTERVALS + 1;
/// The weights times ten (RFC 5348 §5.4).
const WEIGHTS: [u64; INTERVALS] = [10, 10, 10, 10, 8, 6, 4, 2];
/// Discounting applies if I_0 is longer than this many times the mean (RFC 5348 §5.5).
const DISCOUNTED_FROM: f64 = 2.0;

#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    /// Its length in packets.
    length: f64,
    /// DF_i.
    discount: f64,
    reported: ReportedInterval,
}

/// A loss interval as feedback reports it (RFC 4342 §8.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedInterval {
    /// Packets without loss after the last lost one.
    pub lossless_length: u32,
    /// Packets from the first to the last lost one.
    pub loss_length: u32,
    /// Data packets in the interval.
    pub data_length: u32,
    /// Packets lost or marked, for CCID-4 (RFC 5622 §8.7).
    pub drop_count: u32,
}

/// The intervals, newest first.
#[derive(Clone, Debug)]
pub struct LossIntervals {
    arithmetic: Arithmetic,
    discounting: Discounting,
    first_alone: FirstIntervalAlone,
    intervals: [Interval; KEPT],
    len: usize,
    /// Loss events so far.
    events: u64,
    /// DF.
    discount: f64,
    /// I_mean; zero before the first loss.
    mean: f64,
    /// I_0 is short and does not count (TFRC-SP, RFC 4828 §3).
    open_is_short: bool,
    /// Below this length, I_0 changes neither the mean nor DF.
    quiet_below: f64,
    /// The sums over the closed intervals, which change at a loss only.
    closed: Option<ClosedSums>,
}

/// The contribution of the closed intervals to I_mean of RFC 5348 §5.5.
#[derive(Clone, Copy, Debug)]
struct ClosedSums {
    /// The mean of the closed intervals.
    mean: f64,
    /// Length times weight of each while I_0 counts and DF is one, newest first.
    terms: [f64; KEPT],
    /// The weights of these and of I_0.
    weights: f64,
}

/// Below this share of the length from which I_0 enlarges the mean, rounding makes no difference.
const SURELY_QUIET: f64 = 0.999_999;

impl LossIntervals {
    /// The intervals before the first loss.
    pub fn new(profile: &Profile) -> Self {
        Self {
            arithmetic: profile.arithmetic,
            discounting: profile.discounting,
            first_alone: profile.first_interval_alone,
            intervals: [Interval::default(); KEPT],
            len: 0,
            events: 0,
            discount: 1.0,
            mean: 0.0,
            open_is_short: false,
            quiet_below: 0.0,
            closed: None,
        }
    }

    /// Sets whether the open interval is too short to count (RFC 4828 §3).
    pub const fn set_open_is_short(&mut self, short: bool) {
        self.open_is_short = short;
    }

    /// Loss events so far.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// I_mean in packets; zero before the first loss.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// p; zero before the first loss.
    pub fn loss_event_rate(&self) -> f64 {
        if self.mean > 0.0 {
            1.0 / self.mean
        } else {
            0.0
        }
    }

    /// The first loss event: `synthetic` packets before it, `open` packets since.
    pub fn on_first_loss(&mut self, before: ReportedInterval, synthetic: f64, open: f64) {
        self.events = 1;
        let synthetic = synthetic.max(1.0);
        match self.first_alone {
            FirstIntervalAlone::Never => {
                self.intervals[1] = Interval {
                    length: synthetic,
                    discount: 1.0,
                    reported: ReportedInterval {
                        data_length: data_length(synthetic),
                        ..before
                    },
                };
                self.intervals[0] = Interval {
                    length: open.max(1.0),
                    discount: 1.0,
                    reported: ReportedInterval::default(),
                };
                self.len = 2;
                self.renew_mean();
            }
            // The second loss replaces the synthetic interval by its true length.
            FirstIntervalAlone::UntilSecondLoss => {
                self.len = 1;
                self.mean = synthetic;
            }
        }
    }

    /// A later loss event: `closed` packets since the previous one, `open` packets since this one.
    pub fn on_loss(&mut self, before: ReportedInterval, closed: f64, open: f64) {
        self.events += 1;
        self.intervals[0].length = closed.max(1.0);
        self.intervals[0].reported = before;
        // RFC 5348 §5.5: each older interval keeps the discount so far.
        for interval in self.intervals.iter_mut().take(self.len).skip(1) {
            interval.discount *= self.discount;
        }
        self.intervals.copy_within(0..KEPT - 1, 1);
        self.intervals[0] = Interval {
            length: open.max(1.0),
            discount: 1.0,
            reported: ReportedInterval::default(),
        };
        // Two at least: the closed interval and the open one.
        self.len = (self.len + 1).clamp(2, KEPT);
        self.renew_mean();
    }

    /// The open interval has grown. True if the mean became smaller.
    pub fn on_growth(&mut self, open: f64) -> bool {
        // Linux keeps the synthetic interval, its only one, until the second loss.
        if self.len < 2 || open <= self.intervals[0].length {
            return false;
        }
        let old = self.mean;
        self.intervals[0].length = open;
        if open < self.quiet_below {
            return false;
        }
        self.update_mean();
        self.mean < old
    }

    /// Up to nine intervals for feedback, newest first; `open` describes I_0.
    pub fn reported(&self, open: ReportedInterval) -> impl Iterator<Item = ReportedInterval> + '_ {
        let older = self.intervals.iter().take(self.len).skip(1);
        std::iter::once(open).chain(older.map(|interval| interval.reported))
    }

    /// The mean after a loss.
    fn renew_mean(&mut self) {
        self.closed = None;
        self.update_mean();
    }

    fn update_mean(&mut self) {
        self.mean = match self.arithmetic {
            Arithmetic::Float => self.float_mean(),
            Arithmetic::KernelIntegers => self.integer_mean() as f64,
        };
    }

    /// I_mean of RFC 5348 §5.5 for at least two intervals; without discounting all factors are one,
    /// as in §5.4.
    fn float_mean(&mut self) -> f64 {
        let newest = self.intervals[0].length;
        let closed = match self.closed {
            Some(closed) => closed,
            None => *self.closed.insert(self.sum_closed()),
        };
        let mean = closed.mean;
        let discounted_from = DISCOUNTED_FROM * mean;
        let discount = match self.discounting {
            Discounting::Threshold(threshold) if newest > discounted_from => {
                (discounted_from / newest).max(threshold)
            }
            _ => 1.0,
        };
        self.discount = discount;
        let (mut total_0, mut weights_0) = (newest, 1.0);
        if discount < 1.0 {
            for (interval, weight) in self.shifted() {
                let weight = weight * discount;
                total_0 += interval.length * weight;
                weights_0 += weight;
            }
        } else {
            for term in closed.terms.iter().take(self.len.saturating_sub(1)) {
                total_0 += term;
            }
            weights_0 = closed.weights;
            // I_0 counts if (I_0 + the other terms) / weights exceeds the mean.
            let others = total_0 - newest;
            let counts_from = mean * weights_0 - others;
            self.quiet_below = counts_from.min(discounted_from) * SURELY_QUIET;
        }
        if self.open_is_short {
            return mean;
        }
        (total_0 / weights_0).max(mean)
    }

    /// The closed intervals with the weights from this one on, discounted.
    fn weighted(&self, from: usize) -> impl Iterator<Item = (&Interval, f64)> {
        let closed = self.intervals.iter().take(self.len).skip(1);
        let weights = WEIGHTS.iter().skip(from);
        closed
            .zip(weights)
            .map(|(interval, weight)| (interval, *weight as f64 / 10.0 * interval.discount))
    }

    /// The closed intervals with the weights that they have while I_0 counts.
    fn shifted(&self) -> impl Iterator<Item = (&Interval, f64)> {
        self.weighted(1)
    }

    fn sum_closed(&self) -> ClosedSums {
        let (mut total, mut weights) = (0.0, 0.0);
        for (interval, weight) in self.weighted(0) {
            total += interval.length * weight;
            weights += weight;
        }
        let mut sums = ClosedSums {
            mean: total / weights,
            terms: [0.0; KEPT],
            weights: 1.0,
        };
        for (term, (interval, weight)) in sums.terms.iter_mut().zip(self.shifted()) {
            *term = interval.length * weight;
            sums.weights += weight;
        }
        sums
    }

    /// I_mean of Linux for at least two intervals: both sums over the same total weight, truncated.
    fn integer_mean(&self) -> u64 {
        let closed = self.len.saturating_sub(1);
        let (mut with_open, mut without) = (0_u64, 0_u64);
        let mut weights = 0_u64;
        for (pair, weight) in self.intervals.windows(2).zip(WEIGHTS).take(closed) {
            let weighted = |interval: &Interval| (interval.length as u64).saturating_mul(weight);
            with_open = with_open.saturating_add(weighted(&pair[0]));
            without = without.saturating_add(weighted(&pair[1]));
            weights += weight;
        }
        let counted = if self.open_is_short {
            without
        } else {
            with_open.max(without)
        };
        counted / weights
    }
}

/// A length as an option carries it, rounded to whole packets.
pub fn data_length(packets: f64) -> u32 {
    (packets + 0.5) as u32
}

/// I_mean of the data lengths in a Loss Intervals option, newest first; `None` with fewer than two
/// intervals, which is before the first loss.
pub fn mean_interval(lengths: impl Iterator<Item = u32>) -> Option<f64> {
    let mut intervals = LossIntervals::new(&Profile {
        discounting: Discounting::Off,
        arithmetic: Arithmetic::Float,
        ..Profile::rfc5348()
    });
    for (slot, length) in intervals.intervals.iter_mut().zip(lengths) {
        *slot = Interval {
            length: f64::from(length.max(1)),
            discount: 1.0,
            ..Interval::default()
        };
        intervals.len += 1;
    }
    (intervals.len >= 2).then(|| intervals.float_mean())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intervals(arithmetic: Arithmetic, discounting: Discounting) -> LossIntervals {
        LossIntervals::new(&Profile {
            arithmetic,
            discounting,
            first_interval_alone: match arithmetic {
                Arithmetic::Float => FirstIntervalAlone::Never,
                Arithmetic::KernelIntegers => FirstIntervalAlone::UntilSecondLoss,
            },
            ..Profile::rfc5348()
        })
    }

    const NONE: ReportedInterval = ReportedInterval {
        lossless_length: 0,
        loss_length: 0,
        data_length: 0,
        drop_count: 0,
    };

    /// These closed intervals, oldest first, with an open interval of one packet.
    fn with_closed(
        arithmetic: Arithmetic,
        discounting: Discounting,
        closed: &[f64],
    ) -> LossIntervals {
        let mut it = intervals(arithmetic, discounting);
        let (first, rest) = closed.split_first().expect("at least one");
        it.on_first_loss(NONE, *first, 1.0);
        for length in rest {
            it.on_loss(NONE, *length, 1.0);
        }
        it
    }

    #[test]
    fn weights_are_those_of_the_rfc() {
        // RFC 5348 §5.4, INTERVALS and WEIGHTS: one of 100 among seven of 10 shows its weight; the
        // weights add up to 6.
        for (age, weight) in [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2].iter().enumerate() {
            let mut closed = [10.0; 8];
            closed[7 - age] = 100.0;
            let it = with_closed(Arithmetic::Float, Discounting::Off, &closed);
            let mean = (60.0 + 90.0 * weight) / 6.0;
            assert!(
                (it.mean() - mean).abs() < 1e-9,
                "I_{}: {}",
                age + 1,
                it.mean()
            );
        }
        // In integers, with I_8 = 70: floor((58·10 + 2·70) / 60). The first is replaced.
        let closed = [1.0, 70.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        let it = with_closed(Arithmetic::KernelIntegers, Discounting::Off, &closed);
        assert_eq!(it.mean(), 12.0);
    }

    #[test]
    fn the_open_interval_counts_only_if_it_increases_the_mean() {
        let mut it = with_closed(Arithmetic::Float, Discounting::Off, &[50.0; 8]);
        it.on_growth(49.0);
        assert!((it.mean() - 50.0).abs() < 1e-9);
        // The mean does not change at the length from which it would grow.
        assert!(!it.on_growth(50.0));
        assert!((it.mean() - 50.0).abs() < 1e-9);
        // (60 + 5·50) / 6, (70 + 5·50) / 6.
        it.on_growth(60.0);
        assert!((it.mean() - 310.0 / 6.0).abs() < 1e-9);
        it.on_growth(70.0);
        assert!((it.mean() - 320.0 / 6.0).abs() < 1e-9);
        it.on_growth(110.0);
        assert!((it.mean() - 60.0).abs() < 1e-9);
        assert!((it.loss_event_rate() - 1.0 / 60.0).abs() < 1e-12);
    }

    #[test]
    fn linux_truncates_and_keeps_the_synthetic_interval_until_the_second_loss() {
        let mut it = intervals(Arithmetic::KernelIntegers, Discounting::Off);
        it.on_first_loss(NONE, 50.0, 1.0);
        assert_eq!(it.mean(), 50.0);
        assert!(!it.on_growth(500.0));
        assert_eq!(it.mean(), 50.0);
        it.on_loss(NONE, 7.0, 1.0);
        assert_eq!(it.mean(), 7.0, "the true length has replaced it");
        it.on_loss(NONE, 8.0, 1.0);
        assert_eq!(it.mean(), 7.0, "floor((10·8 + 10·7) / 20)");
        it.on_growth(12.0);
        assert_eq!(it.mean(), 10.0, "floor((10·12 + 10·8) / 20)");
    }

    #[test]
    fn integers_may_count_the_open_interval_from_the_first_loss_on() {
        let mut it = LossIntervals::new(&Profile {
            first_interval_alone: FirstIntervalAlone::Never,
            ..Profile::linux_2008()
        });
        it.on_first_loss(NONE, 1.0, 1.0);
        assert_eq!(it.loss_event_rate(), 1.0);
        it.on_growth(40.0);
        assert_eq!(it.mean(), 40.0, "max(10·40, 10·1) / 10");
    }

    #[test]
    fn discounting_reduces_old_weights_down_to_the_threshold() {
        let by_default = Profile::rfc5348().discounting;
        let mut it = with_closed(Arithmetic::Float, by_default, &[10.0; 8]);
        // RFC 5348 §5.5, DISCOUNTED_FROM and DISCOUNT_THRESHOLD: DF = max(2·I_mean/I_0, 0.25) where
        // I_0 is more than twice I_mean = 10.
        it.on_growth(15.0);
        assert!((it.discount - 1.0).abs() < 1e-12);
        it.on_growth(20.0);
        assert!((it.discount - 1.0).abs() < 1e-12);
        it.on_growth(25.0);
        assert!((it.discount - 0.8).abs() < 1e-12);
        it.on_growth(40.0);
        // DF = 20/40: (40 + 10·5·0.5) / (1 + 5·0.5).
        assert!((it.mean() - 65.0 / 3.5).abs() < 1e-9, "{}", it.mean());
        it.on_growth(80.0);
        assert!((it.discount - 0.25).abs() < 1e-12);
        it.on_growth(1000.0);
        assert!((it.discount - 0.25).abs() < 1e-12);
        it.on_loss(NONE, 1000.0, 1.0);
        assert!((it.intervals[2].discount - 0.25).abs() < 1e-12);
        assert!((it.intervals[1].discount - 1.0).abs() < 1e-12);
        // The older intervals keep DF_i = 0.25: (1000 + 0.25·5·10) / (1 + 0.25·5), and with I_0
        // (500 + 1000 + 0.25·4·10) / (2 + 0.25·4).
        assert!((it.mean() - 450.0).abs() < 1e-9, "{}", it.mean());
        it.on_growth(500.0);
        assert!((it.mean() - 1510.0 / 3.0).abs() < 1e-9, "{}", it.mean());
    }

    #[test]
    fn an_open_interval_counts_from_the_very_length_that_enlarges_the_mean() {
        // I_8 is 1 000 001, the others a million: from 0.2·(5·10^6 + 1) = 1 000 000.2 on.
        let mut closed = [1e6; 8];
        closed[0] += 1.0;
        let mut it = with_closed(Arithmetic::Float, Discounting::Off, &closed);
        it.on_growth(1_000_001.0);
        assert!((it.mean() - 6_000_001.0 / 6.0).abs() < 1e-6);
        // After intervals of 100 and an open one of 500, whose discount was 0.4, eight of 10.
        let by_default = Profile::rfc5348().discounting;
        let mut it = with_closed(Arithmetic::Float, by_default, &[100.0; 8]);
        it.on_growth(500.0);
        for _ in 0..8 {
            it.on_loss(NONE, 10.0, 1.0);
        }
        it.on_growth(20.0);
        assert!((it.mean() - 70.0 / 6.0).abs() < 1e-9, "{}", it.mean());
        // I_mean = (5.8 + 0.2·13) / 6 = 1.4: three packets are discounted, but do not count.
        let mut closed = [1.0; 8];
        closed[0] = 13.0;
        let mut it = with_closed(Arithmetic::Float, by_default, &closed);
        it.on_growth(3.0);
        assert!((it.discount - 2.8 / 3.0).abs() < 1e-12);
        assert!((it.mean() - 1.4).abs() < 1e-12);
    }

    #[test]
    fn no_interval_is_shorter_than_a_packet() {
        for arithmetic in [Arithmetic::Float, Arithmetic::KernelIntegers] {
            let mut it = intervals(arithmetic, Discounting::Off);
            it.on_first_loss(NONE, 0.5, 0.0);
            assert_eq!(it.mean(), 1.0);
            it.on_loss(NONE, 0.0, 0.0);
            assert_eq!((it.mean(), it.loss_event_rate()), (1.0, 1.0));
        }
        let mut it = with_closed(Arithmetic::Float, Discounting::Off, &[10.0]);
        it.on_growth(12.0);
        assert_eq!(it.mean(), 11.0);
    }

    #[test]
    fn a_short_open_interval_does_not_count() {
        // RFC 4828 §3. The mean becomes smaller only when the open interval turns short.
        for arithmetic in [Arithmetic::Float, Arithmetic::KernelIntegers] {
            let mut it = with_closed(arithmetic, Discounting::Off, &[50.0; 8]);
            assert!(!it.on_growth(110.0));
            assert_eq!(it.mean(), 60.0);
            it.set_open_is_short(true);
            assert!(!it.on_growth(110.0), "it has not grown");
            assert_eq!(it.mean(), 60.0);
            assert!(it.on_growth(111.0));
            assert_eq!(it.mean(), 50.0);
        }
    }

    #[test]
    fn a_sender_can_compute_the_mean_from_reported_lengths() {
        assert_eq!(mean_interval([0].into_iter()), None);
        let mean = mean_interval([1, 50, 50, 50].into_iter());
        assert!((mean.unwrap_or(0.0) - 50.0).abs() < 1e-9);
        assert_eq!(mean_interval([1, 50].into_iter()), Some(50.0));
        assert_eq!(mean_interval([0, 0, 1].into_iter()), Some(1.0));
        // I_0 counts with the others' weights: (110 + 5·50) / 6.
        let mean = mean_interval([110, 50, 50, 50, 50, 50, 50, 50, 50].into_iter());
        assert!((mean.unwrap_or(0.0) - 60.0).abs() < 1e-9);
        let lengths = std::iter::repeat_n(u32::MAX, 40);
        assert!(mean_interval(lengths).is_some_and(f64::is_finite));
    }

    #[test]
    fn the_loss_event_rate_stays_between_zero_and_one() {
        for arithmetic in [Arithmetic::Float, Arithmetic::KernelIntegers] {
            let mut it = intervals(arithmetic, Discounting::Threshold(0.25));
            assert_eq!(it.loss_event_rate(), 0.0);
            it.on_first_loss(NONE, 0.0, 0.0);
            for length in [0.0, 1.0, 16_777_216.0, 1e15] {
                it.on_loss(NONE, length, 0.0);
                let p = it.loss_event_rate();
                assert!(p > 0.0 && p <= 1.0, "{p}");
            }
        }
    }

    #[test]
    fn a_length_is_reported_to_the_nearest_packet() {
        assert_eq!([2.48, 2.5, -1.0].map(data_length), [2, 3, 0]);
    }
}
