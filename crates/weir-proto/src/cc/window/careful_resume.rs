//! Careful Resume (RFC 9959, published from draft-ietf-tsvwg-careful-resume): a connection starts
//! with what an earlier connection has learnt of the same path.
//!
//! - Reconnaissance has the controller's window. It ends when the initial window is acknowledged
//!   without congestion and the round-trip time is that of the path.
//! - Unvalidated jumps to min(max_jump, saved_cwnd/2), paced over a round-trip time. It ends when
//!   this window is full, its first packet is acknowledged, or a round-trip time has passed.
//! - Validating grows from the octets in flight, as in slow start, until the last unvalidated
//!   packet is acknowledged.
//! - Safe Retreat holds PipeSize/2 until the last unvalidated packet is acknowledged: ssthresh is
//!   then beta PipeSize.
//! - Normal has the controller's window.
//!
//! PipeSize is the flight before the jump, and what is acknowledged of packets sent after it.
//! Congestion in Reconnaissance ends the attempt, congestion in Unvalidated or Validating begins
//! Safe Retreat. A timeout or persistent congestion ends the attempt in any phase.
//!
//! Not modelled: observing a connection, because the scenario gives what was saved; its lifetime;
//! and whether another connection uses it. Packets are told apart by the time of sending. TCP
//! reports no acknowledgements in fast recovery, so that there PipeSize is what was acknowledged
//! before it, a smaller value.

use super::WindowBasis;
use crate::cc::{Acked, PacingRate, Sent};
use crate::event::Limit;
use crate::settings;
use crate::settings::{bytes, count, duration, or_word};
use crate::time::{Duration, Instant};
use std::ops::RangeInclusive;

/// jump_cwnd is at most saved_cwnd over this (RFC 9959 §3.3).
const JUMP_DIVISOR: u64 = 2;
/// A minimum round-trip time of at most saved_rtt over this is another path (RFC 9959 §3.2).
const RTT_DIVISOR: u64 = 2;
/// A round-trip time above so many times saved_rtt is another path (RFC 9959 §4.2.1).
const RTT_FACTOR: u64 = 10;
/// What Safe Retreat leaves of PipeSize: it over this (RFC 9959 §3.5).
const RETREAT_DIVISOR: u64 = 2;

/// The bounds of a saved round-trip time.
const SAVED_RTTS: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(60);

settings! {
    /// What an earlier connection has learnt of the path.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CarefulResumeConfig {
        /// Bytes that the earlier connection had in flight in a round-trip time.
        pub saved_cwnd: u64 [required] => bytes(1..=1 << 40),
        /// Its minimum round-trip time. The path counts as the same if the minimum is now above
        /// half of this and at most ten times as long.
        pub saved_rtt: Duration [required] => duration(SAVED_RTTS),
        /// The largest window that the jump leads to, in bytes, beside half of `saved_cwnd`.
        pub max_jump: Option<u64> => or_word("none", bytes(1..=1 << 40)),
        /// Beta: the share of PipeSize that is ssthresh after a Safe Retreat.
        pub ssthresh_percent: u32 = 50 => count(50..=100, "percent"),
    }
}

impl CarefulResumeConfig {
    /// jump_cwnd in octets.
    fn jump(&self) -> u64 {
        let half = self.saved_cwnd / JUMP_DIVISOR;
        self.max_jump.map_or(half, |most| half.min(most))
    }

    /// True if this minimum round-trip time is that of the path on which the state was saved.
    fn confirms(&self, least: Duration) -> bool {
        least * RTT_DIVISOR > self.saved_rtt && least <= self.saved_rtt * RTT_FACTOR
    }
}

/// The packets sent since the jump.
#[derive(Clone, Copy, Debug)]
struct Jump {
    /// PipeSize in octets.
    pipe: u64,
    /// When the jump was made: later packets are unvalidated.
    since: Instant,
    /// When the last unvalidated packet was sent.
    last: Instant,
}

impl Jump {
    /// Counts an acknowledged packet; true if it was sent after the jump.
    fn count(&mut self, acked: &Acked) -> bool {
        let after = acked.sent_at >= self.since;
        if after {
            self.pipe = self.pipe.saturating_add(acked.bytes);
        }
        after
    }
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Octets acknowledged so far.
    Reconnaissance(u64),
    /// With jump_cwnd and the round-trip time over which it is paced.
    Unvalidated(Jump, u64, Duration),
    Validating(Jump),
    SafeRetreat(Jump),
    Normal,
}

/// What a controller has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It goes on by its own rules.
    Normal,
    /// Its window stays.
    Hold,
    /// Its window becomes this, in octets, because of this rule.
    Window(u64, Limit),
    /// Its threshold of slow start becomes this, in octets.
    Threshold(u64),
}

/// The state of Careful Resume in a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct CarefulResume {
    saved: CarefulResumeConfig,
    phase: Phase,
}

impl CarefulResume {
    pub(super) const fn new(saved: CarefulResumeConfig) -> Self {
        Self {
            saved,
            phase: Phase::Reconnaissance(0),
        }
    }

