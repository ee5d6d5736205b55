//! Startup: the rate doubles each round until the delivery rate grows no more, or until losses say
//! that the pipe is full (draft-ietf-ccwg-bbr §5.3.1).

use super::{Bbr, UndoState, model, state::State};
use crate::cc::EndAcks;

/// The estimator of a full pipe (draft-bbr §5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw: the baseline, in octets per second.
    pub(super) bw: f64,
    /// BBR.full_bw_count.
    count: u32,
    /// BBR.full_bw_now.
    pub(super) now: bool,
    /// BBR.full_bw_reached.
    pub(super) reached: bool,
}

impl FullPipe {
    /// ResetFullBW, with a baseline.
    pub(super) const fn reset(&mut self, bw: f64) {
        self.bw = bw;
        self.count = 0;
        self.now = false;
    }
}

impl Bbr {
    /// EnterStartup (draft-bbr §5.3.1.1).
    pub(super) const fn enter_startup(&mut self) {
        self.state = State::Startup;
    }

    /// CheckFullBWReached (draft-bbr §5.3.1.2). A sample without a rate says nothing.
    pub(super) fn check_full_bw_reached(&mut self, acks: &EndAcks) {
        if self.full.now || !self.model.round_start || acks.rate.app_limited {
            return;
        }
        let rate = model::delivery_rate(acks);
        if rate <= 0.0 {
            return;
        }
        if rate >= self.full.bw * self.config.full_bw_growth {
            self.full.reset(rate);
            return;
        }
        self.full.count += 1;
        self.full.now = self.full.count >= self.config.full_bw_rounds;
        self.full.reached |= self.full.now;
    }

    /// CheckStartupDone (draft-bbr §5.3.1.1).
    pub(super) fn check_startup_done(&mut self, acks: &EndAcks) {
        self.check_startup_high_loss(acks);
        if self.state == State::Startup && self.full.reached {
            self.enter_drain();
        }
    }

    /// CheckStartupHighLoss (draft-bbr §5.3.1.3), with selective acknowledgements: the flow has
    /// been in recovery for a round, in which so many ranges and such a share were lost.
    fn check_startup_high_loss(&mut self, acks: &EndAcks) {
        let rate = &acks.rate;
        let too_high = self.model.loss_round_start
            && self.recovery_start.is_some()
            && self.model.loss_ranges_in_round >= self.config.startup_full_loss_ranges
            && self.is_inflight_too_high(rate.lost, rate.tx_in_flight);
        if self.full.reached || !too_high {
            return;
        }
        self.undo.state = UndoState::Startup;
        self.full.reached = true;
        self.full.now = true;
        let bdp = self.model.bdp().unwrap_or_default() as u64;
        self.model.inflight_longterm = bdp.max(self.model.inflight_latest);
    }
}
