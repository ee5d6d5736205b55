//! The nofeedback timer (RFC 3448 §4.4, RFC 5348 §4.4): without feedback for max(4R, 2s/X) the rate
//! is halved.
//!
//! Linux takes the maximum with 100 ms or 200 ms too, counts in ticks, and halves the rate of an
//! idle sender as well.

use super::allowed_rate::{RECEIVE_LIMIT, RateBound};
use super::{FeedbackState, INITIAL_TIMEOUT, Sender};
use crate::cc::tfrc::profile::{
    BeforeFeedback, HalvingWithoutLoss, IdleRule, NofeedbackExemption, TimerTick,
};
use crate::event::{Event, EventMask, Events, Limit};
use crate::time::{Duration, Instant};

/// Round trips, and times between packets, without feedback (RFC 5348 §4.3 step 3).
const TIMEOUT_ROUND_TRIPS: u64 = 4;
const TIMEOUT_INTERVALS: u64 = 2;
/// X in units of the recover rate up to which an idle sender keeps it while p = 0 (RFC 5348 §4.4).
const KEPT_RATE: f64 = 2.0;
/// X_recv in packets a round trip up to which an idle sender keeps it (RFC 3448 §4.4).
const KEPT_PACKETS: f64 = 4.0;

/// When a timer that is set now for `span` expires; always later than now.
pub(super) fn expiry(now: Instant, span: Duration, tick: TimerTick) -> Instant {
    let later = now + Duration::from_nanos(1);
    let exact = match tick {
        TimerTick::Hz(hz) if hz > 0 => {
            // Linux: the start of the current tick, plus the span rounded up to ticks.
            let tick = 1_000_000_000 / u64::from(hz);
            let tick = tick.max(1);
            let started = Instant::from_nanos(now.as_nanos() / tick * tick);
            started + Duration::from_nanos(tick) * span.as_nanos().div_ceil(tick)
        }
        TimerTick::Ideal | TimerTick::Hz(_) => now + span,
    };
    exact.max(later)
}

/// The timer, and whether data was sent since it was set.
///
/// While an idle sender keeps its rate, further expiries change nothing, and on a path of a few
/// microseconds there would be thousands of them a second. The timer is suspended then; the next
/// packet resumes it as if it had expired periodically.
#[derive(Clone, Copy, Debug, Default)]
pub struct NofeedbackTimer {
    state: State,
    sent_since_set: bool,
    sent_ever: bool,
    /// Expiries since the last feedback.
    expiries: u32,
    /// Expiries so far.
    timeouts: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Off,
    Set(Instant),
    /// The time of the suspension, and the time between two expiries.
    Suspended(Instant, Duration),
}

impl NofeedbackTimer {
    pub(super) fn set(&mut self, now: Instant, span: Duration, tick: TimerTick) {
        self.state = State::Set(expiry(now, span, tick));
        self.sent_since_set = false;
    }

    /// Suspends the timer until the next packet, in place of [`set`](Self::set).
    fn suspend(&mut self, now: Instant, span: Duration) {
        self.state = State::Suspended(now, span.max(Duration::from_nanos(1)));
        self.sent_since_set = false;
    }

    pub(super) fn on_sent(&mut self, now: Instant) {
        if let State::Suspended(since, span) = self.state {
            let expiries = now.since(since).as_nanos() / span.as_nanos();
            self.state = State::Set(since + span * (expiries + 1));
        }
        self.sent_since_set = true;
        self.sent_ever = true;
    }

    pub(super) const fn any_sent(&self) -> bool {
        self.sent_ever
    }
}

