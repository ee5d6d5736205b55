//! Monotonic time in the form of the state machines: nanoseconds since a start.

use std::time::Instant as Monotonic;
use weir_proto::time::{Duration, Instant};

/// Endpoint clocks start at one second, so that a state machine may subtract from its first time.
const ENDPOINT_START: Instant = Instant::from_nanos(1_000_000_000);

/// A clock that never runs backwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    started: Monotonic,
    start: Instant,
}

impl Clock {
    /// The clock of an endpoint.
    pub(crate) fn start() -> Self {
        Self::start_at(ENDPOINT_START)
    }

    /// A clock that shows `start` now.
    pub(crate) fn start_at(start: Instant) -> Self {
        Self {
            started: Monotonic::now(),
            start,
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.start + Duration::from(self.started.elapsed())
    }
}
