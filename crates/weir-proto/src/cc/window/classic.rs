//! What all classic window controllers share (RFC 9002 §7 and appendix B): slow start, one
//! reduction in each recovery period, the minimum window, no growth while the application limits
//! sending, persistent congestion, and undoing a spurious reduction.

use super::hystart_plus_plus::{HyStartPlusPlus, SlowStart};
use super::slow_start::HyStart;
use super::{BoxedController, RecoveryBoundary, WindowConfig, slow_start};
use crate::cc::{Acked, CongestionEvent, RetransmissionTimeout, Sent, WindowController};
use crate::event::Limit;
use crate::time::Instant;

/// The part in which classic window controllers differ. Windows are in octets.
pub trait Policy {
    /// Its slow start may end by HyStart.
    const HYSTART: bool = false;
    /// The window after this packet was acknowledged in congestion avoidance.
    fn on_ack(&mut self, cwnd: u64, acked: &Acked) -> u64;
    /// The window that a congestion event leaves, before the minimum is applied.
    fn on_congestion_event(&mut self, now: Instant, cwnd: u64) -> u64;
    /// Octets were acknowledged in recovery and count towards the next increase.
    fn count_acked(&mut self, _bytes: u64) {}
    /// Discards the octets that were counted towards the next increase.
    fn reset_acked(&mut self) {}
    /// A packet was acknowledged while the application limited sending.
    fn on_app_limited(&mut self, _now: Instant) {}
    /// Forgets what was learnt about the path, after persistent congestion.
    fn reset(&mut self);
    /// The largest datagram has this many octets from now on.
    fn set_max_datagram_size(&mut self, octets: u64);
    /// Octets acknowledged towards the next increase; zero for a policy that counts none.
    fn partial_bytes_acked(&self) -> u64 {
        0
    }
}

/// The state before the last reduction, to restore if the losses were spurious.
#[derive(Clone, Debug)]
struct Undo<P> {
    cwnd: u64,
    ssthresh: Option<u64>,
    policy: P,
}

/// A classic window controller with this policy.
#[derive(Clone, Debug)]
pub struct Classic<P> {
    policy: P,
    config: WindowConfig,
    cwnd: u64,
    ssthresh: Option<u64>,
    /// When the last recovery period started.
    recovery_start: Option<Instant>,
    /// No packet sent after the start of recovery has been acknowledged yet.
    recovering: bool,
    /// One packet may leave beyond the window (RFC 9002 §7.3.2).
    probe_allowed: bool,
    /// The rule that bound the window when it last changed.
    limit: Limit,
    undo: Option<Undo<P>>,
    hystart: Option<HyStart>,
    hystart_plus_plus: Option<HyStartPlusPlus>,
}

impl<P: Policy + Clone> Classic<P> {
    /// A controller at its initial window.
    pub fn new(config: &WindowConfig, policy: P) -> Self {
        Self {
            policy,
            config: *config,
            cwnd: config.initial_window(),
            ssthresh: None,
            recovery_start: None,
            recovering: false,
            probe_allowed: false,
            limit: Limit::InitialWindow,
            undo: None,
            hystart: (P::HYSTART && config.rules.hystart).then(HyStart::default),
            hystart_plus_plus: config
                .rules
                .hystart_plus_plus
                .then(HyStartPlusPlus::default),
        }
    }

    /// A packet was acknowledged in slow start.
    fn grow_in_slow_start(&mut self, acked: &Acked) {
        let (grown, mut ends) = match &mut self.hystart_plus_plus {
            None => (acked.bytes, false),
            Some(hystart) => match hystart.on_ack(acked) {
                SlowStart::Grow(grown) => (grown, false),
                SlowStart::GrowAndEnd(grown) => (grown, true),
            },
        };
        self.cwnd = slow_start::grow(self.cwnd, grown);
        self.limit = Limit::SlowStart;
        let packets = self.cwnd / self.config.max_datagram_size;
        if let Some(hystart) = &mut self.hystart {
            ends |= hystart.on_ack(acked, packets);
        }
        if ends {
            self.ssthresh = Some(self.cwnd);
        }
    }

    /// Reduces ssthresh, and remembers what was before.
    fn reduce(&mut self, now: Instant, flight_size: Option<u64>) -> u64 {
        self.undo = self.config.rules.undo_spurious.then(|| Undo {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            policy: self.policy.clone(),
        });
        let in_use = flight_size.map_or(self.cwnd, |size| size.min(self.cwnd));
        let reduced = self.policy.on_congestion_event(now, in_use);
        self.ssthresh = Some(reduced.max(self.config.minimum_window()));
        reduced
    }

