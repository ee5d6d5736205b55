//! What a receiver counts: loss, reordering, duplicates and jitter (RFC 3550 §6.4.1).

use crate::test_protocol::ReceptionStats;
use weir_proto::time::Instant;

/// Datagrams behind the newest of which it is known whether they came.
const WINDOW: u64 = 4096;
const WORDS: usize = WINDOW as usize / 64;

/// Counts what arrives.
#[derive(Debug)]
pub(super) struct Meter {
    counts: ReceptionStats,
    /// A bit for each of the last numbers, by their remainder.
    seen: [u64; WORDS],
    /// When the last one came and was sent, in nanoseconds of either clock.
    last: Option<(u64, u64)>,
}

impl Meter {
    pub(super) const fn new() -> Self {
        Self {
            counts: ReceptionStats {
                received: 0,
                octets: 0,
                expected: 0,
                reordered: 0,
                duplicates: 0,
                marked: 0,
                jitter: 0.0,
            },
            seen: [0; WORDS],
            last: None,
        }
    }

    pub(super) const fn counts(&self) -> &ReceptionStats {
        &self.counts
    }

    /// A datagram with this number came, which left at `sent_at` of its sender's clock.
    pub(super) fn arrived(&mut self, now: Instant, number: u64, sent_at: u64, octets: usize) {
        let counts = &mut self.counts;
        if number >= counts.expected {
            // The numbers between have not been seen yet.
            let first = counts.expected.max(number.saturating_sub(WINDOW - 1));
            for skipped in first..=number {
                let (word, bit) = place(skipped);
                self.seen[word] &= !bit;
            }
            counts.expected = number.saturating_add(1);
        } else {
            let (word, bit) = place(number);
            // Of what is older nobody knows any more; it is taken to be new.
            if counts.expected - number <= WINDOW && self.seen[word] & bit != 0 {
                counts.duplicates += 1;
                return;
            }
            counts.reordered += 1;
        }
        if counts.expected - number <= WINDOW {
            let (word, bit) = place(number);
            self.seen[word] |= bit;
        }
        counts.received += 1;
        counts.octets += octets as u64;
        let came = now.as_nanos();
        if let Some((before, sent_before)) = self.last {
            // Differences alone, so that the two clocks need not agree.
            let d = (came.wrapping_sub(before) as i64)
                .wrapping_sub(sent_at.wrapping_sub(sent_before) as i64);
            let d = d.unsigned_abs() as f64 / 1e9;
            counts.jitter += (d - counts.jitter) / 16.0;
        }
        self.last = Some((came, sent_at));
    }

    /// A datagram came with the mark of congestion.
    pub(super) const fn marked(&mut self) {
        self.counts.marked += 1;
    }

    /// The sender says that it sent so many.
    pub(super) fn ended(&mut self, sent: u64) {
        self.counts.expected = self.counts.expected.max(sent);
    }
}

const fn place(number: u64) -> (usize, u64) {
    let at = number % WINDOW;
    ((at / 64) as usize, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(meter: &mut Meter, numbers: &[u64]) {
        for &number in numbers {
            meter.arrived(Instant::from_nanos(0), number, 0, 100);
        }
    }

    #[test]
    fn loss_reordering_and_duplicates_are_told_apart() {
        let mut meter = Meter::new();
        arrive(&mut meter, &[0, 1, 4, 2, 2, 4, 5]);
        let counts = *meter.counts();
        assert_eq!((counts.received, counts.expected), (5, 6));
        assert_eq!(
            (counts.lost(), counts.reordered, counts.duplicates),
            (1, 1, 2)
        );
        assert_eq!(counts.octets, 500);
        // What was lost at the end is known from the sender alone.
        meter.ended(10);
        assert_eq!(meter.counts().lost(), 5);
    }

    #[test]
    fn the_window_moves_over_any_gap() {
        let mut meter = Meter::new();
        arrive(&mut meter, &[0, 10 * WINDOW, 10 * WINDOW, 9 * WINDOW + 1]);
        assert_eq!(meter.counts().duplicates, 1);
        assert_eq!(meter.counts().reordered, 1);
        // Its place in the window was that of an earlier number.
        arrive(&mut meter, &[11 * WINDOW, u64::MAX, 5]);
        assert_eq!(meter.counts().duplicates, 1);
        assert_eq!(meter.counts().received, 6);
        // A number that was passed over comes late, where an earlier one came before.
        let mut meter = Meter::new();
        arrive(&mut meter, &[0, 1, WINDOW + 2, WINDOW, WINDOW]);
        let counts = meter.counts();
        assert_eq!((counts.reordered, counts.duplicates), (1, 1));
    }

    #[test]
    fn jitter_is_a_sixteenth_of_each_change_in_transit() {
        let mut meter = Meter::new();
        let millis = |millis: u64| Instant::from_nanos(1_000_000 * millis);
        meter.arrived(millis(1000), 0, 5_000_000, 100);
        // Ten milliseconds apart when sent and fourteen when they come.
        meter.arrived(millis(1014), 1, 15_000_000, 100);
        assert!((meter.counts().jitter - 0.004 / 16.0).abs() < 1e-12);
        // Constant transit lets it fade.
        meter.arrived(millis(1024), 2, 25_000_000, 100);
        let faded = 0.004 / 16.0 * 15.0 / 16.0;
        assert!((meter.counts().jitter - faded).abs() < 1e-12);
    }
}
