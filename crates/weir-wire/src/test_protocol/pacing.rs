//! When the sender of a test writes: at a constant rate, or as fast as the transport accepts data.

use super::TestConfig;
use weir_proto::time::{Duration, Instant};

/// The send times of a sender.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    began: Instant,
    /// Nanoseconds from one datagram or write to the next, with a rate.
    interval: Option<f64>,
    burst: u64,
    /// The number of writes after which the sender ends, zero for no limit.
    most: u64,
    writes: u64,
}

impl Pacing {
    /// The pacing of this test, whose data starts now.
    pub fn start(config: &TestConfig, now: Instant) -> Self {
        let bits = f64::from(config.length) * 8.0;
        Self {
            began: now,
            interval: config.rate_bps.map(|rate| bits * 1e9 / rate),
            burst: u64::from(config.burst.max(1)),
            most: config.writes,
            writes: 0,
        }
    }

    /// When the next write is due; `None` without a rate, when every write is due at once. The
    /// times are multiples of the interval, so that a late write does not delay later ones; writes
    /// of a burst are due together.
    pub fn due(&self) -> Option<Instant> {
        // The cast saturates.
        let before = self.writes - self.writes % self.burst;
        let after = (self.interval? * before as f64) as u64;
        Some(self.began + Duration::from_nanos(after))
    }

    /// True if the requested number of writes has been made.
    pub const fn is_done(&self) -> bool {
        self.most != 0 && self.writes >= self.most
    }

    /// Counts a write.
    pub const fn count(&mut self) {
        self.writes += 1;
    }

    /// Delays all later writes by this time.
    pub fn delay(&mut self, by: Duration) {
        self.began += by;
    }

    /// Writes so far.
    pub const fn writes(&self) -> u64 {
        self.writes
    }
}
