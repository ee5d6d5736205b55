//! The delivery rate as the sender computes it from acknowledgements: octets reported as delivered
//! in the last round-trip time, divided by that time.

use weir_proto::time::{Duration, Instant};

/// The minimum number of reports that are removed together, because removing each alone costs more.
const FORGETS_EVERY: usize = 64;

/// Reports of the delivered octets, with their times.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeliveryRate {
    /// Time and octets since the start, of the last report that is at least a span old, or of the
    /// first report if there is none.
    before: Option<(Instant, u64)>,
    /// Reports, oldest first; those before index `first` are obsolete.
    reports: Vec<(Instant, u64)>,
    /// The index of the first report after `before`.
    first: usize,
    /// The octets of the last report.
    last: u64,
}

impl DeliveryRate {
    /// Adds a report of the octets delivered so far. Returns the rate over the last `span` in bits
    /// per second; `None` before the second report.
    pub(crate) fn on_report(&mut self, at: Instant, octets: u64, span: Duration) -> Option<f64> {
        if self.before.is_none() {
            self.before = Some((at, octets));
            self.last = octets;
        } else if self.last != octets {
            self.reports.push((at, octets));
            self.last = octets;
        }
        if let Some(begin) = at.as_nanos().checked_sub(span.as_nanos()) {
            while let Some(report) = self.reports.get(self.first)
                && report.0.as_nanos() <= begin
            {
                self.before = Some(*report);
                self.first += 1;
            }
            if self.first >= FORGETS_EVERY.max(self.reports.len() / 2) {
                self.forget();
            }
        }
        let (then, before) = self.before?;
        let secs = span.min(at.since(then)).as_secs_f64();
        (secs > 0.0).then(|| octets.saturating_sub(before) as f64 * 8.0 / secs)
    }

    /// Removes obsolete reports.
    #[cold]
    fn forget(&mut self) {
        self.reports.drain(..self.first);
        self.first = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_what_arrived_in_the_last_span() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let span = Duration::from_millis(100);
        let mut rate = DeliveryRate::default();
        let table = [
            (0, 0, None),
            // 1000 octets in 50 ms, then 2000 in 100 ms.
            (50, 1000, Some(160_000.0)),
            (100, 2000, Some(160_000.0)),
            // From 50 ms on: 3000 octets.
            (150, 4000, Some(240_000.0)),
            // No more octets: 2000 in the span from 120 ms on, then none.
            (220, 4000, Some(160_000.0)),
            (400, 4000, Some(0.0)),
            // After a pause only the last span is used.
            (1000, 5000, Some(80_000.0)),
        ];
        for (millis, octets, expected) in table {
            assert_eq!(
                rate.on_report(at(millis), octets, span),
                expected,
                "{millis}"
            );
        }
        assert!(rate.reports.len() - rate.first <= 1);
        let no_span = rate.on_report(at(1001), 6000, Duration::ZERO);
        assert_eq!(no_span, None);
    }

    #[test]
    fn reports_that_are_no_longer_wanted_are_forgotten() {
        let mut rate = DeliveryRate::default();
        let span = Duration::from_millis(100);
        for millis in 0..10_000 {
            // 1000 octets each millisecond: 8 Mbit/s, from the second report on.
            let at = Instant::from_nanos(millis * 1_000_000);
            let found = rate.on_report(at, millis * 1000, span);
            let found = found.map(f64::round);
            assert_eq!(found, (millis > 0).then_some(8e6), "{millis}");
            assert!(rate.reports.len() <= 200, "{}", rate.reports.len());
        }
    }
}
