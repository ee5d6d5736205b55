//! The rules in which the revisions of TFRC differ, as data: one field for each rule, declared once
//! with its keywords, its documentation and its value in RFC 5348.
//!
//! A profile names a revision ([`Profile::rfc3448`], [`Profile::linux_2008`],
//! [`Profile::linux_mainline`], [`Profile::rfc5348`]); any field may be changed afterwards, so
//! that the effect of a single rule can be studied.
//!
//! Sources: RFC 3448, RFC 4342, RFC 5348, RFC 6323; Linux net/dccp of 2.6.22 to 6.x and the DCCP
//! test tree of 2008.

use super::small_packets::SmallPackets;
use super::wireless_extensions::{CUT_ROUND_TRIPS, WirelessRules};
use crate::settings::{count, duration, fraction, natural, or_word};
use crate::time::Duration;
use crate::{keywords, settings};
use std::ops::RangeInclusive;

keywords! {
    /// How numbers are kept.
    pub enum Arithmetic {
        /// Floating point; times in nanoseconds.
        Float = "float",
        /// Linux: rates in whole 1/64 octets per second, times in whole microseconds, p in 10^-6,
        /// every quotient truncated.
        KernelIntegers = "kernel-integers",
    }

    /// How f(p) of the throughput equation is computed.
    pub enum EquationForm {
        /// RFC 5348 §8.1.
        Formula = "formula",
        /// Linux's two tables of 500 entries; p is truncated to their steps.
        KernelTable = "kernel-table",
    }

    /// What the first feedback's sample does to R.
    pub enum FirstRtt {
        /// RFC 5348 §4.3 step 2: the sample becomes R.
        Replace = "replace",
        /// Linux since 2.6.25: the sample is filtered into the R of the handshake.
        Filter = "filter",
    }

    /// Whether the handshake's round-trip time starts R.
    pub enum HandshakeRtt {
        /// RFC 3448: only feedback gives a sample.
        Ignore = "ignore",
        /// RFC 5348 §4.2: the handshake gives the first sample.
        Use = "use",
    }

    /// What a sample of exactly zero does.
    pub enum ZeroRtt {
        /// It is replaced by `unusable_rtt`.
        Replace = "replace",
        /// Linux 2.6.25: the feedback is taken for a bogus one and dropped.
        DropFeedback = "drop-feedback",
    }

    /// W_init.
    pub enum InitialWindow {
        /// RFC 3448 §4.3: one segment.
        OneSegment = "one-segment",
        /// RFC 5348 §4.2: min(4b, max(2b, 4380)) octets for base b.
        Rfc3390 = "rfc3390",
    }

    /// The base of W_init.
    pub enum WindowBase {
        /// s, as rfc3448bis-02 to -05 and Linux do.
        SegmentSize = "segment-size",
        /// MSS, as RFC 5348 §4.2 does.
        MaximumSegmentSize = "mss",
    }

    /// What the first feedback does to X.
    pub enum FirstFeedback {
        /// RFC 3448 §4.3: what every feedback does.
        Ordinary = "ordinary",
        /// RFC 5348 §4.2: X becomes W_init/R, instead of the ordinary rule.
        InitialRate = "initial-rate",
    }

    /// What the first feedback after an expiry of the nofeedback timer does to X while p = 0.
    pub enum RateAfterExpiry {
        /// What every feedback does.
        Ordinary = "ordinary",
        /// Linux: nothing.
        Keep = "keep",
    }

    /// When the sender counts as idle or data-limited, and what that changes.
    pub enum IdleRule {
        /// RFC 3448: never at feedback.
        Never = "never",
        /// Linux 2.6.22 to 2.6.24: a flag, set by feedback and expiry, cleared by each packet sent.
        /// While idle, X is limited by max(W_init/R, 2·X_recv) instead of 2·X_recv.
        NothingSentSince = "nothing-sent",
        /// rfc3448bis-00 in Linux: the window counter has not changed for `idle_round_trips`. The
        /// effect is the same.
        WindowCounter = "window-counter",
        /// RFC 5348 §4.3, §8.2.1: X_recv_set, and intervals in which the sender was data-limited
        /// all the time.
        DataLimitedIntervals = "data-limited",
    }

    /// The least X of slow start.
    pub enum SlowStartFloor {
        /// RFC 3448 §4.3: s/R.
        SegmentPerRtt = "segment-per-rtt",
        /// RFC 5348 §4.3: W_init/R.
        InitialRate = "initial-rate",
    }

    /// How X is halved when the nofeedback timer expires while p = 0.
    pub enum HalvingWithoutLoss {
        /// rfc3448bis-00 and RFC 5348 §4.4 (erratum 1458 of RFC 3448): X itself.
        Direct = "direct",
        /// RFC 3448 §4.4: X_recv, which then limits X.
        ViaReceiveRate = "via-receive-rate",
    }

    /// When an expiry of the nofeedback timer does not reduce the rate of an idle sender.
    pub enum NofeedbackExemption {
        /// Linux: every expiry reduces it.
        None = "none",
        /// RFC 3448 §4.4: idle since the timer was set, and X_recv below four packets a round trip.
        FourPacketsPerRtt = "four-packets-per-rtt",
        /// RFC 4342 §5.1: idle since the timer was set, and half of X would be less than the
        /// initial rate.
        InitialRate = "initial-rate",
        /// RFC 5348 §4.4: idle since the timer was set, and p > 0 with X_recv below the initial
        /// rate, or p = 0 with X below twice the initial rate.
        RecoverRate = "recover-rate",
    }

    /// How long the nofeedback timer runs while no feedback has ever come.
    pub enum BeforeFeedback {
        /// Linux: 2 s each time.
        TwoSeconds = "two-seconds",
        /// RFC 5348 §4.4: 2 s at first, then 2s/X.
        TwoIntervals = "two-intervals",
    }

    /// Which X counts in the nofeedback interval max(4R, 2s/X) that a feedback sets.
    pub enum RtoRate {
        /// RFC 5348 §4.3 step 3: X before the update.
        Previous = "previous",
        /// RFC 3448 §4.3 step 5 and Linux: X after the update.
        Updated = "updated",
    }

    /// How exact timers are.
    pub enum TimerTick {
        /// To the nanosecond.
        Ideal = "ideal",
        /// This many ticks a second.
        Hz(u32) => count(1..=1_000_000_000, "hertz"),
    }

    /// What happens to the window counter when R is very small.
    pub enum CounterGuard {
        /// RFC 4342 §8.1: nothing special. Linux since 2.6.26, with its 32-bit product.
        None = "none",
        /// Linux up to 2.6.25: the counter stands still while R < 4 µs, because R/4 truncates to 0.
        FreezeBelow4Micros = "freeze-below-4us",
        /// Linux in 2005: R itself is raised to 4 µs.
        RaiseRtt = "raise-rtt",
    }

    /// Whether an acknowledgement moves the window counter.
    pub enum CounterOnAck {
        /// Linux: only time moves it.
        Ignore = "ignore",
        /// RFC 4342 §8.1: it becomes at least four more than that of the acknowledged packet.
        AtLeastFourMore = "at-least-four-more",
    }

    /// Oscillation reduction (RFC 5348 §4.5).
    pub enum Oscillation {
        /// t_ipi is s/X.
        Off = "off",
        /// t_ipi is multiplied by sqrt(R_sample)/R_sqmean.
        Full = "full",
        /// The same, but only where it makes t_ipi longer: the round-trip time increases.
        IncreaseOnly = "increase-only",
    }

    /// Whether oscillation reduction applies while p = 0.
    pub enum OscillationInSlowStart {
        /// RFC 5348 §4.5 makes no exception.
        Applied = "applied",
        /// Linux: only after the first loss event.
        Exempt = "exempt",
    }

    /// How much unused sending time may be used later.
    pub enum SendCredit {
        /// RFC 3448 §4.6, Linux: all of it; the nominal time of sending may lag without bound.
        Unlimited = "unlimited",
        /// RFC 5348 §4.6: one round-trip time.
        OneRoundTrip = "one-round-trip",
    }

    /// What a change of t_ipi does to the nominal time of the next packet.
    pub enum NominalTime {
        /// RFC 5348 §4.6: it is t_i + t_ipi for the t_ipi of now.
        Rescheduled = "rescheduled",
        /// Linux: it was set when the last packet left, and stays.
        Kept = "kept",
    }

    /// t_delta: how long before its nominal time a packet may leave.
    pub enum SendAhead {
        /// RFC 3448 §4.6: min(t_ipi, t_gran)/2.
        HalfGranularity = "half-granularity",
        /// RFC 5348 §8.3: min(t_ipi, t_gran, R)/2.
        HalfGranularityOrRtt = "half-granularity-or-rtt",
        /// Linux since 2.6.25: this long, and a longer wait is cut to whole milliseconds.
        Constant(Duration) => natural(),
    }

    /// What s is.
    pub enum SegmentSizeRule {
        /// The average payload, filtered with 9/10.
        Average = "average",
        /// The largest payload so far.
        Largest = "largest",
        /// MSS. RFC 4342 §5.3 allows it.
        MaximumSegmentSize = "mss",
    }

    /// When the receiver takes samples of the round-trip time from window counters.
    pub enum ReceiverRttRule {
        /// RFC 4342 §8.1: from every pair of packets whose counters cannot have wrapped between
        /// them; and a step of five bounds R from above.
        Unwrapped = "unwrapped",
        /// Linux in 2008: from every pair, though counters wrap where four packets in a row are
        /// lost.
        Always = "always",
        /// Linux mainline: until the first loss.
        BeforeFirstLoss = "before-first-loss",
    }

    /// Over which time the receiver measures X_recv.
    pub enum ReceiveRateRule {
        /// Linux: since the last feedback; a feedback because of a loss repeats the last value.
        SinceFeedback = "since-feedback",
        /// RFC 4342 §8.3, RFC 5348 §6.2: at least one round-trip time.
        AtLeastRoundTrip = "at-least-round-trip",
    }

    /// Which options a feedback packet carries besides Receive Rate.
    pub enum FeedbackOptions {
        /// Linux: Loss Event Rate (192) only.
        LossEventRate = "loss-event-rate",
        /// RFC 4342 §6: Loss Intervals (193) and Elapsed Time.
        LossIntervals = "loss-intervals",
        /// Loss Event Rate, Loss Intervals and Elapsed Time.
        Both = "both",
    }

    /// RFC 6323: whether the sender tells its R in an option.
    pub enum RttOption {
        /// As RFC 4342 has it: the receiver estimates R from window counters.
        Off = "off",
        /// On every data packet.
        Send = "send",
    }

    /// History discounting (RFC 5348 §5.5).
    pub enum Discounting {
        /// All intervals keep their weights.
        Off = "off",
        /// The discount factor is never below this threshold.
        Threshold(f64) => fraction(),
    }

    /// The rate from which the interval before the first loss is made (RFC 5348 §6.3.1).
    pub enum FirstInterval {
        /// Linux: what came since the last feedback.
        SinceFeedback = "since-feedback",
        /// RFC 3448 §6.3.1: the receive rate of the last round-trip time.
        LastReceiveRate = "last-receive-rate",
        /// RFC 5348 §6.3.1: the greatest receive rate so far, and at least half a packet a round
        /// trip.
        GreatestReceiveRate = "greatest-receive-rate",
    }

    /// How long the interval before the first loss alone is the mean.
    pub enum FirstIntervalAlone {
        /// RFC 5348 §6.3.1: not at all; it is I_1, and the open interval counts beside it.
        Never = "never",
        /// Linux: until the second loss, however many packets arrive before.
        UntilSecondLoss = "until-second-loss",
    }

    /// What happens when the first data packets are lost.
    pub enum FirstPacketLoss {
        /// Loss detection starts with the first data packet that arrives.
        Unseen = "unseen",
        /// RFC 5348 §6.3.1: it starts with the first packet of any kind.
        Counted = "counted",
    }

    /// When two losses belong to different loss events.
    pub enum LossEventRule {
        /// RFC 4342 §10.2: their window counters are more than four apart.
        WindowCounter = "window-counter",
        /// RFC 5348 §5.2: their interpolated times of arrival are more than R apart.
        ArrivalTime = "arrival-time",
    }

    /// Which loss events are reported at once.
    pub enum LossReport {
        /// Linux: every one.
        EveryEvent = "every-event",
        /// RFC 5348 §6.1 step 4: those that make p greater than it was in the last feedback.
        GreaterRate = "greater-rate",
    }

    /// Which packets count in the length of a loss interval.
    pub enum DataLength {
        /// RFC 4342 §6.1.1: all but the non-data packets that have arrived.
        WithoutNonData = "without-non-data",
        /// Linux: all packets; and the interval starts with the last packet before the loss.
        AllPackets = "all-packets",
    }
}

