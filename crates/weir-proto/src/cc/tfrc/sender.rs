//! The sender: the allowed rate X and when the next packet may leave (RFC 5348 §4).
//!
//! All rules in which revisions differ are asked of the [`Profile`]. Rates are octets per second.

use super::oscillation::SquareRootMean;
use super::profile::{
    BeforeFeedback, CounterGuard, CounterOnAck, FirstFeedback, FirstRtt, HalvingWithoutLoss,
    HandshakeRtt, IdleRule, InitialWindow, NofeedbackExemption, Oscillation,
    OscillationInSlowStart, Profile, RateAfterExpiry, RtoRate, SegmentSizeRule, SendAhead,
    SendCredit, SlowStartFloor, TimerTick, WindowBase, ZeroRtt,
};
use super::receive_rates::ReceiveRates;
use super::window_counter::WindowCounter;
use super::{MAX_BACKOFF, MAX_RATE};
use crate::event::{Event, EventMask, Events, Limit, RateState};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// The nofeedback timer before any feedback (RFC 5348 §4.2).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(2);
/// The granularity of timers that t_delta compensates for.
const GRANULARITY: Duration = Duration::from_millis(1);
/// The counter guard of 2005: R is at least this.
const LEAST_RTT: Duration = Duration::from_micros(4);
/// The weight of the old average in s.
const SEGMENT_WEIGHT: f64 = 0.9;
/// RFC 5348 §4.3: what a loss in a data-limited interval leaves of X_recv.
const DATA_LIMITED_FACTOR: f64 = 0.85;

/// What a feedback packet says, with the round-trip time that it shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// R_sample in nanoseconds; may be zero or less if clocks or elapsed times are odd.
    pub rtt_nanos: i64,
    /// X_recv in octets per second.
    pub receive_rate: f64,
    /// p in [0, 1].
    pub loss_event_rate: f64,
    /// When the newest packet that the feedback covers was sent.
    pub covered_until: Instant,
    /// The window counter of that packet.
    pub ccval: u8,
}

/// How far the sender has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    NoSent,
    /// No feedback since the start or the last expiry of the nofeedback timer.
    NoFeedback,
    Feedback,
}

/// The data sender's half of TFRC.
#[derive(Clone, Debug)]
pub struct Sender {
    profile: Profile,
    maximum_segment: u32,
    segment_size: u32,
    phase: Phase,
    rtt: Option<Duration>,
    latest_rtt: Duration,
    handshake: Option<Duration>,
    /// X.
    allowed: f64,
    /// X_calc, while p > 0.
    equation: Option<f64>,
    /// X_recv.
    received: f64,
    received_set: ReceiveRates,
    loss_event_rate: f64,
    interval: Duration,
    /// t_nom.
    nominal: Instant,
    /// tld.
    doubled_at: Instant,
    /// t_RTO; zero before the first feedback.
    rto: Duration,
    nofeedback_at: Option<Instant>,
    counter: WindowCounter,
    sent_since_feedback: bool,
    sent_since_timer: bool,
    not_limited: NotLimited,
    mean: SquareRootMean,
    limit: Limit,
}

/// RFC 5348 §8.2.1: times at which the sender was not data-limited.
#[derive(Clone, Copy, Debug, Default)]
struct NotLimited {
    first: Instant,
    second: Instant,
    new: Instant,
    next: Instant,
}

impl NotLimited {
    fn on_limited_by_rate(&mut self, now: Instant) {
        if self.first <= self.new {
            self.first = now;
        } else if self.second <= self.next {
            self.second = now;
        }
    }

    /// Was the interval that this feedback covers data-limited?
    fn on_feedback(&mut self, now: Instant, covered_until: Instant, rtt: Duration) -> bool {
        self.new = covered_until;
        let old = covered_until - rtt;
        self.next = now;
        let inside = |at: Instant| old < at && at <= covered_until;
        let limited = !(inside(self.first) || inside(self.second));
        if self.first <= self.new && self.second > self.new {
            self.first = self.second;
        }
        limited
    }
}

