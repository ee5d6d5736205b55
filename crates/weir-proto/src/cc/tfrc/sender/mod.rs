//! The sender of TFRC (RFC 3448 §4, RFC 5348 §4): the allowed rate X and when to send.
//!
//! A packet may leave at t_(i+1) = t_i + t_ipi, t_ipi = s/X.
//!
//! Departures: only those of the profile. Every rate lies between s/64 and 2^44 octets per second,
//! whatever a receiver reports.

mod allowed_rate;
mod nofeedback;
#[cfg(test)]
mod nofeedback_vectors;
#[cfg(test)]
mod rate_vectors;
#[cfg(test)]
mod schedule_vectors;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

use super::DEFAULT_RTT;
use super::equation::Equation;
use super::oscillation::OscillationReduction;
use super::profile::{
    Arithmetic, CounterGuard, FirstFeedback, FirstRtt, HandshakeRtt, NominalTime, Profile,
    RateAfterExpiry, RtoRate, SegmentSizeRule, SendAhead, SendCredit, TimerTick, ZeroRtt,
};
use super::receive_rates::{DataLimited, ReceiveRateSet};
use super::window_counter::WindowCounter;
use super::wireless_extensions::{FeedbackSample, WirelessExtensions};
use crate::event::{Event, EventMask, Events, Limit, RateState};
use crate::time::{Duration, Instant};
use crate::units::Rate;
use nofeedback::NofeedbackTimer;
use std::sync::Arc;

/// The nofeedback timer before the first sample (RFC 5348 §4.2).
const INITIAL_TIMEOUT: Duration = Duration::from_secs(2);
/// The weight of the old average in the filter of s.
const SIZE_FILTER: f64 = 0.9;

/// The contents of a feedback packet.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// When the newest acknowledged packet was recorded as sent.
    pub sent_at: Instant,
    /// The receiver's delay between that packet and the feedback; zero if it does not report one.
    pub elapsed_time: Duration,
    /// X_recv in octets per second.
    pub receive_rate: u32,
    /// p in [0, 1].
    pub loss_event_rate: f64,
    /// A loss event that no earlier feedback reported.
    pub new_loss_event: bool,
}

/// Whether the sender has feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeedbackState {
    /// No feedback has arrived yet.
    None,
    /// The nofeedback timer has expired since the last feedback.
    Expired,
    /// Feedback has arrived and the nofeedback timer has not expired since.
    Fresh,
}

/// The sender of TFRC.
#[derive(Clone, Debug)]
pub struct Sender {
    profile: Arc<Profile>,
    equation: Equation,
    /// MSS in octets of payload.
    maximum_segment_size: u32,
    /// s in octets.
    segment_size: f64,
    handshake_rtt: Option<Duration>,
    started: bool,
    feedback_state: FeedbackState,
    /// X in octets per second.
    allowed_rate: f64,
    /// X_calc in octets per second.
    equation_rate: Option<f64>,
    /// X_recv in octets per second.
    receive_rate: f64,
    /// X_recv_set.
    receive_rate_set: ReceiveRateSet,
    data_limited: DataLimited,
    /// p in [0, 1].
    loss_event_rate: f64,
    /// R.
    smoothed_rtt: Option<Duration>,
    latest_rtt: Duration,
    /// tld: when X was last doubled (RFC 5348 §4.3).
    time_last_doubled: Option<Instant>,
    /// t_ipi.
    inter_packet_interval: Duration,
    /// t_i: the nominal time of the last packet; of the next packet under [`NominalTime::Kept`].
    nominal_time: Instant,
    window_counter: WindowCounter,
    last_sent: Option<Instant>,
    /// No data packet was sent since the last feedback (a flag of Linux 2.6.22).
    idle: bool,
    nofeedback: NofeedbackTimer,
    oscillation: OscillationReduction,
    wireless: WirelessExtensions,
    limit: Limit,
    /// The state has changed since the last trace event.
    dirty: bool,
}

impl Sender {
    /// A sender of packets with at most this many octets of payload.
    pub fn new(profile: impl Into<Arc<Profile>>, maximum_segment_size: u32) -> Self {
        let profile = profile.into();
        let now = Instant::ZERO;
        Self {
            equation: Equation::new(&profile),
            oscillation: OscillationReduction::new(&profile),
            wireless: WirelessExtensions::new(profile.wireless),
            profile,
            maximum_segment_size: maximum_segment_size.max(1),
            segment_size: 0.0,
            handshake_rtt: None,
            started: false,
            feedback_state: FeedbackState::None,
            allowed_rate: 0.0,
            equation_rate: None,
            receive_rate: 0.0,
            receive_rate_set: ReceiveRateSet::new(now),
            data_limited: DataLimited::new(),
            loss_event_rate: 0.0,
            smoothed_rtt: None,
            latest_rtt: Duration::ZERO,
            time_last_doubled: None,
            inter_packet_interval: Duration::ZERO,
            nominal_time: now,
            window_counter: WindowCounter::new(now),
            last_sent: None,
            idle: false,
            nofeedback: NofeedbackTimer::default(),
            limit: Limit::None,
            dirty: false,
        }
    }

