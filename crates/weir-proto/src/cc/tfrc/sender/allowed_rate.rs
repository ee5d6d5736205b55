//! The allowed rate X of TFRC's sender after feedback (RFC 3448 §4.3, RFC 5348 §4.3).
//!
//!   p > 0:  X = max(min(X_calc, m), s/t_mbi)
//!   p = 0:  X = max(min(2X, m), floor), at most once a round-trip time
//!
//! m is 2·X_recv, modified by the profile's idle rule; the floor is s/R or W_init/R. Each change
//! records the rule that bound X.

use super::{FeedbackState, Sender};
use crate::cc::tfrc::profile::{IdleRule, InitialWindow, SlowStartFloor, WindowBase};
use crate::cc::tfrc::{DEFAULT_RTT, MAX_BACKOFF, MAX_RATE};
use crate::event::Limit;
use crate::time::{Duration, Instant};

/// The most and the fewest segments of W_init (RFC 5348 §4.2).
const MOST_SEGMENTS: f64 = 4.0;
const FEWEST_SEGMENTS: f64 = 2.0;
/// Octets of W_init, between the two (RFC 5348 §4.2).
const INITIAL_OCTETS: f64 = 4380.0;
/// recv_limit in units of the greatest X_recv (RFC 5348 §4.3).
pub(super) const RECEIVE_LIMIT: f64 = 2.0;
/// The growth of X in a round trip of slow start (RFC 5348 §4.3).
const SLOW_START: f64 = 2.0;
/// The share of X_recv that counts after a loss in a data-limited interval (RFC 5348 §4.3).
const DATA_LIMITED_LOSS: f64 = 0.85;

/// An upper bound of X in octets per second, and its rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateBound {
    pub rate: f64,
    pub limit: Limit,
}

impl Sender {
    /// W_init in octets.
    fn initial_window(&self) -> f64 {
        match self.profile.initial_window {
            InitialWindow::OneSegment => self.segment_size,
            InitialWindow::Rfc3390 => {
                let base = match self.profile.initial_window_base {
                    WindowBase::SegmentSize => self.segment_size,
                    WindowBase::MaximumSegmentSize => f64::from(self.maximum_segment_size),
                };
                (MOST_SEGMENTS * base).min((FEWEST_SEGMENTS * base).max(INITIAL_OCTETS))
            }
        }
    }

    /// W_init/R for this R.
    pub(super) fn initial_rate_for(&self, rtt: Duration) -> f64 {
        self.profile.arithmetic.rate(self.initial_window(), rtt)
    }

    /// W_init/R, once R is known.
    pub(super) fn initial_rate(&self) -> Option<f64> {
        self.smoothed_rtt.map(|rtt| self.initial_rate_for(rtt))
    }

    /// s/t_mbi (RFC 5348 §4.3).
    pub(super) fn minimum_rate(&self) -> f64 {
        self.segment_size / MAX_BACKOFF.as_secs_f64()
    }

    pub(super) fn set_rate(&mut self, rate: f64, limit: Limit) {
        let least = self.minimum_rate();
        self.allowed_rate = rate.clamp(least, MAX_RATE);
        self.limit = if rate < least {
            Limit::MinimumRate
        } else {
            limit
        };
    }

    /// t_ipi from X.
    pub(super) fn set_interval(&mut self) {
        let arithmetic = self.profile.arithmetic;
        let interval = arithmetic.interval(self.segment_size, self.allowed_rate);
        self.inter_packet_interval = interval.max(self.least_interval());
    }

    /// The minimum interval of small packets (RFC 4828 §3); zero without them.
    pub(super) fn least_interval(&self) -> Duration {
        let rules = &self.profile.small_packets;
        rules.map_or(Duration::ZERO, |rules| rules.min_interval)
    }

    /// True while the minimum interval of small packets, and not X, sets t_ipi.
    pub fn is_at_least_interval(&self) -> bool {
        let arithmetic = self.profile.arithmetic;
        arithmetic.interval(self.segment_size, self.allowed_rate) < self.least_interval()
    }

    pub(super) fn start_at_initial_rate(&mut self, now: Instant) {
        if let Some(rate) = self.initial_rate() {
            self.set_rate(rate, Limit::InitialWindow);
            self.set_interval();
            self.time_last_doubled = Some(now);
        }
    }

    /// The upper bound of X after feedback.
    pub(super) fn bound(&mut self, now: Instant, sent_at: Instant, loss: bool) -> RateBound {
        if self.profile.idle_rule == IdleRule::DataLimitedIntervals {
            return self.set_bound(now, sent_at, loss);
        }
        self.last_value_bound(now)
    }

