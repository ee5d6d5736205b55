//! The reference window: its reduction by losses, marks and queueing delay, and its increase
//! ("Reference Window Update" of the draft). All in octets and seconds.

use super::config::ScreamConfig;
use crate::event::Limit;
use crate::time::{Duration, Instant};

/// The gain of the distance from the inflection point, before it is squared.
const INFLECTION_GAIN: f64 = 8.0;
/// The least factor near the inflection point, and the least that applies to increase and backoff.
const LEAST_SCALE: f64 = 0.1;
const LEAST_GROWTH: f64 = 0.25;
/// The part of the target of the queueing delay below which backoff by marks is scaled down.
const SMALL_DELAY: f64 = 0.25;
/// Round trips without congestion after which a mark sets the window to what is in flight.
const LONG_WITHOUT_CONGESTION: u64 = 100;
/// The longest time between two updates of l4s_alpha.
const ALPHA_INTERVAL: Duration = Duration::from_millis(10);

/// What a report shows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Feedback {
    pub(super) now: Instant,
    /// The smoothed round-trip time; `None` before the first sample.
    pub(super) rtt: Option<Duration>,
    /// The queueing delay of the newest packet.
    pub(super) qdelay: Option<Duration>,
    /// bytes_newly_acked and bytes_newly_acked_ce.
    pub(super) acked: [u64; 2],
    /// Data units delivered, and those of them that are marked.
    pub(super) units: [u64; 2],
    pub(super) is_loss: bool,
    /// max_bytes_in_flight and max_bytes_in_flight_prev.
    pub(super) in_flight: [u64; 2],
    /// target_bitrate is below TARGET_BITRATE_MAX.
    pub(super) may_grow: bool,
}

/// The reference window and what it follows.
#[derive(Clone, Debug)]
pub(super) struct ReferenceWindow {
    /// ref_wnd.
    octets: f64,
    /// ref_wnd_i.
    inflection: f64,
    /// ref_wnd_i_update_allowed.
    may_set_inflection: bool,
    is_l4s: bool,
    /// qdelay_avg in seconds.
    qdelay: f64,
    qdelay_updated: Option<Instant>,
    /// l4s_alpha.
    alpha: f64,
    alpha_updated: Option<Instant>,
    /// data_units_delivered_this_rtt and data_units_marked_this_rtt.
    units: [u64; 2],
    /// last_congestion_detected_time.
    congested: Option<Instant>,
    /// last_reaction_to_congestion_time.
    reacted: Option<Instant>,
    /// Losses and marks since then.
    is_loss: bool,
    is_marked: bool,
}

impl ReferenceWindow {
    pub(super) fn new(config: &ScreamConfig, is_l4s: bool) -> Self {
        Self {
            octets: config.min_ref_wnd as f64,
            inflection: 1.0,
            may_set_inflection: true,
            is_l4s,
            qdelay: 0.0,
            qdelay_updated: None,
            alpha: 0.0,
            alpha_updated: None,
            units: [0; 2],
            congested: None,
            reacted: None,
            is_loss: false,
            is_marked: false,
        }
    }

    /// A report has arrived. Returns the rule that set the window, if it changed.
    pub(super) fn on_report(
        &mut self,
        config: &ScreamConfig,
        feedback: &Feedback,
    ) -> Option<Limit> {
        let rtt = feedback.rtt?;
        self.update_alpha(config, feedback, rtt);
        self.update_qdelay(config, feedback, rtt);
        let scale = self.scale();
        let reduced = self.reduce(config, feedback, (rtt, scale));
        let increased = self.increase(config, feedback, (rtt, scale));
        reduced.or(increased)
    }

    /// scl_t: from 0.1 at the last known greatest window to 1 away from it.
    fn scale(&self) -> f64 {
        let distance = INFLECTION_GAIN * (self.octets - self.inflection) / self.inflection;
        (distance * distance).clamp(LEAST_SCALE, 1.0)
    }

    fn update_alpha(&mut self, config: &ScreamConfig, feedback: &Feedback, rtt: Duration) {
        let [delivered, marked] = feedback.units;
        self.units = [self.units[0] + delivered, self.units[1] + marked];
        let interval = ALPHA_INTERVAL.min(rtt);
        let [delivered, marked] = self.units;
        if delivered == 0 || !is_due(self.alpha_updated, feedback.now, interval) {
            return;
        }
        let share = marked as f64 / delivered as f64;
        // A fast attack and a slow decay.
        self.alpha = if share >= self.alpha {
            config.l4s_gain_up * share + (1.0 - config.l4s_gain_up) * self.alpha
        } else {
            (1.0 - config.l4s_gain_down) * self.alpha
        };
        self.units = [0; 2];
        self.alpha_updated = Some(feedback.now);
    }

    fn update_qdelay(&mut self, config: &ScreamConfig, feedback: &Feedback, rtt: Duration) {
        let Some(qdelay) = feedback.qdelay else {
            return;
        };
        let interval = config.virtual_rtt.min(rtt);
        if !is_due(self.qdelay_updated, feedback.now, interval) {
            return;
        }
        let qdelay = qdelay.as_secs_f64();
        // A slow attack and a fast decay.
        self.qdelay = if qdelay < self.qdelay {
            qdelay
        } else {
            config.qdelay_gain * qdelay + (1.0 - config.qdelay_gain) * self.qdelay
        };
        self.qdelay_updated = Some(feedback.now);
    }

