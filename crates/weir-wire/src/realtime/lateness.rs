//! Statistics of lateness: the difference between the time at which an event was due and the time
//! at which it was processed.

use weir_proto::time::Duration;

/// Buckets of the histogram. The first ends at a microsecond, each further one at twice the time of
/// the one before.
const BUCKETS: usize = 32;

/// The lateness of the events of a network in real time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    counts: [u64; BUCKETS],
    events: u64,
    max: Duration,
}

impl Lateness {
    pub(crate) fn record(&mut self, late: Duration) {
        let micros = late.as_nanos() / 1000;
        let bucket = (u64::BITS - micros.leading_zeros()) as usize;
        if let Some(count) = self.counts.get_mut(bucket.min(BUCKETS - 1)) {
            *count += 1;
        }
        self.events += 1;
        self.max = self.max.max(late);
    }

    /// The number of events.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// The largest lateness.
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// The 99th percentile, rounded up to a power of two in microseconds.
    pub fn p99(&self) -> Duration {
        let mut left = self.events / 100;
        for (bucket, count) in self.counts.iter().enumerate().rev() {
            if *count > left {
                return Duration::from_micros(1 << bucket).min(self.max);
            }
            left -= count;
        }
        Duration::ZERO
    }

    /// True if the results are meaningful: with a 99th percentile above a millisecond the machine
    /// was too busy.
    pub fn is_trustworthy(&self) -> bool {
        self.p99() <= Duration::from_micros(1 << 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_late_event_in_a_thousand_does_not_spoil_a_run_and_one_in_fifty_does() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.p99(), Duration::ZERO);
        for _ in 0..999 {
            lateness.record(Duration::from_micros(10));
        }
        lateness.record(Duration::from_millis(20));
        assert_eq!(lateness.p99(), Duration::from_micros(16));
        assert_eq!(lateness.max(), Duration::from_millis(20));
        assert!(lateness.is_trustworthy());
        for _ in 0..20 {
            lateness.record(Duration::from_millis(2));
        }
        assert!(!lateness.is_trustworthy());
        assert_eq!(lateness.events(), 1020);
    }
}
