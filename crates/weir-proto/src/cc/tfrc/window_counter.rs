//! The window counter (RFC 4342 §8.1, RFC 5348 §3.2.1): a coarse clock of quarter round-trip
//! times that each data packet carries in four bits.
//!
//!   q = floor((now - last_time) / (R/4));   if q > 0: counter += min(q, 5) mod 16, last_time = now
//!
//! With R < 4 µs Linux's R/4 truncates to zero. Up to 2.6.25 the counter then did not advance, the
//! receiver sent no feedback, and the nofeedback timer halved the rate repeatedly.

use super::profile::{Arithmetic, CounterGuard, CounterOnAck, Profile};
use crate::time::{Duration, Instant};

/// The steps of a round-trip time (RFC 4342 §8.1).
const STEPS: u8 = 4;
/// The greatest step between two packets, so that the receiver can detect a wrap (RFC 4342 §8.1).
const MAX_STEP: u64 = 5;

/// The sender's window counter.
#[derive(Clone, Debug)]
pub struct WindowCounter {
    value: u8,
    last_change: Instant,
    /// The least value of the next packet.
    floor: Option<u8>,
}

impl WindowCounter {
    /// A counter of zero, at the time of the first packet.
    pub const fn new(now: Instant) -> Self {
        Self {
            value: 0,
            last_change: now,
            floor: None,
        }
    }

    /// When the value last changed.
    pub const fn last_change(&self) -> Instant {
        self.last_change
    }

    /// A data packet leaves; returns the value that it carries.
    pub fn advance(&mut self, now: Instant, rtt: Duration, profile: &Profile) -> u8 {
        let quarters = quarters(now.since(self.last_change), rtt, profile);
        let asked = self.floor.take().map_or(0, |floor| {
            // The value is past the floor already if the distance is more than four.
            let distance = floor.wrapping_sub(self.value) & 15;
            if distance <= STEPS { distance } else { 0 }
        });
        let step = quarters.max(u64::from(asked)).min(MAX_STEP);
        if step > 0 {
            self.value = (self.value + step as u8) & 15;
            self.last_change = now;
        }
        self.value
    }

    /// A packet that carried `acked` was acknowledged.
    pub fn on_ack(&mut self, acked: u8, profile: &Profile) {
        if profile.counter_on_ack == CounterOnAck::AtLeastFourMore {
            // RFC 4342 §8.1: a round-trip time has passed since that packet.
            self.floor = Some((acked + STEPS) & 15);
        }
    }
}

fn quarters(passed: Duration, rtt: Duration, profile: &Profile) -> u64 {
    match profile.arithmetic {
        Arithmetic::Float => {
            if profile.counter_guard == CounterGuard::FreezeBelow4Micros
                && rtt < Duration::from_micros(4)
            {
                return 0;
            }
            // The product saturates at 146 years, far beyond the greatest step.
            passed.as_nanos().saturating_mul(u64::from(STEPS)) / rtt.as_nanos().max(1)
        }
        Arithmetic::KernelIntegers => {
            let (micros, passed) = (rtt.as_micros(), passed.as_micros());
            if profile.counter_guard == CounterGuard::FreezeBelow4Micros {
                passed.checked_div(micros / 4).unwrap_or(0)
            } else {
                // Linux 2.6.26: a product of 32 bits, which wraps after 18 minutes of silence.
                u64::from((passed as u32).wrapping_mul(4)) / micros.max(1)
            }
        }
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
    fn counts_quarters_of_a_round_trip_and_at_most_five_at_once() {
        // RFC 4342 §8.1, STEPS and MAX_STEP: floor of quarters of 25 ms, at most five.
        let profile = Profile::rfc5348();
        let mut counter = WindowCounter::new(at(0));
        let values: Vec<u8> = [10, 24, 25, 49, 50, 101, 1000, 1001]
            .iter()
            .map(|ms| counter.advance(at(*ms), RTT, &profile))
            .collect();
        assert_eq!(values, [0, 0, 1, 1, 2, 4, 9, 9]);
    }

    #[test]
    fn does_not_advance_below_four_microseconds_only_in_linux_2008() {
        let rtt = Duration::from_micros(3);
        let advance = |profile: Profile| {
            let mut counter = WindowCounter::new(at(0));
            counter.advance(at(100), rtt, &profile)
        };
        assert_eq!(advance(Profile::linux_2008()), 0);
        assert_eq!(advance(Profile::linux_mainline()), 5);
        assert_eq!(advance(Profile::rfc5348()), 5);
    }

    #[test]
    fn an_acknowledgement_moves_it_four_ahead() {
        let profile = Profile::rfc5348();
        let mut counter = WindowCounter::new(at(0));
        counter.on_ack(0, &profile);
        assert_eq!(counter.advance(at(1), RTT, &profile), 4);
        // RFC 4342 §8.1: "at least (WC + 4) mod 16", five ahead at most.
        counter.on_ack(3, &profile);
        assert_eq!(counter.advance(at(1), RTT, &profile), 7);
        counter.on_ack(4, &profile);
        assert_eq!(counter.advance(at(1), RTT, &profile), 8);
        counter.on_ack(2, &profile);
        assert_eq!(counter.advance(at(1), RTT, &profile), 8, "8 is past 6");
        let mut counter = WindowCounter::new(at(0));
        counter.on_ack(0, &profile);
        assert_eq!(counter.advance(at(1), RTT, &profile), 4);
        counter.on_ack(15, &profile);
        assert_eq!(
            counter.advance(at(2), RTT, &profile),
            4,
            "already past the floor"
        );
        let linux = Profile::linux_mainline();
        let mut counter = WindowCounter::new(at(0));
        counter.on_ack(0, &linux);
        assert_eq!(counter.advance(at(1), RTT, &linux), 0);
    }

    #[test]
    fn each_arithmetic_counts_whole_quarters() {
        let quarter = |profile: &Profile, passed: Duration, rtt: Duration| {
            WindowCounter::new(at(0)).advance(at(0) + passed, rtt, profile)
        };
        let (nanos, micros) = (Duration::from_nanos, Duration::from_micros);
        let (rfc, linux) = (Profile::rfc5348(), Profile::linux_mainline());
        let frozen = Profile {
            counter_guard: CounterGuard::FreezeBelow4Micros,
            ..Profile::rfc5348()
        };
        for (profile, passed, rtt, steps) in [
            // A quarter of 100 ms.
            (&rfc, micros(24_999), RTT, 0),
            (&rfc, micros(25_000), RTT, 1),
            (&linux, micros(24_999), RTT, 0),
            (&linux, micros(25_000), RTT, 1),
            // R counts as a nanosecond, and for Linux as a microsecond, at least.
            (&rfc, nanos(1), nanos(1), 4),
            (&rfc, nanos(1), Duration::ZERO, 4),
            (&linux, micros(1), micros(1), 4),
            (&linux, micros(1), nanos(1), 4),
            // The guard of 2008, below 4 µs only.
            (&frozen, micros(100), nanos(3999), 0),
            (&frozen, micros(1), micros(4), 1),
            (&frozen, micros(2), micros(5), 1),
        ] {
            assert_eq!(quarter(profile, passed, rtt), steps, "{passed} {rtt}");
        }
    }
}