    fn reduce(
        &mut self,
        config: &ScreamConfig,
        feedback: &Feedback,
        (rtt, scale): (Duration, f64),
    ) -> Option<Limit> {
        let now = feedback.now;
        self.is_loss |= feedback.is_loss;
        self.is_marked |= feedback.units[1] > 0;
        if feedback.is_loss || feedback.units[1] > 0 {
            self.congested = Some(now);
        }
        if !is_due(self.reacted, now, config.virtual_rtt.min(rtt)) {
            return None;
        }
        let target = config.qdelay_target.as_secs_f64();
        let limit = if self.is_loss {
            Limit::LossReduction
        } else if self.is_marked {
            Limit::MarkReduction
        } else if self.qdelay > target / 2.0 {
            Limit::DelayReduction
        } else {
            return None;
        };
        if std::mem::take(&mut self.may_set_inflection) {
            self.inflection = self.octets.max(1.0);
        }
        match limit {
            Limit::LossReduction => self.octets *= config.beta_loss,
            Limit::MarkReduction if self.is_l4s => {
                self.reduce_by_marks(config, feedback, (rtt, scale));
            }
            Limit::MarkReduction => self.octets *= config.beta_ecn,
            _ => {
                // l4s_alpha_v_t: from 0 at half of the target to 1 at the target.
                let alpha = ((self.qdelay - target / 2.0) / (target / 2.0)).clamp(0.0, 1.0);
                self.octets *= 1.0 - alpha / 2.0 / round_trips(config, rtt);
            }
        }
        self.octets = self.octets.max(config.min_ref_wnd as f64);
        self.reacted = Some(now);
        (self.is_loss, self.is_marked) = (false, false);
        Some(limit)
    }

    /// The reduction by marks of L4S.
    fn reduce_by_marks(
        &mut self,
        config: &ScreamConfig,
        feedback: &Feedback,
        (rtt, scale): (Duration, f64),
    ) {
        let mut backoff = self.alpha / 2.0 / round_trips(config, rtt);
        let small = config.qdelay_target.as_secs_f64() * SMALL_DELAY;
        let qdelay = feedback.qdelay.map(Duration::as_secs_f64);
        if qdelay.is_some_and(|qdelay| qdelay < small) {
            backoff *= scale.max(LEAST_GROWTH);
        }
        // The source may have been slower than the path for long, and the window too large.
        let long = config.virtual_rtt.max(rtt) * LONG_WITHOUT_CONGESTION;
        let since = self.reacted.map(|last| feedback.now.since(last));
        if since.is_none_or(|since| since > long) {
            self.octets = self.octets.min(feedback.in_flight[1] as f64);
        }
        self.octets *= 1.0 - backoff;
    }

    fn increase(
        &mut self,
        config: &ScreamConfig,
        feedback: &Feedback,
        (rtt, scale): (Duration, f64),
    ) -> Option<Limit> {
        let [acked, marked] = feedback.acked;
        let mss = config.mss as f64;
        let calm = config.virtual_rtt.max(rtt).as_secs_f64()
            * f64::from(config.post_congestion_round_trips);
        let since = self
            .congested
            .map(|last| feedback.now.since(last).as_secs_f64());
        let calm = since.map_or(1.0, |since| (since / calm.max(1e-9)).min(1.0));
        let multiplicative = config.multiplicative_increase * self.octets / mss * calm * scale;
        let step = acked.saturating_sub(marked) as f64
            * (mss / self.octets).min(1.0)
            * (rtt.as_secs_f64() / config.virtual_rtt.as_secs_f64().max(1e-9)).min(1.0)
            * scale.max(LEAST_GROWTH)
            * (1.0 + multiplicative);
        let [last, before] = feedback.in_flight;
        let most = mss + last.max(before) as f64 * config.in_flight_headroom;
        if step <= 0.0 {
            return None;
        }
        if !feedback.may_grow || self.octets + step > most {
            return Some(Limit::ReceivedMedia);
        }
        self.octets += step;
        self.may_set_inflection = true;
        Some(if multiplicative > 1.0 {
            Limit::MultiplicativeIncrease
        } else {
            Limit::AdditiveIncrease
        })
    }

    /// The window is halved without feedback.
    pub(super) fn halve(&mut self, config: &ScreamConfig) {
        self.octets = (self.octets / 2.0).max(config.min_ref_wnd as f64);
    }

    /// ref_wnd in octets.
    pub(super) const fn octets(&self) -> f64 {
        self.octets
    }

    /// qdelay_avg in seconds.
    pub(super) const fn qdelay(&self) -> f64 {
        self.qdelay
    }

    /// l4s_alpha.
    pub(super) const fn alpha(&self) -> f64 {
        self.alpha
    }
}

/// True if `interval` has passed since `last`.
fn is_due(last: Option<Instant>, now: Instant, interval: Duration) -> bool {
    last.is_none_or(|last| now.since(last) >= interval)
}

/// Virtual round trips in a round trip, one at the least.
fn round_trips(config: &ScreamConfig, rtt: Duration) -> f64 {
    (rtt.as_secs_f64() / config.virtual_rtt.as_secs_f64().max(1e-9)).max(1.0)
}

#[cfg(test)]
impl ReferenceWindow {
    /// A window of so many octets, with this inflection point.
    pub(super) fn of(config: &ScreamConfig, is_l4s: bool, [octets, inflection]: [f64; 2]) -> Self {
        Self {
            octets,
            inflection,
            ..Self::new(config, is_l4s)
        }
    }

    pub(super) const fn inflection(&self) -> f64 {
        self.inflection
    }
}