    /// m from the last X_recv: twice that, or W_init/R for an idle sender.
    pub(super) fn last_value_bound(&self, now: Instant) -> RateBound {
        let twice = RECEIVE_LIMIT * self.receive_rate;
        match self.initial_rate() {
            Some(initial) if self.is_idle(now) && initial > twice => RateBound {
                rate: initial,
                limit: Limit::InitialWindow,
            },
            _ => RateBound {
                rate: twice,
                limit: Limit::TwiceReceiveRate,
            },
        }
    }

    /// recv_limit (RFC 5348 §4.3 step 4).
    fn set_bound(&mut self, now: Instant, sent_at: Instant, loss: bool) -> RateBound {
        let rtt = self.smoothed_rtt.unwrap_or_default();
        let data_limited = self.data_limited.covers(now, sent_at, rtt) && self.receive_rate > 0.0;
        let set = &mut self.receive_rate_set;
        if !data_limited {
            set.update(self.receive_rate, now, rtt);
        } else if loss {
            set.halve();
            set.maximize(DATA_LIMITED_LOSS * self.receive_rate, now);
            return RateBound {
                rate: set.max(),
                limit: Limit::DataLimited,
            };
        } else {
            set.maximize(self.receive_rate, now);
        }
        RateBound {
            rate: RECEIVE_LIMIT * set.max(),
            limit: Limit::TwiceReceiveRate,
        }
    }

    fn is_idle(&self, now: Instant) -> bool {
        match self.profile.idle_rule {
            IdleRule::Never | IdleRule::DataLimitedIntervals => false,
            IdleRule::NothingSentSince => self.idle,
            IdleRule::WindowCounter => {
                let arithmetic = self.profile.arithmetic;
                let silence = now.since(self.window_counter.last_change());
                let rtt = self.smoothed_rtt.unwrap_or(DEFAULT_RTT);
                arithmetic.time(silence) >= rtt * u64::from(self.profile.idle_round_trips)
            }
        }
    }

    fn calculate_rate(&mut self, rtt: Duration) {
        self.equation_rate = (self.loss_event_rate > 0.0).then(|| {
            let p = self.wireless.loss_event_rate(self.loss_event_rate);
            let rtt = self.wireless.equation_rtt(rtt);
            let rate = match &self.profile.small_packets {
                None => self.equation.rate(self.segment_size, rtt, p),
                // RFC 4828 §3.
                Some(rules) => {
                    let nominal = f64::from(rules.nominal_size);
                    self.equation.rate(nominal, rtt, p) * rules.share(self.segment_size)
                }
            };
            (rate * self.wireless.factor(p)).min(MAX_RATE)
        });
    }

    /// Updates X (RFC 5348 §4.3 step 4).
    pub(super) fn update_rate(&mut self, now: Instant, bound: RateBound) {
        let rtt = self.smoothed_rtt.unwrap_or(DEFAULT_RTT);
        let old = self.allowed_rate;
        self.calculate_rate(rtt);
        if let Some(equation_rate) = self.equation_rate {
            if equation_rate <= bound.rate {
                self.set_rate(equation_rate, Limit::Equation);
            } else {
                self.set_rate(bound.rate, bound.limit);
            }
        } else if self.may_double(now, rtt) {
            self.slow_start(rtt, bound);
            self.time_last_doubled = Some(now);
        }
        if let Some(least) = self.wireless.minimum_rate()
            && self.allowed_rate < least
            && self.feedback_state == FeedbackState::Fresh
        {
            self.set_rate(least, Limit::MinimumRate);
        }
        if self.allowed_rate != old {
            self.set_interval();
        }
    }

    fn may_double(&self, now: Instant, rtt: Duration) -> bool {
        let arithmetic = self.profile.arithmetic;
        self.time_last_doubled
            .is_none_or(|last| arithmetic.time(now.since(last)) >= rtt)
    }

    fn slow_start(&mut self, rtt: Duration, bound: RateBound) {
        let arithmetic = self.profile.arithmetic;
        let (floor, floor_limit) = match self.profile.slow_start_floor {
            SlowStartFloor::SegmentPerRtt => (
                arithmetic.rate(self.segment_size, rtt),
                Limit::OnePacketPerRtt,
            ),
            SlowStartFloor::InitialRate => (self.initial_rate_for(rtt), Limit::InitialWindow),
        };
        let doubled = SLOW_START * self.allowed_rate;
        let wanted = if doubled <= bound.rate {
            (doubled, Limit::SlowStart)
        } else {
            (bound.rate, bound.limit)
        };
        let (rate, limit) = if wanted.0 < floor {
            (floor, floor_limit)
        } else {
            wanted
        };
        self.set_rate(rate, limit);
    }
}
