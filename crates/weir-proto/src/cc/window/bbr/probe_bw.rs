//! ProbeBW: the cycle of slowing down, cruising, refilling the pipe, and probing for more
//! (draft-ietf-ccwg-bbr §5.3.3), with the long-term bound of the volume in flight.

use super::{Bbr, UndoState, model, state::State};
use crate::cc::EndAcks;
use crate::time::{Duration, Instant};

/// BBR.ack_phase: the part of a probe to which acknowledgements belong (draft-bbr §2.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The state of the cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    /// BBR.is_bw_probe_sample (draft-bbr §2.14).
    pub(super) is_probe_sample: bool,
    /// BBR.bw_probe_up_acked (draft-bbr §2.14).
    up_acked: u64,
    /// BBR.probe_up_acked_per_inc (draft-bbr §2.14); [`u64::MAX`] while the bound does not grow.
    acked_per_increment: u64,
    /// BBR.bw_probe_up_rounds (draft-bbr §2.14).
    up_rounds: u32,
    /// BBR.rounds_since_probe_up (draft-bbr §2.14).
    pub(super) rounds_since_up: u64,
    /// BBR.bw_probe_wait (draft-bbr §2.14).
    wait: Duration,
    /// BBR.cycle_stamp (draft-bbr §2.14).
    stamp: Instant,
    /// BBR.prev_probe_too_high (draft-bbr §2.14).
    pub(super) prev_too_high: bool,
    /// BBR.prev_probe_precautionary (draft-bbr §2.14).
    prev_precautionary: bool,
}

impl Cycle {
    pub(super) const fn new() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            is_probe_sample: false,
            up_acked: 0,
            acked_per_increment: u64::MAX,
            up_rounds: 0,
            rounds_since_up: 0,
            wait: Duration::ZERO,
            stamp: Instant::ZERO,
            prev_too_high: false,
            prev_precautionary: false,
        }
    }

    #[cfg(test)]
    pub(super) const fn up_rounds(&self) -> u32 {
        self.up_rounds
    }

    /// The next probe begins with the slope of this round.
    pub(super) const fn set_up_rounds(&mut self, rounds: u32) {
        self.up_rounds = rounds;
    }
}

impl Bbr {
    /// StartProbeBW_DOWN (draft-bbr §5.3.3.9).
    pub(super) fn start_down(&mut self, now: Instant) {
        self.model.reset_congestion_signals();
        self.marks.reset();
        self.cycle.acked_per_increment = u64::MAX;
        // PickProbeWait (draft-bbr §5.3.3.8.3).
        self.cycle.rounds_since_up = self.rng.below(2);
        let spread = self.config.probe_wait_spread.mul_f64(self.rng.uniform());
        self.cycle.wait = self.config.probe_wait + spread;
        self.cycle.stamp = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.model.start_round();
        self.state = State::Down;
    }

    /// StartProbeBW_CRUISE (draft-bbr §5.3.3.9).
    pub(super) const fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    /// StartProbeBW_REFILL (draft-bbr §5.3.3.9).
    pub(super) fn start_refill(&mut self) {
        self.model.reset_short_term();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.prev_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.model.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP (draft-bbr §5.3.3.9).
    fn start_up(&mut self, acks: &EndAcks) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.model.start_round();
        self.full.reset(model::delivery_rate(acks));
        self.state = State::Up;
        self.raise_longterm_slope();
    }

    /// UpdateProbeBWCyclePhase (draft-bbr §5.3.3.9).
    pub(super) fn update_cycle_phase(&mut self, acks: &EndAcks) {
        if !self.full.reached || self.adapt_long_term_model(acks) {
            return;
        }
        let state = self.state;
        match state {
            State::Down if self.probe_if_due(acks.now) => {}
            State::Down if self.is_time_to_cruise() => self.start_cruise(),
            State::Cruise => {
                self.probe_if_due(acks.now);
            }
            State::Refill if self.model.round_start => {
                self.cycle.is_probe_sample = true;
                self.start_up(acks);
            }
            State::Up if self.is_time_to_go_down(acks) => {
                self.cycle.prev_too_high = false;
                self.start_down(acks.now);
            }
            _ => {}
        }
    }

    /// IsTimeToProbeBW (draft-bbr §5.3.3.8.3): starts a probe if the time or the rounds between two
    /// probes have passed.
    fn probe_if_due(&mut self, now: Instant) -> bool {
        if self.reprobe_after_marks() {
            return true;
        }
        let elapsed = now > self.cycle.stamp + self.cycle.wait;
        // IsRenoCoexistenceProbeTime: as many rounds as Reno would take to grow by the window.
        let reno_rounds = self.target_inflight() / self.mds;
        let rounds = reno_rounds.min(self.config.reno_rounds);
        let due = elapsed || self.cycle.rounds_since_up >= rounds;
        if due {
            self.start_refill();
        }
        due
    }

