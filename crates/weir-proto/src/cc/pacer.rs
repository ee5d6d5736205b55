//! The pacer: packets leave at a rate, in bursts of at most a quantum (draft-ietf-ccwg-bbr §5.6.2).
//!
//! It is a token bucket in the form of the generic cell rate algorithm: the state is the time at
//! which the bucket is full again, so a change of the rate affects later packets, not the credit so
//! far.

use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The pacer of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pacer {
    /// C.next_send_time: the time at which the bucket is full again.
    next_send_time: Instant,
}

impl Pacer {
    /// The time at which a packet of `bytes` may leave; at once if it has passed. Packets that
    /// leave at one time have at most `quantum` octets, or are a single packet.
    pub fn release(&self, bytes: u64, rate: Rate, quantum: u64) -> Instant {
        let burst = rate.time_for(quantum.saturating_sub(bytes));
        self.next_send_time - burst
    }

    /// A packet of `bytes` leaves.
    pub fn on_sent(&mut self, now: Instant, bytes: u64, rate: Rate) {
        let start = self.next_send_time.max(now);
        // At rate zero the bucket would never be full again.
        let cost = rate.time_for(bytes).min(Duration::from_secs(3600));
        self.next_send_time = start + cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1000 octets take a millisecond.
    fn rate() -> Rate {
        Rate::from_bps(8e6)
    }

    /// The time in microseconds at which each of `count` packets of 1000 octets leaves, if all wait
    /// from `from` on.
    fn departures(pacer: &mut Pacer, from: u64, count: usize, quantum: u64) -> Vec<u64> {
        let mut now = Instant::ZERO + Duration::from_micros(from);
        let mut leave = || {
            now = now.max(pacer.release(1000, rate(), quantum));
            pacer.on_sent(now, 1000, rate());
            now.since(Instant::ZERO).as_micros()
        };
        (0..count).map(|_| leave()).collect()
    }

    #[test]
    fn a_burst_is_at_most_the_quantum_and_then_the_rate_holds() {
        // (quantum in octets, departures in µs): 3 packets at once, or 1, or what a quantum smaller
        // than a packet allows: 1.
        for (quantum, expected) in [
            (3000, [10_000, 10_000, 10_000, 11_000, 12_000]),
            (1000, [10_000, 11_000, 12_000, 13_000, 14_000]),
            (10, [10_000, 11_000, 12_000, 13_000, 14_000]),
            (3500, [10_000, 10_000, 10_000, 10_500, 11_500]),
        ] {
            let mut pacer = Pacer::default();
            assert_eq!(
                departures(&mut pacer, 10_000, 5, quantum),
                expected,
                "{quantum}"
            );
        }
    }

    #[test]
    fn an_idle_time_earns_no_more_than_a_quantum() {
        let mut pacer = Pacer::default();
        departures(&mut pacer, 0, 10, 2000);
        let after = departures(&mut pacer, 1_000_000, 4, 2000);
        assert_eq!(after, [1_000_000, 1_000_000, 1_001_000, 1_002_000]);
    }

    #[test]
    fn a_rate_of_zero_or_without_bound_does_no_harm() {
        let mut pacer = Pacer::default();
        pacer.on_sent(Instant::ZERO, 1000, Rate::ZERO);
        assert!(pacer.release(1000, rate(), 1000) > Instant::ZERO);
        let mut pacer = Pacer::default();
        pacer.on_sent(Instant::ZERO, 1000, Rate::from_bps(f64::MAX));
        assert_eq!(pacer.release(1000, rate(), 1000), Instant::ZERO);
    }
}
