//! The time in which a direction of a link sends the packets in its queue, at rates that may change
//! or with a trace of delivery opportunities.
//!
//! Does not model: bursts of a token bucket. While packets wait, the bucket has no tokens left.

use crate::scenario::Direction;
use weir_net::OCTETS_PER_OPPORTUNITY;

/// The service of a queue.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Service<'a> {
    /// Times and the rates in bit/s from then on; infinite where there is no limit.
    Rates(Vec<(f64, f64)>),
    /// Times of opportunities in milliseconds; they repeat after the last.
    Opportunities(&'a [u64]),
}

impl<'a> Service<'a> {
    /// The service of a direction; `None` if it is never limited.
    pub(super) fn of(direction: &'a Direction) -> Option<Self> {
        if direction.rate_trace.mean_rate().is_some() {
            return Some(Self::Opportunities(&direction.rate_trace.millis));
        }
        let rates = direction.service_rates();
        let limited = rates.iter().any(|rate| rate.1.is_finite());
        limited.then_some(Self::Rates(rates))
    }

    /// The seconds from a time until this many octets are sent.
    pub(super) fn time_for(&self, octets: f64, from_s: f64) -> f64 {
        match self {
            Self::Rates(rates) => at_rates(rates, octets * 8.0, from_s),
            Self::Opportunities(millis) => {
                let needed = libm::ceil(octets / f64::from(OCTETS_PER_OPPORTUNITY));
                nth_opportunity(millis, needed as u64, from_s * 1e3) / 1e3
            }
        }
    }
}

/// The seconds from a time until this many bits are sent.
fn at_rates(rates: &[(f64, f64)], mut bits: f64, from_s: f64) -> f64 {
    let first = rates.partition_point(|rate| rate.0 <= from_s);
    for (place, &(begin_s, rate)) in rates.iter().enumerate().skip(first.saturating_sub(1)) {
        let at = begin_s.max(from_s);
        let lasts = rates
            .get(place + 1)
            .map_or(f64::INFINITY, |next| next.0 - at);
        if bits <= rate * lasts {
            return at - from_s + bits / rate;
        }
        bits -= rate * lasts;
    }
    f64::NAN
}

/// The milliseconds from a time until the opportunity with this number after it; 0 for the number
/// 0.
fn nth_opportunity(millis: &[u64], needed: u64, from_ms: f64) -> f64 {
    let (Some(last), Some(&period)) = (needed.checked_sub(1), millis.last()) else {
        return 0.0;
    };
    let (count, period) = (millis.len() as u64, period.max(1));
    let round = libm::floor(from_ms / period as f64).max(0.0) as u64;
    let within = from_ms - (round * period) as f64;
    let used = millis.partition_point(|&time| time as f64 <= within) as u64;
    let number = used + last;
    let time = millis.get((number % count) as usize).copied().unwrap_or(0);
    (round + number / count).saturating_mul(period) as f64 + time as f64 - from_ms
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 bit/s, then 50 bit/s from 10 s on, then unlimited from 20 s on.
    #[test]
    fn what_waits_is_sent_at_the_rates_that_come() {
        let rates = Service::Rates(vec![(0.0, 100.0), (10.0, 50.0), (20.0, f64::INFINITY)]);
        for (octets, from_s, expected) in [
            (25.0, 0.0, 2.0),
            (0.0, 9.0, 0.0),
            // 100 bits until 10 s, the other 300 in 6 s.
            (50.0, 9.0, 7.0),
            (25.0, 10.0, 4.0),
            // 100 bits until 20 s, the others without delay.
            (1e6, 18.0, 2.0),
            (1e6, 20.0, 0.0),
            (1e6, 30.0, 0.0),
        ] {
            assert_eq!(
                rates.time_for(octets, from_s),
                expected,
                "{octets} {from_s}"
            );
        }
    }

    /// Opportunities at 2, 5, 5 and 10 ms, then at 12, 15, 15, 20 and so on.
    #[test]
    fn what_waits_is_sent_at_the_opportunities_of_a_trace() {
        let trace = Service::Opportunities(&[2, 5, 5, 10]);
        for (octets, from_ms, expected_ms) in [
            (0.0, 0.0, 0.0),
            (1.0, 0.0, 2.0),
            (1504.0, 0.0, 2.0),
            (1505.0, 0.0, 5.0),
            (3.0 * 1504.0, 0.0, 5.0),
            (4.0 * 1504.0, 0.0, 10.0),
            (5.0 * 1504.0, 0.0, 12.0),
            // The opportunity at 2 ms has passed.
            (1504.0, 2.0, 3.0),
            (1504.0, 9.0, 1.0),
            (1504.0, 10.0, 2.0),
            (9.0 * 1504.0, 21.5, 42.0 - 21.5),
        ] {
            let waits = trace.time_for(octets, from_ms / 1e3) * 1e3;
            assert!(
                (waits - expected_ms).abs() < 1e-9,
                "{octets} {from_ms}: {waits}"
            );
        }
    }
}
