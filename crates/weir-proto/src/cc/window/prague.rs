//! Prague (draft-briscoe-iccrg-prague-congestion-control; the constants are those of Linux's
//! tcp_prague, version 0.6): DCTCP for the Internet, over queues such as DualPI2.
//!
//! Packets are ECT(1). Beside DCTCP:
//! - every unmarked packet lets the window grow, also in the round of a reduction;
//! - from the 500th round after slow start on, a flow with a round-trip time R below the target of
//!   25 ms grows by (R/25 ms)² packets a round, and updates alpha and reduces at most once in
//!   25 ms, so that it has the rate of a flow of 25 ms;
//! - packets are paced at the window over the smoothed round-trip time, at twice that in slow start
//!   below half of the threshold, in bursts of at most 1/4096 s.
//!
//! Not here: the fall-back for classic queues that mark ECT(1), which Linux has off by default.

use super::ControllerEntry;
use super::pacing::Pace;
use super::scalable::{Marking, Scalable};
use crate::cc::{EcnCapability, Rtt};
use crate::time::Duration;
use crate::units::Rate;

/// The registry's entry.
pub(super) const ENTRY: ControllerEntry = ControllerEntry {
    name: "prague",
    doc: "Prague (L4S), with ECT(1); needs the receiver's count of marks, as QUIC has it",
    make: |config| Box::new(Prague::new(config, PragueMarking::default())),
};

/// The round-trip time whose rate shorter flows have.
const RTT_TARGET: Duration = Duration::from_millis(25);
/// Rounds after slow start from which on the rate does not depend on a shorter round-trip time.
const TRANSITION_ROUNDS: u32 = 500;
/// The longest burst in seconds.
const BURST_S: f64 = 1.0 / 4096.0;

/// Prague.
pub type Prague = Scalable<PragueMarking>;

/// What Prague does with marks.
#[derive(Clone, Copy, Debug, Default)]
pub struct PragueMarking {
    /// Rounds since slow start.
    rounds: u32,
}

impl PragueMarking {
    fn is_independent(self) -> bool {
        self.rounds >= TRANSITION_ROUNDS
    }
}

impl Marking for PragueMarking {
    const ECN: EcnCapability = EcnCapability::Ect1;
    const GROWS_WHILE_REDUCED: bool = true;

    fn on_round(&mut self, slow_start: bool) {
        if !slow_start {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    fn increase(&self, rtt: Rtt) -> f64 {
        if !self.is_independent() || rtt.smoothed >= RTT_TARGET || rtt.smoothed.is_zero() {
            return 1.0;
        }
        let share = rtt.smoothed.as_secs_f64() / RTT_TARGET.as_secs_f64();
        share * share
    }

    fn interval(&self) -> Duration {
        if self.is_independent() {
            RTT_TARGET
        } else {
            Duration::ZERO
        }
    }

    fn pacing(&self, flow: &Pace) -> Option<(Rate, u64)> {
        let gain = if flow.window < flow.ssthresh / 2.0 {
            2.0
        } else {
            1.0
        };
        let octets_per_s = flow.rate(gain)?;
        let quantum = (octets_per_s * BURST_S).max(flow.packet);
        Some((Rate::from_bps(octets_per_s * 8.0), quantum as u64))
    }
}
