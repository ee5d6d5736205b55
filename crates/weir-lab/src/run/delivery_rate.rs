//! The rate at which data arrives, as acknowledgements show it to the sender: octets that were
//! reported as arrived in the last round-trip time, over that time.

use std::collections::VecDeque;
use weir_proto::time::{Duration, Instant};

/// How much had arrived, and when that was reported.
#[derive(Clone, Debug, Default)]
pub(super) struct DeliveryRate {
    /// Times and octets since the start, oldest first: one at least a span ago, if there is one,
    /// and all after it.
    reports: VecDeque<(Instant, u64)>,
}

impl DeliveryRate {
    /// So many octets had arrived at this time. Returns the rate over the last `span` in bits per
    /// second; `None` before the second report.
    pub(super) fn on_report(&mut self, at: Instant, octets: u64, span: Duration) -> Option<f64> {
        if self.reports.back().is_none_or(|(_, last)| *last != octets) {
            self.reports.push_back((at, octets));
        }
        while self
            .reports
            .get(1)
            .is_some_and(|(then, _)| *then + span <= at)
        {
            self.reports.pop_front();
        }
        let (then, before) = *self.reports.front()?;
        let secs = span.min(at.since(then)).as_secs_f64();
        (secs > 0.0).then(|| octets.saturating_sub(before) as f64 * 8.0 / secs)
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
            // Nothing more: from 120 ms on 2000, then nothing.
            (220, 4000, Some(160_000.0)),
            (400, 4000, Some(0.0)),
            // After a pause only the last span counts.
            (1000, 5000, Some(80_000.0)),
        ];
        for (millis, octets, expected) in table {
            assert_eq!(
                rate.on_report(at(millis), octets, span),
                expected,
                "{millis}"
            );
        }
        assert!(rate.reports.len() <= 2);
        let no_span = rate.on_report(at(1001), 6000, Duration::ZERO);
        assert_eq!(no_span, None);
    }
}
