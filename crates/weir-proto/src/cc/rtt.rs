//! The round-trip time and the timeout that follows from it (RFC 6298 §2, RFC 9002 §5):
//!
//!   RTTVAR = 3/4·RTTVAR + 1/4·|SRTT - R|,   SRTT = 7/8·SRTT + 1/8·R
//!   RTO    = max(SRTT + max(G, 4·RTTVAR), minimum)·2^backoff, at most the maximum
//!
//! TCP, CCID 2 and QUIC share the filter; their timeouts differ in the constants of
//! [`TimeoutRules`]. QUIC takes the peer's acknowledgement delay off a sample (RFC 9002 §5.3).

use crate::time::{Duration, Instant};

/// The number of doublings after which a timeout no longer grows.
const MAX_BACKOFF: u32 = 16;

/// The round-trip time as a transport measured it; all zero before the first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtt {
    /// The last sample.
    pub latest: Duration,
    /// SRTT: the smoothed round-trip time.
    pub smoothed: Duration,
    /// RTTVAR: its variation.
    pub variation: Duration,
    /// The smallest sample.
    pub min: Duration,
}

/// The constants of a transport's timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeoutRules {
    /// The timeout before the first sample.
    pub initial: Duration,
    /// G: the least value of 4·RTTVAR.
    pub granularity: Duration,
    /// The least timeout.
    pub minimum: Duration,
    /// The greatest timeout, after backoff.
    pub maximum: Duration,
}

/// The filter of RFC 6298 §2 and RFC 9002 §5.3.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttEstimator {
    rtt: Rtt,
    first_sample_at: Option<Instant>,
}

impl RttEstimator {
    /// Takes a sample without a delay of the peer (RFC 6298 §2). A smoothed time of zero, which no
    /// clock could measure, counts as no sample.
    pub fn on_sample(&mut self, now: Instant, sample: Duration) {
        self.on_delayed_sample(now, sample, Duration::ZERO);
        if self.rtt.smoothed.is_zero() {
            self.first_sample_at = None;
        }
    }

    /// Takes a sample that includes `ack_delay`, the delay that the peer reports. Returns
    /// `adjusted_rtt` of RFC 9002 §5.3: the sample without the delay, if that is no less than the
    /// minimum.
    pub fn on_delayed_sample(
        &mut self,
        now: Instant,
        sample: Duration,
        ack_delay: Duration,
    ) -> Duration {
        let rtt = &mut self.rtt;
        rtt.latest = sample;
        if self.first_sample_at.is_none() {
            self.first_sample_at = Some(now);
            rtt.min = sample;
            rtt.smoothed = sample;
            rtt.variation = sample / 2;
            return sample;
        }
        rtt.min = rtt.min.min(sample);
        let adjusted = if sample >= rtt.min + ack_delay {
            sample - ack_delay
        } else {
            sample
        };
        let deviation = rtt.smoothed.max(adjusted) - rtt.smoothed.min(adjusted);
        rtt.variation = (rtt.variation * 3 + deviation) / 4;
        rtt.smoothed = (rtt.smoothed * 7 + adjusted) / 8;
        adjusted
    }

    /// The values for controllers and traces; zero before the first sample.
    #[inline]
    pub const fn get(&self) -> Rtt {
        self.rtt
    }

    /// SRTT; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Duration> {
        self.first_sample_at.map(|_| self.rtt.smoothed)
    }

    /// When the first sample was taken.
    pub const fn first_sample_at(&self) -> Option<Instant> {
        self.first_sample_at
    }

    /// The timeout after `backoff` expiries in a row.
    #[inline]
    pub fn timeout(&self, rules: &TimeoutRules, backoff: u32) -> Duration {
        let base = match self.first_sample_at {
            None => rules.initial,
            Some(_) => self.rtt.smoothed + (self.rtt.variation * 4).max(rules.granularity),
        };
        let doubled = base.max(rules.minimum) * (1_u64 << backoff.min(MAX_BACKOFF));
        doubled.min(rules.maximum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: TimeoutRules = TimeoutRules {
        initial: Duration::from_secs(1),
        granularity: Duration::from_millis(1),
        minimum: Duration::from_millis(200),
        maximum: Duration::from_secs(60),
    };

    #[test]
    fn follows_the_filter_and_the_timeout_of_rfc_6298() {
        let ms = Duration::from_millis;
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.timeout(&RULES, 0), ms(1000), "§2.1");
        rtt.on_sample(Instant::ZERO, ms(100));
        assert_eq!(rtt.timeout(&RULES, 0), ms(300), "§2.2: 100 + 4 * 50");
        rtt.on_sample(Instant::ZERO, ms(140));
        // RTTVAR = 3/4 * 50 + 1/4 * 40 = 47.5; SRTT = 7/8 * 100 + 1/8 * 140 = 105.
        assert_eq!(rtt.timeout(&RULES, 0), ms(295), "§2.3");
        assert_eq!(rtt.timeout(&RULES, 1), ms(590), "§5.5: doubled");
        assert_eq!(rtt.timeout(&RULES, 20), ms(60_000), "§2.5: bounded");
    }

    #[test]
    fn the_minimum_and_the_granularity_bound_the_timeout_from_below() {
        let mut rtt = RttEstimator::default();
        for _ in 0..100 {
            rtt.on_sample(Instant::ZERO, Duration::from_millis(10));
        }
        assert_eq!(rtt.timeout(&RULES, 0), RULES.minimum);
        let rules = TimeoutRules {
            minimum: Duration::ZERO,
            ..RULES
        };
        assert_eq!(rtt.timeout(&rules, 0), Duration::from_millis(11));
    }

    #[test]
    fn follows_the_filter_of_rfc_9002() {
        let ms = Duration::from_millis;
        let mut rtt = RttEstimator::default();
        let first = rtt.on_delayed_sample(Instant::ZERO, ms(100), ms(25));
        assert_eq!(first, ms(100));
        assert_eq!(rtt.get().smoothed, ms(100));
        assert_eq!(rtt.get().variation, ms(50));
        // 140 less 20 of delay is 120: variation (150 + 20) / 4, smoothed (700 + 120) / 8.
        let adjusted = rtt.on_delayed_sample(Instant::ZERO, ms(140), ms(20));
        assert_eq!(adjusted, ms(120));
        assert_eq!(rtt.get().variation, Duration::from_micros(42_500));
        assert_eq!(rtt.get().smoothed, Duration::from_micros(102_500));
        // 110 less 60 is below the minimum of 100: the sample counts unadjusted.
        let adjusted = rtt.on_delayed_sample(Instant::ZERO, ms(110), ms(60));
        assert_eq!(adjusted, ms(110));
        assert_eq!(rtt.get().min, ms(100));
        assert_eq!(rtt.get().smoothed, Duration::from_nanos(103_437_500));
    }
}
