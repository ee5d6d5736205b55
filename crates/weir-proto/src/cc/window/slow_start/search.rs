//! SEARCH 3.0, Slow start Exit At Right CHokepoint (draft-chung-ccwg-search, the text of its
//! version 3): slow start ends when the octets delivered in a round-trip time no longer double.
//!
//! Delivered octets are summed in bins of 0.35 of the first round-trip time. At the end of each
//! bin, the octets of the last ten bins are compared with twice those of the ten bins that ended a
//! round-trip time before; if a share of 0.35 or more of them is missing, slow start ends. Since
//! this is detected two round-trip times late, the window returns to its size two first round-trip
//! times ago.
//!
//! The newest revision (09) compares with the octets sent a round-trip time ago, has a threshold of
//! 0.26 and drains the window slowly; only neqo's implementation of it was available. As there, the
//! search restarts after more than a window of bins without an acknowledgement.

use crate::cc::Acked;
use crate::time::{Duration, Instant};

/// W: bins of a window.
const WINDOW_BINS: u64 = 10;
/// EXTRA_BINS: the most bins by which a compared window may lie back.
const EXTRA_BINS: u64 = 15;
/// A bin in hundredths of the first round-trip time: WINDOW_SIZE / W with WINDOW_SIZE 3.5.
const BIN_PERCENT: u64 = 35;
/// THRESH.
const THRESHOLD: f64 = 0.35;
/// The ends of bins that a comparison can use.
const SLOTS: usize = (WINDOW_BINS + EXTRA_BINS + 2) as usize;

/// The state of SEARCH.
#[derive(Clone, Debug, Default)]
pub(in crate::cc::window) struct Search {
    /// Octets delivered so far.
    delivered: u64,
    bins: Option<Bins>,
}

/// The bins since the search began.
#[derive(Clone, Debug)]
struct Bins {
    duration: Duration,
    /// When the current bin ends.
    end: Instant,
    /// Bins that have ended: curr_idx + 1.
    ended: u64,
    /// Octets delivered up to the end of the n-th bin, at n modulo [`SLOTS`]; bin 0 ends where the
    /// search starts.
    totals: [u64; SLOTS],
}

impl Search {
    /// Octets were delivered.
    pub(super) fn on_delivered(&mut self, octets: u64) {
        self.delivered += octets;
    }

    /// A packet was acknowledged in slow start. When slow start ends, returns by how many octets
    /// the window is too large.
    pub(super) fn on_ack(&mut self, acked: &Acked) -> Option<u64> {
        let rtt = acked.rtt.latest;
        let Some(bins) = &mut self.bins else {
            self.bins = Bins::new(acked.now, rtt, self.delivered);
            return None;
        };
        if acked.now <= bins.end {
            return None;
        }
        if bins.advance(acked.now, self.delivered) {
            return bins.overshoot(rtt);
        }
        self.bins = Bins::new(acked.now, rtt, self.delivered);
        None
    }
}

impl Bins {
    fn new(now: Instant, first_rtt: Duration, delivered: u64) -> Option<Self> {
        let duration = first_rtt * BIN_PERCENT / 100;
        (!duration.is_zero()).then(|| Self {
            duration,
            end: now + duration,
            ended: 0,
            totals: [delivered; SLOTS],
        })
    }

    /// Ends the bins that are over; false if they are more than a window.
    fn advance(&mut self, now: Instant, delivered: u64) -> bool {
        let late = now.since(self.end).as_nanos() / self.duration.as_nanos();
        if late >= WINDOW_BINS {
            return false;
        }
        let before = self.total(self.ended);
        for bin in 1..=late {
            self.totals[slot(self.ended + bin)] = before;
        }
        self.ended += late + 1;
        self.totals[slot(self.ended)] = delivered;
        self.end += self.duration * (late + 1);
        true
    }

    /// Octets delivered up to the end of a bin.
    fn total(&self, bin: u64) -> u64 {
        self.totals[slot(bin)]
    }