    /// IsTimeToCruise (draft-bbr §5.3.3.9).
    fn is_time_to_cruise(&self) -> bool {
        self.bytes_in_flight <= self.inflight_with_headroom()
            && self.bytes_in_flight <= self.inflight(self.model.max_bw, 1.0)
    }

    /// IsTimeToGoDown (draft-bbr §5.3.3.9).
    fn is_time_to_go_down(&mut self, acks: &EndAcks) -> bool {
        let longterm = self.model.inflight_longterm;
        if self.cycle.prev_too_high && self.prior_in_flight + self.mds > longterm {
            self.cycle.prev_precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= longterm {
            // The bound, not the path, limits the rate.
            self.full.reset(model::delivery_rate(acks));
            return false;
        }
        self.full.now
    }

    /// TargetInflight (draft-bbr §5.3.3.8.3).
    fn target_inflight(&self) -> u64 {
        let bdp = self
            .model
            .bdp()
            .map_or(self.initial_window, |bdp| bdp as u64);
        bdp.min(self.cwnd)
    }

    /// InflightWithHeadroom (draft-bbr §5.3.3.9).
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        let longterm = self.model.inflight_longterm;
        if longterm == u64::MAX {
            return u64::MAX;
        }
        let headroom = (self.config.headroom * longterm as f64) as u64;
        longterm
            .saturating_sub(headroom.max(self.mds))
            .max(self.min_pipe_cwnd())
    }

    /// RaiseInflightLongtermSlope (draft-bbr §5.3.3.9).
    fn raise_longterm_slope(&mut self) {
        let growth = 1_u64 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.acked_per_increment = (self.cwnd / growth).max(self.mds);
    }

    /// ProbeInflightLongtermUpward (draft-bbr §5.3.3.9).
    fn probe_longterm_upward(&mut self, acks: &EndAcks) {
        if !self.is_cwnd_limited() || self.cwnd < self.model.inflight_longterm {
            return;
        }
        self.cycle.up_acked += acks.newly_acked;
        let per_increment = self.cycle.acked_per_increment;
        let increments = self.cycle.up_acked / per_increment;
        self.cycle.up_acked %= per_increment;
        let grown = increments * self.mds;
        self.model.inflight_longterm = self.model.inflight_longterm.saturating_add(grown);
        if self.model.round_start {
            self.raise_longterm_slope();
        }
    }

    /// AdaptLongTermModel (draft-bbr §5.3.3.9); true if it has decided on a change of state.
    fn adapt_long_term_model(&mut self, acks: &EndAcks) -> bool {
        let round_start = self.model.round_start;
        if self.cycle.ack_phase == AckPhase::ProbeStarting && round_start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && round_start {
            self.cycle.is_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() {
                if !acks.rate.app_limited {
                    self.model.advance_max_bw_filter();
                }
                // The precautionary probe succeeded: the next one follows at once.
                if self.cycle.prev_precautionary && !self.cycle.prev_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        let rate = &acks.rate;
        if self.is_marked_too_high(acks) {
            self.handle_marks_too_high(acks);
        } else if !self.is_inflight_too_high(rate.lost, rate.tx_in_flight)
            && self.model.inflight_longterm != u64::MAX
        {
            let longterm = &mut self.model.inflight_longterm;
            *longterm = (*longterm).max(rate.tx_in_flight);
            if self.state == State::Up {
                self.probe_longterm_upward(acks);
            }
        }
        false
    }

    /// IsInflightTooHigh (draft-bbr §5.5.10.2), with selective acknowledgements.
    pub(super) fn is_inflight_too_high(&self, lost: u64, tx_in_flight: u64) -> bool {
        lost as f64 > tx_in_flight as f64 * self.config.loss_threshold
    }

    /// HandleInflightTooHigh (draft-bbr §5.5.10.2).
    pub(super) fn handle_inflight_too_high(
        &mut self,
        now: Instant,
        tx_in_flight: u64,
        app_limited: bool,
    ) {
        self.cycle.prev_too_high = true;
        self.cycle.is_probe_sample = false;
        if !app_limited {
            let least = (self.target_inflight() as f64 * self.config.beta) as u64;
            self.model.inflight_longterm = tx_in_flight.max(least);
        }
        if self.state == State::Up {
            self.undo.state = UndoState::ProbeUp;
            self.start_down(now);
        }
    }
}

#[cfg(test)]
#[path = "probe_bw_tests.rs"]
mod tests;
