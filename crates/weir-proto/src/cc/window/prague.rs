//! Prague (draft-briscoe-iccrg-prague-congestion-control; the constants are those of Linux's
//! tcp_prague, version 0.6): DCTCP for the Internet, over queues such as DualPI2.
//!
//! Packets are ECT(1). Beside DCTCP:
//! - alpha stays 1 until the first mark, which proves that there is a queue that marks, so that it
//!   halves the window however late it comes (tcp_prague's `saw_ce`);
//! - every unmarked packet lets the window grow, also in the round of a reduction;
//! - from the 500th round after slow start on, a flow with a round-trip time R below the target of
//!   25 ms grows by (R/25 ms)² packets a round, and updates alpha and reduces at most once in
//!   25 ms, so that it has the rate of a flow of 25 ms, unless the rule `rtt_independence` is off;
//! - packets are paced at the window over the smoothed round-trip time, at twice that in slow start
//!   below half of the threshold, in bursts of at most 1/4096 s.
//!
//! Not modelled: the fall-back for classic queues that mark ECT(1), which Linux has off by default.

use super::pacing::Pace;
use super::scalable::{Marking, Scalable};
use super::{ControllerEntry, WindowConfig};
use crate::cc::{EcnCapability, PacingRate, Rtt};
use crate::time::Duration;

/// The registry's entry.
pub(super) const ENTRY: ControllerEntry = ControllerEntry {
    name: "prague",
    doc: "Prague (L4S), with ECT(1); needs the receiver's count of marks",
    rules: &[&["undo_spurious", "rtt_independence"]],
    make: |config| Box::new(Prague::new(config, PragueMarking::new(config))),
};

/// The round-trip time whose rate flows with a shorter one get.
const RTT_TARGET: Duration = Duration::from_millis(25);
/// Rounds after slow start from which on the rate does not depend on a shorter round-trip time.
const TRANSITION_ROUNDS: u32 = 500;
/// The longest burst in seconds.
const BURST_S: f64 = 1.0 / 4096.0;

/// Prague.
pub type Prague = Scalable<PragueMarking>;

/// Prague's response to marks.
#[derive(Clone, Copy, Debug)]
pub struct PragueMarking {
    /// Rounds since slow start.
    rounds: u32,
    /// The rate shall not depend on a short round-trip time.
    rtt_independence: bool,
}

impl PragueMarking {
    pub(super) const fn new(config: &WindowConfig) -> Self {
        Self {
            rounds: 0,
            rtt_independence: config.rules.rtt_independence,
        }
    }

    const fn is_independent(self) -> bool {
        self.rtt_independence && self.rounds >= TRANSITION_ROUNDS
    }
}

impl Marking for PragueMarking {
    const ECN: EcnCapability = EcnCapability::Ect1;
    const GROWS_WHILE_REDUCED: bool = true;
    const LEARNS_BEFORE_MARKS: bool = false;

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

    fn pacing(&self, flow: &Pace) -> Option<PacingRate> {
        let gain = if flow.window < flow.ssthresh / 2.0 {
            2.0
        } else {
            1.0
        };
        let octets_per_s = flow.rate(gain)?;
        let quantum = (octets_per_s * BURST_S).max(flow.packet);
        Some(PacingRate::of(octets_per_s, quantum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    #[test]
    fn the_rate_of_a_short_round_trip_is_held_back_from_the_500th_round_after_slow_start() {
        // TRANSITION_ROUNDS 500 and RTT_TARGET 25 ms: (5/25)² = 0.04 packets a round.
        let mut marking = PragueMarking::new(&WindowConfig::default());
        let increase = |marking: &PragueMarking, ms| {
            marking.increase(Rtt {
                smoothed: Duration::from_millis(ms),
                ..Rtt::default()
            })
        };
        marking.on_round(true);
        for _ in 0..499 {
            marking.on_round(false);
        }
        assert_eq!(marking.interval(), Duration::ZERO);
        assert_eq!(increase(&marking, 5), 1.0);
        marking.on_round(false);
        assert_eq!(marking.interval(), Duration::from_millis(25));
        assert!((increase(&marking, 5) - 0.04).abs() < 1e-12);
        for ms in [0, 25, 50] {
            assert_eq!(increase(&marking, ms), 1.0, "{ms} ms");
        }
    }

    #[test]
    fn it_paces_at_the_window_and_below_half_of_the_threshold_at_twice_that() {
        // A window in 100 ms; a burst is 1/4096 s: of 100 MB/s, 24,414 octets, or a packet.
        for (window, ssthresh, octets_per_s, burst) in [
            (1e5, 200_000.0, 1e6, 1000),
            (1e5, 200_001.0, 2e6, 1000),
            (1e5, 100_000.0, 1e6, 1000),
            (1e7, 0.0, 1e8, 24_414),
        ] {
            let flow = Pace {
                window,
                ssthresh,
                packet: 1000.0,
                rtt: Duration::from_millis(100),
            };
            let paced = PragueMarking::new(&WindowConfig::default()).pacing(&flow);
            let expected = PacingRate {
                rate: Rate::from_bytes_per_sec(octets_per_s),
                quantum: Some(burst),
            };
            assert_eq!(paced, Some(expected), "{window} {ssthresh}");
        }
    }
}
