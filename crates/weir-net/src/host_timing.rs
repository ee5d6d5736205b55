//! The delays of a host between a protocol and the wire, and which moment counts as the time of
//! sending.
//!
//! An endpoint hands a packet over at t. The packet enters the wire at t + `transmit_delay`; the
//! host calls `Endpoint::transmitted` at t or when the packet has left, as `stamp` selects. On
//! Linux's loopback the two differ by far more than the round-trip time, because the receiver runs
//! inside the sender's call: CCID-3 stamps a packet after that call, and so measures 3 µs of a
//! turn-around of 50 µs.
//!
//! The delays of the stack are constant. The time in the host's interface varies by `jitter`:
//! interrupts and the scheduler shift each packet a little, which keeps flows of one round-trip
//! time from phase locking (Floyd and Jacobson, On Traffic Phase Effects in Packet-Switched
//! Gateways, 1992; the same as ns-2's `overhead_`).
//!
//! Does not model: CPU load. Packets wait for each other only to keep their order; a tick may delay
//! a timer and never makes it early.

use weir_proto::DurationRange;
use weir_proto::settings::{count, or_word};
use weir_proto::time::{Duration, Instant};

weir_proto::settings! {
    /// How long a host takes between a protocol and the wire.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HostTiming {
        /// Time from the protocol's handing over of a packet until it enters the wire.
        pub transmit_delay: Duration,
        /// Which moment the protocol takes as the time of sending: the handing over, or when the
        /// packet has really left.
        pub stamp: SendTimestamp,
        /// Time from the wire until the protocol handles the packet.
        pub receive_delay: Duration,
        /// Time that each packet takes in the host's interface, drawn uniformly for each: between
        /// the wire and the stack, both ways. Packets of one flow keep their order. The stack and
        /// its captures are on the other side of it.
        pub jitter: DurationRange,
        /// Timers fire at ticks of this frequency, in hertz; "ideal" fires them exactly.
        pub timer_hz: Option<u32> => or_word("ideal", count(1..=1_000_000_000, "hertz")),
    }
}

weir_proto::keywords! {
    /// The moment that counts as the time of sending.
    #[derive(Default)]
    pub enum SendTimestamp {
        /// When the endpoint hands the packet over.
        Handover = "handover",
        /// When the packet enters the wire.
        #[default]
        Transmitted = "transmitted",
    }
}

impl HostTiming {
    /// The first tick that is not before `timeout`.
    pub fn tick_at(&self, timeout: Instant) -> Instant {
        const SECOND: u128 = 1_000_000_000;
        let Some(hz) = self.timer_hz.map(u128::from).filter(|&hz| hz > 0) else {
            return timeout;
        };
        // Ticks are counted from the start of the run. Tick k is at k * 1e9 / hz, rounded up to
        // whole nanoseconds; the first that is not before t has k > (t - 1) * hz / 1e9.
        let Some(before) = timeout.as_nanos().checked_sub(1) else {
            return timeout;
        };
        let tick = u128::from(before) * hz / SECOND + 1;
        let nanos = (tick * SECOND).div_ceil(hz);
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_fires_at_the_first_tick_that_is_not_early() {
        let at = |hz, nanos| {
            let timing = HostTiming {
                timer_hz: hz,
                ..HostTiming::default()
            };
            timing.tick_at(Instant::from_nanos(nanos)).as_nanos()
        };
        assert_eq!(at(None, 1_234_567), 1_234_567);
        assert_eq!(at(Some(1000), 1_234_567), 2_000_000);
        assert_eq!(at(Some(1000), 2_000_000), 2_000_000);
        assert_eq!(at(Some(250), 1), 4_000_000);
        // 1024 Hz: tick 1 lies at 976562.5 ns and is rounded up, never early.
        assert_eq!(at(Some(1024), 976_562), 976_563);
        assert_eq!(at(Some(1024), 976_563), 976_563);
        assert_eq!(at(Some(1024), 976_564), 1_953_125);
        assert_eq!(at(Some(0), 5), 5);
        assert_eq!(at(Some(100), u64::MAX), u64::MAX);
    }
}
