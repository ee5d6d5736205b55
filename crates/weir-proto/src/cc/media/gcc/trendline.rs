//! The trend of the queueing delay, and the over-use detector with its adaptive threshold (gcc-02
//! §5.4). The trend is the slope of a line through the smoothed delay of the last groups, as in
//! libwebrtc's `TrendlineEstimator`, in place of the Kalman filter of §5.3; the detector compares
//!
//!   T(i) = min(n, 60) · trend · 4
//!
//! with del_var_th(i), both in milliseconds.

use super::config::GccConfig;
use super::groups::Variation;
use crate::time::Duration;
use std::collections::VecDeque;

/// The bounds of the threshold in milliseconds (§5.4).
const THRESHOLD_BOUNDS: [f64; 2] = [6.0, 600.0];
/// A signal that is so many milliseconds above the threshold does not change it (§5.4).
const MAX_ADAPTATION: f64 = 15.0;
/// The longest time that counts in one adaptation, in milliseconds (libwebrtc's
/// `kMaxTimeDeltaMs`).
const MAX_STEP: f64 = 100.0;

/// The signal of the detector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Usage {
    #[default]
    Normal,
    Over,
    Under,
}

/// The estimator of the trend and the detector.
#[derive(Clone, Debug)]
pub(super) struct Trendline {
    /// Arrival since the first group and smoothed delay of the last groups, in milliseconds.
    points: VecDeque<[f64; 2]>,
    first_arrival: Option<Duration>,
    deltas: u32,
    /// The delay above that of the first group, in milliseconds.
    delay_ms: f64,
    smoothed_ms: f64,
    trend: f64,
    /// T(i).
    signal: f64,
    /// del_var_th.
    threshold: f64,
    adapted: Option<Duration>,
    /// How long the signal has been above the threshold, in milliseconds.
    over_ms: Option<f64>,
    over_count: u32,
    usage: Usage,
}

impl Trendline {
    pub(super) fn new(config: &GccConfig) -> Self {
        Self {
            points: VecDeque::new(),
            first_arrival: None,
            deltas: 0,
            delay_ms: 0.0,
            smoothed_ms: 0.0,
            trend: 0.0,
            signal: 0.0,
            threshold: config.initial_threshold,
            adapted: None,
            over_ms: None,
            over_count: 0,
            usage: Usage::Normal,
        }
    }

    /// A group has arrived.
    pub(super) fn on_group(&mut self, config: &GccConfig, group: &Variation) {
        self.deltas = (self.deltas + 1).min(config.max_deltas);
        let first = *self.first_arrival.get_or_insert(group.arrival);
        self.delay_ms += group.delay_ms;
        self.smoothed_ms =
            config.smoothing * self.smoothed_ms + (1.0 - config.smoothing) * self.delay_ms;
        let at = group.arrival.saturating_sub(first).as_secs_f64() * 1000.0;
        self.points.push_back([at, self.smoothed_ms]);
        let most = config.trendline_window.max(2) as usize;
        while self.points.len() > most {
            self.points.pop_front();
        }
        let before = self.trend;
        if self.points.len() == most {
            self.trend = slope(&self.points).unwrap_or(before);
        }
        if self.deltas >= 2 {
            self.detect(config, group, before);
        }
    }

    /// `before` is the trend at the last group.
    fn detect(&mut self, config: &GccConfig, group: &Variation, before: f64) {
        self.signal = f64::from(self.deltas) * self.trend * config.threshold_gain;
        if self.signal > self.threshold {
            let spaced = group.sent.as_secs_f64() * 1000.0;
            // The signal rose somewhere between the last group and this one.
            let over = self.over_ms.map_or(spaced / 2.0, |over| over + spaced);
            self.over_ms = Some(over);
            self.over_count += 1;
            let is_long = over > config.overuse_time.as_secs_f64() * 1000.0;
            // §5.4: no over-use while the trend falls.
            if is_long && self.over_count > 1 && self.trend >= before {
                self.over_ms = Some(0.0);
                self.over_count = 0;
                self.usage = Usage::Over;
            }
        } else {
            self.over_ms = None;
            self.over_count = 0;
            self.usage = if self.signal < -self.threshold {
                Usage::Under
            } else {
                Usage::Normal
            };
        }
        self.adapt(config, group.arrival);
    }

    /// del_var_th(i) = del_var_th(i-1) + (t(i) - t(i-1)) · K(i) · (|m(i)| - del_var_th(i-1)), with
    /// T(i) in place of m(i).
    fn adapt(&mut self, config: &GccConfig, now: Duration) {
        let since = self.adapted.replace(now).unwrap_or(now);
        let above = self.signal.abs() - self.threshold;
        if above > MAX_ADAPTATION {
            return;
        }
        let gain = if above < 0.0 { config.k_d } else { config.k_u };
        let step = (now.saturating_sub(since).as_secs_f64() * 1000.0).min(MAX_STEP);
        let [least, most] = THRESHOLD_BOUNDS;
        self.threshold = (self.threshold + step * gain * above).clamp(least, most);
    }

    /// What the detector signals.
    pub(super) const fn usage(&self) -> Usage {
        self.usage
    }

    /// T(i) in milliseconds.
    pub(super) const fn signal(&self) -> f64 {
        self.signal
    }

    /// The delay above that of the first group, in milliseconds.
    pub(super) const fn delay_ms(&self) -> f64 {
        self.delay_ms
    }
}

/// The slope of the line of least squares through `points`; `None` if all stand at one time.
fn slope(points: &VecDeque<[f64; 2]>) -> Option<f64> {
    let count = points.len() as f64;
    let sum = |of: fn(&[f64; 2]) -> f64| points.iter().map(of).sum::<f64>();
    let [x, y] = [sum(|point| point[0]), sum(|point| point[1])].map(|sum| sum / count);
    let products = points.iter().map(|point| (point[0] - x) * (point[1] - y));
    let squares = points.iter().map(|point| (point[0] - x) * (point[0] - x));
    let (above, below) = (products.sum::<f64>(), squares.sum::<f64>());
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
impl Trendline {
    pub(super) const fn threshold(&self) -> f64 {
        self.threshold
    }

    pub(super) const fn trend(&self) -> f64 {
        self.trend
    }
}
