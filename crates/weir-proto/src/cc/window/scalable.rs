//! Scalable controllers: the window follows the *share* of marked packets, so that a round trip has
//! as many marks at any rate.
//!
//! [`Scalable`] is the common part of [`Dctcp`](super::Dctcp) (RFC 8257) and
//! [`Prague`](super::Prague): alpha, the share of marked packets averaged over rounds with the gain
//! g = 1/16; a reduction by `alpha / 2` at most once a round; and Reno's response to losses. A
//! [`Marking`] holds the differences. Both need the receiver's count of marks, from QUIC's ACK
//! frames (RFC 9000 §19.3.2) or TCP's AccECN (RFC 9768). The window is kept in fractions of a
//! packet, so that small reductions are not lost.

use super::pacing::Pace;
use super::{BoxedController, WindowBasis, WindowConfig};
use crate::cc::{
    Acked, CongestionEvent, ConnectionEvent, EcnCapability, EndAcks, Lost, Needs, PacingRate,
    Report, RetransmissionTimeout, Rtt, Sent, WindowController,
};
use crate::event::Limit;
use crate::time::{Duration, Instant};
use std::fmt;

/// g, the gain of alpha (RFC 8257 §4.2).
pub(super) const GAIN: f64 = 1.0 / 16.0;
/// The initial alpha (RFC 8257 §3.3): a mark in the first round halves the window.
const FIRST_ALPHA: f64 = 1.0;
/// The share of the window that is left after a loss, as in Reno (RFC 8257 §3.5).
const LOSS_FACTOR: f64 = 0.5;

/// The differences between scalable controllers.
pub trait Marking: Clone + fmt::Debug + Send + Sync + 'static {
    /// The codepoint of packets.
    const ECN: EcnCapability;
    /// Acknowledgements of unmarked packets let the window grow in the round of a reduction too.
    const GROWS_WHILE_REDUCED: bool;
    /// Rounds before the first mark update alpha too.
    const LEARNS_BEFORE_MARKS: bool;

    /// A round has ended, in slow start or not.
    fn on_round(&mut self, _slow_start: bool) {}

    /// How much the window grows in a round trip, in packets.
    fn increase(&self, _rtt: Rtt) -> f64 {
        1.0
    }

    /// The least time between two reductions, and between two updates of alpha.
    fn interval(&self) -> Duration {
        Duration::ZERO
    }

    /// The pacing; `None` leaves it to the rules.
    fn pacing(&self, _flow: &Pace) -> Option<PacingRate> {
        None
    }
}

/// alpha: the average share of marked packets.
#[derive(Clone, Copy, Debug)]
struct MarkedShare {
    alpha: f64,
    acked: u64,
    marked: u64,
    round_began: Instant,
    updated: Instant,
    /// Rounds update alpha: always, or from the first mark on.
    learns: bool,
}

impl MarkedShare {
    const fn new(learns_before_marks: bool) -> Self {
        Self {
            alpha: FIRST_ALPHA,
            acked: 0,
            marked: 0,
            round_began: Instant::ZERO,
            updated: Instant::ZERO,
            learns: learns_before_marks,
        }
    }

    /// Counts an acknowledgement; true if it ends a round.
    fn on_end_acks(&mut self, acks: &EndAcks, interval: Duration) -> bool {
        self.acked += acks.acked_packets;
        self.marked += acks.ecn_ce;
        self.learns |= acks.ecn_ce > 0;
        if acks.newest_sent_at < self.round_began {
            return false;
        }
        self.round_began = acks.now;
        if acks.now.since(self.updated) < interval || self.acked == 0 {
            return true;
        }
        if self.learns {
            let share = (self.marked as f64 / self.acked as f64).min(1.0);
            self.alpha += GAIN * (share - self.alpha);
        }
        self.updated = acks.now;
        (self.acked, self.marked) = (0, 0);
        true
    }
}

/// The state before losses reduced the window, to restore if they were spurious.
#[derive(Clone, Copy, Debug)]
struct Undo {
    window: f64,
    ssthresh: f64,
}

/// A scalable controller.
#[derive(Clone, Debug)]
pub struct Scalable<M> {
    marking: M,
    window: f64,
    ssthresh: f64,
    packet: f64,
    share: MarkedShare,
    rtt: Rtt,
    bytes_in_flight: u64,
    /// When the losses of this recovery were found.
    recovery: Option<Instant>,
    /// When marks last reduced the window.
    reduced: Option<Instant>,
    undo: Option<Undo>,
    /// Octets of the current acknowledgement that may let the window grow.
    growing: u64,
    limit: Limit,
    config: WindowBasis,
}

impl<M: Marking> Scalable<M> {
    pub(super) fn new(config: &WindowConfig, marking: M) -> Self {
        Self {
            marking,
            window: config.initial_window() as f64,
            ssthresh: f64::INFINITY,
            packet: config.max_datagram_size as f64,
            share: MarkedShare::new(M::LEARNS_BEFORE_MARKS),
            rtt: Rtt::default(),
            bytes_in_flight: 0,
            recovery: None,
            reduced: None,
            undo: None,
            growing: 0,
            limit: Limit::InitialWindow,
            config: config.basis(),
        }
    }

    /// alpha, the average share of marked packets.
    pub fn alpha(&self) -> f64 {
        self.share.alpha
    }

