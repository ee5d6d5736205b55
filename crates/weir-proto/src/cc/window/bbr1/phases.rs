//! The model of BBRv1 and its phases: bandwidth, aggregation of acknowledgements and round-trip
//! time (Linux `tcp_bbr.c`, bbr_update_model).

use super::{
    AGGREGATION_ROUNDS, AGGREGATION_TIME, Bbr1, BwSample, Change, EPOCH_PACKETS, EndAcks,
    FIRST_PHASES, Instant, Mode, PHASES,
};

impl Bbr1 {
    /// bbr_update_bw.
    pub(super) fn update_bw(&mut self, acks: &EndAcks, newly_lost: u64) {
        self.round_start = false;
        let Some(rate) = acks.rate.delivery_rate else {
            return;
        };
        if self.rounds.on_sample(&acks.rate) {
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_policer(acks, newly_lost);
        let sample = BwSample {
            rate: rate.as_bytes_per_sec(),
            limited_by: acks.rate.limited_by,
        };
        if sample.rate > 0.0 && (!acks.rate.app_limited || sample >= self.max_bw.get()) {
            self.max_bw
                .update(self.config.bw_rounds, self.rounds.count(), sample);
        }
    }

    pub(super) fn sample_policer(&mut self, acks: &EndAcks, newly_lost: u64) {
        if !self.config.policer_detection {
            return;
        }
        let at = (self.round_start, self.mode == Mode::ProbeBw);
        let change = self.policer.on_end_acks(acks, (self.lost, newly_lost), at);
        if change == Change::Expired {
            self.enter_probe_bw(acks.now);
        }
    }

    /// bbr_update_ack_aggregation.
    pub(super) fn update_aggregation(&mut self, acks: &EndAcks) {
        if acks.newly_acked == 0 || acks.rate.delivery_rate.is_none() {
            return;
        }
        let bw = self.bw();
        let aggregation = &mut self.aggregation;
        if self.round_start {
            aggregation.rounds += 1;
            if aggregation.rounds >= AGGREGATION_ROUNDS {
                aggregation.rounds = 0;
                aggregation.most = [0, aggregation.most[0]];
            }
        }
        let since = acks.now.since(aggregation.epoch_start);
        let mut expected = (bw * since.as_secs_f64()) as u64;
        let is_long = aggregation.epoch_acked + acks.newly_acked >= EPOCH_PACKETS * self.mss;
        if aggregation.epoch_acked <= expected || is_long {
            (aggregation.epoch_acked, aggregation.epoch_start) = (0, acks.now);
            expected = 0;
        }
        aggregation.epoch_acked += acks.newly_acked;
        let extra = (aggregation.epoch_acked - expected).min(self.cwnd);
        aggregation.most[0] = aggregation.most[0].max(extra);
    }

    /// The room for aggregation in the window (bbr_ack_aggregation_cwnd).
    pub(super) fn room_for_aggregation(&self) -> u64 {
        if !self.full_bw_reached {
            return 0;
        }
        let most = self.aggregation.most[0].max(self.aggregation.most[1]) as f64;
        let allowed = self.bw() * AGGREGATION_TIME.as_secs_f64();
        (self.config.extra_acked_gain * most).min(allowed) as u64
    }

    /// bbr_update_cycle_phase.
    pub(super) fn update_phase(
        &mut self,
        acks: &EndAcks,
        (prior_in_flight, newly_lost): (u64, u64),
    ) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let min_rtt = self.min_rtt.unwrap_or_default();
        let is_full_length = acks.now.since(self.phase_start) > min_rtt;
        let (gain, _) = self.gains();
        let bw = self.max_bw.get().rate;
        let is_over = if gain > 1.0 {
            let is_filled = prior_in_flight >= self.inflight(bw, gain);
            is_full_length && (newly_lost > 0 || is_filled)
        } else if gain < 1.0 {
            is_full_length || prior_in_flight <= self.inflight(bw, 1.0)
        } else {
            is_full_length
        };
        if is_over {
            self.next_phase(acks.now);
        }
    }

    pub(super) fn next_phase(&mut self, now: Instant) {
        self.phase = (self.phase + 1) % PHASES;
        self.phase_start = now;
    }

    /// bbr_reset_probe_bw_mode.
    pub(super) fn enter_probe_bw(&mut self, now: Instant) {
        self.mode = Mode::ProbeBw;
        self.phase = PHASES - 1 - self.rng.below(FIRST_PHASES);
        self.next_phase(now);
    }

    /// bbr_check_full_bw_reached.
    pub(super) fn check_full_bw(&mut self, acks: &EndAcks) {
        if self.full_bw_reached || !self.round_start || acks.rate.app_limited {
            return;
        }
        let bw = self.max_bw.get().rate;
        if bw >= self.config.full_bw_threshold * self.full_bw {
            self.full_bw = bw;
            self.full_bw_count = 0;
            return;
        }
        self.full_bw_count += 1;
        self.full_bw_reached = self.full_bw_count >= self.config.full_bw_rounds;
    }

    /// bbr_check_drain.
    pub(super) fn check_drain(&mut self, acks: &EndAcks) {
        let needed = self.inflight(self.max_bw.get().rate, 1.0);
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            self.ssthresh = Some(needed);
        }
        if self.mode == Mode::Drain && acks.bytes_in_flight <= needed {
            self.enter_probe_bw(acks.now);
        }
    }

    /// bbr_update_min_rtt.
    pub(super) fn update_min_rtt(&mut self, acks: &EndAcks) {
        let now = acks.now;
        let is_expired = now.since(self.min_rtt_stamp) > self.config.min_rtt_window;
        if let Some(sample) = acks.rtt_sample {
            // A lone packet in a round: its acknowledgement may have been delayed.
            let is_delayed = acks.rate.delivered <= self.mss && acks.acked_packets == 1;
            let is_least = self.min_rtt.is_none_or(|least| sample < least);
            if is_least || (is_expired && !is_delayed) {
                (self.min_rtt, self.min_rtt_stamp) = (Some(sample), now);
            }
        }
        if is_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            match self.probe_rtt_done {
                None if acks.bytes_in_flight <= self.cwnd_min() => {
                    self.probe_rtt_done = Some(now + self.config.probe_rtt_time);
                    self.probe_rtt_round_done = false;
                    self.rounds.start(self.delivered);
                }
                Some(_) => {
                    self.probe_rtt_round_done |= self.round_start;
                    if self.probe_rtt_round_done {
                        self.check_probe_rtt_done(now);
                    }
                }
                None => {}
            }
        }
        if acks.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// bbr_check_probe_rtt_done.
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt_stamp = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bw(now);
        } else {
            self.mode = Mode::Startup;
        }
    }
}
