//! HyStart++ (RFC 9406): slow start ends when the round-trip times of a round have grown, after a
//! conservative slow start, which returns to slow start if they fall again.
//!
//! A round ends when a packet that was sent in it is acknowledged. Each acknowledgement gives one
//! sample of the round-trip time, however many packets it names. Only the first slow start of a
//! connection ends this way (RFC 9406 §4.3).
//!
//! Acknowledgements of a window that the application does not fill give no samples here.
//!
//! Limits: the samples of a round come from its first packets, which see the queue that the
//! previous round left. A window of w bandwidth-delay products, w <= 1, doubles to 2w without a
//! visible queue; the first acknowledgements that show the queue arrive at a window of 4w. Since w
//! is above 9/16 when that queue is an eighth of the round-trip time, slow start ends at 2.25 to
//! 4.5 bandwidth-delay products, which is always too late for a buffer of one.

use crate::cc::Acked;
use crate::time::{Duration, Instant};

/// MIN_RTT_THRESH (RFC 9406 §4.3).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// MAX_RTT_THRESH (RFC 9406 §4.3).
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// The share of the last round's minimum round-trip time by which it must grow (RFC 9406 §4.3).
const MIN_RTT_DIVISOR: u64 = 8;
/// N_RTT_SAMPLE (RFC 9406 §4.3).
const N_RTT_SAMPLE: u32 = 8;
/// CSS_GROWTH_DIVISOR (RFC 9406 §4.3).
const CSS_GROWTH_DIVISOR: u64 = 4;
/// CSS_ROUNDS (RFC 9406 §4.3).
const CSS_ROUNDS: u32 = 5;

/// L: packets by which one acknowledgement enlarges the window of a sender that does not pace
/// (RFC 9406 §4.3).
const LIMIT_PACKETS: u64 = 8;

/// The conservative slow start in progress.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// cssBaselineMinRtt.
    baseline: Duration,
    /// Rounds in it that have ended.
    rounds: u32,
}

/// The state of HyStart++.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc::window) struct HyStartPlusPlus {
    round_start: Option<Instant>,
    /// lastRoundMinRTT; `None` is infinite.
    last_round_min: Option<Duration>,
    /// currentRoundMinRTT.
    current_round_min: Option<Duration>,
    samples: u32,
    conservative: Option<Conservative>,
    /// The time of the current acknowledgement, which names one packet after another.
    now: Option<Instant>,
    /// The octets counted for it so far.
    counted: u64,
}

impl HyStartPlusPlus {
    /// A packet was acknowledged in slow start (RFC 9406 §4.2). Returns by how many octets the
    /// window grows, and whether slow start ends. `packet` is the size of the largest packet if
    /// the sender does not pace.
    pub(super) fn on_ack(&mut self, acked: &Acked, packet: Option<u64>) -> (u64, bool) {
        if self.now != Some(acked.now) {
            (self.now, self.counted) = (Some(acked.now), 0);
            self.samples += 1;
        }
        let ends = self.end_round(acked);
        let bytes = self.limited(acked, packet);
        let sample = acked.rtt.latest;
        let least = self.current_round_min.map_or(sample, |min| min.min(sample));
        self.current_round_min = Some(least);
        let growth = match self.conservative {
            Some(_) => bytes / CSS_GROWTH_DIVISOR,
            None => bytes,
        };
        if !ends && self.samples >= N_RTT_SAMPLE {
            self.compare(least);
        }
        (growth, ends)
    }

    /// min(N, L * SMSS): the octets of this packet that count, if one acknowledgement covers many
    /// packets.
    fn limited(&mut self, acked: &Acked, packet: Option<u64>) -> u64 {
        let Some(packet) = packet else {
            return acked.bytes;
        };
        let left = (LIMIT_PACKETS * packet).saturating_sub(self.counted);
        let counts = acked.bytes.min(left);
        self.counted += counts;
        counts
    }

    /// Begins a round if the last has ended; true if it was the last conservative one.
    fn end_round(&mut self, acked: &Acked) -> bool {
        if self.round_start.is_some_and(|start| acked.sent_at < start) {
            return false;
        }
        self.round_start = Some(acked.now);
        self.last_round_min = self.current_round_min.take();
        // The acknowledgement that ends a round is the first of the next.
        self.samples = 1;
        let Some(conservative) = &mut self.conservative else {
            return false;
        };
        conservative.rounds += 1;
        conservative.rounds >= CSS_ROUNDS
    }

