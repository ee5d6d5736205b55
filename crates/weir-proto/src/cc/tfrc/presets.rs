//! The profiles by name. Each follows one revision; rules that the revision leaves open are those
//! of RFC 4342, because the window counters and options of CCID-3 carry it.

use super::DEFAULT_RTT;
use super::profile::{
    Arithmetic, BeforeFeedback, CounterGuard, CounterOnAck, DataLength, Discounting, EquationForm,
    FeedbackOptions, FirstInterval, FirstIntervalAlone, FirstPacketLoss, FirstRtt,
    HalvingWithoutLoss, HandshakeRtt, IdleRule, LossReport, NofeedbackExemption, NominalTime,
    Oscillation, OscillationInSlowStart, Profile, RateAfterExpiry, ReceiveRateRule,
    ReceiverRttRule, RtoRate, SendAhead, SendCredit, SlowStartFloor, TimerTick, WindowBase,
    ZeroRtt,
};
use crate::settings::Keyword;
use crate::time::Duration;

impl Profile {
    /// The profiles that [`named`](Self::named) accepts.
    pub const PRESETS: [Keyword; 4] = [
        Keyword::new("rfc3448", "RFC 3448 of January 2003, with erratum 270."),
        Keyword::new(
            "linux-2008",
            "Linux's DCCP test tree of February to May 2008.",
        ),
        Keyword::new(
            "linux-mainline",
            "Linux as it last was: 6.x, removed in 2025.",
        ),
        Keyword::new("rfc5348", "RFC 5348 of September 2008."),
    ];

    /// The names of the profiles.
    pub const NAMES: [&'static str; 4] = Keyword::words(&Self::PRESETS);

    /// The profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "rfc3448" => Some(Self::rfc3448()),
            "linux-2008" => Some(Self::linux_2008()),
            "linux-mainline" => Some(Self::linux_mainline()),
            "rfc5348" => Some(Self::rfc5348()),
            _ => None,
        }
    }

    /// RFC 5348 of September 2008, over CCID-3 (RFC 4342).
    ///
    /// W_init is computed from MSS as §4.2 writes it, although the section prefers the largest
    /// segment of the first round trip where it is known in advance. Oscillation reduction, which
    /// §4.5 recommends, is on.
    pub fn rfc5348() -> Self {
        Self::default()
    }

    /// RFC 3448 of January 2003, with erratum 270 (four round-trip times in the nofeedback timer),
    /// over CCID-3 (RFC 4342). Where RFC 4342 differs from RFC 3448, RFC 4342 applies: the first
    /// rate is RFC 3390's window of two to four packets of s octets a round trip in place of one
    /// (§5), and idle time does not reduce the rate below it (§5.1).
    pub fn rfc3448() -> Self {
        Self {
            handshake_rtt: HandshakeRtt::Ignore,
            initial_window_base: WindowBase::SegmentSize,
            idle_rule: IdleRule::Never,
            slow_start_floor: SlowStartFloor::SegmentPerRtt,
            halving_without_loss: HalvingWithoutLoss::ViaReceiveRate,
            nofeedback_exemption: NofeedbackExemption::InitialRate,
            nofeedback_rate: RtoRate::Updated,
            send_credit: SendCredit::Unlimited,
            send_ahead: SendAhead::HalfGranularity,
            discounting: Discounting::Threshold(0.5),
            first_interval: FirstInterval::LastReceiveRate,
            first_packet_loss: FirstPacketLoss::Unseen,
            ..Self::rfc5348()
        }
    }

    /// Linux net/dccp, the DCCP test tree of February to May 2008: rfc3448bis-00 in integers, R
    /// seeded by the handshake, a least nofeedback interval of 100 ms, a window counter that
    /// stands still below 4 µs. These are the rules behind the loopback document.
    pub fn linux_2008() -> Self {
        Self {
            arithmetic: Arithmetic::KernelIntegers,
            equation: EquationForm::KernelTable,
            loss_event_rate_floor: 1e-4,
            initial_rtt: Some(DEFAULT_RTT),
            first_rtt: FirstRtt::Filter,
            rtt_max: Some(Duration::from_secs(3)),
            unusable_rtt: Duration::from_micros(100),
            zero_rtt: ZeroRtt::DropFeedback,
            initial_window_base: WindowBase::SegmentSize,
            rate_after_expiry: RateAfterExpiry::Keep,
            idle_rule: IdleRule::WindowCounter,
            slow_start_floor: SlowStartFloor::SegmentPerRtt,
            nofeedback_exemption: NofeedbackExemption::None,
            nofeedback_min: Duration::from_millis(100),
            nofeedback_before_feedback: BeforeFeedback::TwoSeconds,
            nofeedback_rate: RtoRate::Updated,
            timer_tick: TimerTick::Hz(1000),
            counter_guard: CounterGuard::FreezeBelow4Micros,
            counter_on_ack: CounterOnAck::Ignore,
            send_credit: SendCredit::Unlimited,
            nominal_time: NominalTime::Kept,
            send_ahead: SendAhead::Constant(Duration::from_millis(1)),
            oscillation: Oscillation::Off,
            oscillation_in_slow_start: OscillationInSlowStart::Exempt,
            receive_rate: ReceiveRateRule::SinceFeedback,
            feedback_options: FeedbackOptions::LossEventRate,
            discounting: Discounting::Off,
            first_interval: FirstInterval::SinceFeedback,
            first_interval_alone: FirstIntervalAlone::UntilSecondLoss,
            receiver_rtt: ReceiverRttRule::Always,
            first_packet_loss: FirstPacketLoss::Unseen,
            loss_report: LossReport::EveryEvent,
            data_length: DataLength::AllPackets,
            ..Self::rfc5348()
        }
    }

    /// Linux net/dccp as it was last in mainline (6.x, removed in 2025): the least nofeedback
    /// interval is the route's 200 ms, the window counter has no guard, zero samples are
    /// replaced, and the receiver samples the round-trip time only before the first loss.
    pub fn linux_mainline() -> Self {
        Self {
            zero_rtt: ZeroRtt::Replace,
            nofeedback_min: Duration::from_millis(200),
            counter_guard: CounterGuard::None,
            receiver_rtt: ReceiverRttRule::BeforeFirstLoss,
            ..Self::linux_2008()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_own_profile() {
        let profiles: Vec<_> = Profile::NAMES
            .iter()
            .filter_map(|name| Profile::named(name))
            .collect();
        assert_eq!(profiles.len(), Profile::NAMES.len());
        for (at, profile) in profiles.iter().enumerate() {
            assert!(!profiles[..at].contains(profile));
        }
        assert_eq!(Profile::named("rfc9999"), None);
    }

    #[test]
    fn presets_have_the_numbers_of_their_revisions() {
        // RFC 3448 §5.5: THRESHOLD is 0.5.
        assert_eq!(Profile::rfc3448().discounting, Discounting::Threshold(0.5));
        for linux in [Profile::linux_2008(), Profile::linux_mainline()] {
            // The first entry of Linux's table is that of 10^-4.
            assert_eq!(linux.loss_event_rate(20_000), 1e-4);
            // ccid3.c: a packet leaves if less than a millisecond is left.
            let ahead = SendAhead::Constant(Duration::from_micros(1000));
            assert_eq!(linux.send_ahead, ahead);
        }
    }
}
