//! quinn's probe timeouts (RFC 9002 §6.2).
//!
//! quinn does not report them. They show in what it sends: only the probes that an expiry asks for
//! elicit acknowledgements and leave without a question for the window (see `QuinnSndLim`), which
//! does not apply to them (RFC 9002 §7.5); those that look for the path's MTU are counted apart. An
//! expiry therefore is a timer of quinn's that has expired, and at the same instant one probe or
//! more.
//!
//! Not visible: which packet number space it was for, and what the probes repeat.

use super::SimEndpoint;
use weir_proto::event::{Event, EventMask};
use weir_proto::time::Instant;

/// What tells probe timeouts apart from quinn's other timers.
#[derive(Debug, Default)]
pub(super) struct ProbeTimeouts {
    /// When quinn was last told that a timer has expired, until a probe has left.
    expired: Option<Instant>,
    /// Probe timeouts in a row.
    in_row: u32,
    /// Octets that were acknowledged before them.
    delivered: Option<u64>,
}

impl ProbeTimeouts {
    /// A timer of quinn's has expired.
    pub(super) const fn on_timer(&mut self, now: Instant) {
        self.expired = Some(now);
    }

    /// A probe leaves, after so many octets were acknowledged. Returns the expiries in a row before
    /// this one, if it is the first probe of an expiry.
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
    /// A probe leaves: reports the probe timeout that it belongs to, if it is the first.
    pub(super) fn on_probe(&mut self, now: Instant) {
        let delivered = self.view.lock().delivered();
        if let Some(backoff) = self.probe_timeouts.on_probe(now, delivered) {
            self.statistics.timeouts += 1;
            self.events
                .push(now, EventMask::TIMEOUT, || Event::Timeout { backoff });
        }
    }
}
