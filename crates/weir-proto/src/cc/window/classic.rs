//! The common part of all classic window controllers (RFC 9002 §7 and appendix B): slow start, one
//! reduction in each recovery period, the minimum window, no growth while the application limits
//! sending, persistent congestion, and undoing a spurious reduction.

use super::careful_resume::{CarefulResume, Step};
use super::pacing::Pace;
use super::rate_limited::{LargestFlight, WindowUse};
use super::slow_start::{RapidStart, SlowStart, SlowWindow, applies};
use super::{
    BoxedController, Policy, RateLimitedGrowth, RecoveryBoundary, WindowBasis, WindowConfig,
};
use crate::cc::{
    Acked, CongestionEvent, ConnectionEvent, EndAcks, Lost, Needs, PacingRate, Report,
    RetransmissionTimeout, Sent, WindowController,
};
use crate::event::Limit;
use crate::time::{Duration, Instant};

/// The rules of every classic controller.
pub(super) const RULES: &[&str] = &[
    "recovery_boundary",
    "recovery_probe",
    "undo_spurious",
    "pacing",
    "rate_limited_growth",
    "whole_packets",
];

/// The rules of classic controllers that have a slow start.
pub(super) const SLOW_START_RULES: &[&str] = &[
    "hystart_plus_plus",
    "search",
    "rapid_start",
    "slow_start_exit_percent",
    "careful_resume",
];

/// The state before the last reduction, to restore if the losses were spurious.
#[derive(Clone, Debug)]
struct Undo<P> {
    cwnd: u64,
    ssthresh: Option<u64>,
    policy: P,
    rapid: Option<Box<RapidStart>>,
}

/// A classic window controller with this policy.
#[derive(Clone, Debug)]
pub struct Classic<P> {
    policy: P,
    config: WindowBasis,
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
    slow_start: SlowStart,
    largest_flight: LargestFlight,
    window_use: WindowUse,
    /// The smoothed round-trip time, for the pacer.
    rtt: Duration,
    /// Careful Resume, until it is over.
    resume: Option<CarefulResume>,
    /// Rapid Start, until it is over.
    rapid: Option<Box<RapidStart>>,
}

impl<P: Policy + Clone> Classic<P> {
    /// A controller at its initial window.
    pub fn new(config: &WindowConfig, policy: P) -> Self {
        Self {
            policy,
            config: config.basis(),
            cwnd: config.initial_window(),
            ssthresh: None,
            recovery_start: None,
            recovering: false,
            probe_allowed: false,
            limit: Limit::InitialWindow,
            undo: None,
            slow_start: SlowStart::new(&config.rules.controller, P::HYSTART),
            largest_flight: LargestFlight::new(config.initial_window()),
            window_use: WindowUse::default(),
            rtt: Duration::ZERO,
            resume: config
                .rules
                .controller
                .careful_resume
                .filter(|_| P::SLOW_START)
                .map(CarefulResume::new),
            rapid: (config.rules.controller.rapid_start && P::SLOW_START).then(Box::default),
        }
    }

    /// Follows Careful Resume; false if the window does not grow besides.
    fn follow(&mut self, step: Step) -> bool {
        self.resume.take_if(|resume| resume.is_over());
        match step {
            Step::Normal => return true,
            Step::Hold => {}
            Step::Window(octets, limit) => (self.cwnd, self.limit) = (octets, limit),
            Step::Threshold(octets) => {
                self.ssthresh = Some(octets.max(self.config.minimum_window()));
            }
        }
        false
    }

    /// A packet was acknowledged in slow start.
    fn grow_in_slow_start(&mut self, acked: &Acked) {
        let window = SlowWindow {
            octets: self.cwnd,
            packet: self.config.max_datagram_size,
            first: self.ssthresh.is_none(),
        };
        let bytes = match &mut self.rapid {
            Some(rapid) => rapid.on_ack(acked),
            None => acked.bytes,
        };
        let counted = Acked { bytes, ..*acked };
        let rules = &self.config.rules.controller;
        let growth = self.slow_start.on_ack(&counted, window, rules);
        self.cwnd = growth.window;
        self.limit = Limit::SlowStart;
        if growth.ends {
            self.ssthresh = Some(self.cwnd);
            self.rapid = None;
        }
    }

