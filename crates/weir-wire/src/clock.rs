//! Real time as the machines see it: nanoseconds since the hub began, plus a second, so that a
//! machine may look back from its first moment.

use std::time::Instant as Real;
use weir_proto::time::Instant;

const AHEAD: u64 = 1_000_000_000;

/// A clock that never runs backwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Real);

impl Clock {
    pub(crate) fn start() -> Self {
        Self(Real::now())
    }

    pub(crate) fn now(&self) -> Instant {
        let nanos = u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX - AHEAD);
        Instant::from_nanos(nanos.saturating_add(AHEAD))
    }
}
