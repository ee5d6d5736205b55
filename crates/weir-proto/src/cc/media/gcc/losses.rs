//! The loss-based estimate As_hat of the available rate (gcc-02 §6), with libwebrtc's times: it
//! grows over the least rate of the last second, and falls at most once in 300 ms and a round trip.

use super::config::GccConfig;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// What is added to a growth so that a low rate grows too, in bit/s (libwebrtc).
const EXTRA: f64 = 1000.0;

/// The estimate.
#[derive(Clone, Debug)]
pub(super) struct LossBased {
    /// As_hat in bit/s.
    rate: f64,
    /// Lost packets and all packets since the last share was taken.
    counted: [u64; 2],
    /// The share of lost packets.
    ratio: f64,
    last_decrease: Option<Instant>,
    /// Times and rates of which the first is the least of `loss_increase_interval`.
    history: VecDeque<(Instant, f64)>,
}

impl LossBased {
    pub(super) fn new(config: &GccConfig) -> Self {
        Self {
            rate: config.start_rate as f64,
            counted: [0; 2],
            ratio: 0.0,
            last_decrease: None,
            history: VecDeque::new(),
        }
    }

    /// A report has arrived, with so many lost packets of all packets.
    pub(super) fn on_report(
        &mut self,
        config: &GccConfig,
        now: Instant,
        [lost, all]: [u64; 2],
        rtt: Duration,
    ) {
        self.counted = [self.counted[0] + lost, self.counted[1] + all];
        let [lost, all] = self.counted;
        let is_new = all >= u64::from(config.loss_packets.max(1));
        if is_new {
            self.ratio = lost as f64 / all as f64;
            self.counted = [0; 2];
        }
        let least = self.remember(config, now);
        if self.ratio <= config.low_loss {
            self.rate = self.rate.max(least * config.loss_growth + EXTRA);
        } else if is_new && self.ratio > config.high_loss {
            let wait = config.loss_decrease_interval + rtt;
            let since = self.last_decrease.map(|last| now.since(last));
            if since.is_none_or(|since| since >= wait) {
                self.rate *= 1.0 - self.ratio / 2.0;
                self.last_decrease = Some(now);
            }
        }
    }

    /// The least rate of the last `loss_increase_interval`.
    fn remember(&mut self, config: &GccConfig, now: Instant) -> f64 {
        let interval = config.loss_increase_interval;
        while (self.history.front()).is_some_and(|(at, _)| now.since(*at) >= interval) {
            self.history.pop_front();
        }
        while (self.history.back()).is_some_and(|(_, rate)| *rate >= self.rate) {
            self.history.pop_back();
        }
        self.history.push_back((now, self.rate));
        self.history.front().map_or(self.rate, |(_, rate)| *rate)
    }

    /// Raises the estimate to at least this rate in bit/s.
    pub(super) fn raise(&mut self, rate: f64) {
        self.rate = self.rate.max(rate);
    }

    pub(super) fn halve(&mut self) {
        self.rate /= 2.0;
    }

    /// Keeps the estimate in the range of the encoder, and below the delay-based one.
    pub(super) fn clip(&mut self, [least, most]: [f64; 2]) {
        self.rate = self.rate.min(most).max(least);
    }

    /// As_hat in bit/s.
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// The share of lost packets.
    pub(super) const fn ratio(&self) -> f64 {
        self.ratio
    }
}
