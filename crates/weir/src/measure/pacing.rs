//! When the sender of a test writes: at a constant rate, or as fast as the transport takes it.

use std::time::Duration;
use tokio::time::Instant;
use weir_wire::test_protocol::TestConfig;

/// The timetable of a sender, from its beginning.
pub struct Pacing {
    start: Instant,
    end: Instant,
    interval: Option<Duration>,
    burst: u64,
    request: TestConfig,
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
            burst: u64::from(request.burst.max(1)),
            request: *request,
            writes: 0,
        }
    }

    /// When the next write is due; `None` without a rate, where each is due at once. The times are
    /// multiples of the interval, so that a late write delays no later one; those of a burst are
    /// due together.
    pub fn due(&self) -> Option<Instant> {
        let interval = self.interval?;
        let before = self.writes - self.writes % self.burst;
        Some(self.start + interval.mul_f64(before as f64))
    }

    /// True if all writes that were asked for are done.
    pub const fn is_done(&self) -> bool {
        self.request.ends_after(self.writes)
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
