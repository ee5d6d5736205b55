//! ProbeRTT: for a moment little is in flight, so that the round-trip time without a queue can be
//! measured (draft-ietf-ccwg-bbr §5.3.4).

use super::probe_bw::AckPhase;
use super::{Bbr, state::State};
use crate::cc::EndAcks;
use crate::time::Instant;

/// The progress of a visit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Visit {
    /// BBR.probe_rtt_done_stamp (draft-bbr §5.3.4.3); `None` until little enough is in flight.
    done: Option<Instant>,
    /// BBR.probe_rtt_round_done (draft-bbr §5.3.4.3).
    round_done: bool,
}

impl Bbr {
    /// CheckProbeRTT (draft-bbr §5.3.4.3).
    pub(super) fn check_probe_rtt(&mut self, acks: &EndAcks) {
        if self.state != State::ProbeRtt && self.model.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_cwnd();
            self.visit = Visit::default();
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.model.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(acks);
        }
        if acks.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// HandleProbeRTT (draft-bbr §5.3.4.3). The return value of `on_end_acks` marks samples as
    /// limited by the application meanwhile.
    fn handle_probe_rtt(&mut self, acks: &EndAcks) {
        if self.visit.done.is_some() {
            self.visit.round_done |= self.model.round_start;
            if self.visit.round_done {
                self.check_probe_rtt_done(acks.now);
            }
        } else if self.bytes_in_flight <= self.probe_rtt_cwnd() {
            self.visit.done = Some(acks.now + self.config.probe_rtt_duration);
            self.visit.round_done = false;
            self.model.start_round();
        }
    }

    /// CheckProbeRTTDone (draft-bbr §5.3.4.3).
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.visit.done.is_some_and(|done| now > done) {
            self.model.probe_rtt_min_stamp = now;
            self.restore_cwnd();
            self.exit_probe_rtt(now);
        }
    }

    /// ExitProbeRTT (draft-bbr §5.3.4.4).
    fn exit_probe_rtt(&mut self, now: Instant) {
        self.model.reset_short_term();
        if self.full.reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.enter_startup();
        }
    }

    /// ProbeRTTCwnd (draft-bbr §5.6.4.5).
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_multiple(self.model.bw, self.config.probe_rtt_cwnd_gain)
            .max(self.min_pipe_cwnd())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{at, on_path};
    use super::*;
    use crate::cc::RateSample;

    #[test]
    fn an_idle_time_is_over_with_the_first_octet_that_is_delivered() {
        // draft-bbr §5.3.4.3, CheckProbeRTT: RS.delivered > 0.
        for (delivered, idle) in [(0, true), (1, false)] {
            let mut bbr = on_path();
            bbr.idle_restart = true;
            bbr.check_probe_rtt(&EndAcks {
                rate: RateSample {
                    delivered,
                    ..RateSample::default()
                },
                ..EndAcks::default()
            });
            assert_eq!(bbr.idle_restart, idle, "{delivered}");
        }
    }

    #[test]
    fn the_window_of_a_visit_is_half_of_what_losses_leave() {
        // draft-bbr §5.6.4.5: 0.5 · BBR.bw · 100 ms, and not of BBR.max_bw.
        let mut bbr = on_path();
        bbr.model.max_bw = 1e6;
        bbr.model.bw = 6e5;
        assert_eq!(bbr.probe_rtt_cwnd(), 30_000);
    }

    #[test]
    fn a_round_begins_with_the_visit_and_another_when_little_is_in_flight() {
        // draft-bbr §5.3.4.3: CheckProbeRTT sets ACKS_PROBE_STOPPING; StartRound in it and in
        // HandleProbeRTT, so that a packet that left before does not end the round.
        let mut bbr = on_path();
        bbr.full.reached = true;
        bbr.state = State::Cruise;
        bbr.model.probe_rtt_expired = true;
        for (delivered, in_flight) in [(5000, 100_000), (7000, 50_000)] {
            bbr.model.delivered = delivered;
            bbr.bytes_in_flight = in_flight;
            bbr.check_probe_rtt(&EndAcks::default());
            assert_eq!(bbr.state, State::ProbeRtt);
            assert_eq!(bbr.cycle.ack_phase, AckPhase::ProbeStopping);
            for (prior_delivered, ends) in [(delivered - 1, false), (delivered, true)] {
                let mut rounds = bbr.model.rounds;
                let sample = RateSample {
                    prior_delivered,
                    ..RateSample::default()
                };
                assert_eq!(rounds.on_sample(&sample), ends, "{prior_delivered}");
            }
        }
    }

    #[test]
    fn a_visit_is_over_after_its_time_also_where_an_idle_sender_restarts() {
        // draft-bbr §5.3.4.3, CheckProbeRTTDone: Now() > probe_rtt_done_stamp; §5.4.1.
        for (now, state) in [(1000, State::ProbeRtt), (1001, State::Cruise)] {
            let mut bbr = on_path();
            bbr.full.reached = true;
            bbr.state = State::ProbeRtt;
            bbr.visit.done = Some(at(1000));
            let mut idle = bbr.clone();
            bbr.check_probe_rtt_done(at(now));
            assert_eq!(bbr.state, state, "{now}");
            idle.handle_restart_from_idle(at(now));
            assert_eq!(idle.state, state, "{now}");
        }
    }
}
