//! X_recv_set (RFC 5348 §4.3): the receive rates of the last two round-trip times, or what is
//! kept of them while the sender does not use its rate.

use crate::time::{Duration, Instant};

/// Rates in octets per second with their times; at first a single infinite one.
#[derive(Clone, Debug)]
pub(super) struct ReceiveRates {
    set: Vec<(Instant, f64)>,
}

impl ReceiveRates {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            set: vec![(now, f64::INFINITY)],
        }
    }

    pub(super) fn greatest(&self) -> f64 {
        self.set.iter().map(|&(_, rate)| rate).fold(0.0, f64::max)
    }

    /// Update X_recv_set().
    pub(super) fn update(&mut self, now: Instant, rate: f64, rtt: Duration) {
        self.set.push((now, rate));
        self.set.retain(|&(at, _)| now.since(at) <= rtt * 2);
        // A very small R must not make the set grow: a feedback comes once a round trip.
        if self.set.len() > 16 {
            self.set.remove(0);
        }
    }

    /// Maximize X_recv_set().
    pub(super) fn maximize(&mut self, now: Instant, rate: f64) {
        self.set.push((now, rate));
        let finite = self
            .set
            .iter()
            .map(|&(_, rate)| rate)
            .filter(|rate| rate.is_finite());
        let greatest = finite.fold(0.0, f64::max);
        self.set = vec![(now, greatest)];
    }

    /// After a loss in a data-limited interval.
    pub(super) fn halve(&mut self) {
        for (_, rate) in &mut self.set {
            *rate /= 2.0;
        }
    }

    /// Replaces the contents with a single item.
    pub(super) fn replace(&mut self, now: Instant, rate: f64) {
        self.set = vec![(now, rate)];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_two_round_trips_or_the_greatest() {
        let rtt = Duration::from_millis(100);
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let mut rates = ReceiveRates::new(at(0));
        rates.update(at(100), 500.0, rtt);
        assert_eq!(rates.greatest(), f64::INFINITY);
        rates.update(at(201), 300.0, rtt);
        assert_eq!(rates.greatest(), 500.0);
        rates.update(at(301), 200.0, rtt);
        assert_eq!(rates.greatest(), 300.0);
        rates.maximize(at(400), 100.0);
        assert_eq!(rates.greatest(), 300.0);
        rates.update(at(500), 50.0, rtt);
        assert_eq!(rates.greatest(), 300.0, "its time was renewed");
    }
}