    /// The rules of this sender.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// X, the allowed sending rate.
    pub fn allowed_rate(&self) -> Rate {
        Rate::from_bytes_per_sec(self.allowed_rate)
    }

    /// The rule that bound X.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    /// R; `None` before the first sample.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.measured_rtt().or(self.handshake_rtt)
    }

    /// R as an RTT Estimate option reports it: `None` before the first sample.
    pub(crate) fn measured_rtt(&self) -> Option<Duration> {
        self.smoothed_rtt.filter(|_| !self.latest_rtt.is_zero())
    }

    /// p in [0, 1].
    pub const fn loss_event_rate(&self) -> f64 {
        self.loss_event_rate
    }

    /// t_ipi, the time between packets.
    pub const fn inter_packet_interval(&self) -> Duration {
        self.inter_packet_interval
    }

    /// Changes the MSS, in octets of payload.
    pub fn set_maximum_segment_size(&mut self, octets: u32) {
        self.maximum_segment_size = octets.max(1);
    }

    /// Takes the round-trip time of the handshake, if the profile uses it.
    pub fn on_handshake_rtt(&mut self, rtt: Duration) {
        if self.profile.handshake_rtt == HandshakeRtt::Use {
            self.handshake_rtt = Some(self.clamp_sample(rtt, Duration::ZERO));
        }
    }

    /// True once [`start`](Self::start) was called.
    pub const fn is_started(&self) -> bool {
        self.started
    }

    /// The first packet, with this many octets of payload, is about to leave. Further calls do
    /// nothing.
    #[inline]
    pub fn start(&mut self, now: Instant, payload_len: u32) {
        if !self.started {
            self.begin(now, payload_len);
        }
    }

    #[cold]
    fn begin(&mut self, now: Instant, payload_len: u32) {
        self.started = true;
        self.nominal_time = now;
        self.window_counter = WindowCounter::new(now);
        self.receive_rate_set = ReceiveRateSet::new(now);
        self.update_segment_size(payload_len);
        if let Some(rtt) = self.handshake_rtt {
            self.latest_rtt = rtt;
            self.set_rtt(rtt);
            self.start_at_initial_rate(now);
        } else {
            // RFC 5348 §4.2: s octets per second until a round-trip time is known.
            self.smoothed_rtt = self.profile.initial_rtt;
            self.set_rate(self.segment_size, Limit::InitialWindow);
        }
        if let Some(rtt) = self.smoothed_rtt {
            self.oscillation.seed(rtt);
        }
        self.set_interval();
        self.nofeedback
            .set(now, INITIAL_TIMEOUT, self.profile.timer_tick);
        self.dirty = true;
    }

    /// The earliest time, not before `now`, at which a packet of this many octets may leave.
    pub fn next_send(&mut self, now: Instant, payload_len: u32) -> Instant {
        self.start(now, payload_len);
        // Unused send credit does not shorten the minimum interval of small packets.
        let earliest = self.last_sent.map(|at| at + self.least_interval());
        if let Some(earliest) = earliest.filter(|&at| at > now) {
            return earliest.max(self.next_nominal_time(now));
        }
        let nominal = self.next_nominal_time(now);
        let delay = nominal.since(now);
        match self.profile.send_ahead {
            _ if delay.is_zero() => now,
            SendAhead::Constant(ahead) => {
                if delay < ahead {
                    return now;
                }
                // Linux sets a timer of whole milliseconds.
                let millis = (delay.as_micros() / 1000).max(1);
                self.timer_expiry(now, Duration::from_millis(millis))
            }
            _ if delay <= self.send_ahead() => now,
            _ => self.timer_expiry(now, delay.saturating_sub(self.send_ahead())),
        }
    }

    /// A data packet leaves; returns its window counter (CCVal).
    pub fn on_sent(&mut self, now: Instant, payload_len: u32) -> u8 {
        self.start(now, payload_len);
        let rtt = self.smoothed_rtt.unwrap_or(DEFAULT_RTT);
        let counter = self.window_counter.advance(now, rtt, &self.profile);
        self.update_segment_size(payload_len);
        // The nominal time advances even if t_ipi is truncated to zero.
        let interval = self.inter_packet_interval.max(Duration::from_nanos(1));
        self.nominal_time = match self.profile.nominal_time {
            NominalTime::Kept => self.with_send_credit(self.nominal_time, now) + interval,
            NominalTime::Rescheduled if self.nofeedback.any_sent() => self.next_nominal_time(now),
            NominalTime::Rescheduled => now,
        };
        self.nofeedback.on_sent(now);
        self.last_sent = Some(now);
        self.idle = false;
        if self.next_nominal_time(now).since(now) > self.send_ahead() {
            self.data_limited.on_not_limited(now);
        }
        counter
    }

    /// A packet that carried this window counter was acknowledged.
    pub fn on_acked_counter(&mut self, counter: u8) {
        self.window_counter.on_ack(counter, &self.profile);
    }

    /// Feedback arrived. Returns false if the profile discards it.
    pub fn on_feedback(&mut self, now: Instant, feedback: &Feedback, events: &mut Events) -> bool {
        if !self.started {
            return false;
        }
        let raw = self.profile.arithmetic.time(now.since(feedback.sent_at));
        if raw.is_zero() && self.profile.zero_rtt == ZeroRtt::DropFeedback {
            return false;
        }
        let sample = self.clamp_sample(raw, feedback.elapsed_time);
        self.update_rtt(sample);
        events.push(now, EventMask::RTT, || Event::Rtt(sample));

        // RFC 5348 §4.3 step 4: a new loss event, or an increase of p.
        let loss = feedback.new_loss_event || feedback.loss_event_rate > self.loss_event_rate;
        self.loss_event_rate = feedback.loss_event_rate.clamp(0.0, 1.0);
        self.receive_rate = f64::from(feedback.receive_rate);
        self.wireless.on_feedback(&FeedbackSample {
            sample,
            smoothed: self.smoothed_rtt.unwrap_or(sample),
            receive_rate: self.receive_rate,
            segment_size: self.segment_size,
            loss,
        });
        let previous_interval = self.inter_packet_interval;
        let first = self.feedback_state == FeedbackState::None;
        let expired = self.feedback_state == FeedbackState::Expired;
        self.feedback_state = FeedbackState::Fresh;
        if first && self.profile.first_feedback == FirstFeedback::InitialRate {
            // RFC 5348 §4.2: in place of step 4 of §4.3.
            self.start_at_initial_rate(now);
        } else {
            let bound = self.bound(now, feedback.sent_at, loss);
            let keep = expired
                && self.loss_event_rate == 0.0
                && self.profile.rate_after_expiry == RateAfterExpiry::Keep;
            if !keep {
                self.update_rate(now, bound);
            }
        }
        self.reduce_oscillation(sample);
        self.idle = true;
        self.reset_expiries();
        let interval = match self.profile.nofeedback_rate {
            RtoRate::Previous => previous_interval,
            RtoRate::Updated => self.inter_packet_interval,
        };
        self.restart_nofeedback(now, interval);
        self.dirty = true;
        self.emit(now, events);
        true
    }

    /// Queues a trace event if the state has changed since the last one.
    pub fn emit(&mut self, now: Instant, events: &mut Events) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        events.push(now, EventMask::CONTROLLER, || Event::Rate(self.state()));
    }

    /// The state for a trace event.
    pub fn state(&self) -> RateState {
        RateState {
            allowed_rate: self.allowed_rate(),
            equation_rate: self.equation_rate.map(Rate::from_bytes_per_sec),
            receive_rate: Rate::from_bytes_per_sec(self.receive_rate),
            loss_event_rate: self.loss_event_rate,
            rtt: self.latest_rtt,
            smoothed_rtt: self.smoothed_rtt.unwrap_or_default(),
            inter_packet_interval: self.inter_packet_interval,
            segment_size: self.segment_size as u32,
            state: match (self.feedback_state, self.loss_event_rate > 0.0) {
                (FeedbackState::None, _) => "no_feedback_yet",
                (FeedbackState::Expired, _) => "no_feedback",
                (FeedbackState::Fresh, false) => "slow_start",
                (FeedbackState::Fresh, true) => "congestion_avoidance",
            },
            limit: if self.is_at_least_interval() {
                Limit::MinimumInterval
            } else {
                self.limit
            },
            media: None,
        }
    }

    // ---- Round-trip time ----

    /// A sample without the receiver's delay, within the bounds of the profile.
    fn clamp_sample(&self, raw: Duration, elapsed: Duration) -> Duration {
        let profile = &self.profile;
        let sample = profile.arithmetic.time(raw.saturating_sub(elapsed));
        let sample = if sample.is_zero() {
            profile.unusable_rtt
        } else {
            sample
        };
        // At least a nanosecond under every profile, because rates divide by it.
        sample
            .min(profile.rtt_max.unwrap_or(Duration::MAX))
            .max(profile.rtt_min)
            .max(Duration::from_nanos(1))
    }

    fn update_rtt(&mut self, sample: Duration) {
        self.latest_rtt = sample;
        let replace = self.feedback_state == FeedbackState::None
            && self.profile.first_rtt == FirstRtt::Replace;
        let rtt = match self.smoothed_rtt {
            Some(old) if !replace => {
                let filter = self.profile.rtt_filter;
                self.profile.arithmetic.smoothed(old, sample, filter)
            }
            _ => sample,
        };
        self.set_rtt(rtt);
    }

    fn set_rtt(&mut self, rtt: Duration) {
        let least = match self.profile.counter_guard {
            CounterGuard::RaiseRtt => Duration::from_micros(4),
            CounterGuard::None | CounterGuard::FreezeBelow4Micros => Duration::from_nanos(1),
        };
        self.smoothed_rtt = Some(rtt.max(least));
    }

    // ---- Oscillation reduction ----

    /// Lengthens t_ipi when the round-trip time has grown (RFC 5348 §4.5).
    fn reduce_oscillation(&mut self, sample: Duration) {
        let base = match self.profile.arithmetic {
            Arithmetic::Float => {
                let arithmetic = self.profile.arithmetic;
                arithmetic.interval(self.segment_size, self.allowed_rate)
            }
            // Linux multiplies the current t_ipi, so factors compound until X changes.
            Arithmetic::KernelIntegers => self.inter_packet_interval,
        };
        let interval = self
            .oscillation
            .reduced_interval(sample, self.loss_event_rate, base);
        if interval > base {
            self.limit = Limit::OscillationReduction;
        }
        self.inter_packet_interval = interval.max(self.least_interval());
    }

    // ---- Segment size ----

    fn update_segment_size(&mut self, payload_len: u32) {
        // An empty payload counts as one octet: X is at least s/64 and must be above zero.
        let payload = match self.profile.arithmetic {
            Arithmetic::Float => f64::from(payload_len.max(1)),
            Arithmetic::KernelIntegers => f64::from(payload_len.clamp(1, u32::from(u16::MAX))),
        };
        let old = self.segment_size;
        self.segment_size = match self.profile.segment_size {
            SegmentSizeRule::Average if old > 0.0 => self
                .profile
                .arithmetic
                .smoothed_size(old, payload, SIZE_FILTER)
                .max(1.0),
            SegmentSizeRule::Largest => old.max(payload),
            SegmentSizeRule::Average => payload,
            SegmentSizeRule::MaximumSegmentSize => f64::from(self.maximum_segment_size),
        };
        if self.segment_size != old {
            self.allowed_rate = self.allowed_rate.max(self.minimum_rate());
            self.set_interval();
            self.dirty = true;
        }
    }

    // ---- Schedule ----

    fn with_send_credit(&self, nominal: Instant, now: Instant) -> Instant {
        match self.profile.send_credit {
            SendCredit::Unlimited => nominal,
            SendCredit::OneRoundTrip => {
                nominal.max(now - self.smoothed_rtt.unwrap_or(Duration::ZERO))
            }
        }
    }

    fn next_nominal_time(&self, now: Instant) -> Instant {
        match self.profile.nominal_time {
            NominalTime::Kept => self.with_send_credit(self.nominal_time, now),
            NominalTime::Rescheduled if self.nofeedback.any_sent() => {
                let interval = self.inter_packet_interval.max(Duration::from_nanos(1));
                self.with_send_credit(self.nominal_time + interval, now)
            }
            NominalTime::Rescheduled => self.nominal_time,
        }
    }

    /// t_delta: how long before its nominal time a packet may leave (RFC 5348 §8.3).
    fn send_ahead(&self) -> Duration {
        let granularity = match self.profile.timer_tick {
            TimerTick::Ideal => Duration::ZERO,
            TimerTick::Hz(hz) => Duration::from_secs(1) / u64::from(hz),
        };
        let interval = self.inter_packet_interval;
        match self.profile.send_ahead {
            SendAhead::HalfGranularity => granularity.min(interval) / 2,
            SendAhead::HalfGranularityOrRtt => {
                let rtt = self.smoothed_rtt.unwrap_or(Duration::ZERO);
                granularity.min(interval).min(rtt) / 2
            }
            SendAhead::Constant(ahead) => ahead,
        }
    }

    fn timer_expiry(&self, now: Instant, span: Duration) -> Instant {
        nofeedback::expiry(now, span, self.profile.timer_tick)
    }
}