    #[inline]
    fn in_recovery(&self, sent_at: Instant) -> bool {
        self.recovery_start
            .is_some_and(|start| match self.config.rules.recovery_boundary {
                RecoveryBoundary::AtOrBefore => sent_at <= start,
                RecoveryBoundary::Before => sent_at < start,
            })
    }
}

impl<P: Policy + Clone + Send + Sync + 'static> WindowController for Classic<P> {
    fn on_sent(&mut self, _: &Sent) {}

    fn on_ack(&mut self, acked: &Acked) {
        if self.config.rules.flush_on_empty_flight && acked.bytes >= acked.bytes_in_flight {
            self.policy.reset_acked();
        }
        let in_recovery = self.in_recovery(acked.sent_at);
        self.recovering &= in_recovery;
        // RFC 9002 §7.8: an underutilised window does not grow.
        if acked.app_limited {
            self.policy.on_app_limited(acked.now);
            if !in_recovery {
                self.limit = Limit::ApplicationLimited;
            }
            return;
        }
        let in_slow_start = slow_start::applies(self.cwnd, self.ssthresh);
        if in_recovery {
            if self.config.rules.count_acked_in_recovery && !in_slow_start {
                self.policy.count_acked(acked.bytes);
            }
            return;
        }
        if in_slow_start {
            self.policy.reset_acked();
            self.grow_in_slow_start(acked);
        } else {
            self.cwnd = self.policy.on_ack(self.cwnd, acked);
            self.limit = Limit::CongestionAvoidance;
        }
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent) {
        // RFC 9002 §7.3.2: one reduction in each recovery period.
        if self.in_recovery(event.sent_at) {
            return;
        }
        let reduced = self.reduce(event.now, event.flight_size);
        self.recovery_start = Some(event.now);
        self.recovering = true;
        self.probe_allowed = self.config.rules.recovery_probe;
        self.limit = if reduced > self.config.minimum_window() {
            Limit::Recovery
        } else {
            Limit::MinimumWindow
        };
        self.cwnd = reduced.max(self.config.minimum_window());
    }

    fn on_persistent_congestion(&mut self, _now: Instant) {
        // RFC 9002 §7.6.2 and appendix B.8.
        self.policy.reset();
        self.cwnd = self.config.minimum_window();
        self.recovery_start = None;
        self.recovering = false;
        self.probe_allowed = false;
        self.undo = None;
        self.limit = Limit::PersistentCongestion;
    }

    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout) {
        if !timeout.repeated {
            self.reduce(timeout.now, timeout.flight_size);
        }
        self.policy.reset();
        // RFC 5681 §3.1: the loss window, LW, is one segment.
        self.cwnd = self.config.max_datagram_size;
        self.recovery_start = None;
        self.recovering = false;
        self.probe_allowed = false;
        self.limit = Limit::Timeout;
    }

    fn on_handshake_loss(&mut self) {
        self.cwnd = self.config.max_datagram_size;
    }

    fn on_idle_restart(&mut self) {
        // RFC 5681 §4.1: RW = min(IW, cwnd).
        self.cwnd = self.cwnd.min(self.config.initial_window());
    }

    fn on_spurious_congestion_event(&mut self, _now: Instant) {
        if let Some(undo) = self.undo.take().filter(|undo| undo.cwnd > self.cwnd) {
            self.cwnd = undo.cwnd;
            self.ssthresh = undo.ssthresh;
            self.policy = undo.policy;
            self.recovery_start = None;
            self.recovering = false;
            self.probe_allowed = false;
            self.limit = if slow_start::applies(self.cwnd, self.ssthresh) {
                Limit::SlowStart
            } else {
                Limit::CongestionAvoidance
            };
        }
    }

    fn window(&self) -> u64 {
        self.cwnd
    }

    fn partial_bytes_acked(&self) -> u64 {
        self.policy.partial_bytes_acked()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh
    }

    fn take_recovery_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_allowed)
    }

    fn state(&self) -> &'static str {
        if self.recovering {
            "recovery"
        } else if slow_start::applies(self.cwnd, self.ssthresh) {
            "slow_start"
        } else {
            "congestion_avoidance"
        }
    }

    fn limit(&self) -> Limit {
        self.limit
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        let octets = octets.max(1);
        self.config.max_datagram_size = octets;
        self.policy.set_max_datagram_size(octets);
        // RFC 9002 §7.2: a new datagram size changes the initial window; once the window has
        // changed, only its minimum.
        self.cwnd = match self.limit {
            Limit::InitialWindow => self.config.initial_window(),
            _ => self.cwnd.max(self.config.minimum_window()),
        };
    }

    fn clone_box(&self) -> BoxedController {
        Box::new(self.clone())
    }
}
