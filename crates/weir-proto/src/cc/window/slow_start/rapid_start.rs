//! Rapid Start (K. Oku and M. Welzl, "Rapid Startup of Congestion Control",
//! draft-kazuho-ccwg-rapid-start, the authors' working copy of 26 September 2026, whose rules of
//! growth and recovery are those of revision 02 of 16 March 2026).
//!
//! - The initial window is paced over a round-trip time (§3.1.1).
//! - While no queue builds up, an acknowledged octet adds two octets to the window, which triples
//!   it in a round-trip time; otherwise one, as in slow start (§3.2). What ends slow start besides,
//!   such as HyStart++, ends Rapid Start too.
//! - The first loss or mark begins a recovery period in which the window falls at once by the
//!   silence factor, so that sending pauses, and then with each octet acknowledged or lost (§3.3).
//!   It ends at beta times what path and queue hold, from which CUBIC takes its `W_max` (§3.3.3).
//!
//! The text leaves open, and quicly of April 2026 does: pacing at three or two windows in a
//! round-trip time after the initial one (§3.1.2); the floor of beta initial windows, which is
//! optional (§3.3); a threshold of slow start that follows the window.
//!
//! The text leaves open, and is decided here:
//! - Packets leave one at a time, whatever `pacing` is.
//! - The losses that begin the recovery count, because they were in flight before it (appendix A).
//! - A timeout, persistent congestion, a lost handshake or a receiver that reports to be slow ends
//!   Rapid Start, and so does a retreat of Careful Resume, which has a rule of its own.
//! - Of `cwnd_prior` of CUBIC, which follows `W_max` without its factor of two.
//!
//! quicly differs: its K is 11/18, its queue builds up at the greater of 4 ms and 3/32 of the
//! minimum round-trip time, and losses count beyond the end of the recovery.

use crate::cc::filter::WindowedMin;
use crate::cc::window::pacing::Pace;
use crate::cc::{Acked, PacingRate};
use crate::time::Duration;

/// The additive term of `queue_buildup_thresh` (§3.2).
const BUILDUP_DELAY: Duration = Duration::from_millis(4);
/// Its multiplicative term in percent of the minimum round-trip time (§3.2).
const BUILDUP_PERCENT: u64 = 110;
/// Octets by which an acknowledged octet enlarges the window while no queue builds up (§3.2).
const RAPID_GROWTH: u64 = 2;
/// K (§3.3.1).
const K: f64 = 2.0 / 3.0;
/// The window falls to no less than beta times the window before the recovery over this (§3.3).
const FLOOR_DIVISOR: f64 = 3.0;
/// Initial windows that leave in a round-trip time (§3.1.1).
const INITIAL_GAIN: f64 = 1.0;

/// Rapid Start, until it is over.
#[derive(Clone, Copy, Debug)]
pub(in crate::cc::window) struct RapidStart {
    /// `rtt_floor`: the least round-trip time of the last minimum round-trip time.
    floor: WindowedMin<Duration>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Growth(GrowthPhase),
    Recovery(Recovery),
}

/// The window grows.
#[derive(Clone, Copy, Debug, Default)]
struct GrowthPhase {
    /// Octets that an acknowledged octet added last; zero before the first.
    factor: u64,
    /// Octets declared lost of which no congestion event has told yet.
    lost: u64,
}

/// The first recovery period.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// `pre_recovery_cwnd` in octets.
    before: f64,
    /// The window decrease factor of the controller.
    beta: f64,
    /// The initial window in octets.
    initial: f64,
    /// Octets acknowledged in it.
    acked: u64,
    /// Octets lost in it.
    lost: u64,
}

/// The state of a connection that begins.
impl Default for RapidStart {
    fn default() -> Self {
        Self {
            floor: WindowedMin::default(),
            phase: Phase::Growth(GrowthPhase::default()),
        }
    }
}

impl RapidStart {
    /// A packet was acknowledged in slow start: the octets by which the window grows.
    pub(in crate::cc::window) fn on_ack(&mut self, acked: &Acked) -> u64 {
        let Phase::Growth(growth) = &mut self.phase else {
            return acked.bytes;
        };
        let least = acked.rtt.min;
        let (window, now) = (least.as_nanos(), acked.now.as_nanos());
        let floor = self.floor.update(window, now, acked.rtt.latest);
        let threshold = (least + BUILDUP_DELAY).min(least * BUILDUP_PERCENT / 100);
        growth.factor = if floor <= threshold { RAPID_GROWTH } else { 1 };
        acked.bytes.saturating_mul(growth.factor)
    }