    /// Compares the minimum round-trip time of this round with that of the last, or in conservative
    /// slow start with that at its beginning.
    fn compare(&mut self, least: Duration) {
        if let Some(conservative) = self.conservative {
            // The growth was spurious.
            if least < conservative.baseline {
                self.conservative = None;
            }
            return;
        }
        let Some(last) = self.last_round_min else {
            return;
        };
        let threshold = (last / MIN_RTT_DIVISOR)
            .max(MIN_RTT_THRESH)
            .min(MAX_RTT_THRESH);
        if least >= last + threshold {
            self.conservative = Some(Conservative {
                baseline: least,
                rounds: 0,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Rtt;

    /// An acknowledgement of a packet that was sent 100 ms ago, with this sample.
    fn acked(millis: u64, rtt: u64) -> Acked {
        Acked {
            now: Instant::ZERO + Duration::from_millis(millis),
            sent_at: Instant::ZERO + Duration::from_millis(millis - 100),
            bytes: 1000,
            rtt: Rtt {
                latest: Duration::from_millis(rtt),
                ..Rtt::default()
            },
            ..Acked::default()
        }
    }

    /// Rounds of nine acknowledgements of a packet each, the rounds 100 ms apart and the
    /// acknowledgements one, with these round-trip times in milliseconds. Returns the growth of the
    /// window in each round until slow start ends.
    fn growth(rtts: &[u64]) -> (Vec<u64>, bool) {
        let mut hystart = HyStartPlusPlus::default();
        let mut grown = Vec::new();
        for (round, rtt) in rtts.iter().enumerate() {
            let mut sum = 0;
            for number in 0..9 {
                // Sent when the round before was acknowledged.
                let acked = acked(100 * (round as u64 + 1) + number, *rtt);
                let (octets, ends) = hystart.on_ack(&acked, None);
                sum += octets;
                if ends {
                    grown.push(sum);
                    return (grown, true);
                }
            }
            grown.push(sum);
        }
        (grown, false)
    }

    #[test]
    fn an_eighth_more_delay_makes_it_conservative_for_five_rounds() {
        // RFC 9406 §4.2 and §4.3: N_RTT_SAMPLE 8, MIN_RTT_DIVISOR 8, CSS_GROWTH_DIVISOR 4,
        // CSS_ROUNDS 5. 90 ms is 80 + 80/8; the ninth packet grows a quarter.
        let (grown, ended) = growth(&[80, 90, 95, 95, 95, 95, 95, 95]);
        assert_eq!(grown, [9000, 8250, 2250, 2250, 2250, 2250, 250]);
        assert!(ended);
        let (grown, ended) = growth(&[80, 89, 89, 89, 89, 89, 89, 89]);
        assert_eq!(grown, [9000; 8], "89 ms is below 80 + 10");
        assert!(!ended);
    }

    #[test]
    fn an_acknowledgement_gives_one_sample_however_many_packets_it_names() {
        // RFC 9406 §4.2: rttSampleCount rises with each arriving ACK, and N_RTT_SAMPLE is 8. The
        // delay of the second round is 90 ms after 80; with its eighth acknowledgement of two
        // packets, the first counted in full, it is the second of these that grows a quarter.
        let mut hystart = HyStartPlusPlus::default();
        let mut on_ack = |millis, rtt| hystart.on_ack(&acked(millis, rtt), None).0;
        for number in 0..8 {
            assert_eq!(on_ack(100 + number, 80) + on_ack(100 + number, 80), 2000);
        }
        for number in 0..7 {
            assert_eq!(on_ack(200 + number, 90) + on_ack(200 + number, 90), 2000);
        }
        assert_eq!(on_ack(207, 90) + on_ack(207, 90), 1250);
    }

    #[test]
    fn each_round_is_compared_with_the_one_before() {
        // RFC 9406 §4.2, at the start of a round: lastRoundMinRTT = currentRoundMinRTT. 97 ms is
        // less than 89 + 11, though more than 80 + 10.
        let (grown, _) = growth(&[80, 89, 97]);
        assert_eq!(grown, [9000; 3]);
    }

    #[test]
    fn the_least_sample_of_a_round_counts() {
        // RFC 9406 §4.2: currentRoundMinRTT = min(currentRoundMinRTT, currRTT); the first sample
        // of 89 ms is below 80 + 10.
        for (first, grown) in [(89, 9000), (90, 8250)] {
            let mut hystart = HyStartPlusPlus::default();
            let mut sum = 0;
            for (start, first, rtt) in [(100, 80, 80), (200, first, 95)] {
                sum = (0..9)
                    .map(|number| {
                        let rtt = if number == 0 { first } else { rtt };
                        hystart.on_ack(&acked(start + number, rtt), None).0
                    })
                    .sum();
            }
            assert_eq!(sum, grown, "{first}");
        }
    }

    #[test]
    fn the_threshold_has_bounds() {
        // RFC 9406 §4.3: MIN_RTT_THRESH 4 ms, MAX_RTT_THRESH 16 ms.
        for (base, next, conservative) in [
            (8, 12, true),
            (8, 11, false),
            (400, 416, true),
            (400, 415, false),
        ] {
            let (grown, _) = growth(&[base, next]);
            assert_eq!(grown[1] < 9000, conservative, "{base} {next}");
        }
    }

    #[test]
    fn it_goes_back_to_slow_start_when_the_delay_falls_again() {
        // RFC 9406 §4.2: below cssBaselineMinRtt, 90 ms.
        let (grown, ended) = growth(&[80, 90, 89, 89, 89, 89, 89, 89, 89]);
        assert_eq!(grown[2], 7 * 250 + 250 + 1000);
        assert_eq!(grown[3..], [9000; 6]);
        assert!(!ended);
    }

    #[test]
    fn an_acknowledgement_counts_for_eight_packets_of_a_sender_that_does_not_pace() {
        // RFC 9406 §4.3: L = 8 without pacing, infinite with it.
        for (packet, grown) in [(Some(1000), 8000), (None, 12_000)] {
            let mut hystart = HyStartPlusPlus::default();
            for now in [100, 101] {
                let acked = Acked {
                    now: Instant::ZERO + Duration::from_millis(now),
                    bytes: 3000,
                    ..Acked::default()
                };
                let sum: u64 = (0..4).map(|_| hystart.on_ack(&acked, packet).0).sum();
                assert_eq!(sum, grown, "{packet:?} {now}");
            }
        }
    }
}
