//! The time for which each bound limited a sender.

use std::collections::BTreeMap;
use weir_proto::event::SndLim;
use weir_proto::time::Instant;

/// The times of the bounds of one sender since a start time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::run) struct BoundTimes {
    bound: Option<SndLim>,
    since: Instant,
    /// Times by the index of the bound in [`SndLim::ALL`].
    nanos: [u64; SndLim::ALL.len()],
}

impl BoundTimes {
    /// Sets the bound that holds from `at` on; time before `start` and before the first bound is
    /// not counted.
    pub(in crate::run) fn set(&mut self, at: Instant, start: Instant, bound: SndLim) {
        self.since = self.since.max(start);
        self.advance(at);
        self.bound = Some(bound);
        self.since = at.max(start);
    }

    /// Counts the time of the current bound up to `at`.
    pub(in crate::run) fn advance(&mut self, at: Instant) {
        let held = at.since(self.since).as_nanos();
        self.since = self.since.max(at);
        let place = SndLim::ALL
            .iter()
            .position(|bound| Some(*bound) == self.bound);
        if let Some(nanos) = place.and_then(|place| self.nanos.get_mut(place)) {
            *nanos += held;
        }
    }

    /// Adds the counted times of another sender.
    pub(in crate::run) fn add(&mut self, other: &Self) {
        for (nanos, more) in self.nanos.iter_mut().zip(other.nanos) {
            *nanos += more;
        }
    }

    /// The share of the counted time for which each bound held, by its name: zero for bounds that
    /// never held. Empty if no time was counted.
    pub(in crate::run) fn shares(&self) -> BTreeMap<String, f64> {
        let total: u64 = self.nanos.iter().sum();
        let held = SndLim::ALL.iter().zip(self.nanos).filter(|_| total > 0);
        held.map(|(bound, nanos)| (bound.name().to_owned(), nanos as f64 / total as f64))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_counts_from_the_start_on_for_as_long_as_it_holds() {
        let at = |secs: u64| Instant::from_nanos(secs * 1_000_000_000);
        let mut times = BoundTimes::default();
        assert!(times.shares().is_empty());
        // From 10 s on: the window for 2 s, the application for 5 s, the window for 3 s.
        times.set(at(4), at(10), SndLim::Nothing);
        times.set(at(8), at(10), SndLim::Window);
        times.set(at(12), at(10), SndLim::Application);
        times.set(at(17), at(10), SndLim::Window);
        times.advance(at(20));
        let shares = times.shares();
        assert_eq!((shares["application"], shares["window"]), (0.5, 0.5));
        // Bounds that never held are listed with zero.
        assert_eq!(shares.len(), SndLim::ALL.len());
        assert_eq!(shares.values().sum::<f64>(), 1.0);
    }
}
