//! The model of the path (draft-ietf-ccwg-bbr §5.5): octets delivered, bandwidth, round-trip time,
//! and losses with the volume in flight at which they occurred.
//!
//! Rates are octets per second, volumes octets; [`f64::INFINITY`] and [`u64::MAX`] stand for a
//! bound that is not set.

use super::{BbrConfig, state::State};
use crate::cc::filter::WindowedMax;
use crate::cc::{EndAcks, RoundCounter};
use crate::event::{ModelState, RateLimit};
use crate::time::{Duration, Instant};
use crate::units::Rate;
use std::cmp::Ordering;

/// A sample of the delivery rate in octets per second, with its limit for the trace. Samples
/// compare by their rates.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::cc::window) struct BwSample {
    pub(in crate::cc::window) rate: f64,
    pub(in crate::cc::window) limited_by: RateLimit,
}

impl PartialEq for BwSample {
    fn eq(&self, other: &Self) -> bool {
        self.rate == other.rate
    }
}

impl PartialOrd for BwSample {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.rate.partial_cmp(&other.rate)
    }
}

/// The windowed maximum of the delivery rate and the bounds that losses have set.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) rounds: RoundCounter,
    /// BBR.round_start (draft-bbr §2.7): the acknowledgement ended a round.
    pub(super) round_start: bool,
    /// BBR.max_bw_filter (draft-bbr §2.11).
    max_bw_filter: WindowedMax<BwSample>,
    /// BBR.cycle_count (draft-bbr §2.11).
    cycle_count: u64,
    /// BBR.max_bw (draft-bbr §2.9.1).
    pub(super) max_bw: f64,
    /// BBR.bw (draft-bbr §2.9.1).
    pub(super) bw: f64,
    /// BBR.bw_shortterm (draft-bbr §2.9.1).
    pub(super) bw_shortterm: f64,
    /// BBR.inflight_shortterm (draft-bbr §2.9.2).
    pub(super) inflight_shortterm: u64,
    /// BBR.inflight_longterm (draft-bbr §2.9.2).
    pub(super) inflight_longterm: u64,
    /// BBR.bw_latest (draft-bbr §2.10).
    bw_latest: f64,
    /// BBR.inflight_latest (draft-bbr §2.10).
    pub(super) inflight_latest: u64,
    /// BBR.loss_round_delivered (draft-bbr §5.5.10.3).
    loss_round_delivered: u64,
    /// BBR.loss_round_start (draft-bbr §5.5.10.3): the acknowledgement ended a round that began
    /// with a loss.
    pub(super) loss_round_start: bool,
    /// BBR.is_loss_in_round (draft-bbr §2.14).
    pub(super) is_loss_in_round: bool,
    /// Discontiguous ranges of packets that were lost in the round.
    pub(super) loss_ranges_in_round: u32,
    extra_acked_filter: WindowedMax<u64>,
    extra_acked_delivered: u64,
    pub(super) extra_acked_interval_start: Instant,
    /// BBR.extra_acked (draft-bbr §2.9.2).
    pub(super) extra_acked: u64,
    /// BBR.min_rtt (draft-bbr §2.9.2); `None` before the first sample.
    pub(super) min_rtt: Option<Duration>,
    min_rtt_stamp: Instant,
    /// BBR.probe_rtt_min_delay (draft-bbr §2.16.2).
    probe_rtt_min_delay: Duration,
    /// BBR.probe_rtt_min_stamp (draft-bbr §2.16.2).
    pub(super) probe_rtt_min_stamp: Instant,
    /// BBR.probe_rtt_expired (draft-bbr §2.16.2).
    pub(super) probe_rtt_expired: bool,
    /// C.delivered.
    pub(super) delivered: u64,
}