    /// Octets of the window that ends with this bin.
    fn window(&self, last: u64) -> f64 {
        self.total(last)
            .saturating_sub(self.total(last - WINDOW_BINS)) as f64
    }

    /// Compares the last window with the one a round-trip time before; if too many octets are
    /// missing, returns the octets of two first round-trip times.
    fn overshoot(&self, rtt: Duration) -> Option<u64> {
        let back = rtt.as_nanos() / self.duration.as_nanos();
        // The earlier window may begin within the bin before its first.
        if back > EXTRA_BINS || self.ended < back + WINDOW_BINS + 1 {
            return None;
        }
        let fraction = rtt.as_nanos() % self.duration.as_nanos();
        let fraction = fraction as f64 / self.duration.as_nanos() as f64;
        let previous = self.ended - back;
        let expected =
            2.0 * ((1.0 - fraction) * self.window(previous) + fraction * self.window(previous - 1));
        let missing = expected - self.window(self.ended);
        // If no octets are expected, the quotient is negative or not a number.
        let over = missing / expected >= THRESHOLD;
        over.then(|| {
            let late_bins = 200 / BIN_PERCENT;
            self.total(self.ended)
                .saturating_sub(self.total(self.ended - late_bins))
        })
    }
}

/// The index of a bin in the ring.
const fn slot(bin: u64) -> usize {
    (bin % SLOTS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Rtt;

    /// Acknowledgements every 7 ms, a fifth of a bin of a path of 100 ms, whose octets double every
    /// 98 ms up to a rate, while the window grows by them. Returns the time in milliseconds, the
    /// window and the overshoot when slow start ends.
    fn exit(capacity: f64, pause: std::ops::Range<u64>) -> Option<(u64, u64, u64)> {
        let mut search = Search::default();
        let mut window = 10_000;
        for step in (1..400_u64).filter(|step| !pause.contains(step)) {
            let bytes = (1000.0 * libm::exp2(step as f64 / 14.0)).min(capacity) as u64;
            let acked = Acked {
                now: Instant::ZERO + Duration::from_millis(7 * step),
                bytes,
                rtt: Rtt {
                    latest: Duration::from_millis(98),
                    ..Rtt::default()
                },
                ..Acked::default()
            };
            window += bytes;
            search.on_delivered(bytes);
            if let Some(overshoot) = search.on_ack(&acked) {
                return Some((7 * step, window, overshoot));
            }
        }
        None
    }

    #[test]
    fn slow_start_ends_two_round_trips_after_the_rate_has_stopped_to_double() {
        // 1000 · 2^(n/14) reaches 64000 at n = 84, 588 ms.
        let (at, window, overshoot) = exit(64_000.0, 0..0).expect("an end");
        assert!((588 + 98..588 + 3 * 98).contains(&at), "{at}");
        // Five bins of 34.3 ms at 64000 octets in 7 ms.
        assert!(
            (24 * 64_000..=25 * 64_000).contains(&overshoot),
            "{overshoot}"
        );
        assert!(overshoot < window);
        assert_eq!(exit(f64::INFINITY, 0..0), None, "while the rate doubles");
    }

    /// Bins of 35 ms on top of 5000 octets: the windows that end with bins 10, 11 and 21 have 0 +
    /// 190 + 8 · 90 = 910, 190 + 9 · 90 = 1000 and 220 + 8 · 120 + `last` octets. A round-trip time
    /// of ten bins expects 2 · 1000, of which 0.65 are 1300; one of ten and a quarter 2 · (0.75 ·
    /// 1000 + 0.25 · 910) = 1955, of which 0.65 are 1270.75. Of the last window, the last five bins
    /// were too much.
    #[test]
    fn a_window_that_lacks_the_threshold_ends_slow_start() {
        for (rtt_us, last, overshoot) in [
            (350_000, 120, Some(600)),
            (350_000, 121, None),
            (358_750, 90, Some(570)),
            (358_750, 91, None),
        ] {
            let start = Duration::from_millis(100);
            let mut delivered = 5000;
            let mut bins = Bins::new(Instant::ZERO, start, delivered).expect("bins");
            for bin in 1..=21 {
                delivered += match bin {
                    1 => 0,
                    2 => 190,
                    3..=11 => 90,
                    12 => 220,
                    13..=20 => 120,
                    _ => last,
                };
                assert!(bins.advance(bins.end, delivered));
            }
            let found = bins.overshoot(Duration::from_micros(rtt_us));
            assert_eq!(found, overshoot, "{rtt_us} {last}");
        }
    }

    #[test]
    fn a_pause_of_more_than_a_window_begins_anew() {
        // Without it slow start ends at about 770 ms; the pause is from 700 to 1400 ms.
        let (at, ..) = exit(64_000.0, 100..200).expect("an end");
        assert!(at > 1400 + 440, "{at}: thirteen bins after the pause");
    }

    /// Bins of 35 ms, for a path of 100 ms, with the same number of octets in each.
    fn steady(bins: u64) -> Bins {
        let mut steady = Bins::new(Instant::ZERO, Duration::from_millis(100), 0).expect("bins");
        for bin in 1..=bins {
            assert!(steady.advance(steady.end, 100 * bin));
        }
        steady
    }

    #[test]
    fn a_bin_is_over_after_its_end() {
        // 0.35 · 100 ms.
        let mut search = Search::default();
        let mut ended_at = |nanos| {
            search.on_ack(&Acked {
                now: Instant::from_nanos(nanos),
                rtt: Rtt {
                    latest: Duration::from_millis(100),
                    ..Rtt::default()
                },
                ..Acked::default()
            });
            search.bins.as_ref().map(|bins| bins.ended)
        };
        assert_eq!(ended_at(0), Some(0));
        assert_eq!(ended_at(35_000_000), Some(0));
        assert_eq!(ended_at(35_000_001), Some(1));
    }

    #[test]
    fn bins_without_an_acknowledgement_hold_what_came_before() {
        let mut bins = steady(1);
        let end = bins.end;
        // Between the ends of the fourth and the fifth, so that three end.
        let late = bins.duration * 2 + Duration::from_millis(1);
        assert!(bins.advance(end + late, 900));
        let totals: Vec<u64> = (0..=4).map(|bin| bins.total(bin)).collect();
        assert_eq!(totals, [0, 100, 100, 100, 900]);
        assert_eq!(bins.ended, 4);
        assert_eq!(bins.end, end + bins.duration * 3);
    }

    #[test]
    fn ten_bins_without_an_acknowledgement_are_too_many() {
        // W = 10.
        for (early, counted) in [(0, false), (1, true)] {
            let mut bins = steady(1);
            let late = bins.duration * 10 - Duration::from_nanos(early);
            assert_eq!(bins.advance(bins.end + late, 900), counted, "{early}");
        }
    }

    #[test]
    fn a_comparison_reaches_back_by_fifteen_bins_and_no_further() {
        // EXTRA_BINS = 15, of which 525 ms are exactly all; 15 + 10 + 1 bins must have ended. With
        // constant delivery, half of the expected octets are missing: five bins were too much.
        for (ended, bins, overshoot) in [
            (26, 15, Some(500)),
            (25, 15, None),
            (40, 16, None),
            (40, 17, None),
            (40, 14, Some(500)),
        ] {
            let rtt = Duration::from_millis(35) * bins;
            assert_eq!(steady(ended).overshoot(rtt), overshoot, "{ended} {bins}");
        }
    }

    #[test]
    fn where_nothing_is_delivered_nothing_is_missing() {
        let mut bins = Bins::new(Instant::ZERO, Duration::from_millis(100), 0).expect("bins");
        for _ in 0..30 {
            assert!(bins.advance(bins.end, 0));
        }
        assert_eq!(bins.overshoot(Duration::from_millis(100)), None);
    }
}
