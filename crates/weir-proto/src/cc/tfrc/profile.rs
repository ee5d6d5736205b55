//! The rules in which the revisions of TFRC differ, as data: one field a rule.
//!
//! A profile names a revision ([`Profile::rfc3448`], [`Profile::linux_2008`],
//! [`Profile::linux_mainline`], [`Profile::rfc5348`]); any field may be changed afterwards, so
//! that the effect of a single rule can be studied.
//!
//! Sources: RFC 3448, RFC 4342, RFC 5348, RFC 6323; Linux net/dccp of 2.6.22 to 6.x and the DCCP
//! test tree of 2008.

use super::small_packets::SmallPackets;
use super::wireless_extensions::WirelessRules;
use crate::time::Duration;

/// How numbers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Floating point; times in nanoseconds.
    Float,
    /// Linux: rates in whole 1/64 octets per second, times in whole microseconds, p in 10^-6,
    /// every quotient truncated.
    KernelIntegers,
}

/// How f(p) of the throughput equation is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EquationForm {
    /// RFC 5348 §8.1.
    Formula,
    /// Linux's two tables of 500 entries; p is truncated to their steps.
    KernelTable,
}

/// What the first feedback's sample does to R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstRtt {
    /// RFC 5348 §4.3 step 2: the sample becomes R.
    Replace,
    /// Linux since 2.6.25: the sample is filtered into the R of the handshake.
    Filter,
}

/// Whether the handshake's round-trip time starts R.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeRtt {
    /// RFC 3448: only feedback gives a sample.
    Ignore,
    /// RFC 5348 §4.2: the handshake gives the first sample.
    Use,
}

/// What a sample of exactly zero does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroRtt {
    /// It is replaced by [`Profile::unusable_rtt`].
    Replace,
    /// Linux 2.6.25: the feedback is taken for a bogus one and dropped.
    DropFeedback,
}

/// W_init.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// RFC 3448 §4.3: one segment.
    OneSegment,
    /// RFC 5348 §4.2: min(4b, max(2b, 4380)) octets for base b.
    Rfc3390,
}

/// The base of W_init.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowBase {
    /// s, as rfc3448bis-02 to -05 and Linux do.
    SegmentSize,
    /// MSS, as RFC 5348 §4.2 does.
    MaximumSegmentSize,
}

/// What the first feedback does to X.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstFeedback {
    /// RFC 3448 §4.3: what every feedback does.
    Ordinary,
    /// RFC 5348 §4.2: X becomes W_init/R, instead of the ordinary rule.
    InitialRate,
}

/// What the first feedback after an expiry of the nofeedback timer does to X while p = 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateAfterExpiry {
    /// What every feedback does.
    Ordinary,
    /// Linux: nothing.
    Keep,
}

/// When the sender counts as idle or data-limited, and what that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRule {
    /// RFC 3448: never at feedback.
    Never,
    /// Linux 2.6.22 to 2.6.24: a flag, set by feedback and expiry, cleared by each packet sent.
    /// While idle, X is limited by max(W_init/R, 2·X_recv) instead of 2·X_recv.
    NothingSentSince,
    /// rfc3448bis-00 in Linux: the window counter has not changed for this many round-trip times.
    /// The effect is the same.
    WindowCounter {
        /// Round-trip times of silence.
        round_trips: u32,
    },
    /// RFC 5348 §4.3, §8.2.1: X_recv_set, and intervals in which the sender was data-limited all
    /// the time.
    DataLimitedIntervals,
}

/// The least X of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartFloor {
    /// RFC 3448 §4.3: s/R.
    SegmentPerRtt,
    /// RFC 5348 §4.3: W_init/R.
    InitialRate,
}

/// How X is halved when the nofeedback timer expires while p = 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HalvingWithoutLoss {
    /// rfc3448bis-00 and RFC 5348 §4.4 (erratum 1458 of RFC 3448): X itself.
    Direct,
    /// RFC 3448 §4.4: X_recv, which then limits X.
    ViaReceiveRate,
}

/// When an expiry of the nofeedback timer does not reduce the rate of an idle sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NofeedbackExemption {
    /// Linux: it always does.
    None,
    /// RFC 3448 §4.4: idle since the timer was set, and X_recv below four packets a round trip.
    FourPacketsPerRtt,
    /// RFC 5348 §4.4: idle since the timer was set, and p > 0 with X_recv below the initial rate,
    /// or p = 0 with X below twice the initial rate.
    RecoverRate,
}