impl Sender {
    /// When [`handle_timeout`](Self::handle_timeout) must be called.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        match self.nofeedback.state {
            State::Set(expiry) => Some(expiry),
            State::Off | State::Suspended(..) => None,
        }
    }

    /// How often the timer has expired.
    pub const fn timeouts(&self) -> u64 {
        self.nofeedback.timeouts
    }

    /// Feedback has arrived.
    pub(super) const fn reset_expiries(&mut self) {
        self.nofeedback.expiries = 0;
    }

    /// Stops the timer.
    pub const fn stop(&mut self) {
        self.nofeedback.state = State::Off;
    }

    /// Processes an expiry of the nofeedback timer, if it is due.
    pub fn handle_timeout(&mut self, now: Instant, events: &mut Events) {
        if self.poll_timeout().is_none_or(|expiry| now < expiry) {
            return;
        }
        let backoff = self.nofeedback.expiries;
        self.nofeedback.expiries = backoff.saturating_add(1);
        self.nofeedback.timeouts += 1;
        events.push(now, EventMask::TIMEOUT, || Event::Timeout { backoff });
        let exempt = self.is_exempt();
        if !exempt {
            self.halve_rate(now);
        }
        if self.feedback_state == FeedbackState::Fresh {
            self.feedback_state = FeedbackState::Expired;
        }
        self.idle = true;
        let interval = self.inter_packet_interval;
        if exempt && self.profile.timer_tick == TimerTick::Ideal {
            self.nofeedback.suspend(now, self.nofeedback_span(interval));
        } else {
            self.restart_nofeedback(now, interval);
        }
        self.dirty = true;
        self.emit(now, events);
    }

    /// Restarts the timer after feedback or an expiry; `interval` is t_ipi.
    pub(super) fn restart_nofeedback(&mut self, now: Instant, interval: Duration) {
        let span = self.nofeedback_span(interval);
        self.nofeedback.set(now, span, self.profile.timer_tick);
    }

    /// The span of the timer: max(4R, 2·t_ipi), at least the profile's minimum.
    fn nofeedback_span(&self, interval: Duration) -> Duration {
        let profile = &self.profile;
        let early = profile.nofeedback_before_feedback == BeforeFeedback::TwoSeconds;
        match self.smoothed_rtt {
            _ if self.feedback_state == FeedbackState::None && early => INITIAL_TIMEOUT,
            rtt => (rtt.unwrap_or(Duration::ZERO) * TIMEOUT_ROUND_TRIPS)
                .max(profile.nofeedback_min)
                .max(interval * TIMEOUT_INTERVALS),
        }
    }

    /// True if the sender was idle and keeps its rate.
    fn is_exempt(&self) -> bool {
        if self.nofeedback.sent_since_set {
            return false;
        }
        let (p, arithmetic) = (self.loss_event_rate, self.profile.arithmetic);
        match (self.profile.nofeedback_exemption, self.smoothed_rtt) {
            (NofeedbackExemption::None, _) => false,
            // Idle before the first sample: there is no recover rate yet.
            (_, None) => self.profile.nofeedback_exemption == NofeedbackExemption::RecoverRate,
            (NofeedbackExemption::FourPacketsPerRtt, Some(rtt)) => {
                self.feedback_state != FeedbackState::None
                    && self.receive_rate < arithmetic.rate(KEPT_PACKETS * self.segment_size, rtt)
            }
            (NofeedbackExemption::InitialRate, Some(rtt)) => {
                self.feedback_state != FeedbackState::None
                    && self.allowed_rate < KEPT_RATE * self.initial_rate_for(rtt)
            }
            (NofeedbackExemption::RecoverRate, Some(rtt)) => {
                let recover = self.initial_rate_for(rtt);
                if p > 0.0 {
                    self.receive_rate_set.max() < recover
                } else {
                    self.allowed_rate < KEPT_RATE * recover
                }
            }
        }
    }

    fn halve_rate(&mut self, now: Instant) {
        let direct = self.profile.halving_without_loss == HalvingWithoutLoss::Direct;
        let lossless = self.loss_event_rate == 0.0;
        if self.feedback_state == FeedbackState::None || (lossless && direct) {
            let half = self.profile.arithmetic.divided(self.allowed_rate, 2.0);
            self.set_rate(half, Limit::NofeedbackHalving);
            self.set_interval();
            return;
        }
        let before = self.allowed_rate;
        let bound = if self.profile.idle_rule == IdleRule::DataLimitedIntervals {
            self.halve_receive_rate_set(now)
        } else {
            self.halve_receive_rate(now)
        };
        self.update_rate(now, bound);
        let fell = self.allowed_rate < before;
        if fell && self.limit == Limit::TwiceReceiveRate {
            self.limit = Limit::NofeedbackHalving;
        }
    }

    /// Reduces the cached X_recv and returns the bound that follows (RFC 3448 §4.4).
    fn halve_receive_rate(&mut self, now: Instant) -> RateBound {
        let arithmetic = self.profile.arithmetic;
        // Without loss there is no X_calc: X_recv is the limit.
        let equation_rate = self.equation_rate.unwrap_or(f64::INFINITY);
        self.receive_rate = if equation_rate > RECEIVE_LIMIT * self.receive_rate {
            let least = arithmetic.divided(self.minimum_rate(), 2.0);
            arithmetic.divided(self.receive_rate, 2.0).max(least)
        } else {
            arithmetic.divided(equation_rate, 4.0)
        };
        self.last_value_bound(now)
    }

    /// Update_Limits() of RFC 5348 §4.4: X_recv_set becomes half of the limit.
    fn halve_receive_rate_set(&mut self, now: Instant) -> RateBound {
        let receive_rate = self.receive_rate_set.max();
        let equation_rate = self.equation_rate.unwrap_or(f64::INFINITY);
        let limit = if equation_rate > RECEIVE_LIMIT * receive_rate {
            receive_rate
        } else {
            equation_rate / 2.0
        };
        let limit = limit.max(self.minimum_rate());
        self.receive_rate_set.replace(limit / 2.0, now);
        RateBound {
            rate: limit,
            limit: Limit::TwiceReceiveRate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_delays_and_never_stalls() {
        let at = |micros: u64| Instant::ZERO + Duration::from_micros(micros);
        let hundred = Duration::from_millis(100);
        assert_eq!(expiry(at(1500), hundred, TimerTick::Ideal), at(101_500));
        assert_eq!(expiry(at(1500), hundred, TimerTick::Hz(1000)), at(101_000));
        assert_eq!(expiry(at(1500), hundred, TimerTick::Hz(250)), at(100_000));
        for tick in [TimerTick::Ideal, TimerTick::Hz(0), TimerTick::Hz(u32::MAX)] {
            assert!(expiry(at(5), Duration::ZERO, tick) > at(5));
        }
    }

    #[test]
    fn a_timer_runs_whole_ticks_from_the_start_of_its_tick() {
        let nanos = Instant::from_nanos;
        let hundred = Duration::from_millis(100);
        for (now, span, tick, expected) in [
            (5, Duration::ZERO, TimerTick::Ideal, 6),
            (5, Duration::ZERO, TimerTick::Hz(1), 6),
            // One tick a second: 1.5 s and 100 ms give the start at 1 s and one tick.
            (1_500_000_000, hundred, TimerTick::Hz(1), 2_000_000_000),
            // A tick shorter than a nanosecond counts as a nanosecond.
            (4, Duration::from_nanos(3), TimerTick::Hz(u32::MAX), 7),
        ] {
            let found = expiry(nanos(now), span, tick);
            assert_eq!(found, nanos(expected), "{now} {span} {tick:?}");
        }
    }

    #[test]
    fn a_suspended_timer_expires_each_nanosecond_at_most() {
        let mut timer = NofeedbackTimer::default();
        timer.suspend(Instant::ZERO, Duration::ZERO);
        timer.on_sent(Instant::from_nanos(4));
        let State::Set(expiry) = timer.state else {
            panic!("{:?}", timer.state)
        };
        assert_eq!(expiry, Instant::from_nanos(5));
    }
}