impl Sender {
    /// A sender of segments of at most this many octets.
    pub fn new(profile: &Profile, maximum_segment: u32) -> Self {
        Self {
            maximum_segment: maximum_segment.max(1),
            segment_size: 0,
            phase: Phase::NoSent,
            rtt: None,
            latest_rtt: Duration::ZERO,
            handshake: None,
            allowed: 0.0,
            equation: None,
            received: 0.0,
            received_set: ReceiveRates::new(Instant::ZERO),
            loss_event_rate: 0.0,
            interval: Duration::ZERO,
            nominal: Instant::ZERO,
            doubled_at: Instant::ZERO,
            rto: Duration::ZERO,
            nofeedback_at: None,
            counter: WindowCounter::new(Instant::ZERO),
            sent_since_feedback: false,
            sent_since_timer: false,
            not_limited: NotLimited::default(),
            mean: SquareRootMean::default(),
            limit: Limit::None,
            profile: profile.clone(),
        }
    }

    /// The handshake's round-trip time.
    pub fn on_handshake_rtt(&mut self, rtt: Duration) {
        if self.profile.handshake_rtt == HandshakeRtt::Use {
            self.handshake = Some(self.usable_rtt(rtt.as_nanos() as i64));
        }
    }

    /// R; `None` before the first sample.
    pub const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// X.
    pub fn allowed_rate(&self) -> Rate {
        Rate::from_bytes_per_sec(self.allowed)
    }

    /// t_ipi.
    pub const fn inter_packet_interval(&self) -> Duration {
        self.interval
    }

    /// What bound X when it last changed.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// When the nofeedback timer expires.
    pub const fn nofeedback_at(&self) -> Option<Instant> {
        self.nofeedback_at
    }

    /// No timer may fire any more.
    pub fn stop(&mut self) {
        self.nofeedback_at = None;
    }

    /// When the next packet may leave; `now` or earlier means at once. Called with data waiting.
    pub fn next_send(&mut self, now: Instant) -> Instant {
        if self.phase == Phase::NoSent {
            return now;
        }
        let ahead = match self.profile.send_ahead {
            SendAhead::HalfGranularity => self.interval.min(GRANULARITY) / 2,
            SendAhead::HalfGranularityOrRtt => {
                let rtt = self.rtt.unwrap_or(GRANULARITY);
                self.interval.min(GRANULARITY).min(rtt) / 2
            }
            SendAhead::Constant(ahead) => ahead,
        };
        let wait = self.nominal.since(now);
        if wait < ahead || wait.is_zero() {
            return now;
        }
        self.not_limited.on_limited_by_rate(now);
        match self.profile.send_ahead {
            // Linux waits whole milliseconds.
            SendAhead::Constant(_) => now + Duration::from_millis(wait.as_nanos() / 1_000_000),
            _ => self.nominal - ahead,
        }
    }

    /// A data packet with this payload is handed over; gives its window counter.
    pub fn on_send(&mut self, now: Instant, payload: u32, events: &mut Events) -> u8 {
        if self.phase == Phase::NoSent {
            self.start(now, payload);
            self.record(now, events);
        } else {
            self.track_segment_size(payload);
            if let Some(rtt) = self.rtt {
                let rules = (self.profile.arithmetic, self.profile.counter_guard);
                self.counter.on_send(now, rtt, rules);
            }
        }
        if let (SendCredit::OneRoundTrip, Some(rtt)) = (self.profile.send_credit, self.rtt) {
            // RFC 5348 §4.6: at most a round-trip time of credit.
            self.nominal = self.nominal.max(now - rtt);
        }
        self.nominal += self.interval;
        self.sent_since_feedback = true;
        self.sent_since_timer = true;
        self.counter.value()
    }