/// How long the nofeedback timer runs while no feedback has ever come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeforeFeedback {
    /// Linux: 2 s each time.
    TwoSeconds,
    /// RFC 5348 §4.4: 2 s at first, then 2s/X.
    TwoIntervals,
}

/// Which X counts in the nofeedback interval max(4R, 2s/X) that a feedback sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRate {
    /// RFC 5348 §4.3 step 3: X before the update.
    Previous,
    /// RFC 3448 §4.3 step 5 and Linux: X after the update.
    Updated,
}

/// How exact timers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerTick {
    /// To the nanosecond.
    Ideal,
    /// This many ticks a second.
    Hz(u32),
}

/// What happens to the window counter when R is very small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterGuard {
    /// RFC 4342 §8.1: nothing special. Linux since 2.6.26, with its 32-bit product.
    None,
    /// Linux up to 2.6.25: the counter stands still while R < 4 µs, because R/4 truncates to 0.
    FreezeBelow4Micros,
    /// Linux in 2005: R itself is raised to 4 µs.
    RaiseRtt,
}

/// Whether an acknowledgement moves the window counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterOnAck {
    /// Linux: no.
    Ignore,
    /// RFC 4342 §8.1: it becomes at least four more than that of the acknowledged packet.
    AtLeastFourMore,
}

/// Oscillation reduction (RFC 5348 §4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oscillation {
    /// None.
    Off,
    /// t_ipi is multiplied by sqrt(R_sample)/R_sqmean.
    Full,
    /// The same, but only where it makes t_ipi longer: the round-trip time increases.
    IncreaseOnly,
}

/// Whether oscillation reduction applies while p = 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OscillationInSlowStart {
    /// Yes.
    Applied,
    /// No.
    Exempt,
}

/// How much unused sending time may be used later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendCredit {
    /// RFC 3448 §4.6, Linux: all of it; the nominal time of sending may lag without bound.
    Unlimited,
    /// RFC 5348 §4.6: one round-trip time.
    OneRoundTrip,
}

/// t_delta: how long before its nominal time a packet may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendAhead {
    /// RFC 3448 §4.6: min(t_ipi, t_gran)/2.
    HalfGranularity,
    /// RFC 5348 §8.3: min(t_ipi, t_gran, R)/2.
    HalfGranularityOrRtt,
    /// Linux since 2.6.25: this long, and a longer wait is cut to whole milliseconds.
    Constant(Duration),
}

/// What s is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentSizeRule {
    /// The average payload, filtered with 9/10.
    Average,
    /// The largest payload so far.
    Largest,
    /// MSS. RFC 4342 §5.3 allows it.
    MaximumSegmentSize,
}

/// When the receiver takes samples of the round-trip time from window counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiverRttRule {
    /// Always.
    Always,
    /// Linux mainline: until the first loss.
    BeforeFirstLoss,
}

/// Over which time the receiver measures X_recv.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveRateRule {
    /// Linux: since the last feedback; a feedback because of a loss repeats the last value.
    SinceFeedback,
    /// RFC 4342 §8.3, RFC 5348 §6.2: at least one round-trip time.
    AtLeastRoundTrip,
}

/// Which options a feedback packet carries besides Receive Rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeedbackOptions {
    /// Linux: Loss Event Rate (192) only.
    LossEventRate,
    /// RFC 4342 §6: Loss Intervals (193) and Elapsed Time.
    LossIntervals,
    /// All three.
    Both,
}

/// RFC 6323: whether the sender tells its R in an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttOption {
    /// No.
    Off,
    /// On every data packet.
    Send,
}

/// History discounting (RFC 5348 §5.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Discounting {
    /// None.
    Off,
    /// The discount factor is never below this threshold.
    Threshold(f64),
}

/// From which rate the interval before the first loss is made (RFC 5348 §6.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstInterval {
    /// Linux: what came since the last feedback.
    SinceFeedback,
    /// RFC 3448 §6.3.1: the receive rate of the last round-trip time.
    LastReceiveRate,
    /// RFC 5348 §6.3.1: the greatest receive rate so far, and at least half a packet a round trip.
    GreatestReceiveRate,
}

