//! When the sender of a test writes: at a constant rate, or as fast as the transport takes it.

use std::time::Duration;
use tokio::time::Instant;
use weir_wire::test_protocol::TestConfig;

/// The timetable of a sender, from its beginning.
pub struct Pacing {
    start: Instant,
    end: Instant,
    interval: Option<Duration>,
    writes: u64,
}

impl Pacing {
    /// Begins now.
    pub fn start(request: &TestConfig) -> Self {
        let start = Instant::now();
        let bits = f64::from(request.length) * 8.0;
        Self {
            start,
            end: start + request.duration,
            interval: request
                .rate_bps
                .map(|rate| Duration::from_secs_f64(bits / rate)),
            writes: 0,
        }
    }

    /// When the next write is due; `None` without a rate, where each is due at once. The times are
    /// multiples of the interval, so that a late write delays no later one.
    pub fn due(&self) -> Option<Instant> {
        let interval = self.interval?;
        Some(self.start + interval.mul_f64(self.writes as f64))
    }

    /// When the test's time is over.
    pub const fn end(&self) -> Instant {
        self.end
    }

    /// Counts a write.
    pub const fn count(&mut self) {
        self.writes += 1;
    }

    /// Writes so far.
    pub const fn writes(&self) -> u64 {
        self.writes
    }
}
