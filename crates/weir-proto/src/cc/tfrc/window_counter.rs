//! The window counter CCVal: it counts quarters of a round-trip time, modulo 16, so that the
//! receiver can tell round trips apart (RFC 4342 §8.1).

use super::profile::{Arithmetic, CounterGuard};
use crate::time::{Duration, Instant};

/// The largest step between two packets.
const MAX_STEP: u64 = 5;

#[derive(Clone, Copy, Debug)]
pub(super) struct WindowCounter {
    value: u8,
    changed_at: Instant,
}

impl WindowCounter {
    /// The counter at the first packet.
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            value: 0,
            changed_at: now,
        }
    }

    pub(super) const fn value(&self) -> u8 {
        self.value
    }

    pub(super) const fn changed_at(&self) -> Instant {
        self.changed_at
    }

    /// Counts the quarters since the last change; called for each data packet.
    pub(super) fn on_send(
        &mut self,
        now: Instant,
        rtt: Duration,
        rules: (Arithmetic, CounterGuard),
    ) {
        let (arithmetic, guard) = rules;
        let since = now.since(self.changed_at);
        let quarters = match (arithmetic, guard) {
            // Linux up to 2.6.25 divides by the truncated R/4 and must not divide by zero.
            (_, CounterGuard::FreezeBelow4Micros) => match rtt.as_micros() / 4 {
                0 => 0,
                quarter => since.as_micros() / quarter,
            },
            (Arithmetic::KernelIntegers, _) => 4 * since.as_micros() / rtt.as_micros().max(1),
            (Arithmetic::Float, _) => since.as_nanos().saturating_mul(4) / rtt.as_nanos().max(1),
        };
        if quarters > 0 {
            self.value = (self.value + quarters.min(MAX_STEP) as u8) % 16;
            self.changed_at = now;
        }
    }

    /// RFC 4342 §8.1: after an acknowledgement of a packet with counter `acknowledged` the next
    /// counter is at least four more.
    pub(super) fn on_ack(&mut self, now: Instant, acknowledged: u8) {
        let ahead = (self.value + 16 - acknowledged % 16) % 16;
        if ahead < 4 {
            self.value = (acknowledged + 4) % 16;
            self.changed_at = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(rtt_us: u64, gap_us: u64, guard: CounterGuard) -> Vec<u8> {
        let mut counter = WindowCounter::new(Instant::ZERO);
        (1..=4)
            .map(|n| {
                let now = Instant::from_nanos(n * gap_us * 1000);
                counter.on_send(
                    now,
                    Duration::from_micros(rtt_us),
                    (Arithmetic::KernelIntegers, guard),
                );
                counter.value()
            })
            .collect()
    }

    #[test]
    fn counts_quarters_and_at_most_five() {
        assert_eq!(steps(100, 25, CounterGuard::None), [1, 2, 3, 4]);
        assert_eq!(steps(100, 10, CounterGuard::None), [0, 0, 1, 1]);
        assert_eq!(steps(100, 1_000_000, CounterGuard::None), [5, 10, 15, 4]);
    }

    #[test]
    fn stands_still_below_four_microseconds_in_the_kernel_of_2008() {
        assert_eq!(steps(3, 98_000, CounterGuard::FreezeBelow4Micros), [0; 4]);
        assert_eq!(
            steps(4, 98_000, CounterGuard::FreezeBelow4Micros),
            [5, 10, 15, 4]
        );
        assert_eq!(steps(3, 98_000, CounterGuard::None), [5, 10, 15, 4]);
    }

    #[test]
    fn an_acknowledgement_moves_it_four_ahead() {
        let mut counter = WindowCounter::new(Instant::ZERO);
        counter.on_ack(Instant::ZERO, 0);
        assert_eq!(counter.value(), 4);
        counter.on_ack(Instant::ZERO, 0);
        assert_eq!(counter.value(), 4);
    }
}
