//! The counters of a receiver: loss, reordering, duplicates and jitter (RFC 3550 §6.4.1).

use crate::test_protocol::ReceptionStats;
use weir_proto::time::Instant;

/// The number of newest datagrams that are recorded as received or missing.
const WINDOW: u64 = 4096;
const WORDS: usize = WINDOW as usize / 64;

/// Counts received datagrams.
#[derive(Debug)]
pub(super) struct ReceptionTracker {
    stats: ReceptionStats,
    /// A ring of bits: whether each of the newest numbers has been received.
    seen: [u64; WORDS],
    /// Arrival and timestamp of the last datagram, in nanoseconds of the receiver's and the
    /// sender's clock.
    last: Option<(u64, u64)>,
}

impl Default for ReceptionTracker {
    fn default() -> Self {
        Self {
            stats: ReceptionStats::default(),
            seen: [0; WORDS],
            last: None,
        }
    }
}

impl ReceptionTracker {
    pub(super) const fn stats(&self) -> &ReceptionStats {
        &self.stats
    }

    /// Counts a datagram of `octets` with this number and timestamp.
    pub(super) fn on_datagram(&mut self, now: Instant, number: u64, sent_at: u64, octets: usize) {
        let stats = &mut self.stats;
        let (word, bit) = position(number);
        if number >= stats.expected {
            // The numbers in between reuse the bits of older ones.
            let first = stats.expected.max(number.saturating_sub(WINDOW - 1));
            for skipped in first..=number {
                let (word, bit) = position(skipped);
                self.seen[word] &= !bit;
            }
            stats.expected = number.saturating_add(1);
        } else {
            // The bit of a number older than the window is lost: it counts as new while any number
            // is missing.
            let is_seen = stats.expected - number <= WINDOW && self.seen[word] & bit != 0;
            if is_seen || stats.received >= stats.expected {
                stats.duplicates += 1;
                return;
            }
            stats.reordered += 1;
        }
        if stats.expected - number <= WINDOW {
            self.seen[word] |= bit;
        }
        stats.received += 1;
        stats.octets += octets as u64;
        let arrived = now.as_nanos();
        if let Some((last_arrived, last_sent)) = self.last {
            // RFC 3550 §6.4.1: D = (Rj - Ri) - (Sj - Si), so that the offset of the clocks cancels
            // out.
            let arrivals = arrived.wrapping_sub(last_arrived) as i64;
            let difference = arrivals.wrapping_sub(sent_at.wrapping_sub(last_sent) as i64);
            let difference_s = difference.unsigned_abs() as f64 / 1e9;
            stats.jitter += (difference_s - stats.jitter) / 16.0;
        }
        self.last = Some((arrived, sent_at));
    }

    /// Counts a datagram with the codepoint CE.
    pub(super) const fn on_congestion_mark(&mut self) {
        self.stats.marked += 1;
    }
}

/// The word and the bit of a number.
const fn position(number: u64) -> (usize, u64) {
    let index = number % WINDOW;
    ((index / 64) as usize, 1 << (index % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(tracker: &mut ReceptionTracker, numbers: &[u64]) {
        for &number in numbers {
            tracker.on_datagram(Instant::from_nanos(0), number, 0, 100);
        }
    }

    #[test]
    fn loss_reordering_and_duplicates_are_counted_apart() {
        let mut tracker = ReceptionTracker::default();
        arrive(&mut tracker, &[0, 1, 4, 2, 2, 4, 5]);
        let stats = *tracker.stats();
        assert_eq!((stats.received, stats.expected), (5, 6));
        assert_eq!((stats.lost(), stats.reordered, stats.duplicates), (1, 1, 2));
        assert_eq!(stats.octets, 500);
    }

    #[test]
    fn the_window_moves_over_any_gap() {
        let mut tracker = ReceptionTracker::default();
        arrive(&mut tracker, &[0, 10 * WINDOW, 10 * WINDOW, 9 * WINDOW + 1]);
        assert_eq!(tracker.stats().duplicates, 1);
        assert_eq!(tracker.stats().reordered, 1);
        // Its bit was that of an earlier number.
        arrive(&mut tracker, &[11 * WINDOW, u64::MAX, 5]);
        assert_eq!(tracker.stats().duplicates, 1);
        assert_eq!(tracker.stats().received, 6);
        // A skipped number arrives late; its bit was set by an earlier number.
        let mut tracker = ReceptionTracker::default();
        arrive(&mut tracker, &[0, 1, WINDOW + 2, WINDOW, WINDOW]);
        let stats = tracker.stats();
        assert_eq!((stats.reordered, stats.duplicates), (1, 1));
    }

    #[test]
    fn jitter_moves_by_a_sixteenth_of_each_change_in_transit() {
        let mut tracker = ReceptionTracker::default();
        let millis = |millis: u64| Instant::from_nanos(1_000_000 * millis);
        tracker.on_datagram(millis(1000), 0, 5_000_000, 100);
        // Sent ten milliseconds apart, received fourteen milliseconds apart.
        tracker.on_datagram(millis(1014), 1, 15_000_000, 100);
        assert!((tracker.stats().jitter - 0.004 / 16.0).abs() < 1e-12);
        // The jitter decays while the transit time is constant.
        tracker.on_datagram(millis(1024), 2, 25_000_000, 100);
        let faded = 0.004 / 16.0 * 15.0 / 16.0;
        assert!((tracker.stats().jitter - faded).abs() < 1e-12);
    }
}