    fn start(&mut self, now: Instant, payload: u32) {
        self.segment_size = match self.profile.segment_size {
            SegmentSizeRule::MaximumSegmentSize => self.maximum_segment,
            _ => payload.max(1),
        };
        self.phase = Phase::NoFeedback;
        self.counter = WindowCounter::new(now);
        self.nominal = now;
        self.received_set = ReceiveRates::new(now);
        match self.handshake {
            Some(rtt) => {
                self.rtt = Some(rtt);
                self.latest_rtt = rtt;
                self.allowed = self.initial_rate();
                self.doubled_at = now;
                self.limit = Limit::InitialWindow;
            }
            None => {
                // RFC 5348 §4.2: one packet a second.
                self.rtt = self.profile.initial_rtt;
                self.allowed = self.profile.arithmetic.rate(f64::from(self.segment_size));
                self.limit = Limit::InitialWindow;
            }
        }
        if let (true, Some(rtt)) = (self.profile.arithmetic.is_kernel(), self.rtt) {
            self.mean.seed(self.profile.arithmetic, rtt);
        }
        self.update_interval();
        self.set_timer(now, INITIAL_TIMEOUT);
    }

    fn track_segment_size(&mut self, payload: u32) {
        let old = self.segment_size;
        self.segment_size = match self.profile.segment_size {
            SegmentSizeRule::MaximumSegmentSize => self.maximum_segment,
            SegmentSizeRule::Largest => old.max(payload),
            SegmentSizeRule::Average if self.profile.arithmetic.is_kernel() => {
                super::arithmetic::kernel_ewma(u64::from(old), u64::from(payload), SEGMENT_WEIGHT)
                    as u32
            }
            SegmentSizeRule::Average => (SEGMENT_WEIGHT * f64::from(old)
                + (1.0 - SEGMENT_WEIGHT) * f64::from(payload))
            .round() as u32,
        }
        .max(1);
        if self.segment_size != old {
            self.update_interval();
        }
    }

    fn update_interval(&mut self) {
        let interval = self
            .profile
            .arithmetic
            .interval(self.segment_size, self.allowed);
        self.interval = interval.min(MAX_BACKOFF);
    }

    /// W_init / R.
    fn initial_rate(&self) -> f64 {
        let Some(rtt) = self.rtt else {
            return f64::from(self.segment_size);
        };
        let base = match self.profile.initial_window_base {
            WindowBase::SegmentSize => self.segment_size,
            WindowBase::MaximumSegmentSize => self.maximum_segment,
        };
        let window = match self.profile.initial_window {
            InitialWindow::OneSegment => self.segment_size,
            InitialWindow::Rfc3390 => (4 * base).min((2 * base).max(4380)),
        };
        self.profile.arithmetic.per(f64::from(window), rtt)
    }

    fn minimum_rate(&self) -> f64 {
        self.profile.arithmetic.minimum(self.segment_size)
    }

    /// A sample as the profile lets it count.
    fn usable_rtt(&self, nanos: i64) -> Duration {
        let profile = &self.profile;
        let sample = Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
        let sample = profile.arithmetic.time(sample);
        let sample = if sample.is_zero() {
            profile.unusable_rtt
        } else {
            sample
        };
        let least = match profile.counter_guard {
            CounterGuard::RaiseRtt => profile.rtt_min.max(LEAST_RTT),
            _ => profile.rtt_min,
        };
        sample
            .min(profile.rtt_max)
            .max(least)
            .max(Duration::from_nanos(1))
    }