impl Model {
    pub(super) fn new() -> Self {
        Self {
            rounds: RoundCounter::default(),
            round_start: false,
            max_bw_filter: WindowedMax::default(),
            cycle_count: 0,
            max_bw: 0.0,
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: u64::MAX,
            inflight_longterm: u64::MAX,
            bw_latest: 0.0,
            inflight_latest: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            loss_ranges_in_round: 0,
            extra_acked_filter: WindowedMax::default(),
            extra_acked_delivered: 0,
            extra_acked_interval_start: Instant::ZERO,
            extra_acked: 0,
            min_rtt: None,
            min_rtt_stamp: Instant::ZERO,
            probe_rtt_min_delay: Duration::MAX,
            probe_rtt_min_stamp: Instant::ZERO,
            probe_rtt_expired: false,
            delivered: 0,
        }
    }

    /// The connection begins (OnInit, draft-bbr §5.2.1).
    pub(super) fn init(&mut self, now: Instant, srtt: Duration) {
        self.min_rtt = (!srtt.is_zero()).then_some(srtt);
        self.min_rtt_stamp = now;
        self.probe_rtt_min_stamp = now;
        self.extra_acked_interval_start = now;
    }

    /// BBR.bdp (draft-bbr §2.9.2) in octets; `None` before the first sample of the round-trip time.
    pub(super) fn bdp(&self) -> Option<f64> {
        self.min_rtt.map(|rtt| self.bw * rtt.as_secs_f64())
    }

    /// StartRound (draft-bbr §5.5.1).
    pub(super) fn start_round(&mut self) {
        self.rounds.start(self.delivered);
    }

    /// UpdateLatestDeliverySignals (draft-bbr §5.5.10.3).
    pub(super) fn update_latest_delivery_signals(&mut self, acks: &EndAcks) {
        self.delivered = acks.rate.total_delivered;
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(delivery_rate(acks));
        self.inflight_latest = self.inflight_latest.max(acks.rate.delivered);
        if acks.rate.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.delivered;
            self.loss_round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals (draft-bbr §5.5.10.3).
    pub(super) fn advance_latest_delivery_signals(&mut self, acks: &EndAcks) {
        if self.loss_round_start {
            self.bw_latest = delivery_rate(acks);
            self.inflight_latest = acks.rate.delivered;
            self.loss_ranges_in_round = 0;
        }
    }

    /// ResetCongestionSignals (draft-bbr §5.5.10.3).
    pub(super) fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0;
    }

    /// ResetShortTermModel (draft-bbr §5.5.10.3).
    pub(super) fn reset_short_term(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = u64::MAX;
    }

    /// UpdateMaxBw with UpdateRound (draft-bbr §5.5.1 and §5.5.5). Returns true if a round ended.
    pub(super) fn update_max_bw(&mut self, acks: &EndAcks, config: &BbrConfig) -> bool {
        self.round_start = self.rounds.on_sample(&acks.rate);
        if let Some(rate) = acks.rate.delivery_rate {
            let rate = rate.as_bytes_per_sec();
            if rate > 0.0 && (rate >= self.max_bw || !acks.rate.app_limited) {
                // The cycle in progress is one of those that the window counts.
                let window = config.max_bw_filter_cycles.saturating_sub(1);
                let sample = BwSample {
                    rate,
                    limited_by: acks.rate.limited_by,
                };
                let best = self.max_bw_filter.update(window, self.cycle_count, sample);
                self.max_bw = best.rate;
            }
        }
        self.round_start
    }

    /// AdvanceMaxBwFilter (draft-bbr §5.5.6).
    pub(super) const fn advance_max_bw_filter(&mut self) {
        self.cycle_count += 1;
    }

    /// UpdateCongestionSignals after UpdateMaxBw (draft-bbr §5.5.10.3): once in a round with a loss
    /// the short-term bounds follow the latest delivery, unless the flow probes.
    pub(super) fn adapt_lower_bounds(&mut self, state: State, cwnd: u64, beta: f64) {
        if !self.loss_round_start {
            return;
        }
        if !state.is_probing_bw() && self.is_loss_in_round {
            if self.bw_shortterm.is_infinite() {
                self.bw_shortterm = self.max_bw;
            }
            if self.inflight_shortterm == u64::MAX {
                self.inflight_shortterm = cwnd;
            }
            let inflight = beta * self.inflight_shortterm as f64;
            self.bw_shortterm = self.bw_latest.max(beta * self.bw_shortterm);
            self.inflight_shortterm = self.inflight_latest.max(inflight as u64);
        }
        self.is_loss_in_round = false;
    }

