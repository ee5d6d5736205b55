//! Groups of packets, and the variation of the delay from one to the next (gcc-02 §5.1, §5.2):
//!
//!   d(i) = t(i) - t(i-1) - (T(i) - T(i-1))

use super::config::GccConfig;
use crate::time::{Duration, Instant};

/// Packets that were sent or arrived in a burst.
#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Instant,
    /// T(i).
    last_sent: Instant,
    first_arrival: Duration,
    /// t(i), by the receiver's clock.
    last_arrival: Duration,
}

/// The variation between two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Variation {
    /// t(i), by the receiver's clock.
    pub(super) arrival: Duration,
    /// T(i) - T(i-1).
    pub(super) sent: Duration,
    /// d(i) in milliseconds.
    pub(super) delay_ms: f64,
}

/// The group that is being received, and the one before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Groups {
    current: Option<Group>,
    last: Option<Group>,
}

impl Groups {
    /// A packet that was sent and received at these times. Returns the variation of the group that
    /// it ends, if that has one before it.
    pub(super) fn on_packet(
        &mut self,
        config: &GccConfig,
        sent: Instant,
        arrival: Duration,
    ) -> Option<Variation> {
        let Some(current) = &mut self.current else {
            self.current = Some(Group::new(sent, arrival));
            return None;
        };
        // §5.1: packets out of order are ignored.
        if arrival < current.last_arrival || sent < current.last_sent {
            return None;
        }
        if current.takes(config, sent, arrival) {
            (current.last_sent, current.last_arrival) = (sent, arrival);
            return None;
        }
        let ended = *current;
        self.current = Some(Group::new(sent, arrival));
        let before = self.last.replace(ended)?;
        let spaced = ended.last_sent.since(before.last_sent);
        let arrived = ended.last_arrival.saturating_sub(before.last_arrival);
        Some(Variation {
            arrival: ended.last_arrival,
            sent: spaced,
            delay_ms: (arrived.as_secs_f64() - spaced.as_secs_f64()) * 1000.0,
        })
    }
}

impl Group {
    const fn new(sent: Instant, arrival: Duration) -> Self {
        Self {
            first_sent: sent,
            last_sent: sent,
            first_arrival: arrival,
            last_arrival: arrival,
        }
    }

    /// True if the packet belongs to this group.
    fn takes(&self, config: &GccConfig, sent: Instant, arrival: Duration) -> bool {
        // §5.2: a sequence that is sent within burst_time.
        if sent.since(self.first_sent) <= config.burst_time {
            return true;
        }
        // §5.2: a packet that arrives within burst_time of the last one, by which its delay falls.
        let (spaced, arrived) = (
            sent.since(self.last_sent),
            arrival.saturating_sub(self.last_arrival),
        );
        arrived < config.burst_time
            && arrived < spaced
            && arrival.saturating_sub(self.first_arrival) < config.max_burst
    }
}