    /// Feedback arrived (RFC 5348 §4.3).
    pub fn on_feedback(&mut self, now: Instant, feedback: &Feedback, events: &mut Events) {
        if self.phase == Phase::NoSent {
            return;
        }
        let whole_micros = self.profile.arithmetic.is_kernel() && feedback.rtt_nanos / 1_000 == 0;
        if self.profile.zero_rtt == ZeroRtt::DropFeedback && whole_micros && feedback.rtt_nanos >= 0
        {
            return;
        }
        let sample = self.usable_rtt(feedback.rtt_nanos);
        let first = self.rto.is_zero();
        self.take_sample(sample, first);
        events.push(now, EventMask::RTT, || Event::Rtt(sample));
        let rtt = self.rtt.unwrap_or(sample);
        if self.profile.counter_on_ack == CounterOnAck::AtLeastFourMore {
            self.counter.on_ack(now, feedback.ccval);
        }
        let old_p = self.loss_event_rate;
        self.take_report(feedback);
        let previous = self.allowed;
        let after_expiry = self.phase == Phase::NoFeedback && !first;
        self.phase = Phase::Feedback;
        let keep = after_expiry
            && self.loss_event_rate == 0.0
            && self.profile.rate_after_expiry == RateAfterExpiry::Keep;
        if first && self.profile.first_feedback == FirstFeedback::InitialRate {
            self.allowed = self.initial_rate();
            self.doubled_at = now;
            self.limit = Limit::InitialWindow;
        } else if !keep {
            let worse = self.loss_event_rate > old_p;
            let data_limited = self
                .not_limited
                .on_feedback(now, feedback.covered_until, rtt);
            self.update_rate(now, (data_limited, worse));
        }
        self.finish_feedback(now, (previous, sample), rtt);
        self.sent_since_feedback = false;
        self.record(now, events);
    }

    fn take_sample(&mut self, sample: Duration, first: bool) {
        self.latest_rtt = sample;
        let profile = &self.profile;
        self.rtt = Some(match self.rtt {
            Some(old) if !(first && profile.first_rtt == FirstRtt::Replace) => {
                profile.arithmetic.average(old, sample, profile.rtt_filter)
            }
            _ => sample,
        });
    }

    fn take_report(&mut self, feedback: &Feedback) {
        self.received = self.profile.arithmetic.rate(feedback.receive_rate);
        let p = feedback.loss_event_rate;
        self.loss_event_rate = if p > 0.0 {
            p.clamp(self.profile.loss_event_rate_floor, 1.0)
        } else {
            0.0
        };
        self.equation = self.equation_rate();
    }

    fn equation_rate(&self) -> Option<f64> {
        let rtt = self.rtt.filter(|_| self.loss_event_rate > 0.0)?;
        let rate = self
            .profile
            .equation
            .rate(self.segment_size, rtt, self.loss_event_rate);
        Some(rate.min(MAX_RATE))
    }

    fn finish_feedback(
        &mut self,
        now: Instant,
        (previous, sample): (f64, Duration),
        rtt: Duration,
    ) {
        let changed = self.allowed != previous || !self.profile.arithmetic.is_kernel();
        if changed {
            self.update_interval();
        }
        self.modulate(sample);
        self.rto = (rtt * 4)
            .max(self.profile.nofeedback_min)
            .max(Duration::from_nanos(1));
        let interval = match self.profile.nofeedback_rate {
            RtoRate::Previous => self
                .profile
                .arithmetic
                .interval(self.segment_size, previous.max(self.minimum_rate())),
            RtoRate::Updated => self.interval,
        };
        self.set_timer(now, self.rto.max(interval * 2));
    }

    /// Oscillation reduction.
    fn modulate(&mut self, sample: Duration) {
        let profile = &self.profile;
        let factor = self
            .mean
            .on_sample((profile.arithmetic, profile.oscillation), sample);
        let exempt = self.loss_event_rate == 0.0
            && profile.oscillation_in_slow_start == OscillationInSlowStart::Exempt;
        if profile.oscillation == Oscillation::Off || exempt || factor == 1.0 {
            return;
        }
        let longest = profile
            .arithmetic
            .interval(self.segment_size, self.minimum_rate());
        self.interval = profile
            .arithmetic
            .time(self.interval.mul_f64(factor))
            .min(longest);
        if factor > 1.0 {
            self.limit = Limit::OscillationReduction;
        }
    }

