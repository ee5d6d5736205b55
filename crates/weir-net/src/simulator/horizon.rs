//! How far a call of the event loop goes.

use weir_proto::time::{Duration, Instant};

/// The end of a call of [`simulate_to`](super::simulate_to).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// The time up to which the network runs.
    pub until: Instant,
    /// Whether events exactly at `until` are processed.
    pub including: bool,
    /// Events after which the call returns early. In a network with windows it returns at the end
    /// of one, after some more.
    pub max_events: u64,
}

impl Horizon {
    /// Up to and including `until`, with any number of events.
    pub const fn including(until: Instant) -> Self {
        Self {
            until,
            including: true,
            max_events: u64::MAX,
        }
    }

    /// The horizon, reduced to this span from now if that ends earlier.
    pub fn after(self, now: Instant, span: Duration) -> Self {
        let until = now + span;
        if until < self.until {
            Self {
                until,
                including: true,
                ..self
            }
        } else {
            self
        }
    }

    /// The first time that does not belong to it.
    pub(super) fn end(&self) -> Instant {
        let end = self.until.as_nanos();
        Instant::from_nanos(end.saturating_add(u64::from(self.including)))
    }

    /// True if an event at this time belongs to it.
    pub(super) const fn contains(&self, at: Instant) -> bool {
        let (at, until) = (at.as_nanos(), self.until.as_nanos());
        at < until || (at == until && self.including)
    }
}