    fn in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }

    /// Reduces the window to this share, but not below two packets.
    fn reduce(&mut self, share: f64, limit: Limit) {
        self.window = (share * self.window).max(2.0 * self.packet);
        self.ssthresh = self.window;
        self.limit = limit;
    }

    /// Saves the state before losses reduce the window.
    fn save_for_undo(&mut self) {
        self.undo = self.config.rules.controller.undo_spurious.then_some(Undo {
            window: self.window,
            ssthresh: self.ssthresh,
        });
    }

    fn on_marks(&mut self, event: &CongestionEvent) -> bool {
        let interval = self.marking.interval();
        // A packet that is sent at the time of a reduction counts as sent after it.
        let is_answered = |reduced| event.sent_at < reduced;
        let again =
            (self.reduced).is_some_and(|at| is_answered(at) || event.now.since(at) < interval);
        if again || self.recovery.is_some() {
            return false;
        }
        self.reduced = Some(event.now);
        self.reduce(1.0 - self.share.alpha / 2.0, Limit::Recovery);
        true
    }

    /// Lets the window grow for `octets` acknowledged without a mark.
    fn grow(&mut self, octets: f64) {
        if self.in_slow_start() {
            self.window += octets;
            self.limit = Limit::SlowStart;
        } else {
            let increase = self.marking.increase(self.rtt);
            self.window += increase * self.packet * octets / self.window;
            self.limit = Limit::CongestionAvoidance;
        }
    }
}

impl<M: Marking> WindowController for Scalable<M> {
    fn needs(&self) -> Needs {
        Needs {
            end_acks: true,
            ecn: Some(M::ECN),
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.bytes_in_flight = sent.bytes_in_flight;
    }

    fn on_ack(&mut self, acked: &Acked) {
        let reduced = if M::GROWS_WHILE_REDUCED {
            None
        } else {
            self.reduced
        };
        let since = self.recovery.max(reduced);
        if !acked.app_limited && since.is_none_or(|since| acked.sent_at >= since) {
            self.growing += acked.bytes;
        }
    }

    fn on_lost(&mut self, _: &Lost) {}

    fn on_end_acks(&mut self, acks: &EndAcks) -> bool {
        self.rtt = acks.rtt;
        self.bytes_in_flight = acks.bytes_in_flight;
        if self
            .recovery
            .is_some_and(|recovery| acks.newest_sent_at > recovery)
        {
            self.recovery = None;
        }
        let growing = std::mem::take(&mut self.growing) as f64;
        let marked = acks.ecn_ce as f64 / acks.acked_packets.max(1) as f64;
        if growing > 0.0 && self.recovery.is_none() {
            self.grow(growing * (1.0 - marked).max(0.0));
        }
        if self.share.on_end_acks(acks, self.marking.interval()) {
            self.marking.on_round(self.in_slow_start());
        }
        false
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent) -> bool {
        if event.ecn {
            return self.on_marks(event);
        }
        if self
            .recovery
            .is_some_and(|recovery| event.sent_at <= recovery)
        {
            return false;
        }
        self.save_for_undo();
        self.recovery = Some(event.now);
        self.reduce(LOSS_FACTOR, Limit::Recovery);
        true
    }

    fn on_persistent_congestion(&mut self, _now: Instant) {
        self.window = 2.0 * self.packet;
        self.recovery = None;
        self.undo = None;
        self.limit = Limit::PersistentCongestion;
    }

    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout) {
        if !timeout.repeated {
            self.save_for_undo();
            self.ssthresh = (LOSS_FACTOR * self.window).max(2.0 * self.packet);
        }
        self.window = self.packet;
        self.recovery = None;
        self.limit = Limit::Timeout;
    }

    fn on_connection_event(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::HandshakeLoss => self.window = self.packet,
            // RFC 5681 §4.1: RW = min(IW, cwnd).
            ConnectionEvent::IdleRestart => {
                self.window = self.window.min(self.config.initial_window() as f64);
            }
            ConnectionEvent::SlowReceiver => self.ssthresh = self.ssthresh.min(self.window),
        }
    }

    fn on_spurious_congestion_event(&mut self, _now: Instant) -> bool {
        let Some(undo) = self.undo.take() else {
            return false;
        };
        if undo.window > self.window {
            self.window = undo.window;
            self.ssthresh = undo.ssthresh;
            self.recovery = None;
            self.limit = if self.in_slow_start() {
                Limit::SlowStart
            } else {
                Limit::CongestionAvoidance
            };
        }
        true
    }

    fn window(&self) -> u64 {
        self.window as u64
    }

    fn pacing(&self) -> Option<PacingRate> {
        let flow = Pace {
            window: self.window.max(self.bytes_in_flight as f64),
            ssthresh: self.ssthresh,
            packet: self.packet,
            rtt: self.rtt.smoothed,
        };
        let rules = &self.config.rules.controller;
        let by_rule = || rules.pacing.pace(&flow, self.config.initial_window());
        self.marking.pacing(&flow).or_else(by_rule)
    }

    fn take_recovery_probe(&mut self) -> bool {
        false
    }

    fn report(&self) -> Report {
        let state = if self.recovery.is_some() {
            "recovery"
        } else if self.in_slow_start() {
            "slow_start"
        } else {
            "congestion_avoidance"
        };
        Report {
            ssthresh: self.ssthresh.is_finite().then_some(self.ssthresh as u64),
            ..Report::new(state, self.limit)
        }
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.config.max_datagram_size = octets.max(1);
        self.packet = self.config.max_datagram_size as f64;
        // RFC 9002 §7.2, as other controllers.
        self.window = match self.limit {
            Limit::InitialWindow => self.config.initial_window() as f64,
            _ => self.window.max(2.0 * self.packet),
        };
    }

    fn clone_box(&self) -> BoxedController {
        Box::new(self.clone())
    }
}

#[cfg(test)]
#[path = "scalable_tests.rs"]
mod tests;
