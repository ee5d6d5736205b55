//! Startup: the rate doubles each round until the delivery rate stops growing, or until losses show
//! that the pipe is full (draft-ietf-ccwg-bbr §5.3.1).

use super::{Bbr, UndoState, model, state::State};
use crate::cc::EndAcks;

/// The estimator of a full pipe (draft-bbr §5.3.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw (draft-bbr §2.13): the baseline, in octets per second.
    pub(super) bw: f64,
    /// BBR.full_bw_count (draft-bbr §2.13).
    pub(super) count: u32,
    /// BBR.full_bw_now (draft-bbr §2.13).
    pub(super) now: bool,
    /// BBR.full_bw_reached (draft-bbr §2.13).
    pub(super) reached: bool,
}

impl FullPipe {
    /// ResetFullBW (draft-bbr §5.3.1.2), with a baseline.
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

    /// CheckFullBWReached (draft-bbr §5.3.1.2). A sample without a rate is ignored.
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
    /// been in recovery for a round in which the ranges and the share of lost packets reached their
    /// thresholds.
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

#[cfg(test)]
mod tests {
    use super::super::tests::{Flow, at};
    use super::*;
    use crate::cc::RateSample;
    use crate::units::Rate;

    #[test]
    fn a_round_with_a_rate_and_without_a_limit_by_the_application_is_judged() {
        // draft-bbr §5.3.1.2, CheckFullBWReached: the baseline is 1000 octets per second, growth is
        // 1250.
        for (rate, round_start, app_limited, count, baseline) in [
            (Some(1249.0), true, false, 1, 1000.0),
            (Some(1250.0), true, false, 0, 1250.0),
            (Some(1249.0), false, false, 0, 1000.0),
            (Some(1249.0), true, true, 0, 1000.0),
            (Some(1250.0), false, true, 0, 1000.0),
            (Some(0.5), true, false, 1, 1000.0),
            (None, true, false, 0, 1000.0),
        ] {
            let mut bbr = Flow::new().bbr;
            bbr.full.reset(1000.0);
            bbr.model.round_start = round_start;
            bbr.check_full_bw_reached(&EndAcks {
                rate: RateSample {
                    delivery_rate: rate.map(Rate::from_bytes_per_sec),
                    app_limited,
                    ..RateSample::default()
                },
                ..EndAcks::default()
            });
            let found = (bbr.full.count, bbr.full.bw);
            assert_eq!(found, (count, baseline), "{rate:?} {round_start}");
        }
    }

    #[test]
    fn a_round_that_the_application_limits_leaves_the_count_as_it_is() {
        // draft-bbr §5.3.1.2: two rounds without growth, a limited one, and the third of three.
        let mut bbr = Flow::new().bbr;
        bbr.full.reset(1000.0);
        for (app_limited, count) in [(false, 1), (false, 2), (true, 2), (false, 3)] {
            bbr.model.round_start = true;
            bbr.check_full_bw_reached(&EndAcks {
                rate: RateSample {
                    delivery_rate: Some(Rate::from_bytes_per_sec(1000.0)),
                    app_limited,
                    ..RateSample::default()
                },
                ..EndAcks::default()
            });
            assert_eq!((bbr.full.count, bbr.full.now), (count, count == 3));
        }
    }

    #[test]
    fn a_pipe_that_is_full_is_not_judged_again() {
        let mut bbr = Flow::new().bbr;
        bbr.full.now = true;
        bbr.model.round_start = true;
        bbr.check_full_bw_reached(&EndAcks {
            rate: RateSample {
                delivery_rate: Some(Rate::from_bytes_per_sec(1e6)),
                ..RateSample::default()
            },
            ..EndAcks::default()
        });
        assert_eq!(bbr.full.bw, 0.0);
        assert!(bbr.full.now);
    }

    #[test]
    fn losses_end_startup_after_a_round_in_recovery() {
        // draft-bbr §5.3.1.3: six ranges and more than 2 % of 100,000 octets, at the end of a round
        // with losses, in recovery.
        for (loss_round_start, in_recovery, ranges, lost, ends) in [
            (true, true, 6, 2001, true),
            (false, true, 6, 2001, false),
            (true, false, 6, 2001, false),
            (true, true, 5, 2001, false),
            (true, true, 6, 2000, false),
            (false, false, 6, 2001, false),
        ] {
            let mut bbr = Flow::new().bbr;
            bbr.model.loss_round_start = loss_round_start;
            bbr.recovery_start = in_recovery.then_some(at(10));
            bbr.model.loss_ranges_in_round = ranges;
            bbr.model.inflight_latest = 70_000;
            bbr.check_startup_done(&EndAcks {
                rate: RateSample {
                    lost,
                    tx_in_flight: 100_000,
                    ..RateSample::default()
                },
                ..EndAcks::default()
            });
            let longterm = if ends { 70_000 } else { u64::MAX };
            assert_eq!(bbr.state == State::Drain, ends, "{ranges} {lost}");
            assert_eq!(bbr.model.inflight_longterm, longterm);
        }
    }
}
