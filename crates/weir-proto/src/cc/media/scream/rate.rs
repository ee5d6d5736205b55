//! The target rate of the encoder and the pacing rate ("Media Rate Control" and "Packet Pacing" of
//! the draft):
//!
//!   target_bitrate = 8 · ref_wnd / s_rtt
//!
//! less what small windows, headers, waiting media and frames of unequal size need.

use super::config::ScreamConfig;
use crate::time::{Duration, Instant};

/// frame_period before frames were seen, in seconds.
const FRAME_PERIOD: f64 = 0.02;
/// The weight of a new frame period, which the draft leaves open.
const PERIOD_GAIN: f64 = 1.0 / 8.0;
/// The longest frame period that counts, in seconds: a pause is none.
const LONGEST_PERIOD: f64 = 0.2;
/// The greatest rate_adjust_factor.
const MOST_ADJUSTMENT: f64 = 0.5;
/// The greatest frame_size_dev.
const MOST_DEVIATION: f64 = 0.2;
/// The part of a frame period that media may wait.
const WAIT: f64 = 0.25;
/// The share of a packet in the window above which the rate is scaled down, and by how much at
/// most.
const SMALL_WINDOW: f64 = 0.1;
const MOST_SCALED: f64 = 0.2;
/// The divisor that keeps the queue of media short.
const MARGIN: f64 = 1.2;

/// The media rate control.
#[derive(Clone, Debug)]
pub(super) struct MediaRate {
    /// target_bitrate.
    target: f64,
    /// rate_adjust_factor.
    adjustment: f64,
    /// frame_size_dev.
    deviation: f64,
    /// frame_period in seconds.
    period: f64,
    last_frame: Option<Instant>,
}

impl MediaRate {
    pub(super) fn new(config: &ScreamConfig) -> Self {
        Self {
            target: config.min_rate as f64,
            adjustment: 0.0,
            deviation: 0.0,
            period: FRAME_PERIOD,
            last_frame: None,
        }
    }

    /// A frame of `octets` was written; the first waiting packet has waited so long.
    pub(super) fn on_frame(
        &mut self,
        config: &ScreamConfig,
        now: Instant,
        [octets, waited_s]: [f64; 2],
    ) {
        if let Some(last) = self.last_frame.replace(now) {
            let period = now.since(last).as_secs_f64();
            if period > 0.0 && period <= LONGEST_PERIOD {
                self.period += PERIOD_GAIN * (period - self.period);
            }
        }
        let error = (waited_s - self.period * WAIT) / self.period;
        let adjustment = self.adjustment + error * config.rate_adjust_gain;
        self.adjustment = adjustment.clamp(0.0, MOST_ADJUSTMENT);
        let nominal = (self.target * self.period / 8.0).max(1.0);
        let deviation = ((octets - nominal) / nominal).max(0.0);
        let gain = config.frame_size_gain;
        self.deviation = ((1.0 - gain) * self.deviation + gain * deviation).min(MOST_DEVIATION);
    }

    /// Computes the target from ref_wnd and s_rtt.
    pub(super) fn update(&mut self, config: &ScreamConfig, window: f64, rtt: Duration) {
        let mss = config.mss as f64;
        let ratio = (mss / window).min(1.0);
        let scale = 1.0 - (ratio - SMALL_WINDOW).clamp(0.0, MOST_SCALED);
        let headers = mss / (mss + config.packet_overhead as f64);
        let scale = scale * headers / (MARGIN + self.adjustment + self.deviation);
        let rate = scale * 8.0 * window / rtt.as_secs_f64().max(1e-6);
        let (least, most) = (config.min_rate as f64, config.max_rate as f64);
        self.target = rate.max(least).min(most.max(least));
    }

    /// target_bitrate.
    pub(super) const fn target(&self) -> f64 {
        self.target
    }

    /// pace_bitrate.
    pub(super) fn pacing(&self, config: &ScreamConfig) -> f64 {
        let rate = self.target.max(config.min_pacing_rate as f64) * config.pacing_headroom;
        let from = config.relaxed_pacing_from;
        let nominal = self.target / (config.max_rate as f64).max(1.0);
        let relaxed = ((nominal - from) / (1.0 - from).max(1e-9)).min(1.0);
        rate / (1.0 - relaxed).clamp(1.0 / config.relaxed_pacing, 1.0)
    }
}