    /// BoundBWForModel (draft-bbr §5.5.10.3).
    pub(super) fn bound_bw(&mut self) {
        self.bw = self.max_bw.min(self.bw_shortterm);
    }

    /// The limit of the sample behind BBR.bw; a bandwidth that losses have reduced counts as the
    /// path's.
    pub(super) const fn bw_limited_by(&self) -> RateLimit {
        if self.bw < self.max_bw {
            RateLimit::Path
        } else {
            self.max_bw_filter.get().limited_by
        }
    }

    /// The model for a trace, with BBR.full_bw_count.
    pub(super) fn report(&self, full_bw_count: u32) -> ModelState {
        let bound = |octets| (octets < u64::MAX).then_some(octets);
        ModelState {
            max_bw: Rate::from_bytes_per_sec(self.max_bw),
            bw_shortterm: (self.bw_shortterm.is_finite())
                .then(|| Rate::from_bytes_per_sec(self.bw_shortterm)),
            inflight_shortterm: bound(self.inflight_shortterm),
            inflight_longterm: bound(self.inflight_longterm),
            extra_acked: self.extra_acked,
            full_bw_count,
        }
    }

    /// UpdateACKAggregation (draft-bbr §5.5.9).
    pub(super) fn update_ack_aggregation(&mut self, acks: &EndAcks, cwnd: u64, window: u64) {
        let interval = acks.now.since(self.extra_acked_interval_start);
        let mut expected = (self.bw * interval.as_secs_f64()) as u64;
        if self.extra_acked_delivered <= expected {
            self.extra_acked_delivered = 0;
            self.extra_acked_interval_start = acks.now;
            expected = 0;
        }
        self.extra_acked_delivered += acks.newly_acked;
        let extra = self
            .extra_acked_delivered
            .saturating_sub(expected)
            .min(cwnd);
        let round = self.rounds.count();
        self.extra_acked = self.extra_acked_filter.update(window, round, extra);
    }

    /// UpdateMinRTT (draft-bbr §5.3.4.3).
    pub(super) fn update_min_rtt(&mut self, acks: &EndAcks, config: &BbrConfig) {
        let now = acks.now;
        self.probe_rtt_expired = now > self.probe_rtt_min_stamp + config.probe_rtt_interval;
        if let Some(rtt) = acks.rtt_sample
            && (rtt < self.probe_rtt_min_delay || self.probe_rtt_expired)
        {
            self.probe_rtt_min_delay = rtt;
            self.probe_rtt_min_stamp = now;
        }
        let expired = now > self.min_rtt_stamp + config.min_rtt_filter;
        let is_lower = self
            .min_rtt
            .is_none_or(|least| self.probe_rtt_min_delay < least);
        if (is_lower || expired) && self.probe_rtt_min_delay < Duration::MAX {
            self.min_rtt = Some(self.probe_rtt_min_delay);
            self.min_rtt_stamp = self.probe_rtt_min_stamp;
        }
    }

    /// NoteLoss (draft-bbr §5.5.10.2).
    pub(super) const fn note_loss(&mut self, delivered: u64) {
        self.delivered = delivered;
        if !self.is_loss_in_round {
            self.loss_round_delivered = delivered;
        }
        self.is_loss_in_round = true;
    }
}

/// RS.delivery_rate in octets per second; zero if the sample is not reliable.
pub(super) fn delivery_rate(acks: &EndAcks) -> f64 {
    acks.rate.delivery_rate.map_or(0.0, Rate::as_bytes_per_sec)
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