    /// Limits the window to the size that the largest flight allows, if that is the rule.
    fn cap_by_flight(&mut self, in_slow_start: bool) {
        if self.config.rules.controller.rate_limited_growth != RateLimitedGrowth::Flight {
            return;
        }
        let flight = self.largest_flight.octets();
        let limit = if in_slow_start {
            let rapid = self.rapid.as_deref();
            flight.saturating_mul(rapid.map_or(2, RapidStart::multiple))
        } else {
            self.policy.limit(flight, self.config.max_datagram_size)
        };
        let limit = limit.max(self.config.minimum_window());
        if self.cwnd > limit {
            self.cwnd = limit;
            self.limit = Limit::ApplicationLimited;
        }
    }

    fn in_slow_start(&self) -> bool {
        P::SLOW_START && applies(self.cwnd, self.ssthresh)
    }

    /// Reduces ssthresh and saves the previous state.
    fn reduce(&mut self, now: Instant, flight_size: Option<u64>) -> u64 {
        self.undo = self.config.rules.controller.undo_spurious.then(|| Undo {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            policy: self.policy.clone(),
            rapid: (self.rapid.as_deref()).map(|rapid| Box::new(rapid.without_losses())),
        });
        let in_use = self.in_packets(flight_size.map_or(self.cwnd, |size| size.min(self.cwnd)));
        let mut reduced = self.policy.on_congestion_event(now, in_use);
        if let Some(percent) = self.config.rules.controller.slow_start_exit_percent
            && self.in_slow_start()
        {
            reduced = in_use.saturating_mul(u64::from(percent)) / 100;
        }
        let initial = self.config.initial_window();
        let rapid = self.rapid.take();
        let rapid = rapid.and_then(|rapid| rapid.on_reduction((in_use, reduced), initial));
        self.rapid = rapid.map(Box::new);
        let reduced = self.in_packets(reduced);
        self.largest_flight.reset();
        self.ssthresh = Some(reduced.max(self.config.minimum_window()));
        reduced
    }

    /// Sets window and threshold to what Rapid Start leaves of them in its recovery period.
    fn follow_rapid(&mut self) {
        if let Some(octets) = self.rapid.as_deref().and_then(RapidStart::window) {
            self.cwnd = self.in_packets(octets).max(self.config.minimum_window());
            self.ssthresh = Some(self.cwnd);
            self.limit = Limit::RapidStart;
        }
    }

    /// The recovery period of Rapid Start is over.
    fn end_rapid(&mut self) {
        let ended = self.rapid.take_if(|rapid| rapid.is_recovering());
        if let Some(octets) = ended.and_then(|rapid| rapid.full_bdp(self.cwnd)) {
            self.policy.on_full_bdp(octets);
        }
    }

