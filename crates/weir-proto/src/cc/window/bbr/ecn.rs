//! The response to marks of Linux's BBRv3 (`tcp_bbr.c` of github.com/google/bbr, branch v3), which
//! the draft leaves open (draft-ietf-ccwg-bbr §3.7): alpha, the average share of marked packets;
//! the bound of the flight that it lowers; and the end of a probe or of Startup by marks.
//!
//! Only with `ecn_low`, and only after the path's round-trip time was at most `ecn_max_rtt` when a
//! round ended: a flow on a longer path ignores its marks.

use super::{Bbr, UndoState, state::State};
use crate::cc::EndAcks;
use crate::time::Duration;
use std::collections::VecDeque;

/// The initial alpha (`bbr_ecn_alpha_init`): a flow responds at once if the queue is full when it
/// starts.
const FIRST_ALPHA: f64 = 1.0;
/// The most growth of `inflight_longterm` in the first round of a probe, as a power of two.
const MOST_UP_ROUNDS: u32 = 30;

/// Packets delivered and marked up to an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// C.delivered after it.
    delivered: u64,
    packets: u64,
    marked: u64,
}

/// The marks that the receiver has reported.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// `ecn_eligible`.
    pub(super) is_eligible: bool,
    /// `ecn_alpha`.
    pub(super) alpha: f64,
    now: Counts,
    /// The counts when the last round ended.
    at_round: Counts,
    /// The counts after the acknowledgements of the last flight, oldest first.
    history: VecDeque<Counts>,
    /// `startup_ecn_rounds`.
    startup_rounds: u32,
    /// `ecn_in_round`.
    pub(super) in_round: bool,
    /// `ecn_in_cycle`, and `loss_in_cycle`.
    in_cycle: bool,
    loss_in_cycle: bool,
}

impl Marks {
    pub(super) fn new() -> Self {
        Self {
            alpha: FIRST_ALPHA,
            ..Self::default()
        }
    }

    /// Counts an acknowledgement, before the model looks at it.
    pub(super) fn on_acks(&mut self, acks: &EndAcks) {
        self.now.delivered = acks.rate.total_delivered;
        self.now.packets += acks.acked_packets;
        self.now.marked += acks.ecn_ce;
        self.history.push_back(self.now);
        // The sample begins with the counts at P.delivered.
        while (self.history.get(1)).is_some_and(|next| next.delivered <= acks.rate.prior_delivered)
        {
            self.history.pop_front();
        }
        self.in_round |= self.is_eligible && acks.ecn_ce > 0;
    }

    /// The state has been decided: what this acknowledgement shows counts for the next.
    pub(super) const fn on_decided(&mut self, acks: &EndAcks) {
        self.loss_in_cycle |= acks.newly_lost > 0;
        self.in_cycle |= acks.ecn_ce > 0;
    }

    /// The round has ended: the share of marked packets in it, if anything was delivered
    /// (`bbr_update_ecn_alpha`).
    fn end_round(&mut self, gain: f64) -> Option<f64> {
        let share = share(self.at_round, self.now)?;
        self.at_round = self.now;
        self.alpha = ((1.0 - gain) * self.alpha + gain * share).min(1.0);
        Some(share)
    }

    /// The share of marked packets in the sample of the delivery rate.
    fn share_of_sample(&self, prior_delivered: u64) -> f64 {
        let begin = self.history.front().copied().unwrap_or_default();
        let begin = if begin.delivered <= prior_delivered {
            begin
        } else {
            Counts::default()
        };
        share(begin, self.now).unwrap_or(0.0)
    }

    /// A cycle begins, or signals are reset.
    pub(super) const fn reset(&mut self) {
        self.in_round = false;
        self.in_cycle = false;
        self.loss_in_cycle = false;
    }
}

/// The share of marked packets between two moments; `None` if nothing was delivered.
fn share(before: Counts, after: Counts) -> Option<f64> {
    let packets = after.packets - before.packets;
    let marked = (after.marked - before.marked) as f64;
    (packets > 0).then(|| (marked / packets as f64).min(1.0))
}

impl Bbr {
    /// The end of a round: alpha follows the marks, and enough rounds with many of them end Startup
    /// (`bbr_check_ecn_too_high_in_startup`).
    pub(super) fn end_round_of_marks(&mut self) {
        let config = &self.config;
        if !config.ecn_low {
            return;
        }
        let rtt = self.model.min_rtt.unwrap_or(Duration::MAX);
        self.marks.is_eligible |= rtt <= config.ecn_max_rtt && config.ecn_factor > 0.0;
        if !self.marks.is_eligible {
            return;
        }
        let Some(share) = self.marks.end_round(config.ecn_alpha_gain) else {
            return;
        };
        if self.full.reached {
            return;
        }
        self.marks.startup_rounds = if share >= config.ecn_threshold {
            self.marks.startup_rounds + 1
        } else {
            0
        };
        if self.marks.startup_rounds >= config.full_ecn_rounds {
            self.undo.state = UndoState::Startup;
            self.full.reached = true;
            let bdp = self.inflight(self.model.max_bw, 1.0);
            self.model.inflight_longterm = bdp.max(self.model.inflight_latest);
        }
    }

    /// The bound that the marks of this round set (`bbr_ecn_lower_bounds`); `None` without marks.
    pub(super) fn inflight_of_marks(&self) -> Option<u64> {
        if !self.marks.in_round || self.state.is_probing_bw() {
            return None;
        }
        let from = match self.model.inflight_shortterm {
            u64::MAX => self.cwnd,
            bound => bound,
        };
        let left = 1.0 - self.marks.alpha * self.config.ecn_factor;
        Some((from as f64 * left) as u64)
    }

    /// True if too many of the packets of this sample were marked (`bbr_is_inflight_too_high`).
    pub(super) fn is_marked_too_high(&self, acks: &EndAcks) -> bool {
        self.marks.is_eligible
            && self.config.ecn_threshold > 0.0
            && self.marks.share_of_sample(acks.rate.prior_delivered) > self.config.ecn_threshold
    }

    /// After marks without losses the next probe follows at once, because the other traffic may be
    /// gone; its first round adds a share of `inflight_longterm` (`bbr_check_time_to_probe_bw`).
    pub(super) fn reprobe_after_marks(&mut self) -> bool {
        let gain = self.config.ecn_reprobe_gain;
        let marks = &self.marks;
        let follows = marks.is_eligible && marks.in_cycle && !marks.loss_in_cycle;
        if gain <= 0.0 || !follows || self.recovery_start.is_some() {
            return false;
        }
        let longterm = self.model.inflight_longterm;
        self.start_refill();
        if longterm < u64::MAX {
            // The growth of a round is two to the number of rounds, in packets.
            let packets = (longterm as f64 * gain / self.mds as f64).max(1.0) as u64;
            self.cycle
                .set_up_rounds(packets.ilog2().min(MOST_UP_ROUNDS));
        }
        true
    }

    /// Too many packets of a sample were marked. If it is of a probe, the flow slows down
    /// (`bbr_handle_inflight_too_high`).
    pub(super) fn handle_marks_too_high(&mut self, acks: &EndAcks) {
        if !self.cycle.is_probe_sample {
            return;
        }
        let rate = &acks.rate;
        let was_up = self.state == State::Up;
        self.handle_inflight_too_high(acks.now, rate.tx_in_flight, rate.app_limited);
        if was_up {
            // Marks are not lost packets, which may prove to have arrived.
            self.undo.state = UndoState::None;
        }
    }
}

#[cfg(test)]
#[path = "ecn_tests.rs"]
mod tests;
