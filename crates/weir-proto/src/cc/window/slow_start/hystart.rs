//! HyStart (Ha and Rhee, 2011) with the constants of Linux's `tcp_cubic.c`.

use crate::cc::Acked;
use crate::time::{Duration, Instant};

/// `hystart_low_window`: packets below which slow start continues.
const LOW_WINDOW: u64 = 16;
/// `hystart_ack_delta_us`: acknowledgements that are closer belong to one train.
const ACK_DELTA: Duration = Duration::from_millis(2);
/// `HYSTART_MIN_SAMPLES`: the samples whose minimum is the round-trip time of a round.
const MIN_SAMPLES: u32 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX` bound the growth of the delay that ends slow start.
const DELAY_THRESHOLD: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));

/// HyStart: slow start ends when the acknowledgements of a round form one train that lasts half the
/// minimum round-trip time, or when the minimum of a round's first eight round-trip times exceeds
/// the minimum of all by an eighth, at least 4 ms and at most 16 ms.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc::window) struct HyStart {
    round_start: Option<Instant>,
    last_ack: Instant,
    samples: u32,
    least: Duration,
}

impl HyStart {
    /// A packet was acknowledged in slow start; true if slow start ends.
    pub(super) fn on_ack(&mut self, acked: &Acked, cwnd_packets: u64) -> bool {
        // A round ends when a packet that was sent in it is acknowledged.
        let start = match self.round_start {
            Some(start) if acked.sent_at < start => start,
            _ => {
                self.round_start = Some(acked.now);
                self.last_ack = acked.now;
                self.samples = 0;
                self.least = acked.rtt.latest;
                acked.now
            }
        };
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            self.least = self.least.min(acked.rtt.latest);
        }
        let min = acked.rtt.min;
        let train = acked.now.since(self.last_ack) <= ACK_DELTA;
        if train {
            self.last_ack = acked.now;
        }
        let long_train = train && acked.now.since(start) > min / 2;
        let (floor, ceiling) = DELAY_THRESHOLD;
        let slower = self.least >= min + (min / 8).max(floor).min(ceiling);
        cwnd_packets >= LOW_WINDOW && (long_train || (self.samples >= MIN_SAMPLES && slower))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Rtt;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn acked(now: u64, sent_at: u64, rtt: u64) -> Acked {
        Acked {
            now: Instant::ZERO + MS(now),
            sent_at: Instant::ZERO + MS(sent_at),
            bytes: 1000,
            bytes_in_flight: 20_000,
            rtt: Rtt {
                latest: MS(rtt),
                min: MS(100),
                ..Rtt::default()
            },
            app_limited: false,
        }
    }

    /// The number of the acknowledgement, `gap` apart, that ends slow start.
    fn ended_by(gap: u64, rtt: u64, window: u64) -> Option<u64> {
        let mut hystart = HyStart::default();
        (0..90).find(|n| hystart.on_ack(&acked(1000 + n * gap, 900, rtt), window))
    }

    #[test]
    fn ends_when_the_acknowledgements_of_half_a_round_trip_are_one_train() {
        // Gaps of 2 ms are one train; after 50 ms, the 26th, it is longer than 100 / 2.
        assert_eq!(ended_by(2, 100, 16), Some(26));
        assert_eq!(ended_by(3, 100, 16), None);
        assert_eq!(ended_by(2, 100, 15), None, "below the low window");
    }

    #[test]
    fn ends_when_the_eighth_sample_shows_an_eighth_more_delay() {
        // The threshold is 100 + clamp(100 / 8, 4, 16) = 112.5 ms.
        assert_eq!(ended_by(3, 113, 16), Some(7));
        assert_eq!(ended_by(3, 112, 16), None);
    }

    /// An acknowledgement of a path of `min` ms at a window of 16 packets.
    fn on_path(min: u64, acked: Acked) -> Acked {
        Acked {
            rtt: Rtt {
                min: MS(min),
                ..acked.rtt
            },
            ..acked
        }
    }

    #[test]
    fn a_delay_that_is_more_by_exactly_the_threshold_ends_slow_start() {
        // 80 + 80 / 8 = 90 ms; bounds of 4 and 16 ms.
        for (min, rtt, ends) in [
            (80, 90, true),
            (80, 89, false),
            (16, 20, true),
            (16, 19, false),
            (160, 176, true),
            (160, 175, false),
        ] {
            let mut hystart = HyStart::default();
            let ended = (0..8).any(|n| {
                let acked = acked(1000 + 3 * n, 900, rtt);
                hystart.on_ack(&on_path(min, acked), 16)
            });
            assert_eq!(ended, ends, "{min} {rtt}");
        }
    }

    #[test]
    fn a_round_begins_with_the_packet_that_left_at_the_beginning_of_the_last() {
        // The minimum of the first round is 100 ms, that of the second 113 ms, its eighth sample.
        let mut hystart = HyStart::default();
        for n in 0..9 {
            assert!(!hystart.on_ack(&acked(1000 + 3 * n, 900, 100), 16));
        }
        let ended = (0..8).position(|n| hystart.on_ack(&acked(1100 + 3 * n, 1000, 113), 16));
        assert_eq!(ended, Some(7));
    }

    #[test]
    fn the_ninth_sample_of_a_round_does_not_count() {
        let mut hystart = HyStart::default();
        for n in 0..8 {
            // Below the low window.
            assert!(!hystart.on_ack(&acked(1000 + 3 * n, 900, 113), 15));
        }
        assert!(hystart.on_ack(&acked(1024, 900, 100), 16));
    }
}