    /// True if the connection no longer uses it.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Normal)
    }

    /// The name of the phase in traces.
    pub(super) const fn state(&self) -> &'static str {
        match self.phase {
            Phase::Reconnaissance(_) => "reconnaissance",
            Phase::Unvalidated(..) => "unvalidated",
            Phase::Validating(_) => "validating",
            Phase::SafeRetreat(_) => "safe_retreat",
            Phase::Normal => "normal",
        }
    }

    /// A packet was sent with this window.
    pub(super) fn on_sent(&mut self, sent: &Sent, cwnd: u64, config: &WindowBasis) -> Step {
        let Phase::Unvalidated(jump, _, rtt) = &mut self.phase else {
            return Step::Normal;
        };
        jump.last = sent.now;
        // RFC 9959 §3.3: the window is full if less than a packet of it is left.
        let is_full = sent
            .bytes_in_flight
            .saturating_add(config.max_datagram_size)
            > cwnd;
        if is_full || sent.now.since(jump.since) > *rtt {
            return self.check_flight(sent.bytes_in_flight, config);
        }
        Step::Hold
    }

    /// A packet was acknowledged with this window.
    pub(super) fn on_ack(&mut self, acked: &Acked, cwnd: u64, config: &WindowBasis) -> Step {
        let flight = acked.bytes_in_flight.saturating_sub(acked.bytes);
        match &mut self.phase {
            Phase::Reconnaissance(octets) => {
                *octets = octets.saturating_add(acked.bytes);
                // RFC 9959 §3.2: the jump may wait until more is sent than the window permits.
                if *octets < config.initial_window() || acked.app_limited {
                    return Step::Normal;
                }
                self.leave_reconnaissance(acked, cwnd, flight)
            }
            Phase::Unvalidated(jump, _, rtt) => {
                if jump.count(acked) || acked.now.since(jump.since) > *rtt {
                    return self.check_flight(flight, config);
                }
                Step::Hold
            }
            Phase::Validating(jump) => {
                jump.count(acked);
                if acked.sent_at >= jump.last {
                    self.phase = Phase::Normal;
                }
                Step::Normal
            }
            Phase::SafeRetreat(jump) => {
                jump.count(acked);
                if acked.sent_at < jump.last {
                    return Step::Hold;
                }
                let percent = u64::from(self.saved.ssthresh_percent);
                let threshold = jump.pipe.saturating_mul(percent) / 100;
                self.phase = Phase::Normal;
                Step::Threshold(threshold)
            }
            Phase::Normal => Step::Normal,
        }
    }

    /// The initial window was acknowledged: jumps if the path is the one of the saved state.
    fn leave_reconnaissance(&mut self, acked: &Acked, cwnd: u64, flight: u64) -> Step {
        let jump_cwnd = self.saved.jump();
        if !self.saved.confirms(acked.rtt.min) || jump_cwnd <= cwnd {
            self.phase = Phase::Normal;
            return Step::Normal;
        }
        let jump = Jump {
            pipe: flight,
            since: acked.now,
            last: acked.now,
        };
        self.phase = Phase::Unvalidated(jump, jump_cwnd, acked.rtt.latest);
        Step::Window(jump_cwnd, Limit::CarefulResume)
    }

    /// The end of the Unvalidated Phase: the window becomes what was used of it.
    fn check_flight(&mut self, flight: u64, config: &WindowBasis) -> Step {
        let Phase::Unvalidated(jump, ..) = self.phase else {
            return Step::Normal;
        };
        let initial = config.initial_window();
        if flight < initial || flight <= jump.pipe {
            self.phase = Phase::Normal;
            return Step::Window(jump.pipe.max(initial), Limit::ApplicationLimited);
        }
        self.phase = Phase::Validating(jump);
        Step::Window(flight, Limit::CarefulResume)
    }

    /// Packets were lost or marked. Returns the largest window in octets that is left, if that is
    /// not the controller's own decision.
    pub(super) fn on_congestion_event(&mut self) -> Option<u64> {
        match self.phase {
            Phase::Unvalidated(jump, ..) | Phase::Validating(jump) => {
                self.phase = Phase::SafeRetreat(jump);
                Some(jump.pipe / RETREAT_DIVISOR)
            }
            _ => {
                self.phase = Phase::Normal;
                None
            }
        }
    }

    /// The pacing of the Unvalidated Phase: packets of `packet` octets, one at a time, at
    /// jump_cwnd in the current round-trip time (RFC 9959 §4.3).
    pub(super) fn pacing(&self, packet: u64) -> Option<PacingRate> {
        let Phase::Unvalidated(_, jump_cwnd, rtt) = self.phase else {
            return None;
        };
        let octets_per_s = jump_cwnd as f64 / rtt.as_secs_f64();
        Some(PacingRate::of(octets_per_s, packet as f64))
    }
}

#[cfg(test)]
#[path = "careful_resume_tests.rs"]
mod tests;
