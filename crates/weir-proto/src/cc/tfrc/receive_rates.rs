//! X_recv_set (RFC 5348 §4.3, §8.2.2) and data-limited intervals (§8.2.1): a receive rate that was
//! measured while the application sent little must not limit the sender later.

use crate::time::{Duration, Instant};

/// Values kept: three are enough (RFC 5348 §8.2.2).
const CAPACITY: usize = 3;
/// Round trips for which a value counts (RFC 5348 §4.3).
const RECENT_ROUND_TRIPS: u64 = 2;

/// Recent receive rates with the times of their feedback, oldest first.
#[derive(Clone, Debug)]
pub struct ReceiveRateSet {
    values: [(f64, Instant); CAPACITY],
    len: usize,
}

impl ReceiveRateSet {
    /// The initial set: the single value infinity (RFC 5348 §4.3).
    pub const fn new(now: Instant) -> Self {
        Self {
            values: [(f64::INFINITY, now); CAPACITY],
            len: 1,
        }
    }

    /// The greatest value.
    pub fn max(&self) -> f64 {
        self.entries()
            .iter()
            .fold(0.0, |max, (rate, _)| rate.max(max))
    }

    /// Adds a value and removes those older than two round-trip times.
    pub fn update(&mut self, rate: f64, now: Instant, rtt: Duration) {
        let oldest = now - rtt * RECENT_ROUND_TRIPS;
        let mut kept = [(rate, now); CAPACITY];
        let mut len = 0;
        // A full set drops its oldest value.
        let skip = self.len.saturating_sub(CAPACITY - 1);
        for entry in self.entries().iter().skip(skip) {
            if entry.1 >= oldest {
                kept[len] = *entry;
                len += 1;
            }
        }
        kept[len] = (rate, now);
        (self.values, self.len) = (kept, len + 1);
    }

    /// Replaces the set by the greatest of its values and `rate`; the initial infinity does not
    /// count.
    pub fn maximize(&mut self, rate: f64, now: Instant) {
        let max = self
            .entries()
            .iter()
            .map(|(rate, _)| *rate)
            .filter(|rate| rate.is_finite())
            .fold(rate, f64::max);
        self.replace(max, now);
    }

    /// Halves every value.
    pub fn halve(&mut self) {
        for (rate, _) in &mut self.values {
            *rate /= 2.0;
        }
    }

    /// Replaces the set by this value.
    pub fn replace(&mut self, rate: f64, now: Instant) {
        (self.values[0], self.len) = ((rate, now), 1);
    }

    fn entries(&self) -> &[(f64, Instant)] {
        self.values.get(..self.len).unwrap_or(&[])
    }
}

/// The two times of RFC 5348 §8.2.1 at which the sender was not data-limited.
#[derive(Clone, Copy, Debug)]
pub struct DataLimited {
    not_limited: [Instant; 2],
    t_new: Instant,
    t_next: Instant,
}

impl DataLimited {
    /// At the start of sending.
    pub const fn new() -> Self {
        Self {
            not_limited: [Instant::ZERO; 2],
            t_new: Instant::ZERO,
            t_next: Instant::ZERO,
        }
    }

    /// The sender used all of its allowed rate at this time.
    pub fn on_not_limited(&mut self, now: Instant) {
        if self.not_limited[0] <= self.t_new {
            self.not_limited[0] = now;
        } else if self.not_limited[1] <= self.t_next {
            self.not_limited[1] = now;
        }
    }