    /// RFC 5348 §4.3 step 4, and its predecessors.
    fn update_rate(&mut self, now: Instant, (data_limited, worse): (bool, bool)) {
        let rtt = self.rtt.unwrap_or(self.latest_rtt);
        let (mut limit, mut cause) = (2.0 * self.received, Limit::TwiceReceiveRate);
        if self.profile.idle_rule == IdleRule::DataLimitedIntervals {
            (limit, cause) = self.limit_by_set(now, (data_limited, worse), rtt);
        } else if self.is_idle(now, rtt) && self.initial_rate() > limit {
            (limit, cause) = (self.initial_rate(), Limit::InitialWindow);
        }
        self.apply_limit(now, rtt, (limit, cause));
    }

    /// X from the equation or slow start, at most `limit`.
    fn apply_limit(&mut self, now: Instant, rtt: Duration, (limit, cause): (f64, Limit)) {
        let minimum = self.minimum_rate();
        let (rate, bound) = if let Some(equation) = self.equation {
            let (rate, bound) = if equation <= limit {
                (equation, Limit::Equation)
            } else {
                (limit, cause)
            };
            if rate < minimum {
                (minimum, Limit::MinimumRate)
            } else {
                (rate, bound)
            }
        } else if now.since(self.doubled_at) >= rtt {
            self.doubled_at = now;
            let (floor, floor_cause) = match self.profile.slow_start_floor {
                SlowStartFloor::SegmentPerRtt => (
                    self.profile
                        .arithmetic
                        .per(f64::from(self.segment_size), rtt),
                    Limit::OnePacketPerRtt,
                ),
                SlowStartFloor::InitialRate => (self.initial_rate(), Limit::InitialWindow),
            };
            let doubled = 2.0 * self.allowed;
            let (rate, bound) = if doubled <= limit {
                (doubled, Limit::SlowStart)
            } else {
                (limit, cause)
            };
            if rate < floor {
                (floor, floor_cause)
            } else {
                (rate, bound)
            }
        } else {
            return;
        };
        self.allowed = self.profile.arithmetic.rate(rate).max(minimum);
        self.limit = bound;
    }

    /// RFC 5348 §4.3: recv_limit from X_recv_set.
    fn limit_by_set(&mut self, now: Instant, flags: (bool, bool), rtt: Duration) -> (f64, Limit) {
        let (data_limited, worse) = flags;
        if !data_limited {
            self.received_set.update(now, self.received, rtt);
        } else if worse {
            self.received_set.halve();
            self.received_set
                .maximize(now, DATA_LIMITED_FACTOR * self.received);
            return (self.received_set.greatest(), Limit::DataLimited);
        } else {
            self.received_set.maximize(now, self.received);
        }
        (
            (2.0 * self.received_set.greatest()).min(MAX_RATE),
            Limit::TwiceReceiveRate,
        )
    }

    fn is_idle(&self, now: Instant, rtt: Duration) -> bool {
        match self.profile.idle_rule {
            IdleRule::Never | IdleRule::DataLimitedIntervals => false,
            IdleRule::NothingSentSince => !self.sent_since_feedback,
            IdleRule::WindowCounter { round_trips } => {
                let silence = self
                    .profile
                    .arithmetic
                    .time(now.since(self.counter.changed_at()));
                silence.as_nanos() / rtt.as_nanos().max(1) >= u64::from(round_trips)
            }
        }
    }