    /// The octets of whole packets if windows count in packets, otherwise all. An octet is added
    /// because the product of a window and a factor is truncated.
    fn in_packets(&self, octets: u64) -> u64 {
        let packet = self.config.max_datagram_size;
        if self.config.rules.controller.whole_packets {
            (octets + 1) / packet * packet
        } else {
            octets
        }
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
    fn needs(&self) -> Needs {
        Needs {
            filled_window: P::NEAR_FLIGHT,
            end_acks: self.config.rules.controller.rapid_start && P::SLOW_START,
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.largest_flight.update(sent.bytes_in_flight);
        self.rtt = sent.rtt.smoothed;
        if let Some(resume) = &mut self.resume {
            let step = resume.on_sent(sent, self.cwnd, &self.config);
            self.follow(step);
        }
    }

    fn on_ack(&mut self, acked: &Acked) {
        if self.config.rules.flush_on_empty_flight && acked.bytes >= acked.bytes_in_flight {
            self.policy.reset_acked();
        }
        let in_recovery = self.in_recovery(acked.sent_at);
        self.recovering &= in_recovery;
        if !in_recovery {
            self.end_rapid();
        }
        self.slow_start.on_delivered(acked.bytes);
        self.policy.on_delivered(acked);
        self.largest_flight.update(acked.bytes_in_flight);
        if let Some(resume) = &mut self.resume {
            let step = resume.on_ack(acked, self.cwnd, &self.config);
            if !self.follow(step) {
                return;
            }
        }
        let in_slow_start = self.in_slow_start();
        let holds = match self.config.rules.controller.rate_limited_growth {
            // RFC 9002 §7.8: an underutilised window does not grow.
            RateLimitedGrowth::Hold => acked.app_limited,
            RateLimitedGrowth::Linux => {
                self.window_use.on_ack(acked);
                !self.window_use.permits_growth(self.cwnd, in_slow_start)
            }
            RateLimitedGrowth::Flight | RateLimitedGrowth::Unlimited => false,
        };
        if holds {
            self.policy.on_app_limited(acked.now);
            if !in_recovery {
                self.limit = Limit::ApplicationLimited;
            }
            return;
        }
        let before = self.cwnd;
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
        // draft-ietf-ccwg-ratelimited-increase §3: maxFS begins anew, whatever reduced the window.
        if self.cwnd < before {
            self.largest_flight.restart(acked.bytes_in_flight);
        }
        self.cap_by_flight(in_slow_start);
    }

    fn on_lost(&mut self, lost: &Lost) {
        let in_period = self.in_recovery(lost.sent_at);
        if let Some(rapid) = &mut self.rapid {
            rapid.on_lost(lost.bytes, in_period);
            self.follow_rapid();
        }
    }

    fn on_end_acks(&mut self, acks: &EndAcks) -> bool {
        if !self.in_recovery(acks.newest_sent_at) {
            self.end_rapid();
        } else if let Some(rapid) = &mut self.rapid {
            rapid.on_end_acks(acks.newly_acked);
            self.follow_rapid();
        }
        false
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent) -> bool {
        // RFC 9002 §7.3.2: one reduction in each recovery period.
        if self.in_recovery(event.sent_at) {
            return false;
        }
        let mut reduced = self.reduce(event.now, event.flight_size);
        let retreat = self
            .resume
            .as_mut()
            .and_then(CarefulResume::on_congestion_event);
        self.resume.take_if(|resume| resume.is_over());
        if let Some(most) = retreat {
            // RFC 9959 §3.5: at most half of PipeSize, and the saved state is not used again.
            reduced = reduced.min(most);
            (self.undo, self.rapid) = (None, None);
        }
        self.recovery_start = Some(event.now);
        self.recovering = true;
        self.probe_allowed = self.config.rules.recovery_probe;
        self.limit = if reduced > self.config.minimum_window() {
            retreat.map_or(Limit::Recovery, |_| Limit::SafeRetreat)
        } else {
            Limit::MinimumWindow
        };
        self.cwnd = reduced.max(self.config.minimum_window());
        self.follow_rapid();
        true
    }

    fn on_persistent_congestion(&mut self, _now: Instant) {
        // RFC 9002 §7.6.2 and appendix B.8.
        self.policy.reset();
        self.largest_flight.reset();
        self.cwnd = self.config.minimum_window();
        self.recovery_start = None;
        self.recovering = false;
        self.probe_allowed = false;
        self.undo = None;
        (self.resume, self.rapid) = (None, None);
        self.limit = Limit::PersistentCongestion;
    }

    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout) {
        if !timeout.repeated {
            self.reduce(timeout.now, timeout.flight_size);
        }
        self.policy.reset();
        self.largest_flight.reset();
        // RFC 5681 §3.1: the loss window, LW, is one segment.
        self.cwnd = self.config.max_datagram_size;
        self.recovery_start = None;
        self.recovering = false;
        self.probe_allowed = false;
        (self.resume, self.rapid) = (None, None);
        self.limit = Limit::Timeout;
    }

    fn on_connection_event(&mut self, event: ConnectionEvent) {
        self.resume = None;
        match event {
            ConnectionEvent::HandshakeLoss => {
                self.cwnd = self.config.max_datagram_size;
                self.rapid = None;
                self.largest_flight = LargestFlight::new(self.cwnd);
            }
            ConnectionEvent::IdleRestart => {
                // RFC 5681 §4.1: RW = min(IW, cwnd).
                let restart = self.config.initial_window();
                if self.cwnd > restart {
                    self.cwnd = restart;
                    self.largest_flight.reset();
                }
            }
            ConnectionEvent::SlowReceiver => {
                if self.in_slow_start() {
                    self.rapid = None;
                    self.ssthresh = Some(self.cwnd.max(self.config.minimum_window()));
                }
            }
        }
    }

    fn on_spurious_congestion_event(&mut self, _now: Instant) -> bool {
        let Some(undo) = self.undo.take() else {
            return false;
        };
        if undo.cwnd > self.cwnd {
            self.cwnd = undo.cwnd;
            self.ssthresh = undo.ssthresh;
            (self.policy, self.rapid) = (undo.policy, undo.rapid);
            self.recovery_start = None;
            self.recovering = false;
            self.probe_allowed = false;
            self.limit = if self.in_slow_start() {
                Limit::SlowStart
            } else {
                Limit::CongestionAvoidance
            };
        }
        true
    }

    fn window(&self) -> u64 {
        self.cwnd
    }

    #[inline]
    fn pacing(&self) -> Option<PacingRate> {
        let packet = self.config.max_datagram_size;
        if let Some(pacing) = self.resume.and_then(|resume| resume.pacing(packet)) {
            return Some(pacing);
        }
        let flow = Pace {
            window: self.cwnd as f64,
            ssthresh: self.ssthresh.map_or(f64::INFINITY, |octets| octets as f64),
            packet: self.config.max_datagram_size as f64,
            rtt: self.rtt,
        };
        if let Some(pacing) = self.rapid.as_deref().and_then(|rapid| rapid.pacing(&flow)) {
            return Some(pacing);
        }
        let rules = &self.config.rules.controller;
        rules.pacing.pace(&flow, self.config.initial_window())
    }

    fn take_recovery_probe(&mut self) -> bool {
        std::mem::take(&mut self.probe_allowed)
    }

    fn report(&self) -> Report {
        let state = if let Some(resume) = &self.resume {
            resume.state()
        } else if self.recovering {
            "recovery"
        } else if self.in_slow_start() {
            "slow_start"
        } else {
            "congestion_avoidance"
        };
        Report {
            ssthresh: self.ssthresh,
            partial_bytes_acked: self.policy.counted_acked(),
            // RFC 9959 §4.4 for the retreat; the window of Rapid Start falls gradually itself.
            window_in_recovery: matches!(self.limit, Limit::SafeRetreat | Limit::RapidStart),
            ..Report::new(state, self.limit)
        }
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        let octets = octets.max(1);
        self.config.max_datagram_size = octets;
        self.policy.set_max_datagram_size(octets);
        // RFC 9002 §7.2: a new datagram size changes the initial window; once the window has
        // changed, only its minimum.
        self.cwnd = match self.limit {
            Limit::InitialWindow => {
                self.largest_flight = LargestFlight::new(self.config.initial_window());
                self.config.initial_window()
            }
            _ => self.cwnd.max(self.config.minimum_window()),
        };
    }

    fn clone_box(&self) -> BoxedController {
        Box::new(self.clone())
    }
}

#[cfg(test)]
#[path = "classic_tests.rs"]
mod tests;
