//! Pacing rate, quantum and window, which follow from the model (draft-ietf-ccwg-bbr §5.6).

use super::{Bbr, state::State};
use crate::cc::{EndAcks, Rtt};
use crate::event::Limit;
use crate::time::Duration;

/// The quantum is the number of octets that pacing sends in this time (draft-bbr §5.6.3).
const QUANTUM_TIME: Duration = Duration::from_millis(1);
/// The largest quantum in octets (draft-bbr §5.6.3).
const MAX_QUANTUM: u64 = 64 * 1024;
/// The smallest quantum in packets (draft-bbr §5.6.3).
const MIN_QUANTUM_PACKETS: u64 = 2;
/// The round-trip time used before the first sample (draft-bbr §5.6.2).
const NOMINAL_RTT: Duration = Duration::from_millis(1);

impl Bbr {
    /// InitPacingRate (draft-bbr §5.6.2): with a nominal round-trip time first, and again with the
    /// first sample.
    pub(super) fn init_pacing_rate(&mut self, rtt: Rtt) {
        if self.has_seen_rtt {
            return;
        }
        self.has_seen_rtt = !rtt.smoothed.is_zero();
        let rtt = if self.has_seen_rtt {
            rtt.smoothed
        } else {
            NOMINAL_RTT
        };
        let nominal = self.initial_window as f64 / rtt.as_secs_f64();
        self.pacing_rate = self.config.startup_pacing_gain * nominal;
        self.set_send_quantum();
    }

    /// SetPacingRateWithGain (draft-bbr §5.6.2).
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64) {
        let rate = gain * self.model.bw * (1.0 - self.config.pacing_margin);
        let has_bw = rate > 0.0;
        if has_bw && (self.full.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// SetPacingRate (draft-bbr §5.6.2).
    pub(super) fn set_pacing_rate(&mut self) {
        self.set_pacing_rate_with_gain(self.state.pacing_gain(&self.config));
    }

    /// SetSendQuantum (draft-bbr §5.6.3).
    pub(super) fn set_send_quantum(&mut self) {
        let quantum = (self.pacing_rate * QUANTUM_TIME.as_secs_f64()) as u64;
        self.send_quantum = quantum.min(MAX_QUANTUM).max(MIN_QUANTUM_PACKETS * self.mds);
    }

    /// BBR.MinPipeCwnd (draft-bbr §2.8).
    pub(super) const fn min_pipe_cwnd(&self) -> u64 {
        self.config.min_pipe_packets * self.mds
    }

    /// BDPMultiple (draft-bbr §5.6.4.2).
    pub(super) fn bdp_multiple(&self, bw: f64, gain: f64) -> u64 {
        self.model.min_rtt.map_or(self.initial_window, |rtt| {
            (gain * bw * rtt.as_secs_f64()) as u64
        })
    }

    /// QuantizationBudget (draft-bbr §5.6.4.2), with the offload budget of a sender without
    /// offload: one quantum (§5.5.8.2).
    fn quantization_budget(&self, inflight: u64) -> u64 {
        let probing = if self.state == State::Up {
            2 * self.mds
        } else {
            0
        };
        inflight.max(self.send_quantum).max(self.min_pipe_cwnd()) + probing
    }

    /// Inflight(bw, gain) (draft-bbr §5.6.4.2).
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> u64 {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// SaveCwnd (draft-bbr §5.6.4.4).
    pub(super) fn save_cwnd(&mut self) {
        let is_reduced = self.recovery_start.is_some() || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_reduced {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// RestoreCwnd (draft-bbr §5.6.4.4).
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// SetCwnd (draft-bbr §5.6.4.6).
    pub(super) fn set_cwnd(&mut self, acks: &EndAcks) {
        let gain = self.state.cwnd_gain(&self.config);
        let inflight = self.bdp_multiple(self.model.bw, gain);
        let extra_acked = match self.config.extra_acked_limit {
            Some(limit) => (self.model.bw * limit.as_secs_f64()) as u64,
            None => u64::MAX,
        };
        let extra_acked = extra_acked.min(self.model.extra_acked);
        let max_inflight = self.quantization_budget(inflight + extra_acked);
        let grown = self.cwnd + acks.newly_acked;
        self.limit = Limit::SlowStart;
        if self.full.reached {
            self.cwnd = grown;
            self.bound_cwnd(max_inflight, Limit::MaxInflight);
        } else if self.cwnd < max_inflight || self.model.delivered < self.initial_window {
            self.cwnd = grown;
        }
        if self.cwnd <= self.min_pipe_cwnd() {
            self.cwnd = self.min_pipe_cwnd();
            self.limit = Limit::MinimumWindow;
        }
        if self.state == State::ProbeRtt {
            self.bound_cwnd(self.probe_rtt_cwnd(), Limit::ProbeRtt);
        }
        self.bound_cwnd_for_model();
    }

    /// BoundCwndForModel (draft-bbr §5.6.4.7).
    fn bound_cwnd_for_model(&mut self) {
        let least = self.min_pipe_cwnd();
        let longterm = match self.state {
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Down | State::Refill | State::Up => self.model.inflight_longterm,
            State::Startup | State::Drain => u64::MAX,
        };
        self.bound_cwnd(longterm.max(least), Limit::InflightLongterm);
        let shortterm = self.model.inflight_shortterm;
        self.bound_cwnd(shortterm.max(least), Limit::InflightShortterm);
    }

    fn bound_cwnd(&mut self, bound: u64, limit: Limit) {
        if bound < self.cwnd {
            self.cwnd = bound;
            self.limit = limit;
        }
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
