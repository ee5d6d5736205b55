//! The rate of a policer (Linux: bbr_lt_bw_sampling): two intervals in a row with many losses and
//! about the same throughput are taken for a token bucket, whose rate is then used for 48 rounds.

use crate::cc::EndAcks;
use crate::time::{Duration, Instant};

/// bbr_lt_intvl_min_rtts: the shortest interval in rounds; the longest is four times that.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// bbr_lt_loss_thresh: lost octets to delivered ones, 50 of 256.
const LOSS_THRESHOLD: f64 = 50.0 / 256.0;
/// bbr_lt_bw_ratio: two rates are the same if they differ by an eighth at most.
const SAME_SHARE: f64 = 1.0 / 8.0;
/// bbr_lt_bw_diff in octets per second: or by this.
const SAME_DIFFERENCE: f64 = 500.0;
/// bbr_lt_bw_max_rtts: rounds for which the rate is used.
const USED_ROUNDS: u32 = 48;
/// Linux measures an interval in milliseconds, and none that is shorter than one.
const LEAST_TIME: Duration = Duration::from_millis(1);

/// What an acknowledgement changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    /// The rate is used from now on.
    Found,
    /// It was used for long enough: the bandwidth is probed for again.
    Expired,
}

/// The interval in progress and the rate of the one before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    is_sampling: bool,
    /// The rate in octets per second is used.
    is_used: bool,
    rate: f64,
    since: Instant,
    delivered: u64,
    lost: u64,
    rounds: u32,
}

impl Policer {
    /// The rate in octets per second, if it is used.
    pub(super) fn rate(&self) -> Option<f64> {
        self.is_used.then_some(self.rate)
    }

    /// Forgets rate and interval (bbr_reset_lt_bw_sampling).
    pub(super) fn reset(&mut self, now: Instant, delivered: u64, lost: u64) {
        (self.is_sampling, self.is_used, self.rate) = (false, false, 0.0);
        self.restart(now, delivered, lost);
    }

    fn restart(&mut self, now: Instant, delivered: u64, lost: u64) {
        (self.since, self.delivered, self.lost) = (now, delivered, lost);
        self.rounds = 0;
    }

    /// An acknowledgement; `lost` are all octets lost so far, `newly_lost` those since the one
    /// before.
    pub(super) fn on_end_acks(
        &mut self,
        acks: &EndAcks,
        (lost, newly_lost): (u64, u64),
        (round_start, is_probe_bw): (bool, bool),
    ) -> Change {
        let (now, delivered) = (acks.now, acks.rate.total_delivered);
        if self.is_used {
            self.rounds += u32::from(is_probe_bw && round_start);
            if self.rounds < USED_ROUNDS {
                return Change::Nothing;
            }
            self.reset(now, delivered, lost);
            return Change::Expired;
        }
        if !self.is_sampling {
            if newly_lost == 0 {
                return Change::Nothing;
            }
            self.restart(now, delivered, lost);
            self.is_sampling = true;
        }
        if acks.rate.app_limited {
            self.reset(now, delivered, lost);
            return Change::Nothing;
        }
        self.rounds += u32::from(round_start);
        if self.rounds > MOST_ROUNDS {
            self.reset(now, delivered, lost);
            return Change::Nothing;
        }
        // An interval ends with a loss, when the bucket is empty.
        if self.rounds < LEAST_ROUNDS || newly_lost == 0 {
            return Change::Nothing;
        }
        let (sent_on, dropped) = (delivered - self.delivered, lost - self.lost);
        if sent_on == 0 || (dropped as f64) < LOSS_THRESHOLD * sent_on as f64 {
            return Change::Nothing;
        }
        let time = now.since(self.since);
        if time < LEAST_TIME {
            return Change::Nothing;
        }
        self.end_interval(sent_on as f64 / time.as_secs_f64(), (now, delivered, lost))
    }

    /// bbr_lt_bw_interval_done.
    fn end_interval(&mut self, rate: f64, (now, delivered, lost): (Instant, u64, u64)) -> Change {
        let difference = (rate - self.rate).abs();
        let is_same = difference <= SAME_SHARE * self.rate || difference <= SAME_DIFFERENCE;
        if self.rate > 0.0 && is_same {
            self.rate = f64::midpoint(rate, self.rate);
            self.is_used = true;
            self.rounds = 0;
            return Change::Found;
        }
        self.rate = rate;
        self.restart(now, delivered, lost);
        Change::Nothing
    }
}