/// The values that may replace a sample; the least is the unit in which Linux measures.
const ROUND_TRIPS: RangeInclusive<Duration> =
    Duration::from_micros(1)..=Duration::from_secs(86_400);

settings! {
    /// Single rules of TFRC, on top of `profile`.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Profile {
        /// How numbers are kept: floating point, or Linux's integers.
        pub arithmetic: Arithmetic = Arithmetic::Float,
        /// How the throughput equation is computed: formula, or Linux's table.
        pub equation: EquationForm = EquationForm::Formula,
        /// The least p above zero; 0 for none.
        pub loss_event_rate_floor: f64 => fraction(),

        /// Whether the handshake gives the first round-trip time.
        pub handshake_rtt: HandshakeRtt = HandshakeRtt::Use,
        /// R before any sample, or "undefined".
        pub initial_rtt: Option<Duration> => or_word("undefined", duration(ROUND_TRIPS)),
        /// Whether the first feedback's sample replaces R or is filtered into it.
        pub first_rtt: FirstRtt = FirstRtt::Replace,
        /// q, the weight of the old R in R = q R + (1 - q) R_sample.
        pub rtt_filter: f64 = RTT_FILTER => fraction(),
        /// Samples below it are raised to it.
        pub rtt_min: Duration,
        /// Samples above it are cut to it.
        pub rtt_max: Option<Duration> => or_word("unlimited", duration(CUT_ROUND_TRIPS)),
        /// Replaces a sample that is not positive.
        pub unusable_rtt: Duration = Duration::from_micros(1) => duration(ROUND_TRIPS),
        /// What a sample of exactly zero does.
        pub zero_rtt: ZeroRtt = ZeroRtt::Replace,

        /// What s is: the average or largest payload, or MSS.
        pub segment_size: SegmentSizeRule = SegmentSizeRule::Average,
        /// W_init: one segment, or that of RFC 3390.
        pub initial_window: InitialWindow = InitialWindow::Rfc3390,
        /// What W_init is computed from: s, or MSS.
        pub initial_window_base: WindowBase = WindowBase::MaximumSegmentSize,
        /// What the first feedback does to X: as any, or X = W_init/R.
        pub first_feedback: FirstFeedback = FirstFeedback::InitialRate,
        /// What the first feedback after a nofeedback expiry does to X while p = 0.
        pub rate_after_expiry: RateAfterExpiry = RateAfterExpiry::Ordinary,
        /// Round trips of silence after which "window-counter" says idle.
        pub idle_round_trips: u32 = IDLE_ROUND_TRIPS => count(0..=1_000_000, "round trips"),
        /// When the sender counts as idle or data-limited.
        pub idle_rule: IdleRule = IdleRule::DataLimitedIntervals,
        /// The least X of slow start: s/R, or W_init/R.
        pub slow_start_floor: SlowStartFloor = SlowStartFloor::InitialRate,

        /// How X is halved on expiry while p = 0.
        pub halving_without_loss: HalvingWithoutLoss = HalvingWithoutLoss::Direct,
        /// When an expiry does not reduce the rate of an idle sender.
        pub nofeedback_exemption: NofeedbackExemption = NofeedbackExemption::RecoverRate,
        /// The least interval of the nofeedback timer.
        pub nofeedback_min: Duration,
        /// The timer's interval while no feedback has come.
        pub nofeedback_before_feedback: BeforeFeedback = BeforeFeedback::TwoIntervals,
        /// Which X the timer's interval takes: before or after the update.
        pub nofeedback_rate: RtoRate = RtoRate::Previous,
        /// Ticks a second of the CCID's timers, in hertz; "ideal" is exact.
        pub timer_tick: TimerTick = TimerTick::Ideal,

        /// What happens to the window counter when R is very small.
        pub counter_guard: CounterGuard = CounterGuard::None,
        /// Whether an acknowledgement moves the window counter.
        pub counter_on_ack: CounterOnAck = CounterOnAck::AtLeastFourMore,
        /// How much unused sending time may be used later.
        pub send_credit: SendCredit = SendCredit::OneRoundTrip,
        /// What a change of t_ipi does to the next packet's nominal time; CCID 3. With "kept" a
        /// sender at a packet in 64 s waits that long whatever feedback says, and its nofeedback
        /// timer expires meanwhile.
        pub nominal_time: NominalTime = NominalTime::Rescheduled,
        /// t_delta, how long before its time a packet may leave: a rule, or a duration.
        pub send_ahead: SendAhead = SendAhead::HalfGranularityOrRtt,
        /// Oscillation reduction (RFC 5348 §4.5).
        pub oscillation: Oscillation = Oscillation::Full,
        /// Whether oscillation reduction applies while p = 0.
        pub oscillation_in_slow_start: OscillationInSlowStart = OscillationInSlowStart::Applied,
        /// Whether the sender tells its R in an option (RFC 6323).
        pub rtt_option: RttOption = RttOption::Off,

        /// When the receiver samples the round-trip time.
        pub receiver_rtt: ReceiverRttRule = ReceiverRttRule::Unwrapped,
        /// Over which time the receiver measures X_recv.
        pub receive_rate: ReceiveRateRule = ReceiveRateRule::AtLeastRoundTrip,
        /// Which options feedback carries besides Receive Rate.
        pub feedback_options: FeedbackOptions = FeedbackOptions::Both,
        /// History discounting: the least discount factor in 0..1, or "off".
        pub discounting: Discounting = Discounting::Threshold(DISCOUNT_THRESHOLD),
        /// The rate from which the interval before the first loss is made.
        pub first_interval: FirstInterval = FirstInterval::GreatestReceiveRate,
        /// How long the interval before the first loss alone is the mean; CCID 3. With
        /// "until-second-loss" p of a first loss stays however many packets arrive after it, so
        /// that a sender whose first loss is an outage may stay at a packet every few seconds.
        pub first_interval_alone: FirstIntervalAlone = FirstIntervalAlone::Never,
        /// Whether a loss of the first data packets is seen.
        pub first_packet_loss: FirstPacketLoss = FirstPacketLoss::Counted,
        /// Which loss events are reported at once: every one, or those that make p greater.
        pub loss_report: LossReport = LossReport::GreaterRate,
        /// What separates loss events: window counters, or times of arrival.
        pub loss_event_rule: LossEventRule = LossEventRule::WindowCounter,
        /// Which packets count in the length of a loss interval.
        pub data_length: DataLength = DataLength::WithoutNonData,
        /// TFRC-SP, as CCID-4 uses it; not in any preset.
        pub small_packets: Option<SmallPackets> [internal],
        /// Rules that were proposed for wireless links; none by default.
        pub wireless: WirelessRules,
    }
    normalise = Self::forget_unused;
}

