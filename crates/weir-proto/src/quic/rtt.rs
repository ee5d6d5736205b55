//! The round-trip time (RFC 9002 §5): rttvar = 3/4 rttvar + 1/4 |smoothed - sample|,
//! smoothed = 7/8 smoothed + 1/8 sample, with the peer's delay taken off where that leaves no
//! less than the minimum.

use crate::cc::Rtt;
use crate::time::{Duration, Instant};

/// kGranularity (RFC 9002 §6.1.2).
pub const GRANULARITY: Duration = Duration::from_millis(1);
/// kInitialRtt (RFC 9002 §6.2.2).
pub const INITIAL: Duration = Duration::from_millis(333);

/// What is known of the round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttEstimator {
    rtt: Rtt,
    first_sample_at: Option<Instant>,
}

impl RttEstimator {
    /// Takes a sample, `latest`, with the delay that the peer reports.
    pub fn update(&mut self, now: Instant, latest: Duration, ack_delay: Duration) {
        self.rtt.latest = latest;
        if self.first_sample_at.is_none() {
            self.first_sample_at = Some(now);
            self.rtt.min = latest;
            self.rtt.smoothed = latest;
            self.rtt.variation = latest / 2;
            return;
        }
        self.rtt.min = self.rtt.min.min(latest);
        // RFC 9002 §5.3: the delay is taken off only if the result is plausible.
        let adjusted = if latest >= self.rtt.min + ack_delay {
            latest - ack_delay
        } else {
            latest
        };
        let smoothed = self.rtt.smoothed;
        let deviation = smoothed.max(adjusted) - smoothed.min(adjusted);
        self.rtt.variation = (self.rtt.variation * 3 + deviation) / 4;
        self.rtt.smoothed = (smoothed * 7 + adjusted) / 8;
    }

    /// The values for controllers and traces; zero before the first sample.
    #[inline]
    pub const fn get(&self) -> Rtt {
        self.rtt
    }

    /// When the first sample was taken.
    pub const fn first_sample_at(&self) -> Option<Instant> {
        self.first_sample_at
    }

    /// smoothed + max(4 rttvar, kGranularity): the probe timeout without the peer's delay.
    #[inline]
    pub fn pto_base(&self) -> Duration {
        if self.first_sample_at.is_none() {
            // RFC 9002 §6.2.2: kInitialRtt and half of it as its variation.
            return INITIAL + INITIAL / 2 * 4;
        }
        self.rtt.smoothed + (self.rtt.variation * 4).max(GRANULARITY)
    }

    /// The time threshold of loss detection (RFC 9002 §6.1.2): 9/8 of the round-trip time.
    #[inline]
    pub fn loss_delay(&self) -> Duration {
        let rtt = if self.first_sample_at.is_some() {
            self.rtt.latest.max(self.rtt.smoothed)
        } else {
            INITIAL
        };
        (rtt + rtt / 8).max(GRANULARITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_filter_of_rfc_9002() {
        let ms = Duration::from_millis;
        let mut rtt = RttEstimator::default();
        assert_eq!(rtt.pto_base(), ms(999));
        rtt.update(Instant::ZERO, ms(100), ms(25));
        assert_eq!(rtt.get().smoothed, ms(100));
        assert_eq!(rtt.get().variation, ms(50));
        assert_eq!(rtt.pto_base(), ms(300));
        // 140 less 20 of delay is 120: variation (150 + 20) / 4, smoothed (700 + 120) / 8.
        rtt.update(Instant::ZERO, ms(140), ms(20));
        assert_eq!(rtt.get().variation, Duration::from_micros(42_500));
        assert_eq!(rtt.get().smoothed, Duration::from_micros(102_500));
        assert_eq!(rtt.loss_delay(), Duration::from_micros(157_500));
        // Taking 60 off 110 would fall below the minimum of 100: the sample counts as it is.
        rtt.update(Instant::ZERO, ms(110), ms(60));
        assert_eq!(rtt.get().min, ms(100));
        assert_eq!(rtt.get().smoothed, Duration::from_nanos(103_437_500));
    }
}