    fn set_timer(&mut self, now: Instant, span: Duration) {
        self.sent_since_timer = false;
        self.nofeedback_at = Some(match self.profile.timer_tick {
            TimerTick::Ideal => now + span.max(Duration::from_nanos(1)),
            TimerTick::Hz(hz) => {
                // Linux: whole ticks from the last tick on.
                let tick = 1_000_000_000 / u64::from(hz.max(1));
                let ticks = now.as_nanos() / tick + span.as_nanos().div_ceil(tick).max(1);
                Instant::from_nanos(ticks.saturating_mul(tick)).max(now + Duration::from_nanos(1))
            }
        });
    }

    /// The nofeedback timer has expired (RFC 5348 §4.4).
    pub fn on_nofeedback(&mut self, now: Instant, events: &mut Events) {
        if self.nofeedback_at.is_none_or(|at| at > now) {
            return;
        }
        let had_feedback = !self.rto.is_zero();
        if !self.is_exempt() {
            self.halve(now);
        }
        self.phase = Phase::NoFeedback;
        let span = if had_feedback
            || self.profile.nofeedback_before_feedback == BeforeFeedback::TwoIntervals
        {
            self.rto.max(self.interval * 2)
        } else {
            INITIAL_TIMEOUT
        };
        self.set_timer(now, span);
        self.record(now, events);
    }

    fn is_exempt(&self) -> bool {
        let Some(rtt) = self.rtt else { return false };
        let lossy = self.loss_event_rate > 0.0;
        match self.profile.nofeedback_exemption {
            _ if self.sent_since_timer => false,
            NofeedbackExemption::None => false,
            NofeedbackExemption::FourPacketsPerRtt => {
                self.received
                    < self
                        .profile
                        .arithmetic
                        .per(4.0 * f64::from(self.segment_size), rtt)
            }
            NofeedbackExemption::RecoverRate => {
                let recover = self.initial_rate();
                if lossy {
                    self.received_set.greatest() < recover
                } else {
                    self.allowed < 2.0 * recover
                }
            }
        }
    }

    fn halve(&mut self, now: Instant) {
        let minimum = self.minimum_rate();
        let direct =
            self.rto.is_zero() || self.profile.halving_without_loss == HalvingWithoutLoss::Direct;
        match self.equation {
            None if direct => {
                self.allowed = self
                    .profile
                    .arithmetic
                    .rate(self.allowed / 2.0)
                    .max(minimum);
                self.limit = Limit::NofeedbackHalving;
            }
            equation => {
                let set = self.profile.idle_rule == IdleRule::DataLimitedIntervals;
                let received = if set {
                    self.received_set.greatest()
                } else {
                    self.received
                };
                // What X_recv must become, so that twice of it halves the rate.
                let new = match equation {
                    Some(equation) if equation <= 2.0 * received => equation / 4.0,
                    _ => received / 2.0,
                };
                self.received = self.profile.arithmetic.rate(new.max(minimum / 2.0));
                self.received_set.replace(now, self.received);
                let rtt = self.rtt.unwrap_or(INITIAL_TIMEOUT);
                // An expiry is not bound to the doubling interval.
                self.doubled_at = self.doubled_at.min(now - rtt);
                self.apply_limit(now, rtt, (2.0 * self.received, Limit::NofeedbackHalving));
            }
        }
        self.update_interval();
    }

    fn record(&self, now: Instant, events: &mut Events) {
        events.push(now, EventMask::CONTROLLER, || {
            Event::Rate(RateState {
                allowed_rate: self.allowed_rate(),
                equation_rate: self.equation.map(Rate::from_bytes_per_sec),
                receive_rate: Rate::from_bytes_per_sec(self.received),
                loss_event_rate: self.loss_event_rate,
                rtt: self.latest_rtt,
                smoothed_rtt: self.rtt.unwrap_or_default(),
                inter_packet_interval: self.interval,
                segment_size: self.segment_size,
                state: match self.phase {
                    Phase::NoSent => "no_sent",
                    Phase::NoFeedback => "no_feedback",
                    Phase::Feedback => "feedback",
                },
                limit: self.limit,
            })
        });
    }
}

#[cfg(test)]
mod tests;
