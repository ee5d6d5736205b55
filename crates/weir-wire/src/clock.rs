//! Real time as the machines see it: nanoseconds since a beginning.

use std::time::Instant as Real;
use weir_proto::time::Instant;

/// A hub's clock begins a second in, so that a machine may look back from its first moment.
const AHEAD: Instant = Instant::from_nanos(1_000_000_000);

/// A clock that never runs backwards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    beginning: Real,
    at: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self::start_at(AHEAD)
    }

    /// A clock that shows this time now.
    pub(crate) fn start_at(at: Instant) -> Self {
        Self {
            beginning: Real::now(),
            at,
        }
    }

    pub(crate) fn now(&self) -> Instant {
        let nanos = u64::try_from(self.beginning.elapsed().as_nanos()).unwrap_or(u64::MAX >> 8);
        Instant::from_nanos(self.at.as_nanos().saturating_add(nanos))
    }
}
