//! The stack's probe timeouts (RFC 9002 §6.2).
//!
//! quinn and noq do not report them. They are inferred from the packets sent: only the probes of an
//! expiry are ack-eliciting and sent without a query of the window (see
//! [`WindowQueries`](super::super::stack_api::WindowQueries)), which does not apply to them
//! (RFC 9002 §7.5); there are no path MTU probes. A probe timeout is therefore an expired timer of
//! the stack's followed at the same instant by at least one probe.
//!
//! Not visible: the packet number space of the timeout, and the data that the probes repeat.

use super::SimEndpoint;
use weir_proto::event::{Event, EventMask};
use weir_proto::time::Instant;

/// The state that distinguishes probe timeouts from the stack's other timers.
#[derive(Debug, Default)]
pub(super) struct ProbeTimeouts {
    /// When a timer of the stack's last expired, until a probe has been sent.
    expired: Option<Instant>,
    /// Consecutive probe timeouts.
    in_row: u32,
    /// Octets that were acknowledged before them.
    delivered: Option<u64>,
}

impl ProbeTimeouts {
    /// A timer of the stack's has expired.
    pub(super) const fn on_timer(&mut self, now: Instant) {
        self.expired = Some(now);
    }

    /// A probe is sent, after `delivered` octets were acknowledged. Returns the number of
    /// consecutive expiries before this one, if it is the first probe of an expiry.
    fn on_probe(&mut self, now: Instant, delivered: Option<u64>) -> Option<u32> {
        self.expired.take_if(|at| *at == now)?;
        if self.delivered != delivered {
            (self.delivered, self.in_row) = (delivered, 0);
        }
        let before = self.in_row;
        self.in_row = before.saturating_add(1);
        Some(before)
    }
}

impl SimEndpoint {
    /// A probe is sent: reports its probe timeout, if it is the first one.
    pub(super) fn on_probe(&mut self, now: Instant) {
        let delivered = self.view.lock().delivered();
        if let Some(backoff) = self.probe_timeouts.on_probe(now, delivered) {
            self.statistics.timeouts += 1;
            self.events
                .push(now, EventMask::TIMEOUT, || Event::Timeout { backoff });
        }
    }
}
