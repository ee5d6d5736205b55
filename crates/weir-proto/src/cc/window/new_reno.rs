//! NewReno (RFC 9002 §7.3): the window grows by one packet in each round-trip time and is halved
//! at a congestion event.
//!
//! Congestion avoidance has three forms ([`Increase`]). The *accurate* increase counts the octets
//! acknowledged (partialBytesAcked). When the count exceeds cwnd - MDS, the window grows by MDS
//! and the count falls by the new window, but not below zero. With whole packets the window grows
//! when a window's worth of packets has been acknowledged.

use super::classic::{RULES, SLOW_START_RULES};
use super::{Classic, ControllerEntry, Increase, Policy, WindowConfig};
use crate::cc::Acked;
use crate::time::Instant;

/// The registry's entry.
pub(super) const ENTRY: ControllerEntry = ControllerEntry {
    name: "newreno",
    doc: "NewReno (RFC 9002 §7.3)",
    rules: &[
        RULES,
        SLOW_START_RULES,
        &[
            "increase",
            "count_acked_in_recovery",
            "flush_on_empty_flight",
        ],
    ],
    make: |config| Box::new(Classic::new(config, NewReno::new(config))),
};

/// The inverse of kLossReductionFactor, 0.5 (RFC 9002 appendix B.1).
const LOSS_DIVISOR: u64 = 2;

/// NewReno's policy.
#[derive(Clone, Debug)]
pub struct NewReno {
    increase: Increase,
    max_datagram_size: u64,
    /// Octets acknowledged towards the next increase.
    partial_bytes_acked: u64,
    /// Remainder of the approximate increase's division.
    remainder: u64,
}

impl NewReno {
    /// The policy before any acknowledgement.
    pub fn new(config: &WindowConfig) -> Self {
        Self {
            increase: config.rules.increase,
            max_datagram_size: config.max_datagram_size,
            partial_bytes_acked: 0,
            remainder: 0,
        }
    }

    fn accurate(&mut self, cwnd: u64, acked: u64) -> u64 {
        self.partial_bytes_acked += acked;
        if self.partial_bytes_acked <= cwnd.saturating_sub(self.max_datagram_size) {
            return cwnd;
        }
        let cwnd = cwnd + self.max_datagram_size;
        self.partial_bytes_acked = self.partial_bytes_acked.saturating_sub(cwnd);
        cwnd
    }

    fn approximate(&mut self, cwnd: u64, acked: u64) -> u64 {
        let product = self.max_datagram_size * acked + self.remainder;
        self.remainder = product % cwnd.max(1);
        cwnd + product / cwnd.max(1)
    }

    fn byte_counting(&mut self, cwnd: u64, acked: u64) -> u64 {
        self.partial_bytes_acked += acked;
        if self.partial_bytes_acked < cwnd {
            return cwnd;
        }
        self.partial_bytes_acked -= cwnd;
        cwnd + self.max_datagram_size
    }
}

impl Policy for NewReno {
    fn on_ack(&mut self, cwnd: u64, acked: &Acked) -> u64 {
        match self.increase {
            Increase::Accurate => self.accurate(cwnd, acked.bytes),
            Increase::Approximate => self.approximate(cwnd, acked.bytes),
            Increase::ByteCounting => self.byte_counting(cwnd, acked.bytes),
        }
    }

    fn on_congestion_event(&mut self, _now: Instant, cwnd: u64) -> u64 {
        self.reset_acked();
        // Rounded down to whole octets.
        cwnd / LOSS_DIVISOR
    }

    fn count_acked(&mut self, bytes: u64) {
        if self.increase != Increase::Approximate {
            self.partial_bytes_acked += bytes;
        }
    }

    fn reset_acked(&mut self) {
        self.partial_bytes_acked = 0;
    }

    fn reset(&mut self) {
        self.reset_acked();
        self.remainder = 0;
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.max_datagram_size = octets;
    }

    fn counted_acked(&self) -> u64 {
        self.partial_bytes_acked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::window::Rules;

    fn policy(increase: Increase, max_datagram_size: u64) -> NewReno {
        NewReno::new(&WindowConfig {
            max_datagram_size,
            rules: Rules {
                increase,
                ..Rules::RFC9002
            },
            ..WindowConfig::default()
        })
    }

    fn acked(bytes: u64) -> Acked {
        Acked {
            bytes,
            ..Acked::default()
        }
    }

    #[test]
    fn the_approximate_increase_begins_without_a_remainder() {
        // RFC 9002 appendix B.5: 1000 · 999 / 999 001 is less than an octet, by one part of it.
        let mut reno = policy(Increase::Approximate, 1000);
        assert_eq!(reno.on_ack(999_001, &acked(999)), 999_001);
        reno.reset();
        assert_eq!(reno.on_ack(999_001, &acked(999)), 999_001);
        // Without the reset the remainder of 999 000 would come to it.
        assert_eq!(reno.on_ack(999_001, &acked(999)), 999_002);
    }

    #[test]
    fn a_window_of_nothing_counts_as_an_octet() {
        for cwnd in [0, 1] {
            let mut reno = policy(Increase::Approximate, 1001);
            for _ in 0..2 {
                // 1001 · 1 / 1, and nothing remains.
                assert_eq!(reno.on_ack(cwnd, &acked(1)), cwnd + 1001);
            }
        }
    }

    #[test]
    fn byte_counting_keeps_what_is_beyond_the_window() {
        // RFC 3465 §2.1: bytes_acked falls by cwnd when cwnd grows by a packet.
        let mut reno = policy(Increase::ByteCounting, 1000);
        assert_eq!(reno.counted_acked(), 0);
        for (cwnd, bytes, next, rest) in [(5000, 4999, 5000, 4999), (5000, 700, 6000, 699)] {
            assert_eq!(reno.on_ack(cwnd, &acked(bytes)), next);
            assert_eq!(reno.counted_acked(), rest);
        }
        reno.reset();
        assert_eq!(reno.counted_acked(), 0);
    }

    #[test]
    fn another_datagram_size_is_the_next_increase() {
        let mut reno = policy(Increase::ByteCounting, 1000);
        reno.set_max_datagram_size(1400);
        assert_eq!(reno.on_ack(5000, &acked(5000)), 6400);
    }
}