/// q, the weight of the old R (RFC 5348 §4.3).
const RTT_FILTER: f64 = 0.9;
/// THRESHOLD, the least discount factor (RFC 5348 §5.5).
const DISCOUNT_THRESHOLD: f64 = 0.25;
/// The default of `idle_round_trips`, kept where `idle_rule` does not use it.
const IDLE_ROUND_TRIPS: u32 = 2;

impl Profile {
    fn forget_unused(&mut self) {
        if self.idle_rule != IdleRule::WindowCounter {
            self.idle_round_trips = IDLE_ROUND_TRIPS;
        }
    }

    /// p for the value of a Loss Event Rate option (RFC 4342 §8.5).
    pub fn loss_event_rate(&self, inverse: u32) -> f64 {
        if inverse == u32::MAX {
            return 0.0;
        }
        let inverse = inverse.max(1);
        let p = match self.arithmetic {
            Arithmetic::Float => 1.0 / f64::from(inverse),
            Arithmetic::KernelIntegers => f64::from(1_000_000 / inverse) / 1e6,
        };
        p.max(self.loss_event_rate_floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inverse_loss_event_rate_is_inverted() {
        // RFC 4342 §8.5: 2^32 - 1 means no loss. Linux has p in 10^-6, truncated.
        let kernel = Profile {
            arithmetic: Arithmetic::KernelIntegers,
            ..Profile::rfc5348()
        };
        for (inverse, exact, truncated) in [
            (0, 1.0, 1.0),
            (1, 1.0, 1.0),
            (4, 0.25, 0.25),
            (3, 1.0 / 3.0, 0.333_333),
            (u32::MAX, 0.0, 0.0),
        ] {
            assert_eq!(Profile::rfc5348().loss_event_rate(inverse), exact);
            assert_eq!(kernel.loss_event_rate(inverse), truncated);
        }
    }

    #[test]
    fn idle_round_trips_are_forgotten_where_no_rule_counts_them() {
        for (idle_rule, kept) in [
            (IdleRule::WindowCounter, 7),
            (IdleRule::Never, 2),
            (IdleRule::DataLimitedIntervals, 2),
        ] {
            let mut profile = Profile {
                idle_rule,
                idle_round_trips: 7,
                ..Profile::rfc5348()
            };
            profile.forget_unused();
            assert_eq!(profile.idle_round_trips, kept, "{idle_rule:?}");
        }
        assert_eq!(Profile::linux_2008().idle_round_trips, 2);
    }
}
