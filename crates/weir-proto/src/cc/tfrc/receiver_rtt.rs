//! The receiver's round-trip time from window counters (RFC 4342 §8.1): the time in which the
//! counter advances by four.

use super::profile::Arithmetic;
use crate::time::{Duration, Instant};

/// Linux: no sample is longer.
const MAX_SAMPLE: Duration = Duration::from_secs(3);
const WEIGHT: f64 = 0.9;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReceiverRtt {
    reference: Option<(u8, Instant)>,
    /// The first packet whose counter was one to three ahead, and by how much.
    candidate: Option<(u8, Instant)>,
    rtt: Duration,
}

impl ReceiverRtt {
    /// The estimate; `None` before the first sample.
    pub(super) fn get(&self) -> Option<Duration> {
        (!self.rtt.is_zero()).then_some(self.rtt)
    }

    /// A data packet in order with this counter.
    pub(super) fn on_data(&mut self, now: Instant, ccval: u8, arithmetic: Arithmetic) {
        let Some((counter, at)) = self.reference else {
            self.reference = Some((ccval, now));
            return;
        };
        let sample = match (ccval + 16 - counter) % 16 {
            0 => return,
            ahead @ 1..=3 => {
                if self.candidate.is_none_or(|(known, _)| known != ahead) {
                    self.candidate = Some((ahead, now));
                }
                return;
            }
            4 => now.since(at),
            // The counter jumped: the time of the candidate, scaled to four quarters.
            _ => match self.candidate {
                Some((ahead, then)) => then.since(at) * 4 / u64::from(ahead),
                None => Duration::ZERO,
            },
        };
        self.reference = Some((ccval, now));
        self.candidate = None;
        let sample = arithmetic.time(sample.min(MAX_SAMPLE));
        if !sample.is_zero() {
            self.rtt = match self.get() {
                None => sample,
                Some(old) => arithmetic.average(old, sample, WEIGHT),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_quarters_are_a_round_trip() {
        let mut rtt = ReceiverRtt::default();
        for (millis, ccval) in [(0, 0), (25, 1), (50, 2), (75, 3), (100, 4)] {
            rtt.on_data(
                Instant::from_nanos(millis * 1_000_000),
                ccval,
                Arithmetic::Float,
            );
        }
        assert_eq!(rtt.get(), Some(Duration::from_millis(100)));
    }

    #[test]
    fn a_jump_uses_the_candidate() {
        let mut rtt = ReceiverRtt::default();
        for (millis, ccval) in [(0, 0), (50, 2), (300, 7)] {
            rtt.on_data(
                Instant::from_nanos(millis * 1_000_000),
                ccval,
                Arithmetic::Float,
            );
        }
        assert_eq!(rtt.get(), Some(Duration::from_millis(100)));
    }
}