    /// The largest multiple of the flight that the window reaches in a round-trip time.
    pub(in crate::cc::window) const fn multiple(&self) -> u64 {
        match self.phase {
            Phase::Growth(growth) => 1 + growth.factor,
            Phase::Recovery(_) => 2,
        }
    }

    /// The pacing while the window grows.
    pub(in crate::cc::window) fn pacing(&self, flow: &Pace) -> Option<PacingRate> {
        let gain = match self.phase {
            Phase::Growth(GrowthPhase { factor: 0, .. }) => INITIAL_GAIN,
            Phase::Growth(_) => self.multiple() as f64,
            Phase::Recovery(_) => return None,
        };
        Some(PacingRate::of(flow.rate(gain)?, flow.packet))
    }

    /// The state after a congestion event at a window of `before` octets, of which the controller
    /// would leave `reduced`, with this initial window; `None` if it is not the first.
    pub(in crate::cc::window) fn on_reduction(
        self,
        (before, reduced): (u64, u64),
        initial: u64,
    ) -> Option<Self> {
        let Phase::Growth(GrowthPhase { lost, .. }) = self.phase else {
            return None;
        };
        let before = before.max(1) as f64;
        let recovery = Recovery {
            before,
            beta: (reduced as f64 / before).min(1.0),
            initial: initial as f64,
            acked: 0,
            lost,
        };
        Some(Self {
            phase: Phase::Recovery(recovery),
            ..self
        })
    }

    /// The state to go on with if the reduction turns out to be spurious.
    pub(in crate::cc::window) const fn without_losses(mut self) -> Self {
        if let Phase::Growth(growth) = &mut self.phase {
            growth.lost = 0;
        }
        self
    }

    /// Octets were lost; `in_period` is true if they had been sent before the last recovery period
    /// began.
    pub(in crate::cc::window) const fn on_lost(&mut self, octets: u64, in_period: bool) {
        let lost = match &mut self.phase {
            Phase::Growth(growth) => &mut growth.lost,
            Phase::Recovery(recovery) if in_period => &mut recovery.lost,
            Phase::Recovery(_) => return,
        };
        *lost = lost.saturating_add(octets);
    }

    /// Octets were acknowledged that had been sent before the last recovery period began.
    pub(in crate::cc::window) const fn on_end_acks(&mut self, octets: u64) {
        if let Phase::Recovery(recovery) = &mut self.phase {
            recovery.acked = recovery.acked.saturating_add(octets);
        }
    }

    /// The window of the recovery period in octets, before the minimum is applied.
    pub(in crate::cc::window) fn window(&self) -> Option<u64> {
        let Phase::Recovery(recovery) = &self.phase else {
            return None;
        };
        Some(recovery.window().round() as u64)
    }

    /// What path and queue hold in octets, if the recovery period ends with this window (§3.3.3).
    pub(in crate::cc::window) fn full_bdp(&self, window: u64) -> Option<f64> {
        match &self.phase {
            Phase::Recovery(recovery) if recovery.beta > 0.0 => Some(window as f64 / recovery.beta),
            _ => None,
        }
    }

    pub(in crate::cc::window) const fn is_recovering(&self) -> bool {
        matches!(self.phase, Phase::Recovery(_))
    }
}

impl Recovery {
    /// §3.3, with the factors of §3.3.1.
    fn window(&self) -> f64 {
        let ack_factor = K * (1.0 - self.beta);
        let silence_factor = self.beta + ack_factor;
        let loss_factor = silence_factor;
        let entered = self.before * silence_factor;
        let left = entered - ack_factor * self.acked as f64 - loss_factor * self.lost as f64;
        let floor = self.before * self.beta / FLOOR_DIVISOR;
        left.max(floor).max(self.initial * self.beta).min(entered)
    }
}

#[cfg(test)]
#[path = "rapid_start_tests.rs"]
mod tests;