    /// True if the sender was data-limited in the whole round-trip time before `sent_at`, the time
    /// of sending of the packet that feedback acknowledges.
    pub fn covers(&mut self, now: Instant, sent_at: Instant, rtt: Duration) -> bool {
        self.t_new = sent_at;
        self.t_next = now;
        let t_old = sent_at - rtt;
        let inside = |time: Instant| t_old < time && time <= sent_at;
        let limited = !self.not_limited.into_iter().any(inside);
        if self.not_limited[0] <= sent_at && self.not_limited[1] > sent_at {
            self.not_limited[0] = self.not_limited[1];
        }
        limited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn infinity_is_removed_after_two_round_trips() {
        let mut set = ReceiveRateSet::new(at(0));
        set.update(10.0, at(100), RTT);
        assert_eq!(set.max(), f64::INFINITY);
        set.update(20.0, at(201), RTT);
        assert_eq!(set.max(), 20.0);
        set.update(5.0, at(300), RTT);
        assert_eq!(set.max(), 20.0);
        set.update(5.0, at(402), RTT);
        assert_eq!(set.max(), 5.0);
    }

    #[test]
    fn a_value_counts_for_two_round_trips() {
        // RFC 5348 §4.3, RECENT_ROUND_TRIPS: "values older than two round-trip times" are deleted.
        for (millis, max) in [(300, 9.0), (301, 1.0)] {
            let mut set = ReceiveRateSet::new(at(0));
            set.replace(9.0, at(100));
            set.update(1.0, at(millis), RTT);
            assert_eq!(set.max(), max);
        }
    }

    #[test]
    fn maximizing_keeps_the_greatest_finite_value() {
        let mut set = ReceiveRateSet::new(at(0));
        set.maximize(7.0, at(10));
        assert_eq!(set.max(), 7.0);
        set.maximize(3.0, at(20));
        assert_eq!(set.max(), 7.0);
        set.halve();
        assert_eq!(set.max(), 3.5);
        set.replace(0.25, at(30));
        assert_eq!(set.max(), 0.25);
    }

    #[test]
    fn keeps_at_most_three_values() {
        // RFC 5348 §8.2.2, CAPACITY: N = 3.
        let mut set = ReceiveRateSet::new(at(0));
        for (ms, rate) in [(1, 9.0), (2, 1.0), (3, 2.0), (4, 3.0)] {
            set.update(rate, at(ms), RTT);
        }
        assert_eq!(set.max(), 3.0);
        let mut set = ReceiveRateSet::new(at(0));
        for (ms, rate) in [(1, 8.0), (2, 9.0), (3, 2.0), (4, 3.0)] {
            set.update(rate, at(ms), RTT);
        }
        assert_eq!(set.max(), 9.0, "the third newest");
    }

    #[test]
    fn an_interval_reaches_from_after_t_old_to_t_new() {
        // RFC 5348 §8.2.1: t_old < NotLimited <= t_new, here 100 and 200 ms.
        for (millis, limited) in [
            (99, true),
            (100, true),
            (101, false),
            (200, false),
            (201, true),
        ] {
            let mut data_limited = DataLimited::new();
            data_limited.on_not_limited(at(millis));
            assert_eq!(
                data_limited.covers(at(300), at(200), RTT),
                limited,
                "{millis}"
            );
        }
    }

    #[test]
    fn the_second_time_is_the_first_of_the_next_interval() {
        // RFC 5348 §8.2.1: NotLimited1 = 150 is in (t_new, t_next]; NotLimited2 is the first after
        // t_next = 200, and becomes NotLimited1 when the feedback about 160 arrives.
        let mut data_limited = DataLimited::new();
        data_limited.on_not_limited(at(50));
        assert!(!data_limited.covers(at(200), at(100), RTT));
        data_limited.on_not_limited(at(150));
        data_limited.on_not_limited(at(210));
        data_limited.on_not_limited(at(220));
        assert!(!data_limited.covers(at(300), at(160), RTT));
        assert_eq!(data_limited.not_limited, [at(210), at(210)]);
        assert!(!data_limited.covers(at(400), at(300), RTT));
        assert!(data_limited.covers(at(500), at(400), RTT));
    }

    #[test]
    fn an_interval_with_one_full_moment_is_not_data_limited() {
        let mut data_limited = DataLimited::new();
        data_limited.on_not_limited(at(50));
        assert!(!data_limited.covers(at(200), at(100), RTT));
        assert!(data_limited.covers(at(400), at(300), RTT));
        data_limited.on_not_limited(at(420));
        assert!(!data_limited.covers(at(600), at(500), RTT));
    }

    #[test]
    fn times_move_as_the_rules_of_the_rfc_say() {
        // RFC 5348 §8.2.1, at a feedback about t_new = 100: if NotLimited1 <= t_new and NotLimited2
        // > t_new, NotLimited1 = NotLimited2.
        for (times, first) in [
            ([100, 150], 150),
            ([90, 150], 150),
            ([90, 100], 90),
            ([90, 0], 90),
            ([110, 150], 110),
        ] {
            let mut data_limited = DataLimited::new();
            data_limited.not_limited = times.map(at);
            data_limited.covers(at(200), at(100), RTT);
            assert_eq!(data_limited.not_limited[0], at(first), "{times:?}");
        }
        // At t_now = 300: if NotLimited1 <= t_new it is t_now, else if NotLimited2 <= t_next it is.
        for (times, expected) in [
            ([100, 0], [300, 0]),
            ([101, 200], [101, 300]),
            ([101, 201], [101, 201]),
        ] {
            let mut data_limited = DataLimited {
                not_limited: times.map(at),
                t_new: at(100),
                t_next: at(200),
            };
            data_limited.on_not_limited(at(300));
            assert_eq!(data_limited.not_limited, expected.map(at), "{times:?}");
        }
    }
}