/// What happens when the first data packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstPacketLoss {
    /// Loss detection starts with the first data packet that arrives.
    Unseen,
    /// RFC 5348 §6.3.1: it starts with the first packet of any kind.
    Counted,
}

/// When two losses belong to different loss events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossEventRule {
    /// RFC 4342 §10.2: their window counters are more than four apart.
    WindowCounter,
    /// RFC 5348 §5.2: their interpolated times of arrival are more than R apart.
    ArrivalTime,
}

/// Which packets count in the length of a loss interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataLength {
    /// RFC 4342 §6.1.1: all but the non-data packets that have arrived.
    WithoutNonData,
    /// Linux: all; and the interval starts with the last packet before the loss.
    AllPackets,
}

/// The rules of one revision of TFRC. See the [module](self).
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Integers or floating point.
    pub arithmetic: Arithmetic,
    /// Formula or table.
    pub equation: EquationForm,
    /// The least p above zero; zero for none.
    pub loss_event_rate_floor: f64,

    /// Whether the handshake gives a sample.
    pub handshake_rtt: HandshakeRtt,
    /// R before any sample; `None` leaves it undefined.
    pub initial_rtt: Option<Duration>,
    /// What the first feedback's sample does to R.
    pub first_rtt: FirstRtt,
    /// q: the weight of the old R in R = q·R + (1-q)·R_sample.
    pub rtt_filter: f64,
    /// Samples below this are raised to it. The loopback document's remedy is 4 µs.
    pub rtt_min: Duration,
    /// Samples above this are cut to it.
    pub rtt_max: Duration,
    /// Replaces a sample that is not positive.
    pub unusable_rtt: Duration,
    /// What a sample of exactly zero does.
    pub zero_rtt: ZeroRtt,

    /// What s is.
    pub segment_size: SegmentSizeRule,
    /// W_init.
    pub initial_window: InitialWindow,
    /// The base of W_init.
    pub initial_window_base: WindowBase,
    /// What the first feedback does to X.
    pub first_feedback: FirstFeedback,
    /// What the first feedback after an expiry does to X while p = 0.
    pub rate_after_expiry: RateAfterExpiry,
    /// When the sender counts as idle.
    pub idle_rule: IdleRule,
    /// The least X of slow start.
    pub slow_start_floor: SlowStartFloor,

    /// How X is halved without loss.
    pub halving_without_loss: HalvingWithoutLoss,
    /// When X is not halved.
    pub nofeedback_exemption: NofeedbackExemption,
    /// The least interval of the nofeedback timer.
    pub nofeedback_min: Duration,
    /// Its interval before any feedback.
    pub nofeedback_before_feedback: BeforeFeedback,
    /// Which X its interval takes.
    pub nofeedback_rate: RtoRate,
    /// How exact timers are.
    pub timer_tick: TimerTick,

    /// The window counter with a very small R.
    pub counter_guard: CounterGuard,
    /// The window counter after an acknowledgement.
    pub counter_on_ack: CounterOnAck,
    /// Unused sending time.
    pub send_credit: SendCredit,
    /// t_delta.
    pub send_ahead: SendAhead,
    /// Oscillation reduction.
    pub oscillation: Oscillation,
    /// Oscillation reduction while p = 0.
    pub oscillation_in_slow_start: OscillationInSlowStart,
    /// RFC 6323's option.
    pub rtt_option: RttOption,

    /// When the receiver samples the round-trip time.
    pub receiver_rtt: ReceiverRttRule,
    /// Over which time X_recv is measured.
    pub receive_rate: ReceiveRateRule,
    /// What feedback carries.
    pub feedback_options: FeedbackOptions,
    /// History discounting.
    pub discounting: Discounting,
    /// The interval before the first loss.
    pub first_interval: FirstInterval,
    /// Loss of the first data packets.
    pub first_packet_loss: FirstPacketLoss,
    /// What separates loss events.
    pub loss_event_rule: LossEventRule,
    /// The length of a loss interval.
    pub data_length: DataLength,
    /// TFRC-SP, as CCID-4 uses it; not in any preset.
    pub small_packets: Option<SmallPackets>,
    /// What was proposed for wireless links; nothing in any preset.
    pub wireless: WirelessRules,
}

impl Profile {
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
